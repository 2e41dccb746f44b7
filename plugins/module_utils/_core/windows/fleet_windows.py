# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Windows of our own, which no Karpenter budget knows (with ``timeZone``, for the ``nth`` weekday, with dated freezes):
read from a document (``invalid-schedule``, ``invalid-duration``, ``unknown-time-zone``), told in a line of text, and
when they are open, why, and until when.

Here a window permits, and what is outside all windows is closed; without any window only freezes close. A window opens
when its clock shows the start, as ``clocks.py`` has it; durations are elapsed time.
"""

from __future__ import annotations

import typing as t
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from ..errors import FleetError, Problem
from ..values.duration import as_timedelta, duration_text, parse_duration
from ..values.schedules.cron import CronSchedule, load_zone, parse_utc
from .clocks import LAST, local_to_instant, shifted
from .spans import Spans, clipped, joined, meeting, without
from .week import DAY, MINUTE

FIRST_TO_FIFTH_OR_LAST = (1, 2, 3, 4, 5, -1)
# How far the next change is looked for: first nearby, because a year of some windows is long to write down.
SOON, AHEAD = timedelta(days=9), timedelta(days=366)
# Clocks are at most a day away from UTC, and a change skips at most a day.
TWO_DAYS = timedelta(days=2)


@dataclass(frozen=True)
class OurWindow:
    """``schedule`` is read by the clocks of ``zone``; ``written`` is its text.

    ``nth`` keeps of its days only the first, second ... or last (-1) of their weekday in the month; empty keeps all.
    """

    schedule: CronSchedule
    duration: timedelta
    zone: ZoneInfo
    nth: tuple[int, ...]
    written: str

    @property
    def text(self) -> str:
        """Schedule, zone and duration in one line, ``nth`` left out."""
        return f"{self.written} {self.zone.key} for {duration_text(self.duration // MINUTE)}"

    def spans(self, start: datetime, end: datetime) -> Spans:
        """The spans in which the window is open and that meet [start, end), two aware instants, in order and apart, in
        aware UTC. Each is whole, unless occurrences join on and on: then it holds those near [start, end) only."""
        first, last = shifted(start, -self.duration - TWO_DAYS), shifted(end, TWO_DAYS)
        days = self.schedule.each_day(first, last)
        hits = (day + timedelta(minutes=each) for day in days if self._keeps(day) for each in self.schedule.times)
        opened = (each for each in (local_to_instant(hit, self.zone) for hit in hits) if each is not None)
        latest = LAST - self.duration
        found = joined((each, each + self.duration if each <= latest else LAST) for each in opened)
        return tuple(meeting(found, start, end))

    def _keeps(self, day: datetime) -> bool:
        """Whether the day is, in its month, one of those of its weekday that ``nth`` keeps; always if that is empty."""
        last = day.day + 7 > monthrange(day.year, day.month)[1]
        return not self.nth or (day.day + 6) // 7 in self.nth or (last and -1 in self.nth)


@dataclass(frozen=True)
class FrozenSpan:
    """A freeze, in which no window is open: aware instants, the end not in it. One that ends no later than it begins
    closes nothing."""

    name: str
    start: datetime
    end: datetime


@dataclass(frozen=True)
class WindowAnswer:
    """Whether it is open (work is permitted), why, and when that changes next (``until``), an aware instant; None if
    not within a year or so."""

    open: bool
    why: str
    until: datetime | None


def read_window(document: t.Any, path: str = "window") -> OurWindow:
    """A window of ``schedule`` (cron that fires at all, no ``@every``), ``duration`` (whole minutes, up to 366 days)
    and, if wanted, ``timeZone`` (else UTC) and ``nth``; null is refused for any of them. FleetError with all problems:
    ``wrong-type``, ``unknown-field``, ``invalid-schedule``, ``invalid-duration``, ``unknown-time-zone``,
    ``not-one-of``."""
    if not isinstance(document, Mapping):
        raise FleetError("wrong-type", f"an object is wanted, not {document!r:.60}", path)
    problems = [
        Problem("unknown-field", f"there is no field {key!r} here", f"{path}.{key}")
        for key in document
        if key not in ("schedule", "duration", "timeZone", "nth")
    ]
    schedule = _read(problems, f"{path}.schedule", "invalid-schedule", lambda: _schedule(document.get("schedule")))
    duration = _read(problems, f"{path}.duration", "invalid-duration", lambda: _duration(document.get("duration")))
    zone = _read(problems, f"{path}.timeZone", "unknown-time-zone", lambda: _zone(document.get("timeZone", "UTC")))
    nth = _read(problems, f"{path}.nth", "not-one-of", lambda: _nth(document.get("nth", ())))
    if problems:
        raise FleetError.of(problems)
    return OurWindow(schedule, duration, zone, nth, document["schedule"])


def open_spans(
    windows: t.Sequence[OurWindow], freezes: t.Sequence[FrozenSpan], start: datetime, end: datetime
) -> Spans:
    """When work is permitted in [start, end): inside any of the windows, or always without one, and in no freeze. Aware
    instants in UTC, cut to it, in order and apart. ``start`` must be before ``end``."""
    every = joined(span for each in windows for span in each.spans(start, end)) if windows else ((start, end),)
    found = clipped(without(every, joined((each.start, each.end) for each in freezes)), start, end)
    return tuple((begin.astimezone(UTC), until.astimezone(UTC)) for begin, until in found)


def within_windows(windows: t.Sequence[OurWindow], freezes: t.Sequence[FrozenSpan], now: datetime) -> WindowAnswer:
    """Whether work is permitted at an aware instant, why, and until when, None if that does not end within 366 days;
    without windows it is, but for freezes. A freeze is told rather than a closed window, and of several open windows or
    freezes the first that was given."""
    for ahead in (SOON, AHEAD):
        end = shifted(now, ahead)
        spans = open_spans(windows, freezes, now, end)
        opened = bool(spans) and spans[0][0] <= now
        if spans and (not opened or spans[0][1] < end):
            break
    if opened:
        text = next((f"in the window {each.text}" for each in windows if _inside(each, now)), "there are no windows")
        return WindowAnswer(True, text, spans[0][1] if spans[0][1] < end else None)
    frozen = next((each for each in freezes if each.start <= now < each.end), None)
    why = f"in the freeze {frozen.name}" if frozen else "outside all windows"
    return WindowAnswer(False, why, spans[0][0] if spans else None)


def _inside(window: OurWindow, now: datetime) -> bool:
    """Whether this window alone is open at ``now``, freezes not looked at."""
    return any(begin <= now < until for begin, until in window.spans(now, shifted(now, MINUTE)))


def _read(problems: list[Problem], path: str, code: str, read: t.Callable[[], t.Any]) -> t.Any:
    """What ``read`` gives; where it raises ValueError, None, and a Problem is added to ``problems``."""
    try:
        return read()
    except ValueError as error:
        problems.append(Problem(code, str(error), path))
        return None


def _schedule(value: t.Any) -> CronSchedule:
    """The cron schedule, no ``@every``; ValueError for others, and for one that never comes."""
    parsed = parse_utc(value) if isinstance(value, str) else None
    if not isinstance(parsed, CronSchedule):
        raise ValueError(f"{value!r:.60} is not a schedule of five cron fields, or @daily, @weekly, @monthly")
    if parsed.next_utc(datetime(2000, 1, 1)) is None:
        raise ValueError(f"{value!r:.60} never comes")
    return parsed


def _duration(value: t.Any) -> timedelta:
    """The length of a text; ValueError unless it is of whole minutes, from one minute to 366 days."""
    length = as_timedelta(parse_duration(value)) if isinstance(value, str) else timedelta()
    if length < MINUTE or length > timedelta(minutes=366 * DAY) or length % MINUTE:
        raise ValueError(f"{value!r:.60} is not a duration of whole minutes up to a year, such as 4h or 1h30m")
    return length


def _zone(value: t.Any) -> ZoneInfo:
    """The IANA time zone of that name; ValueError if there is none."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60} is not the name of a time zone, such as Europe/Berlin")
    return load_zone(value)


def _nth(value: t.Any) -> tuple[int, ...]:
    """The numbers 1 to 5 and -1 of a list, as they stand; ValueError for anything else."""
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(each, int) and each is not True and each in FIRST_TO_FIFTH_OR_LAST for each in value
    ):
        raise ValueError(f"{value!r:.60} is not a list of 1 to 5, or -1 for the last")
    return tuple(value)
