# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    NODES,
    binding,
    changes,
    cluster,
    decide,
    fleet,
    pick_n,
    picked,
    prefer,
)

REGION = {"topologyKey": "region", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}


def test_equal_scores_go_to_the_larger_name_D1_45():
    index = fleet("a", "b", "c", "m10", "m2")
    assert picked(decide(pick_n(1), fleet("a", "b", "c"))) == ["c"]
    assert picked(decide(pick_n(1), index)) == ["m2"]


def test_too_few_clusters_are_all_picked_and_the_shortfall_told_D1_46():
    index = fleet(*(f"m{number}" for number in range(7)))
    outcome = decide(pick_n(10), index)
    assert (outcome.count, outcome.wanted, outcome.condition_reason) == (7, 10, "SchedulingPolicyUnfulfilled")


def test_no_number_no_decision_D4_29():
    with pytest.raises(FleetError) as caught:
        decide({"placementType": "PickN"}, fleet("a"))
    assert caught.value.where == "ClusterResourcePlacement/web spec.policy.numberOfClusters"


def test_raising_the_number_only_adds_D4_98():
    outcome = decide(pick_n(3), fleet("a", "b", "c", "d"), binding("a"), binding("b"))
    assert changes(outcome) == {"d": "created"}


def test_a_better_new_cluster_displaces_nobody_D4_96():
    index = fleet(cluster("a", "1"), cluster("new", "9"))
    assert decide(pick_n(1, prefer(100, None, (NODES, "Descending"))), index, binding("a")).changes == ()


def test_lowering_removes_scheduled_before_bound_and_worst_first_D4_99():
    held = [
        binding("a", score=(0, 50)),
        binding("b", score=(1, 0)),
        binding("c", score=(0, 10)),
        binding("d", "Scheduled", score=(5, 99)),
    ]
    index = fleet("a", "b", "c", "d")
    order = [decide(pick_n(number), index, *held) for number in (3, 2, 1, 0)]
    gone = [set(changes(outcome)) for outcome in order]
    assert gone == [{"d"}, {"d", "c"}, {"d", "c", "a"}, {"d", "c", "a", "b"}]


def test_equal_scores_keep_their_place_after_an_edit_D4_97():
    index = fleet("a", "b", "c")
    outcome = decide(pick_n(2), index, binding("a", policy="web-0"), binding("b", policy="web-0"))
    assert changes(outcome) == {"a": "rebased", "b": "rebased"}


def test_a_better_score_moves_after_an_edit():
    index = fleet(cluster("a", "1"), cluster("z", "9"))
    policy = pick_n(1, prefer(100, None, (NODES, "Descending")))
    assert changes(decide(policy, index, binding("a", policy="web-0"))) == {"a": "unscheduled", "z": "created"}


def test_stickiness_lasts_over_all_batches_of_a_spread_but_upstream_D4_97():
    index = fleet(*(cluster(name, labels={"region": "one"}) for name in "abcd"))
    held = [binding(name, policy="web-0") for name in "ab"]
    policy = pick_n(2, topologySpreadConstraints=[REGION])
    outcome = decide(policy, index, *held)
    assert (changes(outcome), outcome.cycles) == ({"a": "rebased", "b": "rebased"}, 2)
    assert [dict(each.metadata.annotations) for each in outcome.bindings] == [{}, {}]
    assert picked(decide(policy, index, *held, upstream=True)) == ["b", "d"]


def test_enough_holders_need_no_cycle_and_the_others_are_told_why():
    outcome = decide(pick_n(1), fleet("a", "b"), binding("a"))
    assert (outcome.changes, [each.cluster for each in outcome.decisions]) == ((), ["a"])
    assert [(each.cluster, each.rule) for each in outcome.left_out] == [("b", "not-needed")]


def test_who_lost_on_score_is_listed_in_order_of_score():
    index = fleet(cluster("a", "1"), cluster("b", "9"), cluster("c", "5"))
    outcome = decide(pick_n(1, prefer(10, None, (NODES, "Descending"))), index)
    assert [(each.cluster, each.outcome) for each in outcome.decisions] == [
        ("b", "picked"),
        ("c", "scored"),
        ("a", "scored"),
    ]
    assert outcome.left_out[0].reason == "it passes, but its score is not high enough (spread 0, affinity 0)"


def test_who_lost_with_an_equal_score_is_told_to_whom_and_by_what():
    """KubeFleet sorts equal scores by larger name."""
    outcome = decide(pick_n(1), fleet("a", "b"))
    assert [each.cluster for each in outcome.decisions if each.outcome == "picked"] == ["b"]
    assert outcome.left_out[0].rule == "not-enough-score"
    assert outcome.left_out[0].reason.startswith("it passes with the score of b (spread 0, affinity 0); of equal ones")
