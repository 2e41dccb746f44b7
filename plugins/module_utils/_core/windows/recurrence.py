# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The days of a maintenance schedule: daily, weekly, on a day or an nth weekday of the month, every so many days, weeks
or months (AKS planned maintenance).

The published grammar does not say what intervals count from. Here: days from the first day, weeks from the first such
weekday on or after it, months from its month. A month that has no such day is left out.
"""

from __future__ import annotations

import calendar
import typing as t
from datetime import date, timedelta

from ..objects.clusters.fleet_maintenance import WEEK_INDEXES, MaintenanceSchedule, RelativeMonthlySchedule
from ..objects.updates.strategy import DAYS

WEEK = 7
MONTHS = 12


def schedule_days(schedule: MaintenanceSchedule, anchor: date, first: date, last: date) -> t.Iterator[date]:
    """The days from ``first`` to ``last``, both included, in order; none before ``anchor``, from which intervals count.
    The schedule is one that the rules for manifests accept; one without any of the four forms has no days."""
    first = max(first, anchor)
    if schedule.daily:
        yield from _every(schedule.daily.interval_days, anchor, first, last)
    elif schedule.weekly:
        weekday = DAYS.index(schedule.weekly.day_of_week)
        begin = _later(anchor, (weekday - anchor.weekday()) % WEEK)
        if begin is not None:
            yield from _every(schedule.weekly.interval_weeks * WEEK, begin, first, last)
    elif schedule.absolute_monthly:
        monthly = schedule.absolute_monthly
        for year, month in _months(monthly.interval_months, anchor, first, last):
            if monthly.day_of_month <= calendar.monthrange(year, month)[1]:
                yield from _within(date(year, month, monthly.day_of_month), first, last)
    elif schedule.relative_monthly:
        for year, month in _months(schedule.relative_monthly.interval_months, anchor, first, last):
            yield from _within(_nth(schedule.relative_monthly, year, month), first, last)


def _every(step: int, anchor: date, first: date, last: date) -> t.Iterator[date]:
    """Each ``step``-th day counted from ``anchor``, from ``first`` to ``last``, both included."""
    behind = max((first - anchor).days, 0)
    at = _later(anchor, -(-behind // step) * step)
    while at is not None and at <= last:
        yield at
        at = _later(at, step)


def _later(day: date, count: int) -> date | None:
    """The day ``count`` days later; None behind the end of the calendar."""
    return day + timedelta(days=count) if count <= (date.max - day).days else None


def _months(step: int, anchor: date, first: date, last: date) -> t.Iterator[tuple[int, int]]:
    """Year and month of each month that the interval hits, from that of ``first`` to that of ``last``."""
    begin = anchor.year * MONTHS + anchor.month - 1
    behind = first.year * MONTHS + first.month - 1 - begin
    for at in range(begin - (-behind // step) * step, last.year * MONTHS + last.month, step):
        yield at // MONTHS, at % MONTHS + 1


def _nth(schedule: RelativeMonthlySchedule, year: int, month: int) -> date:
    """The nth or last such weekday of the month: each has four of every weekday, and the last of them."""
    weekday, place = DAYS.index(schedule.day_of_week), WEEK_INDEXES.index(schedule.week_index)
    begins, length = calendar.monthrange(year, month)
    number = 1 + (weekday - begins) % WEEK + place * WEEK
    return date(year, month, number if number <= length else number - WEEK)


def _within(day: date, first: date, last: date) -> t.Iterator[date]:
    """The day, if it is one from ``first`` to ``last``; else nothing."""
    if first <= day <= last:
        yield day
