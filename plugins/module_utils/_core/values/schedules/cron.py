# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Cron schedules as robfig/cron v3 reads them (``ParseStandard``, ``@every``, ``CRON_TZ=``) for CronJobs and
Karpenter's budgets: their hits, days and times of day; and time zones by name.

Five fields, or a descriptor such as ``@daily``; without a zone prefix they are in UTC. Not the dialect of crond: Sunday
is 0 and never 7, ranges do not wrap around, names have three letters, and ``*`` and ``?`` are the same.
"""

from __future__ import annotations

import calendar
import re
import typing as t
from bisect import bisect_left
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, timedelta
from functools import cache, cached_property, lru_cache
from zoneinfo import ZoneInfo

from ..duration import SECOND, parse_duration
from ..int_or_percent import INT64
from .cron_zone import (
    DAY,
    HOUR,
    MINUTE,
    MONTH,
    next_by_clock,
)

# The search for the next hit gives up at the end of the fifth year after the one it starts in.
HORIZON_YEARS = 5
DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY = "@every "
ZONE_PREFIXES = ("TZ=", "CRON_TZ=")
# White space as Unicode has it; Python's own str.split also splits at the separators \x1c to \x1f.
SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

_SPACES = re.compile(f"[{SPACE}]+")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_BEFORE_COMMON_YEAR = datetime(2000, 12, 31, 23, 59)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


@dataclass(frozen=True)
class CronField:
    """One of the five: the least and the greatest number that it takes, and the names of the numbers from ``low``
    on."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


FIELDS = (
    CronField("minute", 0, 59),
    CronField("hour", 0, 23),
    CronField("day of month", 1, 31),
    CronField("month", 1, 12, _MONTHS),
    CronField("day of week", 0, 6, _WEEKDAYS),
)


@dataclass(frozen=True)
class CronSchedule:
    """Bit sets of the minutes, hours, days of the month, months and weekdays (bit 0 is Sunday) that match.

    ``either_day``: both day fields are restricted, and a day matches where either of them does. ``zone`` is None for
    UTC.
    """

    minutes: int
    hours: int
    month_days: int
    months: int
    weekdays: int
    either_day: bool
    zone: ZoneInfo | None = None

    def next(self, after: datetime) -> datetime | None:
        """The first hit strictly after an aware instant, in UTC; None if none comes by the end of the fifth year after
        it, or of the calendar. Years are those of the zone's clock."""
        if self.zone is not None:
            return next_by_clock(self._matches, after, self.zone, HORIZON_YEARS)
        return (
            None
            if (found := self.next_utc(after.astimezone(UTC).replace(tzinfo=None))) is None
            else found.replace(tzinfo=UTC)
        )

    def next_utc(self, after: datetime) -> datetime | None:
        """The first hit strictly after a naive instant in UTC, naive too; None if none comes by the end of the fifth
        year after it, or of the calendar. The zone is not looked at."""
        year, month, day = after.year, after.month, after.day
        # Hits stand on full minutes: the first that can come is that of the next minute.
        minute, last_year = after.hour * 60 + after.minute + 1, _last_year(after)
        times = self.times
        if not times:
            return None
        if minute > times[-1]:
            day, minute = day + 1, 0
        while year <= last_year:
            days = self.days(year, month) >> day << day
            if days:
                found = (days & -days).bit_length() - 1
                hour, minute = divmod(times[bisect_left(times, minute)] if found == day else times[0], 60)
                return datetime(year, month, found, hour, minute)
            later = self.months >> month + 1
            if later:
                month, day, minute = month + (later & -later).bit_length(), 1, 0
            else:
                year, month, day, minute = year + 1, 1, 1, 0
        return None

    def days(self, year: int, month: int) -> int:
        """The days of a month of the schedule's clock on which it fires, as a bit set (bit 1 is the first)."""
        if not self.months >> month & 1:
            return 0
        first, length = _month(year, month)
        return self._days_by_first[first] & ((2 << length) - 2)

    def each_day(self, first: date, last: date) -> t.Iterator[datetime]:
        """The days from ``first`` to ``last``, both included, on which the schedule fires by its own clock, as naive
        midnights."""
        year, month = first.year, first.month
        while (year, month) <= (last.year, last.month):
            days = self.days(year, month)
            if (year, month) == (first.year, first.month):
                days = days >> first.day << first.day
            if (year, month) == (last.year, last.month):
                days &= (2 << last.day) - 1
            for day in _bits(days):
                yield datetime(year, month, day)
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)

    @cached_property
    def every_year(self) -> bool:
        """Whether it fires every year, and not in leap years only, or never. A zone is not looked at."""
        found = self.next_utc(_BEFORE_COMMON_YEAR)
        return found is not None and found.year == _BEFORE_COMMON_YEAR.year + 1

    @cached_property
    def times(self) -> tuple[int, ...]:
        """The minutes of a day at which the schedule fires, 0 to 1439, in order, whatever the day."""
        return tuple(hour * 60 + minute for hour in _bits(self.hours) for minute in _bits(self.minutes))

    def day_matches(self, weekday: int, month_day: int) -> bool:
        """Whether the schedule fires on a day of this weekday (0 is Sunday) and day of the month, in whatever month;
        never without any minute or hour."""
        if not (self.minutes and self.hours):
            return False
        by_month_day, by_weekday = self.month_days >> month_day & 1, self.weekdays >> weekday & 1
        return bool(by_month_day | by_weekday if self.either_day else by_month_day & by_weekday)

    def _matches(self, unit: int, clock: datetime) -> bool:
        """Whether the month, day, hour, minute or second (``unit``: MONTH to SECOND) of a clock time fits; seconds are
        to be 0."""
        if unit == MONTH:
            return bool(self.months >> clock.month & 1)
        if unit == DAY:
            return self.day_matches(clock.isoweekday() % 7, clock.day)
        if unit == HOUR:
            return bool(self.hours >> clock.hour & 1)
        return bool(self.minutes >> clock.minute & 1) if unit == MINUTE else clock.second == 0

    @cached_property
    def _days_by_first(self) -> tuple[int, ...]:
        """The matching days (bit set, bit 1 is the first) of a month of 31 days, by the weekday of its first, 0 being
        Sunday."""
        return tuple(
            sum(1 << day for day in range(1, 32) if self.day_matches((first + day - 1) % 7, day)) for first in range(7)
        )


