# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.envelope import Origin
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    PlacementStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import (
    DIFFERS,
    REFUSED,
    UNCHANGED,
    MemberStep,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome, ObjectFailure
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.status import (
    placement_status,
    policy_snapshot_status,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.availability import (
    AVAILABLE,
    NOT_TRACKABLE,
    NOT_YET,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.compare import FieldDiff
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.comparison.ownership import FieldDrift
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import Overrides
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import NamespacedName, find_condition
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    CONFIG,
    NAMESPACE,
    NOW,
    OBJECTS,
    SILENT,
    changes,
    cluster,
    facts,
    pick_fixed,
    pick_n,
    placed,
    placement,
    plan,
    wanted,
)

LATER = NOW + timedelta(minutes=5)
UNREACHABLE = Problem("unreachable", "no route to it")
FAILURE = ObjectFailure(id=CONFIG, reason="ManifestApplyFailed", message="quota exceeded")
PREFIX = "ClusterResourcePlacement"


def outcome(name: str, judged: tuple[str, ...] = (AVAILABLE, AVAILABLE), **more: t.Any) -> MemberOutcome:
    steps = more.pop("steps", tuple(MemberStep(id=each.id, action=UNCHANGED) for each in OBJECTS))
    availability = dict(zip((NAMESPACE, CONFIG), judged, strict=True))
    return MemberOutcome(cluster=name, done=True, steps=steps, availability=availability, **more)


def status(
    made: PlacementPlan, *outcomes: MemberOutcome, previous: PlacementStatus | None = None, now=NOW
) -> PlacementStatus:
    found = {each.cluster: each for each in outcomes}
    return placement_status(made, found, previous or PlacementStatus(), 5, now)


def of_placement(found: PlacementStatus) -> dict[str, tuple[str, str]]:
    return {each.type.removeprefix(PREFIX): (each.status, each.reason) for each in found.conditions}


def of_cluster(found: PlacementStatus, name: str) -> dict[str, tuple[str, str]]:
    (row,) = (each for each in found.placement_statuses if each.cluster_name == name)
    return {each.type: (each.status, each.reason) for each in row.conditions}


BOTH = plan(wanted(pick_n(2)), facts("aks-member-1", "aks-member-2"))
GOOD = (outcome("aks-member-1"), outcome("aks-member-2"))


def test_times_of_an_older_release_stay_d4_87_d4_88() -> None:
    def true(kind: str, reason: str) -> dict[str, str]:
        return {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": "2025-01-01T00:00:00Z"}

    row = {"clusterName": "aks-member-1", "conditions": [true("ResourceApplied", "ApplySucceeded")]}
    older = {"conditions": [true(f"{PREFIX}Synchronized", "SynchronizeSucceeded")], "placementStatuses": [row]}
    found = status(BOTH, *GOOD, previous=decode(PlacementStatus, older))
    synchronized = find_condition(found.conditions, f"{PREFIX}WorkSynchronized")
    applied = find_condition(found.placement_statuses[0].conditions, "Applied")
    assert synchronized and applied and synchronized.reason == "WorkSynchronized"
    assert {synchronized.last_transition_time.year, applied.last_transition_time.year} == {2025}
    kinds = {each.type for each in (*found.conditions, *found.placement_statuses[0].conditions)}
    assert not kinds & {f"{PREFIX}Synchronized", "ResourceApplied"}


def test_two_clusters_that_took_everything() -> None:  # D4-84, D4-86, D4-87, D4-88, D4-89
    found = status(BOTH, *GOOD)
    assert of_placement(found) == {
        "Scheduled": ("True", "SchedulingPolicyFulfilled"),
        "RolloutStarted": ("True", "RolloutStarted"),
        "Overridden": ("True", "NoOverrideSpecified"),
        "WorkSynchronized": ("True", "WorkSynchronized"),
        "Applied": ("True", "ApplySucceeded"),
        "Available": ("True", "ResourceAvailable"),
    }
    assert [each.type for each in found.conditions][0] == "ClusterResourcePlacementScheduled"
    for name in ("aks-member-1", "aks-member-2"):
        assert of_cluster(found, name) == {
            "Scheduled": ("True", "Scheduled"),
            "RolloutStarted": ("True", "RolloutStarted"),
            "Overridden": ("True", "NoOverrideSpecified"),
            "WorkSynchronized": ("True", "AllWorkSynced"),
            "Applied": ("True", "AllWorkHaveBeenApplied"),
            "Available": ("True", "AllWorkAreAvailable"),
        }
    assert found.observed_resource_index == "0"
    assert {each.observed_resource_index for each in found.placement_statuses} == {"0"}


def test_the_selected_resources_are_listed() -> None:  # D4-93
    found = status(BOTH, *GOOD)
    assert [(each.group, each.version, each.kind, each.namespace, each.name) for each in found.selected_resources] == [
        ("", "v1", "Namespace", "", "test"),
        ("", "v1", "ConfigMap", "test", "test-1"),
    ]


def test_messages_hold_the_number_of_clusters_and_the_scores() -> None:  # D4-91, D4-92
    found = status(BOTH, *GOOD)
    assert all("2 clusters" in each.message for each in found.conditions)
    scored = replace(BOTH, clusters=(replace(BOTH.clusters[0], affinity_score=7, spread_score=-1), BOTH.clusters[1]))
    picked = status(scored, *GOOD).placement_statuses[0].conditions[0]
    assert picked.message == "picked aks-member-1 (affinity score: 7, topology spread score: -1)"


def test_a_run_without_change_leaves_the_times_alone() -> None:  # D4-90
    first = status(BOTH, *GOOD)
    again = status(BOTH, *GOOD, previous=decode(PlacementStatus, encode(first)), now=LATER)
    assert again == first


def test_the_time_moves_where_the_status_does() -> None:  # D4-90
    bad = outcome("aks-member-1", failures=(FAILURE,))
    first = status(BOTH, bad, GOOD[1])
    healed = status(BOTH, *GOOD, previous=first, now=LATER)
    times = {each.type.removeprefix(PREFIX): each.last_transition_time for each in healed.conditions}
    assert (times["WorkSynchronized"], times["Applied"], times["Available"]) == (NOW, LATER, LATER)
    still = status(BOTH, bad, GOOD[1], previous=first, now=LATER)
    assert still == first
    assert still.placement_statuses[0].failed_placements[0].condition.last_transition_time == NOW


def test_a_failed_member_stops_the_conditions_at_the_first_that_is_not_true() -> None:  # D4-85
    found = status(BOTH, outcome("aks-member-1", failures=(FAILURE,)), GOOD[1])
    assert of_placement(found)["Applied"] == ("False", "ApplyFailed")
    assert "Available" not in of_placement(found)
    assert of_cluster(found, "aks-member-1")["Applied"] == ("False", "NotAllWorkHaveBeenApplied")
    assert "Available" not in of_cluster(found, "aks-member-1")
    assert of_cluster(found, "aks-member-2")["Available"] == ("True", "AllWorkAreAvailable")
    (failed,) = found.placement_statuses[0].failed_placements
    assert (failed.kind, failed.namespace, failed.name) == ("ConfigMap", "test", "test-1")
    assert (failed.condition.reason, failed.condition.message) == ("ManifestApplyFailed", "quota exceeded")


def test_unknown_comes_before_false() -> None:
    found = status(
        BOTH,
        outcome("aks-member-1", failures=(FAILURE,)),
        MemberOutcome(cluster="aks-member-2", error=UNREACHABLE),
    )
    assert of_placement(found)["Applied"] == ("Unknown", "ApplyPending")
    applied = find_condition(found.conditions, PREFIX + "Applied")
    assert applied is not None and "0 of 2 clusters, not known of 1" in applied.message
    assert of_cluster(found, "aks-member-2")["Applied"] == ("Unknown", "ApplyPending")


def test_a_member_that_was_not_looked_at_is_unknown() -> None:
    assert of_placement(status(BOTH, GOOD[0]))["Applied"] == ("Unknown", "ApplyPending")


@pytest.mark.parametrize(
    ("judged", "row", "whole"),
    [
        ((AVAILABLE, NOT_YET), ("False", "NotAllWorkAreAvailable"), ("False", "ResourceNotAvailableYet")),
        ((NOT_TRACKABLE, NOT_YET), ("False", "NotAllWorkAreAvailable"), ("False", "ResourceNotAvailableYet")),
        ((AVAILABLE, NOT_TRACKABLE), ("True", "NotAllWorkAreAvailabilityTrackable"), ("True", "ResourceAvailable")),
    ],
)
def test_availability(judged: tuple[str, str], row: tuple[str, str], whole: tuple[str, str]) -> None:
    found = status(BOTH, outcome("aks-member-1", judged), GOOD[1])
    assert of_cluster(found, "aks-member-1")["Available"] == row
    assert of_placement(found)["Available"] == whole


@pytest.mark.parametrize(
    ("judged", "message"),
    [
        ((AVAILABLE, NOT_YET), "not available yet: 1 of 2 objects"),
        ((NOT_YET, NOT_YET), "not available yet: 2 of 2 objects"),
        ((AVAILABLE, NOT_TRACKABLE), "of a kind whose availability cannot be tracked: 1 of 2 objects"),
        ((AVAILABLE, AVAILABLE), "all 2 objects are available"),
    ],
)
def test_how_many_objects_are_available_is_told(judged: tuple[str, str], message: str) -> None:
    found = status(BOTH, outcome("aks-member-1", judged), GOOD[1])
    (row,) = (each for each in found.placement_statuses if each.cluster_name == "aks-member-1")
    condition = find_condition(row.conditions, "Available")
    assert condition and condition.message == message


def test_with_no_cluster_only_scheduled_is_left() -> None:
    none = status(plan(wanted(), facts()))
    assert of_placement(none) == {"Scheduled": ("True", "SchedulingPolicyFulfilled")}
    assert none.conditions[0].message == "the policy picks no cluster"
    nobody = status(plan(wanted(pick_n(2)), facts()))
    assert of_placement(nobody) == {"Scheduled": ("False", "SchedulingPolicyUnfulfilled")}


def test_places_that_could_not_be_filled_have_a_row_without_a_name() -> None:  # D1-46
    fleet = facts("a", cluster("b", heard=SILENT), cluster("c", heard=SILENT))
    made = plan(wanted(pick_n(2)), fleet)
    found = status(made, outcome("a"))
    assert found.conditions[0].message == "found 1 of 2 clusters that the policy asks for"
    assert [each.cluster_name for each in found.placement_statuses] == ["a", ""]
    (unfilled,) = found.placement_statuses[1].conditions
    assert (unfilled.type, unfilled.status, unfilled.reason) == ("Scheduled", "False", "ScheduleFailed")
    assert unfilled.message.startswith("b: its last heartbeat was 30.00 minutes old")
    assert status(made, outcome("a"), previous=found, now=LATER) == found


def test_at_most_twenty_places_are_listed_and_none_for_pick_all() -> None:
    silent = [cluster(f"m{number:02}", heard=SILENT) for number in range(30)]
    assert len(status(plan(wanted(pick_n(30)), facts(*silent))).placement_statuses) == 20
    assert status(plan(wanted(), facts(*silent))).placement_statuses == ()
    fixed = status(plan(wanted(pick_fixed("m00", "gone")), facts(*silent)))
    assert len(fixed.placement_statuses) == 2


def test_a_cluster_that_loses_it_has_no_row() -> None:
    fleet = facts("a", "b")
    made = plan(wanted(pick_n(1)), fleet, placed(pick_n(2), fleet))
    assert changes(made)["a"][0] == "lost"
    assert [each.cluster_name for each in status(made, outcome("b")).placement_statuses] == ["b"]


def test_a_kept_cluster_that_cannot_be_read_is_shown_as_it_is() -> None:
    known = placed(pick_n(1), facts("a"))
    made = plan(wanted(pick_n(1, tolerations=[{"operator": "Exists"}])), facts(cluster("a", heard=SILENT)), known)
    found = status(made, MemberOutcome(cluster="a", error=UNREACHABLE))
    assert of_placement(found)["Scheduled"] == ("False", "SchedulingPolicyUnfulfilled")
    assert of_cluster(found, "a")["Applied"] == ("Unknown", "ApplyPending")


def test_a_named_cluster_that_is_kept_unread_is_not_counted_as_found() -> None:
    known = placed(pick_fixed("a", "b"), facts("a", "b"))
    fleet = facts(cluster("a", heard=SILENT), "b")
    made = plan(wanted({**pick_fixed("a", "b"), "tolerations": [{"operator": "Exists"}]}), fleet, known)
    (message, *_rest) = [each.message for each in status(made, outcome("b")).conditions]
    assert message == ("found 1 of 2 clusters that the policy asks for; 1 more keep it, since they could not be read")


def test_the_policy_snapshot_lists_what_was_decided() -> None:
    made = plan(wanted(pick_n(1)), facts("a", cluster("b", heard=SILENT)))
    found = policy_snapshot_status(made, made.policy_snapshot.status, 3, NOW)
    assert [(each.cluster_name, each.selected) for each in found.target_clusters] == [("a", True), ("b", False)]
    assert found.target_clusters[1].reason.startswith("its last heartbeat was 30.00 minutes old")
    assert [(each.type, each.status, each.reason) for each in found.conditions] == [
        ("Scheduled", "True", "SchedulingPolicyFulfilled")
    ]
    assert found.observed_crp_generation == 3 and policy_snapshot_status(made, found, 3, LATER) == found


DRIFT = FieldDrift("/data/a", "1", {"b": [True, None]}, ("kubectl-edit",))
DRIFTED = (
    MemberStep(id=NAMESPACE, action=UNCHANGED),
    MemberStep(id=CONFIG, action=REFUSED, reason="FoundDrifts", drifts=(DRIFT,)),
)


def test_drift_that_stands_is_listed_with_its_first_observation() -> None:
    failure = ObjectFailure(id=CONFIG, reason="FoundDrifts", message="drifted")
    one = outcome("aks-member-1", steps=DRIFTED, failures=(failure,))
    first = status(BOTH, one, GOOD[1])
    again = status(BOTH, one, GOOD[1], previous=first, now=LATER).placement_statuses[0]
    (drifted,) = again.drifted_placements
    assert (drifted.observation_time, drifted.first_drifted_observed_time) == (LATER, NOW)
    (detail,) = drifted.observed_drifts
    assert (detail.path, detail.value_in_member, detail.value_in_hub) == ("/data/a", '{"b": [true, null]}', "1")
    repaired = status(BOTH, outcome("aks-member-1", steps=DRIFTED), GOOD[1])
    assert repaired.placement_statuses[0].drifted_placements == ()


def test_at_most_a_hundred_details_of_each_sort() -> None:
    drifts = tuple(replace(DRIFT, path=f"/data/{number}") for number in range(150))
    steps = tuple(
        MemberStep(id=replace(CONFIG, name=f"c{number}"), action=REFUSED, drifts=drifts) for number in range(150)
    )
    failures = tuple(ObjectFailure(id=each.id, reason="FoundDrifts", message="m") for each in steps)
    row = status(BOTH, outcome("aks-member-1", steps=steps, failures=failures)).placement_statuses[0]
    assert (len(row.failed_placements), len(row.drifted_placements)) == (100, 100)
    assert len(row.drifted_placements[0].observed_drifts) == 100


def report_only() -> PlacementPlan:
    strategy = {"applyStrategy": {"type": "ReportDiff"}}
    made = replace(wanted(), placement=placement(pick_n(2), strategy=strategy))
    return plan(made, facts("aks-member-1", "aks-member-2"))


def test_reporting_replaces_the_last_two_conditions() -> None:
    made = report_only()
    assert made.reports_only and not BOTH.reports_only
    steps = (
        MemberStep(id=NAMESPACE, action=DIFFERS, missing=True),
        MemberStep(id=CONFIG, action=DIFFERS, diffs=(FieldDiff("/data/a", "1", None),)),
    )
    one = outcome("aks-member-1", steps=steps)
    first = status(made, one, GOOD[1])
    assert list(of_placement(first))[-2:] == ["WorkSynchronized", "DiffReported"]
    assert of_placement(first)["DiffReported"] == ("True", "DiffReportingCompleted")
    assert of_cluster(first, "aks-member-1")["DiffReported"] == ("True", "AllWorkHaveDiffReported")
    whole, field = status(made, one, GOOD[1], previous=first, now=LATER).placement_statuses[0].diffed_placements
    assert whole.observed_diffs[0].path == "/" and "whole object" in whole.observed_diffs[0].value_in_hub
    assert (field.observed_diffs[0].value_in_hub, field.observed_diffs[0].value_in_member) == ("1", "")
    assert (field.observation_time, field.first_diffed_observed_time) == (LATER, NOW)


def test_a_report_that_is_not_there_is_pending() -> None:
    found = status(report_only(), GOOD[0], MemberOutcome(cluster="aks-member-2", error=UNREACHABLE))
    assert of_placement(found)["DiffReported"] == ("Unknown", "DiffReportingPending")
    assert of_cluster(found, "aks-member-2")["DiffReported"] == ("Unknown", "DiffReportInProgress")


def test_the_status_names_the_envelope_of_what_came_out_of_one() -> None:
    """Once where its objects were selected, and with each object that failed."""
    origin = Origin("ResourceEnvelope", "test", "both", "a")
    objects = tuple(replace(each, origin=origin) for each in OBJECTS)
    fleet = facts("a")
    made = plan(wanted(objects=objects), fleet)
    status = placement_status(made, {"a": outcome("a", failures=(FAILURE,))}, PlacementStatus(), 1, NOW)
    (picked,) = status.selected_resources
    assert (picked.group, picked.version) == ("placement.kubernetes-fleet.io", "v1beta1")
    assert (picked.kind, picked.namespace, picked.name, picked.envelope) == ("ResourceEnvelope", "test", "both", None)
    (failed,) = status.placement_statuses[0].failed_placements
    assert encode(failed)["envelope"] == {"name": "both", "namespace": "test", "type": "ResourceEnvelope"}
    assert (failed.kind, failed.name) == ("ConfigMap", "test-1")
    assert [each["envelope"] for each in made.as_dict()["objects"]] == [origin.as_dict()] * 2


def test_overrides_are_told_for_each_cluster_and_for_the_whole() -> None:
    own, wide = (NamespacedName(name="web-1", namespace="shop"),), ("all-1",)
    made = replace(plan(wanted(), facts("a", "b")), overrides={"a": Overrides(cluster=wide, namespaced=own)})
    status = placement_status(made, {name: outcome(name) for name in "ab"}, PlacementStatus(), 1, NOW)
    rows = {each.cluster_name: each for each in status.placement_statuses}
    assert rows["a"].applicable_cluster_resource_overrides == wide and rows["a"].applicable_resource_overrides == own
    assert rows["b"].applicable_cluster_resource_overrides == rows["b"].applicable_resource_overrides == ()
    reasons = [find_condition(rows[name].conditions, "Overridden") for name in "ab"]
    assert [each and each.reason for each in reasons] == ["OverriddenSucceeded", "NoOverrideSpecified"]
    whole = find_condition(status.conditions, f"{PREFIX}Overridden")
    assert whole and (whole.status, whole.reason) == ("True", "OverriddenSucceeded")
    plain = placement_status(plan(wanted(), facts("a")), {"a": outcome("a")}, PlacementStatus(), 1, NOW)
    whole = find_condition(plain.conditions, f"{PREFIX}Overridden")
    assert whole and whole.reason == "NoOverrideSpecified"
