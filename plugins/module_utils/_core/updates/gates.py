# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Gates and waits of an update run (Azure Fleet Manager's): opened before and after stages and groups, due by a
schedule, completed by people or by the clock, closed with what is skipped; all of a stage by their places, all of a run
changed."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..objects.updates.strategy import DAYS
from ..values.update_states import (
    AFTER,
    BEFORE,
    COMPLETED,
    LAST_STAGE,
    NOT_STARTED,
    PENDING,
    REQUESTED_BY_USER,
    RUNNING,
    SKIPPED,
)
from ..windows.maintenance import clock_of
from .facts import DONE
from .run import (
    Approval,
    GateRow,
    GroupRow,
    OpenGate,
    RunState,
    Schedule,
    StageRow,
    WaitRow,
)
from .status import StageLook, stage_look

Gates = tuple[GateRow, ...]


@dataclass(frozen=True)
class GateContext:
    """What one decision or command works with: the run, the instant, ``approvals`` that count, by the id of their gate;
    gates that it opens gather in ``opened``."""

    run: RunState
    now: datetime
    approvals: t.Mapping[str, Approval] = field(default_factory=dict)
    opened: list[OpenGate] = field(default_factory=list)
    _looks: dict[int, tuple[StageRow, StageLook]] = field(default_factory=dict)

    def look(self, stage: StageRow) -> StageLook:
        """What follows from the stage by phase and stop of this ``run``, worked out once for the same object."""
        found = self._looks.get(id(stage))
        if found is None:
            found = self._looks[id(stage)] = (stage, stage_look(stage, self.run))
        return found[1]


def next_occurrence(schedule: Schedule, after: datetime) -> datetime:
    """When a scheduled gate that opens at an aware instant completes itself: the first such day and time later than
    that, by its offset from UTC (empty: none), in the time zone of ``after``. ValueError for a day, time or offset that
    is none."""
    hour, minute = schedule.time.split(":")
    local = after.astimezone(clock_of(schedule.utc_offset, ""))
    days = (DAYS.index(schedule.day) - local.weekday()) % 7
    found = local.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0) + timedelta(days=days)
    return (found if found > local else found + timedelta(days=7)).astimezone(after.tzinfo)


def with_passed_gates(stage: StageRow, desk: GateContext) -> StageRow:
    """The stage with those open (Pending) gates Completed that were approved, or are due and not refused, and its wait
    if that is over; clocks go on while a run is stopped. What the clock completes is completed at its own time; what
    was approved, refused and due or not, at the instant of its approval, and its refusal is taken off. A stage that was
    not reached stays as it is."""
    if not stage.reached:
        return stage
    groups = tuple(_with_both_changed(group, lambda gates: _completed(gates, desk)) for group in stage.groups)
    stage = _with_both_changed(_with_groups(stage, groups), lambda gates: _completed(gates, desk))
    wait = stage.wait
    if wait and wait.state == RUNNING and wait.ends is not None and wait.ends <= desk.now:
        stage = replace(stage, wait=replace(wait, state=COMPLETED, completed=wait.ends))
    return stage


def open_before(stage: StageRow, seen: StageLook, desk: GateContext) -> StageRow:
    """The stage with the gates before it opened, and, once these are passed, those before its groups, but for groups
    that are or will be skipped, or are breached; they are added to ``desk.opened``. ``seen`` is the stage as it is.
    ValueError as of ``next_occurrence``."""
    before = _opened(stage.before_gates, (stage.name, "", BEFORE), desk)
    if before is not stage.before_gates:
        stage = replace(stage, before_gates=before)
    if not cleared(before):
        return stage
    groups = []
    for group, facts, state in zip(stage.groups, seen.groups, seen.facts.groups, strict=True):
        if group.before_gates and not (facts.user_skipped or facts.breached or state == SKIPPED):
            gates = _opened(group.before_gates, (stage.name, group.name, BEFORE), desk)
            if gates is not group.before_gates:
                group = replace(group, before_gates=gates, reached=True)
        groups.append(group)
    return _with_groups(stage, tuple(groups))


