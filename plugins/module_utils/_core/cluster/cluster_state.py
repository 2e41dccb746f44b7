# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A cluster as decisions about its nodes see it: Nodes put together with NodeClaims and pods, nodes that Karpenter
overlooks, pools and the class that each names, what a node costs an hour (``price``), and which pool judges a node
(Karpenter, ``state.Cluster``)."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..errors import FleetError
from ..objects.karpenter.node_claim import NodeClaim, NodeClassReference
from ..objects.karpenter.node_class import NodeClass
from ..objects.karpenter.node_pool import NodePool
from ..values.node_selector import NodeSelectorRequirement
from .instance_types import InstanceType
from .pod import Pod
from .pod_disruption_budget import PodDisruptionBudget, PodDisruptionBudgets
from .state_node import (
    CAPACITY_TYPE,
    INITIALIZED,
    INSTANCE_TYPE,
    POOL,
    ZONE,
    Node,
    StateNode,
)


@dataclass(frozen=True)
class StatePool:
    """A NodePool and what it makes nodes from. ``managed`` is False if its class belongs to another provider than that
    of the controller that looks; from outside that is not known, and it stays True. ``node_class`` or
    ``instance_types`` None: not known, which is not the same as empty."""

    pool: NodePool
    node_class: NodeClass | None = None
    instance_types: tuple[InstanceType, ...] | None = None
    managed: bool = True

    @property
    def name(self) -> str:
        """Name of the NodePool."""
        return self.pool.name

    @property
    def static(self) -> bool:
        """Whether it has ``replicas``, 0 too, and so keeps a fixed number of nodes."""
        return (self.pool.manifest.get("spec") or {}).get("replicas") is not None

    @property
    def requirements(self) -> tuple[NodeSelectorRequirement, ...]:
        """The requirements of its template, in its order; FleetError ``undecodable`` if one is not made of texts."""
        found = self.pool.template.requirements
        for each in found:
            if not all(isinstance(text, str) for text in (each.key, each.operator, *each.values)):
                raise FleetError("undecodable", f"texts are wanted in {each!r:.120}", f"NodePool {self.name}")
        return found

    @property
    def labels(self) -> dict[str, str]:
        """Labels that its template gives to nodes; what is no text is left out."""
        return {key: value for key, value in self.pool.template.labels.items() if isinstance(value, str)}

    def instance_type(self, name: str) -> InstanceType | None:
        """The first instance type of that name in the pool's catalogue, whether or not the pool may take it and it can
        be had now; None if there is none, or no catalogue is known."""
        return next((each for each in self.instance_types or () if each.name == name), None)


def class_reference(pool: NodePool) -> NodeClassReference:
    """The node class that the pool's manifest names (group, kind, name); a part that is missing or no text is empty."""
    found: t.Any = pool.manifest
    for key in ("spec", "template", "spec", "nodeClassRef"):
        found = found.get(key) if isinstance(found, Mapping) else None
    told = found if isinstance(found, Mapping) else {}
    texts = {key: told[key] for key in ("group", "kind", "name") if isinstance(told.get(key), str)}
    return NodeClassReference(**texts)


@dataclass(frozen=True)
class ClusterState:
    """``nodes`` are sorted by name, ``pools`` are by name, ``pending`` are pods without a node, ended ones too,
    ``daemons`` one pod of each DaemonSet, for the room that they take on new nodes. ``overlooked`` are Nodes that
    Karpenter does not look at yet, with their pods and without NodeClaims."""

    nodes: tuple[StateNode, ...] = ()
    pools: t.Mapping[str, StatePool] = field(default_factory=dict, hash=False)
    pending: tuple[Pod, ...] = ()
    pod_disruption_budgets: tuple[PodDisruptionBudget, ...] = ()
    daemons: tuple[Pod, ...] = ()
    overlooked: tuple[StateNode, ...] = ()

    @cached_property
    def pod_budgets(self) -> PodDisruptionBudgets:
        """The PodDisruptionBudgets, to be asked pod by pod."""
        return PodDisruptionBudgets(self.pod_disruption_budgets)

    def price(self, node: StateNode) -> float | None:
        """What a node costs an hour by the catalogue of its pool, in the currency of that; None if it does not tell."""
        pool = self.pools.get(node.pool)
        kind = pool.instance_type(node.labels.get(INSTANCE_TYPE, "")) if pool else None
        return kind.price(node.labels.get(ZONE, ""), node.labels.get(CAPACITY_TYPE, "")) if kind else None

    @cached_property
    def _foreign_classes(self) -> frozenset[tuple[str, str]]:
        """Group and kind of the node classes that only pools of other providers name."""
        refs = [(each.managed, each.pool.template.node_class) for each in self.pools.values()]
        return frozenset(ref for managed, ref in refs if not managed) - {ref for managed, ref in refs if managed}

    def judging_pool(self, node: StateNode) -> StatePool | None:
        """The pool against which Karpenter's controllers judge the node's NodeClaim. None without a NodeClaim, and for
        one that is being deleted, whose pool is not known, or whose class is another provider's."""
        claim = node.claim
        if claim is None or node.claim_deleting or self.is_of_other_provider(node):
            return None
        return self.pools.get(claim.metadata.labels.get(POOL, ""))

    def is_of_other_provider(self, node: StateNode) -> bool:
        """Whether the class of its NodeClaim is another provider's: its group and kind are named by pools that are not
        ``managed``, and by none that is. False without a NodeClaim."""
        ref = node.claim.spec.node_class_ref if node.claim is not None else None
        return ref is not None and (ref.group, ref.kind) in self._foreign_classes