@dataclass(frozen=True)
class Every:
    """``@every``: a delay in whole seconds, at least one, counted from wherever the search starts."""

    seconds: int

    def next(self, after: datetime) -> datetime | None:
        """The instant ``seconds`` after an aware one that is cut to whole seconds, in UTC; None beyond the year
        9999."""
        found = self.next_utc(after.astimezone(UTC).replace(tzinfo=None))
        return None if found is None else found.replace(tzinfo=UTC)

    def next_utc(self, after: datetime) -> datetime | None:
        """The naive instant in UTC ``seconds`` after a naive one that is cut to whole seconds; None beyond the year
        9999."""
        try:
            return after.replace(microsecond=0) + timedelta(seconds=self.seconds)
        except OverflowError:
            return None


@lru_cache(maxsize=4096)
def parse_cron(text: str) -> CronSchedule | Every:
    """The cron schedule of a text, by the clocks of the zone that it names in front (``CRON_TZ=`` or ``TZ=``), else in
    UTC; ValueError where the upstream parser refuses or crashes."""
    return _parse(*_zone(text))


@lru_cache(maxsize=4096)
def parse_utc(text: str) -> CronSchedule | Every:
    """The cron schedule of a text as Karpenter asks for it, with ``TZ=UTC`` in front: spaces around vanish, and a zone
    in the text is a sixth field. ValueError as of ``parse_cron``."""
    return _parse(None, text.strip(SPACE))


