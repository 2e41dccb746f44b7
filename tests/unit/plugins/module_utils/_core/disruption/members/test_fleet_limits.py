# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When windows and freezes of the fleet close the budgets of pools to our own verbs."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.budget_answers import (
    PoolAnswer,
    budget_answers,
    fleet_week,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.fleet_limits import window_answer
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.maintenance import calendar
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import configuration, freeze, maintenance, rotation

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def answer(*freezes: dict[str, t.Any]) -> PoolAnswer:
    rotations, windows = [read(rotation({"nodes": "1"})).object], [read(maintenance(freezes=list(freezes))).object]
    return budget_answers([MemberNodes(name="m1")], rotations, windows, NOW)[0]


def test_a_freeze_to_come_parts_the_openings_and_leaves_the_budget_as_it_is() -> None:
    found = answer(freeze(start="2026-06-03", end="2026-06-04"))
    first, last = datetime(2026, 6, 3, tzinfo=UTC), datetime(2026, 6, 5, tzinfo=UTC)
    end = NOW + timedelta(days=7)
    assert [(each.start, each.end) for each in found.openings] == [(NOW, first), (last, end)]
    assert [(each.start, each.end) for each in found.week.openings] == [(NOW, end)]
    assert [(each.start, each.end) for each in fleet_week(found).openings] == [(NOW, first), (last, end)]
    assert not found.closed_now and found.held == ()


def test_a_freeze_longer_than_the_week_leaves_no_opening() -> None:
    found = answer(freeze(start="2026-05-01", end="2026-07-01"))
    assert found.openings == () and found.closed_now and len(found.week.openings) == 1
    (closed,) = found.closures
    assert (closed.start, closed.end) == (NOW, NOW + timedelta(days=7))


def test_freezes_that_overlap_are_each_told() -> None:
    found = answer(freeze("a", start="2026-06-02", end="2026-06-03"), freeze("b", start="2026-06-03", end="2026-06-04"))
    told = found.as_dict(UTC)["closed_by_fleet"]
    assert [(each["start"][:10], each["end"][:10], each["why"]) for each in told] == [
        ("2026-06-02", "2026-06-04", "freeze a of FleetMaintenance standard"),
        ("2026-06-03", "2026-06-05", "freeze b of FleetMaintenance standard"),
    ]
    assert [each.start.day for each in found.openings] == [1, 5]


def test_without_freezes_and_windows_the_openings_are_those_of_the_budget() -> None:
    found = answer()
    assert found.closures == () and found.openings == found.week.openings


@pytest.mark.parametrize("hour", [1, 5], ids=["in the window that it began in", "after it"])
def test_a_freeze_that_began_in_a_window_holds_the_nodes(hour: int) -> None:
    nightly = configuration("nodeImage", {"daily": {"intervalDays": 1}}, startTime="22:00")
    times = calendar([read(maintenance(nightly, freezes=[freeze(start="2026-06-02", end="2026-06-03")])).object])
    found = window_answer(times, MemberNodes(name="m1", maintenance="standard"), datetime(2026, 6, 2, hour, tzinfo=UTC))
    assert found is not None and not found.open and found.why.startswith("freeze ")
    assert found.until == datetime(2026, 6, 4, tzinfo=UTC)
