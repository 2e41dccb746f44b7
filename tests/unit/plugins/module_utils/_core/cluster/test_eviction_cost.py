# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Costs of pods and nodes: the recorded answers hold the breadth, these are the rules."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.eviction_cost import (
    PodCost,
    eviction_cost,
    is_cost_of_empty_node,
    lifetime_remaining,
    node_cost,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.duration import HOUR


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (PodCost(), 1),
        (PodCost(deletion_cost="134217728"), 2),
        (PodCost(priority=33554432), 2),
        (PodCost(deletion_cost="abc"), 1),
        (PodCost(deletion_cost=" 1"), 1),
        (PodCost(deletion_cost="inf"), 10),
        (PodCost(priority=-(2**31)), -10),
    ],
)
def test_a_pod_costs_from_minus_10_to_10(pod: PodCost, expected: float) -> None:
    assert eviction_cost(pod) == expected


def test_pods_of_daemon_sets_and_negative_costs_leave_a_node_empty() -> None:
    assert is_cost_of_empty_node(node_cost([PodCost(daemon_set=True), PodCost(deletion_cost="-2147483647")]))
    assert not is_cost_of_empty_node(node_cost([PodCost()]))


def test_what_is_left_of_a_lifetime() -> None:
    born = datetime(2026, 1, 1, tzinfo=UTC)
    assert lifetime_remaining(born, born + timedelta(hours=6), 24 * HOUR) == 0.75
    assert lifetime_remaining(born, born + timedelta(hours=48), 24 * HOUR) == 0
    assert lifetime_remaining(born, born + timedelta(hours=48), None) == 1
    assert math.isnan(lifetime_remaining(born, born, 0))


def test_a_priority_beyond_all_numbers_is_the_highest() -> None:
    assert eviction_cost(PodCost(priority=10**400)) == 10.0 and eviction_cost(PodCost(priority=-(10**400))) == -10.0
