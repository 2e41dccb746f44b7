# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Maintenance windows as instants; D3-36, D3-40, D3-43."""

from __future__ import annotations

import random
import typing as t
from datetime import UTC, date, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_maintenance import (
    WEEK_INDEXES,
    MaintenanceConfiguration,
    MaintenanceWindow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import DAYS
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.clocks import local_to_instant
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.maintenance import (
    clock_of,
    openings,
    window_openings,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.spans import joined, without
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import configuration, in_week, maintenance

DAILY: dict[str, t.Any] = {"daily": {"intervalDays": 1}}


def window(schedule: t.Any = None, start: str = "02:30", hours: int = 4, **fields: t.Any) -> MaintenanceWindow:
    return decode(
        MaintenanceWindow,
        {"schedule": schedule or DAILY, "startTime": start, "durationHours": hours, **fields},
    )


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def told(spans: t.Iterable[tuple[datetime, datetime]]) -> list[str]:
    """``01-02T16:30 +8h``."""
    return [f"{opens:%m-%dT%H:%M} +{(closes - opens).total_seconds() / 3600:g}h" for opens, closes in spans]


def shown(given: MaintenanceWindow, start: str, end: str, created: date | None = None) -> list[str]:
    return told(openings(given, utc(start), utc(end), created))


# D3-43, the reference values: what is asked, from, to, what opens.
REFERENCE = [
    (
        window(
            {"weekly": {"intervalWeeks": 2, "dayOfWeek": "Friday"}},
            "22:00",
            8,
            utcOffset="+05:30",
            startDate="2026-01-02",
        ),
        ("2026-01-01", "2026-02-01"),
        ["01-02T16:30 +8h", "01-16T16:30 +8h", "01-30T16:30 +8h"],
    ),
    (
        window({"absoluteMonthly": {"intervalMonths": 1, "dayOfMonth": 31}}, "00:00", startDate="2026-01-01"),
        ("2026-01-01", "2026-07-01"),
        ["01-31T00:00 +4h", "03-31T00:00 +4h", "05-31T00:00 +4h"],
    ),
    (
        window(
            {"relativeMonthly": {"intervalMonths": 2, "weekIndex": "Last", "dayOfWeek": "Monday"}},
            "09:00",
            utcOffset="-08:00",
            startDate="2026-01-01",
        ),
        ("2026-01-01", "2026-06-01"),
        ["01-26T17:00 +4h", "03-30T17:00 +4h", "05-25T17:00 +4h"],
    ),
    (
        window(
            {"daily": {"intervalDays": 3}},
            "20:00",
            8,
            utcOffset="+02:00",
            startDate="2022-12-22",
            notAllowedDates=[{"start": "2022-12-23", "end": "2023-01-03"}],
        ),
        ("2022-12-22", "2023-01-08"),
        ["12-22T18:00 +4h", "01-03T22:00 +4h", "01-06T18:00 +8h"],
    ),
]


@pytest.mark.parametrize(("given", "between", "expected"), REFERENCE)
def test_d3_43_reference_values(given: MaintenanceWindow, between: tuple[str, str], expected: list[str]) -> None:
    assert shown(given, *between) == expected


@pytest.mark.parametrize(
    ("index", "expected"),
    [("First", "05-01"), ("Second", "05-08"), ("Third", "05-15"), ("Fourth", "05-22"), ("Last", "05-29")],
)
def test_d3_43_the_nth_weekday(index: str, expected: str) -> None:
    fridays = {"relativeMonthly": {"intervalMonths": 1, "weekIndex": index, "dayOfWeek": "Friday"}}
    assert shown(window(fridays, "00:00"), "2026-05-01", "2026-06-01") == [f"{expected}T00:00 +4h"]


def test_the_first_day() -> None:
    """Before it there is no window; weeks count from the first such weekday, months from its month."""
    assert shown(window(startDate="2026-03-03"), "2026-03-01", "2026-03-05") == ["03-03T02:30 +4h", "03-04T02:30 +4h"]
    weeks = window({"weekly": {"intervalWeeks": 3, "dayOfWeek": "Monday"}}, "00:00", startDate="2026-03-03")
    assert shown(weeks, "2026-01-01", "2026-05-01") == ["03-09T00:00 +4h", "03-30T00:00 +4h", "04-20T00:00 +4h"]
    months = window({"absoluteMonthly": {"intervalMonths": 3, "dayOfMonth": 1}}, "00:00", startDate="2026-03-03")
    assert shown(months, "2026-01-01", "2026-10-01") == ["06-01T00:00 +4h", "09-01T00:00 +4h"]
    # Asked at another time, the same days.
    assert shown(weeks, "2026-04-18", "2026-05-01") == ["04-20T00:00 +4h"]


def test_months_count_on_over_the_years() -> None:
    fifth = window({"absoluteMonthly": {"intervalMonths": 5, "dayOfMonth": 1}}, "00:00", startDate="2026-01-01")
    assert shown(fifth, "2027-01-01", "2028-03-01") == ["04-01T00:00 +4h", "09-01T00:00 +4h", "02-01T00:00 +4h"]


def test_without_a_first_day_the_creation_counts() -> None:
    given = window({"daily": {"intervalDays": 7}}, "00:00")
    assert shown(given, "2026-03-01", "2026-03-20", date(2026, 3, 4)) == [
        "03-04T00:00 +4h",
        "03-11T00:00 +4h",
        "03-18T00:00 +4h",
    ]
    assert len(shown(given, "2026-03-01", "2026-03-15")) == 2


def test_half_open_and_over_midnight() -> None:
    """The window of the day before may be the one that is open."""
    given = window(start="22:00", hours=8, startDate="2026-01-01")
    (first,) = openings(given, utc("2026-01-02T05:59"), utc("2026-01-02T06:00"))
    assert first == (utc("2026-01-01T22:00"), utc("2026-01-02T06:00"))
    assert openings(given, utc("2026-01-02T06:00"), utc("2026-01-02T22:00")) == ()


def test_windows_that_touch_are_one() -> None:
    assert shown(window(start="00:00", hours=24, startDate="2026-01-01"), "2026-01-02", "2026-01-05") == [
        "01-01T00:00 +192h"
    ]


# Clock changes: Vienna goes from 02:00 to 03:00 on 29 March 2026, and from 03:00 to 02:00 on 25 October.


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("01:59", "03-29T00:59 +4h"),
        ("02:00", "03-29T01:00 +4h"),
        ("02:30", "03-29T01:00 +4h"),
        ("02:59", "03-29T01:00 +4h"),
        ("03:00", "03-29T01:00 +4h"),
        ("03:01", "03-29T01:01 +4h"),
    ],
)
def test_a_start_in_the_skipped_hour_opens_at_its_end(start: str, expected: str) -> None:
    given = window(start=start, timeZone="Europe/Vienna")
    assert shown(given, "2026-03-28T23:00", "2026-03-29T12:00") == [expected]


