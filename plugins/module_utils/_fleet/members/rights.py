# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The smallest set of rights (RBAC) for one purpose, as manifests for the owner of a member or of the hub."""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError
from ..._core.resources.envelopes import unpacked
from ..._kube.paths import BUILT_IN, Resource
from ..._kube.rbac import (
    Subject,
    apply_manifests,
    node_manifests,
    read_only_manifests,
)
from ..._store.manifests import Manifest, read_manifests
from ..._store.yaml_documents import write_yaml
from ..placements.sources import resources_in
from .hub_rights import JOBS, PARTS, hub_manifests, job_manifests


def rights(
    purpose: str,
    subject: t.Mapping[str, t.Any],
    kinds: t.Iterable[t.Mapping[str, t.Any]],
    resources: t.Sequence[str] = (),
) -> list[dict[str, t.Any]]:
    """Manifests of roles and bindings for one ``purpose``: ``nodes``, ``jobs``, one of ``PARTS`` of the hub, ``read``,
    or ``apply``.

    The last two are for ``kinds`` and for those of the manifests in the files ``resources``; the others are the same
    for all. ``subject`` has kind, name and, for a service account, namespace. FleetError ``unknown-kind`` where a
    plural is missing, and those of files that cannot be read.
    """
    who = Subject(subject["kind"], subject["name"], subject.get("namespace") or "")
    if purpose in PARTS:
        return [dict(each) for each in hub_manifests(purpose, who)]
    if purpose == JOBS:
        return [dict(each) for each in job_manifests(who)]
    if purpose == "nodes":
        return [dict(each) for each in node_manifests(who)]
    make = apply_manifests if purpose == "apply" else read_only_manifests
    placed = dict.fromkeys([*map(_resource, kinds), *_kinds_of(resources_in(read_manifests(resources)))])
    return [dict(each) for each in make(who, placed)]


def as_yaml(manifests: t.Iterable[t.Mapping[str, t.Any]]) -> str:
    """The manifests as kubectl reads them."""
    return write_yaml(manifests)


def _kinds_of(manifests: t.Sequence[Manifest]) -> t.Iterator[Resource]:
    """The kinds of these manifests, and of what is in envelopes; plural and scope of those that are not Kubernetes' own
    are in their definitions."""
    found = unpacked(each.document for each in manifests)
    if found.problems:
        raise FleetError.of(found.problems)
    documents = [each.manifest for each in found.objects]
    defined = dict(_defined(each["spec"]) for each in documents if each["kind"] == "CustomResourceDefinition")
    for api_version, kind in dict.fromkeys((each["apiVersion"], each["kind"]) for each in documents):
        plural, namespaced = defined.get((api_version.rpartition("/")[0], kind), ("", True))
        yield _resource({"api_version": api_version, "kind": kind, "plural": plural, "namespaced": namespaced})


def _defined(spec: t.Mapping[str, t.Any]) -> tuple[tuple[str, str], tuple[str, bool]]:
    return (spec["group"], spec["names"]["kind"]), (spec["names"]["plural"], spec["scope"] == "Namespaced")


def _resource(each: t.Mapping[str, t.Any]) -> Resource:
    known = BUILT_IN.get((each["api_version"], each["kind"]))
    if known:
        return known
    if not each["plural"]:
        raise FleetError(
            "unknown-kind",
            f"{each['kind']} in {each['api_version']} is not a kind of Kubernetes itself",
            "kinds",
            "give it in kinds, with its plural and whether it is namespaced",
        )
    group, _slash, version = each["api_version"].rpartition("/")
    return Resource(group, version, each["kind"], each["plural"], bool(each["namespaced"]))
