# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The smallest set of rights for one purpose, as manifests for the owner of a member."""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError
from ..._kube.paths import BUILT_IN, Resource
from ..._kube.rbac import Subject, apply_manifests, read_only_manifests


def rights(
    purpose: str, subject: t.Mapping[str, t.Any], kinds: t.Iterable[t.Mapping[str, t.Any]]
) -> list[dict[str, t.Any]]:
    """Roles and bindings for ``purpose`` read or apply; FleetError ``unknown-kind`` where a plural is missing."""
    who = Subject(subject["kind"], subject["name"], subject.get("namespace") or "")
    make = apply_manifests if purpose == "apply" else read_only_manifests
    return [dict(each) for each in make(who, [_resource(each) for each in kinds])]


def _resource(each: t.Mapping[str, t.Any]) -> Resource:
    known = BUILT_IN.get((each["api_version"], each["kind"]))
    if known:
        return known
    if not each["plural"]:
        raise FleetError(
            "unknown-kind",
            f"{each['kind']} in {each['api_version']} is not a kind of Kubernetes itself",
            "kinds",
            "give its plural and whether it is namespaced",
        )
    group, _slash, version = each["api_version"].rpartition("/")
    return Resource(group, version, each["kind"], each["plural"], bool(each["namespaced"]))
