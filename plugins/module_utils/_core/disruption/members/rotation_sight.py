# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What members hold as a rotation sees it: its nodes, every budget that they are under, windows, and which are due."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ...cluster.pod import Pod
from ...cluster.state_node import Node, StateNode
from ...errors import FleetError
from ...objects.clusters.fleet_maintenance import FleetMaintenance
from ...objects.clusters.node_rotation import NodeRotation
from ...objects.karpenter.node_pool import Budget
from ...objects.updates.update_run import NODE_IMAGE_ONLY
from ...schema.meta import EMPTY
from ...updates.timing.maintenance import Calendar, calendar
from ...values.duration import as_timedelta, parse_duration
from ...windows.fleet_windows import WindowAnswer
from ..rotation.input import (
    OTHERS,
    BudgetScope,
    MemberScope,
    RotationInput,
    RotationNode,
    rotation_node,
)
from .fleet_limits import FleetLimit, fleet_limits, window_answer
from .member_nodes import MemberNodes, age
from .pools import selects_node, takes

NO_POOL = "-"


@dataclass(frozen=True, kw_only=True)
class RotationGround:
    """A rotation and what holds it back besides budgets of pools. ``windows`` are those for runs of this type."""

    rotation: NodeRotation
    maintenance: tuple[FleetMaintenance, ...] = ()
    windows: str = NODE_IMAGE_ONLY

    def takes(self, member: str, labels: Mapping[str, str]) -> bool:
        """Whether the member with these labels takes part."""
        return takes(self.rotation, member, labels)

    def due(self, members: t.Iterable[MemberNodes], now: datetime) -> dict[str, str]:
        """Why each node that is to be replaced is, by its name (``member/node``)."""
        holds = selects_node(self.rotation)
        return {
            f"{member.name}/{node.name}": why
            for member in members
            if self.takes(member.name, member.labels)
            for node in member.nodes
            if holds(node.labels) and (why := self._why(node, now))
        }

    def sight(
        self,
        members: t.Sequence[MemberNodes],
        now: datetime,
        failed: Mapping[str, str] = EMPTY,
        unknown: Mapping[str, str] = EMPTY,
        flying: t.Iterable[str] = (),
        stop: bool = False,
    ) -> RotationInput:
        """The input of a step at an aware instant. ``members`` are those that could be read; ``failed`` and ``unknown``
        are as in ``RotationInput``; ``flying`` are the pools of nodes in flight, which may be gone."""
        found = _Sighted()
        holds = selects_node(self.rotation)
        taking = [each for each in members if self.takes(each.name, each.labels)]
        for pool in flying:
            found.pools[pool.partition("/")[0]].add(pool)
        for member in taking:
            found.add(member, holds)
        times = calendar(self.maintenance)
        limits = fleet_limits(self.maintenance, members)
        return RotationInput(
            nodes=tuple(found.nodes),
            rotation=self.rotation.name,
            pods=found.pods,
            scopes=tuple(self._scopes(taking, found.pools, limits)),
            limits={each.name: each.state.limits for each in taking},
            windows=dict(_windows(times, taking, self.windows, now)),
            failed=failed,
            unknown=unknown,
            members=tuple(
                MemberScope(each.name, each.most_members, each.over) for each in limits if each.most_members is not None
            ),
            stop=stop,
        )

    def _why(self, node: Node, now: datetime) -> str:
        """Why a node is due, empty if it is not."""
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
            if node.image != due.image_other_than:
                found.append(f"its image is {node.image or 'unknown'}")
        return "; ".join(found) if asked else "all are to be replaced"

    def _scopes(
        self, members: t.Iterable[MemberNodes], pools: Mapping[str, set[str]], limits: t.Iterable[FleetLimit]
    ) -> t.Iterator[BudgetScope]:
        for member in members:
            here = pools[member.name]
            selected = frozenset(each for each in here if not each.endswith(OTHERS))
            yield BudgetScope(f"NodeRotation {self.rotation.name} on {member.name}", self.rotation.budgets, selected)
            for pool in member.pools:
                both = frozenset({f"{member.name}/{pool.name}", f"{member.name}/{pool.name}{OTHERS}"})
                yield BudgetScope(f"NodePool {pool.name} on {member.name}", pool.disruption.budgets, both)
        for limit in limits:
            if limit.nodes:
                over = frozenset(each for name in limit.over for each in pools.get(name, ()))
                yield BudgetScope(limit.name, (Budget(limit.nodes),), over)


@dataclass
class _Sighted:
    nodes: list[RotationNode] = field(default_factory=list)
    pods: dict[str, t.Sequence[Pod]] = field(default_factory=dict)
    pools: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, member: MemberNodes, holds: t.Callable[[Mapping[str, str]], bool]) -> None:
        managed = {each.name for each in member.pools}
        for each in member.whole.nodes:
            if each.node is None:
                continue
            pool = each.pool if each.pool in managed else NO_POOL
            made = _node(each, each.node, pool if holds(each.labels) else pool + OTHERS, member.name)
            self.nodes.append(made)
            self.pools[member.name].add(made.pool)
            self.pods[made.name] = each.pods


def _node(each: StateNode, node: Node, pool: str, member: str) -> RotationNode:
    """Without a NodeClaim a node is initialized by being there."""
    initialized = each.claim is None or each.initialized
    return rotation_node(node, pool, member, initialized, each.claim_deleting or each.marked)


def _windows(
    times: Calendar, members: t.Iterable[MemberNodes], kind: str, now: datetime
) -> t.Iterator[tuple[str, WindowAnswer]]:
    """Where it is not known when a member may be worked on, it may not."""
    for member in members:
        try:
            answer = window_answer(times, member, now, kind)
        except FleetError as error:
            answer = WindowAnswer(False, error.message, None)
        if answer is not None:
            yield member.name, answer


def _bare(version: str) -> str:
    return version.removeprefix("v")
