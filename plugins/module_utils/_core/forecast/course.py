# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One course of an update run on a virtual clock: the decider itself, with upgrades that end and gates that are
approved when they are told to; what members were held by, standstills, and the next change."""

from __future__ import annotations

import heapq
import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..machine import Decision
from ..updates.decide import decide
from ..updates.facts import DONE
from ..updates.run import (
    Approval,
    Begin,
    GateRow,
    GroupRow,
    MemberRow,
    MemberView,
    OpenGate,
    RunState,
    StageRow,
    UpdateAct,
    UpdateSeen,
)
from ..updates.status import derive, stage_look
from ..values.update_states import COMPLETED, PENDING, RUNNING
from ..windows.clocks import shifted
from .group_part import GroupPart, part_of

Place = tuple[int, int, int]
"""Indexes of stage, group and member."""
# Stands for the stages behind the one that is going on. Its gate holds whatever is behind it.
FOLLOWING = StageRow(
    name="",
    groups=(GroupRow(name="", members=(MemberRow(name=""),), max_concurrency=1, max_allowed_failures=0),),
    max_concurrency=1,
    max_allowed_failures=0,
    before_gates=(GateRow(name="", id=""),),
)


@dataclass(frozen=True)
class Plan:
    """What is assumed of one course of a run: how long the upgrade of a member (by name) takes, how long after its
    opening a gate (by id) without a time of its own is approved (None: never), and until when, an aware instant, to
    look."""

    upgrade: t.Callable[[str], timedelta]
    approval: t.Callable[[str], timedelta] | None
    until: datetime


@dataclass(frozen=True)
class Standstill:
    """A span in which nothing was in flight; ``end`` None if it does not end within the plan. ``stage`` is the name of
    the first that is not done, ``message`` says what it waits for."""

    stage: str
    message: str
    start: datetime
    end: datetime | None


@dataclass
class Course:
    """An update run as it goes on, up to ``now``. ``held`` is what each member waited for before it started: reason and
    message; ``standstills`` are in order of time; both stay empty unless ``noted``. ``views`` are changed as obstacles
    end. ``changes_at`` is the first instant, after what is decided at the start, at which anything changes without
    anybody's doing, None for never; ``changes_by`` says what does; both are known after the first decision."""

    run: RunState
    views: dict[str, MemberView]
    now: datetime
    plan: Plan
    noted: bool = False
    held: dict[str, tuple[str, str]] = field(default_factory=dict)
    standstills: list[Standstill] = field(default_factory=list)
    changes_at: datetime | None = None
    changes_by: str = ""
    _events: list[tuple[datetime, str, str]] = field(default_factory=list)
    _approvals: list[Approval] = field(default_factory=list)
    _in_flight: int = 0
    _wake: datetime | None = None
    _places: dict[str, Place] = field(default_factory=dict)
    _timed: list[str] = field(default_factory=list)
    _stage: int = 0
    _parts: list[GroupPart] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begins what is in flight, later attempts as if they began now, opens gates that are Pending and enters the
        first stage; ``views`` gets one more, under an empty name."""
        for at, stage in enumerate(self.run.stages):
            for among, group in enumerate(stage.groups):
                self._places |= {row.name: (at, among, index) for index, row in enumerate(group.members)}
        for row in self.run.members:
            if row.state == RUNNING:
                # The start of a later attempt is recorded nowhere: the row keeps that of the first one.
                self._begin(row.name, row.started if row.started and row.attempt == 1 else self.now)
        self.views[""] = MemberView(name="")
        self._timed = [name for name, view in self.views.items() if any(each.until for each in view.obstacles)]
        for gate in (gate for stage in self.run.stages for gate in stage_gates(stage) if gate.state == PENDING):
            self._open(gate)
        if self.run.stages:
            self._enter(0)

    def play(self) -> Course:
        """Goes on to the end of the run, to a wait that nothing ends, or to the end of the plan; gives the course
        itself. To be called once. A run that was not laid out has nothing to play."""
        while self.run.stages:
            self._decide()
            following = self._next()
            if not self.changes_by:
                self._note_change()
            if self.noted and not self._in_flight:
                self._stand_still(following)
            if following is None or following > self.plan.until:
                self._complete()
                break
            self.now = following
            self._happen()
        return self

    def _decide(self) -> None:
        """Decides at ``now`` and carries out what is decided: upgrades begin, gates open, and the approvals given are
        used up."""
        before = self.run
        self._forget_obstacles()
        decided = self._decided()
        self._approvals, self._wake = [], decided.wake_at
        for action in decided.acts:
            if isinstance(action, Begin):
                self._begin(action.member, self.now)
                if self.noted:
                    self._note(_row(before, self._places[action.member]))
            elif isinstance(action, OpenGate):
                self._open(action.gate)

    def _decided(self) -> Decision[RunState, UpdateAct]:
        """The decision over the stage that is going on, and over the next one when that is done at once, which is
        entered then. Stages come strictly one after another, so the others change nothing; that one follows does."""
        acts: list[UpdateAct] = []
        while True:
            whole, last = self.run.stages[self._stage], self._stage + 1 == len(self.run.stages)
            stage = replace(whole, groups=tuple(map(GroupPart.small, self._parts, whole.groups)))
            some = replace(self.run, stages=(stage, *(() if last else (FOLLOWING,))))
            decided = decide(some, UpdateSeen(members=self.views, approvals=self._approvals), self.now)
            stage = decided.state.stages[0]
            groups = tuple(map(GroupPart.merged, self._parts, whole.groups, stage.groups))
            self._put(decided.state, replace(stage, groups=groups))
            acts += (each for each in decided.acts if each.stage != FOLLOWING.name)
            flying = self._in_flight + sum(isinstance(each, Begin) for each in acts)
            if last or flying or stage_look(stage, self.run).state not in DONE:
                return replace(decided, acts=tuple(acts))
            self._enter(self._stage + 1)

    def _put(self, run: RunState, stage: StageRow) -> None:
        """Takes over the run with ``stage`` in place of the one that is going on."""
        stages = (*self.run.stages[: self._stage], stage, *self.run.stages[self._stage + 1 :])
        self.run = replace(run, stages=stages)

    def _complete(self) -> None:
        """Writes into the stage that is going on what is known of its members that stood behind others."""
        stage = self.run.stages[self._stage]
        self._put(self.run, replace(stage, groups=tuple(map(GroupPart.whole, self._parts, stage.groups))))

    def _enter(self, stage: int) -> None:
        """Makes the stage at that index the one that is going on."""
        self._stage = stage
        self._parts = [part_of(group, self.views) for group in self.run.stages[stage].groups]

    def _begin(self, member: str, started: datetime) -> None:
        """Takes note of an upgrade in flight and when it is to end; one that takes longer than assumed, now."""
        self._in_flight += 1
        ends = max(self.now, shifted(started, self.plan.upgrade(member)))
        heapq.heappush(self._events, (ends, "", member))

    def _open(self, gate: GateRow) -> None:
        """Takes note of when a gate is to be approved, if a person ever does: one with a due time opens by itself. One
        that is approved already passes as soon as the run is carried on: now."""
        if gate.by:
            heapq.heappush(self._events, (self.now, gate.id, ""))
        elif self.plan.approval is not None and gate.due is None:
            approved = shifted(gate.opened or self.now, self.plan.approval(gate.id))
            heapq.heappush(self._events, (max(self.now, approved), gate.id, ""))

    def _next(self) -> datetime | None:
        """The next instant at which an upgrade ends, a gate is approved or the decider wants to look again."""
        found = [self._events[0][0]] if self._events else []
        found += [self._wake] if self._wake is not None else []
        return min(found, default=None)

    def _note_change(self) -> None:
        """Sets ``changes_at`` and ``changes_by`` to what is next; an approval does not count, as it is somebody's
        doing."""
        found = [(at, f"the upgrade of {member} should end") for at, gate, member in self._events if not gate]
        found += [(self._wake, "a window opens or closes, or a wait or time limit ends")] if self._wake else []
        self.changes_at, self.changes_by = min(found, default=(None, "nothing does, until somebody acts"))

    def _happen(self) -> None:
        """Lets everything happen that is due by now: approvals are given, upgrades complete."""
        ended = []
        while self._events and self._events[0][0] <= self.now:
            _at, gate, member = heapq.heappop(self._events)
            if gate:
                self._approvals.append(Approval(gate=gate, by="forecast", at=self.now))
            else:
                ended.append(self._places[member])
        self._in_flight -= len(ended)
        if ended:
            self.run = _completed(self.run, ended, self.now)
            for at, among, index in ended:
                if at == self._stage:
                    self._parts[among].follow(index, _row(self.run, (at, among, index)))

    def _forget_obstacles(self) -> None:
        """Takes those obstacles out of the views that are known to be gone by now."""
        for name in self._timed:
            view = self.views[name]
            left = tuple(each for each in view.obstacles if each.until is None or each.until > self.now)
            if len(left) < len(view.obstacles):
                self.views[name] = replace(view, obstacles=left)

    def _note(self, row: MemberRow) -> None:
        """Keeps reason and message of a member that was Pending."""
        if row.state == PENDING:
            self.held[row.name] = (row.reason, row.message)

    def _stand_still(self, following: datetime | None) -> None:
        """Adds the standstill from now to ``following``, and writes into the stage what is known of members that stood
        behind others; nothing for a run that has completed."""
        if self.run.completed is not None:
            return
        self._complete()
        status = derive(self.run)
        pairs = zip(self.run.stages, status.stages, strict=True)
        stage = next((stage.name for stage, one in pairs if one.state not in DONE), "")
        end = following if following is None or following <= self.plan.until else None
        self.standstills.append(Standstill(stage, status.message or f"the run is {status.state}", self.now, end))


def _completed(run: RunState, places: t.Iterable[Place], now: datetime) -> RunState:
    """The run with the members at these places Completed at ``now``."""
    by_group: dict[tuple[int, int], list[int]] = {}
    for at, among, index in places:
        by_group.setdefault((at, among), []).append(index)
    stages = list(run.stages)
    for (at, among), indexes in by_group.items():
        groups = list(stages[at].groups)
        members = list(groups[among].members)
        for index in indexes:
            members[index] = replace(members[index], state=COMPLETED, completed=now)
        groups[among] = replace(groups[among], members=tuple(members))
        stages[at] = replace(stages[at], groups=tuple(groups))
    return replace(run, stages=tuple(stages))


def _row(run: RunState, place: Place) -> MemberRow:
    """The row of the member at that place."""
    at, among, index = place
    return run.stages[at].groups[among].members[index]


def stage_gates(stage: StageRow) -> t.Iterator[GateRow]:
    """Gates before and after the stage, then those of its groups."""
    yield from (*stage.before_gates, *stage.after_gates)
    for group in stage.groups:
        yield from (*group.before_gates, *group.after_gates)
