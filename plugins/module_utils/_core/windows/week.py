# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Weekly windows: told in words (``Mon-Fri 09:00-17:00 UTC``), turned inside out, and written as Karpenter budgets with
schedule and duration.

A week is a list of spans of minutes since Monday 00:00 UTC, in order, apart from each other; one that runs over the end
of the week begins late in it and ends behind it.
"""

from __future__ import annotations

import typing as t
from datetime import datetime, timedelta

from ..objects.karpenter.node_pool import Budget
from ..values.duration import duration_text
from ..values.schedules.cron import CronSchedule
from .budget_schedule import window
from .spans import merged

DAY, WEEK = 24 * 60, 7 * 24 * 60
MONDAY = datetime(2024, 1, 1)
MINUTE = timedelta(minutes=1)
NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
ALL_MONTH_DAYS, ALL_MONTHS, ALL_WEEKDAYS = 2**32 - 2, 2**13 - 2, 2**7 - 1

Spans = tuple[tuple[int, int], ...]


def weekly_spans(budgets: t.Iterable[Budget]) -> Spans | None:
    """The minutes since Monday 00:00, by the clock of the schedules, in which at least one of these budgets is active;
    ends are cut to whole minutes. Empty if none ever is; None if one has neither schedule nor duration, or an
    ``@every``, or depends on the day of the month or the month. ValueError for a schedule or duration that cannot be
    read."""
    found: list[tuple[datetime, datetime]] = []
    for each in budgets:
        this = window(each)
        if this is None or not isinstance(this.schedule, CronSchedule) or not _weekly(this.schedule):
            return None
        found += this.spans(MONDAY, MONDAY + timedelta(weeks=1))
    return _joined_over_week_end(
        [((begin - MONDAY) // MINUTE, (end - MONDAY) // MINUTE) for begin, end in merged(sorted(found))]
    )


def rest_of(week: Spans) -> Spans:
    """The spans of the week in which no span of ``week`` is, in order. Spans of ``week`` must not touch each other."""
    if not week:
        return ((0, WEEK),)
    if week == ((0, WEEK),):
        return ()
    nexts = [begin for begin, _end in week[1:]] + [week[0][0] + WEEK]
    gaps = [(end % WEEK, end % WEEK + begin - end) for (_begin, end), begin in zip(week, nexts, strict=True)]
    return tuple(sorted(gaps))


def week_in_words(week: Spans) -> str:
    """The spans of a week in words, such as ``Mon-Fri 09:00-17:00 UTC`` or ``Sat 00:00-Mon 00:00 UTC``, with commas
    between them, ``always`` or ``never``."""
    if not week or week == ((0, WEEK),):
        return "always" if week else "never"
    parts = []
    for (start, length), days in _alike(week).items():
        end = (start + length) % DAY
        if length < DAY or (length == DAY and not start):
            parts.append(f"{_days(days)}{_clock(start)}-{_clock(end) if end else '24:00'}")
        else:
            parts += [
                f"{NAMES[day]} {_clock(start)}-{NAMES[(day + (start + length) // DAY) % 7]} {_clock(end)}"
                for day in days
            ]
    return f"{', '.join(parts)} UTC"


def as_budgets(week: Spans, nodes: str, reasons: tuple[str, ...] | None = None) -> tuple[Budget, ...]:
    """Budgets of ``nodes`` that are active in exactly these spans: one for all that begin at the same time of the day
    and last equally long, and one without a schedule for the whole week."""
    if week == ((0, WEEK),):
        return (Budget(nodes, reasons=reasons),)
    return tuple(
        Budget(nodes, f"{start % 60} {start // 60} * * {_cron_days(days)}", duration_text(length), reasons)
        for (start, length), days in _alike(week).items()
    )


def _weekly(schedule: CronSchedule) -> bool:
    """Whether neither the day of the month nor the month matters."""
    every_day = schedule.month_days == ALL_MONTH_DAYS or (schedule.either_day and schedule.weekdays == ALL_WEEKDAYS)
    return schedule.months == ALL_MONTHS and every_day


def _joined_over_week_end(spans: list[tuple[int, int]]) -> Spans:
    """The spans, of which one that runs over the end of the week, and was cut there, is in one piece, and last."""
    if len(spans) > 1 and spans[0][0] == 0 and spans[-1][1] == WEEK:
        return (*spans[1:-1], (spans[-1][0], WEEK + spans[0][1]))
    return tuple(spans)


def _alike(week: Spans) -> dict[tuple[int, int], list[int]]:
    """By time of the day (minutes) and length (minutes) the weekdays (0 is Monday) of the spans that begin then and
    last so long, in the order of the week."""
    out: dict[tuple[int, int], list[int]] = {}
    for begin, end in week:
        out.setdefault((begin % DAY, end - begin), []).append(begin // DAY)
    return out


def _clock(minute: int) -> str:
    """The time of the day as ``09:05``, whatever the day."""
    return f"{minute % DAY // 60:02}:{minute % 60:02}"


def _days(days: list[int]) -> str:
    """Weekdays (0 is Monday) in words with a space behind: ``daily``, ``Mon-Fri`` for three or more in a row, ``Mon,
    Wed``."""
    if days == list(range(7)):
        return "daily "
    runs = len(days) > 2 and days == list(range(days[0], days[-1] + 1))
    return f"{NAMES[days[0]]}-{NAMES[days[-1]]} " if runs else f"{', '.join(NAMES[day] for day in days)} "


def _cron_days(days: list[int]) -> str:
    """The field of cron for weekdays (0 is Monday here, and Sunday there): ``*``, a range for three or more in a row, a
    list."""
    if days == list(range(7)):
        return "*"
    numbers = sorted((day + 1) % 7 for day in days)
    runs = len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]}-{numbers[-1]}" if runs else ",".join(map(str, numbers))
