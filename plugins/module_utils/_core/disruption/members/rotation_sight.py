# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The input of a rotation's step, made of what members hold: nodes, every budget that they are under, windows, other
rotations; and which nodes are due (``olderThan``, ``versionOtherThan``, ``imageOtherThan``), or left by one before."""

from __future__ import annotations

import typing as t
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from ...cluster.facts.node import image_of
from ...cluster.pod import Pod
from ...cluster.state_node import Node, StateNode, age
from ...objects.clusters.fleet_maintenance import FleetMaintenance
from ...objects.clusters.node_rotation import NodeRotation
from ...objects.karpenter.node_pool import Budget
from ...objects.updates.update_run import NODE_IMAGE_ONLY
from ...schema.meta import EMPTY
from ...updates.timing.maintenance import calendar
from ...values.duration import as_timedelta, parse_duration
from ...windows.fleet_windows import WindowAnswer
from ..rotation.input import (
    OTHERS,
    BudgetScope,
    MemberScope,
    OtherNode,
    RotationInput,
    RotationNode,
    cluster_in_name,
    rotation_node,
    spends_budgets,
    whole_pool_name,
)
from ..rotation.state import RotationState
from .fleet_limits import FleetLabels, FleetLimit, fleet_limits, unknown_limits, window_answer
from .member_nodes import MemberNodes
from .pools import compile_node_selector, takes

NO_POOL = "-"


@dataclass(frozen=True, kw_only=True)
class RotationGround:
    """A rotation and what holds it back besides budgets of pools. ``windows`` is the type of update run whose windows
    count; ``fleet`` are the labels of all recorded members by name, for budgets are over those too that cannot be
    read."""

    rotation: NodeRotation
    maintenance: tuple[FleetMaintenance, ...] = ()
    windows: str = NODE_IMAGE_ONLY
    fleet: FleetLabels = field(default_factory=lambda: EMPTY, hash=False)

    @property
    def over_fleet(self) -> bool:
        """Whether some FleetMaintenance has budgets, which may be over more members than the rotation selects: all have
        to be looked at."""
        return any(each.spec.budgets for each in self.maintenance)

    def takes(self, member: str, labels: Mapping[str, str] | None) -> bool:
        """As ``pools.takes``, of this rotation, ValueError included."""
        return takes(self.rotation, member, labels)

    def due(self, members: t.Iterable[MemberNodes], now: datetime) -> dict[str, str]:
        """Why each node that is to be replaced at an aware instant is, in words, by its name (``member/node``); all
        that are selected if the rotation asks for nothing else. Members that take no part are left out. ValueError for
        a selector or a duration that is none."""
        holds = compile_node_selector(self.rotation)
        return {
            f"{member.name}/{node.name}": why
            for member in members
            if self.takes(member.name, member.known_labels)
            for node in member.nodes
            if holds(node.labels) and (why := self._why(node, now))
        }

    def due_of(self, members: t.Iterable[MemberNodes], now: datetime, before: RotationState) -> dict[str, str]:
        """As ``due``, of what a rotation without ``spec.due`` has left ``before``: without the nodes that were made
        since it was asked for, and those, whatever their age, that have the name of a replacement of one of its nodes.
        Other nodes of unknown age are due, and so are its own that are still there, though they were made in the very
        second."""
        since, came = before.asked_at, {each.replacement for each in before.nodes}
        own = {(each.name, each.uid) for each in before.nodes if each.uid}

        def stays(member: MemberNodes, node: Node) -> bool:
            """Whether the node came since, and is none of its own."""
            return _made_since(node, since, now) and (f"{member.name}/{node.name}", node.uid) not in own

        old = (replace(each, nodes=tuple(one for one in each.nodes if not stays(each, one))) for each in members)
        return {name: why for name, why in self.due(old, now).items() if name not in came}

    def step_input(
        self,
        members: t.Sequence[MemberNodes],
        now: datetime,
        failed: Mapping[str, str] = EMPTY,
        unknown: Mapping[str, str] = EMPTY,
        flying: t.Iterable[str] = (),
        others: t.Sequence[OtherNode] = (),
        wait: str = "",
        stop: bool = False,
        left: frozenset[str] = frozenset(),
    ) -> RotationInput:
        """The input of a step at an aware instant. ``members`` are those that could be read; ``failed``, ``unknown``,
        ``left``, ``stop`` and ``wait`` are as in ``RotationInput``; ``flying`` are the pools of nodes that have not
        ended, whose member takes part whatever its labels say by now; ``others`` are nodes that other rotations have in
        flight. Of members that could not be read budgets of the fleet count only what is in flight there. A member
        whose window, or budgets of the fleet, cannot be told counts as closed. ValueError for a selector, an amount, a
        zone or a date that is none, KeyError for an unknown type of run."""
        found = _Sighted(self.rotation.name, others)
        holds = compile_node_selector(self.rotation)
        for pool in flying:
            found.pools[cluster_in_name(pool)].add(pool)
        taking = [each for each in members if each.name in found.pools or self.takes(each.name, each.known_labels)]
        for member in taking:
            found.add(member, holds)
        named = {each.name for each in taking}
        for member in members:
            if member.name not in named:
                found.add_beside(member)
        limits = fleet_limits(self.maintenance, members, self.fleet)
        return RotationInput(
            nodes=tuple(found.nodes),
            rotation=self.rotation.name,
            pods=found.pods,
            scopes=tuple(self._scopes(taking, found, limits)),
            limits={each.name: each.state.pod_budgets for each in taking},
            windows=dict(self._windows(taking, now)),
            failed=failed,
            unknown=unknown,
            left=left,
            members=tuple(
                MemberScope(each.name, each.most_members, each.over, found.busy)
                for each in limits
                if each.most_members is not None
            ),
            stop=stop,
            wait=wait,
        )

    def _why(self, node: Node, now: datetime) -> str:
        """Why a node is due, all causes in one sentence; empty if it is not. A node of unknown age is not too old.
        ValueError for a duration that is none."""
        due = self.rotation.spec.due
        found, asked = [], False
        if due.older_than:
            asked, old = True, age(node, now)
            if old is not None and old >= as_timedelta(parse_duration(due.older_than)):
                found.append(f"it is {int(old.total_seconds()) // 3600} h old")
        if due.version_other_than:
            asked = True
            if _bare(node.kubelet_version) != _bare(due.version_other_than):
                found.append(f"its version is {node.kubelet_version or 'unknown'}")
        if due.image_other_than:
            asked = True
            image = image_of(node.labels, node.image)
            if due.image_other_than not in (node.image, image):
                found.append(f"its image is {image or 'unknown'}")
        return "; ".join(found) if asked else "all are to be replaced"

    def _windows(self, members: t.Iterable[MemberNodes], now: datetime) -> t.Iterator[tuple[str, WindowAnswer]]:
        """By name of the member, whether its window is open, for those that have windows or freezes; where it is not
        known when a member may be worked on, or which budgets of the fleet it is under, closed without end. KeyError
        and ValueError as of ``window_answer``."""
        times = calendar(self.maintenance)
        for member in members:
            answer = window_answer(times, member, now, self.windows)
            if unknown := unknown_limits(self.maintenance, member):
                answer = WindowAnswer(False, unknown, None)
            if answer is not None:
                yield member.name, answer

    def _scopes(
        self, members: t.Iterable[MemberNodes], found: _Sighted, limits: t.Iterable[FleetLimit]
    ) -> t.Iterator[BudgetScope]:
        """Every budget that nodes of these members are under: the rotation's own, member by member, each followed by
        those of the member's NodePools, whose other nodes count too; then those of the fleet that limit nodes."""
        away = Counter(whole_pool_name(each.pool) for each in found.away)
        for member in members:
            here = found.pools[member.name]
            selected = frozenset(each for each in here if not each.endswith(OTHERS))
            yield BudgetScope(f"NodeRotation {self.rotation.name} on {member.name}", self.rotation.budgets, selected)
            for pool in member.pools:
                whole = f"{member.name}/{pool.name}"
                both, gone = frozenset({whole, f"{whole}{OTHERS}"}), away[whole]
                yield BudgetScope(f"NodePool {pool.name} on {member.name}", pool.disruption.budgets, both, gone, gone)
        for limit in limits:
            if limit.nodes:
                over = frozenset(each for name in limit.over for each in found.pools.get(name, ()))
                count, gone = found.besides(limit.over)
                yield BudgetScope(limit.name, (Budget(limit.nodes),), over, count, gone)