def assemble(
    nodes: t.Iterable[Node],
    claims: t.Iterable[NodeClaim] = (),
    pods: t.Iterable[Pod] = (),
    pools: t.Iterable[StatePool] = (),
    pod_disruption_budgets: t.Iterable[PodDisruptionBudget] = (),
    daemons: t.Iterable[Pod] = (),
) -> ClusterState:
    """The state from objects in any order: each Node with its NodeClaim and pods, and NodeClaims without a Node, all by
    name.

    A Node and a NodeClaim belong together if they name the same machine; where one does not tell, by the Node's name.
    Of two NodeClaims that name one machine, or Node, the last by name has it; of two Nodes of one NodeClaim it is with
    the one that it names, else with the first by name. Pods of a node that is not given are left out, and of pools with
    one name the last counts. Nodes that Karpenter does not look at yet are ``overlooked``; their NodeClaims are nodes
    without a Node.
    """
    by_node: dict[str, list[Pod]] = defaultdict(list)
    for pod in sorted(pods, key=lambda one: one.key):
        by_node[pod.node].append(pod)
    waiting = sorted(claims, key=lambda one: one.name)
    known: list[Node] = []
    overlooked: list[Node] = []
    for each in sorted(nodes, key=lambda one: one.name):
        (overlooked if _overlooked(each) else known).append(each)
    owned = _owned(known, waiting)
    joined = [StateNode(node=each, claim=owned.get(each.name), pods=tuple(by_node[each.name])) for each in known]
    taken = {each.name for each in owned.values()}
    alone = [StateNode(claim=each) for each in waiting if each.name not in taken]
    return ClusterState(
        tuple(sorted([*joined, *alone], key=lambda one: one.name)),
        {each.name: each for each in pools},
        tuple(by_node[""]),
        tuple(sorted(pod_disruption_budgets, key=lambda one: one.key)),
        tuple(sorted(daemons, key=lambda one: one.key)),
        tuple(StateNode(node=each, pods=tuple(by_node[each.name])) for each in overlooked),
    )


def with_overlooked(state: ClusterState) -> ClusterState:
    """The same state with the nodes that Karpenter overlooks among the others, each with its NodeClaim if it has
    one."""
    alone = [each.claim for each in state.nodes if each.node is None and each.claim is not None]
    found = {each.node.name: each for each in state.overlooked if each.node is not None}
    owned = _owned([each.node for each in found.values() if each.node is not None], alone)
    joined = [replace(each, claim=owned.get(name)) for name, each in found.items()]
    taken = {each.name for each in owned.values()}
    others = (each for each in state.nodes if each.node is not None or each.name not in taken)
    return replace(state, nodes=tuple(sorted((*others, *joined), key=lambda one: one.name)), overlooked=())


def _owned(nodes: t.Sequence[Node], claims: t.Sequence[NodeClaim]) -> dict[str, NodeClaim]:
    """The NodeClaim of each node that has one, by the node's name. Where two Nodes say that they are the machine of one
    NodeClaim, it belongs to the one that it names, or else to the first."""
    by_id = {each.status.provider_id: each for each in claims if each.status.provider_id}
    by_name = {each.status.node_name or each.name: each for each in claims}
    found: dict[str, NodeClaim] = {}
    owner: dict[str, str] = {}
    for each in nodes:
        claim = by_id.get(each.provider_id) if each.provider_id else None
        named = by_name.get(each.name)
        if claim is None and named is not None and not (each.provider_id and named.status.provider_id):
            claim = named
        if claim is None:
            continue
        before = owner.get(claim.name)
        if before is not None and claim.status.node_name != each.name:
            continue
        found.pop(before or "", None)
        found[each.name], owner[claim.name] = claim, each.name
    return found


def _overlooked(node: Node) -> bool:
    """Whether it is a node of a pool that does not say its type yet and was never initialized (Karpenter,
    ``Cluster.UpdateNode``)."""
    managed = bool(node.labels.get(POOL))
    return managed and not node.labels.get(INSTANCE_TYPE) and not node.labels.get(INITIALIZED)
