# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Manifests to objects and back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import (
    AgentStatus,
    MemberCluster,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.policy import PlacementPolicy
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.resource_snapshot import (
    ClusterResourceSnapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.rollout_strategy import (
    RollingUpdate,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.scheduling_policy_snapshot import (
    ClusterSchedulingPolicySnapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import (
    LabelSelector,
    LabelSelectorRequirement,
)

NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)

CLUSTER = {
    "apiVersion": "cluster.kubernetes-fleet.io/v1",
    "kind": "MemberCluster",
    "metadata": {
        "name": "a",
        "uid": "u",
        "generation": 3,
        "resourceVersion": "7",
        "labels": {"region": "east"},
        "finalizers": ["x/y"],
        "creationTimestamp": "2024-05-01T12:00:00Z",
    },
    "spec": {
        "identity": {"kind": "User", "name": "a", "apiGroup": "rbac.authorization.k8s.io"},
        "heartbeatPeriodSeconds": 60,
        "taints": [{"key": "a", "effect": "NoSchedule"}],
        "deleteOptions": {"validationMode": "Strict"},
    },
    "status": {
        "conditions": [{"type": "ReadyToJoin", "status": "True", "lastTransitionTime": "2024-05-01T12:00:00Z"}],
        "properties": {"a/b": {"value": "5", "observationTime": "2024-05-01T12:00:00Z"}},
        "resourceUsage": {"capacity": {"cpu": "4"}, "observationTime": "2024-05-01T12:00:00Z"},
        "namespaces": {"shop": "", "web": "work"},
        "agentStatus": [{"type": "MemberAgent", "lastReceivedHeartbeat": "2024-05-01T12:00:00.123456Z"}],
    },
}


def test_a_full_object_goes_through_unchanged():
    assert encode(decode(MemberCluster, CLUSTER)) == CLUSTER


def test_d4_62_defaults_are_filled_in_and_written_out():
    placement = decode(
        ClusterResourcePlacement, {"metadata": {"name": "a"}, "spec": {"resourceSelectors": [NAMESPACE]}}
    )
    assert placement.spec.revision_history_limit == 10
    assert encode(placement)["spec"] == {
        "resourceSelectors": [{**NAMESPACE, "selectionScope": "NamespaceWithResources"}],
        "strategy": {"type": "RollingUpdate"},
        "revisionHistoryLimit": 10,
        "statusReportingScope": "ClusterScopeOnly",
    }


def test_what_says_nothing_is_left_out_and_zeros_that_say_something_are_kept():
    assert encode(PlacementPolicy(number_of_clusters=0)) == {"placementType": "PickAll", "numberOfClusters": 0}
    assert encode(RollingUpdate(max_unavailable=0, unavailable_period_seconds=0)) == {
        "maxUnavailable": 0,
        "maxSurge": "25%",
        "unavailablePeriodSeconds": 0,
    }
    assert encode(AgentStatus(type="MemberAgent")) == {"type": "MemberAgent"}


def test_the_empty_core_group_is_required_and_so_is_written():
    given = {"metadata": {"name": "a"}, "spec": {"resourceSelectors": [NAMESPACE]}}
    assert encode(decode(ClusterResourcePlacement, given))["spec"]["resourceSelectors"][0]["group"] == ""


def test_an_empty_object_that_was_given_stays():
    """A server stores it, and ``affinity: {}`` is another spec than none."""
    assert encode(decode(PlacementPolicy, {"affinity": {}})) == {"placementType": "PickAll", "affinity": {}}


def test_names_that_are_not_the_camel_case_of_the_attribute():
    snapshot = decode(ClusterSchedulingPolicySnapshot, {"status": {"observedCRPGeneration": 4}})
    assert snapshot.status.observed_crp_generation == 4
    assert encode(snapshot)["status"] == {"observedCRPGeneration": 4}


def test_label_selectors_keep_their_form():
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}]}
    term = {
        "clusterAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [{"labelSelector": selector}]}
        }
    }
    policy = decode(PlacementPolicy, {"affinity": term})
    found = policy.affinity.cluster_affinity.required.cluster_selector_terms[0].label_selector
    assert found == LabelSelector({"a": "b"}, (LabelSelectorRequirement("c", "In", ("d",)),))
    assert encode(policy)["affinity"] == term


def test_raw_resources_are_kept_as_they_are():
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": None, "b": ""}}
    snapshot = decode(ClusterResourceSnapshot, {"metadata": {"name": "a"}, "spec": {"selectedResources": [manifest]}})
    assert encode(snapshot)["spec"]["selectedResources"] == [manifest]


def test_unknown_fields_and_null_are_ignored_and_missing_ones_are_empty():
    binding = decode(ClusterResourceBinding, {"future": 1, "metadata": None, "spec": {"state": None, "new": {}}})
    assert (binding.name, binding.spec.state, binding.spec.cluster_decision.reason) == ("", "", "")


def test_d1_19_a_malformed_value_of_a_property_stays_as_text():
    given = {"status": {"properties": {"a": {"value": "five"}, "b": {"value": 5}, "c": {"value": True}}}}
    values = {name: each.value for name, each in decode(MemberCluster, given).status.properties.items()}
    assert values == {"a": "five", "b": "5", "c": "true"}


def test_quantities_that_are_numbers_become_text():
    usage = decode(MemberCluster, {"status": {"resourceUsage": {"capacity": {"cpu": 4, "memory": 1.5}}}})
    assert usage.status.resource_usage.capacity == {"cpu": "4", "memory": "1.5"}


@pytest.mark.parametrize("document", [5, [], {"status": []}, {"spec": {"taints": {}}}, {"metadata": {"labels": []}}])
def test_another_structure_is_a_value_error(document):
    with pytest.raises(ValueError, match="is wanted"):
        decode(MemberCluster, document)


def test_instants_that_cannot_be_read_are_absent():
    for text in ("soon", "2024-05-01T12:00:00", "0001-01-01T00:00:00+10:00", 5):
        assert decode(AgentStatus, {"type": "a", "lastReceivedHeartbeat": text}).last_received_heartbeat is None


def test_a_thousand_members_decode_to_equal_objects():
    """Field plans are made once per class, so that a fleet is read in milliseconds."""
    members = [decode(MemberCluster, CLUSTER) for _member in range(1000)]
    assert all(each == members[0] for each in members)
