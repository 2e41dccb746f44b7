# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Cron schedules: the recorded answers hold the breadth, these are the rules."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.schedules.cron import (
    CronSchedule,
    parse_cron,
    parse_utc,
)

THURSDAY_NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def hits(text: str, after: datetime = THURSDAY_NOON, count: int = 3) -> list[str]:
    out, at = [], after
    for _time in range(count):
        found = parse_cron(text).next(at)
        if found is None:
            return [*out, "none"]
        at = found
        out.append(f"{at:%a %Y-%m-%dT%H:%M:%SZ}")
    return out


@pytest.mark.parametrize(
    "text",
    ["0 9 * * 1-5", "@yearly", "@monthly", "@weekly", "@daily", "@hourly", "@annually", "@midnight", "+5 * * * *"],
)
def test_five_fields_and_macros_are_schedules_d0_70(text: str) -> None:
    assert parse_cron(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("0 9 * *", "4 fields"),
        ("0 0 9 * * *", "6 fields"),
        ("@reboot", "none of"),
        ("@Daily", "none of"),
        ("0 0 * * 7", "not within 0 to 6"),
        ("0 0 * * sat-sun", "begins behind its end"),
        ("0 22-2 * * *", "do not wrap around"),
        ("0 0 * * monday", "not a number"),
        ("0 0 L * *", "not a number"),
        ("*/0 * * * *", "is 0"),
        ("1-2-3 * * * *", "too many hyphens"),
        ("1/2/3 * * * *", "too many slashes"),
        ("1_0 * * * *", "not a number"),
        ("٣ * * * *", "not a number"),
        ("TZ=Nope/Zone 0 9 * * *", "no time zone"),
        ("TZ=UTC", "nothing follows"),
        ("@every 1d", "not a duration"),
    ],
)
def test_everything_else_is_refused_and_says_why_d0_70(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_cron(text)


def test_a_hit_is_strictly_after_the_instant_asked_for() -> None:
    assert hits("0 12 * * *", THURSDAY_NOON, 1) == ["Fri 2026-01-16T12:00:00Z"]
    assert hits("0 12 * * *", THURSDAY_NOON.replace(hour=11, minute=59, second=59), 1) == ["Thu 2026-01-15T12:00:00Z"]


def test_two_restricted_day_fields_mean_either_of_them_d0_71() -> None:
    assert hits("0 0 13 * 5", count=2) == ["Fri 2026-01-16T00:00:00Z", "Fri 2026-01-23T00:00:00Z"]


@pytest.mark.parametrize(("text", "weekdays"), [("0 0 */1 * 1", {"Mon"}), ("0 0 */2 * 1", {"Sat", "Mon", "Wed"})])
def test_a_step_above_one_takes_the_star_away_d0_71(text: str, weekdays: set[str]) -> None:
    assert {hit[:3] for hit in hits(text, datetime(2026, 1, 16, 12, tzinfo=UTC))} == weekdays


def test_a_day_that_no_month_has_never_comes() -> None:
    assert hits("0 0 30 2 *") == ["none"]
    assert hits("0 0 , * *") == ["none"]


@pytest.mark.parametrize("text", [", * * * *", "* , * * *", "* * , * *", "* * * , *", "* * * * ,"])
def test_a_schedule_with_a_field_without_items_has_no_days(text: str) -> None:
    schedule = parse_cron(text)
    assert isinstance(schedule, CronSchedule)
    assert schedule.days(2026, 1) == 0 and hits(text) == ["none"]


def test_a_leap_day_is_found_four_years_ahead_and_not_eight() -> None:
    assert hits("0 0 29 2 *", count=1) == ["Tue 2028-02-29T00:00:00Z"]
    assert hits("0 0 29 2 *", datetime(2096, 3, 1, tzinfo=UTC)) == ["none"]


def test_the_search_ends_with_the_calendar() -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert parse_cron("* * * * *").next(last) is None
    assert parse_cron("@every 1h").next(last) is None


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_the_search_by_the_clocks_of_a_zone_ends_with_the_calendar(zone: str) -> None:
    assert parse_cron(f"CRON_TZ={zone} 0 0 1 1 *").next(datetime(9999, 12, 31, 23, 59, tzinfo=UTC)) is None
    assert parse_cron(f"CRON_TZ={zone} 0 0 31 2 *").next(datetime(9996, 1, 2, tzinfo=UTC)) is None


def test_a_zone_of_the_text_skips_the_missing_hour_and_repeats_the_double_one() -> None:
    spring, autumn = datetime(2025, 3, 8, 12, tzinfo=UTC), datetime(2025, 11, 1, 12, tzinfo=UTC)
    assert hits("TZ=America/New_York 30 2 * * *", spring, 1) == ["Mon 2025-03-10T06:30:00Z"]
    assert hits("TZ=America/New_York 30 1 * * *", autumn, 2) == ["Sun 2025-11-02T05:30:00Z", "Sun 2025-11-02T06:30:00Z"]


def test_karpenter_takes_no_zone_and_does_not_mind_spaces_around_d0_72() -> None:
    assert parse_utc(" @daily ") == parse_cron("@daily")
    with pytest.raises(ValueError, match="6 fields"):
        parse_utc("TZ=UTC 0 9 * * *")


def test_walking_by_clock_and_by_bits_finds_the_same_in_utc() -> None:
    from dataclasses import replace
    from zoneinfo import ZoneInfo

    for text in ("0 9 * * 1-5", "*/7 3,22 1-31/9 */5 *", "0 0 29 2 *", "59 23 31 12 *", "30 12 13 * 5"):
        bits, at = parse_cron(text), THURSDAY_NOON
        assert isinstance(bits, CronSchedule)
        walk = replace(bits, zone=ZoneInfo("UTC"))
        for _time in range(5):
            found = bits.next(at)
            assert found == walk.next(at)
            at = found or at
