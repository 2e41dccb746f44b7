# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When an update run will begin and end, stage by stage and member by member (``expected``, ``p50``, ``p90``), what it
will wait for (``waits``, ``blocker``, ``next_change``), and how soon people are assumed to open gates: the decider on a
virtual clock (``samples``, ``horizon``).

It is played several times with lengths drawn from their spread; that course which ends in the middle of all tells what
is expected when, and what is waited for. Upgrades are expected to succeed. The same input and seed give the same
forecast.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ..updates.commands import start
from ..updates.facts import DONE
from ..updates.run import (
    GroupRow,
    MemberRow,
    Members,
    RunState,
    StageRow,
    with_members_changed,
)
from ..updates.status import derive
from ..values.instants import write_time
from ..values.update_states import FAILED, NEW, NOT_STARTED, PENDING
from ..windows.spans import Spans
from .course import Course, Plan, Standstill, stage_gates
from .durations import (
    Duration,
    Durations,
    EvenShares,
    quantile,
    rounded,
)

BEFORE_IT = "EarlierStage"
ITS_TURN = "Turn"
APPROVAL = Duration(timedelta(hours=1), timedelta(hours=8))
SAMPLES = 7
# Lengths are multiples of this part of the usual one: many ends come together then, and decisions are few.
GRAIN = 10
SECOND = timedelta(seconds=1)
HORIZON = timedelta(days=366)


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """``approvals``: how long after its opening a person opens a gate; None: never. ``samples`` is how often the run is
    played, at least once; ``horizon`` how far; with the same ``seed`` lengths are drawn in the same way."""

    durations: Durations = Durations()
    approvals: Duration | None = APPROVAL
    samples: int = SAMPLES
    seed: int = 0
    horizon: timedelta = HORIZON


@dataclass(frozen=True)
class Percentiles:
    """Half of all courses are there by ``p50``, nine of ten by ``p90``; None: never within the horizon."""

    p50: datetime | None = None
    p90: datetime | None = None

    def as_dict(self) -> dict[str, str | None]:
        """``p50`` and ``p90`` in RFC 3339, None for never within the horizon."""
        return {name: write_time(at) if at else None for name, at in (("p50", self.p50), ("p90", self.p90))}


@dataclass(frozen=True)
class Expected:
    """When it begins and ends in the course in the middle; None: never within the horizon."""

    start: datetime | None = None
    end: datetime | None = None

    def as_dict(self) -> dict[str, str | None]:
        """``start`` and ``end`` in RFC 3339, None for never within the horizon."""
        return {name: write_time(at) if at else None for name, at in (("start", self.start), ("end", self.end))}


@dataclass(frozen=True, kw_only=True)
class PartForecast:
    """A member, a stage or the run. ``expected`` and ``state``, the one at the end, are of the course in the middle, so
    that they and the waits fit each other; ``start`` and ``end`` are of all courses. ``reason``, a code, and
    ``blocker``, in words, say what a member waits for before it starts, or why it fails without a start; of a stage and
    the run ``reason`` is empty, and ``blocker`` the message of their first wait without an end, else of the longest."""

    name: str
    state: str
    start: Percentiles
    end: Percentiles
    expected: Expected = Expected()
    reason: str = ""
    blocker: str = ""

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields; instants in RFC 3339, or None."""
        return {
            "name": self.name,
            "state": self.state,
            "start": self.start.as_dict(),
            "end": self.end.as_dict(),
            "expected": self.expected.as_dict(),
            "reason": self.reason,
            "blocker": self.blocker,
        }


@dataclass(frozen=True, kw_only=True)
class MemberForecast(PartForecast):
    """A member, with its place in the run."""

    stage: str
    group: str

    def as_dict(self) -> dict[str, t.Any]:
        """As that of ``PartForecast``, with ``stage`` and ``group``."""
        return {**super().as_dict(), "stage": self.stage, "group": self.group}


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """``waits`` are all spans in which nothing is in flight, in the course in the middle; ``stages`` and ``members``
    are in the order of the run. ``usual_gates``: in that course people open gates after the p50 of ``approvals``; also
    where no gate waits for people, or they open none. ``changes_at`` is the next instant at which anything changes by
    itself, None for never, as for a run that nobody has started; ``changes_by`` says what does."""

    run: PartForecast
    stages: tuple[PartForecast, ...]
    members: tuple[MemberForecast, ...]
    waits: tuple[Standstill, ...]
    changes_at: datetime | None = None
    changes_by: str = ""
    usual_gates: bool = True

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: ``next_change`` (``at``, ``by``), ``run``, ``stages``, ``members`` and ``waits``
        (``stage``, ``message``, ``start``, ``end``); instants in RFC 3339, or None."""
        return {
            "next_change": {"at": write_time(self.changes_at) if self.changes_at else None, "by": self.changes_by},
            "run": self.run.as_dict(),
            "stages": [each.as_dict() for each in self.stages],
            "members": [each.as_dict() for each in self.members],
            "waits": [
                {
                    "stage": each.stage,
                    "message": each.message,
                    "start": write_time(each.start),
                    "end": write_time(each.end) if each.end else None,
                }
                for each in self.waits
            ],
        }


