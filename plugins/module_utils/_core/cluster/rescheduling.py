# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where pods would go if nodes went away (Karpenter, ``SimulateScheduling``): on other nodes, or on new ones.

Pods are placed one by one, the large ones first, each on the first node that takes it.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from ..schema.meta import EMPTY
from .cluster_state import ClusterState
from .consolidation_wait import consolidatable
from .new_nodes import Option, options_by_pool
from .pod import Pod, reschedulable
from .pod_fit import (
    Room,
    by_size,
    lacking,
    ports_taken,
    refusal,
    with_hostname,
)
from .pod_topology import PodTopology
from .state_node import HOSTNAME, ZONE, StateNode


@dataclass(frozen=True)
class Move:
    """A pod and its new home: the name of a node, or of a new one (``new-1``)."""

    pod: str
    source: str
    target: str

    def as_dict(self) -> dict[str, str]:
        return {"pod": self.pod, "from": self.source, "to": self.target}


@dataclass(frozen=True)
class NewNode:
    """A node to be made: any of the options takes the pods that are meant for it."""

    name: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Misfit:
    """A pod that finds no home, and why in words."""

    pod: str
    text: str


@dataclass(frozen=True)
class Simulation:
    """``misfits`` leave out pods that had no node before: they may go on waiting."""

    moves: tuple[Move, ...] = ()
    new_nodes: tuple[NewNode, ...] = ()
    misfits: tuple[Misfit, ...] = ()


@dataclass
class _New:
    name: str
    options: tuple[Option, ...]
    pods: list[Pod] = field(default_factory=list)
    requests: dict[str, int] = field(default_factory=dict)

    @property
    def common(self) -> dict[str, str]:
        """The labels that all options share."""
        first, *others = self.options
        shared = {
            key: value for key, value in first.labels.items() if all(one.labels.get(key) == value for one in others)
        }
        return {**shared, HOSTNAME: self.name}


def simulate(
    state: ClusterState, going: t.Collection[str], now: datetime, unsettled: t.Container[str] | None = None
) -> Simulation:
    """What becomes of the pods of the nodes ``going``, and of those that need a place already.

    No pod of theirs may go where ``consolidateAfter`` still runs, which are the nodes ``unsettled``; with these given,
    the first misfit ends it, because consolidation asks for no more. Pods on nodes that are not initialized count as
    misfits, because nobody knows whether these nodes will come.
    """
    leaving = [each for each in state.nodes if each.name in going]
    staying = [each for each in state.nodes if each.name not in going and not each.deleting]
    ending = [each for each in state.nodes if each.name not in going and each.deleting]
    fresh = {each.name for each in staying if each.claim is not None and not each.initialized}
    rooms = [_room(each) for each in staying if each.node is not None]
    rooms.sort(key=lambda room: (room.name in fresh, room.name))
    work = _Search(rooms, options_by_pool(state))
    for pod, source, zone, wanted in sorted(_pods(state, leaving, ending, now), key=lambda row: by_size(row[0])):
        work.place(pod, source, zone, unsettled or () if wanted else (), fresh if wanted else (), bool(source))
        if work.misfits and unsettled is not None:
            break
    return work.result()


def unsettled_nodes(state: ClusterState, now: datetime) -> frozenset[str]:
    """The nodes whose ``consolidateAfter`` still runs."""
    return frozenset(each.name for each in state.nodes if _waits(state, each, now))


