# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rolling update of one placement (KubeFleet rollout controller): which bindings change now within maxUnavailable and
maxSurge (bind, update, remove, hold, ``mark-started``, ``push-apply-strategy``), in which order, which wait, and when
to look again; what is in flight."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ...errors import Problem
from ...machine import Decision
from ...objects.placements.binding import BOUND
from ...objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...objects.placements.rollout_strategy import ApplyStrategy, with_apply_defaults
from ...windows.clocks import shifted
from ..conditions import status_is
from ..content import (
    Content,
    RolloutBinding,
    WantedContent,
    sorted_by_name,
)
from ..readiness import APPLIED, AVAILABLE, DIFF_REPORTED, ROLLOUT_STARTED
from . import after
from .barrier import CLEANING_UP, Barrier, barrier
from .budget import (
    Calculation,
    Limits,
    limits,
    target_count,
    unavailable_period,
)
from .candidates import (
    BIND,
    REMOVE,
    UPDATE,
    ReadinessTerms,
    RolloutCandidate,
    may_hold,
    rollout_candidate,
)
from .new_home import HomeWait, kept_for_homes
from .waiting import BindingWait, waiting

HOLD, MARK_STARTED, PUSH_APPLY_STRATEGY = "hold", "mark-started", "push-apply-strategy"
IGNORED, PUSHED, NO_CONTENT, DONE, ROLLING = (
    "ignored",
    "apply-strategy-pushed",
    "no-content",
    "up-to-date",
    "rolling",
)
RECORDED = (HOLD, MARK_STARTED)
CLEAN_UP_CHECK = timedelta(seconds=5)


@dataclass(frozen=True, kw_only=True)
class RolloutAct:
    """What one binding asks of its cluster: bind, update (both to ``content``), remove, hold (RolloutStarted False),
    mark-started, push-apply-strategy. ``generation`` is that of the binding once it is stored; hold and mark-started
    are done by then."""

    binding: str
    cluster: str
    action: str
    content: Content | None = None
    generation: int = 0

    @property
    def operation(self) -> str:
        """The name of the act: binding, generation, and what is done (``apply`` for bind, update and push), parted by
        dots; removals have no generation."""
        if self.action == REMOVE:
            return f"{self.binding}.{REMOVE}"
        return f"{self.binding}.{self.generation}.{self.action if self.action in RECORDED else 'apply'}"


@dataclass(frozen=True, kw_only=True)
class RolloutReport:
    """What a decision came to. ``outcome`` says how far it got (``ignored``, ``apply-strategy-pushed``,
    ``cleaning-up``, ``no-content``, ``up-to-date``, ``rolling``); the last two have a calculation. ``waits`` are in the
    order of the names of bindings, of each one at most. ``findings`` are bindings that share a cluster. ``error`` is
    upstream's failure and occurs only with ``upstream=True``."""

    outcome: str = ""
    waits: tuple[BindingWait, ...] = ()
    calculation: Calculation | None = None
    findings: tuple[Problem, ...] = ()
    error: Problem | None = None


@dataclass(frozen=True, kw_only=True)
class RolloutState:
    """The bindings of a placement, which are all that is stored, and the report of the decision that made them so."""

    bindings: tuple[RolloutBinding, ...]
    report: RolloutReport = field(default=RolloutReport(), compare=False)


@dataclass(frozen=True, kw_only=True)
class RolloutSeen:
    """With ``applied_only`` a cluster counts as ready once everything is applied and the waiting period is over.
    ``out_of_reach`` are clusters on which nothing is begun now, each with the reason: budgets count them as they were
    recorded last, as KubeFleet does, but they are no new homes (``kept_for_homes``). With ``empty_first`` evacuated
    clusters do not wait for their new homes. ``upstream`` brings back all that KubeFleet does by accident."""

    placement: ClusterResourcePlacement
    wanted: WantedContent
    applied_only: bool = False
    out_of_reach: t.Mapping[str, str] = field(default_factory=dict)
    empty_first: bool = False
    upstream: bool = False


RolloutDecision = Decision[RolloutState, RolloutAct]


def decide(state: RolloutState, seen: RolloutSeen, now: datetime) -> RolloutDecision:
    """Which bindings of a placement begin to change at ``now``; those of the new state come by name. Acts that change a
    cluster are in the order in which budgets were spent, behind those that are only recorded (hold, mark-started).
    Nothing is done for a placement that is being deleted or of another strategy than RollingUpdate; another apply
    strategy is pushed first, and nothing else with it; nothing more is done while there is no resource snapshot.
    ``wake_at`` is ``now`` after such a push, None in the other two cases, else when time alone makes a binding ready;
    upstream has times of its own.

    FleetError ``not-a-count`` for maxUnavailable or maxSurge where a binding wants a change, but for upstream;
    ``number-of-clusters-missing`` for PickN without a number.
    """
    held = sorted_by_name(state.bindings)
    strategy = seen.placement.spec.strategy
    if seen.placement.metadata.deletion_timestamp or strategy.type != "RollingUpdate":
        return _decision(held, RolloutReport(outcome=IGNORED))
    pushes = _pushes(held, with_apply_defaults(strategy.apply_strategy), seen.upstream)
    if pushes:
        return _decision(held, RolloutReport(outcome=PUSHED), _Writes(seen.placement, pushes, now), now)
    block = barrier(held)
    if seen.upstream and (block.error or block.blocked):
        wake_at = None if block.error else shifted(now, CLEAN_UP_CHECK)
        return _decision(held, RolloutReport(outcome=CLEANING_UP, error=block.error), wake_at=wake_at)
    if not seen.wanted.resource_snapshot:
        return _decision(held, RolloutReport(outcome=NO_CONTENT, findings=block.findings))
    look = ReadinessTerms(unavailable_period(seen.placement), now, seen.applied_only, seen.upstream, seen.out_of_reach)
    return _rolled(seen, [rollout_candidate(each, seen.wanted, look) for each in held], block, look)