@pytest.mark.parametrize(
    ("start", "expected"),
    [("01:59", "10-24T23:59 +4h"), ("02:30", "10-25T00:30 +4h"), ("03:00", "10-25T02:00 +4h")],
)
def test_a_start_in_the_repeated_hour_opens_once_at_the_first(start: str, expected: str) -> None:
    given = window(start=start, timeZone="Europe/Vienna")
    assert shown(given, "2026-10-24T22:00", "2026-10-25T12:00") == [expected]


def test_length_is_elapsed_time() -> None:
    """Both end four hours later, whatever the clocks show."""
    given = window(start="00:00", timeZone="Europe/Vienna")
    assert shown(given, "2026-03-28T20:00", "2026-03-29T20:00") == ["03-28T23:00 +4h"]
    assert shown(given, "2026-10-24T20:00", "2026-10-25T20:00") == ["10-24T22:00 +4h"]


def test_days_that_the_calendar_skips_and_odd_shifts() -> None:
    # Lord Howe shifts by half an hour, Apia had no 30 December 2011, Santiago no midnight on 6 September 2026.
    howe = clock_of("", "Australia/Lord_Howe")
    assert local_to_instant(datetime(2026, 10, 4, 2, 15), howe) == utc("2026-10-03T15:30")
    apia = window(start="12:00", timeZone="Pacific/Apia")
    assert shown(apia, "2011-12-29T10:00", "2012-01-01T00:00") == [
        "12-29T22:00 +4h",
        "12-30T10:00 +4h",
        "12-30T22:00 +4h",
        "12-31T22:00 +4h",
    ]
    santiago = window(start="00:00", timeZone="America/Santiago")
    assert shown(santiago, "2026-09-06T02:00", "2026-09-06T20:00") == ["09-06T04:00 +4h"]