def forecast(run: RunState, members: Members, now: datetime, assumed: Assumptions = Assumptions()) -> Forecast:
    """How the update run will go from ``now``, an aware instant, on. One that was never started is taken to be started
    now; one that is Stopped or Failed stays so. Windows of ``members`` must reach as far as the forecast is to."""
    begun, views = _afresh(start(run, now) if run.phase == NEW else run), _shared(members)
    shares = EvenShares(assumed.seed, max(1, assumed.samples))
    ends = [_played(begun, views, now, assumed, _Draw(shares, sample)).run for sample in range(shares.samples)]
    at = _middle(ends)
    middle, usual = _told(begun, views, now, assumed, _Draw(shares, at), ends[at].completed)
    return Forecast(
        run=_run(run, middle, ends),
        stages=tuple(_stages(run, middle, ends)),
        members=tuple(_members(middle, ends)),
        waits=tuple(middle.standstills),
        changes_at=middle.changes_at if run.phase != NEW else None,
        changes_by=middle.changes_by if run.phase != NEW else "somebody starts it",
        usual_gates=usual,
    )


def _afresh(run: RunState) -> RunState:
    """The run with members that are to be tried again without the start that their last attempt had."""

    def fresh(row: MemberRow) -> MemberRow:
        """The row as if it had never begun, if it is not begun now."""
        return replace(row, started=None) if row.state in (NOT_STARTED, PENDING) and row.started else row

    return replace(run, stages=tuple(with_members_changed(stage, fresh) for stage in run.stages))


def _told(
    run: RunState, members: Members, now: datetime, assumed: Assumptions, drawn: _Draw, end: datetime | None
) -> tuple[Course, bool]:
    """The course of that sample, which ends at ``end``, with what members waited for, and whether people open its gates
    after the p50 of ``approvals``: if the run ends just then all the same, because it waits for windows, say, that is
    how it is told. True also where no gate waits for people, or they open none."""
    approvals = assumed.approvals if any(map(_for_people, run.stages)) else None
    if approvals:
        usual = replace(assumed, approvals=Duration(approvals.p50, approvals.p50))
        course = _played(run, members, now, usual, drawn, noted=True)
        if course.run.completed == end:
            return course, True
    return _played(run, members, now, assumed, drawn, noted=True), approvals is None


def _for_people(stage: StageRow) -> bool:
    """Whether the stage has gates that are not open yet, and that a person opens."""
    return any(each.state not in DONE and not each.schedule and not each.by for each in stage_gates(stage))


def _middle(ends: t.Sequence[RunState]) -> int:
    """The index of the sample by whose end half of all have ended; those that do not end come last."""

    def end(sample: int) -> tuple[bool, datetime]:
        """What samples are ordered by: those that end, by when; then those that do not."""
        completed = ends[sample].completed
        return completed is None, completed or datetime.max.replace(tzinfo=UTC)

    found: int = quantile(sorted(range(len(ends)), key=end), 0.5)
    return found


def _shared(members: Members) -> Members:
    """The same members with one object for windows that are equal, which are told from one another by that."""
    objects: dict[int, Spans] = {}
    equal: dict[Spans, Spans] = {}
    found = {}
    for name, view in members.items():
        if view.windows is not None and id(view.windows) not in objects:
            objects[id(view.windows)] = equal.setdefault(view.windows, view.windows)
        same = None if view.windows is None else objects[id(view.windows)]
        found[name] = view if same is view.windows else replace(view, windows=same)
    return found


@dataclass(frozen=True)
class _Draw:
    """One sample: how long what takes in it."""

    shares: EvenShares
    sample: int

    def __call__(self, duration: Duration, name: str) -> timedelta:
        """How long what has this name takes in this sample."""
        return duration.at(self.shares.share_of(self.sample, name))


