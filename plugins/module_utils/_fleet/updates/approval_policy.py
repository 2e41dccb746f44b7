# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The policies (ValidatingAdmissionPolicy) by which a hub vouches for names: who approved, made and started a run, who
wrote an audit entry; whether a live one is the shipped one, and since when the hub vouches."""

from __future__ import annotations

import functools
import json
import typing as t
from datetime import datetime
from pathlib import Path

from ..._core.values.instants import parse_time
from ..._kube.client import KubeClient
from ..._kube.errors import ApiError
from ..._kube.paths import BUILT_IN, object_path

FOLDER = Path(__file__).resolve().parents[4] / "roles" / "hub" / "files" / "policies"
# By the objects in which names are believed.
OF_UPDATES = ("gates.gitops.fleet", "updateruns.gitops.fleet")
OF_STAGED_RUNS = ("approvalrequests.gitops.fleet", "stagedupdateruns.gitops.fleet")
# The server has no such policies, not ours, or does not show them to us.
_UNKNOWN = ("not-found", "forbidden", "unauthorized")

Policy = dict[str, t.Any]


def shipped() -> tuple[Policy, ...]:
    """The shipped policies and their bindings as new copies, in the order of their files' names, with what a server
    fills in."""
    return tuple(json.loads(text) for text in _texts())


@functools.cache
def _texts() -> tuple[str, ...]:
    """The shipped files, read once, in the order of their names."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.json")))


def path_of(policy: Policy) -> str:
    """The path of the policy, or binding, on an API server."""
    return object_path(BUILT_IN[policy["apiVersion"], policy["kind"]], policy)


def is_shipped(policy: Policy, live: t.Mapping[str, t.Any] | None) -> bool:
    """Whether ``live``, the policy on the hub (None: there is none), has just this spec and is not being deleted."""
    return live is not None and live.get("spec") == policy["spec"] and not live["metadata"].get("deletionTimestamp")


def vouched_since(hub: KubeClient | None, names: t.Container[str] = OF_UPDATES) -> datetime | None:
    """From when on the hub has refused what names somebody else: the latest creation of the shipped policies and
    bindings with these ``names``, which ``hub.install`` makes anew where it finds others. None without a hub, where
    none of the shipped ones has such a name, or if the hub lacks one of them, has it with another spec, or does not
    show it to us. ApiErrors other than ``not-found``, ``forbidden`` and ``unauthorized`` come through."""
    if hub is None:
        return None
    made: list[datetime] = []
    for policy in shipped():
        if policy["metadata"]["name"] not in names:
            continue
        try:
            live = hub.get(path_of(policy))
        except ApiError as error:
            if error.code not in _UNKNOWN:
                raise
            return None
        if not is_shipped(policy, live):
            return None
        made.append(parse_time(live["metadata"]["creationTimestamp"]))
    return max(made, default=None)
