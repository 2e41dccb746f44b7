# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import SCHEDULER_FINALIZER
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.explain import (
    explain_outcome,
    verdicts,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    AGENT,
    CPU,
    HEALTHY,
    NODES,
    binding,
    cluster,
    fleet,
    pick_n,
    placement,
    prefer,
    require,
    snapshot,
    term,
)

ANIMALS = {"bravelion": "100", "smartfish": "20", "jumpingcat": "10"}


def ask(policy, index, name, *bindings):
    return explain_outcome(schedule(placement(policy), snapshot(), index, bindings), name)


def test_the_cpu_table_can_be_read_off_D1_35_D1_48():
    index = fleet(*(cluster(name, cpu=value) for name, value in ANIMALS.items()))
    rows = {name: ask(pick_n(1, prefer(20, None, (CPU, "Descending"))), index, name).terms[0] for name in ANIMALS}
    assert {name: round(100 * row.fraction, 2) for name, row in rows.items()} == {
        "bravelion": 100.0,
        "smartfish": 11.11,
        "jumpingcat": 0.0,
    }
    assert [row.score for row in rows.values()] == [20, 2, 0]
    told = rows["smartfish"].as_dict()
    assert (told["observed"], told["minimum"], told["maximum"]) == ("20", "10", "100")
    assert (told["minimumCluster"], told["maximumCluster"]) == ("jumpingcat", "bravelion")
    assert told["exact"] == pytest.approx(20 / 9)


def test_the_cost_table_can_be_read_off_D1_36():
    cost = "kubernetes.azure.com/per-cpu-core-cost"
    values = {"bravelion": "1", "smartfish": "0.2", "jumpingcat": "0.1"}
    index = fleet(*(cluster(name, properties={cost: value}) for name, value in values.items()))
    rows = [ask(pick_n(1, prefer(20, None, (cost, "Ascending"))), index, name).terms[0] for name in values]
    assert [(round(100 * row.fraction, 2), row.score) for row in rows] == [(0.0, 0), (88.89, 18), (100.0, 20)]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"a": "5", "b": "5"}, "no-spread"),
        ({"a": None, "b": "5"}, "property-missing"),
        ({"a": "x", "b": "5"}, "property-malformed"),
        ({"a": "1", "b": "5"}, ""),
    ],
)
def test_why_a_term_gives_nothing_D1_39_D1_40(values, code):
    index = fleet(*(cluster(name, value) for name, value in values.items()))
    row = ask(pick_n(2, prefer(20, None, (NODES, "Descending"))), index, "a").terms[0]
    assert (row.code, row.score) == (code, 0)


def test_terms_without_a_sorter_give_all_or_nothing_D1_43():
    index = fleet(cluster("a", labels={"env": "prod"}), "b")
    policy = pick_n(2, prefer(20, {"env": "prod"}))
    assert [ask(policy, index, name).terms[0].code for name in "ab"] == ["full-weight", "label-mismatch"]


def test_the_sentence_of_each_outcome():
    index = fleet(cluster("east", "9", labels={"region": "east"}), cluster("west", "4"))
    policy = require(term(None, (NODES, "Ge", "5")))
    west = ask(policy, index, "west")
    assert not west.picked
    assert west.sentence == (
        "west is not picked: it matches none of the required terms: "
        "term 1 wants kubernetes-fleet.io/node-count Ge 5, it reports 4."
    )
    assert ask(policy, index, "east").sentence == "east is picked, as it passes every filter."
    assert ask(policy, index, "east", binding("east")).sentence == (
        "east keeps the placement, which it holds under this policy already."
    )
    held = ask(policy, index, "west", binding("west"))
    assert held.picked
    assert held.sentence.startswith("west keeps the placement, though it would not be picked afresh: it matches none")
    lost = ask(policy, index, "west", binding("west", policy="web-0"))
    kept = ask(policy, index, "east", binding("east", policy="web-0"))
    assert kept.sentence == "east keeps the placement under the changed policy: picked, as it passes every filter."
    assert (lost.change, lost.sentence[:26]) == ("unscheduled", "west loses the placement: ")


def test_a_cluster_whose_old_binding_is_released_and_that_is_picked_anew_shows_both_in_order():
    old = binding("a", name="web-a-9", deletionTimestamp="2026-01-15T11:00:00Z", finalizers=[SCHEDULER_FINALIZER])
    released = "a has an old binding, which is released, as it is being deleted; a is "
    for policy, index in ((pick_n(1), fleet("a")), (require(term()), fleet("a"))):
        outcome = schedule(placement(policy), snapshot(), index, [old])
        found = explain_outcome(outcome, "a")
        assert (found.picked, found.changes, found.change) == (True, ("finalizer-removed", "created"), "created")
        assert found.sentence.startswith(f"{released}picked")
        assert found.as_dict()["changes"] == ["finalizer-removed", "created"]
        (row,) = verdicts(outcome)
        assert (row.change, row.sentence) == (found.change, found.sentence)
    gone = ask(pick_n(0), fleet("a"), "a", old)
    assert (gone.picked, gone.changes) == (False, ("finalizer-removed",))
    assert gone.sentence.startswith(f"{released}not picked: ")
    other = binding("a", name="web-a-8", policy="web-0")
    lost = ask(pick_n(0), fleet("a"), "a", old, other)
    assert lost.change == "unscheduled" and "; a loses the placement: " in lost.sentence