def open_after(stage: StageRow, desk: GateContext, last: bool) -> StageRow:
    """The stage with the gates opened that are after groups whose members ended, then, once all groups are done, its
    own together with its wait; they are added to ``desk.opened``. ValueError as of ``next_occurrence``.

    Nothing opens in a segment that is halted, or while the run is to stop. The wait of the ``last`` stage is Skipped,
    as nothing follows, also then.
    """
    seen = desk.look(stage)
    groups = []
    for group, facts, state in zip(stage.groups, seen.groups, seen.facts.groups, strict=True):
        if state == RUNNING and facts.count.ended:
            gates = _opened(group.after_gates, (stage.name, group.name, AFTER), desk)
            group = replace(group, after_gates=gates) if gates is not group.after_gates else group
        groups.append(group)
    stage = _with_groups(stage, tuple(groups))
    if not seen.facts.groups_done or seen.facts.breached or seen.state == SKIPPED:
        return stage
    wait = stage.wait
    if last and wait and wait.state == NOT_STARTED:
        stage = replace(stage, wait=skipped_wait(wait, LAST_STAGE, desk.now))
    if desk.run.stop_requested:
        return stage
    gates = _opened(stage.after_gates, (stage.name, "", AFTER), desk)
    if gates is not stage.after_gates:
        stage = replace(stage, after_gates=gates)
    if wait and not last and wait.state == NOT_STARTED:
        ends = desk.now + timedelta(seconds=wait.seconds)
        stage = replace(stage, wait=replace(wait, state=RUNNING, started=desk.now, ends=ends))
    return stage


def with_skipped_gates(stage: StageRow, desk: GateContext) -> StageRow:
    """The stage with those gates and its wait Skipped that are not over yet, open and running ones too, of what a user
    skipped, also while members of that are in flight, and of what is Skipped by now. The ``reason`` of the wait is
    RequestedByUser where a user skipped the stage, else empty."""
    seen = desk.look(stage)
    groups = tuple(
        _with_both_changed(group, lambda gates: _skipped(gates, desk.now))
        if facts.user_skipped or state == SKIPPED
        else group
        for group, facts, state in zip(stage.groups, seen.groups, seen.facts.groups, strict=True)
    )
    stage = _with_groups(stage, groups)
    if not (stage.user_skipped or seen.state == SKIPPED):
        return stage
    stage = _with_both_changed(stage, lambda gates: _skipped(gates, desk.now))
    wait, why = stage.wait, REQUESTED_BY_USER if stage.user_skipped else ""
    return (
        replace(stage, wait=skipped_wait(wait, why, desk.now))
        if wait and wait.state in (NOT_STARTED, RUNNING)
        else stage
    )


def skipped_wait(wait: WaitRow, reason: str, now: datetime) -> WaitRow:
    """The wait after a stage, whatever its state, Skipped at ``now`` for ``reason``, which may be empty."""
    return replace(wait, state=SKIPPED, reason=reason, completed=now)


def cleared(gates: Gates) -> bool:
    """Whether none of the gates holds anything up: each is Completed or Skipped."""
    return not gates or all(gate.state in DONE for gate in gates)


def due_at(stage: StageRow) -> list[datetime]:
    """Instants, past ones too, at which the clock completes an open gate (no refused one) or the running wait of the
    stage, in no order."""
    gates = [*stage.before_gates, *stage.after_gates]
    for group in stage.groups:
        gates += (*group.before_gates, *group.after_gates)
    found = [gate.due for gate in gates if gate.state == PENDING and gate.due is not None and not gate.refused]
    if stage.wait and stage.wait.state == RUNNING and stage.wait.ends is not None:
        found.append(stage.wait.ends)
    return found


