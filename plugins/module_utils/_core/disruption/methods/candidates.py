# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes are candidates of graceful and of eventual methods, in upstream's words (``error``) and events if not,
and what disrupting each costs (``cost``, ``empty``; Karpenter, ``NewCandidate``).

What a method then does is told by ``commands_of`` in ``passes.py``.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...cluster.cluster_state import ClusterState, StatePool
from ...cluster.eviction_cost import eviction_cost, is_cost_of_empty_node, lifetime_remaining, node_cost, savings_ratio
from ...cluster.instance_types import InstanceType
from ...cluster.pod import Pod, reschedulable
from ...cluster.state_node import INSTANCE_TYPE, StateNode
from ...machine import Blocker
from ...objects.karpenter.node_pool import DRIFTED, EMPTY_REASON, UNDERUTILIZED
from ...values.duration import parse_or_never
from ..blockers import EVENTUAL, GRACEFUL, node_blockers, pod_blockers
from . import events as words
from .events import NodeEvent

EMPTINESS, STATIC_DRIFT, DRIFT = "Emptiness", "StaticDrift", "Drift"
MULTI_NODE, SINGLE_NODE = "MultiNodeConsolidation", "SingleNodeConsolidation"


@dataclass(frozen=True)
class Method:
    """A method of disruption by its name in Karpenter. ``reason`` (Empty, Drifted, Underutilized) is the one that
    budgets know; ``kind`` says whether pods are always respected (``graceful``), or not where the NodeClaim has a
    terminationGracePeriod (``eventual``)."""

    name: str
    reason: str
    kind: str


# In the order in which they are tried; the first that yields a command ends the pass.
METHODS = (
    Method(EMPTINESS, EMPTY_REASON, GRACEFUL),
    Method(STATIC_DRIFT, DRIFTED, EVENTUAL),
    Method(DRIFT, DRIFTED, EVENTUAL),
    Method(MULTI_NODE, UNDERUTILIZED, GRACEFUL),
    Method(SINGLE_NODE, UNDERUTILIZED, GRACEFUL),
)


@dataclass(frozen=True)
class NodeCandidate:
    """A node that may be disrupted. ``type`` is None where its instance type, or the catalogue, is not known; ``price``
    is per hour, None where nobody knows it; ``cost`` is 1 and the positive costs of ``pods``, which have to move;
    ``whole_cost`` the sum of the costs of all pods, negative ones too, times what is left of the node's life."""

    node: StateNode
    pool: StatePool
    type: InstanceType | None
    price: float | None
    pods: tuple[Pod, ...]
    cost: float
    whole_cost: float

    @classmethod
    def of(cls, state: ClusterState, node: StateNode, now: datetime) -> NodeCandidate:
        """The candidate of a node that nothing blocks, with what disrupting it costs at an aware instant. KeyError if
        its pool is not there, ValueError for an ``expireAfter`` that is no duration."""
        pool = state.pools[node.pool]
        pods = tuple(each for each in node.pods if reschedulable(each))
        return cls(
            node=node,
            pool=pool,
            type=pool.instance_type(node.labels.get(INSTANCE_TYPE, "")),
            price=state.price(node),
            pods=pods,
            cost=node_cost(each.cost for each in pods),
            whole_cost=sum(eviction_cost(each.cost) for each in node.pods) * _lifetime(node, now),
        )

    @property
    def name(self) -> str:
        """Name of the node, as of ``StateNode.name``."""
        return self.node.name

    @property
    def empty(self) -> bool:
        """Whether no pod that costs anything has to move."""
        return is_cost_of_empty_node(self.cost)

    @property
    def known_price(self) -> float:
        """The price of an hour, and 0 where nobody knows it, as upstream counts."""
        return self.price or 0.0

    @property
    def ratio(self) -> float:
        """What its going saves an hour, divided by what disrupting it costs, as of ``savings_ratio``."""
        return savings_ratio(self.known_price, self.cost)


