# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Timelines: every instant at which the limit changes, none in between."""

from __future__ import annotations

import bisect
import random
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import UNLIMITED, allowed
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.timeline import (
    Opening,
    now_and_next_change,
    timeline,
    with_closed_spans,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import Budget

WEDNESDAY = datetime(2026, 11, 18, 10, tzinfo=UTC)
YEAR = timedelta(days=365)


def limits(budgets: tuple[Budget, ...], start: datetime, days: int, nodes: int = 20) -> list[tuple[str, int]]:
    found = timeline(budgets, start, start + timedelta(days=days), nodes, "Empty")
    return [(f"{each.at:%a %H:%M}", each.limit) for each in found.changes]


def test_the_next_change_is_told_and_what_comes_after_it_d0_79() -> None:
    budgets = (Budget("0", "0 9 * * 1-5", "8h"),)
    now, then = now_and_next_change(budgets, WEDNESDAY, 20, "Empty", WEDNESDAY + YEAR)
    assert now.limit == 0
    assert then is not None
    assert (then.at, then.limit) == (datetime(2026, 11, 18, 17, tzinfo=UTC), UNLIMITED)
    assert then.as_dict() == {"at": "2026-11-18T17:00:00Z", "limit": None, "error": False}


def test_nothing_changes_where_no_window_opens() -> None:
    assert now_and_next_change((Budget("10%"),), WEDNESDAY, 20, "Empty", WEDNESDAY + YEAR)[1] is None
    assert now_and_next_change((Budget("10%"),), WEDNESDAY, 20, "Empty", WEDNESDAY)[1] is None


def test_a_span_without_time_has_no_openings() -> None:
    for end in (WEDNESDAY, WEDNESDAY - YEAR):
        none = timeline((Budget("10%"),), WEDNESDAY, end, 20, "Empty")
        assert (none.changes, none.openings) == ((), ())


def test_gradual_windows_d0_85() -> None:
    budgets = (Budget("1", "0 2 * * *", "2h"), Budget("3", "0 4 * * *", "4h"))
    midnight = datetime(2026, 11, 18, tzinfo=UTC)
    assert limits(budgets, midnight, 1) == [
        ("Wed 00:00", UNLIMITED),
        ("Wed 02:00", 1),
        ("Wed 04:00", 3),
        ("Wed 08:00", UNLIMITED),
    ]


def test_overlapping_hits_are_one_window() -> None:
    assert limits((Budget("0", "0 7-13 * * *", "7h"),), datetime(2026, 11, 18, tzinfo=UTC), 1)[1:] == [
        ("Wed 07:00", 0),
        ("Wed 20:00", UNLIMITED),
    ]


def test_openings_are_what_is_left_of_the_year() -> None:
    budgets = (Budget("50%"), Budget("0", "0 0 * * 1", "120h"))
    found = timeline(budgets, datetime(2026, 11, 16, tzinfo=UTC), datetime(2026, 11, 30, tzinfo=UTC), 20, "Empty")
    saturday = datetime(2026, 11, 21, tzinfo=UTC)
    week = timedelta(weeks=1)
    assert found.openings == tuple(
        Opening(start, start + timedelta(days=2), 10, 10) for start in (saturday, saturday + week)
    )


def test_an_unreadable_schedule_closes_all_of_it() -> None:
    found = timeline((Budget("5"), Budget("0", "bad", "1h")), WEDNESDAY, WEDNESDAY + YEAR, 20, "Empty")
    assert [(each.limit, each.error) for each in found.changes] == [(0, True)]
    assert found.openings == ()


def test_closed_in_some_spans_it_is_0_there_and_as_before_elsewhere() -> None:
    """At every minute that is tried, and told as few changes as there are."""
    start, end = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 7, tzinfo=UTC)
    found = timeline([Budget("4"), Budget("2", "0 9 * * *", "3h")], start, end, 10, "Drifted")
    spans = [
        (start - timedelta(days=1), start + timedelta(hours=1)),
        (start + timedelta(hours=8), start + timedelta(hours=10)),
        (start + timedelta(hours=9), start + timedelta(hours=11)),
        (end - timedelta(hours=1), end + timedelta(days=9)),
    ]
    shut = with_closed_spans(found, reversed(spans))
    assert [(each.at.day, each.at.hour, each.limit) for each in shut.changes] == [
        (5, 0, 0), (5, 1, 4), (5, 8, 0), (5, 11, 2), (5, 12, 4), (6, 9, 2), (6, 12, 4), (6, 23, 0),
    ]  # fmt: skip
    assert with_closed_spans(found, ()) == found and with_closed_spans(found, [(start, end)]).openings == ()


def test_a_leap_day_beyond_the_horizon_keeps_its_budget_active() -> None:
    budgets = (Budget("0", "0 0 29 2 *", "1h"),)
    found = timeline(budgets, datetime(2095, 1, 1, tzinfo=UTC), datetime(2105, 1, 1, tzinfo=UTC), 5, "Empty")
    assert [f"{each.at:%Y-%m-%dT%H:%M:%S} {each.limit}" for each in found.changes[1:]] == [
        "2096-02-29T00:00:00 0",
        f"2099-01-01T00:59:59 {UNLIMITED}",
        "2104-02-29T00:00:00 0",
        f"2104-02-29T01:00:00 {UNLIMITED}",
    ]


def test_a_timeline_says_at_every_instant_what_is_allowed_there() -> None:
    chance = random.Random(4)
    minutes, hours = ["0", "*", "*/7", "5,,10", "17", ","], ["*", "9", "22", "*/6", "7-13"]
    days, months, weekdays = ["*", "1", "31", "*/2", "29", "30,31"], ["*", "2", "feb", "*/3"], ["*", "1-5", "6", "*/2"]
    for _time in range(150):
        schedules = [" ".join(map(chance.choice, (minutes, hours, days, months, weekdays))) for _budget in range(2)]
        lengths = ["1m", "59m", "7h", "24h", "120h", "744h", "8760h", "0m"]
        budgets = [Budget(chance.choice(["0", "10%", "abc"]), one, chance.choice(lengths)) for one in schedules]
        start = datetime(chance.choice([2024, 2026, 2095, 2098]), chance.randint(1, 12), 28, 13, 5, 7, tzinfo=UTC)
        end = start + timedelta(days=chance.choice([1, 40]))
        found = timeline(budgets, start, end, 20, "Empty")
        instants = [each.at for each in found.changes]
        probes = [start + (end - start) * chance.random() for _probe in range(5)]
        probes += [at - timedelta(microseconds=each) for at in instants[1:6] for each in (0, 1)]
        for at in probes:
            here, there = found.changes[bisect.bisect_right(instants, at) - 1], allowed(budgets, at, 20, "Empty")
            assert (here.limit, here.error) == (there.limit, there.error), (budgets, at)
