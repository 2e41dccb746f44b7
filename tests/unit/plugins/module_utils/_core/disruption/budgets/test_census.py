# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes count, and which consume a budget."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.counted_node import CountedNode
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.census import (
    pool_allowances,
    take_census,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import Budget

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


def pool(*others: CountedNode, ready: int = 10) -> list[CountedNode]:
    return [CountedNode(name=f"ready-{number}", pool="p") for number in range(ready)] + list(others)


def allowance(nodes: list[CountedNode], budget: str = "100%"):
    return pool_allowances({"p": (Budget(budget),)}, nodes, NOON, "Empty")["p"]


def test_what_counts_and_why_the_others_do_not_d0_59() -> None:
    others = [
        CountedNode(name="new", pool="p", initialized=False),
        CountedNode(name="foreign", pool="p", has_node_claim=False),
        CountedNode(name="going", pool="p", instance_terminating=True),
        CountedNode(name="coming", pool="p", has_node=False),
    ]
    found = take_census(pool(*others))["p"]
    assert found.total == 10
    assert found.excluded == {
        "new": "is not initialized",
        "foreign": "has no NodeClaim",
        "going": "has an instance that is terminating",
        "coming": "has no Node yet",
    }


def test_a_node_that_is_deleted_and_not_ready_is_subtracted_once_d0_60() -> None:
    both = CountedNode(name="both", pool="p", ready="False", node_claim_deleting=True)
    found = allowance(pool(both, ready=9))
    assert (found.census.total, found.allowed) == (10, 9)
    assert found.census.disrupting == {"both": "is being deleted and is not Ready"}


@pytest.mark.parametrize(
    "node",
    [
        CountedNode(name="n", pool="p", ready="Unknown"),
        CountedNode(name="n", pool="p", ready=""),
        CountedNode(name="n", pool="p", node_claim_deleting=True),
        CountedNode(name="n", pool="p", marked=True),
    ],
)
def test_nodes_going_for_any_cause_use_up_allowance_d0_65(node: CountedNode) -> None:
    assert allowance(pool(ready=10), "3").allowed == 3
    assert allowance(pool(node, ready=10), "3").allowed == 2


def test_the_sum_is_told_d0_62() -> None:
    deleting = CountedNode(name="old", pool="p", node_claim_deleting=True)
    assert allowance(pool(deleting), "15%").text == (
        "11 nodes count, limit 2 (15% of 11 nodes is 1.65, rounded up to 2) - 1 (old is being deleted) = 1"
    )


def test_the_sum_names_the_first_nodes_of_many() -> None:
    """It stands beside every node that waits for the budget."""
    going = [CountedNode(name=f"n{number}", pool="p", ready="False") for number in range(1000)]
    found = allowance(going, "10%")
    assert found.text.endswith("n19 is not Ready and 980 more) = 0") and found.text is found.text
    assert len(found.as_dict()["disrupting"]) == 1000


def test_one_node_is_no_nodes() -> None:
    assert "(1 node)" in allowance(pool(ready=10), "1").text
    assert "(50% of 1 node is 0.5, rounded up to 1)" in allowance(pool(ready=1), "50%").text


def test_no_limit_is_told_as_such() -> None:
    answer = pool_allowances({"p": ()}, pool(), NOON, "Empty")["p"]
    assert answer.as_dict()["allowed"] is None
    assert answer.text == "10 nodes count, no budget limits disruption"


def test_nodes_of_other_pools_change_nothing() -> None:
    stranger = CountedNode(name="x", pool="q", ready="False")
    assert allowance(pool(stranger)) == allowance(pool())


def test_the_event_comes_where_the_limit_is_0_and_not_where_it_is_used_up() -> None:
    marked = CountedNode(name="m", pool="p", marked=True)
    assert allowance(pool(), "0").writes_blocked_event
    assert not allowance(pool(marked), "1").writes_blocked_event
    assert not allowance([], "0").writes_blocked_event
