# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The next step of an update run, from what is stored, what is true of its members, and the clock: what begins, who has
left the fleet (``MemberGone``), a refused gate that stops it, what it waits for and when it wakes."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime

from ..machine import Blocker, Decision, HeldBack
from ..values.update_states import (
    ACTIVE,
    FAILED,
    MEMBER_GONE,
    NOT_STARTED,
    PENDING,
    RUNNING,
    STOPPED,
)
from . import gates
from .commands import STOPPABLE, stop
from .dispatch import DispatchContext, dispatch
from .facts import DONE, with_breaches
from .run import (
    Begin,
    GroupRow,
    MemberBlocker,
    MemberRow,
    Members,
    RunState,
    StageRow,
    UpdateAct,
    UpdateSeen,
)
from .status import StageLook, derive, run_state
from .timing import obstacles

_LEFT = MemberBlocker(reason=MEMBER_GONE, message="left the fleet")
_LEFT_IN_FLIGHT = MemberBlocker(reason=MEMBER_GONE, message="left the fleet during its upgrade")
_IDLE = frozenset((NOT_STARTED, PENDING, STOPPED))


def decide(state: RunState, seen: UpdateSeen, now: datetime) -> Decision[RunState, UpdateAct]:
    """The next state of an update run and what is to be done for it at ``now``. A refused gate that is not approved
    stops it. ``acts`` show the gates that open, then begin attempts, each in the order in which they did; ``waits`` are
    the Pending members of stages that were reached, with what holds each back; ``wake_at`` is when time alone next
    changes something for a gate, a wait or a Pending member, None without such. ValueError for a schedule of a gate
    that cannot be read.

    Pure, and settled: with its own result, the same members and instant, and nothing else, it gives no act and changes
    nothing. Of several approvals of one gate the last counts; one of a gate that this decision opens is for the next to
    take up. A run that was never started stays as it is. Sequence and states are those of Azure Fleet Manager's update
    runs: stages one after another, groups side by side, members as slots, windows and obstacles allow.
    """
    if state.phase != ACTIVE:
        return Decision(state=state)
    run = gates.with_gates_changed(state, lambda gate: seen.gates.get(gate.id, gate)) if seen.gates else state
    run = _stopped_by_refusal(run, {each.gate for each in seen.approvals})
    members = seen.members
    desk = gates.GateContext(run, now, {each.gate: each for each in seen.approvals})
    begun: list[Begin] = []
    stages: list[StageRow] = []
    ahead = True
    for index, before in enumerate(run.stages):
        stage = gates.with_passed_gates(_without_gone(before, members, now), desk)
        stage = _settled(stage, desk)
        if ahead:
            last = index == len(run.stages) - 1
            stage = _advanced(stage, members, desk, begun, last)
            ahead = desk.look(stage).state in DONE
        stages.append(stage)
    looks = [desk.look(stage) for stage in stages]
    ended = run_state(run, looks) in (*DONE, FAILED)
    run = replace(
        run,
        stages=tuple(stages),
        started=run.started or (now if begun else None),
        completed=(run.completed or now) if ended else None,
    )
    wake_at = _wake_at(run, looks, members, now)
    return Decision(state=run, acts=(*desk.opened, *begun), waits=_waits(run), wake_at=wake_at)


def _stopped_by_refusal(run: RunState, approved: t.Collection[str]) -> RunState:
    """A refused gate that is not ``approved`` by now, by its id, stops the run as a person would: what is in flight
    ends, nothing new begins. The same run where there is none, or it cannot be stopped."""
    if run.stop_requested or all(each.id in approved for each in run.refused_gates):
        return run
    return stop(run) if derive(run).state in STOPPABLE else run


def acts_in_flight(state: RunState) -> tuple[Begin, ...]:
    """The attempts at members that are Running, in the order of stages, groups and members; no open gates, for nobody
    has to stay for these."""
    return tuple(
        Begin(stage=stage.name, group=group.name, member=row.name, attempt=row.attempt, operation=row.operation)
        for stage in state.stages
        for group in stage.groups
        for row in group.members
        if row.state == RUNNING
    )


