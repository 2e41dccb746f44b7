# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""States of an update run, its stages and groups, as they follow from what is stored, with outcome
(``CompletedWithFailures``), counts of failures, messages and times.

Azure Fleet Manager publishes the states and most of the rules (update runs, "Understand update run states").
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ..values.update_states import (
    COMPLETED,
    FAILED,
    NOT_STARTED,
    PENDING,
    RUNNING,
    SKIPPED,
    STOPPED,
    STOPPING,
    SUCCEEDED,
    WITH_FAILURES,
    WITH_SKIPS,
)
from .facts import DONE, GroupFacts, RunFacts, StageFacts, group_facts, run_facts, stage_facts, tally
from .failure_threshold import stage_over_limit
from .record import summary
from .run import GroupRow, RunState, StageRow

F = t.TypeVar("F")
# Rows of label, whether it holds, and the state then; the first that holds counts, and the last one always does.
Table = tuple[tuple[str, t.Callable[[F], bool], str], ...]

GROUP_TABLE: Table[GroupFacts] = (
    # A latched segment stays Failed until the next start, whatever is skipped.
    ("G1", lambda g: g.user_skipped and not g.count.in_flight and not g.breached, SKIPPED),
    ("G2", lambda g: g.count.in_flight > 0 and (g.stop or g.breached or g.stage_breached), STOPPING),
    ("G3", lambda g: g.count.in_flight > 0, RUNNING),
    ("G4", lambda g: g.breached, FAILED),
    ("G5", lambda g: not g.count.members and g.stage_reached, SKIPPED),
    ("G6", lambda g: not g.count.members, NOT_STARTED),
    ("G7", lambda g: g.count.skipped == g.count.members, SKIPPED),
    ("G8", lambda g: g.count.ended and g.after_pending and g.stop, STOPPED),
    ("G8", lambda g: g.count.ended and g.after_pending, PENDING),
    ("G9", lambda g: g.count.ended and g.after_unopened and (g.stop or g.stage_breached), STOPPED),
    ("G9", lambda g: g.count.ended and g.after_unopened, RUNNING),
    ("G10", lambda g: g.count.ended, COMPLETED),
    ("G11", lambda g: not g.reached, NOT_STARTED),
    ("G12", lambda g: g.stop or g.stage_breached, STOPPED),
    ("G13", lambda g: g.before_pending, PENDING),
    ("G14", lambda g: g.count.pending > 0, PENDING),
    ("G15", lambda _: True, RUNNING),
)
STAGE_TABLE: Table[StageFacts] = (
    # Skips before the first start show on groups and members alone.
    ("T0", lambda s: s.new, NOT_STARTED),
    ("T1", lambda s: s.user_skipped and not s.in_flight and not s.latched, SKIPPED),
    ("T2", lambda s: s.in_flight > 0 and (s.stop or s.breached or s.drained), STOPPING),
    ("T3", lambda s: s.in_flight > 0, RUNNING),
    ("T4", lambda s: s.breached, FAILED),
    # A stopped group goes on after the next start, so it has not ended.
    ("T5", lambda s: FAILED in s.groups and s.groups_ended, FAILED),
    ("T6", lambda s: all(state == SKIPPED for state in s.groups), SKIPPED),
    ("T7", lambda s: s.groups_done and s.after_pending and s.stop, STOPPED),
    ("T7", lambda s: s.groups_done and s.after_pending, PENDING),
    ("T8", lambda s: s.groups_done and s.wait_running and s.stop, STOPPED),
    ("T8", lambda s: s.groups_done and s.wait_running, RUNNING),
    ("T9", lambda s: s.groups_done and (s.wait_unopened or s.after_unopened) and s.stop, STOPPED),
    ("T9", lambda s: s.groups_done and (s.wait_unopened or s.after_unopened), RUNNING),
    ("T10", lambda s: s.groups_done, COMPLETED),
    ("T11", lambda s: not s.reached, NOT_STARTED),
    ("T12", lambda s: s.stop, STOPPED),
    ("T13", lambda s: s.before_pending, PENDING),
    ("T14", lambda s: PENDING in s.groups and not {RUNNING, STOPPED} & set(s.groups), PENDING),
    ("T15", lambda _: True, RUNNING),
)
RUN_TABLE: Table[RunFacts] = (
    ("R1", lambda r: r.new, NOT_STARTED),
    ("R2", lambda r: r.in_flight > 0 and (r.stop or STOPPING in r.stages), STOPPING),
    ("R3", lambda r: r.in_flight > 0 or RUNNING in r.stages, RUNNING),
    # Under a stop nothing can progress, so a latch anywhere decides.
    ("R4", lambda r: FAILED in r.stages or (r.latched and r.stop), FAILED),
    ("R5", lambda r: all(state == SKIPPED for state in r.stages), SKIPPED),
    ("R6", lambda r: all(state in DONE for state in r.stages), COMPLETED),
    ("R7", lambda r: r.stop, STOPPED),
    ("R8", lambda r: r.current == PENDING, PENDING),
    ("R9", lambda _: True, RUNNING),
)


