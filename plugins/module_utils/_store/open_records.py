# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which records a verb uses, by its options (sqlite or hub, ``bad-option``), and whether they outlive the machine
(``durable``, ``no-durable-records``); whether this runs in CI."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from .._core.errors import FleetError, Problem
from .._kube.files import with_home
from .records import Clock, Records
from .sqlite import SqliteRecords

DEFAULT_PATH = ".gitops-fleet/records.db"
_OPTIONS: t.Mapping[str, t.Mapping[str, type]] = {
    "sqlite": {"path": str, "durable": bool},
    "hub": {"kubeconfig": str, "context": str},
}
_OFF = ("", "0", "false", "no", "off")
# What says so on GitHub, GitLab and most services; on Azure Pipelines; on TeamCity; on CodeBuild.
_SIGNS = ("CI", "TF_BUILD", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID")


def open_records(options: t.Mapping[str, t.Any], environ: t.Mapping[str, str], clock: Clock) -> Records:
    """The records that ``options`` name; no record is read or made yet, of a hub the kubeconfig is read.

    ``{type: sqlite, path, durable}``, which is the default: ``path`` is ``.gitops-fleet/records.db`` in the current
    folder if not given or empty, so that each checkout has its own fleet. ``durable`` says that the file outlives the
    runner; not given, that is assumed unless this runs in CI. ``{type: hub, kubeconfig, context}``: ``kubeconfig`` as
    kubectl finds it if not given. An option that is None is not given. FleetError ``bad-option`` with all problems at
    once, or those of ``hub_client``.
    """
    given = {key: value for key, value in options.items() if value is not None}
    kind = given.pop("type", "sqlite")
    problems = tuple(_problems(kind, given))
    if problems:
        raise FleetError.of(problems)
    if kind == "hub":
        # Imported here: urllib3 and TLS take a tenth of a second, which no one needs for a file.
        from .hub import HubRecords, hub_client

        return HubRecords(hub_client(given, environ), clock)
    file = Path(os.path.abspath(with_home(given.get("path") or DEFAULT_PATH, environ)))
    return SqliteRecords(file, clock, given.get("durable", not sign_of_ci(environ)))


def guard_durable(records: Records, environ: t.Mapping[str, str]) -> None:
    """For verbs that write: FleetError ``no-durable-records`` if this runs in CI and the records would be lost with the
    runner."""
    sign = sign_of_ci(environ)
    if sign and not records.durable:
        raise FleetError(
            "no-durable-records",
            f"this runs in CI ({sign} is set), and the records would be lost with the runner",
            records.place,
            "keep the records on a hub (type: hub), or in a file on a disk that stays, and say so (durable: true)",
        )


def sign_of_ci(environ: t.Mapping[str, str]) -> str:
    """The first variable of ``_SIGNS`` that says that this runs in CI, empty if none does: empty, ``0``, ``false``,
    ``no`` and ``off`` in any case count as not set."""
    return next((each for each in _SIGNS if environ.get(each, "").strip().lower() not in _OFF), "")


def _problems(kind: t.Any, given: t.Mapping[str, t.Any]) -> t.Iterator[Problem]:
    """What is wrong with the options."""
    if not isinstance(kind, str) or kind not in _OPTIONS:
        yield Problem("bad-option", f"records.type is {kind!r}", hint=f"one of {', '.join(_OPTIONS)}")
        return
    for name, value in given.items():
        wanted = _OPTIONS[kind].get(name)
        if wanted is None:
            meant = "; for records on a hub say type: hub" if name in _OPTIONS["hub"] else ""
            hint = f"they have {', '.join(_OPTIONS[kind])}{meant}"
            yield Problem("bad-option", f"records of type {kind} have no option {name!r}", hint=hint)
        elif not isinstance(value, wanted):
            yield Problem("bad-option", f"records.{name} is not a {'boolean' if wanted is bool else 'string'}")