def acts_in_flight(state: RolloutState) -> tuple[RolloutAct, ...]:
    """What was begun and has not ended, by name of the binding: an update where a Bound one has no condition (Applied,
    Available, DiffReported) of its present generation yet, a removal where it is being deleted. Whether clusters are in
    reach is not asked: what the conductor stays for is in ``_fleet.placements.rollout``."""
    return tuple(act for each in sorted_by_name(state.bindings) if (act := _in_flight(each)) is not None)


def _in_flight(held: RolloutBinding) -> RolloutAct | None:
    """The act that a binding has in flight, as of ``acts_in_flight``; None without one."""
    generation = held.binding.metadata.generation
    if held.deleting:
        return RolloutAct(binding=held.name, cluster=held.cluster, action=REMOVE, generation=generation)
    told = (each for each in held.binding.status.conditions if each.type in (APPLIED, AVAILABLE, DIFF_REPORTED))
    if held.state != BOUND or any(each.observed_generation == generation for each in told):
        return None
    return RolloutAct(
        binding=held.name, cluster=held.cluster, action=UPDATE, content=held.content, generation=generation
    )


def _rolled(seen: RolloutSeen, rows: list[RolloutCandidate], block: Barrier, look: ReadinessTerms) -> RolloutDecision:
    """The decision once there is content: where no binding wants a change, rollouts are marked as started; else what
    the limits let go begins. FleetError as of ``decide``."""
    placement = seen.placement
    picked = sum(1 for each in rows if each.picked)
    calculation = _calculation(rows, target_count(placement, picked), look)
    if not any(each.wants for each in rows):
        marked = [each for each in rows if each.picked and (look.upstream or not each.held.deleting)]
        steps = [_mark(each) for each in marked if not _says(each, after.STARTED)]
        report = RolloutReport(
            outcome=DONE,
            calculation=calculation,
            waits=waiting(rows, frozenset(), None, block.blocked, look.out_of_reach),
            findings=block.findings,
        )
        wake_at = None if look.upstream else _wake_at(rows)
        return _decision([each.held for each in rows], report, _Writes(placement, steps, look.now), wake_at)
    limit = limits(placement, picked, upstream=look.upstream)
    room = limit.target + limit.max_surge - calculation.can_be_ready
    calculation = replace(
        calculation,
        max_unavailable=limit.max_unavailable,
        max_surge=limit.max_surge,
        max_to_remove=calculation.ready - calculation.can_be_unavailable - limit.floor,
        max_to_add=room,
    )
    homes: dict[str, HomeWait] = {}
    if not (seen.empty_first or look.upstream):
        no_room = room <= 0 and limit.max_surge <= 0
        homes = kept_for_homes(rows, limit.target, look.out_of_reach, no_room=no_room)
    chosen = _chosen([each for each in rows if each.held.name not in homes], calculation, limit, block, look)
    report = RolloutReport(
        outcome=ROLLING,
        calculation=calculation,
        waits=waiting(
            rows, frozenset(each.held.name for each in chosen), limit, block.blocked, look.out_of_reach, homes
        ),
        findings=block.findings,
    )
    wake_at = shifted(look.now, calculation.min_wait) if look.upstream else _wake_at(rows)
    writes = _Writes(placement, _steps(rows, chosen, seen.wanted, look), look.now)
    return _decision([each.held for each in rows], report, writes, wake_at)


def _calculation(rows: t.Sequence[RolloutCandidate], target: int, look: ReadinessTerms) -> Calculation:
    """The numbers of a decision, those of its limits still None."""
    held = may_hold(rows)
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
    rows: t.Sequence[RolloutCandidate], calculation: Calculation, limit: Limits, block: Barrier, look: ReadinessTerms
) -> list[RolloutCandidate]:
    """What takes nothing away goes first; then removals and, after them, updates within maxUnavailable, each in the
    order of ``rows``; last new clusters within maxSurge. With nothing left to keep ready, removals of what is not ready
    take nothing away either, but for upstream. What is not ready spends no room; upstream has it spend, and begins the
    others at its next look. Left out are clusters out of reach and, but for removals, blocked ones."""
    open_rows = [
        each
        for each in rows
        if each.held.cluster not in look.out_of_reach
        and (each.wants == REMOVE or each.held.cluster not in block.blocked)
    ]
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
        *_within(spending, calculation.max_to_remove or 0, look.upstream),
        *binds[: max(0, calculation.max_to_add or 0)],
    ]


