# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A made-up cluster for rotations: drains take a while, new nodes come, pods keep their PodDisruptionBudgets."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption_budget import (
    PodDisruptionBudget,
    PodDisruptionBudgets,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.decide import (
    begin,
    decide,
    outcome,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.input import (
    BudgetScope,
    RotationInput,
    RotationNode,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.progress import RotationAct
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    RotationSettings,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.machine import Decision
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import Budget
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import LabelSelector
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.fleet_windows import WindowAnswer
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import NOW

MINUTE = timedelta(minutes=1)
RotationDecision = Decision[RotationState, RotationAct]


def a_pool_of(count: int, pool: str = "p", **more: t.Any) -> tuple[RotationNode, ...]:
    """``p-0`` is the oldest."""
    return tuple(
        RotationNode(
            name=f"{pool}-{number}",
            uid=f"{pool}-{number}",
            pool=pool,
            created_at=NOW - timedelta(days=99 - number),
            **more,
        )
        for number in range(count)
    )


def scope(*budgets: Budget, name: str = "the fleet", pools: t.Iterable[str] | None = None) -> BudgetScope:
    return BudgetScope(name, budgets, None if pools is None else frozenset(pools))


def everything(sight: RotationInput, settings: RotationSettings, now: datetime = NOW) -> RotationDecision:
    """The first step of a rotation of all nodes."""
    return decide(begin([each.name for each in sight.nodes], sight, settings, now), sight, now)


def told(found: RotationDecision, node: str) -> list[str]:
    """The codes of what holds a node back."""
    return [one.code for each in found.waits if each.name == node for one in each.blockers]


@dataclass
class World:
    """Nodes that do what a step asks for, in their own time; some never do."""

    rng: Random
    nodes: dict[str, RotationNode]
    apps: dict[str, list[str]]
    least: dict[str, int]
    scopes: tuple[BudgetScope, ...]
    replacement: str
    shielded: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    born: int = 0
    draining: set[str] = field(default_factory=set)
    coming: dict[str, list[int]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def sight(
        self, windows: t.Mapping[str, WindowAnswer] | None = None, shuffle: bool = True, stop: bool = False
    ) -> RotationInput:
        nodes = list(self.nodes.values())
        scopes = list(self.scopes)
        pods = {name: [self._pod(name, app) for app in self._apps_on(name)] for name in self.nodes}
        if shuffle:
            self.rng.shuffle(nodes)
            self.rng.shuffle(scopes)
        budgets = [
            PodDisruptionBudget(
                name=app,
                selector=LabelSelector(match_labels={"app": app}),
                allowed=max(len(where) - self.least[app], 0),
            )
            for app, where in self.apps.items()
            if app in self.least
        ]
        return RotationInput(
            nodes=tuple(nodes),
            pods=pods,
            scopes=tuple(scopes),
            limits={"": PodDisruptionBudgets(budgets)},
            windows=windows or {},
            failed=dict(self.failed),
            stop=stop,
        )

    def carry_out(self, found: RotationDecision) -> None:
        self.failed = {}
        for act in found.acts:
            if act.kind == "drain":
                self.draining.add(act.node)
            elif act.kind == "release":
                self.draining.discard(act.node)
            else:
                self.coming.setdefault(act.pool, []).append(self.rng.randrange(1, 4))

    def pass_a_minute(self) -> None:
        for pool, delays in self.coming.items():
            for _each in [each for each in delays if each <= 1]:
                self._be_born(pool)
            self.coming[pool] = [each - 1 for each in delays if each > 1]
        for name in sorted(self.draining):
            self._drain(name)

    def _drain(self, name: str) -> None:
        if name in self.broken:
            if self.rng.random() < 0.2:
                self.failed[name] = "the machine does not answer"
            return
        for app in self._apps_on(name):
            where = self.apps[app]
            if len(where) - 1 >= self.least.get(app, 0) and self.rng.random() < 0.7:
                where.remove(name)
                stay = sorted(set(self.nodes) - self.draining)
                if stay:
                    where.append(self.rng.choice(stay))
        if not self._apps_on(name):
            gone = self.nodes.pop(name)
            self.draining.discard(name)
            if self.replacement == "after":
                self.coming.setdefault(gone.pool, []).append(self.rng.randrange(1, 5))

    def _be_born(self, pool: str) -> None:
        name = f"{pool}-new-{self.born}"
        self.born += 1
        self.nodes[name] = RotationNode(name=name, uid=name, pool=pool, created_at=NOW)

    def _apps_on(self, name: str) -> list[str]:
        return [app for app, where in sorted(self.apps.items()) for each in where if each == name]

    def _pod(self, node: str, app: str) -> Pod:
        notes = {"karpenter.sh/do-not-disrupt": "true"} if node in self.shielded else {}
        return Pod(name=f"{app}-{node}", node=node, labels={"app": app}, annotations=notes)


def run(
    world: World, state: RotationState, minutes: int, now: datetime = NOW
) -> t.Iterator[tuple[datetime, RotationInput, RotationDecision]]:
    """Minute by minute until it is done."""
    for _minute in range(minutes):
        sight = world.sight()
        found = decide(state, sight, now)
        world.carry_out(found)
        yield now, sight, found
        state = found.state
        if outcome(found.state) == "done":
            return
        world.pass_a_minute()
        now += MINUTE
