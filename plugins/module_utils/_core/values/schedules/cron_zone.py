# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The next hit of a cron schedule by a zone's clocks, as robfig/cron v3 finds it where the text names a zone.

A time in the skipped hour does not come that day, one in the repeated hour comes twice, and an odd shift (half an hour,
or no midnight) can cost a hit. Windows of our own do not work this way.
"""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

MONTH, DAY, HOUR, MINUTE, SECOND = range(5)
_REAL_TIME = {HOUR: timedelta(hours=1), MINUTE: timedelta(minutes=1), SECOND: timedelta(seconds=1)}
_TO_FLOOR: dict[int, dict[str, int]] = {
    MONTH: {"day": 1, "hour": 0, "minute": 0, "second": 0},
    DAY: {"hour": 0, "minute": 0, "second": 0},
    HOUR: {"minute": 0, "second": 0},
}


def next_by_clock(
    matches: t.Callable[[int, datetime], bool], after: datetime, zone: ZoneInfo, horizon_years: int
) -> datetime | None:
    """The first hit strictly after an aware instant, in UTC; None if none comes by the end of the year
    ``horizon_years`` after it by the zone's clock, or of the calendar.

    ``matches`` tells of a unit, MONTH to SECOND, whether a clock time of the zone fits in it.
    """
    try:
        return _found(matches, after, zone, horizon_years)
    except OverflowError:
        return None


def _found(
    matches: t.Callable[[int, datetime], bool], after: datetime, zone: ZoneInfo, horizon_years: int
) -> datetime | None:
    """As ``next_by_clock``, but OverflowError where the clock leaves the calendar."""
    now = _later(after.replace(microsecond=0), timedelta(seconds=1), zone)
    last_year, unit, floored = now.year + horizon_years, MONTH, False
    while unit <= SECOND:
        if unit == MONTH and now.year > last_year:
            return None
        if matches(unit, now):
            unit += 1
            continue
        now = _advance(now if floored else _floor(now, unit, zone), unit, zone)
        floored = True
        if _begins_anew(unit, now):
            unit = MONTH
    return now.astimezone(UTC)


def _begins_anew(unit: int, now: datetime) -> bool:
    """Whether what is smaller than the unit above has just wrapped around: for MONTH January, for DAY the first, for
    HOUR, MINUTE and SECOND 0."""
    return (now.month == 1, now.day == 1, now.hour == 0, now.minute == 0, now.second == 0)[unit]


def _floor(now: datetime, unit: int, zone: ZoneInfo) -> datetime:
    """The start of the month, day, hour or minute that the clock time is in; the time itself for SECOND. OverflowError
    outside the years 1 to 9999."""
    if unit in _TO_FLOOR:
        return _at(now.replace(tzinfo=None, fold=0, **_TO_FLOOR[unit]), zone)
    return now.replace(second=0) if unit == MINUTE else now


def _advance(now: datetime, unit: int, zone: ZoneInfo) -> datetime:
    """The clock time one ``unit`` later: months and days by the calendar, smaller units in real time. A day begins at
    the full hour nearest to midnight where a clock change leaves none. OverflowError outside the years 1 to 9999."""
    clock = now.replace(tzinfo=None, fold=0)
    if unit == MONTH:
        first = (clock.replace(day=1) + timedelta(days=31)).replace(day=1)
        return _at(first + timedelta(days=now.day - 1), zone)
    if unit == DAY:
        later = _at(clock + timedelta(days=1), zone)
        # Where a clock change leaves no midnight, the day begins at the nearest full hour.
        return _later(later, timedelta(hours=24 - later.hour if later.hour > 12 else -later.hour), zone)
    return _later(now, _REAL_TIME[unit], zone)


def _at(clock: datetime, zone: ZoneInfo) -> datetime:
    """The instant that Go's ``time.Date`` gives to a naive clock time, in gaps and repeated hours too. OverflowError
    outside the years 1 to 9999."""
    guess = clock - _offset(clock, zone)
    return (clock - _offset(guess, zone)).replace(tzinfo=UTC).astimezone(zone)


def _offset(utc: datetime, zone: ZoneInfo) -> timedelta:
    """What the zone's clock is ahead of UTC at a naive instant in UTC. OverflowError outside the years 1 to 9999."""
    return utc.replace(tzinfo=UTC).astimezone(zone).utcoffset() or timedelta()


def _later(now: datetime, delta: timedelta, zone: ZoneInfo) -> datetime:
    """The instant so much real time later, in the zone, which adding to a zoned datetime is not. OverflowError outside
    the years 1 to 9999."""
    return (now.astimezone(UTC) + delta).astimezone(zone)
