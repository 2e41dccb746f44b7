# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Hazards of budget lists, and mended lists that hold what they promise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import UNLIMITED, allowed
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.facts import reason_facts
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.lint import Lint, lint_budgets
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import (
    Budget,
    decode_budgets,
)

START = datetime(2026, 11, 16, tzinfo=UTC)
BUSINESS = (Budget("0", "0 9 * * 1-5", "8h"),)
WEEKEND = (Budget("50%", "0 0 * * 6", "48h"), Budget("0"))
GRADUAL = (Budget("1", "0 2 * * *", "2h"), Budget("3", "0 4 * * *", "4h"))
PATH = "spec.disruption.budgets"


def found(*budgets: Budget) -> dict[str, Lint]:
    return {each.code: each for each in lint_budgets(budgets, START)}


def limit(budgets: tuple[Budget, ...], at: str, nodes: int = 20) -> int:
    return allowed(budgets, datetime.fromisoformat(at).replace(tzinfo=UTC), nodes, "Empty").limit


def mended(finding) -> tuple[Budget, ...]:
    return decode_budgets(finding.mended[PATH])


def test_windows_alone_leave_the_rest_unlimited_d0_82() -> None:
    assert [limit(BUSINESS, at) for at in ("2026-11-18T12:00", "2026-11-18T18:00")] == [0, UNLIMITED]
    hole = found(*BUSINESS)["unlimited-outside-windows"]
    assert hole.message == "nothing limits disruption outside Mon-Fri 09:00-17:00 UTC"
    assert hole.spans[0] == (START, START + timedelta(hours=9))
    assert mended(hole) == (Budget("10%"), *BUSINESS)
    assert not lint_budgets(mended(hole), START)


def test_a_weekend_list_never_permits_d0_83() -> None:
    assert [limit(WEEKEND, at) for at in ("2026-11-21T12:00", "2026-11-18T12:00")] == [0, 0]
    assert found(*WEEKEND)["budget-never-permits"].level == "warning"


def test_a_weekend_list_is_mended_d0_84() -> None:
    rewrite = mended(found(*WEEKEND)["budget-never-permits"])
    assert rewrite == (Budget("50%"), Budget("0", "0 0 * * 1", "120h"))
    instants = ("2026-11-20T23:59:59", "2026-11-21T00:00:00", "2026-11-22T23:59:59", "2026-11-23T00:00:00")
    assert [limit(rewrite, at) for at in instants] == [0, 10, 10, 0]
    assert not lint_budgets(rewrite, START)


def test_a_gradual_list_is_unlimited_outside_and_gets_a_base_d0_85() -> None:
    instants = ("2026-11-18T01:59:59", "2026-11-18T02:00", "2026-11-18T04:00", "2026-11-18T08:00")
    assert [limit(GRADUAL, at) for at in instants] == [UNLIMITED, 1, 3, UNLIMITED]
    hole = found(*GRADUAL)["unlimited-outside-windows"]
    assert "outside daily 02:00-08:00 UTC" in hole.message
    assert [limit(mended(hole), at) for at in instants] == [2, 1, 3, 2]


def test_several_windows_keep_their_own_numbers() -> None:
    windows = (Budget("1", "0 22 * * 1-5", "2h"), Budget("3", "0 4 * * 6", "4h"))
    rewrite = mended(found(*windows, Budget("0"))["budget-never-permits"])
    assert [limit(rewrite, f"2026-11-{at}") for at in ("20T22:30", "21T05:00", "21T09:00", "18T12:00")] == [1, 3, 0, 0]


def test_three_facts_over_the_year_d0_86() -> None:
    business, weekend, gradual = (
        reason_facts(each, START, START + timedelta(weeks=1))[0] for each in (BUSINESS, WEEKEND, GRADUAL)
    )
    assert (len(business.closed), len(business.unlimited), business.deciding) == (5, 6, {0})
    assert (weekend.never_permits, weekend.unlimited, weekend.deciding) == (True, (), {1})
    assert (gradual.closed, len(gradual.unlimited), gradual.deciding) == ((), 8, {0, 1})


@pytest.mark.parametrize(
    ("budget", "code"),
    [
        (Budget("0", "0 0 * * 7", "1h"), "schedule-unreadable"),
        (Budget("0", "TZ=Europe/Berlin 0 9 * * *", "8h"), "schedule-unreadable"),
        (Budget("0", "@dailyfoo", "8h"), "schedule-unreadable"),
        (Budget("0", "0 0 30 2 *", "1h"), "schedule-never-fires"),
        (Budget("3000000000"), "nodes-overflow"),
        (Budget("9" * 30), "nodes-unreadable"),
    ],
)
def test_what_is_admitted_and_cannot_be_meant_is_an_error_d0_77(budget: Budget, code: str) -> None:
    assert [(each.code, each.level) for each in lint_budgets((Budget("10%"), budget), START)] == [(code, "error")]