def test_blocked_days_go_by_the_zone_too() -> None:
    blocked = [{"start": "2026-03-29", "end": "2026-03-29"}]
    given = window(start="20:00", hours=8, timeZone="Europe/Vienna", notAllowedDates=blocked)
    # The day has 23 hours: from 23:00Z to 22:00Z.
    assert shown(given, "2026-03-28T10:00", "2026-03-30T10:00") == ["03-28T19:00 +4h", "03-29T22:00 +4h"]


def test_hours_of_weekdays() -> None:
    document = maintenance(
        in_week(
            timeInWeek=[{"day": "Monday", "hourSlots": [2, 1]}, {"day": "Tuesday", "hourSlots": [0]}],
            notAllowedTime=[{"start": "2026-05-12T00:30:00Z", "end": "2026-05-30T12:00:00Z"}],
        )
    )
    (given,) = read(document).object.spec.windows
    found = window_openings(given, utc("2026-05-01"), utc("2026-06-10"))
    assert told(found) == [
        "05-04T01:00 +2h",
        "05-05T00:00 +1h",
        "05-11T01:00 +2h",
        "05-12T00:00 +0.5h",
        "06-01T01:00 +2h",
        "06-02T00:00 +1h",
        "06-08T01:00 +2h",
        "06-09T00:00 +1h",
    ]


def of(schedule: t.Any = None, **fields: t.Any) -> MaintenanceConfiguration:
    return read(maintenance(configuration("kubernetes", schedule, **fields))).object.spec.windows[0]


def test_d3_40_the_next_opening_to_the_minute() -> None:
    given = of(DAILY, startTime="01:07")
    for at, begin in (
        ("2026-05-01T00:30", "01T01:07"),
        ("2026-05-01T05:06", "01T01:07"),
        ("2026-05-01T05:07", "02T01:07"),
    ):
        found = window_openings(given, utc(at), utc("2026-05-08"))
        assert found[0] == (utc(f"2026-05-{begin}"), utc(f"2026-05-{begin}") + timedelta(hours=4))


def test_a_next_opening_far_away_and_none() -> None:
    rare = of({"absoluteMonthly": {"intervalMonths": 6, "dayOfMonth": 31}}, startDate="2026-02-01")
    found = window_openings(rare, utc("2026-09-01"), utc("2032-09-01"))
    assert found[0][0] == utc("2027-08-31T01:00")
    never = of(DAILY, notAllowedDates=[{"start": "2026-01-01", "end": "9999-12-31"}], startDate="2026-01-01")
    assert window_openings(never, utc("2026-09-01"), utc("2032-09-01")) == ()
    assert window_openings(of(DAILY, startDate="9999-12-31"), utc("2026-09-01"), utc("2032-09-01")) == ()


# Rules that hold for all windows


def any_schedule(draw: random.Random) -> dict[str, t.Any]:
    months, day = draw.randint(1, 6), draw.choice(DAYS)
    return draw.choice(
        (
            {"daily": {"intervalDays": draw.randint(1, 7)}},
            {"weekly": {"intervalWeeks": draw.randint(1, 4), "dayOfWeek": day}},
            {"absoluteMonthly": {"intervalMonths": months, "dayOfMonth": draw.randint(1, 31)}},
            {
                "relativeMonthly": {
                    "intervalMonths": months,
                    "weekIndex": draw.choice(WEEK_INDEXES),
                    "dayOfWeek": day,
                }
            },
        )
    )


