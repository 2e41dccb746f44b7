# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Maintenance windows (AKS planned maintenance) as spans of instants in UTC: occurrences of a schedule by a window's
clock (``utcOffset`` or time zone), without the local days that are cut out (``notAllowedDates``), or ``timeInWeek``
without ``notAllowedTime``.

An occurrence opens when its clock shows its start, as ``clocks.py`` has it, and lasts in elapsed time.
"""

from __future__ import annotations

import typing as t
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from ..objects.clusters.fleet_maintenance import DateSpan, MaintenanceConfiguration, MaintenanceWindow
from ..objects.updates.strategy import DAYS

# Zone data is read from the machine, like Unicode tables: the same name means the same clock wherever this runs.
from ..values.schedules.cron import load_zone
from .clocks import DAY, FIRST, LAST, local_to_instant, shifted
from .recurrence import schedule_days
from .spans import Spans, joined, meeting, without

HOUR = timedelta(hours=1)
# Clocks are at most a day away from UTC, and an occurrence is at most a day long.
MARGIN = timedelta(days=3)
# A window that never opens in so long is taken for one that never does; the rarest recurs within a year.
LONG_AGO = date(1970, 1, 1)


def openings(window: MaintenanceWindow, start: datetime, end: datetime, created: date | None = None) -> Spans:
    """The spans in which the window is open that begin before ``end`` and close after ``start``, in order and in UTC,
    without its ``notAllowedDates``. Each is whole, unless occurrences join on and on: then it holds those near the two
    instants only. Where there is no ``startDate``, ``created`` counts as the first day, else 1970. The window is one
    that the rules for manifests accept; ValueError for a zone or a date that there is not."""
    clock = clock_of(window.utc_offset, window.time_zone)
    anchor = date.fromisoformat(window.start_date) if window.start_date else created or LONG_AGO
    hour, minute = window.start_time.split(":")
    length = timedelta(hours=window.duration_hours)
    first, last = _day(start, -MARGIN), _day(end, MARGIN)
    found = []
    for day in schedule_days(window.schedule, anchor, first, last):
        opens = local_to_instant(datetime.combine(day, time(int(hour), int(minute))), clock)
        if opens is not None and opens <= LAST - length:
            found.append((opens, opens + length))
    return tuple(meeting(without(joined(found), local_day_spans(window.not_allowed_dates, clock)), start, end))


def window_openings(
    each: MaintenanceConfiguration, start: datetime, end: datetime, created: date | None = None
) -> Spans:
    """The spans in which a maintenance configuration is open, as of ``openings``, for either form of a window: the
    older one has hours of weekdays in UTC, from which its ``notAllowedTime`` is cut out."""
    if each.maintenance_window is not None:
        return openings(each.maintenance_window, start, end, created)
    return _in_week(each, start, end)


def clock_of(utc_offset: str, time_zone: str) -> tzinfo:
    """The clock that a window goes by: that of ``time_zone``, else ``utc_offset``, which must have the form +HH:MM or
    -HH:MM, else UTC. ValueError for a zone that there is not."""
    if time_zone:
        return load_zone(time_zone)
    if not utc_offset:
        return UTC
    sign = -1 if utc_offset.startswith("-") else 1
    hours, minutes = utc_offset[1:].split(":")
    return timezone(sign * timedelta(hours=int(hours), minutes=int(minutes)))


def local_day_spans(dates: t.Iterable[DateSpan], clock: tzinfo) -> Spans:
    """Whole local days, both ends included, as spans of instants, in order and joined; one that ends before it begins
    is left out. ValueError for a date that there is not."""
    found = []
    for each in dates:
        begin, last = datetime.fromisoformat(each.start), datetime.fromisoformat(each.end)
        until = local_to_instant(last + DAY, clock) if last.date() < date.max else None
        found.append((local_to_instant(begin, clock) or FIRST, until or LAST))
    return joined(found)


def _in_week(each: MaintenanceConfiguration, start: datetime, end: datetime) -> Spans:
    """The spans of the older form that meet [start, end): hours of weekdays in UTC without ``notAllowedTime``, of which
    what has no start or end is ignored. Hours of one day in two entries add up. ValueError for a day that is none."""
    slots: dict[int, set[int]] = {}
    for one in each.time_in_week:
        slots.setdefault(DAYS.index(one.day), set()).update(one.hour_slots)
    found = []
    day, last = _day(start, -DAY), _day(end, DAY)
    while day <= last and day < date.max:
        midnight = datetime.combine(day, time(), UTC)
        hours = slots.get(day.weekday(), ())
        found += [(midnight + hour * HOUR, midnight + (hour + 1) * HOUR) for hour in hours]
        day += DAY
    blocked = [(one.start, one.end) for one in each.not_allowed_time if one.start and one.end]
    return tuple(meeting(without(joined(found), joined(blocked)), start, end))


def _day(at: datetime, shift: timedelta) -> date:
    """The day in UTC of the instant that is ``shift`` later, held within the years 1 to 9999."""
    return shifted(at, shift).date()