def test_all_that_is_against_a_cluster_in_the_order_in_which_upstream_judges():
    taints = [{"key": key, "effect": "NoSchedule"} for key in ("x", "y")]
    late = {"agentStatus": [AGENT | {"lastReceivedHeartbeat": "2026-01-15T11:00:00Z", "conditions": [HEALTHY]}]}
    index = fleet("east", cluster("west", "4", labels={"env": "dev"}, taints=taints, **late))
    policy = require(term({"env": "prod", "tier": "1"}, (NODES, "Ge", "5")), term({"edge": "yes"}))
    west = ask(policy, index, "west")
    assert [each.code for each in west.blockers] == [
        "no-term-matches",
        "heartbeat-too-old",
        "agent-not-joined",
        "taint-not-tolerated",
        "taint-not-tolerated",
    ]
    assert [(part.details["term"], part.code) for part in west.blockers[0].parts] == [
        (1, "label-mismatch"),
        (1, "label-mismatch"),
        (1, "property-mismatch"),
        (2, "label-mismatch"),
    ]
    assert west.sentence.endswith(
        " Besides: its last heartbeat was 60.00 minutes old, more than 5; it has not joined the fleet; "
        "its taint x:NoSchedule is not tolerated; its taint y:NoSchedule is not tolerated."
    )
    assert [part.code for part in west.refusal.parts] == ["label-mismatch", "label-mismatch"]  # upstream's own words
    assert [each["code"] for each in west.as_dict()["blockers"]] == [each.code for each in west.blockers]
    held = ask(policy, index, "west", binding("west"))
    assert (held.picked, held.blockers) == (True, west.blockers)
    assert not ask(policy, fleet(cluster("fine", "5", labels={"env": "prod", "tier": "1"})), "fine").blockers


def test_every_constraint_that_forbids_a_domain_beside_what_refuses_the_cluster_before():
    east = {"region": "east", "zone": "1"}
    closed = cluster("d", labels=east, taints=[{"key": "x", "effect": "NoSchedule"}])
    index = fleet(*(cluster(name, labels=east) for name in "abc"), closed, cluster("w", labels={"region": "west"}))
    spread = [{"topologyKey": "region"}, {"topologyKey": "zone"}]
    told = ask(pick_n(4, topologySpreadConstraints=[spread[0]]), index, "d")
    assert [each.code for each in told.blockers] == ["taint-not-tolerated", "skew-too-large"]
    index = fleet(*(cluster(name, labels=east) for name in "abc"), cluster("w", labels={"region": "west", "zone": "2"}))
    told = ask(pick_n(4, topologySpreadConstraints=spread), index, "a")
    assert [each.details["topologyKey"] for each in told.blockers] == ["region", "zone"]
    assert told.refusal.details["topologyKey"] == "region"


def test_a_cluster_that_a_list_of_names_leaves_out_is_told_what_else_it_lacks():
    index = fleet("a", cluster("b", leaving="2026-01-15T11:00:00Z", agentStatus=[AGENT | {"conditions": []}]))
    told = ask({"placementType": "PickFixed", "clusterNames": ["a"]}, index, "b")
    assert [each.code for each in told.blockers] == ["not-named", "leaving", "agent-not-joined", "health-unknown"]
    named = ask({"placementType": "PickFixed", "clusterNames": ["a", "b"]}, index, "b")
    assert [each.code for each in named.blockers] == ["leaving", "agent-not-joined", "health-unknown"]
    assert named.refusal.code == "leaving"


def test_a_cluster_that_left_and_one_that_was_never_there():
    assert ask(pick_n(1), fleet("b"), "a", binding("a")).sentence == "a loses the placement: it has left the fleet."
    with pytest.raises(FleetError) as caught:
        ask(pick_n(1), fleet("member-1"), "membre-1")
    assert (caught.value.code, caught.value.hint) == ("unknown-cluster", "did you mean member-1?")


def test_clusters_that_a_list_of_names_leaves_out():
    policy = {"placementType": "PickFixed", "clusterNames": ["a", "ghost"]}
    index = fleet("a", "b")
    assert ask(policy, index, "a").sentence == "a is picked, as the policy names it."
    assert ask(policy, index, "b").sentence == "b is not picked: the policy does not name it."
    assert ask(policy, index, "ghost").refusal.code == "not-found"


def test_spread_shows_the_counts_of_the_domain():
    index = fleet(
        *(cluster(name, labels={"region": "east"}) for name in "abc"), cluster("w", labels={"region": "west"})
    )
    policy = pick_n(4, topologySpreadConstraints=[{"topologyKey": "region"}])
    told = ask(policy, index, "a")
    assert (told.refusal.rule, told.spread[0].count, told.spread[0].domain) == ("TopologySpreadConstraints", 2, "east")


def test_the_plain_form_is_json():
    index = fleet(cluster("a", "1"), cluster("b", "2"), cluster("c", taints=[{"key": "x", "effect": "NoSchedule"}]))
    policy = pick_n(1, prefer(5, None, (NODES, "Descending")), topologySpreadConstraints=[{"topologyKey": "region"}])
    for name in "abc":
        told = ask(policy, index, name).as_dict()
        assert json.loads(json.dumps(told, allow_nan=False)) == told
        assert told["sentence"].startswith(f"{name} is ")


def test_a_name_that_is_longer_than_any_is_not_guessed_at():
    with pytest.raises(FleetError) as caught:
        ask(pick_n(1), fleet("c" * 221), "c" * 220 + "d")
    assert (caught.value.code, caught.value.hint) == ("unknown-cluster", "")
