# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import (
    label_key_problem,
    label_value_problem,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    CPU,
    NODES,
    Manifest,
    cluster,
    decide,
    fleet,
    pick_n,
    picked,
    require,
    term,
)

OPERATORS = ["Gt", "Ge", "Lt", "Le", "Eq", "Ne"]


def refusal(policy: Manifest, *clusters):
    (decision,) = decide(policy, fleet(*clusters)).left_out
    assert decision.rule == "ClusterAffinity"
    return decision


def test_exactly_the_clusters_with_five_nodes_D1_25():
    fours = [cluster("a", "4"), cluster("b", "5"), cluster("c", "9"), cluster("d")]
    assert picked(decide(require(term(None, (NODES, "Ge", "5"))), fleet(*fours))) == ["b", "c"]


def test_label_and_property_must_both_match_D1_27_D1_28():
    members = [
        cluster("east-4", "4", labels={"region": "east"}),
        cluster("east-5", "5", labels={"region": "east"}),
        cluster("none-9", "9"),
        cluster("west-9", "9", labels={"region": "west"}),
    ]
    both = term({"region": "east"}, (NODES, "Ge", "5"))
    assert picked(decide(require(both), fleet(*members))) == ["east-5"]
    assert len(picked(decide(require(both, term()), fleet(*members)))) == 4


@pytest.mark.parametrize("wanted", [term({"tier": "gold"}), term(None, (NODES, "Ge", "5"))])
def test_pick_all_and_pick_n_select_by_labels_and_by_properties_D4_41_D4_42(wanted):
    members = fleet(cluster("a", "4"), cluster("b", "9", labels={"tier": "gold"}), cluster("c"))
    assert picked(decide(require(wanted), members)) == ["b"]
    assert picked(decide(pick_n(2, required=[wanted]), members)) == ["b"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("fleet.azure.com/location", "westus"), ("fleet.azure.com/resource-group", "rg_prodapps_01")],
)
def test_labels_of_the_cloud_select_D4_39(key, value):
    assert not label_key_problem(key) and not label_value_problem(value)
    assert picked(decide(require(term({key: value})), fleet(cluster("a", labels={key: value}), "b"))) == ["a"]


def test_terms_are_alternatives_and_expressions_are_not_D1_08():
    members = [cluster(f"n{nodes}-c{cpu}", str(nodes), str(cpu)) for nodes in (1, 9) for cpu in (1, 9)]
    anded = require(term(None, (NODES, "Gt", "5"), (CPU, "Gt", "5")))
    ored = require(term(None, (NODES, "Gt", "5")), term(None, (CPU, "Gt", "5")))
    assert picked(decide(anded, fleet(*members))) == ["n9-c9"]
    assert picked(decide(ored, fleet(*members))) == ["n1-c9", "n9-c1", "n9-c9"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_missing_property_fails_every_operator_D1_21(operator):
    decision = refusal(require(term(None, (NODES, operator, "5"))), cluster("a"))
    assert [part.code for part in decision.refusal.parts] == ["property-missing"]


def test_the_reason_names_expression_observed_and_wanted_value_D1_20():
    decision = refusal(require(term(None, (NODES, "Ge", "5"))), cluster("a", "4"))
    assert f"{NODES} Ge 5" in decision.reason
    assert "reports 4" in decision.reason
    (part,) = decision.refusal.as_dict()["terms"]
    assert (part["observed"], part["wanted"], part["operator"]) == ("4", "5", "Ge")


def test_the_reason_names_the_label_of_each_term():
    policy = require(term({"region": "east", "env": "prod"}), term({"env": "dev"}))
    decision = refusal(policy, cluster("a", labels={"region": "east"}))
    assert "term 1 wants label env=prod, it has no such label" in decision.reason
    assert "term 2 wants label env=dev" in decision.reason


def test_a_malformed_observed_value_excludes_only_its_cluster_D1_19():
    outcome = decide(require(term(None, (NODES, "Ge", "5"))), fleet(cluster("a", "v1.30.2"), cluster("b", "7")))
    assert picked(outcome) == ["b"]
    (finding,) = outcome.findings
    assert finding.code == "malformed-property"
    assert finding.where == f"MemberCluster/a status.properties[{NODES}].value"
    assert outcome.left_out[0].refusal.parts[0].code == "property-malformed"


def test_upstream_fails_over_it_and_places_nothing():
    members = fleet(cluster("a", "v1.30.2"), cluster("b", "7"))
    outcome = decide(require(term(None, (NODES, "Ge", "5"))), members, upstream=True)
    assert outcome.error is not None
    assert outcome.error.code == "malformed-property"
    assert (outcome.bindings, outcome.decisions, outcome.written) == ((), (), False)


def test_a_malformed_value_behind_a_label_mismatch_is_not_read():
    policy = require(term({"env": "prod"}, (NODES, "Ge", "5")))
    outcome = decide(policy, fleet(cluster("a", "nonsense"), cluster("b", "7", labels={"env": "prod"})), upstream=True)
    assert (outcome.error, picked(outcome)) == (None, ["b"])


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"env": "in prod"}},
        {"matchExpressions": [{"key": "env", "operator": "In", "values": []}]},
        {"matchExpressions": [{"key": "env", "operator": "Exists", "values": ["prod"]}]},
        {"matchExpressions": [{"key": "env", "operator": "Gt", "values": ["1"]}]},
    ],
)
def test_upstream_fails_of_a_label_selector_that_is_none_where_a_cluster_is_left_for_it(selector):
    error = decide(require({"labelSelector": selector}), fleet("a"), upstream=True).error
    assert error is not None
    assert error.where.endswith("clusterSelectorTerms[0].labelSelector")
    assert decide(require({}, {"labelSelector": selector}), fleet("a"), upstream=True).error is None
    assert decide(require({"labelSelector": selector}), fleet(), upstream=True).error is None


@pytest.mark.parametrize(
    ("requirement", "where"),
    [
        ({"name": NODES, "operator": "Ge", "values": []}, ".values"),
        ({"name": NODES, "operator": "Ge", "values": ["five"]}, ".values[0]"),
        ({"name": NODES, "operator": "In", "values": ["5"]}, ".operator"),
        ({"name": "resources.kubernetes-fleet.io/used-cpu", "operator": "Ge", "values": ["5"]}, ".name"),
    ],
)
def test_a_requirement_that_cannot_be_judged_matches_nobody_and_is_found(requirement, where):
    policy = require({"propertySelector": {"matchExpressions": [requirement]}})
    outcome = decide(policy, fleet(cluster("a", "7")))
    assert picked(outcome) == []
    assert [finding.code for finding in outcome.findings] == ["malformed-requirement"]
    assert outcome.findings[0].where.endswith(f"clusterSelectorTerms[0].propertySelector.matchExpressions[0]{where}")
    assert outcome.left_out[0].refusal.parts[0].code == "requirement-malformed"
    assert outcome.left_out[0].reason
