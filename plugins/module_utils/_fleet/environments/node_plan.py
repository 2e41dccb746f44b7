# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of a member's nodes when a program writes, or deletes, NodePools and node classes (``no-karpenter``):
asked of the member by dry runs and by reading."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..._core.cluster.cluster_state import ClusterState
from ..._core.disruption.node_source import Document, NodeSource
from ..._core.disruption.planned_nodes import NodesPlan, plan_changes
from ..._core.disruption.subnet_change import Network
from ..._core.errors import FleetError
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.objects.clusters.member_cluster import MemberCluster
from ..._core.objects.karpenter.node_class import AKS_NODE_CLASS
from ..._core.objects.karpenter.node_pool import KIND as NODE_POOL
from ..._core.schema.codec import decode
from ..._core.schema.meta import ObjectMeta
from ..._kube.apply import apply_object
from ..._kube.client import KubeClient
from ..._kube.discovery import resource_for
from ..._kube.errors import ApiError
from ..._kube.lists import list_objects
from ..._kube.paths import object_path
from ..members.members import Clients, Member
from ..nodes.reading import ReadingWish, read_members
from .hub import live_object

NO_KARPENTER = "no-karpenter"
KINDS = (("karpenter.sh/v1", NODE_POOL), ("karpenter.azure.com/v1beta1", AKS_NODE_CLASS))


@dataclass(frozen=True, kw_only=True)
class NodesWish:
    """What a program writes to the member ``name``: ``documents``, NodePools and node classes as it applies them.
    ``labels`` are on all that it wrote before, by which is found what it deletes (without any, that is all of these
    kinds); it owns fields as ``manager``. ``kubeconfig`` is empty for a member that is not there yet. ``network`` and
    ``allow_move`` are as of ``plan_changes``."""

    name: str
    kubeconfig: str
    context: str
    documents: tuple[Document, ...]
    labels: t.Mapping[str, str]
    manager: str
    network: Network = field(default_factory=Network)
    allow_move: bool = False


def planned_nodes(wish: NodesWish, environ: t.Mapping[str, str], now: datetime) -> NodesPlan:
    """What becomes of the nodes if all that is written; nothing is. Each document has an apiVersion, a kind and a name.
    Without a kubeconfig no member is asked, and all is new. FleetError of a member that does not answer or refuses a
    document; ``no-karpenter``; as of ``plan_changes``."""
    if not wish.kubeconfig:
        new = [NodeSource(str(each["kind"]), str(each["metadata"]["name"]), None, each) for each in wish.documents]
        return plan_changes(new, ClusterState(), wish.network, wish.name)
    spec = {"connection": {"kubeconfig": wish.kubeconfig, **({"context": wish.context} if wish.context else {})}}
    fleet = decode(FleetMember, {"metadata": {"name": wish.name}, "spec": spec})
    member = Member(cluster=MemberCluster(metadata=ObjectMeta(name=wish.name)), fleet=fleet)
    with Clients({wish.name: fleet}, environ=environ) as clients:
        changes = _changes(clients.get(wish.name), wish)
        found = read_members({wish.name: member}, clients, ReadingWish(pods=False), now)
    if found.problems:
        raise FleetError.of(found.problems)
    return plan_changes(changes, found.members[0].whole, wish.network, wish.name, wish.allow_move)


def _changes(client: KubeClient, wish: NodesWish) -> list[NodeSource]:
    """What is written, in the order given, as the server would store it; then what goes because it was written before
    and is no more. FleetError as of ``_written`` and ``_owned``."""
    written = [_written(client, each, wish.manager) for each in wish.documents]
    names = {(each.kind, each.name) for each in written}
    before = [each for version, kind in KINDS for each in _owned(client, version, kind, wish.labels)]
    return [*written, *(each for each in before if (each.kind, each.name) not in names)]


def _written(client: KubeClient, document: Document, manager: str) -> NodeSource:
    """The document as it is on the member, None if it is not there, and as a dry run would store it, fields of others
    taken over. FleetError ``no-karpenter`` if the member does not know its kind; ApiError."""
    kind, name = str(document["kind"]), str(document["metadata"]["name"])
    try:
        path = object_path(resource_for(client, str(document["apiVersion"]), kind), document)
        after = apply_object(client, document, manager, force=True, dry_run=True)
    except ApiError as error:
        if error.code == "unknown-kind":
            text = f"the member does not know {kind} {document['apiVersion']}"
            raise FleetError(NO_KARPENTER, text, client.server_name, "install Karpenter there first") from None
        raise
    return NodeSource(kind, name, live_object(client, path), after)


def _owned(client: KubeClient, version: str, kind: str, labels: t.Mapping[str, str]) -> list[NodeSource]:
    """Objects of the kind with all these labels, all of the kind without any, as what is to be deleted; none where the
    member does not know the kind. ApiError."""
    try:
        path = resource_for(client, version, kind).path()
    except ApiError as error:
        if error.code == "unknown-kind":
            return []
        raise
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    found = list_objects(client, path, label_selector=selector, kind=kind)
    return [NodeSource(kind, str(each["metadata"]["name"]), each, None) for each in found]