@pytest.mark.parametrize(
    ("budgets", "code", "path"),
    [
        ((), "no-budget", PATH),
        ((Budget("10%"), Budget("0", reasons=())), "reasons-empty", f"{PATH}[1].reasons"),
        ((Budget("10%"), Budget("0", "@daily", "0m")), "window-empty", f"{PATH}[1].duration"),
        ((Budget("10%"), Budget("20%")), "budget-never-binds", f"{PATH}[1]"),
        ((Budget("0"), Budget("5", "@daily", "1h")), "budget-never-binds", f"{PATH}[1]"),
        ((Budget("10%"), Budget("0", "0 7-13 * * *", "7h")), "windows-overlap", f"{PATH}[1]"),
        ((Budget("5", reasons=("Drifted",)),), "reason-without-budget", PATH),
        (
            (Budget("5"), Budget("3", reasons=("Empty",)), Budget("4", reasons=("Empty", "Drifted"))),
            "reason-never-binds",
            f"{PATH}[2].reasons",
        ),
    ],
)
def test_hazards_are_named_at_their_place_d0_86(budgets: tuple[Budget, ...], code: str, path: str) -> None:
    assert (code, path) in [(each.code, each.path) for each in lint_budgets(budgets, START)]


@pytest.mark.parametrize(
    "budgets",
    [
        (Budget("10%"),),
        (Budget("20%"), Budget("5"), Budget("0", "@daily", "10m")),
        (Budget("10%"), Budget("0", "0 9 * * 1-5", "8h")),
        (Budget("20%"), Budget("5", "@daily", "10m")),
        # A budget limits when a disruption starts, not how long it takes.
        (Budget("10%"), Budget("0", "@daily", "23h50m")),
    ],
)
def test_good_lists_are_let_be(budgets: tuple[Budget, ...]) -> None:
    assert lint_budgets(budgets, START) == ()


def test_a_freeze_on_the_leap_day_is_not_told_to_decide_nothing() -> None:
    """Whoever took it out for that would have no freeze when the day comes."""
    freeze = Budget("0", "0 0 29 2 *", "24h")
    assert lint_budgets((Budget("10%"), freeze), START) == ()
    (alone,) = lint_budgets((freeze,), START)
    assert (alone.code, alone.message) == (
        "no-budget",
        "no budget is active in the coming year, so that nothing limits disruption",
    )
    leap_year = datetime(2027, 11, 16, tzinfo=UTC)
    assert [each.code for each in lint_budgets((Budget("0"), freeze), leap_year)][1:] == ["budget-never-binds"]


def test_a_stop_on_purpose_is_a_note_d0_97() -> None:
    assert [(each.code, each.level) for each in lint_budgets((Budget("0"),), START)] == [
        ("budget-never-permits", "note")
    ]


def test_windows_by_the_day_of_the_month_are_found_though_not_mended() -> None:
    hole = found(Budget("50%", "0 0 1 * *", "24h"), Budget("0"))["budget-never-permits"]
    assert hole.mended == {}


def test_only_reasons_that_the_policy_allows_want_a_budget() -> None:
    """WhenEmpty disrupts no node for being underutilized, and consolidateAfter Never none for being empty."""
    drift_only, both = (Budget("5", reasons=("Drifted",)),), (Budget("5", reasons=("Drifted", "Empty")),)
    assert "for Empty" in lint_budgets(drift_only, START, ("Empty", "Drifted"))[0].message.replace("covers", "for")
    assert lint_budgets(drift_only, START, ("Drifted",)) == ()
    assert lint_budgets(both, START, ("Empty", "Drifted")) == ()
    assert [each.code for each in lint_budgets(both, START)] == ["reason-without-budget"]


@pytest.mark.parametrize("amounts", [("5", "10%"), ("10%", "5"), ("10", "5")])
def test_of_two_budgets_that_cannot_be_read_one_is_needless_whatever_their_amounts(amounts: tuple[str, str]) -> None:
    unread = tuple(Budget(each, "0 0 * * 7", "1h") for each in amounts)
    (one, *_others) = reason_facts(unread, START, START + timedelta(days=1))
    assert one.never_permits and one.deciding == {0}


def test_a_span_without_time_has_no_facts() -> None:
    for one in reason_facts(BUSINESS, START, START):
        assert (one.closed, one.unlimited, one.never_permits, one.never_limits) == ((), (), False, False)


def test_a_base_is_offered_only_where_it_lowers_no_window() -> None:
    monthly = "0 9 1 * *"
    assert not found(Budget("50%", monthly, "8h"))["unlimited-outside-windows"].mended
    for lower in ("1", "10%"):
        hole = found(Budget(lower, monthly, "8h"))["unlimited-outside-windows"]
        assert mended(hole) == (Budget("10%"), Budget(lower, monthly, "8h"))
