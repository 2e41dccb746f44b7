# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a placement would do if the fleet were another."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.index import FleetIndex
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if.overlay import read_overlay
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.what_if.what_if import Differences, what_if
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
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

PROD = require(term({"env": "prod"}))


def suppose(policy: t.Any, index: FleetIndex, *bindings: ClusterResourceBinding, **overlay: t.Any) -> Differences:
    return what_if(placement(policy), snapshot(), index, bindings, read_overlay(overlay, index.names))


def test_nothing_supposed_makes_no_difference() -> None:
    found = suppose(None, fleet("a", "b"), binding("a"))
    assert (found.rows, found.kept, found.fulfilled, found.findings) == ((), ("a", "b"), (True, True), ())


def test_a_cluster_that_goes_loses_it_and_pick_n_picks_a_substitute_d4_101() -> None:
    index = fleet("a", "b", "c")
    found = suppose(pick_n(2), index, binding("a"), binding("b"), gone=["b"])
    assert (found.gained, found.lost, found.kept) == (("c",), ("b",), ("a",))
    (lost, gained) = found.rows
    assert lost.sentence == "b loses the placement: it has left the fleet."
    assert lost.refusal is not None and lost.refusal.code == "gone"
    assert gained.before == "c is not picked: it passes, but enough clusters hold the placement already: 2."
    assert gained.overcome is not None and gained.overcome.code == "not-needed"
    for policy in ({"placementType": "PickFixed", "clusterNames": ["a", "b"]}, None):
        assert suppose(policy, fleet("a", "b"), binding("a"), binding("b"), gone=["b"]).gained == ()


def test_a_cluster_that_would_be_picked_now_and_goes_is_lost_too() -> None:
    found = suppose(None, fleet("a", "b"), gone=["b"])
    assert (found.lost, found.kept) == (("b",), ("a",))


def test_a_new_cluster_gets_it_d4_100() -> None:
    found = suppose(
        PROD, fleet(cluster("a", labels={"env": "prod"})), new=[{"name": "oslo", "like": "a"}, {"name": "bare"}]
    )
    assert found.gained == ("oslo",)
    assert found.rows[0].before == "oslo is not in the fleet."
    assert found.rows[0].sentence == "oslo is picked, as it passes every filter."


def test_a_label_opens_the_way_and_says_what_was_in_it() -> None:
    found = suppose(PROD, fleet("a"), change={"a": {"labels": {"env": "prod"}}})
    (gained,) = found.rows
    assert gained.overcome is not None and gained.overcome.rule == "ClusterAffinity"
    assert gained.before.startswith("a is not picked")


def test_a_property_and_a_price_move_the_choice() -> None:
    index = fleet(cluster("a", "3"), cluster("b", "5"))
    policy = pick_n(1, prefer(50, None, (NODES, "Descending")))
    assert suppose(policy, index, change={"a": {"properties": {NODES: 9}}}).gained == ("a",)
    cost = "kubernetes.azure.com/per-cpu-core-cost"
    index = fleet(cluster("a", properties={cost: "0.2"}), cluster("b", properties={cost: "0.1"}))
    cheapest = pick_n(1, prefer(50, None, (cost, "Ascending")))
    found = suppose(cheapest, index, change={"a": {"prices": {"cpu": 0.05}}})
    assert (found.gained, found.lost) == (("a",), ("b",))


def test_holders_stay_though_better_ones_come_d4_96() -> None:
    index = fleet(cluster("a", "3"), cluster("b", "5"))
    policy = pick_n(1, prefer(50, None, (NODES, "Descending")))
    assert suppose(policy, index, binding("a"), change={"b": {"properties": {NODES: 90}}}).rows == ()


