# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Local clock times as instants: the one rule for times that a clock change (daylight saving) skips or repeats, the
next change and the offset of a zone, instants shifted within the calendar.

A time in the skipped hour is the first instant after it, one in the repeated hour is the first of the two, once. What
lasts from there lasts in elapsed time. Karpenter's own schedules do not work this way
(``values/schedules/cron_zone.py``).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def local_to_instant(clock: datetime, zone: tzinfo) -> datetime | None:
    """The instant in UTC at which the clocks of a zone show a naive time: the first one after a time that they skip,
    the first of two for a time that they repeat. None at the ends of the calendar."""
    before, after = (clock.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta() for fold in (0, 1))
    try:
        early, late = (clock - after).replace(tzinfo=UTC), (clock - before).replace(tzinfo=UTC)
    except OverflowError:
        return None
    return late if early >= late else _change_between(zone, early, late)


def next_clock_change(zone: tzinfo, now: datetime, ahead: timedelta) -> datetime | None:
    """The first instant after an aware one at which a zone's distance from UTC is another, in UTC and to the second;
    None if not within ``ahead``. Two changes within a day may cancel each other, unseen."""
    at, end = (each.replace(microsecond=0) for each in (now.astimezone(UTC), shifted(now, ahead)))
    while at < end:
        later = min(shifted(at, DAY), end)
        if offset(zone, later) != offset(zone, at):
            return _change_between(zone, at, later)
        at = later
    return None


def offset(zone: tzinfo, now: datetime) -> timedelta:
    """How far the clocks of a zone are ahead of UTC at an aware instant; zero at the ends of the calendar."""
    try:
        return now.astimezone(zone).utcoffset() or timedelta()
    except OverflowError:
        return timedelta()


def shifted(now: datetime, by: timedelta) -> datetime:
    """The instant that is ``by`` later than an aware one (earlier, if negative), in UTC, held within the years 1 to
    9999."""
    try:
        return now.astimezone(UTC) + by
    except OverflowError:
        return LAST if by > timedelta() else FIRST


def _change_between(zone: tzinfo, early: datetime, late: datetime) -> datetime:
    """The first instant, to the second, with another offset than ``early`` has; ``late`` has one."""
    before = offset(zone, early)
    while late - early > SECOND:
        middle = early + timedelta(seconds=(late - early) // timedelta(seconds=2))
        early, late = (middle, late) if offset(zone, middle) == before else (early, middle)
    return late
