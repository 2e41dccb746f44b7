# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``budget_mapping``: what every pool may lose, from the state of a cluster."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.counted_node import CountedNode
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.census import pool_allowances
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import decode_budgets
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import parse_time


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    pools = {each["name"]: decode_budgets(each["budgets"]) for each in input["nodepools"] if each["managed"]}
    nodes = [_node(each) for each in input["nodes"]]
    got = pool_allowances(pools, nodes, parse_time(input["now"]), input["reason"])
    return {"pools": {name: _row(each) for name, each in got.items()}}


def _node(row: dict[str, t.Any]) -> CountedNode:
    return CountedNode(
        name=row["name"],
        pool=row["nodepool"] or "",
        has_node=row["has_node"],
        has_node_claim=row["has_nodeclaim"],
        initialized=row["initialized"],
        ready=row["ready"] or "",
        marked=row["marked"],
        node_claim_deleting=row["nodeclaim_deleting"],
        instance_terminating=row["instance_terminating"] == "True",
    )


def _row(each: t.Any) -> dict[str, t.Any]:
    consuming = len(each.census.disrupting)
    return {
        "limit": each.answer.limit,
        "disrupting": consuming,
        "allowed": each.allowed,
        "blocked_event": each.writes_blocked_event,
    }
