# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One rule for clock times that a clock change skips or repeats, whichever kind of window asks (F8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_maintenance import (
    DailySchedule,
    MaintenanceSchedule,
    MaintenanceWindow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.clocks import (
    local_to_instant,
    next_clock_change,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.fleet_windows import read_window
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.maintenance import openings
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.spans import clipped

# Zone, clock time, instant: the hour, half an hour and a whole day are skipped; the hour and half an hour come twice.
CASES = (
    ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:00"),
    ("Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00"),
    ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:30"),
    ("Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00"),
    ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30"),
    ("Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-04T14:45"),
    ("Asia/Kathmandu", "2026-01-01T00:00", "2025-12-31T18:15"),
)


@pytest.mark.parametrize(("zone", "clock", "comes"), CASES)
def test_when_a_clock_shows_a_time(zone: str, clock: str, comes: str) -> None:
    assert local_to_instant(datetime.fromisoformat(clock), ZoneInfo(zone)) == datetime.fromisoformat(comes).replace(
        tzinfo=UTC
    )


@pytest.mark.parametrize(("zone", "clock", "_comes"), CASES)
def test_both_kinds_of_windows_are_open_at_the_same_time(zone: str, clock: str, _comes: str) -> None:
    starts = datetime.fromisoformat(clock)
    ours = read_window({"schedule": f"{starts.minute} {starts.hour} * * *", "duration": "5h", "timeZone": zone})
    every_day = MaintenanceSchedule(daily=DailySchedule(interval_days=1))
    theirs = MaintenanceWindow(schedule=every_day, duration_hours=5, start_time=f"{starts:%H:%M}", time_zone=zone)
    start, end = (starts.replace(tzinfo=UTC) + days * timedelta(days=1) for days in (-3, 3))
    assert clipped(ours.spans(start, end), start, end) == clipped(openings(theirs, start, end), start, end)


def test_the_next_clock_change() -> None:
    berlin, year = ZoneInfo("Europe/Berlin"), timedelta(days=366)
    change = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert next_clock_change(berlin, datetime(2026, 1, 1, tzinfo=UTC), year) == change
    assert next_clock_change(berlin, change, year) == datetime(2026, 10, 25, 1, tzinfo=UTC)
    assert next_clock_change(ZoneInfo("Asia/Kathmandu"), change, year) is None


def test_a_clock_change_in_the_second_in_which_the_look_ahead_ends() -> None:
    now = datetime(2026, 10, 24, 20, 0, 0, 500_000, tzinfo=UTC)
    found = next_clock_change(ZoneInfo("Europe/Vienna"), now, timedelta(hours=5))
    assert found == datetime(2026, 10, 25, 1, tzinfo=UTC)


def test_a_clock_change_further_ahead_is_not_told() -> None:
    berlin, before = ZoneInfo("Europe/Berlin"), datetime(2026, 3, 28, 12, tzinfo=UTC)
    assert next_clock_change(berlin, before, timedelta(hours=12)) is None
    assert next_clock_change(berlin, before, timedelta(hours=13)) == datetime(2026, 3, 29, 1, tzinfo=UTC)
