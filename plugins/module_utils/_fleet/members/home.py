# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Our namespace on a member: made when it is first needed, and deleted if we made it and nothing is left in it that
others put there."""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError
from ..._core.objects.identity import NAMESPACE, ObjectId
from ..._core.resources.applyset import MANAGED_BY, parent_name
from ..._kube.apply import delete_object
from ..._kube.client import KubeClient
from ..._kube.discovery import served_namespaced_resources
from ..._kube.documents import read_object
from ..._kube.errors import ApiError
from ..._kube.lists import list_objects
from ..._kube.shared_lease import worker_count

HOME = ObjectId("", "v1", "Namespace", "", NAMESPACE)
PATH = f"/api/v1/namespaces/{NAMESPACE}"
# Set by whoever creates the namespace, and never on one that is there already.
MADE_BY_US = {"gitops.fleet/made-for": "placements"}
MEMBER_LEASE = "member"
# What every namespace has without anybody's doing, and the lease under which we work on the member at this moment.
NOBODYS = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"), ("Lease", MEMBER_LEASE)}
# Another group's kind of that name is what people made.
EVENTS = {("Event", ""), ("Event", "events.k8s.io")}

T = t.TypeVar("T")


def with_home_made(client: KubeClient, work: t.Callable[[], T]) -> T:
    """What ``work`` gives; if something is not found, our namespace is made, which stays, and ``work`` is called once
    more. FleetError of ``work``, or where the namespace cannot be made."""
    try:
        return work()
    except ApiError as error:
        if error.code != "not-found":
            raise
    metadata = {"name": NAMESPACE, "labels": MANAGED_BY, "annotations": MADE_BY_US}
    try:
        client.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    except ApiError as error:
        if error.code != "already-exists":
            raise
    return work()


def removable_home(client: KubeClient, ending: t.Iterable[str]) -> dict[str, t.Any] | None:
    """The namespace if it can go with the placements ``ending``, given by name: we made it, it holds nothing but their
    parents, events, our lease and what every namespace has, and no other run of these records works in it. Else None,
    also where something cannot be listed."""
    ignored = NOBODYS | {("ConfigMap", parent_name(placement)) for placement in ending}
    try:
        namespace = read_object(client, PATH, "Namespace")
        metadata = namespace["metadata"]
        made = (metadata.get("annotations") or {}).items() >= MADE_BY_US.items()
        if not made or metadata.get("deletionTimestamp"):
            return None
        kinds = sorted(served_namespaced_resources(client), key=lambda each: each.kind not in ("ConfigMap", "Lease"))
        for resource in kinds:
            if (resource.kind, resource.group) in EVENTS:
                continue
            for each in list_objects(client, resource.path(NAMESPACE), limit=10, metadata_only=True):
                if (resource.kind, each["metadata"]["name"]) not in ignored:
                    return None
        if worker_count(client, NAMESPACE, MEMBER_LEASE) > 1:  # last: it may have come since its kinds were listed
            return None
    except FleetError:
        return None
    return namespace


def remove_home(client: KubeClient, namespace: t.Mapping[str, t.Any]) -> bool:
    """Deletes the namespace that ``removable_home`` gave, and tells whether it did: not if it has changed since, is
    gone, or may not be deleted. Any other FleetError of the request is raised."""
    metadata = namespace["metadata"]
    try:
        return delete_object(client, PATH, uid=metadata["uid"], resource_version=metadata["resourceVersion"])
    except ApiError as error:
        if error.code not in ("conflict", "forbidden"):
            raise
        return False
