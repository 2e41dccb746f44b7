# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The forecast of an update run (when it is done, begins and ends of stages and members) and its calendar as tables,
what comes again in one row; whether people have gates to open yet, and instants as people read them."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from ..._core.forecast.appointments import FREEZE, OPEN, TAKEN, Appointment
from ..._core.forecast.durations import Duration
from ..._core.forecast.forecast import APPROVAL, BEFORE_IT, ITS_TURN, Forecast, PartForecast
from ..._core.objects.updates.run_status import UpdateGroupStatus, UpdateStageStatus
from ..._core.objects.updates.strategy import APPROVAL as BY_PEOPLE
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates.facts import DONE
from ..._core.values.instants import parse_time, write_local
from ..._core.values.listed import listed
from ..._core.values.update_states import FAILED
from ..text import folded, table

SHOWN = 40
NAMED = 5
SENTENCE = 400
UNUSUAL = (
    "below is that course which ends in the middle of all that were played; a single gate may wait much longer in it"
    " than half of all gates do"
)
_RHYTHMS = {timedelta(days=1): "daily", timedelta(days=7): "weekly"}
_INSTANT = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
Row = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class ForecastWords:
    """A forecast in words: ``answer`` says when the run is done, ``known`` how long upgrades take, and the next change.
    ``rows`` are run, stages and the first members of each, indented: begin and end in UTC by the course in the middle,
    and at the latest by when nine of ten courses have ended it. ``held`` are stages and members of these that wait for
    something else than their turn, and for what; ``fails`` members that fail without a start, and why; ``blocker`` is
    what the run as a whole waits for; ``ends_failed`` whether it will have failed at its end."""

    answer: str
    blocker: str = ""
    ends_failed: bool = False
    known: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    held: tuple[tuple[str, str], ...] = ()
    fails: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls, foreseen: Forecast, usual: Duration, runs_before: int, own: bool = False, gated: bool = False
    ) -> ForecastWords:
        """``usual`` is learned from ``runs_before`` other runs, and with ``own`` from this one's members; assumed
        without both. With ``gated`` (people have gates to open) the answer speaks of approvals. Of a run without
        members that alone is told, as the answer."""
        if not foreseen.members:
            return cls(answer=f"{foreseen.run.name} has no members, so that nothing is upgraded by it")
        earlier = [f"{runs_before} earlier run{'s' * (runs_before > 1)}"] if runs_before else []
        sources = [*earlier, *(["this one" if earlier else "this run"] if own else [])]
        learned = f"learned from {' and '.join(sources)}" if sources else "assumed, as no earlier run tells"
        at = f"{write_local(foreseen.changes_at, UTC)}: " if foreseen.changes_at else ""
        usually = (
            f"half of all upgrades take at most {_minutes(usual.p50)}, nine of ten {_minutes(usual.p90)}, {learned}"
        )
        single = [UNUSUAL] if gated and not foreseen.usual_gates else []
        rows, held = [_row(foreseen.run, foreseen.run.name)], []
        for stage in foreseen.stages:
            rows.append(_row(stage, f"  {stage.name}"))
            mine = [each for each in foreseen.members if each.stage == stage.name]
            rows += [_row(each, f"    {each.name}") for each in mine[:SHOWN]]
            if len(mine) > SHOWN:
                rows.append((f"    and {len(mine) - SHOWN} more", "", "", ""))
            held += [(each.name, with_weekdays(each.blocker)) for each in (stage, *mine[:SHOWN]) if _holds(each)]
        lost = [each for each in foreseen.members if each.state == FAILED and each.blocker]
        return cls(
            answer=_answer(foreseen, gated),
            blocker=with_weekdays(foreseen.run.blocker),
            ends_failed=foreseen.run.state == FAILED,
            known=(usually, *single, f"next change: {at}{with_weekdays(foreseen.changes_by)}"),
            rows=tuple(rows),
            held=tuple(held),
            fails=tuple((each.name, with_weekdays(each.blocker)) for each in lost[:SHOWN]),
        )


def forecast_text(words: ForecastWords, goal: t.Sequence[str] = ()) -> list[str]:
    """The answer, the lines of ``goal`` as they are, what is known, then the rows as a table, and last who is held, and
    who fails, if there are any; in lines that fit the terminal."""
    lines = [*folded(words.answer, most=SENTENCE), *goal, *(line for each in words.known for line in folded(each))]
    lines += table(("WHAT", "BEGINS, UTC", "ENDS", "AT THE LATEST"), words.rows, "") if words.rows else []
    lines += table(("WHO", "WAITS FOR"), words.held, "") if words.held else []
    return lines + (table(("WHO", "FAILS, FOR"), words.fails, "") if words.fails else [])


def has_gates_to_open(run: UpdateRun) -> bool:
    """Whether people have to open gates of the run, or of its groups, yet: those that nothing but people opens, not
    completed, skipped or approved. One that was refused counts. Of approvals since the run was conducted only a run
    ``with_answers`` tells."""
    stages = run.status.stages
    owners: list[UpdateStageStatus | UpdateGroupStatus] = [*stages, *(each for one in stages for each in one.groups)]
    gates = [gate for each in owners for gate in (*each.before_gates, *each.after_gates)]
    return any(gate.type == BY_PEOPLE and gate.status.state not in DONE and not gate.by for gate in gates)


