# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Budgets that let no node go: which, at what hours, and until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import allowed
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.closing import (
    closed_words,
    horizons,
    opens_at,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import Budget

# A Friday.
NIGHT = datetime(2026, 11, 27, 3, 39, tzinfo=UTC)
HALF, FOREVER = Budget("50%"), " for a year or more"


def words(*budgets: Budget, nodes: int = 3) -> str:
    opens = opens_at(budgets, NIGHT, nodes, "Drifted")
    return closed_words(allowed(budgets, NIGHT, nodes, "Drifted"), opens, NIGHT)


@pytest.mark.parametrize(
    ("budgets", "told"),
    [
        ((HALF, Budget("0", "0 21 * * *", "7h")), "budget 2 (0 nodes, 21:00-04:00 UTC) until Fri 04:00 UTC"),
        (
            (HALF, Budget("0", "0 21 * * mon-thu", "7h")),
            "budget 2 (0 nodes, mon-thu 21:00-04:00 UTC) until Fri 04:00 UTC",
        ),
        (
            (Budget("0", "0 0 27 11 *", "240h"),),
            "its budget (0 nodes, 0 0 27 11 * for 240h) until Mon 2026-12-07 00:00 UTC",
        ),
        ((HALF, Budget("0")), f"budget 2 (0 nodes){FOREVER}"),
        ((Budget("0"), Budget("0%")), f"budget 1 (0 nodes), budget 2 (0% of 3 nodes is 0){FOREVER}"),
        ((Budget("0", "@daily", "24h"),), f"its budget (0 nodes, @daily for 24h){FOREVER}"),
        (
            (Budget("many"),),
            f"its budget ('many' is neither a number nor a percentage){FOREVER}",
        ),
    ],
)
def test_a_closed_budget_is_named_with_its_hours_and_its_next_opening(budgets: tuple[Budget, ...], told: str) -> None:
    assert words(*budgets) == told


def test_it_opens_when_all_of_them_do() -> None:
    budgets = (Budget("0", "0 21 * * *", "7h"), Budget("0", "30 3 * * *", "1h"))
    assert opens_at(budgets, NIGHT, 9, "Drifted") == datetime(2026, 11, 27, 4, 30, tzinfo=UTC)


def test_budgets_that_open_all_the_time_are_not_looked_at_for_a_year() -> None:
    """Forty-nine of them, each thirty times an hour: the lease of a step would run out."""
    often = [Budget("1", f"{','.join(map(str, range(0, 60, 2)))} * * * *", "1m")] * 49
    near, far = horizons((Budget("0"), *often))
    assert near == far == timedelta(days=9)
    assert horizons([Budget("0", "0 21 * * *", "7h")]) == (near, timedelta(days=366))
    assert words(Budget("0"), often[0]).endswith(" for 27 days or more")


def test_a_share_of_no_nodes_is_told_as_such() -> None:
    assert words(Budget("10%"), nodes=0) == f"its budget (10% of 0 nodes is 0){FOREVER}"
