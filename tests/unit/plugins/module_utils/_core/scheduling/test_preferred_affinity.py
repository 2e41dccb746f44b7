# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    AGENT,
    CPU,
    NODES,
    cluster,
    decide,
    fleet,
    pick_n,
    picked,
    prefer,
    term,
)

MOST_NODES = (NODES, "Descending")
COST = "kubernetes.azure.com/per-cpu-core-cost"


def affinity(outcome) -> dict[str, int]:
    return {name: each.spec.cluster_decision.cluster_score.affinity_score for name, each in outcome.holders.items()}


def test_preferences_order_and_never_exclude_D1_29():
    index = fleet(cluster("a", labels={"good": "yes"}), "b", "c")
    assert affinity(decide(pick_n(3, prefer(20, {"good": "yes"})), index)) == {"a": 20, "b": 0, "c": 0}
    assert picked(decide(pick_n(1, prefer(20, {"good": "yes"})), index)) == ["a"]


def test_the_ten_largest_of_twelve_D1_41():
    index = fleet(*(cluster(f"n{number:02}", str(number)) for number in range(1, 13)))
    outcome = decide(pick_n(10, prefer(20, None, MOST_NODES)), index)
    assert picked(outcome) == [f"n{number:02}" for number in range(3, 13)]
    scored = affinity(decide(pick_n(12, prefer(20, None, MOST_NODES)), index))
    assert (scored["n12"], scored["n01"]) == (20, 0)


def test_labels_and_sorter_together_D1_42_D1_43():
    prod, dev = {"env": "prod"}, {"env": "dev"}
    members = [("p8", "8", prod), ("p32", "32", prod), ("d4", "4", dev), ("d64", "64", dev)]
    index = fleet(*(cluster(name, cpu=cpu, labels=labels) for name, cpu, labels in members))
    scored = affinity(decide(pick_n(4, prefer(20, prod, (CPU, "Descending"))), index))
    assert scored == {"p8": 1, "p32": 9, "d4": 0, "d64": 0}


def test_extremes_count_clusters_that_cannot_be_picked_D1_38():
    gone = cluster("gone", "1000", agentStatus=[AGENT | {"lastReceivedHeartbeat": "2026-01-15T08:00:00Z"}])
    index = fleet(cluster("a", "10"), cluster("b", "5"), gone)
    assert affinity(decide(pick_n(2, prefer(100, None, MOST_NODES)), index)) == {"a": 1, "b": 0}


def test_required_terms_exclude_the_best_scored_D4_25():
    index = fleet(cluster("a", "9", labels={"env": "dev"}), cluster("b", "1", labels={"env": "prod"}))
    outcome = decide(pick_n(1, prefer(100, None, MOST_NODES), required=[term({"env": "prod"})]), index)
    assert picked(outcome) == ["b"]


def test_three_critical_clusters_among_those_allowed_D4_28():
    labels = {
        "a": {"critical-allowed": "true", "critical-level": "1"},
        "b": {"critical-allowed": "true"},
        "c": {"critical-level": "1"},
        "d": {"critical-allowed": "true", "critical-level": "1"},
        "e": {"critical-allowed": "true"},
    }
    index = fleet(*(cluster(name, labels=each) for name, each in labels.items()))
    policy = pick_n(3, prefer(20, {"critical-level": "1"}), required=[term({"critical-allowed": "true"})])
    assert affinity(decide(policy, index)) == {"a": 20, "d": 20, "e": 0}


def test_terms_are_rounded_one_by_one():
    index = fleet(cluster("a", "0"), cluster("b", "1"), cluster("c", "2"))
    half = prefer(5, None, MOST_NODES)
    assert affinity(decide(pick_n(3, half, half), index))["b"] == 6


@pytest.mark.parametrize("weight", [20, 0])
def test_a_malformed_value_anywhere_is_a_finding_and_fails_upstream_D1_19(weight):
    index = fleet(cluster("a", "1"), cluster("b", "9"), cluster("bad", "many"))
    policy = pick_n(1, prefer(weight, None, MOST_NODES))
    outcome = decide(policy, index)
    assert [finding.where for finding in outcome.findings] == [f"MemberCluster/bad status.properties[{NODES}].value"]
    assert picked(outcome) == (["b"] if weight else ["bad"])
    assert decide(policy, index, upstream=True).error.code == "malformed-property"


def test_equal_extremes_spelled_differently_fail_upstream_only():
    index = fleet(cluster("a", "300m"), cluster("b", "0.3"), cluster("c", "0.1"))
    policy = pick_n(3, prefer(50, None, MOST_NODES))
    assert affinity(decide(policy, index)) == {"a": 50, "b": 50, "c": 0}
    assert decide(policy, index, upstream=True).error.code == "sorter-out-of-range"


def test_one_value_spelled_in_two_ways_fails_upstream_where_the_later_one_is_another_float():
    policy = pick_n(2, prefer(50, None, MOST_NODES))
    later = fleet(cluster("a", "300m"), cluster("b", "0.3"))
    assert affinity(decide(policy, later)) == {"a": 0, "b": 0}
    assert decide(policy, later, upstream=True).error.code == "sorter-out-of-range"


@pytest.mark.parametrize(("huge", "least"), [("1e400", "1"), ("-1e400", "-1e400"), ("1e400", "1e400")])
def test_an_extreme_that_no_float_holds_fails_upstream_wherever_it_was_measured(huge, least):
    index = fleet(cluster("a", least), cluster("dead", huge, agentStatus=[]))
    policy = pick_n(1, prefer(50, None, MOST_NODES))
    assert picked(decide(policy, index)) == ["a"]
    assert decide(policy, index, upstream=True).error.code == "sorter-out-of-range"


