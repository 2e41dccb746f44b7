# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Costs of pods and nodes: the recorded answers hold the breadth, these are the rules."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.eviction_cost import (
    PodCost,
    eviction_cost,
    is_empty,
    lifetime_remaining,
    node_cost,
    parse_float,
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
    assert is_empty(node_cost([PodCost(daemon_set=True), PodCost(deletion_cost="-2147483647")]))
    assert not is_empty(node_cost([PodCost()]))


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e6", 1e6), (".5", 0.5), ("5.", 5), ("0x1p27", 2.0**27), ("1_000", 1000), ("-Infinity", -math.inf)],
)
def test_floats_as_go_reads_them(text: str, value: float) -> None:
    assert parse_float(text) == value


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "٣", "1__0", "_1", "1_", "1e400", "0x10", "0x1p99999", ".", "+nan", "1,5"]
)
def test_what_go_refuses_is_no_number(text: str) -> None:
    assert parse_float(text) is None


def test_what_is_left_of_a_lifetime() -> None:
    born = datetime(2026, 1, 1, tzinfo=UTC)
    assert lifetime_remaining(born, born + timedelta(hours=6), 24 * HOUR) == 0.75
    assert lifetime_remaining(born, born + timedelta(hours=48), 24 * HOUR) == 0
    assert lifetime_remaining(born, born + timedelta(hours=48), None) == 1
    assert math.isnan(lifetime_remaining(born, born, 0))


@pytest.mark.parametrize(
    "text", ["1" * 200_000 + "x", "0x" + "a" * 200_000, "1_" * 100_000, "0x" + "_a" * 100_000 + "q"]
)
def test_a_long_text_that_is_no_number_is_read_once(text: str) -> None:
    start = time.process_time()
    assert parse_float(text) is None and time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1_0.5_0e1_0", 10.5e10),
        ("1.", 1.0),
        (".5", 0.5),
        ("0x_1.8p1", 3.0),
        ("0x.8p1", 1.0),
        ("0x1p-2", 0.25),
        ("0xp1", None),
    ],
)
def test_numbers_of_all_forms_are_read(text: str, number: float | None) -> None:
    assert parse_float(text) == number


def test_a_priority_beyond_all_numbers_is_the_highest() -> None:
    assert eviction_cost(PodCost(priority=10**400)) == 10.0 and eviction_cost(PodCost(priority=-(10**400))) == -10.0
