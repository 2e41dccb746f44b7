# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.budget import (
    limits,
    target_count,
    unavailable_period,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.prop import MAX_INT32
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import pick_n, placement


@pytest.mark.parametrize(("number", "expected"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_percentages_round_up_both_D4_78(number, expected):
    found = limits(placement(pick_n(number)), 0, upstream=False)
    assert (found.max_unavailable, found.max_surge) == (expected, expected)
    assert found.floor == number - expected


def test_the_target_is_what_the_policy_asks_for():
    assert target_count(placement(pick_n(7)), picked=3) == 7
    assert target_count(placement({"placementType": "PickFixed", "clusterNames": ["a", "b"]}), picked=1) == 2
    assert target_count(placement({"placementType": "PickAll"}), picked=3) == 3
    assert target_count(placement(None), picked=3) == 3


def test_no_number_is_guessed():
    with pytest.raises(FleetError, match="numberOfClusters"):
        target_count(placement({"placementType": "PickN"}), 1)


def test_all_malformed_budgets_are_named():
    broken = placement(pick_n(4), maxUnavailable="many", maxSurge="5")
    with pytest.raises(FleetError) as error:
        limits(broken, 0, upstream=False)
    assert [each.where for each in error.value.problems] == [
        "ClusterResourcePlacement/web spec.strategy.rollingUpdate.maxUnavailable",
        "ClusterResourcePlacement/web spec.strategy.rollingUpdate.maxSurge",
    ]
    assert limits(broken, 0, upstream=True).max_unavailable == 0


def test_the_period_has_a_default_and_bounds_D4_79():
    assert unavailable_period(placement()) == timedelta(seconds=60)
    assert unavailable_period(placement(unavailablePeriodSeconds=-5)) == timedelta(0)
    assert unavailable_period(placement(unavailablePeriodSeconds=10**30)) == timedelta(seconds=MAX_INT32)
