# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is there on one member: the ApplySets of placements, in their parent ConfigMaps (``foreign-applyset``,
``applyset-invalid``), the resourceVersion of such a parent, and the objects that a placement has or wants there. Reads
only."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...._core.errors import FleetError
from ...._core.foreign import in_line, texts_in
from ...._core.objects.identity import NAMESPACE, ObjectId, ObjectKey
from ...._core.plan.document import Rendered
from ...._core.resources.applyset import (
    ID_LABEL,
    PART_OF_LABEL,
    ApplySet,
    applyset_id,
    parent_name,
    read_parent,
)
from ...._kube.client import KubeClient
from ...._kube.discovery import resource_of
from ...._kube.documents import checked_object, read_object
from ...._kube.errors import ApiError
from ...._kube.lists import read_list
from ...._kube.paths import Resource

NAMESPACES = ("v1", "Namespace")
FOREIGN = (
    "was it applied with records of yours? Use those; or, if they are given up, run gitops.fleet.recover with the"
    " manifests of all placements (docs/records.md). Is it another fleet's? Rename the placement"
)
PARENTS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


@dataclass(frozen=True, kw_only=True)
class Observed:
    """``recorded`` is None where the placement has no parent there, and ``version``, the parent's resourceVersion, is
    empty then; ``live`` holds the objects that exist."""

    recorded: ApplySet | None
    version: str = ""
    live: t.Mapping[ObjectKey, dict[str, t.Any]] = field(default_factory=dict, repr=False)


def observe(client: KubeClient, placement: str, uid: str, desired: t.Sequence[Rendered]) -> Observed:
    """Reads the parent, then every desired or recorded object. What is not there, or of a kind, or desired in a
    version, that the member does not serve, is left out. ``uid`` is that of the placement's record, empty for none.
    FleetError ``foreign-applyset`` when a placement of the same name but of other records holds the member, by its uid,
    ``applyset-invalid``, or of the request."""
    parent = _parent(client, placement)
    recorded = parsed_parent(parent, client) if parent else None
    if recorded and recorded.uid != uid:
        raise FleetError(
            "foreign-applyset",
            f"placement {placement} of other records than these (uid {in_line(recorded.uid, 100)}) holds this member",
            client.server_name,
            FOREIGN,
        )
    wanted = {each.id.key: each.id for each in desired}
    held = {each.id.key: each.id for each in recorded.inventory} if recorded else {}
    live: dict[ObjectKey, dict[str, t.Any]] = {}
    by_kind: dict[tuple[str, str], list[ObjectId]] = {}
    for each in (held | wanted).values():
        by_kind.setdefault((each.api_version, each.kind), []).append(each)
    selector = f"{PART_OF_LABEL}={applyset_id(placement)}"
    absent: set[str] = set()
    for (api_version, kind), ids in sorted(by_kind.items(), key=lambda each: (each[0] != NAMESPACES, each[0])):
        resource = _resource(client, ids[0])
        if resource is None:
            continue
        if resource.api_version != api_version:  # what is to be written there is refused by the server
            ids = [each for each in ids if each.key not in wanted]
        if held and len(ids) > 2:
            path = resource.path()
            for item in read_list(client, path, label_selector=selector).items:
                key = _key_of(resource, item)
                if key in held or key in wanted:
                    live[key] = checked_object(item, f"GET {path}", client)
        for each in ids:
            if each.key not in live and each.namespace not in absent:
                found = _get(client, resource, each)
                if found is not None:
                    live[each.key] = found
        if (api_version, kind) == NAMESPACES:
            absent = {each.name for each in ids if each.key not in live}
    return Observed(recorded=recorded, version=_version(parent), live=live)


def parent_version(client: KubeClient, placement: str) -> str:
    """The resourceVersion of the ConfigMap that is the placement's parent, as the member has it now; empty if there is
    none. FleetError of the request."""
    return _version(_parent(client, placement))


def _version(parent: t.Mapping[str, t.Any] | None) -> str:
    """The parent's resourceVersion; empty without one."""
    return str(parent["metadata"].get("resourceVersion", "")) if parent else ""


def _parent(client: KubeClient, placement: str) -> dict[str, t.Any] | None:
    """The placement's parent ConfigMap, None if there is none. ApiError."""
    try:
        return read_object(client, f"{PARENTS}/{parent_name(placement)}", "ConfigMap")
    except ApiError as error:
        if error.code == "not-found":
            return None
        raise


def applysets_on(client: KubeClient) -> tuple[ApplySet, ...]:
    """Every ApplySet of this collection on a member, of whatever records, by placement. FleetError
    ``applyset-invalid``, or of the request."""
    parents = read_list(client, PARENTS, label_selector=ID_LABEL, kind="ConfigMap").items
    return tuple(sorted((parsed_parent(each, client) for each in parents), key=lambda each: each.placement))


def parsed_parent(parent: t.Mapping[str, t.Any], client: KubeClient) -> ApplySet:
    """The ApplySet in a parent ConfigMap that was read on a member. FleetError ``applyset-invalid`` if it is damaged,
    or its ``data`` has what we log in with: what is in it is recorded and shown."""
    try:
        texts = ", ".join(f"'{each}'" for each in texts_in(parent.get("data")))
        if client.hide(texts) != texts:
            raise ValueError(f"ConfigMap {NAMESPACE}/{parent['metadata']['name']} holds a credential of ours")
        return read_parent(parent)
    except ValueError as error:
        raise FleetError(
            "applyset-invalid",
            in_line(client.hide(str(error))),
            client.server_name,
            "delete the ConfigMap; the next apply writes it again and takes over",
        ) from None


def _resource(client: KubeClient, each: ObjectId) -> Resource | None:
    """How the member serves the object's kind; None if it does not. ApiError."""
    try:
        return resource_of(client, each)
    except ApiError as error:
        if error.code == "unknown-kind":
            return None
        raise


def _get(client: KubeClient, resource: Resource, each: ObjectId) -> dict[str, t.Any] | None:
    """The object as it is on the member, None if it is not there. ApiError."""
    try:
        return read_object(client, resource.path(each.namespace, each.name), resource.kind)
    except ApiError as error:
        if error.code == "not-found":
            return None
        raise


def _key_of(resource: Resource, item: t.Mapping[str, t.Any]) -> ObjectKey:
    """What tells the object apart: group, kind, namespace (empty for none) and name."""
    metadata = item["metadata"]
    return (resource.group, resource.kind, metadata.get("namespace", ""), metadata["name"])
