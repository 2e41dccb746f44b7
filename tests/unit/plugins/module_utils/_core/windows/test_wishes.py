# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Windows in the words of people."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.fleet_windows import within_windows
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.utc_budgets import as_utc_budgets
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.wishes import window_of_words


def is_open(text: str, at: str) -> bool:
    return within_windows((window_of_words(text),), (), datetime.fromisoformat(at)).open


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("22:00-06:00 Europe/Berlin", "2026-01-15T21:00:00+00:00", "2026-01-15T05:00:00+00:00"),
        ("09:00-17:00", "2026-01-15T09:00:00+00:00", "2026-01-15T17:00:00+00:00"),
        ("Mon-Fri 20:00-04:00 America/New_York", "2026-01-17T08:59:00+00:00", "2026-01-18T02:00:00+00:00"),
        ("Sat,Sun 00:00-00:00 UTC", "2026-01-18T23:59:00+00:00", "2026-01-19T00:00:00+00:00"),
        ("Sat,Sun 00:00-24:00", "2026-01-18T23:59:00+00:00", "2026-01-19T00:00:00+00:00"),
        ("Mon-Fri 22:00-24:00", "2026-01-16T23:59:00+00:00", "2026-01-17T00:00:00+00:00"),
        ("Fri-Mon 01:00-02:00", "2026-01-19T01:30:00+00:00", "2026-01-20T01:30:00+00:00"),
    ],
)
def test_a_window_is_from_one_time_to_another(text: str, inside: str, outside: str) -> None:
    """To 24:00 as in the words of ours for windows."""
    assert (is_open(text, inside), is_open(text, outside)) == (True, False)


@pytest.mark.parametrize("text", ["", "soon", "22-06", "24:00-06:00", "Mo 22:00-06:00", "Mon-Wed-Fri 01:00-02:00"])
def test_other_words_are_refused_with_a_form_that_works(text: str) -> None:
    with pytest.raises(FleetError) as error:
        window_of_words(text)
    assert error.value.code == "unreadable-window" and "Europe/Berlin" in error.value.problems[0].hint


def test_an_unknown_zone_is_named() -> None:
    with pytest.raises(FleetError) as error:
        window_of_words("22:00-06:00 Europe/Berln")
    assert error.value.code == "unknown-time-zone"


def test_a_wish_becomes_budgets_that_hold_until_the_clocks_change_d0_72() -> None:
    found = as_utc_budgets(window_of_words("22:00-06:00 Europe/Berlin"), "20%", datetime(2026, 1, 15, 12, tzinfo=UTC))
    assert [each.as_dict() for each in found.budgets] == [
        {"nodes": "20%"},
        {"nodes": "0", "schedule": "0 5 * * *", "duration": "16h"},
    ]
    assert found.valid_until == datetime(2026, 3, 29, 1, tzinfo=UTC)