def _parse(zone: ZoneInfo | None, rest: str) -> CronSchedule | Every:
    """The schedule of a text without a zone: ``@every``, a descriptor or five fields; ValueError, which says why, for
    others. ``zone`` is left out of ``@every``, of which less than a second becomes one."""
    if rest.startswith(EVERY):
        return Every(max(1, parse_duration(rest[len(EVERY) :]) // SECOND))
    if rest.startswith("@") and rest not in DESCRIPTORS:
        raise ValueError(f"{rest!r:.60} is none of {', '.join(DESCRIPTORS)}")
    words = [word for word in _SPACES.split(DESCRIPTORS.get(rest, rest)) if word]
    if len(words) != len(FIELDS):
        raise ValueError(f"{len(words)} fields in {rest!r:.60}, where 5 are wanted: minute hour day month weekday")
    (minutes, _s), (hours, _t), (month_days, any_day), (months, _u), (weekdays, any_weekday) = (
        _field(word, field) for word, field in zip(words, FIELDS, strict=True)
    )
    return CronSchedule(minutes, hours, month_days, months, weekdays, not (any_day or any_weekday), zone)


def _zone(text: str) -> tuple[ZoneInfo | None, str]:
    """The zone of a prefix (None for UTC or no prefix) and what is left of the text. ValueError for an empty text, a
    prefix alone, and an unknown zone."""
    if not text:
        raise ValueError("an empty text is not a schedule")
    if not text.startswith(ZONE_PREFIXES):
        return None, text
    prefix, space, rest = text.partition(" ")
    if not space:
        raise ValueError(f"nothing follows the time zone in {text!r:.60}")
    name = prefix.partition("=")[2]
    return (None if name in ("", "UTC") else load_zone(name)), rest.strip(SPACE)


@cache
def load_zone(name: str) -> ZoneInfo:
    """An IANA time zone by its name; ValueError if this machine has none of that name."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # a folder, a path that leads out, no such file
        raise ValueError(f"there is no time zone {name!r:.60}") from None


def _field(text: str, field: CronField) -> tuple[int, bool]:
    """The values of a field as a bit set, and whether any item is a star of step 1. Empty items are skipped. ValueError
    for a malformed item."""
    bits, star = 0, False
    for item in filter(None, text.split(",")):
        values, is_star = _item(item, field)
        bits |= sum(1 << value for value in values)
        star |= is_star
    return bits, star


def _item(item: str, field: CronField) -> tuple[range, bool]:
    """The values of one item (``5``, ``1-5``, ``*/10``, ``mon``), and whether it is a star or ``?`` of step 1.
    ValueError if it is malformed, outside the field, runs backwards, or has a step of 0."""
    span, *steps = item.split("/")
    low_text, *tail = span.split("-")
    star = low_text in ("*", "?")
    if len(steps) > 1 or (len(tail) > 1 and not star):
        raise ValueError(f"too many {'slashes' if len(steps) > 1 else 'hyphens'} in {item!r:.60} ({field.name})")
    # What stands behind a star and a hyphen is ignored.
    low = field.low if star else _value(low_text, field)
    high = field.high if star or (steps and not tail) else _value(tail[0], field) if tail else low
    step = _number(steps[0], field) if steps else 1
    if low < field.low or high > field.high:
        raise ValueError(f"{item!r:.60} is not within {field.low} to {field.high} ({field.name})")
    if low > high:
        raise ValueError(f"{item!r:.60} begins behind its end ({field.name}); ranges do not wrap around")
    if step == 0:
        raise ValueError(f"the step of {item!r:.60} is 0 ({field.name})")
    return range(low, high + 1, step), star and step == 1


def _value(text: str, field: CronField) -> int:
    """The number that a name, in any case, or digits stand for; ValueError for others. The field's range is not
    judged."""
    name = text.lower()
    return field.names.index(name) + field.low if name in field.names else _number(text, field)


def _number(text: str, field: CronField) -> int:
    """The number of a text in digits, with a ``+`` allowed; ValueError for others, and beyond 63 bits."""
    number = int(text) if len(text) < 100 and _INTEGER.fullmatch(text) else -1
    if number not in INT64 or number < 0:
        raise ValueError(f"{text!r:.60} is not a number that this field takes ({field.name})")
    return number


def _last_year(after: datetime) -> int:
    """The last year that is searched. The search begins a second later, which can be in the next year."""
    begins_later = after.month == 12 and (after.day, after.hour, after.minute, after.second) == (31, 23, 59, 59)
    last = after.year + begins_later + HORIZON_YEARS
    return last if last < MAXYEAR else MAXYEAR


@cache
def _month(year: int, month: int) -> tuple[int, int]:
    """The weekday of a month's first day (0 is Sunday) and its length."""
    first, length = calendar.monthrange(year, month)
    return (first + 1) % 7, length


def _bits(mask: int) -> t.Iterator[int]:
    """The numbers of the bits that are set, in rising order."""
    return (value for value in range(mask.bit_length()) if mask >> value & 1)
