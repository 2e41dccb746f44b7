# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Instants in windows of all forms."""

from __future__ import annotations

from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.fleet_windows import OurWindow
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.templates.windows import within_window

BUDGET = {"nodes": "0", "schedule": "0 22 * * *", "duration": "4h", "reasons": ["Drifted"]}
NTH = {"schedule": "0 2 * * sun", "duration": "3h", "timeZone": "Europe/Berlin", "nth": [-1]}
WEEKLY = {
    "schedule": {"weekly": {"intervalWeeks": 1, "dayOfWeek": "Friday"}},
    "durationHours": 8,
    "startTime": "22:00",
    "utcOffset": "+05:30",
}
HOURS = {"name": "default", "timeInWeek": [{"day": "Monday", "hourSlots": [3]}]}
MAINTENANCE = {
    "apiVersion": "gitops.fleet/v1alpha1",
    "kind": "FleetMaintenance",
    "metadata": {"name": "usual"},
    "spec": {
        "windows": [{"name": "aksManagedNodeOSUpgradeSchedule", "maintenanceWindow": WEEKLY}],
        "freezes": [{"name": "sale", "start": "2026-11-27", "end": "2026-11-29"}],
    },
}


@pytest.mark.parametrize(
    ("at", "window", "inside"),
    [
        ("2026-11-04T21:59:59Z", BUDGET, False),
        ("2026-11-04T22:00:00Z", BUDGET, True),
        ("2026-11-05T01:59:59Z", BUDGET, True),
        ("2026-11-05T02:00:00Z", BUDGET, False),
        ("2026-11-05T03:30:00+02:00", BUDGET, True),
        ("2026-11-29T01:00:00Z", NTH, True),
        ("2026-11-22T01:00:00Z", NTH, False),
        ("2026-11-06T16:30:00Z", WEEKLY, True),
        ("2026-11-06T16:29:59Z", WEEKLY, False),
        ("2026-11-06T20:00:00Z", {"name": "kubernetes", "maintenanceWindow": WEEKLY}, True),
        ("2026-11-09T03:59:00Z", HOURS, True),
        ("2026-11-09T04:00:00Z", HOURS, False),
        ("2026-11-06T20:00:00Z", [BUDGET, WEEKLY], True),
    ],
)
def test_an_instant_is_in_a_window_or_not(at, window, inside):
    assert within_window(at, window) is inside


def test_of_a_fleet_maintenance_the_windows_of_that_kind_count_and_freezes_always():
    assert within_window("2026-11-06T20:00:00Z", MAINTENANCE, "nodeImage")
    assert not within_window("2026-11-06T12:00:00Z", MAINTENANCE, "nodeImage")
    assert not within_window("2026-11-27T20:00:00Z", MAINTENANCE, "nodeImage")
    assert within_window("2026-11-06T12:00:00Z", MAINTENANCE), "without a window of that kind there is no limit"
    assert not within_window("2026-11-28T12:00:00Z", MAINTENANCE)


def test_now_is_the_present():
    assert within_window("now", {"schedule": "0 0 * * *", "duration": "24h"})


@pytest.mark.parametrize(
    ("at", "window", "words"),
    [
        ("noon", BUDGET, ["input", "'noon'"]),
        (5, BUDGET, ["input", "5"]),
        ("now", [], ["there is no window"]),
        ("now", "nightly", ["windows", "'nightly'"]),
        ("now", {"schedule": "0 0 * * 7", "duration": "1d", "zone": "UTC"}, ["schedule", "duration", "zone"]),
        ("now", {**NTH, "timeZone": "Europe/Atlantis"}, ["Europe/Atlantis"]),
        ("now", {**WEEKLY, "durationHours": 2, "utcOffset": "5"}, ["windows[0] durationHours", "windows[0] utcOffset"]),
        ("now", {**WEEKLY, "schedule": {}}, ["windows[0] schedule"]),
        ("now", {**MAINTENANCE, "spec": {"windows": [{}]}}, ["windows[0]", "name"]),
        ("now", {"apiVersion": "gitops.fleet/v1alpha1", "kind": "Gate", "metadata": {"name": "x"}}, ["windows[0]"]),
    ],
)
def test_bad_input_is_named(at, window, words):
    with pytest.raises(FleetError) as caught:
        within_window(at, window)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)


@pytest.mark.parametrize("window", [BUDGET, NTH, WEEKLY, HOURS, MAINTENANCE])
@pytest.mark.parametrize("at", ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00Z"])
def test_the_ends_of_the_calendar_are_no_instants(at, window):
    """What is looked for before and after them has no place in it."""
    with pytest.raises(FleetError, match="invalid-time"):
        within_window(at, window)


def test_what_is_governed_is_one_of_two():
    with pytest.raises(FleetError, match="kubernetes, nodeImage"):
        within_window("now", BUDGET, "platform")


def test_no_further_is_looked_than_the_instant(monkeypatch: pytest.MonkeyPatch):
    """A window that opens every five minutes has no end within a year, and looking for one took a minute."""
    looked: list[timedelta] = []
    spans = OurWindow.spans
    monkeypatch.setattr(
        OurWindow, "spans", lambda self, start, end: looked.append(end - start) or spans(self, start, end)
    )
    assert within_window("2026-05-01T12:00:30Z", {"schedule": "*/5 * * * *", "duration": "5m"})
    assert looked == [timedelta(minutes=1)]
