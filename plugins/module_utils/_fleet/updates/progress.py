# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a run's conductor tells while it works: lines for people, events for machines, the journal of the records
(``GateOpened``, ``ApprovalRefused``, ``MemberFailed``); how far a run is, counted (``3 of 7 clusters done``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates.approvals import named_makers
from ..._core.updates.record.summary import completed_by, in_one_line, named_failures
from ..._core.updates.run import (
    MemberRow,
    OpenGate,
    RunState,
    StageRow,
)
from ..._core.updates.status import RunStatus, derive
from ..._core.values.clock_skew import is_due_again
from ..._core.values.instants import write_time
from ..._core.values.listed import number_of
from ..._core.values.update_states import (
    COMPLETED,
    FAILED,
    PENDING,
    RUNNING,
    SKIPPED,
    TERMINAL,
)
from .gate_objects import gates_of

REMIND = timedelta(minutes=1)
OVER = ((FAILED, "failed"), (SKIPPED, "skipped"))
Line = t.Mapping[str, t.Any]


@dataclass
class RunProgress:
    """Tells of ``run``: ``say`` shows a line to people, ``emit`` takes one event, ``journal`` a type (``Normal``,
    ``Warning``), a reason and a message to keep; what they raise comes through. ``versions`` are those last seen on the
    members."""

    run: UpdateRun
    say: t.Callable[[str], None]
    emit: t.Callable[[Line], None]
    journal: t.Callable[[str, str, str], None]
    versions: t.Mapping[str, str]
    _told: RunState | None = None
    _status: RunStatus = RunStatus()
    _reminded: datetime | None = None
    _words: dict[str, str] = field(default_factory=dict)

    def begin(self, state: RunState, now: datetime) -> None:
        """Tells people, and as an event, what the run is for, and how far it is."""
        run = self.run
        goal = f"{run.spec.managed_cluster_update.upgrade.type} to {run.target or 'newer node images'}"
        self._told, self._status, self._reminded = state, derive(state), now
        self.say(f"run {run.name}: {goal}; {counted(state)}")
        self._emit(now, "conducting", state=self._status.state, message=f"{goal}; {counted(state)}")

    def stored(self, state: RunState, now: datetime) -> None:
        """As of ``Telling``: tells what is new of members, gates, stages and the run since the last time, in this
        order: to people (not of gates that opened), as events, and, but for gates, the journal (of members those that
        began, ended or were put back). Nothing before ``begin``, nor for the same state."""
        before, told = self._told, self._status
        if before is None or state is before:
            return
        self._told, self._status = state, derive(state)
        for number, (stage, old) in enumerate(zip(state.stages, before.stages, strict=True)):
            if stage is not old:
                self._tell_members(state, number, stage, old, now)
        self._tell_gates(state, before, now)
        for stage, new, last in zip(state.stages, self._status.stages, told.stages, strict=True):
            if (new.state, new.message) != (last.state, last.message):
                rows = [row for group in stage.groups for row in group.members]
                self._tell_level("stage", stage.name, new.state, new.message, rows, now)
        if (self._status.state, self._status.message) != (told.state, told.message):
            self._tell_level("run", self.run.name, self._status.state, self._status.message, state.members, now)

    def gate_opened(self, action: OpenGate) -> None:
        """Tells people, and the journal, of a gate that they can approve from now on."""
        place = f"{action.timing.lower()} {'group ' + action.group if action.group else 'stage ' + action.stage}"
        due = f"; opens by itself at {write_time(action.gate.due)}" if action.gate.due else ""
        self.say(f"  gate {action.gate.name or 'without name'} {place} waits for approval: {action.gate.id}{due}")
        self.journal("Normal", "GateOpened", f"gate {action.gate.id} {place}")

    def approval_refused(self, text: str) -> None:
        """Tells people, and the journal, of an approval that does not count, or of a gate that was refused, in the
        words of ``text``."""
        self.say(f"  {text}")
        self.journal("Warning", "ApprovalRefused", text)

    def said(self, operation: str, message: str) -> None:
        """Tells people a word from an upgrade in flight, by its member, or its name where none has it; nothing if it is
        empty, or the same as its last."""
        if message and self._words.get(operation) != message:
            self._words[operation] = message
            rows = self._told.members if self._told else ()
            who = next((row.name for row in rows if row.operation == operation), operation)
            words = message.removeprefix(f"{who}: ")
            self.say(f"  {who} {words}" if words.startswith("pool ") else f"    {who}: {words}")

    def waiting(self, run: RunState, until: datetime | None, now: datetime) -> None:
        """Tells people, at most once a minute, that it still waits; ``until`` as of ``Telling``."""
        if self._reminded is None or is_due_again(self._reminded, REMIND, now):
            self._reminded = now
            till = f" until {write_time(until)}" if until else ""
            self.say(f"  still waiting{till}: {self._status.message or self._status.state}; {counted(run)}")

    def end(self, state: RunState, why: str, now: datetime) -> None:
        """Tells people, and as an event, how it stands; ``why`` as in ``conductor.loop.Ending``."""
        status = derive(state)
        self.say(f"run {self.run.name} {status.state}: {counted(state)}" + ("" if why == "settled" else f" ({why})"))
        self._emit(now, "ended", state=status.state, message=why)

    def _tell_gates(self, state: RunState, before: RunState, now: datetime) -> None:
        """An event for each gate whose state is another. People are told of gates that opened when these can be
        approved, and here of those that closed."""
        for placed, past in zip(gates_of(state), gates_of(before), strict=True):
            gate = placed.gate
            if gate.state == past.gate.state:
                continue
            if gate.state != PENDING:
                by = (
                    f" by {completed_by(gate.by, gate.verified, named_makers(self.run))}"
                    if gate.state == COMPLETED
                    else ""
                )
                self.say(f"  gate {gate.name or 'without name'} {placed.position} {gate.state}{by}")
            self._emit(
                now,
                "gate",
                stage=placed.stage,
                group=placed.group,
                timing=placed.timing,
                gate=gate.id,
                name=gate.name,
                state=gate.state,
                by=gate.by,
                verified=gate.verified,
            )

    def _tell_members(self, state: RunState, number: int, stage: StageRow, old: StageRow, now: datetime) -> None:
        """Tells people, and as events, of members of the stage with another state, attempt or reason; the journal of
        those that began or ended, or were put back."""
        heading = f"stage {number + 1}/{len(state.stages)} {stage.name}"
        for group, last in zip(stage.groups, old.groups, strict=True):
            for row, past in zip(group.members, last.members, strict=True):
                if (row.state, row.attempt, row.reason) == (past.state, past.attempt, past.reason):
                    continue
                self.say(f"  {heading}, {_done(stage)}: {self._member(row)}")
                self._emit(
                    now,
                    "member",
                    stage=stage.name,
                    group=group.name,
                    member=row.name,
                    state=row.state,
                    attempt=row.attempt,
                    operation=row.operation,
                    reason=row.reason,
                    message=row.message,
                )
                if RUNNING in (row.state, past.state) or row.state in TERMINAL:
                    kind = "Warning" if row.state == FAILED else "Normal"
                    self.journal(kind, f"Member{row.state}", f"{stage.name}/{group.name}: {self._member(row)}")

    def _member(self, row: MemberRow) -> str:
        """A member and its state in a line, with its versions while it is upgraded, then how long it took or why."""
        words = f"{row.name} {row.state}"
        if row.state == RUNNING:
            again = f", attempt {row.attempt}" if row.attempt > 1 else ""
            goal = self.run.target or "newer node images"
            return f"{words} ({self.versions.get(row.name, '?')} -> {goal}{again})"
        if row.state in (PENDING, SKIPPED, FAILED):
            why = in_one_line(row.message, row.name) or row.reason
            return f"{words}: {why}" if why else words
        took = f" in {(row.completed - row.started).total_seconds():.0f} s" if row.completed and row.started else ""
        return f"{words}{took}" + (f", now {row.version_after}" if row.version_after else "")

    def _tell_level(
        self, level: str, name: str, state: str, message: str, members: t.Sequence[MemberRow], now: datetime
    ) -> None:
        """Tells people, as an event, and the journal of a stage or the run (``level``). People were told why a member
        failed; of what it is part of they are told who did."""
        failed = [row.name for row in members if row.state == FAILED] if state == FAILED else []
        words = named_failures(failed) or message
        self.say(f"  {level} {name} {state}" + (f": {words}" if words else ""))
        self._emit(now, level, name=name, state=state, message=message)
        self.journal("Warning" if state == FAILED else "Normal", f"{level.capitalize()}{state}", message or name)

    def _emit(self, now: datetime, type: str, **fields: t.Any) -> None:
        """Emits an event with the instant, the run and its type; fields that are empty are left out."""
        self.emit({"at": write_time(now), "run": self.run.name, "type": type, **{k: v for k, v in fields.items() if v}})


def counted(run: RunState) -> str:
    """How far the run is, such as ``3 of 7 clusters done, 1 in flight, 1 failed, 2 skipped``; numbers of 0 are left
    out, but for those that are done, and so are members whose turn has not come."""
    states = [row.state for row in run.members]
    parts = [f"{states.count(COMPLETED):,} of {number_of(len(states), 'cluster')} done"]
    for state, word in ((RUNNING, "in flight"), *OVER, (PENDING, "pending")):
        if states.count(state):
            parts.append(f"{states.count(state)} {word}")
    return ", ".join(parts)


def _done(stage: StageRow) -> str:
    """How far a stage is, such as ``3 of 7 done, 1 failed``: as ``counted``, without those that are not over."""
    states = [row.state for group in stage.groups for row in group.members]
    over = [f"{states.count(state)} {word}" for state, word in OVER if states.count(state)]
    return ", ".join([f"{states.count(COMPLETED)} of {len(states)} done", *over])