@dataclass(frozen=True)
class CandidateVerdict:
    """Whether a node is a candidate for a class of methods; if not, why, in upstream's order.

    ``error`` is the first gate in upstream's words, empty for a candidate; ``events`` are what upstream tells of it.
    """

    node: str
    blockers: tuple[Blocker, ...]
    error: str = ""
    events: tuple[NodeEvent, ...] = ()

    @property
    def candidate(self) -> bool:
        """Whether nothing blocks it."""
        return not self.blockers

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields, and ``candidate``."""
        return {
            "node": self.node,
            "candidate": self.candidate,
            "blockers": [each.as_dict() for each in self.blockers],
            "error": self.error,
            "events": [each.as_dict() for each in self.events],
        }


@dataclass(frozen=True)
class NodeVerdict:
    """Whether a node is a candidate, for both classes of methods; ``costs`` is None if it is one for neither."""

    graceful: CandidateVerdict
    eventual: CandidateVerdict
    costs: NodeCandidate | None

    @property
    def node(self) -> str:
        """Name of the node."""
        return self.graceful.node

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields and ``node``; of ``costs`` only ``price``, ``cost`` and ``empty``."""
        told = None
        if self.costs is not None:
            told = {"price": self.costs.price, "cost": self.costs.cost, "empty": self.costs.empty}
        return {
            "node": self.node,
            "graceful": self.graceful.as_dict(),
            "eventual": self.eventual.as_dict(),
            "costs": told,
        }


def node_verdicts(state: ClusterState, now: datetime) -> tuple[NodeVerdict, ...]:
    """For each node of the state, by name, whether it is a candidate for graceful and for eventual methods, at an aware
    instant, with gates, events and costs. ValueError for an ``expireAfter`` that is no duration."""
    return tuple(_both_verdicts(state, each, now) for each in state.nodes)


def candidate_verdict(state: ClusterState, node: StateNode, now: datetime, kind: str) -> CandidateVerdict:
    """Whether one node is a candidate for one class of methods (``graceful`` or ``eventual``) at an aware instant; if
    not, the gates that are closed, the first in upstream's words. Pods hold back no eventual method where the node has
    a grace period. Events are about annotations of its pods, which are asked only if the node's own gates are open,
    then about the first gate, unless upstream is silent about that."""
    gates = node_blockers(state, node, now)
    pods = pod_blockers(node.pods, state.pod_budgets, now)
    lenient = kind == EVENTUAL and bool(node.grace)
    closed = gates if lenient else (*gates, *pods)
    found = [] if gates else list(_asked_pods(node, pods, now))
    if closed:
        event = words.blocked(node.name, closed[0])
        found += [event] if event is not None else []
    return CandidateVerdict(node.name, closed, words.error_of(closed[0]) if closed else "", tuple(found))


def _asked_pods(node: StateNode, closed: tuple[Blocker, ...], now: datetime) -> t.Iterator[NodeEvent]:
    """The events about annotations do-not-disrupt of the node's pods, in order, down to the first pod that is
    protected, where upstream stops."""
    last = next((each.about["pod"] for each in closed if each.code == "pod-annotation"), None)
    for pod in node.pods:
        yield from words.of_annotations([pod], now)
        if pod.key == last:
            return


def _both_verdicts(state: ClusterState, node: StateNode, now: datetime) -> NodeVerdict:
    """The verdicts of both classes on a node at an aware instant, with its costs if it is a candidate of any.
    ValueError as of ``NodeCandidate.of``."""
    graceful, eventual = candidate_verdict(state, node, now, GRACEFUL), candidate_verdict(state, node, now, EVENTUAL)
    able = graceful.candidate or eventual.candidate
    return NodeVerdict(graceful, eventual, NodeCandidate.of(state, node, now) if able else None)


def _lifetime(node: StateNode, now: datetime) -> float:
    """The part of the node's life that is left, as of ``lifetime_remaining``; 1 without a NodeClaim or its creation.
    ValueError for an ``expireAfter`` that is no duration."""
    claim = node.claim
    if claim is None or claim.metadata.creation_timestamp is None:
        return 1.0
    return lifetime_remaining(claim.metadata.creation_timestamp, now, parse_or_never(claim.spec.expire_after))
