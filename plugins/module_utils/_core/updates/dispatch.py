# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which members of a stage of an update run begin their upgrade now: slots (``maxConcurrency``) of stage and groups,
order of members, round robin of the groups, who is skipped or fails when its turn comes, who waits for a slot
(``WaitingForSlot``); names of operations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from ..values.update_states import (
    ALREADY_AT_TARGET,
    FAILED,
    NOT_STARTED,
    PENDING,
    PRECONDITION_FAILED,
    RUNNING,
)
from .failure_threshold import group_over_limit, stage_over_limit
from .gates import cleared
from .run import (
    Begin,
    GroupRow,
    MemberBlocker,
    MemberRow,
    Members,
    RunState,
    StageRow,
)
from .status import StageLook
from .timing import obstacles
from .timing.member_order import order_key

IDLE = (NOT_STARTED, PENDING)


@dataclass(frozen=True)
class DispatchContext:
    """What holds for all groups of one decision; attempts to begin gather in ``begun``."""

    run: RunState
    stage: StageRow
    members: Members
    now: datetime
    begun: list[Begin] = field(default_factory=list)


@dataclass
class GroupSlots:
    """One group while slots are given out: how many are ``free``, how many members have ``failed``, whether more may
    begin (``open``), whether a row is ``changed``, the places of those that were ``tried``. ``queue`` holds the places
    of those still to be tried, the next one last; None before the first is."""

    group: GroupRow
    rows: list[MemberRow]
    free: int
    failed: int
    open: bool
    changed: bool = False
    queue: list[int] | None = None
    tried: set[int] = field(default_factory=set)

    def put(self, at: int, row: MemberRow) -> None:
        """Sets the row at that place, and notes whether it is another object."""
        if row is not self.rows[at]:
            self.rows[at], self.changed = row, True


def dispatch(turn: DispatchContext, seen: StageLook) -> StageRow:
    """The stage after giving out its free slots to members that can start, the same one if nothing changes; attempts to
    begin are added to ``turn.begun``. ``seen`` is ``turn.stage`` as it is, with one group at least; members that have
    not ended must have a view (else KeyError).

    Groups take turns for the slots of the stage, from where the last decision ended; members of a group are tried in
    the order of ``order_key``. One that cannot start takes no slot: it becomes Pending, Skipped or Failed, and the next
    is tried. Nothing starts where the run is to stop, or a gate before, a breach or a user's skip closes stage or
    group.
    """
    stage = turn.stage
    live = not (turn.run.stop_requested or seen.facts.breached or stage.user_skipped) and cleared(stage.before_gates)
    lanes = [
        GroupSlots(
            group=group,
            rows=list(group.members),
            free=group.max_concurrency - facts.count.in_flight,
            failed=facts.count.failed,
            open=live
            and not (facts.breached or facts.user_skipped or facts.count.ended)
            and cleared(group.before_gates),
        )
        for group, facts in zip(stage.groups, seen.groups, strict=True)
    ]
    next_group = _serve(turn, lanes, stage.max_concurrency - seen.facts.in_flight)
    for lane in lanes:
        _refresh(turn, lane)
    if not any(lane.changed for lane in lanes):
        return stage
    groups = tuple(
        replace(lane.group, members=tuple(lane.rows), reached=lane.group.reached or bool(lane.tried))
        if lane.changed
        else lane.group
        for lane in lanes
    )
    return replace(stage, groups=groups, next_group=next_group)


def _serve(turn: DispatchContext, lanes: list[GroupSlots], free: int) -> int:
    """Gives out ``free`` slots of the stage, one group after another, to members that can start; the index of the group
    whose turn is next."""
    following = at = turn.stage.next_group % len(lanes)
    missed = 0
    while free > 0 and missed < len(lanes):
        lane = lanes[at]
        tried = _try_one(turn, lane) if lane.open and lane.free > 0 else ""
        if tried == FAILED:
            _close_groups_over_limit(turn, lanes)
        if tried not in ("", RUNNING):
            continue
        at = (at + 1) % len(lanes)
        missed += 1
        if tried == RUNNING:
            free, following, missed = free - 1, at, 0
    return following


