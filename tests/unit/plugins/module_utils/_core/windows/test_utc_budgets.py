# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Windows with a zone as budgets in UTC, and what clock changes do to them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import allowed
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.fleet_windows import (
    OurWindow,
    read_window,
    within_windows,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.utc_budgets import as_utc_budgets

WINTER = datetime(2026, 1, 12, tzinfo=UTC)


def window(schedule: str, duration: str, zone: str = "Europe/Berlin", **more: object) -> OurWindow:
    return read_window({"schedule": schedule, "duration": duration, "timeZone": zone} | more)


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


CHANGES = (datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC), datetime(2026, 4, 5, tzinfo=UTC))
AROUND_CHANGES = (
    ("30 2 * * 0", "2h", "Europe/Berlin"),
    ("0 22 * * 6", "8h", "Europe/Berlin"),
    ("0 0 * * *", "24h", "Europe/Berlin"),
    ("0 1 * * *", "3h", "Europe/Berlin"),
    ("45 1 * * 0", "1h", "Australia/Lord_Howe"),
)


@pytest.mark.parametrize(("schedule", "duration", "zone"), AROUND_CHANGES)
def test_compiled_at_any_time_around_a_clock_change_they_permit_exactly_in_the_window_d0_72(
    schedule: str, duration: str, zone: str
) -> None:
    """F8: also where a window was opened by the clocks of before, and right up to the end of their validity."""
    wish = window(schedule, duration, zone)
    for change in CHANGES:
        for hours in range(-4, 32, 3):
            made = change + timedelta(hours=hours, minutes=15)
            compiled = as_utc_budgets(wish, "5", made)
            for at in (made + half * timedelta(minutes=30) for half in range(8)):
                if compiled.valid_until is None or at < compiled.valid_until:
                    is_open = within_windows([wish], [], at).open
                    assert (allowed(compiled.budgets, at, 9, "Empty").limit == 5) == is_open, (made, at)


def test_what_is_always_open_is_valid_for_a_year() -> None:
    compiled = as_utc_budgets(window("0 * * * *", "3h"), "5", WINTER)
    assert (len(compiled.budgets), compiled.valid_until, compiled.warning) == (1, None, "")