@pytest.mark.parametrize(("weight", "code"), [(5, "malformed-requirement"), (0, None)])
def test_upstream_fails_of_a_preferred_label_selector_that_is_none_where_it_weighs(weight, code):
    policy = pick_n(1, prefer(weight, {"-env": "prod"}))
    error = decide(policy, fleet("a"), upstream=True).error
    assert (error and error.code) == code
    assert decide(policy, fleet(), upstream=True).error is None


@pytest.mark.parametrize(
    ("name", "order", "fact"),
    [
        (NODES, "Descending", lambda value: {"nodes": value}),
        (COST, "Ascending", lambda value: {"properties": {COST: value}}),
        *(
            (f"resources.kubernetes-fleet.io/{capacity}-memory", "Descending", usage)
            for capacity, usage in (
                ("total", lambda value: {"resourceUsage": {"capacity": {"memory": value}}}),
                ("allocatable", lambda value: {"resourceUsage": {"allocatable": {"memory": value}}}),
                ("available", lambda value: {"resourceUsage": {"available": {"memory": value}}}),
            )
        ),
    ],
)
def test_the_pick_follows_each_family_of_facts_D1_01(name, order, fact):
    policy = pick_n(1, prefer(100, None, (name, order)))
    better, worse = ("2", "1") if order == "Descending" else ("1", "2")
    assert picked(decide(policy, fleet(cluster("a", **fact(better)), cluster("b", **fact(worse))))) == ["a"]
    assert picked(decide(policy, fleet(cluster("a", **fact(worse)), cluster("b", **fact(better))))) == ["b"]


@pytest.mark.parametrize("name", ["resources.kubernetes-fleet.io/available", "resources.kubernetes-fleet.io/some-cpu"])
def test_upstream_reads_the_name_of_a_property_only_where_there_is_a_cluster(name: str):
    policy = pick_n(1, prefer(20, None, (name, "Descending")))
    assert decide(policy, fleet(), upstream=True).error is None
    assert decide(policy, fleet("a"), upstream=True).error.code == "malformed-sorter"
    assert [each.code for each in decide(policy, fleet()).findings] == ["malformed-sorter"]


def undecided(policy, index, **more) -> list[str]:
    return [str(each) for each in decide(policy, index, **more).findings]


def test_a_cost_that_no_eligible_cluster_reports_is_told_with_the_way_to_have_it():
    policy = pick_n(1, prefer(20, None, MOST_NODES), prefer(20, None, (COST, "Ascending")))
    tainted = cluster("c", "3", properties={COST: "0.1"}, taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    index = fleet(cluster("a", "1"), cluster("b", "2"), tainted)
    (told,) = undecided(policy, index)
    assert told.startswith("spec.policy.affinity") and "Execution[1].preference.propertySorter: " in told
    assert f"no eligible cluster reports {COST}, so this preference decides nothing [property-unreported]" in told
    assert """gitops.fleet.facts -e '{"prices":["aws","azure","gce"]}'""" in told
    assert undecided(policy, index, upstream=True) == []


def test_any_property_that_nobody_reports_is_told_and_one_that_somebody_does_is_not():
    policy = pick_n(1, prefer(20, None, ("example.com/rank", "Ascending")))
    (told,) = undecided(policy, fleet("a", "b"))
    assert "no eligible cluster reports example.com/rank" in told and "prices" not in told
    assert undecided(policy, fleet("a", cluster("b", properties={"example.com/rank": "1"}))) == []


def test_a_property_that_only_clusters_without_the_labels_of_its_term_report_is_told():
    policy = pick_n(1, prefer(20, {"env": "prod"}, (COST, "Ascending")))
    prod, other = cluster("a", labels={"env": "prod"}), cluster("b", properties={COST: "0.1"})
    (told,) = undecided(policy, fleet(prod, other))
    assert f"no eligible cluster with its labels reports {COST}, so this preference decides nothing" in told
    priced = cluster("c", labels={"env": "prod"}, properties={COST: "0.2"})
    assert all("property-unreported" not in each for each in undecided(policy, fleet(prod, other, priced)))


def test_a_preference_is_not_told_of_where_it_could_decide_nothing_anyway():
    sorter = (COST, "Ascending")
    assert undecided(pick_n(1, prefer(0, None, sorter)), fleet("a")) == []
    assert undecided(pick_n(1, prefer(20, None, sorter)), fleet()) == []


def test_clusters_without_a_price_are_named_with_what_follows_D1_40():
    priced = [cluster(name, properties={COST: cost}) for name, cost in (("a", "0.1"), ("b", "0.4"))]
    closed = cluster("e", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    policy = pick_n(1, prefer(20, None, (COST, "Ascending")))
    (told,) = undecided(policy, fleet(*priced, "c", "d", closed))
    assert (
        f"2 of 4 eligible clusters report no {COST}, and this preference gives them 0, as it gives the dearest" in told
    )
    assert ": c, d [price-unknown]" in told and """-e '{"prices":["aws","azure","gce"]}'""" in told
    (dear,) = undecided(pick_n(1, prefer(20, None, (COST, "Descending"))), fleet(*priced, "c"))
    assert "as it gives the cheapest" in dear
    (one,) = undecided(policy, fleet(priced[0], "c"))
    assert "it decides nothing, as there are not two different prices in the fleet: c" in one
    assert undecided(policy, fleet(*priced)) == undecided(policy, fleet(*priced, "c"), upstream=True) == []
    assert undecided(pick_n(1, prefer(20, None, MOST_NODES)), fleet(cluster("a", "1"), "c")) == [], "no price"
    assert undecided(pick_n(1, prefer(20, {"x": "y"}, (COST, "Ascending"))), fleet(*priced, "c")) == [], "not asked"
