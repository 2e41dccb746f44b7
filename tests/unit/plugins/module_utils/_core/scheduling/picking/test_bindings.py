# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import re

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    PREVIOUS_STATE,
    SCHEDULER_FINALIZER,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.picking.bindings import binding_name
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.scheduling.made import (
    binding,
    changes,
    cluster,
    decide,
    fleet,
    pick_n,
    picked,
    placement,
    snapshot,
)

GONE = "2026-01-15T11:00:00Z"


def test_names_are_the_same_for_the_same_inputs_and_fit_in_63_characters():
    name = binding_name("", "p" * 60, "c" * 60, "p-1", ())
    assert name == binding_name("", "p" * 60, "c" * 60, "p-1", ())
    assert re.fullmatch("p{26}-c{27}-[0-9a-f]{8}", name)
    assert len({binding_name("", "p", each, "p-1", ()) for each in ("a", "b")}) == 2
    assert binding_name("", "p" * 60, "c" * 60, "p-1", {name}) != name


def test_a_name_that_is_still_taken_by_a_deleting_binding_is_not_used_again():
    index = fleet("a")
    (first,) = decide(pick_n(1), index).bindings
    leaving = binding("a", name=first.name, deletionTimestamp=GONE, finalizers=[SCHEDULER_FINALIZER, "other"])
    outcome = decide(pick_n(1), index, leaving)
    assert len({each.name for each in outcome.bindings}) == 2
    assert [each.what for each in outcome.changes] == ["finalizer-removed", "created"]
    assert next(each for each in outcome.bindings if each.name == first.name).metadata.finalizers == ("other",)


def test_a_new_binding():
    (made,) = decide(pick_n(1), fleet("a")).bindings
    assert (made.spec.state, made.spec.target_cluster) == ("Scheduled", "a")
    assert made.spec.scheduling_policy_snapshot_name == "web-1"
    assert made.metadata.finalizers == (SCHEDULER_FINALIZER,)
    assert made.spec.cluster_decision.reason == "picked with spread 0 and affinity 0"


@pytest.mark.parametrize("leaving", [None, GONE])
def test_a_binding_of_a_cluster_that_left_is_unscheduled_and_replaced_D4_101(leaving):
    index = fleet(cluster("a", leaving=leaving), "b") if leaving else fleet("b")
    outcome = decide(pick_n(1), index, binding("a"))
    assert (picked(outcome), changes(outcome)) == (["b"], {"a": "unscheduled", "b": "created"})


@pytest.mark.parametrize("state", ["Bound", "Scheduled"])
def test_an_unscheduled_binding_gets_its_state_back(state):
    held = binding("a", "Unscheduled", annotations={PREVIOUS_STATE: state, "mine": "1"})
    outcome = decide(pick_n(1), fleet("a"), held)
    assert (outcome.bindings[0].spec.state, changes(outcome)) == (state, {"a": "restored"})
    assert dict(outcome.bindings[0].metadata.annotations) == {"mine": "1"}


@pytest.mark.parametrize(("resources", "state"), [("web-0-snapshot", "Bound"), ("", "Scheduled")])
def test_a_state_that_is_not_remembered_is_told_by_the_resources_held(resources, state):
    held = binding("a", "Unscheduled", resources=resources)
    outcome = decide(pick_n(1), fleet("a"), held)
    assert outcome.bindings[0].spec.state == state
    assert [finding.code for finding in outcome.findings] == ["state-not-remembered"]
    assert decide(pick_n(1), fleet("a"), held, upstream=True).error.code == "state-not-remembered"


def test_a_state_that_no_binding_has_is_not_remembered():
    held = binding("a", "Unscheduled", annotations={PREVIOUS_STATE: "Nonsense"}, resources="web-0-snapshot")
    outcome = decide(pick_n(1), fleet("a"), held)
    assert (outcome.bindings[0].spec.state, picked(outcome)) == ("Bound", ["a"])
    assert [finding.code for finding in outcome.findings] == ["state-not-remembered"]


def test_unscheduling_keeps_other_annotations_but_not_upstream():
    held = binding("a", annotations={"mine": "1"})
    kept = decide(pick_n(0), fleet("a"), held).bindings[0].metadata.annotations
    assert dict(kept) == {"mine": "1", PREVIOUS_STATE: "Bound"}
    lost = decide(pick_n(0), fleet("a"), held, upstream=True).bindings[0].metadata.annotations
    assert dict(lost) == {PREVIOUS_STATE: "Bound"}


def test_two_bindings_of_one_cluster_are_not_both_revived():
    old = [binding("a", policy="web-0"), binding("a", "Unscheduled", name="z", annotations={PREVIOUS_STATE: "Bound"})]
    outcome = decide(pick_n(2), fleet("a"), *old)
    assert (outcome.count, outcome.fulfilled) == (1, False)
    assert decide(pick_n(2), fleet("a"), *old, upstream=True).count == 2


@pytest.mark.parametrize("policies", [("web-0", "web-0"), ("web-1", "web-1"), ("web-0", "web-1")])
def test_two_bindings_of_one_cluster_count_once_and_one_of_them_goes(policies):
    """The one that is Bound stays, and one of this policy before all."""
    first, second = policies
    old = [binding("a", "Scheduled", name="a", policy=first), binding("a", name="z", policy=second)]
    outcome = decide(pick_n(2), fleet("a", "b"), *old)
    assert (picked(outcome), outcome.count, outcome.fulfilled) == (["a", "b"], 2, True)
    assert {each.name: each.spec.state for each in outcome.bindings if each.name in "az"} == {
        "a": "Unscheduled",
        "z": "Bound",
    }


@pytest.mark.parametrize("policy", ["web-0", "web-1"])
def test_upstream_has_both_of_two_bindings_hold_their_cluster(policy):
    old = [binding("a", "Scheduled", name="a", policy=policy), binding("a", name="z", policy=policy)]
    states = {each.name: each.spec.state for each in decide(pick_n(2), fleet("a", "b"), *old, upstream=True).bindings}
    assert (states["a"], states["z"]) == ("Scheduled", "Bound")


@pytest.mark.parametrize(("name", "where"), [("web", "eu.west"), ("web.v2", "west")])
def test_names_with_dots_are_placed_and_fail_upstream(name, where):
    wanted = placement({"placementType": "PickAll"}, metadata={"name": name})
    old = binding("gone", policy="web-0")
    outcome = schedule(wanted, snapshot(), fleet(where), [old])
    assert picked(outcome) == [where]
    failed = schedule(wanted, snapshot(), fleet(where), [old], upstream=True)
    assert (failed.error.code, changes(failed)) == ("invalid-name", {"gone": "unscheduled"})


def test_a_dot_beyond_what_a_name_keeps_of_a_cluster_does_not_count_upstream():
    assert decide({"placementType": "PickAll"}, fleet("c" * 27 + ".west"), upstream=True).error is None
