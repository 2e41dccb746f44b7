# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Windows of our own: time zones, nth weekdays, freezes, and what clock changes do."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import allowed
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.fleet_windows import (
    Freeze,
    as_utc_budgets,
    open_spans,
    read_window,
    within_windows,
)

WINTER = datetime(2026, 1, 12, tzinfo=UTC)


def window(schedule: str, duration: str, zone: str = "Europe/Berlin", **more: object):
    return read_window({"schedule": schedule, "duration": duration, "timeZone": zone} | more)


def spans(one: object, start: datetime, days: int, *freezes: Freeze) -> list[str]:
    found = open_spans([one], freezes, start, start + timedelta(days=days))
    return [f"{begin:%m-%dT%H:%M}/{end:%m-%dT%H:%M}" for begin, end in found]


def test_a_window_is_read_by_the_clocks_of_its_zone_d0_72() -> None:
    night = window("0 22 * * *", "4h")
    assert spans(night, WINTER, 1) == ["01-12T00:00/01-12T01:00", "01-12T21:00/01-13T00:00"]
    assert spans(night, datetime(2026, 7, 12, tzinfo=UTC), 1) == ["07-12T20:00/07-13T00:00"]


def test_a_start_in_the_skipped_hour_opens_right_after_it() -> None:
    assert spans(window("30 2 * * *", "1h"), datetime(2026, 3, 29, tzinfo=UTC), 1) == ["03-29T01:00/03-29T02:00"]


def test_a_start_in_the_repeated_hour_opens_once_and_lasts_in_elapsed_time() -> None:
    assert spans(window("30 2 * * *", "2h"), datetime(2026, 10, 25, tzinfo=UTC), 1) == ["10-25T00:30/10-25T02:30"]


@pytest.mark.parametrize(("nth", "days"), [([2], ["01-13"]), ([-1], ["01-27"]), ([1, 3], ["01-06", "01-20"])])
def test_the_nth_weekday_of_the_month(nth: list[int], days: list[str]) -> None:
    found = spans(window("0 3 * * 2", "1h", "UTC", nth=nth), datetime(2026, 1, 1, tzinfo=UTC), 31)
    assert [each[:5] for each in found] == days


def test_a_freeze_cuts_what_is_open() -> None:
    freeze = Freeze("sale", WINTER + timedelta(hours=2), WINTER + timedelta(hours=3))
    assert spans(window("0 0 * * *", "6h", "UTC"), WINTER, 1, freeze) == [
        "01-12T00:00/01-12T02:00",
        "01-12T03:00/01-12T06:00",
    ]
    assert open_spans([], [freeze], WINTER, WINTER + timedelta(hours=4)) == (
        (WINTER, freeze.start),
        (freeze.end, WINTER + timedelta(hours=4)),
    )


def test_the_answer_says_why_and_until_when() -> None:
    night, noon = window("0 2 * * *", "1h", "UTC"), WINTER + timedelta(hours=12)
    shut = within_windows([night], [], noon)
    assert (shut.open, shut.why, shut.until) == (False, "outside all windows", WINTER + timedelta(hours=26))
    opened = within_windows([night], [], WINTER + timedelta(hours=2))
    assert (opened.open, opened.until) == (True, WINTER + timedelta(hours=3))
    assert opened.why == "in the window 0 2 * * * UTC for 1h"
    yearly = window("0 0 1 12 *", "1h", "UTC")
    assert within_windows([yearly], [], noon).until == datetime(2026, 12, 1, tzinfo=UTC)
    frozen = within_windows([], [Freeze("sale", WINTER, WINTER + timedelta(days=1))], noon)
    assert (frozen.open, frozen.why) == (False, "in the freeze sale")
    assert within_windows([], [], noon).until is None


def test_all_problems_of_a_window_come_at_once() -> None:
    with pytest.raises(FleetError) as refused:
        read_window({"schedule": "0 0 * * 7", "duration": "90s", "timeZone": "Mars/Base", "nth": [6], "zone": "UTC"})
    codes = ["unknown-field", "invalid-schedule", "invalid-duration", "unknown-time-zone", "not-one-of"]
    assert [each.code for each in refused.value.problems] == codes


@pytest.mark.parametrize("schedule", ["@every 1h", "0 0 30 2 *", "", 5])
def test_what_has_no_clock_time_or_never_comes_is_refused(schedule: object) -> None:
    with pytest.raises(FleetError, match="invalid-schedule"):
        read_window({"schedule": schedule, "duration": "1h"})


def test_a_local_wish_becomes_utc_budgets_with_a_date_d0_72() -> None:
    compiled = as_utc_budgets(window("0 22 * * 5", "32h"), "50%", WINTER)
    assert [each.as_dict() for each in compiled.budgets] == [
        {"nodes": "50%"},
        {"nodes": "0", "schedule": "0 5 * * 0", "duration": "136h"},
    ]
    assert compiled.valid_until == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert "change at 2026-03-29T01:00:00Z" in compiled.warning


def test_compiled_budgets_permit_exactly_in_the_window_d0_72() -> None:
    chance = random.Random(5)
    for zone in ("Europe/Berlin", "Asia/Kathmandu", "America/New_York", "UTC"):
        wish = window("30 20 * * 1,3,6", "7h30m", zone)
        compiled = as_utc_budgets(wish, "5", WINTER)
        for _time in range(100):
            at = WINTER + timedelta(minutes=chance.randrange(14 * 1440))
            assert (allowed(compiled.budgets, at, 9, "Empty").limit == 5) == within_windows([wish], [], at).open


def test_what_is_not_weekly_is_not_compiled() -> None:
    for wish in (window("0 22 * * 5", "2h", nth=[1]), window("0 22 1 * *", "2h")):
        with pytest.raises(FleetError, match="not-weekly"):
            as_utc_budgets(wish, "50%", WINTER)
