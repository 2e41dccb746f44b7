# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Pods find places, one by one, the large ones first, giving up wishes: on nodes that are there, on those that are to
be made already, on new ones within limits of pools (Karpenter, ``scheduling/scheduler.go`` and ``queue.go``)."""

from __future__ import annotations

import typing as t
from collections import deque
from dataclasses import dataclass, field

from ...cluster.pod import Pod
from .kinds import Kinds
from .new_claim import Memory, NewClaim
from .rooms import Room, Rooms
from .templates import NODES, Template
from .topology import PodTopology
from .wishes import PodDemands, Wishes

LATE = float("inf")
Limits = dict[str, dict[str, int]]
# What a pod asks for by these wishes, which are less than it began with; the same object for the same wishes.
Ask = t.Callable[[Wishes], PodDemands]


@dataclass
class SchedulingRun:
    """One run, in which pods are placed. ``limits`` are what pools have left, by name, and are changed by new nodes; a
    pool without limits is not in it. ``known`` and ``soft_taints`` are as of ``Simulator``. ``old`` are keys of pods
    that come from nodes on their way out; ``settled``: others stay away from nodes whose wait still runs."""

    rooms: Rooms
    templates: t.Sequence[Template]
    topology: PodTopology
    limits: Limits
    known: frozenset[str]
    memory: Memory
    ask: Ask
    soft_taints: bool
    old: frozenset[str] = frozenset()
    settled: bool = False
    claims: list[NewClaim] = field(default_factory=list)
    failed: dict[str, PodDemands] = field(default_factory=dict)
    _made: int = 0

    def solve(self, asked: t.Iterable[PodDemands], stop: t.Callable[[PodDemands], bool] | None = None) -> None:
        """Places them all, the large ones first (by CPU, then memory, then age), until a whole round brings nothing
        more; ``claims`` are the new nodes then, and ``failed`` the pods without a place. ``stop`` ends it early at a
        pod that has found no place: pods behind that are neither placed nor ``failed``."""
        queue = deque(sorted(asked, key=_turn))
        length_then: dict[str, int] = {}
        while queue and length_then.get(queue[0].key) != len(queue):
            one = queue.popleft()
            if self._place_relaxing(one):
                self.failed.pop(one.key, None)
                continue
            self.failed[one.key] = one
            if stop is not None and stop(one):
                return
            self.topology.update(one)
            queue.append(one)
            length_then[one.key] = len(queue)

    def _place_relaxing(self, one: PodDemands) -> bool:
        """Places the pod, giving up one wish after the other until it has a place; False if it has none in the end."""
        asked: PodDemands | None = one
        while asked is not None:
            if self._place(asked):
                return True
            less = asked.wishes.relaxed(self.soft_taints)
            if less is not None:
                asked = self.ask(less)
                self.topology.update(asked)
            else:
                asked = None
        return False

    def _place(self, asked: PodDemands) -> bool:
        """Places the pod with the wishes that it has: on a node that is there, else on one to be made already, those
        with the fewest pods first, else on a new one. False if none takes it, and for a pod that cannot be judged."""
        if asked.pod.unjudged:
            return False
        pod = asked.pod
        careful = self.settled and pod.phase != "Pending" and asked.key not in self.old
        if self.rooms.put_on_first(asked, self.topology, careful) is not None:
            return True
        self.claims.sort(key=lambda one: len(one.pods))
        if any(each.take(asked, self.topology, self.known) for each in self.claims):
            return True
        return any(self._put_on_new_node(asked, each) for each in self.templates)

    def _put_on_new_node(self, asked: PodDemands, template: Template) -> bool:
        """Puts the pod on a new node of the template, within what its pool's limits leave, and adds that to ``claims``;
        the most that its types have of each resource (``capacity``) is taken from the limits, no node is counted. False
        if it cannot be."""
        name = template.pool.name
        left, kinds = self.limits.get(name), template.kinds
        if left is not None:
            if left.get(NODES) == 0:
                return False
            kinds = _within(kinds, left)
            if not kinds:
                return False
        claim = NewClaim(f"claim {self._made + 1}", template, kinds, self.memory)
        if not claim.take(asked, self.topology, self.known):
            return False
        self._made += 1
        self.claims.append(claim)
        if left is not None:
            for resource in left:
                left[resource] -= max((each.capacity.get(resource, 0) for each in claim.kinds), default=0)
        return True

    @property
    def used(self) -> list[Room]:
        """The nodes that are there already and have got pods, in the order of the search."""
        return self.rooms.used


def _within(kinds: Kinds, left: t.Mapping[str, int]) -> Kinds:
    """The types that, by all that their machines have (``capacity``), do not go beyond what the pool's limits leave;
    the same tuple if none does."""
    kept = tuple(each for each in kinds if all(each.capacity.get(name, 0) <= much for name, much in left.items()))
    return kinds if len(kept) == len(kinds) else kept


def _turn(asked: PodDemands) -> tuple[int, int, float, str, str]:
    """The order of pods: by CPU and memory, the most first, then those of unknown age, then the oldest, of equal ones
    by UID, and by name where they have none."""
    cpu, memory, _pods = asked.amounts
    pod: Pod = asked.pod
    age = pod.created_at.timestamp() if pod.created_at is not None else -LATE
    return -cpu, -memory, age, pod.uid, pod.key