def _played(
    run: RunState, members: Members, now: datetime, assumed: Assumptions, drawn: _Draw, noted: bool = False
) -> Course:
    """The course of the run with lengths of this sample, those of upgrades in tenths of the usual one, played to its
    end."""
    approvals, step = assumed.approvals, max(assumed.durations.others.p50 / GRAIN, SECOND)
    plan = Plan(
        upgrade=lambda member: rounded(drawn(assumed.durations.duration_of(member), member), step),
        approval=None if approvals is None else lambda gate: rounded(drawn(approvals, gate), SECOND),
        until=now + assumed.horizon,
    )
    return Course(run=run, views=dict(members), now=now, plan=plan, noted=noted).play()


def _run(before: RunState, middle: Course, ends: t.Sequence[RunState]) -> PartForecast:
    """The forecast of the run as a whole, under the name that it had ``before``."""
    status = derive(middle.run)
    return PartForecast(
        name=before.name,
        state=status.state,
        start=_spread([each.started for each in ends]),
        end=_spread([each.completed for each in ends]),
        expected=Expected(middle.run.started, middle.run.completed),
        blocker=_longest(middle.standstills),
    )


def _stages(before: RunState, middle: Course, ends: t.Sequence[RunState]) -> t.Iterator[PartForecast]:
    """The forecast of each stage, in order; one that has begun ``before`` began then, and one has ended only if it is
    done."""
    status = derive(middle.run)
    played = zip(*(derive(each).stages for each in ends), strict=True)
    begun = (each.started for each in derive(before).stages)
    for stage, one, others, began in zip(middle.run.stages, status.stages, played, begun, strict=True):
        yield PartForecast(
            name=stage.name,
            state=one.state,
            start=_spread([began or each.started for each in others]),
            end=_spread([each.completed if each.state in DONE else None for each in others]),
            expected=Expected(began or one.started, one.completed if one.state in DONE else None),
            blocker=_longest([each for each in middle.standstills if each.stage == stage.name]),
        )


def _members(middle: Course, ends: t.Sequence[RunState]) -> t.Iterator[MemberForecast]:
    """The forecast of each member, in the order of the run."""
    places = [(stage, group) for stage in middle.run.stages for group in stage.groups for _row in group.members]
    firsts = {id(stage): _first_begin(stage) for stage in middle.run.stages}
    for (stage, group), *rows in zip(places, middle.run.members, *(each.members for each in ends), strict=True):
        row, *played = rows
        reason, blocker = _held(row, stage, group, middle, firsts[id(stage)])
        yield MemberForecast(
            name=row.name,
            stage=stage.name,
            group=group.name,
            state=row.state,
            start=_spread([each.started for each in played]),
            end=_spread([each.completed for each in played]),
            expected=Expected(row.started, row.completed),
            reason=reason,
            blocker=blocker,
        )


def _first_begin(stage: StageRow) -> datetime | None:
    """When the first member of the stage begins; None if none does."""
    return min((row.started for group in stage.groups for row in group.members if row.started), default=None)


def _held(row: MemberRow, stage: StageRow, group: GroupRow, middle: Course, first: datetime | None) -> tuple[str, str]:
    """Reason and message of what the member waits for before it starts: what it was Pending for last, else its turn,
    else earlier stages; of one that fails without a start those of its failure. ``first`` is when the first of its
    stage begins."""
    if row.state == FAILED and row.started is None:
        return row.reason, row.message
    if row.name in middle.held:
        return middle.held[row.name]
    if row.state == PENDING:
        return row.reason, row.message
    if row.state == NOT_STARTED:
        last = middle.standstills[-1].message if middle.standstills else ""
        return BEFORE_IT if not stage.reached else ITS_TURN, last
    if row.started is None or first is None:
        return "", ""
    if row.started > first:
        return ITS_TURN, f"waits for its turn in group {group.name}"
    ahead = middle.run.stages.index(stage)
    return (BEFORE_IT, f"begins after stage {middle.run.stages[ahead - 1].name}") if ahead else ("", "")


def _spread(found: list[datetime | None]) -> Percentiles:
    """When half and nine of ten of these courses are there; those that do not get there (None) come last."""
    there = sorted(each for each in found if each is not None)
    ordered: list[datetime | None] = [*there, *([None] * (len(found) - len(there)))]
    return Percentiles(quantile(ordered, 0.5), quantile(ordered, 0.9))


def _longest(waits: t.Sequence[Standstill]) -> str:
    """The message of the first wait that does not end, else of the longest; empty for none."""
    endless = [each for each in waits if each.end is None]
    if endless:
        return endless[0].message
    return max(waits, key=lambda each: (each.end or each.start) - each.start).message if waits else ""