class _Search:
    def __init__(self, rooms: list[Room], pools: list[tuple[Option, ...]]) -> None:
        self.rooms, self.pools, self.topology = rooms, pools, PodTopology(rooms)
        self.new: list[_New] = []
        self.moves: list[Move] = []
        self.misfits: list[Misfit] = []

    def place(
        self, pod: Pod, source: str, zone: str, closed: t.Container[str], fresh: t.Container[str], counts: bool
    ) -> None:
        """Find the first place; ``counts``: the pod had one before, so that finding none is a failure."""
        reasons: Counter[str] = Counter()
        for room in self.rooms:
            why = "a recent pod change there" if room.name in closed else self._why_not(pod, room, zone)
            if not why:
                if room.name in fresh:
                    self.misfits.append(
                        Misfit(pod.key, f"pod {pod.key} would go to {room.name}, which isn't initialized")
                    )
                room.put(pod)
                self._placed(pod, source, room.name, room.labels)
                return
            reasons[why] += 1
        if not self._on_new(pod, source, zone) and counts:
            told = ", ".join(f"{count} {why}" for why, count in sorted(reasons.items()))
            self.misfits.append(
                Misfit(pod.key, f"pod {pod.key} fits none of {len(self.rooms)} nodes ({told}) and no new one")
            )

    def result(self) -> Simulation:
        return Simulation(
            tuple(self.moves), tuple(NewNode(each.name, each.options) for each in self.new), tuple(self.misfits)
        )

    def _why_not(self, pod: Pod, room: Room, zone: str) -> str:
        if not room.ready:
            return "not Ready"
        short = lacking(room.free, pod.requests)
        if short:
            return f"too little {short}"
        why = refusal(pod, room.labels, room.taints, zone)
        return why or ("host port" if ports_taken(pod, room.pods) else self.topology.refusal(pod, room.labels))

    def _on_new(self, pod: Pod, source: str, zone: str) -> bool:
        """On a node that is to be made already, else on one more, of the first pool that can."""
        for each in self.new:
            if not ports_taken(pod, each.pods) and self._add(each, each.options, pod, source, zone):
                return True
        name = f"new-{len(self.new) + 1}"
        for options in self.pools:
            fresh = _New(name, options)
            if options and self._add(fresh, options, pod, source, zone):
                self.new.append(fresh)
                return True
        return False

    def _add(self, new: _New, options: tuple[Option, ...], pod: Pod, source: str, zone: str) -> bool:
        needed = {key: new.requests.get(key, 0) + pod.requests.get(key, 0) for key in {*new.requests, *pod.requests}}
        left = [each for each in options if self._takes(each, new.name, needed, pod, zone)]
        if not left:
            return False
        before = new.common if new.pods else {}
        new.options, new.requests = _settled(left, pod), needed
        common = new.common
        learned = {key: value for key, value in common.items() if key not in before}
        self.topology.open(learned)
        for there in new.pods:
            self.topology.put(there, learned)
        new.pods.append(pod)
        self._placed(pod, source, new.name, common)
        return True

    def _takes(self, option: Option, name: str, needed: t.Mapping[str, int], pod: Pod, zone: str) -> bool:
        labels = {**option.labels, HOSTNAME: name}
        if not option.available or lacking(option.free, needed) or refusal(pod, labels, option.taints, zone):
            return False
        return not self.topology.refusal(pod, labels)

    def _placed(self, pod: Pod, source: str, target: str, labels: t.Mapping[str, str]) -> None:
        self.topology.put(pod, labels)
        if source:
            self.moves.append(Move(pod.key, source, target))


def _settled(options: list[Option], pod: Pod) -> tuple[Option, ...]:
    """The options in one domain of each kind that the pod's constraints ask for: that of the cheapest."""
    keys = {each.topology_key for each in pod.spread} | {
        each.topology_key for each in (*pod.affinity, *pod.anti_affinity)
    }
    if not keys - {HOSTNAME}:
        return tuple(options)
    best = min(options, key=_by_price)
    return tuple(
        each for each in options if all(each.labels.get(key) == best.labels.get(key) for key in keys - {HOSTNAME})
    )


def _by_price(option: Option) -> tuple[float, str, str, str]:
    price = float("inf") if option.price is None else option.price
    return price, option.instance_type, option.zone, option.capacity_type


def _pods(
    state: ClusterState, leaving: list[StateNode], ending: list[StateNode], now: datetime
) -> t.Iterator[tuple[Pod, str, str, bool]]:
    """Pods that need a place, with their node, its zone, and whether they are the going nodes' own."""
    for node in leaving:
        for pod in node.pods:
            if state.limits.reschedulable_now(pod, now):
                yield pod, node.name, node.labels.get(ZONE, ""), True
    for node in ending:
        for pod in node.pods:
            if reschedulable(pod):
                yield pod, node.name, node.labels.get(ZONE, ""), False
    for pod in state.pending:
        yield pod, "", "", False


def _room(node: StateNode) -> Room:
    if node.node is None:
        return Room(name=node.name, labels=EMPTY, free={}, ready=False)
    return Room(
        name=node.name,
        labels=with_hostname(node.node.labels, node.name),
        taints=node.node.taints,
        free=dict(node.free),
        pods=list(node.pods),
        ready=node.node.ready == "True",
    )


def _waits(state: ClusterState, node: StateNode, now: datetime) -> bool:
    pool = state.pools.get(node.pool)
    return pool is not None and node.claim is not None and consolidatable(pool.pool, node, now).code == "waiting"