class _Sighted:
    """What is seen of the members one by one; ``others`` are nodes that other rotations have in flight."""

    def __init__(self, rotation: str, others: t.Sequence[OtherNode]) -> None:
        """Nothing is seen yet. ``rotation`` is the name of the one that looks; members of ``others`` are busy from the
        start."""
        self._rotation, self._others = rotation, {each.name: each for each in others}
        self._there: set[str] = set()
        self.nodes: list[RotationNode] = []
        self.pods: dict[str, t.Sequence[Pod]] = {}
        self.pools: dict[str, set[str]] = defaultdict(set)
        self.busy = frozenset(cluster_in_name(each.name) for each in others)
        self._beside: dict[str, tuple[int, int]] = {}

    def add(self, member: MemberNodes, holds: t.Callable[[Mapping[str, str]], bool]) -> None:
        """Notes a member that takes part: its nodes, each with its pool, marked as of others unless ``holds`` selects
        it by the labels that ``due`` goes by, and their pods."""
        managed = {each.name for each in member.pools}
        made = []
        for each, node in _with_nodes(member):
            pool = each.pool if each.pool in managed else NO_POOL
            made.append(self._made(each, node, pool if holds(node.labels) else pool + OTHERS, member.name))
            self.pools[member.name].add(made[-1].pool)
            self.pods[made[-1].name] = each.pods
        self.nodes += made
        self._see(member, made)

    def add_beside(self, member: MemberNodes) -> None:
        """Notes a member that takes no part: its nodes count for budgets of the fleet."""
        made = [self._made(each, node, NO_POOL, member.name) for each, node in _with_nodes(member)]
        self._beside[member.name] = self._see(member, made)

    @property
    def away(self) -> list[OtherNode]:
        """The nodes that other rotations have in flight and that were not seen: gone, or of a member that was not
        read."""
        return [each for name, each in self._others.items() if name not in self._there]

    def besides(self, over: frozenset[str]) -> tuple[int, int]:
        """How many nodes of these members count that are none of ``nodes``, and how many of them are disrupted."""
        rows = [row for name, row in self._beside.items() if name in over]
        away = sum(cluster_in_name(each.name) in over for each in self.away)
        return sum(count for count, _gone in rows) + away, sum(gone for _count, gone in rows) + away

    def _made(self, each: StateNode, node: Node, pool: str, member: str) -> RotationNode:
        """The node as a rotation sees it; one that another rotation has in flight is in the hands of that."""
        made = _node(each, node, pool, member)
        other = self._others.get(made.name)
        return made if other is None else replace(made, disruptor=other.rotation)

    def _see(self, member: MemberNodes, made: list[RotationNode]) -> tuple[int, int]:
        """How many of the nodes made of a member are initialized, and how many of these are lost to budgets; notes them
        as there, and the member as busy if some are lost."""
        self._there |= {each.name for each in made}
        count = [each for each in made if each.initialized]
        gone = sum(spends_budgets(each, self._rotation) for each in count)
        if gone:
            self.busy |= {member.name}
        return len(count), gone


def _with_nodes(member: MemberNodes) -> t.Iterator[tuple[StateNode, Node]]:
    """The nodes of a member that have a Node, those that Karpenter overlooks included, by name, each with it."""
    for each in member.whole.nodes:
        if each.node is not None:
            yield each, each.node


def _node(each: StateNode, node: Node, pool: str, member: str) -> RotationNode:
    """The node as a rotation sees it, before it is known who else has it in flight; without a NodeClaim it is
    initialized by being there."""
    initialized = each.claim is None or each.initialized
    return rotation_node(node, pool, member, initialized=initialized, deleting=each.claim_deleting or each.marked)


def _made_since(node: Node, since: datetime | None, now: datetime) -> bool:
    """Whether the node was made at that instant or later; False where one of the two is not known."""
    old = age(node, now)
    return since is not None and old is not None and old <= now - since


def _bare(version: str) -> str:
    """A version without ``v`` in front."""
    return version.removeprefix("v")
