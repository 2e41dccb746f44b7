# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What one member holds for decisions about its nodes: objects made of manifests, put together as a cluster, and the
parts of manifests that are kept for that (no secrets, no ``userData``, of annotations only Karpenter's and ours)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ...cluster.cluster_state import ClusterState, StatePool, assemble, class_reference, with_overlooked
from ...cluster.daemon_sets import daemon_pods
from ...cluster.pod import Pod
from ...cluster.pod_disruption_budget import PodDisruptionBudget, read_pod_disruption_budget
from ...cluster.pod_manifest import PodManifest
from ...cluster.pod_reading import read_as, read_pod
from ...cluster.state_node import (
    Node,
    read_node,
    read_node_claim,
)
from ...errors import FleetError, Problem
from ...objects.clusters.fleet_maintenance import ClusterMaintenance
from ...objects.karpenter.node_claim import NodeClaim
from ...objects.karpenter.node_class import NodeClass
from ...objects.karpenter.node_pool import NodePool, decode_node_pool
from ...schema.codec import encode
from ...schema.meta import EMPTY
from ...values.parts import mapping, rows

NODE, POD, PDB, DAEMON_SET = "Node", "Pod", "PodDisruptionBudget", "DaemonSet"
NODE_POOL, NODE_CLAIM, NODE_CLASS = "NodePool", "NodeClaim", "NodeClass"
KINDS = (NODE, NODE_POOL, NODE_CLAIM, NODE_CLASS, PDB, DAEMON_SET, POD)
# Others may hold what nobody wants in a file: kubectl writes whole manifests there, with their environments.
OUR_ANNOTATIONS = ("karpenter.", "gitops.fleet/", "controller.kubernetes.io/pod-deletion-cost")
# What a machine runs at its start; tokens are found there.
UNWANTED = ("userData",)
Document = dict[str, t.Any]
Object = t.Union[Node, NodePool, NodeClaim, NodeClass, PodDisruptionBudget, Pod, Document]  # noqa: UP007  # pylint takes the other form for an error


@dataclass(frozen=True, kw_only=True)
class MemberNodes:
    """What was read of a member: Nodes, NodePools, NodeClaims, node classes, PodDisruptionBudgets (``pdbs``) and pods.
    ``maintenance`` is the FleetMaintenance that its FleetMember names, or empty, ``own_maintenance`` what lives on the
    cluster itself. ``labels_known`` is False of a member without a MemberCluster. ``karpenter``: its server knows
    NodePools. ``missing`` says by kind why one could not be read: it is not empty then, but unknown. ``pods_read`` is
    False where nobody asked for pods; ``daemons`` are one pod of each DaemonSet, None where nobody asked for these."""

    name: str
    labels: Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    labels_known: bool = True
    maintenance: str = ""
    own_maintenance: ClusterMaintenance | None = field(default=None, hash=False)
    karpenter: bool = False
    nodes: tuple[Node, ...] = ()
    pools: tuple[NodePool, ...] = ()
    claims: tuple[NodeClaim, ...] = ()
    classes: tuple[NodeClass, ...] = ()
    pdbs: tuple[PodDisruptionBudget, ...] = ()
    pods: tuple[Pod, ...] = ()
    pods_read: bool = True
    daemons: tuple[Pod, ...] | None = None
    missing: Mapping[str, Problem] = field(default_factory=lambda: EMPTY, hash=False)

    @cached_property
    def state(self) -> ClusterState:
        """The cluster as Karpenter sees it: nodes with their NodeClaims and pods, those that it overlooks aside. What
        was not read is empty in it: look at ``missing`` and ``pods_known`` first."""
        by_name = {(each.kind, each.name): each for each in self.classes}
        refs = {each.name: class_reference(each) for each in self.pools}
        pools = [StatePool(each, by_name.get((refs[each.name].kind, refs[each.name].name))) for each in self.pools]
        return assemble(self.nodes, self.claims, self.pods, pools, self.pdbs, self.daemons or ())

    @property
    def known_labels(self) -> Mapping[str, str] | None:
        """Its labels; None where they are not known, which is not the same as none."""
        return self.labels if self.labels_known else None

    @property
    def pods_known(self) -> bool:
        """Whether pods were asked for, and could be read."""
        return self.pods_read and POD not in self.missing

    @cached_property
    def whole(self) -> ClusterState:
        """The cluster as of ``state``, with the nodes that Karpenter overlooks among the others, for they hold pods
        too."""
        return with_overlooked(self.state)


def made_of(kind: str, document: Mapping[str, t.Any]) -> Object:
    """The object that decisions read, made of a manifest of one of ``KINDS`` (Node, NodePool, Pod and others); of a
    DaemonSet the manifest as of ``needed_manifest``, with its errors too. FleetError ``undecodable``,
    ``invalid-quantity``; KeyError for another kind."""
    return _MAKE[kind](document)


def member_of(name: str, found: Mapping[str, t.Sequence[Object]], **more: t.Any) -> MemberNodes:
    """A member from objects by kind (of ``KINDS``), in the order given, empty where a kind is absent; ``more`` are
    other fields of MemberNodes, also ``daemons``: DaemonSets in ``found`` are not looked at."""
    parts: dict[str, t.Any] = {attr: tuple(found.get(kind, ())) for attr, kind in _PARTS.items()}
    return MemberNodes(**parts, name=name, **more)


def needed_manifest(kind: str, document: Mapping[str, t.Any]) -> Document:
    """A copy, which may share parts, of a manifest of one of ``KINDS`` without what no decision about nodes reads, and
    without what may hold secrets; FleetError ``undecodable``, also without metadata."""
    try:
        return _kept(kind, document)
    except ValueError as error:
        raise FleetError("undecodable", str(error), kind) from None


def _kept(kind: str, document: Mapping[str, t.Any]) -> Document:
    """As ``needed_manifest``, but ValueError where that finds something wrong beside what ``read_as`` does."""
    if kind == POD:
        out: Document = encode(read_as(PodManifest, document, POD))
    elif kind == DAEMON_SET:
        out = {"spec": {"template": {"spec": encode(_template(document).spec)}}}
    else:
        out = {key: each for key, each in document.items() if key in ("kind", "spec", "status")}
    if document.get("metadata") is None:
        raise ValueError("metadata is missing")
    metadata = mapping(document, "metadata")
    annotations = {
        key: each for key, each in mapping(metadata, "annotations").items() if key.startswith(OUR_ANNOTATIONS)
    }
    ours = ("name", "namespace", "uid", "labels", "creationTimestamp", "deletionTimestamp", "ownerReferences")
    out["metadata"] = {key: metadata[key] for key in ours if metadata.get(key) is not None}
    if annotations:
        out["metadata"]["annotations"] = annotations
    if isinstance(out.get("spec"), Mapping):
        out["spec"] = {key: each for key, each in out["spec"].items() if key not in UNWANTED}
    if kind == NODE:
        out["status"] = _node_status(mapping(document, "status"))
    return out


def _node_status(status: Mapping[str, t.Any]) -> Document:
    """The parts of a Node's status that are read: amounts, versions, and conditions without reasons and messages.
    ValueError if these are no list of maps."""
    conditions = [
        {key: each[key] for key in ("type", "status", "lastTransitionTime") if key in each}
        for each in rows(status, "conditions")
    ]
    kept_parts = {key: status[key] for key in ("allocatable", "capacity", "nodeInfo") if key in status}
    return {**kept_parts, "conditions": conditions}


def _template(document: Mapping[str, t.Any]) -> PodManifest:
    """The pod that a DaemonSet makes, under the name ``template``. FleetError ``undecodable``, ValueError for parts
    that are no objects."""
    template = mapping(mapping(document, "spec"), "template")
    return read_as(PodManifest, {"metadata": {"name": "template"}, "spec": mapping(template, "spec")}, DAEMON_SET)


def _daemon_set(document: Mapping[str, t.Any]) -> Document:
    """A DaemonSet as of ``needed_manifest``, found to be one whose pods can be read. FleetError of ``needed_manifest``
    and of ``daemon_pods``."""
    found = needed_manifest(DAEMON_SET, document)
    daemon_pods([found], ())
    return found


def _node_class(document: Mapping[str, t.Any]) -> NodeClass:
    """The node class of a manifest of any provider. FleetError ``undecodable``."""
    return read_as(NodeClass, document, NODE_CLASS)


_PARTS = {"nodes": NODE, "pools": NODE_POOL, "claims": NODE_CLAIM, "classes": NODE_CLASS, "pdbs": PDB, "pods": POD}
_MAKE: dict[str, t.Callable[[t.Any], Object]] = {
    NODE: read_node,
    NODE_POOL: decode_node_pool,
    NODE_CLAIM: read_node_claim,
    NODE_CLASS: _node_class,
    PDB: read_pod_disruption_budget,
    DAEMON_SET: _daemon_set,
    POD: read_pod,
}