def test_a_taint_keeps_others_away_and_a_holder_stays_with_a_word_d4_76() -> None:
    taints = {name: {"taints": [{"key": "k"}]} for name in ("a", "b")}
    found = suppose(None, fleet("a", "b"), binding("a"), change=taints)
    assert [(each.cluster, each.change) for each in found.rows] == [("a", "kept"), ("b", "lost")]
    assert found.rows[0].refusal is not None and found.rows[0].refusal.rule == "TaintToleration"
    assert "would not be picked afresh" in found.rows[0].sentence
    assert found.kept == ("a",)


def test_more_and_fewer_clusters_d4_98_d4_99() -> None:
    index, held = fleet("a", "b", "c"), [binding("a"), binding("b")]
    more = suppose(pick_n(2), index, *held, numberOfClusters=3)
    assert (more.gained, more.lost, more.kept) == (("c",), (), ("a", "b"))
    fewer = suppose(pick_n(2), index, *held, numberOfClusters=1)
    assert (fewer.gained, len(fewer.lost), fewer.fulfilled) == ((), 1, (True, True))
    assert suppose(pick_n(2), index, *held, numberOfClusters=4).fulfilled == (True, False)


def test_only_pick_n_has_a_number() -> None:
    with pytest.raises(FleetError, match="only PickN"):
        suppose(None, fleet("a"), numberOfClusters=3)


def test_findings_of_the_supposed_fleet_are_told() -> None:
    index = fleet(cluster("a", "3"))
    policy = require(term(None, (NODES, "Ge", "2")))
    gone_wrong = suppose(policy, index, change={"a": {"properties": {NODES: None}}})
    assert gone_wrong.lost == ("a",)
    assert gone_wrong.rows[0].refusal is not None and gone_wrong.rows[0].refusal.parts[0].code == "property-missing"


def test_plain_data() -> None:
    told = suppose(pick_n(1), fleet("a", "b"), binding("a"), gone=["a"]).as_dict()
    assert {key: told[key] for key in ("placement", "gained", "lost", "kept")} == {
        "placement": "web",
        "gained": ["b"],
        "lost": ["a"],
        "kept": [],
    }
    assert told["rows"][0]["refusal"] == {"rule": "ClusterEligibility", "code": "gone"}


def test_one_sentence_says_what_moves() -> None:
    held = [binding("a"), binding("b")]
    still = suppose(None, fleet("a", "b"), *held)
    assert still.sentence == "web would move nowhere; 2 keep it." and not still.moves
    moved = suppose(pick_n(2), fleet("a", "b", "c"), *held, gone=["b"])
    assert moved.sentence == "web would leave b and come to c; 1 keeps it." and moved.moves
    lacking = suppose(pick_n(2), fleet("a", "b"), *held, gone=["b"])
    assert lacking.sentence == "web would leave b; 1 keeps it; the policy would not be fulfilled any more."
    mended = suppose(pick_n(2), fleet("a"), binding("a"), new=[{"name": "n"}])
    assert mended.sentence == "web would come to n; 1 keeps it; the policy would then be fulfilled."
    never = suppose(pick_n(4), fleet("a", "b"), *held, gone=["b"])
    assert never.sentence.endswith("the policy is fulfilled neither now nor then.")
    names = [f"c{number}" for number in range(8)]
    many = suppose(None, fleet(*names), *map(binding, names), gone=names[:7])
    assert many.sentence == "web would leave c0, c1, c2, c3, c4 and 2 more; 1 keeps it."
    tainted = suppose(None, fleet("a"), binding("a"), change={"a": {"taints": [{"key": "k"}]}})
    assert tainted.sentence == "web would move nowhere; 1 keeps it, 1 of them only until the policy is edited."
    assert tainted.as_dict()["sentence"] == tainted.sentence
    taint = {"taints": [{"key": "k"}]}
    index = fleet("a", cluster("b", taints=[{"key": "k", "effect": "NoSchedule"}]))
    both = suppose(None, index, *held, change={"a": taint})
    assert [each.cluster for each in both.rows] == ["a"]
    assert both.sentence.endswith("2 keep it, 2 of them only until the policy is edited."), "b is so today already"