def _within(spending: t.Iterable[RolloutCandidate], room: int, upstream: bool) -> t.Iterator[RolloutCandidate]:
    """The first of them for which there is room; what is not ready takes none, but for upstream."""
    for each in spending:
        if room <= 0:
            return
        yield each
        room -= each.ready or upstream


def _steps(
    rows: t.Sequence[RolloutCandidate],
    chosen: t.Sequence[RolloutCandidate],
    wanted: WantedContent,
    look: ReadinessTerms,
) -> list[RolloutAct]:
    """The acts: first, in the order of ``rows``, hold for those to be bound or updated that were not chosen, and
    mark-started for those that hold the wanted content, where that is not recorded yet (for upstream, always); then
    what was chosen."""
    taken = {each.held.name for each in chosen}
    steps = []
    for each in rows:
        if each.wants in (BIND, UPDATE) and each.held.name not in taken:
            if look.upstream or not _says(each, after.NOT_YET):
                steps.append(RolloutAct(binding=each.held.name, cluster=each.held.cluster, action=HOLD))
        elif _holds_wanted(each) and (look.upstream or not _says(each, after.STARTED)):
            steps.append(_mark(each))
    for each in chosen:
        content = None if each.wants == REMOVE else wanted.content_on(each.held.cluster)
        steps.append(RolloutAct(binding=each.held.name, cluster=each.held.cluster, action=each.wants, content=content))
    return steps


def _pushes(held: t.Sequence[RolloutBinding], strategy: ApplyStrategy, upstream: bool) -> list[RolloutAct]:
    """An act for each binding that carries another apply strategy and is not being deleted; upstream takes none for
    another."""
    return [
        RolloutAct(binding=each.name, cluster=each.cluster, action=PUSH_APPLY_STRATEGY)
        for each in held
        if not each.deleting and strategy != _carried(each, upstream)
    ]


def _carried(each: RolloutBinding, upstream: bool) -> ApplyStrategy | None:
    """The apply strategy that a binding carries, with defaults; for upstream as it is stored, None for none."""
    carried = each.binding.spec.apply_strategy
    return carried if upstream else with_apply_defaults(carried)


def _mark(each: RolloutCandidate) -> RolloutAct:
    """The act that records that the binding's rollout has started."""
    return RolloutAct(binding=each.held.name, cluster=each.held.cluster, action=MARK_STARTED)


def _holds_wanted(each: RolloutCandidate) -> bool:
    """Whether it is Scheduled or Bound, wants nothing and is not being deleted."""
    return each.picked and not each.wants and not each.held.deleting


def _says(each: RolloutCandidate, row: tuple[str, str, str]) -> bool:
    """Whether the binding's current RolloutStarted has the status of this row already, whatever its reason; upstream
    writes it again and again."""
    binding = each.held.binding
    return status_is(binding.status.conditions, ROLLOUT_STARTED, binding.metadata.generation, row[0])


def _wake_at(rows: t.Iterable[RolloutCandidate]) -> datetime | None:
    """The earliest instant at which time alone makes a binding ready; None without one."""
    return min((each.readiness.at for each in rows if each.readiness.at), default=None)


@dataclass(frozen=True)
class _Writes:
    """Acts to be carried out for a placement at ``now``."""

    placement: ClusterResourcePlacement
    acts: t.Sequence[RolloutAct]
    now: datetime


def _decision(
    held: t.Sequence[RolloutBinding],
    report: RolloutReport,
    writes: _Writes | None = None,
    wake_at: datetime | None = None,
) -> RolloutDecision:
    """The decision, with the bindings as they are once ``writes`` are done, and each act with the generation of its
    binding then."""
    done = {each.name: each for each in held}
    acts: list[RolloutAct] = []
    if writes:
        strategy = with_apply_defaults(writes.placement.spec.strategy.apply_strategy)
        for act in writes.acts:
            done[act.binding] = _written(done[act.binding], act, strategy, writes.now)
            acts.append(replace(act, generation=done[act.binding].binding.metadata.generation))
    state = RolloutState(bindings=tuple(done[each.name] for each in held), report=report)
    return Decision(
        state=state, acts=tuple(acts), waits=tuple(each.held_back for each in report.waits), wake_at=wake_at
    )


def _written(held: RolloutBinding, act: RolloutAct, strategy: ApplyStrategy, now: datetime) -> RolloutBinding:
    """The binding as it is once the act is done; ``strategy`` is the one that a push gives it."""
    if act.content is not None:
        return after.bound(held, act.content, held.binding.spec.apply_strategy, now)
    if act.action == REMOVE:
        return after.marked_for_deletion(held, now)
    if act.action == HOLD:
        return after.held_back(held, now)
    if act.action == MARK_STARTED:
        return after.with_started(held, now)
    return after.with_apply_strategy(held, strategy)