def placed_gates(stage: StageRow) -> t.Iterator[tuple[str, str, tuple[GateRow, ...]]]:
    """Group (empty for the stage's own), timing and gates of each place of a stage: before it, before and after each of
    its groups, after it."""
    yield "", BEFORE, stage.before_gates
    for group in stage.groups:
        yield group.name, BEFORE, group.before_gates
        yield group.name, AFTER, group.after_gates
    yield "", AFTER, stage.after_gates


def with_gates_changed(state: RunState, change: t.Callable[[GateRow], GateRow]) -> RunState:
    """The run with ``change`` done to each gate; the same one if that leaves all equal."""
    stages = tuple(_changed(stage, change) for stage in state.stages)
    return state if stages == state.stages else replace(state, stages=stages)


def _changed(stage: StageRow, change: t.Callable[[GateRow], GateRow]) -> StageRow:
    """The stage with ``change`` done to each gate of it and its groups."""

    def each(gates: Gates) -> Gates:
        """Each of the gates changed."""
        return tuple(map(change, gates)) if gates else gates

    return _with_groups(
        _with_both_changed(stage, each), tuple(_with_both_changed(group, each) for group in stage.groups)
    )


def _opened(gates: Gates, place: tuple[str, str, str], desk: GateContext) -> Gates:
    """All gates that are NotStarted, opened at once and added to ``desk.opened``; ``place`` is stage, group and timing.
    The same tuple if none was to be opened. ValueError as of ``next_occurrence``."""
    if not any(gate.state == NOT_STARTED for gate in gates):
        return gates
    stage, group, timing = place
    rows = []
    for gate in gates:
        if gate.state == NOT_STARTED:
            due = next_occurrence(gate.schedule, desk.now) if gate.schedule else None
            gate = replace(gate, state=PENDING, opened=desk.now, due=due)
            desk.opened.append(OpenGate(stage=stage, group=group, timing=timing, gate=gate))
        rows.append(gate)
    return tuple(rows)


def _completed(gates: Gates, desk: GateContext) -> Gates:
    """The gates with those open ones Completed that are passed by now; the same tuple if none is."""
    if not gates:
        return gates
    rows = tuple(_pass(gate, desk) if gate.state == PENDING else gate for gate in gates)
    return gates if all(new is old for new, old in zip(rows, gates, strict=True)) else rows


def _pass(gate: GateRow, desk: GateContext) -> GateRow:
    """The open gate, Completed if it was approved, or is due and was not refused; else as it is."""
    given = desk.approvals.get(gate.id)
    if given is not None:
        return replace(gate, state=COMPLETED, completed=given.at, by=given.by, verified=given.verified, refused="")
    if gate.due is not None and gate.due <= desk.now and not gate.refused:
        return replace(gate, state=COMPLETED, completed=gate.due)
    return gate


def _skipped(gates: Gates, now: datetime) -> Gates:
    """The gates, Skipped and completed ``now`` where they are NotStarted or Pending; the same tuple if none is."""
    if not any(gate.state in (NOT_STARTED, PENDING) for gate in gates):
        return gates
    return tuple(
        replace(gate, state=SKIPPED, completed=now) if gate.state in (NOT_STARTED, PENDING) else gate for gate in gates
    )


Gated = t.TypeVar("Gated", GroupRow, StageRow)


def _with_both_changed(row: Gated, change: t.Callable[[Gates], Gates]) -> Gated:
    """The row with both its lists of gates changed, the same row if neither did."""
    before, after = change(row.before_gates), change(row.after_gates)
    if before is row.before_gates and after is row.after_gates:
        return row
    return replace(row, before_gates=before, after_gates=after)


def _with_groups(stage: StageRow, groups: tuple[GroupRow, ...]) -> StageRow:
    """The stage with these groups; the same stage if no group changed."""
    unchanged = all(new is old for new, old in zip(groups, stage.groups, strict=True))
    return stage if unchanged else replace(stage, groups=groups)
