# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Windows of our own: time zones, nth weekdays, freezes, and what clock changes do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.fleet_windows import (
    FrozenSpan,
    open_spans,
    read_window,
    within_windows,
)

WINTER = datetime(2026, 1, 12, tzinfo=UTC)


def window(schedule: str, duration: str, zone: str = "Europe/Berlin", **more: object):
    return read_window({"schedule": schedule, "duration": duration, "timeZone": zone} | more)


def spans(one: object, start: datetime, days: int, *freezes: FrozenSpan) -> list[str]:
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
    freeze = FrozenSpan("sale", WINTER + timedelta(hours=2), WINTER + timedelta(hours=3))
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
    frozen = within_windows([], [FrozenSpan("sale", WINTER, WINTER + timedelta(days=1))], noon)
    assert (frozen.open, frozen.why) == (False, "in the freeze sale")
    assert within_windows([], [], noon).until is None


def test_all_problems_of_a_window_come_at_once() -> None:
    with pytest.raises(FleetError) as refused:
        read_window({"schedule": "0 0 * * 7", "duration": "90s", "timeZone": "Mars/Base", "nth": [6], "zone": "UTC"})
    codes = ["unknown-field", "invalid-schedule", "invalid-duration", "unknown-time-zone", "not-one-of"]
    assert [each.code for each in refused.value.problems] == codes


@pytest.mark.parametrize("nth", [[True], [1.0], [0], ["1"], 1])
def test_the_nth_is_a_whole_number_and_nothing_that_equals_one(nth: object) -> None:
    with pytest.raises(FleetError, match="not-one-of"):
        window("0 3 * * 2", "1h", nth=nth)


@pytest.mark.parametrize("schedule", ["@every 1h", "0 0 30 2 *", "", 5])
def test_what_has_no_clock_time_or_never_comes_is_refused(schedule: object) -> None:
    with pytest.raises(FleetError, match="invalid-schedule"):
        read_window({"schedule": schedule, "duration": "1h"})


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Apia", "America/New_York"])
@pytest.mark.parametrize("at", ["0001-01-01T00", "0001-01-01T12", "9999-12-31T12", "9999-12-31T23:59:59"])
def test_the_ends_of_the_calendar_are_instants_like_others(at: str, zone: str) -> None:
    now = datetime.fromisoformat(at).replace(tzinfo=UTC)
    assert within_windows([window("0 */6 * * *", "24h", zone)], [], now).open or now.year == 1


def test_a_window_lasts_a_minute_to_a_year() -> None:
    assert [window("0 0 1 1 *", length).duration for length in ("1m", "8784h")] == [
        timedelta(minutes=1),
        timedelta(days=366),
    ]
    for length in ("0m", "30s", "8784h1m"):
        with pytest.raises(FleetError) as refused:
            window("0 0 1 1 *", length)
        assert "whole minutes up to a year" in str(refused.value)