def _advanced(stage: StageRow, members: Members, desk: gates.GateContext, begun: list[Begin], last: bool) -> StageRow:
    """The first stage that is not done, after all that may happen in it now: gates that open go to ``desk.opened``,
    attempts to ``begun``. One pass settles it: nothing that it does lets an earlier step do more. ``last``: no stage
    follows. ValueError as of ``next_occurrence``."""
    run, now = desk.run, desk.now
    seen = desk.look(stage)
    if seen.state in DONE:
        return stage
    if _live(stage, seen, run):
        stage = gates.with_skipped_gates(_reached(stage), desk)
        seen = desk.look(stage)
        if seen.state in DONE:
            return stage
        stage = gates.open_before(stage, seen, desk)
    turn = DispatchContext(run, stage, members, now, begun)
    after = dispatch(turn, seen)
    if after is not stage:
        stage = _settled(after, desk)
    return gates.open_after(stage, desk, last)


def _settled(stage: StageRow, desk: gates.GateContext) -> StageRow:
    """The stage with new breaches of limits written down, and gates of what is skipped closed."""
    return gates.with_skipped_gates(with_breaches(stage, desk.look(stage).facts), desk)


def _live(stage: StageRow, seen: StageLook, run: RunState) -> bool:
    """Whether anything new may begin in the stage: the run is not to stop, its limit is kept, and no user skipped
    it."""
    return not (run.stop_requested or seen.facts.breached or stage.user_skipped)


def _reached(stage: StageRow) -> StageRow:
    """The stage as reached, its empty groups with it; the same if it was so before."""
    if stage.reached:
        return stage
    groups = tuple(group if group.members else replace(group, reached=True) for group in stage.groups)
    return replace(stage, reached=True, groups=groups)


def _without_gone(stage: StageRow, members: Members, now: datetime) -> StageRow:
    """The stage with members that left the fleet Skipped if they were not in flight, else Failed; the same if there are
    none. What had ended stays."""
    groups = tuple(_group_without_gone(group, members, now) for group in stage.groups)
    unchanged = all(new is old for new, old in zip(groups, stage.groups, strict=True))
    return stage if unchanged else replace(stage, groups=groups)


def _group_without_gone(group: GroupRow, members: Members, now: datetime) -> GroupRow:
    """As ``_without_gone``, of a group."""
    gone = {
        at: _gone(row, now)
        for at, row in enumerate(group.members)
        if (row.state in _IDLE or row.state == RUNNING) and not _present(row, members)
    }
    if not gone:
        return group
    return replace(group, members=tuple(gone.get(at, row) for at, row in enumerate(group.members)))


def _present(row: MemberRow, members: Members) -> bool:
    """Whether the member is still in the fleet."""
    view = members.get(row.name)
    return view is not None and view.in_fleet


def _gone(row: MemberRow, now: datetime) -> MemberRow:
    """The row of a member that left the fleet: Failed if it was in flight, else Skipped."""
    if row.state == RUNNING:
        return obstacles.failed(row, _LEFT_IN_FLIGHT, now)
    return obstacles.skipped(row, _LEFT, now)


def _wake_at(run: RunState, looks: t.Sequence[StageLook], members: Members, now: datetime) -> datetime | None:
    """When a gate or wait ends by the clock, or time alone changes something for a Pending member, whichever comes
    first; None without such. Clocks of gates and waits run in a stopped run too; members are waited for only where they
    can start."""
    found: list[datetime] = []
    for stage, seen in zip(run.stages, looks, strict=True):
        if not stage.reached or seen.state in DONE:
            continue
        found += gates.due_at(stage)
        if not _live(stage, seen, run):
            continue
        for group, facts in zip(stage.groups, seen.groups, strict=True):
            if facts.count.pending and not facts.breached:
                waiting = (row for row in group.members if row.state == PENDING)
                found += [at for row in waiting for at in obstacles.wakes_at(row, members[row.name], run, now)]
    return min(found, default=None)


def _waits(run: RunState) -> tuple[HeldBack, ...]:
    """Pending members of stages that were reached, in order, each with its obstacle."""
    return tuple(
        HeldBack(row.name, (Blocker(row.reason, row.message),))
        for stage in run.stages
        if stage.reached
        for group in stage.groups
        for row in group.members
        if row.state == PENDING
    )
