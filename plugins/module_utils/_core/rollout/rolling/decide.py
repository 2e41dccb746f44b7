# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rolling update of one placement (KubeFleet rollout controller): which bindings change now, which wait, and why."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ...errors import Problem
from ...objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...objects.placements.rollout_strategy import ApplyStrategy, ServerSideApplyConfig
from ..conditions import status_is
from ..content import (
    Content,
    Held,
    Wanted,
    by_name,
)
from ..readiness import ROLLOUT_STARTED, later
from . import after
from .barrier import Barrier, barrier
from .budget import (
    Calculation,
    Limits,
    limits,
    target_of,
    unavailable_period,
)
from .candidates import (
    BIND,
    REMOVE,
    UPDATE,
    Judged,
    Look,
    counted,
    judged,
)
from .waiting import Wait, waiting

HOLD, MARK_STARTED, PUSH_APPLY_STRATEGY = "hold", "mark-started", "push-apply-strategy"
IGNORED, PUSHED, BLOCKED, NO_CONTENT, DONE, ROLLING = (
    "ignored",
    "apply-strategy-pushed",
    "cleaning-up",
    "no-content",
    "up-to-date",
    "rolling",
)
CLEAN_UP_CHECK = timedelta(seconds=5)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One write: bind, update (both to ``content``), remove, hold (RolloutStarted False), mark-started,
    push-apply-strategy."""

    binding: str
    cluster: str
    action: str
    content: Content | None = None


@dataclass(frozen=True, kw_only=True)
class Rolled:
    """The decision of one instant.

    ``outcome`` says how far it got; only ``rolling`` and ``up-to-date`` have a calculation. ``steps`` are in the order
    in which budgets were spent, ``waits`` by binding. ``bindings`` are all of them once the steps are carried out.
    ``wake_at`` is the next instant at which time alone can change something; None if only an event can. ``error`` is
    upstream's failure and occurs only with ``upstream=True``.
    """

    outcome: str
    steps: tuple[Step, ...] = ()
    waits: tuple[Wait, ...] = ()
    bindings: tuple[Held, ...] = ()
    calculation: Calculation | None = None
    wake_at: datetime | None = None
    findings: tuple[Problem, ...] = ()
    error: Problem | None = None


def roll(
    placement: ClusterResourcePlacement,
    bindings: t.Iterable[Held],
    wanted: Wanted,
    now: datetime,
    *,
    applied_only: bool = False,
    upstream: bool = False,
) -> Rolled:
    """Decide which bindings of ``placement`` begin to change at ``now``; the order of ``bindings`` does not matter.

    With ``applied_only`` a cluster counts as ready once everything is applied and the waiting period is over, whether
    or not its objects are available. ``upstream`` brings back all that KubeFleet does by accident. FleetError for a
    budget that is no number, and for PickN without one.
    """
    held = by_name(bindings)
    strategy = placement.spec.strategy
    if placement.metadata.deletion_timestamp or strategy.type != "RollingUpdate":
        return Rolled(outcome=IGNORED, bindings=tuple(held))
    pushes = _pushes(held, defaulted(strategy.apply_strategy), upstream)
    if pushes:
        return _carried_out(placement, held, pushes, now, Rolled(outcome=PUSHED, wake_at=now))
    block = barrier(held)
    if upstream and (block.error or block.blocked):
        wake_at = None if block.error else later(now, CLEAN_UP_CHECK)
        return Rolled(outcome=BLOCKED, bindings=tuple(held), wake_at=wake_at, error=block.error)
    if not wanted.resource_snapshot:
        return Rolled(outcome=NO_CONTENT, bindings=tuple(held), findings=block.findings)
    look = Look(unavailable_period(placement), now, applied_only, upstream)
    return _rolled(placement, [judged(each, wanted, look) for each in held], wanted, block, look)


def defaulted(strategy: ApplyStrategy | None) -> ApplyStrategy:
    """The strategy with the defaults that the API server cannot fill in."""
    strategy = strategy or ApplyStrategy()
    if strategy.type == "ServerSideApply" and strategy.server_side_apply_config is None:
        return replace(strategy, server_side_apply_config=ServerSideApplyConfig())
    return strategy


def _rolled(
    placement: ClusterResourcePlacement, rows: list[Judged], wanted: Wanted, block: Barrier, look: Look
) -> Rolled:
    picked = sum(1 for each in rows if each.picked)
    calculation = _calculation(rows, target_of(placement, picked), look)
    if not any(each.wants for each in rows):
        marked = [each for each in rows if each.picked and (look.upstream or not each.held.deleting)]
        steps = [_mark(each) for each in marked if not _says(each, after.STARTED)]
        rolled = Rolled(
            outcome=DONE,
            calculation=calculation,
            waits=waiting(rows, frozenset(), None, block.blocked),
            findings=block.findings,
            wake_at=None if look.upstream else _wake_at(rows),
        )
        return _carried_out(placement, [each.held for each in rows], steps, look.now, rolled)
    limit = limits(placement, picked, upstream=look.upstream)
    calculation = replace(
        calculation,
        max_unavailable=limit.max_unavailable,
        max_surge=limit.max_surge,
        max_to_remove=calculation.ready - calculation.can_be_unavailable - limit.floor,
        max_to_add=limit.target + limit.max_surge - calculation.can_be_ready,
    )
    chosen = _chosen(rows, calculation, limit, block, look)
    rolled = Rolled(
        outcome=ROLLING,
        calculation=calculation,
        waits=waiting(rows, frozenset(each.held.name for each in chosen), limit, block.blocked),
        findings=block.findings,
        wake_at=later(look.now, calculation.min_wait) if look.upstream else _wake_at(rows),
    )
    return _carried_out(placement, [each.held for each in rows], _steps(rows, chosen, wanted, look), look.now, rolled)


def _calculation(rows: t.Sequence[Judged], target: int, look: Look) -> Calculation:
    held = counted(rows)
    unready = [each for each in held if not each.ready]
    left = [each.readiness.at - look.now for each in unready if each.readiness.at]
    failed_updates = sum(1 for each in rows if each.wants == UPDATE and each.free)
    return Calculation(
        target=target,
        ready=len(held) - len(unready),
        can_be_ready=sum(1 for each in held if each.can_be_ready),
        can_be_unavailable=sum(1 for each in held if each.leaving and each.ready),
        bind_candidates=sum(1 for each in rows if each.wants == BIND),
        remove_candidates=sum(1 for each in rows if each.wants == REMOVE),
        update_candidates=sum(1 for each in rows if each.wants == UPDATE) - failed_updates,
        failed_update_candidates=failed_updates,
        min_wait=min([look.period, *left]) if unready else timedelta(0),
    )


def _chosen(
    rows: t.Sequence[Judged], calculation: Calculation, limit: Limits, block: Barrier, look: Look
) -> list[Judged]:
    """What takes nothing away goes first; then removals and updates within maxUnavailable, in name order; new clusters
    within maxSurge. With nothing left to keep ready, removals of what is not ready take nothing away either."""
    open_rows = [each for each in rows if each.wants == REMOVE or each.held.cluster not in block.blocked]
    updates = [each for each in open_rows if each.wants == UPDATE]
    removals = [each for each in open_rows if each.wants == REMOVE]
    spared = not look.upstream and limit.floor <= 0
    free = [each.free or (spared and not each.ready) for each in removals]
    spending = [*(each for each, is_free in zip(removals, free, strict=True) if not is_free)]
    spending += [each for each in updates if not each.free]
    binds = [each for each in open_rows if each.wants == BIND]
    return [
        *(each for each in updates if each.free),
        *(each for each, is_free in zip(removals, free, strict=True) if is_free),
        *spending[: max(0, calculation.max_to_remove or 0)],
        *binds[: max(0, calculation.max_to_add or 0)],
    ]


def _steps(rows: t.Sequence[Judged], chosen: t.Sequence[Judged], wanted: Wanted, look: Look) -> list[Step]:
    taken = {each.held.name for each in chosen}
    steps = []
    for each in rows:
        if each.wants in (BIND, UPDATE) and each.held.name not in taken:
            if look.upstream or not _says(each, after.NOT_YET):
                steps.append(Step(binding=each.held.name, cluster=each.held.cluster, action=HOLD))
        elif _holds_wanted(each) and (look.upstream or not _says(each, after.STARTED)):
            steps.append(_mark(each))
    for each in chosen:
        content = None if each.wants == REMOVE else wanted.of(each.held.cluster)
        steps.append(Step(binding=each.held.name, cluster=each.held.cluster, action=each.wants, content=content))
    return steps


def _pushes(held: t.Sequence[Held], strategy: ApplyStrategy, upstream: bool) -> list[Step]:
    """Bindings, of any state, that carry another apply strategy; upstream takes an absent one for another."""
    return [
        Step(binding=each.name, cluster=each.cluster, action=PUSH_APPLY_STRATEGY)
        for each in held
        if not each.deleting and strategy != _carried(each, upstream)
    ]


def _carried(each: Held, upstream: bool) -> ApplyStrategy | None:
    carried = each.binding.spec.apply_strategy
    return carried if upstream else defaulted(carried)


def _mark(each: Judged) -> Step:
    return Step(binding=each.held.name, cluster=each.held.cluster, action=MARK_STARTED)


def _holds_wanted(each: Judged) -> bool:
    return each.picked and not each.wants and not each.held.deleting


def _says(each: Judged, row: tuple[str, str, str]) -> bool:
    """Whether the binding's current RolloutStarted is this one already; upstream writes it again and again."""
    binding = each.held.binding
    return status_is(binding.status.conditions, ROLLOUT_STARTED, binding.metadata.generation, row[0])


def _wake_at(rows: t.Iterable[Judged]) -> datetime | None:
    return min((each.readiness.at for each in rows if each.readiness.at), default=None)


def _carried_out(
    placement: ClusterResourcePlacement, held: t.Sequence[Held], steps: t.Sequence[Step], now: datetime, rolled: Rolled
) -> Rolled:
    done = {each.name: each for each in held}
    strategy = defaulted(placement.spec.strategy.apply_strategy)
    for step in steps:
        done[step.binding] = _written(done[step.binding], step, strategy, now)
    return replace(rolled, steps=tuple(steps), bindings=tuple(done[each.name] for each in held))


def _written(held: Held, step: Step, strategy: ApplyStrategy, now: datetime) -> Held:
    if step.content is not None:
        return after.bound(held, step.content, held.binding.spec.apply_strategy, now)
    if step.action == REMOVE:
        return after.removed(held, now)
    if step.action == HOLD:
        return after.held_back(held, now)
    if step.action == MARK_STARTED:
        return after.confirmed(held, now)
    return after.with_apply_strategy(held, strategy)