def any_window(draw: random.Random) -> MaintenanceWindow:
    clock = draw.choice(({"utcOffset": "+05:30"}, {"utcOffset": "-11:00"}, {"timeZone": "Europe/Vienna"}, {}))
    first = date(2026, 1, 1) + timedelta(days=draw.randint(0, 90))
    blocked = first + timedelta(days=draw.randint(0, 60))
    return window(
        any_schedule(draw),
        f"{draw.randint(0, 23):02}:{draw.randint(0, 59):02}",
        draw.randint(4, 24),
        startDate=first.isoformat(),
        notAllowedDates=[{"start": blocked.isoformat(), "end": (blocked + timedelta(days=9)).isoformat()}],
        **clock,
    )


@pytest.mark.parametrize("seed", range(60))
def test_any_window(seed: int) -> None:
    draw = random.Random(seed)
    given = any_window(draw)
    start, end = utc("2026-01-01"), utc("2027-06-01")
    found = openings(given, start, end)
    assert all(opens < closes for opens, closes in found)
    assert all(one[1] < other[0] for one, other in zip(found, found[1:], strict=False)), "in order and apart"
    # The part of a range is what the whole has there.
    at = start + timedelta(hours=draw.randint(0, 9000))
    later = at + timedelta(hours=draw.randint(1, 2000))
    inside = [each for each in found if each[1] > at and each[0] < later]
    asked = openings(given, at, later)
    assert [max(opens, at) for opens, _closes in asked] == [max(opens, at) for opens, _closes in inside]
    assert [min(closes, later) for _opens, closes in asked] == [min(closes, later) for _opens, closes in inside]
    # Every opening shows the start time, or the end of a blocked day.
    clock = clock_of(given.utc_offset, given.time_zone)
    midnight = "00:00"
    for opens, _closes in found:
        assert f"{opens.astimezone(clock):%H:%M}" in (given.start_time, midnight) or given.time_zone
    (blocked,) = given.not_allowed_dates
    for opens, closes in found:
        assert not any(
            blocked.start <= moment.astimezone(clock).date().isoformat() <= blocked.end
            for moment in (opens, closes - timedelta(seconds=1))
        )


@pytest.mark.parametrize("seed", range(40))
def test_cutting_and_joining(seed: int) -> None:
    """Against minutes counted one by one."""
    draw = random.Random(seed)
    begin = utc("2026-01-01")

    def spans(count: int) -> list[tuple[datetime, datetime]]:
        starts = [draw.randint(0, 90) for _each in range(count)]
        return [(begin + timedelta(minutes=at), begin + timedelta(minutes=at + draw.randint(0, 20))) for at in starts]

    def minutes(given: t.Iterable[tuple[datetime, datetime]]) -> set[int]:
        found = ((each - begin) // timedelta(minutes=1) for one in given for each in one)
        pairs = zip(*[iter(found)] * 2, strict=True)
        return {minute for opens, closes in pairs for minute in range(opens, closes)}

    one, other = spans(5), spans(4)
    assert minutes(joined(one)) == minutes(one)
    assert minutes(without(joined(one), joined(other))) == minutes(one) - minutes(other)


def test_hours_of_one_day_in_two_entries_add_up() -> None:
    """As AKS has it: two entries of one day are the union of their hours."""
    hours = [{"day": "Monday", "hourSlots": [1]}, {"day": "Monday", "hourSlots": [5, 1]}]
    (given,) = read(maintenance(in_week(timeInWeek=hours))).object.spec.windows
    assert told(window_openings(given, utc("2026-05-04"), utc("2026-05-05"))) == ["05-04T01:00 +1h", "05-04T05:00 +1h"]
