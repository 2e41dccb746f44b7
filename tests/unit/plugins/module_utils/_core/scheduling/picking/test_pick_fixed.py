# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import PREVIOUS_STATE
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    AGENT,
    binding,
    changes,
    cluster,
    decide,
    fleet,
    picked,
)

OLD = [AGENT | {"lastReceivedHeartbeat": "2026-01-15T08:00:00Z"}]
TAINT = [{"key": "gpu", "value": "", "effect": "NoSchedule"}]


def named(*names: str) -> dict:
    return {"placementType": "PickFixed", "clusterNames": list(names)}


def test_exactly_the_named_clusters_taints_not_asked_D4_15_D4_19():
    index = fleet(cluster("a", taints=TAINT), "b", "c")
    assert picked(decide(named("a", "c"), index)) == ["a", "c"]


def test_unknown_and_ineligible_names_are_told_and_the_others_placed_D4_18():
    outcome = decide(named("ghost", "dead", "a"), fleet("a", cluster("dead", agentStatus=OLD)))
    assert (picked(outcome), outcome.fulfilled, outcome.count, outcome.wanted) == (["a"], False, 1, 3)
    assert {each.cluster: each.outcome for each in outcome.left_out} == {"ghost": "not-found", "dead": "ineligible"}
    assert [each.cluster for each in outcome.decisions] == ["a", "dead", "ghost"]


def test_a_holder_that_became_ineligible_stays_and_is_told():
    outcome = decide(named("dead"), fleet(cluster("dead", agentStatus=OLD)), binding("dead"))
    assert (picked(outcome), outcome.fulfilled, outcome.left_out) == (["dead"], False, ())
    assert [finding.code for finding in outcome.findings] == ["holder-not-eligible"]


def test_a_name_taken_off_the_list_is_removed():
    outcome = decide(named("a"), fleet("a", "b"), binding("a", policy="web-0"), binding("b", policy="web-0"))
    assert changes(outcome) == {"a": "rebased", "b": "unscheduled"}


def test_a_name_given_twice_is_placed_once_but_upstream():
    assert decide(named("a", "a"), fleet("a")).count == 1
    assert len(decide(named("a", "a"), fleet("a"), upstream=True).bindings) == 2


def doubles(*held: tuple[str, str, str], upstream: bool) -> dict[str, tuple[str, str]]:
    """State and policy afterwards of the bindings of the named cluster a, given by name, state and policy."""
    memory = {PREVIOUS_STATE: "Bound"}
    old = [
        binding("a", state, policy, name=name, annotations=memory if state == "Unscheduled" else {})
        for name, state, policy in held
    ]
    outcome = decide(named("a"), fleet("a"), *old, upstream=upstream)
    return {each.name: (each.spec.state, each.spec.scheduling_policy_snapshot_name) for each in outcome.bindings}


def test_upstream_leaves_all_but_one_binding_of_a_cluster_as_they_are():
    current = [("x", "Bound", "web-1"), ("y", "Scheduled", "web-0")]
    assert doubles(*current, upstream=True) == {"x": ("Bound", "web-1"), "y": ("Scheduled", "web-0")}
    assert doubles(*current, upstream=False) == {"x": ("Bound", "web-1"), "y": ("Unscheduled", "web-0")}
    obsolete = [("x", "Bound", "web-0"), ("y", "Scheduled", "web-0"), ("z", "Unscheduled", "web-0")]
    left = {"x": ("Bound", "web-0"), "z": ("Unscheduled", "web-0")}
    assert doubles(*obsolete, upstream=True) == left | {"y": ("Scheduled", "web-1")}
    unscheduled = [("x", "Unscheduled", "web-0"), ("y", "Unscheduled", "web-0")]
    assert doubles(*unscheduled, upstream=True) == {"x": ("Unscheduled", "web-0"), "y": ("Bound", "web-1")}


def test_no_names_take_the_placement_away_and_upstream_does_nothing():
    held = binding("a", policy="web-0")
    outcome = decide(named(), fleet("a"), held)
    assert (changes(outcome), outcome.written) == ({"a": "unscheduled"}, True)
    assert [finding.code for finding in outcome.findings] == ["no-cluster-names"]
    upstream = decide(named(), fleet("a"), held, upstream=True)
    assert (upstream.changes, upstream.written) == ((), False)


def test_nobody_takes_the_place_of_a_cluster_that_left_D4_101():
    outcome = decide(named("a"), fleet("b"), binding("a"))
    assert (picked(outcome), changes(outcome)) == ([], {"a": "unscheduled"})
