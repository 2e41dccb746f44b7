# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``disruption_cost``: costs of pods and of their node, compared as 64-bit floats."""

from __future__ import annotations

import math
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster import eviction_cost as cost
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.duration import parse_or_never
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import parse_time


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    pods = [_pod(each) for each in input["pods"]]
    costs, of_node = [cost.eviction_cost(each) for each in pods], cost.node_cost(pods)
    created, now = parse_time(input["created"]), parse_time(input["now"])
    return {
        "pod_costs": costs,
        "pod_costs_sum": math.fsum(costs),
        "node_cost": of_node,
        "empty": cost.is_cost_of_empty_node(of_node),
        "savings_ratio": cost.savings_ratio(input["price"], of_node),
        "lifetime_remaining": cost.lifetime_remaining(created, now, parse_or_never(input["expire_after"])),
    }


def same(expected: dict[str, t.Any], got: dict[str, t.Any]) -> str | None:
    wrong = [key for key, value in expected.items() if not _close(value, got[key])]
    return "; ".join(f"{key}: expected {expected[key]}, got {got[key]}" for key in wrong) or None


def _pod(row: dict[str, t.Any]) -> cost.PodCost:
    return cost.PodCost(deletion_cost=row["deletion_cost"], priority=row["priority"], daemon_set=row["daemonset"])


def _close(expected: t.Any, got: t.Any) -> bool:
    if isinstance(expected, list):
        return len(expected) == len(got) and all(map(_close, expected, got))
    if expected is None:
        return math.isnan(got)
    return math.isclose(expected, got, rel_tol=1e-12, abs_tol=1e-12)
