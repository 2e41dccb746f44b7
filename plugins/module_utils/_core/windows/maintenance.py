# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Maintenance windows as instants: occurrences of a schedule, without what is cut out (AKS planned maintenance).

Results are intervals in UTC, in order, half open, none touching another. Where the clock is that of an IANA zone, an
occurrence whose start a clock change skips opens at the first instant after it, one whose start comes twice opens at
the first, and lengths are elapsed time.
"""

from __future__ import annotations

import typing as t
from bisect import bisect_right
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from ..objects.clusters.fleet_maintenance import DateSpan, MaintenanceConfiguration, MaintenanceWindow
from ..objects.updates.strategy import DAYS

# Zone data is read from the machine, like Unicode tables: the same name means the same clock wherever this runs.
from ..values.cron import load_zone
from .recurrence import days

Window = tuple[datetime, datetime]
"""Half open: the first instant belongs to it, the last does not."""
Windows = tuple[Window, ...]
DAY, HOUR, SECOND = timedelta(days=1), timedelta(hours=1), timedelta(seconds=1)
# Clocks are at most a day away from UTC, and an occurrence is at most a day long.
MARGIN = timedelta(days=3)
# A window that never opens in so long is taken for one that never does; the rarest recurs within a year.
HORIZONS = (timedelta(days=40), timedelta(days=400), timedelta(days=366 * 6))
LONG_AGO = date(1970, 1, 1)


def openings(window: MaintenanceWindow, start: datetime, end: datetime, created: date | None = None) -> Windows:
    """Every span in which it is open that begins before ``end`` and closes after ``start``; spans are not cut to those.

    ``created`` counts as the first day where there is no ``startDate``.
    """
    clock = clock_of(window.utc_offset, window.time_zone)
    anchor = date.fromisoformat(window.start_date) if window.start_date else created or LONG_AGO
    hour, minute = window.start_time.split(":")
    length = timedelta(hours=window.duration_hours)
    first, last = _day(start, -MARGIN), _day(end, MARGIN)
    found = []
    for day in days(window.schedule, anchor, first, last):
        opens = instant(day, time(int(hour), int(minute)), clock)
        if opens is not None and opens <= datetime.max.replace(tzinfo=UTC) - length:
            found.append((opens, opens + length))
    return _meeting(without(joined(found), spans(window.not_allowed_dates, clock)), start, end)


def configured(each: MaintenanceConfiguration, start: datetime, end: datetime, created: date | None = None) -> Windows:
    """The same for either form of a window."""
    if each.maintenance_window is not None:
        return openings(each.maintenance_window, start, end, created)
    return _in_week(each, start, end)


def next_opening(each: MaintenanceConfiguration, after: datetime, created: date | None = None) -> Window | None:
    """The span that is open at ``after``, else the next one; None if none comes."""
    for horizon in HORIZONS:
        found = configured(each, after, _shifted(after, horizon), created)
        if found:
            return found[0]
    return None


def clock_of(utc_offset: str, time_zone: str) -> tzinfo:
    """The clock that a window goes by. ValueError for a zone that there is not."""
    if time_zone:
        return load_zone(time_zone)
    if not utc_offset:
        return UTC
    sign = -1 if utc_offset.startswith("-") else 1
    hours, minutes = utc_offset[1:].split(":")
    return timezone(sign * timedelta(hours=int(hours), minutes=int(minutes)))


def instant(day: date, at: time, clock: tzinfo) -> datetime | None:
    """When the clock shows that time, in UTC; the first of two such instants, the end of the gap if there is none.

    None at the ends of the calendar.
    """
    local = datetime.combine(day, at, clock)
    try:
        found = local.astimezone(UTC)
    except OverflowError:
        return None
    if found.astimezone(clock).replace(tzinfo=None) == local.replace(tzinfo=None):
        return found
    return _end_of_gap(local, clock)


def spans(dates: t.Iterable[DateSpan], clock: tzinfo) -> Windows:
    """Whole local days, both ends included, as instants."""
    found = []
    for each in dates:
        begin = instant(date.fromisoformat(each.start), time(), clock)
        last = date.fromisoformat(each.end)
        until = instant(last + DAY, time(), clock) if last < date.max else None
        found.append((begin or datetime.min.replace(tzinfo=UTC), until or datetime.max.replace(tzinfo=UTC)))
    return joined(found)


def joined(windows: t.Iterable[Window]) -> Windows:
    """In order, with those that overlap or touch made one; empty and reversed ones are left out."""
    found: list[Window] = []
    for opens, closes in sorted(windows):
        if opens >= closes:
            continue
        if found and opens <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], closes))
        else:
            found.append((opens, closes))
    return tuple(found)


def without(windows: Windows, blocked: Windows) -> Windows:
    """What is left of the windows; both are in order and apart."""
    found: list[Window] = []
    for opens, closes in windows:
        at = bisect_right(blocked, opens, key=lambda each: each[1])
        for begin, end in blocked[at:]:
            if begin >= closes:
                break
            if begin > opens:
                found.append((opens, begin))
            opens = end
        if opens < closes:
            found.append((opens, closes))
    return tuple(found)


def _end_of_gap(local: datetime, clock: tzinfo) -> datetime:
    """The instant at which the clock was put forward over ``local``: offsets before and after it bound it."""
    naive = local.replace(tzinfo=UTC)
    before = local.replace(fold=0).utcoffset() or timedelta()
    after = local.replace(fold=1).utcoffset() or timedelta()
    low, high = naive - max(before, after), naive - min(before, after)
    while high - low > SECOND:
        middle = low + (high - low) // 2
        if middle.astimezone(clock).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high.replace(microsecond=0)


def _in_week(each: MaintenanceConfiguration, start: datetime, end: datetime) -> Windows:
    """The older form: hours of weekdays in UTC, without spans of instants."""
    slots = {DAYS.index(one.day): one.hour_slots for one in each.time_in_week}
    found = []
    day, last = _day(start, -DAY), _day(end, DAY)
    while day <= last and day < date.max:
        midnight = datetime.combine(day, time(), UTC)
        hours = slots.get(day.weekday(), ())
        found += [(midnight + hour * HOUR, midnight + (hour + 1) * HOUR) for hour in hours]
        day += DAY
    blocked = [(one.start, one.end) for one in each.not_allowed_time if one.start and one.end]
    return _meeting(without(joined(found), joined(blocked)), start, end)


def _meeting(windows: Windows, start: datetime, end: datetime) -> Windows:
    return tuple(each for each in windows if each[1] > start and each[0] < end)


def _day(at: datetime, shift: timedelta) -> date:
    return _shifted(at, shift).astimezone(UTC).date()


def _shifted(at: datetime, shift: timedelta) -> datetime:
    """Held within the calendar."""
    try:
        return at.astimezone(UTC) + shift
    except OverflowError:
        return (datetime.max if shift > timedelta() else datetime.min).replace(tzinfo=UTC)