@dataclass(frozen=True, kw_only=True)
class GroupStatus:
    """``message`` is why a group is Failed, or what a Pending one waits for, else empty. ``started`` is the first
    dispatch of one of its members, ``completed`` the last end of its members and gates once it is Completed, Skipped or
    Failed; None without such."""

    state: str = NOT_STARTED
    failure_count: int = 0
    message: str = ""
    started: datetime | None = None
    completed: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class StageStatus:
    """As of a group, but that the end of its wait counts too, and a Running stage says what its own gates and wait wait
    for; ``groups`` in the order of the rows."""

    state: str = NOT_STARTED
    failure_count: int = 0
    message: str = ""
    started: datetime | None = None
    completed: datetime | None = None
    groups: tuple[GroupStatus, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """``outcome`` (Succeeded, CompletedWithFailures, CompletedWithSkips) is empty until the run is Completed or
    Skipped, the final states. ``failure_count`` are failed members, ``message`` as of ``summary.of_run``; ``stages`` in
    the order of the rows."""

    state: str = NOT_STARTED
    failure_count: int = 0
    outcome: str = ""
    message: str = ""
    stages: tuple[StageStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class StageLook:
    """A stage with all that follows from it, states of its groups included."""

    facts: StageFacts
    groups: tuple[GroupFacts, ...]
    state: str


def row_of(table: Table[F], facts: F) -> tuple[str, str]:
    """Label (``G1``) and state of the first row of a table of states that holds; the last row always does."""
    for letter, holds, state in table:
        if holds(facts):
            return letter, state
    raise AssertionError("the last row holds")


def stage_look(stage: StageRow, run: RunState) -> StageLook:
    """The stage with all that follows from its rows. Of ``run`` only phase and stop are read."""
    counts = [tally(group.members) for group in stage.groups]
    breached = stage_over_limit(stage, [count.failed for count in counts])
    groups = tuple(
        group_facts(group, stage, count, stage_breached=breached, stop=run.stop_requested)
        for group, count in zip(stage.groups, counts, strict=True)
    )
    states = tuple(row_of(GROUP_TABLE, facts)[1] for facts in groups)
    facts = stage_facts(stage, groups, states, breached, run)
    return StageLook(facts, groups, row_of(STAGE_TABLE, facts)[1])


def run_state(run: RunState, looks: t.Sequence[StageLook]) -> str:
    """The run's state by the table; ``looks`` are those of all its stages, in order."""
    states = tuple(each.state for each in looks)
    return row_of(RUN_TABLE, run_facts(run, [each.facts for each in looks], states))[1]


def derive(run: RunState) -> RunStatus:
    """All states, counts, messages and times of an update run, its stages and groups."""
    looks = [stage_look(stage, run) for stage in run.stages]
    state = run_state(run, looks)
    stages = tuple(_stage(stage, one) for stage, one in zip(run.stages, looks, strict=True))
    return RunStatus(
        state=state,
        failure_count=sum(each.failure_count for each in stages),
        outcome=_outcome(state, looks),
        message=summary.of_run(run, state, [(each.state, each.message) for each in stages]),
        stages=stages,
    )


def _stage(stage: StageRow, one: StageLook) -> StageStatus:
    """The status of the stage; it began with the first of its members, and ended, once it is Completed, Skipped or
    Failed, with the last of its members, gates and wait."""
    groups = tuple(
        _group(group, state, facts)
        for group, state, facts in zip(stage.groups, one.facts.groups, one.groups, strict=True)
    )
    ends = [each.completed for each in groups]
    ends += [gate.completed for gate in (*stage.before_gates, *stage.after_gates)]
    ends += [stage.wait.completed] if stage.wait else []
    return StageStatus(
        state=one.state,
        failure_count=one.facts.failed,
        message=summary.of_stage(stage, one.state, one.facts.groups),
        started=_first(each.started for each in groups),
        completed=_last(ends) if one.state in (*DONE, FAILED) else None,
        groups=groups,
    )


def _group(group: GroupRow, state: str, facts: GroupFacts) -> GroupStatus:
    """The status of the group, its times as ``_stage`` has them."""
    ends = [member.completed for member in group.members]
    ends += [gate.completed for gate in (*group.before_gates, *group.after_gates)]
    return GroupStatus(
        state=state,
        failure_count=facts.count.failed,
        message=summary.of_group(group, state),
        started=_first(member.started for member in group.members),
        completed=_last(ends) if state in (*DONE, FAILED) else None,
    )


def _outcome(state: str, looks: t.Sequence[StageLook]) -> str:
    """CompletedWithFailures if a member failed, else CompletedWithSkips if one was skipped, else Succeeded; empty for a
    run that is neither Completed nor Skipped."""
    if state not in DONE:
        return ""
    counts = [group.count for one in looks for group in one.groups]
    if any(count.failed for count in counts):
        return WITH_FAILURES
    return WITH_SKIPS if any(count.skipped for count in counts) else SUCCEEDED


def _first(instants: t.Iterable[datetime | None]) -> datetime | None:
    """The earliest that is known; None without one."""
    return min((each for each in instants if each is not None), default=None)


def _last(instants: t.Iterable[datetime | None]) -> datetime | None:
    """The latest that is known; None without one."""
    return max((each for each in instants if each is not None), default=None)