def _try_one(turn: DispatchContext, lane: GroupSlots) -> str:
    """Tries the next member of the group, and notes what comes of it in ``lane``; its state then, empty if the group
    has no more to try."""
    if lane.queue is None:
        lane.queue = _queue(turn, lane)
    if not lane.queue:
        return ""
    at = lane.queue.pop()
    lane.tried.add(at)
    row = _after_turn(turn, lane.group, lane.rows[at])
    lane.put(at, row)
    lane.free -= row.state == RUNNING
    lane.failed += row.state == FAILED
    return row.state


def _queue(turn: DispatchContext, lane: GroupSlots) -> list[int]:
    """Places of the members that were not begun or wait, the next one to try last."""
    keys = [
        (order_key(turn.members[row.name], at, turn.now), at) for at, row in enumerate(lane.rows) if row.state in IDLE
    ]
    keys.sort(reverse=True)
    return [at for _key, at in keys]


def _after_turn(turn: DispatchContext, group: GroupRow, row: MemberRow) -> MemberRow:
    """The member whose turn it is: Skipped, Failed or Pending without any attempt, for what its view has of these, the
    first of them; else Running, and its attempt is added to ``turn.begun``."""
    view = turn.members[row.name]
    if view.skip is not None:
        why = view.skip if view.skip.reason else replace(view.skip, reason=ALREADY_AT_TARGET)
        return obstacles.skipped(row, why, turn.now)
    if view.fail is not None:
        why = view.fail if view.fail.reason else replace(view.fail, reason=PRECONDITION_FAILED)
        return obstacles.failed(row, why, turn.now)
    found = obstacles.obstacle(view, turn.now)
    if found is not None:
        return obstacles.held_or_skipped(row, found, turn.run, turn.now)
    attempt = row.attempt + 1
    operation = operation_name(turn.run, row.name, attempt)
    turn.begun.append(
        Begin(stage=turn.stage.name, group=group.name, member=row.name, attempt=attempt, operation=operation)
    )
    return MemberRow(
        name=row.name,
        state=RUNNING,
        attempt=attempt,
        operation=operation,
        started=row.started or turn.now,
    )


def operation_name(run: RunState, member: str, attempt: int) -> str:
    """The name of the operation that upgrades the member in this attempt (from 1), ``<run>-<first 8 characters of its
    uid>.<member>.<attempt>``: the same for every conductor, so that it is begun once."""
    return f"{operation_prefix(run)}{member}.{attempt}"


def operation_prefix(run: RunState) -> str:
    """What the names of all operations of the run begin with: ``<run>-<first 8 characters of its uid>.``"""
    return f"{run.name}-{run.uid[:8]}."


def _close_groups_over_limit(turn: DispatchContext, lanes: list[GroupSlots]) -> None:
    """Closes the groups that a failed precondition has put over their limit, all of them if it is the stage's."""
    over = stage_over_limit(turn.stage, [lane.failed for lane in lanes])
    for lane in lanes:
        lane.open = lane.open and not over and not group_over_limit(lane.group, turn.stage, lane.failed)


def _refresh(turn: DispatchContext, lane: GroupSlots) -> None:
    """Sets anew what Pending members wait for that were not tried: their obstacle may be another by now, or gone while
    no slot is free. Where the group is open, one that was unreachable for too long is Skipped."""
    for at, row in enumerate(lane.rows):
        if row.state != PENDING or at in lane.tried:
            continue
        found = obstacles.obstacle(turn.members[row.name], turn.now)
        if found is None:
            found = obstacles.NO_SLOT if lane.open else obstacles.NO_REASON
        held = obstacles.held_or_skipped if lane.open else _keep
        lane.put(at, held(row, found, turn.run, turn.now))


def _keep(row: MemberRow, why: MemberBlocker, _run: RunState, now: datetime) -> MemberRow:
    """As ``obstacles.held_or_skipped``, but that in a halted segment no time runs out: the member stays Pending."""
    return obstacles.pending(row, why, now)
