# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When a Karpenter budget is active by its ``schedule`` and ``duration``, at one instant and over an interval
(Karpenter, ``Budget.IsActive``).

A budget is active from each hit of its schedule until ``duration`` later, the end not included. Instants in this file
are naive and in UTC.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, lru_cache

from ..objects.karpenter.node_pool import Budget
from ..values.duration import as_timedelta, parse_duration
from ..values.schedules.cron import CronSchedule, Every, parse_utc
from .spans import Span, clipped, merged

NO_TIME = timedelta()
SECOND = timedelta(seconds=1)
# Durations are at most 292 years, so that no sum that begins before this year leaves the calendar.
LAST_YEAR = 9700


@dataclass(frozen=True)
class Window:
    """A budget's time: hits of a schedule, and how long each lasts."""

    schedule: CronSchedule | Every
    duration: timedelta

    def active(self, now: datetime) -> bool:
        """Whether the budget counts at a naive instant in UTC: the first hit after ``now`` - ``duration`` is not in the
        future.

        As Karpenter has it, a search that finds no hit counts as active, whatever the duration.
        """
        hit = self.schedule.next_utc(_shifted_back(now, self.duration))
        return hit is None or hit <= now

    def spans(self, start: datetime, end: datetime) -> list[Span]:
        """The active spans that meet [start, end), cut to it, in order and merged; all are naive instants in UTC.
        ``@every`` is active in all of it or in nothing, as it is at ``start``. ``start`` must be before ``end``."""
        if isinstance(self.schedule, Every):
            return [(start, end)] if self.active(start) else []
        found = self._after_hits(self.schedule, start, end)
        if not self.schedule.every_year:
            found = iter(sorted([*found, *self._without_hits(self.schedule, start, end)]))
        return clipped(merged(found), start, end)

    @property
    def fires(self) -> bool:
        """Whether its schedule ever comes; if not, the budget is active for ever."""
        return isinstance(self.schedule, Every) or self.schedule.next_utc(datetime(2000, 1, 1)) is not None

    @cached_property
    def day(self) -> tuple[tuple[timedelta, timedelta], ...]:
        """The spans that the hits of one day make, as distances from its midnight, in order and merged; none for
        ``@every``, or if they last no time."""
        if isinstance(self.schedule, Every) or self.duration <= NO_TIME:
            return ()
        hits = (timedelta(minutes=each) for each in self.schedule.times)
        return tuple(merged((hit, hit + self.duration) for hit in hits))

    def _after_hits(self, schedule: CronSchedule, start: datetime, end: datetime) -> t.Iterator[Span]:
        """The spans after the hits of each day that can reach [start, end), in order of their starts, merged within a
        day only and not cut; the end of one beyond the calendar is its last instant."""
        for midnight in schedule.each_day(_shifted_back(start, self.duration), end) if self.day else ():
            for begin, until in self.day:
                yield (
                    midnight + begin,
                    (midnight + until if midnight.year < LAST_YEAR else _shifted_back(midnight, -until)),
                )

    def _without_hits(self, schedule: CronSchedule, start: datetime, end: datetime) -> t.Iterator[Span]:
        """Spans in which the search finds no hit. It begins ``duration`` ago and reads no more of it than its year."""
        after, last = _shifted_back(start, self.duration), _shifted_back(end, self.duration)
        while after < last:
            begin, hit = after, schedule.next_utc(after)
            if hit is None:
                year = _shifted_back(after, -SECOND).year
                after = datetime(year, 12, 31, 23, 59, 59) if year < datetime.max.year else datetime.max
                yield _shifted_back(begin, -self.duration), _shifted_back(after, -self.duration)
            else:
                after = hit


@lru_cache(maxsize=4096)
def _window_of(schedule: str | None, duration: str | None) -> Window | None:
    """The window of a budget's two texts; None: always. ValueError if one of them cannot be read.

    One of the two may be missing here, though not at admission: without a duration it lasts no time, and without a
    schedule it cannot be read.
    """
    if schedule is None and duration is None:
        return None
    return Window(parse_utc(schedule or ""), NO_TIME if duration is None else as_timedelta(parse_duration(duration)))


def window(budget: Budget) -> Window | None:
    """When the budget counts; None where it has neither schedule nor duration, and so always does. ValueError if its
    schedule or duration cannot be read, or a schedule is missing beside a duration."""
    return _window_of(budget.schedule, budget.duration)


def _shifted_back(now: datetime, duration: timedelta) -> datetime:
    """``now`` - ``duration``, held within the years 1 to 9999."""
    try:
        return now - duration
    except OverflowError:
        return datetime.min if duration > NO_TIME else datetime.max