def calendar_text(found: t.Sequence[Appointment]) -> list[str]:
    """The ``calendar_rows`` as a table; a sentence where there is none."""
    rows = calendar_rows(found)
    return table(("FROM, UTC", "UNTIL", "WHAT", "WHO, AND WHY"), rows, "") if rows else ["nothing is in the calendar"]


def calendar_rows(found: t.Sequence[Appointment]) -> list[Row]:
    """From and until in UTC (``never`` without an end), kind, and who (the first ``NAMED`` members) with what, of each
    entry in the order given. Windows, freezes of the same name, or what they close, of the same members and of the same
    length are one row, where the first of them is."""
    alike: dict[t.Any, list[Appointment]] = {}
    for place, each in enumerate(found):
        length = each.end - each.start if each.end and each.kind in (OPEN, FREEZE, TAKEN) else place
        alike.setdefault((each.kind, each.what, each.members, length), []).append(each)
    return [
        (
            _minute(each.start),
            _minute(each.end, each.start),
            each.kind,
            _told(each) + _again([each.start, *(one.start for one in more)]),
        )
        for each, *more in alike.values()
    ]


def with_weekdays(text: str) -> str:
    """The text with each instant such as ``2026-11-28T21:00:00Z`` (UTC, to the second) as ``Sat 2026-11-28 21:00 UTC``;
    other forms stay."""
    return _INSTANT.sub(lambda found: _as_read(found.group()), text)


def _as_read(text: str) -> str:
    """The instant as people read it; what only looks like one, in words of others, stays as it is."""
    try:
        return write_local(parse_time(text), UTC)
    except ValueError:
        return text


def _answer(foreseen: Forecast, gated: bool) -> str:
    """``r will be done Sat 2026-12-05 21:18 UTC, at the latest 21:54, if no upgrade fails``, with ``gated`` also how
    soon gates are usually approved, or that it will fail; and the members that have failed by then. Or that it does not
    end by itself, and what is in its way if that is known."""
    run = foreseen.run
    if run.expected.end is None:
        return f"{run.name} does not end by itself" + (f": {with_weekdays(run.blocker)}" if run.blocker else "")
    latest = f"at the latest {_minute(run.end.p90, run.expected.end)}" if run.end.p90 else "in bad courses never"
    failed = [each.name for each in foreseen.members if each.state == FAILED]
    conditions = [f"no {'other ' if failed else ''}upgrade fails"]
    if gated:
        usual, late = _hours(APPROVAL.p50), _hours(APPROVAL.p90)
        conditions.append(f"half of its gates are approved within {usual}, nine of ten within {late}")
    ends = "fail" if run.state == FAILED else "be done"
    told = f"{run.name} will {ends} {write_local(run.expected.end, UTC)}, {latest}, if {' and '.join(conditions)}"
    return told + (f"; failed by then: {listed(failed, NAMED)}" if failed else "")


def _row(each: PartForecast, name: str) -> Row:
    """The cells ``name``, begin, end and end at the latest, as of ``_minute``. The latest is not before the expected
    end, and the day stands only where it is another than in the cell before."""
    start, end = each.expected.start, each.expected.end
    latest = each.end.p90 and max(each.end.p90, end or each.end.p90)
    return name, _minute(start), _minute(end, start), _minute(latest, end or start)


def _holds(each: PartForecast) -> bool:
    """Whether it waits for something else than its turn or an earlier stage; not what fails."""
    return bool(each.blocker) and each.reason not in (BEFORE_IT, ITS_TURN) and each.state != FAILED


def _minute(at: datetime | None, other: datetime | None = None) -> str:
    """``Sat 2026-11-28 21:00`` in UTC; the time alone on the day of the ``other`` instant, which stands before it.
    ``never`` for None."""
    if at is None:
        return "never"
    same_day = other is not None and at.astimezone(UTC).date() == other.astimezone(UTC).date()
    told = write_local(at, UTC).removesuffix(" UTC")
    return told.rpartition(" ")[2] if same_day else told


def _hours(length: timedelta) -> str:
    """``1.5 h``, without zeros at the end."""
    return f"{length.total_seconds() / 3600:g} h"


def _told(each: Appointment) -> str:
    """What the entry is, behind its first ``NAMED`` members and how many more there are, if it has any."""
    named, what = listed(each.members, NAMED), with_weekdays(each.what)
    return f"{named}: {what}" if named else what


def _again(starts: t.Sequence[datetime]) -> str:
    """What is to be told of an entry that comes at these instants, at least one: in which rhythm or how often it comes
    again, and when for the last time; empty for a single one."""
    if len(starts) == 1:
        return ""
    last = write_local(starts[-1], UTC).removesuffix(" UTC")
    steps = {later - sooner for sooner, later in pairwise(starts)}
    rhythm = _RHYTHMS.get(steps.pop()) if len(steps) == 1 and len(starts) > 2 else None
    if rhythm:
        return f"; {rhythm} until {last}"
    return f"; again {last}" if len(starts) == 2 else f"; {len(starts) - 1} times more, last {last}"


def _minutes(length: timedelta) -> str:
    """``119 s``, rounded; from two minutes on the whole minutes in that: ``12 min``."""
    seconds = round(length.total_seconds())
    return f"{seconds // 60} min" if seconds >= 120 else f"{seconds} s"
