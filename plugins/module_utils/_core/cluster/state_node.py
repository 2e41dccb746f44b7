# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes as decisions about disruption see them: Node, NodeClaim and pods together, read from manifests: registered,
initialized, deleting, marked, their age (real and pretended), what is allocatable and what is free (Karpenter,
``state.StateNode``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..errors import FleetError
from ..objects.clusters.member_cluster import Taint
from ..objects.karpenter.node_claim import NodeClaim
from ..schema.meta import (
    EMPTY,
    Condition,
    ObjectMeta,
    find_condition,
)
from ..schema.prop import prop
from ..values.duration import parse_duration, parse_or_never
from .counted_node import CountedNode
from .facts.node import simulated_age
from .pod import DISRUPTED, Pod
from .pod_reading import nano_amounts, read_as

POOL, INITIALIZED = "karpenter.sh/nodepool", "karpenter.sh/initialized"
REGISTERED = "karpenter.sh/registered"
CAPACITY_TYPE, INSTANCE_TYPE = "karpenter.sh/capacity-type", "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """``capacity`` (empty: as allocatable) and ``allocatable`` are in 10^-9 of each resource's unit; ``ready`` is the
    status of its condition, empty if missing; ``image`` is the name of its operating system (``osImage``)."""

    name: str
    uid: str = ""
    provider_id: str = ""
    labels: t.Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    annotations: t.Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    taints: tuple[Taint, ...] = ()
    capacity: t.Mapping[str, int] = field(default_factory=lambda: EMPTY, hash=False)
    allocatable: t.Mapping[str, int] = field(default_factory=lambda: EMPTY, hash=False)
    ready: str = "True"
    created_at: datetime | None = None
    deleting: bool = False
    kubelet_version: str = ""
    image: str = ""


@dataclass(frozen=True, kw_only=True)
class StateNode:
    """A Node, a NodeClaim, or both. ``queued``: in a running command; ``nominated_until``: until when a pending pod
    awaits it, None for none. Both live in the memory of Karpenter's controller and cannot be seen from outside."""

    node: Node | None = None
    claim: NodeClaim | None = None
    pods: tuple[Pod, ...] = ()
    queued: bool = False
    nominated_until: datetime | None = None

    @property
    def registered(self) -> bool:
        """Whether the Node speaks for itself; before that its NodeClaim does. True without a NodeClaim."""
        if self.claim is None:
            return True
        return self.node is not None and (self.node.labels.get(REGISTERED) == "true" or self.initialized)

    @property
    def name(self) -> str:
        """The Node's once it is ``registered``, before that the NodeClaim's; empty without either."""
        if self.node is not None and self.registered:
            return self.node.name
        return self.claim.name if self.claim is not None else ""

    @property
    def node_name(self) -> str:
        """The Node's own, under which its server has it, registered or not; empty without a Node."""
        return self.node.name if self.node is not None else ""

    @property
    def labels(self) -> t.Mapping[str, str]:
        """Labels of the Node once it is ``registered``, before that of the NodeClaim."""
        if self.node is not None and self.registered:
            return self.node.labels
        return self.claim.metadata.labels if self.claim is not None else EMPTY

    @property
    def annotations(self) -> t.Mapping[str, str]:
        """Annotations of the Node once it is ``registered``, before that of the NodeClaim."""
        if self.node is not None and self.registered:
            return self.node.annotations
        return self.claim.metadata.annotations if self.claim is not None else EMPTY

    @property
    def pool(self) -> str:
        """The NodePool that its labels name; empty if they name none."""
        return self.labels.get(POOL, "")

    @property
    def initialized(self) -> bool:
        """Whether the label ``karpenter.sh/initialized`` of the Node is ``true``."""
        return self.node is not None and self.node.labels.get(INITIALIZED) == "true"

    @property
    def deleting(self) -> bool:
        """Whether it is on its way out: its NodeClaim is being deleted, its machine ends, or a command has marked it. A
        Node's own deletion counts only where it has no NodeClaim."""
        alone = self.node is not None and self.claim is None and self.node.deleting
        return self.claim_deleting or self.marked or alone or self.terminating

    @property
    def terminating(self) -> bool:
        """Whether its NodeClaim says that the machine ends (condition ``InstanceTerminating`` True)."""
        return self.claim is not None and self.claim.is_condition_true("InstanceTerminating")

    @property
    def claim_deleting(self) -> bool:
        """Whether it has a NodeClaim that is being deleted."""
        return self.claim is not None and self.claim.metadata.deletion_timestamp is not None

    @property
    def marked(self) -> bool:
        """Whether a command of Karpenter's has it: it is ``queued``, or, as can be seen from outside, both the Node has
        the taint ``karpenter.sh/disrupted`` and the NodeClaim the condition ``DisruptionReason``."""
        tainted = self.node is not None and any(
            (each.key, each.effect) == (DISRUPTED.key, DISRUPTED.effect) for each in self.node.taints
        )
        return self.queued or (tainted and self.claim is not None and self.claim.is_condition_true("DisruptionReason"))

    @property
    def grace(self) -> str:
        """``terminationGracePeriod`` of the NodeClaim, a duration such as ``30m``; empty if there is none: a drain may
        take for ever."""
        return self.claim.spec.termination_grace_period if self.claim is not None else ""

    @property
    def allocatable(self) -> t.Mapping[str, int]:
        """What pods may ask for, in 10^-9 of each resource's unit; until a node is initialized its NodeClaim, if there
        is one, tells what the Node does not. FleetError ``invalid-quantity`` as of ``nano_amounts``."""
        return self._told(self.node.allocatable if self.node is not None else None, "allocatable")

    @property
    def capacity(self) -> t.Mapping[str, int]:
        """All that the machine has, in 10^-9 of each resource's unit (as allocatable where the Node tells none); until
        a node is initialized its NodeClaim, if there is one, tells what the Node does not. FleetError
        ``invalid-quantity`` as of ``nano_amounts``."""
        own = (self.node.capacity or self.node.allocatable) if self.node is not None else None
        return self._told(own, "capacity")

    def _told(self, own: t.Mapping[str, int] | None, which: str) -> t.Mapping[str, int]:
        """The Node's ``own`` amounts; before it is initialized, those of the NodeClaim's status field ``which`` where
        the Node's are 0 or absent. FleetError ``invalid-quantity`` for one that is none."""
        if self.claim is None or (own is not None and self.initialized):
            return own or {}
        told = nano_amounts(getattr(self.claim.status, which), f"NodeClaim {self.claim.name}")
        return {**told, **{name: amount for name, amount in (own or {}).items() if amount or name not in told}}

    def counted(self) -> CountedNode:
        """What budgets count of the node."""
        return CountedNode(
            name=self.name,
            pool=self.pool,
            has_node=self.node is not None,
            has_node_claim=self.claim is not None,
            initialized=self.initialized,
            ready=self.node.ready if self.node is not None else "",
            marked=self.marked,
            node_claim_deleting=self.claim_deleting,
            instance_terminating=self.terminating,
        )


def age(node: Node, now: datetime) -> timedelta | None:
    """How old a node is at an aware instant, with the age on top that one of a local cluster pretends to have. None
    where nobody said when it was made; ``timedelta.max`` where more cannot be told."""
    if node.created_at is None:
        return None
    lived, pretended = now - node.created_at, simulated_age(node.annotations)
    return timedelta.max if pretended > timedelta.max - abs(lived) else lived + pretended


def free_of(allocatable: t.Mapping[str, int], pods: t.Iterable[Pod]) -> dict[str, int]:
    """What pods that have not ended leave of a node, in 10^-9 of each resource's unit, negative where they ask for
    more."""
    free = dict(allocatable)
    for pod in pods:
        if not pod.ended:
            for name, amount in pod.requests.items():
                free[name] = free.get(name, 0) - amount
    return free


@dataclass(frozen=True, kw_only=True)
class _NodeInfo:
    kubelet_version: str = prop("Version.", default="")
    os_image: str = prop("Operating system.", default="")


@dataclass(frozen=True, kw_only=True)
class _NodeSpec:
    provider_id: str = prop("Identity of the machine.", json="providerID", default="")
    taints: tuple[Taint, ...] = prop("Taints.", default=())
    unschedulable: bool = prop("Cordoned.", default=False)


@dataclass(frozen=True, kw_only=True)
class _NodeStatus:
    capacity: t.Mapping[str, str] = prop("All that the machine has.", default=EMPTY, quantity=True)
    allocatable: t.Mapping[str, str] = prop("What pods may ask for.", default=EMPTY, quantity=True)
    conditions: tuple[Condition, ...] = prop("Conditions.", default=())
    node_info: _NodeInfo = prop("Versions.", default=_NodeInfo())


@dataclass(frozen=True, kw_only=True)
class _NodeManifest:
    metadata: ObjectMeta = prop("Metadata.")
    spec: _NodeSpec = prop("Spec.", default=_NodeSpec())
    status: _NodeStatus = prop("Status.", default=_NodeStatus())


def read_node(document: t.Any) -> Node:
    """A core/v1 Node, with the taint for it if it is cordoned. FleetError ``undecodable`` if it has not the structure
    of one, ``invalid-quantity`` if an amount is none."""
    manifest = read_as(_NodeManifest, document, "Node")
    metadata, spec, status = manifest.metadata, manifest.spec, manifest.status
    ready = find_condition(status.conditions, "Ready")
    cordoned = spec.unschedulable and all(each.key != UNSCHEDULABLE.key for each in spec.taints)
    return Node(
        name=metadata.name,
        uid=metadata.uid,
        provider_id=spec.provider_id,
        labels=metadata.labels,
        annotations=metadata.annotations,
        taints=(*spec.taints, UNSCHEDULABLE) if cordoned else spec.taints,
        capacity=nano_amounts(status.capacity, f"Node {metadata.name}"),
        allocatable=nano_amounts(status.allocatable, f"Node {metadata.name}"),
        ready=ready.status if ready is not None else "",
        created_at=metadata.creation_timestamp,
        deleting=metadata.deletion_timestamp is not None,
        kubelet_version=status.node_info.kubelet_version,
        image=status.node_info.os_image,
    )


def read_node_claim(document: t.Any) -> NodeClaim:
    """A NodeClaim; FleetError ``undecodable`` if it has not the structure of one, or ``expireAfter`` or
    ``terminationGracePeriod`` cannot be read."""
    claim = read_as(NodeClaim, document, "NodeClaim")
    try:
        parse_or_never(claim.spec.expire_after)
        parse_duration(claim.spec.termination_grace_period or "0s")
    except ValueError as error:
        raise FleetError("undecodable", str(error), f"NodeClaim {claim.name}") from None
    return claim
