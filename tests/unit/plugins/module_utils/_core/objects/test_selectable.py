# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What must never be placed."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.selectable import (
    is_reserved_namespace,
    malformed_metadata,
    never_placed_problem,
    stopping_webhook_problem,
)


def manifest(api_version: str, kind: str, name: str = "x", **more: t.Any) -> dict[str, t.Any]:
    metadata = {"name": name, "namespace": "web", **more.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


BY_A_PROVISIONER = {"annotations": {"pv.kubernetes.io/provisioned-by": "disk.example.com"}}


def owned(api_version: str, kind: str, by: str, owner: str) -> dict[str, t.Any]:
    """An object with such an owner."""
    return manifest(api_version, kind, metadata={"ownerReferences": [{"apiVersion": by, "kind": owner}]})


def provisioned_volume(policy: str) -> dict[str, t.Any]:
    """A volume that a provisioner made, with what becomes of its disk once its claim is gone."""
    return manifest("v1", "PersistentVolume", metadata=BY_A_PROVISIONER, spec={"persistentVolumeReclaimPolicy": policy})


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("default", True),
        ("kube-system", True),
        ("fleet-system", True),
        ("gitops-fleet", True),
        ("gitops-fleet-jobs", True),
    ],
)
def test_reserved_namespaces_d4_10(name: str, reserved: bool) -> None:
    assert is_reserved_namespace(name) is reserved
    assert not is_reserved_namespace(f"my-{name}")


@pytest.mark.parametrize(
    "never",
    [
        manifest("v1", "Pod"),
        manifest("v1", "Node"),
        manifest("events.k8s.io/v1", "Event"),
        manifest("coordination.k8s.io/v1", "Lease"),
        manifest("cluster.kubernetes-fleet.io/v1", "MemberCluster"),
        manifest("placement.kubernetes-fleet.io/v1", "ClusterResourcePlacement"),
        manifest("gitops.fleet/v1alpha1", "FleetMember"),
        manifest("apps/v1", "ReplicaSet", metadata={"ownerReferences": [{"kind": "Deployment"}]}),
        manifest("apps/v1", "ControllerRevision", metadata={"ownerReferences": [{"kind": "DaemonSet"}]}),
        owned("batch/v1", "Job", "batch/v1", "CronJob"),
        owned("v1", "PersistentVolumeClaim", "v1", "Pod"),
        owned("v1", "PersistentVolumeClaim", "apps/v1", "StatefulSet"),
        owned("resource.k8s.io/v1", "ResourceClaim", "v1", "Pod"),
        provisioned_volume("Delete"),
        manifest("v1", "ConfigMap", "kube-root-ca.crt"),
        manifest("v1", "ServiceAccount", "default"),
        manifest("v1", "Secret", type="kubernetes.io/service-account-token"),
        manifest("v1", "Endpoints", "shop"),
        manifest(
            "discovery.k8s.io/v1", "EndpointSlice", metadata={"labels": {"endpointslice.kubernetes.io/managed-by": "x"}}
        ),
    ],
)
def test_never_placed_with_a_reason_d4_10(never: dict[str, t.Any]) -> None:
    problem = never_placed_problem(identify(never), never, services={("web", "shop")})
    assert problem is not None
    assert problem.code == "never-placed"
    assert "is left out: " in problem.message


@pytest.mark.parametrize(
    "placed",
    [
        manifest("apps/v1", "ReplicaSet"),
        manifest("v1", "ConfigMap"),
        manifest("v1", "ServiceAccount"),
        manifest("v1", "Secret", type="Opaque"),
        manifest("v1", "Endpoints", "elsewhere"),
        manifest("v1", "PersistentVolumeClaim"),
        owned("batch/v1", "Job", "example.com/v1", "CronJob"),
        owned("v1", "PersistentVolumeClaim", "example.com/v1", "Database"),
        manifest("batch/v1", "Job", metadata={"ownerReferences": ["odd"]}),
        manifest("batch/v1", "Job", metadata={"ownerReferences": "odd"}),
        provisioned_volume("Retain"),
        manifest("v1", "PersistentVolume", spec={"persistentVolumeReclaimPolicy": "Delete"}),
        manifest("v1", "PersistentVolume", metadata=BY_A_PROVISIONER, spec="odd"),
        manifest("placement.kubernetes-fleet.io/v1", "ResourceEnvelope"),
        manifest("example.com/v1", "Pod"),
    ],
)
def test_their_neighbours_are_placed(placed: dict[str, t.Any]) -> None:
    assert never_placed_problem(identify(placed), placed, services={("web", "shop")}) is None


@pytest.mark.parametrize("namespace", ["gitops-fleet", "gitops-fleet-jobs", "kube-system", "fleet-system"])
def test_nothing_is_placed_in_a_reserved_namespace_F20(namespace: str) -> None:
    inside = manifest("v1", "ConfigMap", metadata={"namespace": namespace})
    problem = never_placed_problem(identify(inside), inside)
    assert problem is not None and f"namespace {namespace} is reserved" in problem.message


def test_the_secrets_by_which_members_are_reached_are_never_placed() -> None:
    access, other = manifest("v1", "Secret", "m1-access"), manifest("v1", "Secret", "settings")
    credentials = {("web", "m1-access")}
    problem = never_placed_problem(identify(access), access, credentials=credentials)
    assert problem is not None and "a member is reached by the credentials in it" in problem.message
    assert never_placed_problem(identify(other), other, credentials=credentials) is None
    same_name = manifest("v1", "ConfigMap", "m1-access")
    assert never_placed_problem(identify(same_name), same_name, credentials=credentials) is None


def scopeless(api_version: str, kind: str, name: str, **metadata: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}


RBAC = "rbac.authorization.k8s.io/v1"
BOOTSTRAP = {"labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}


@pytest.mark.parametrize(
    ("each", "why"),
    [
        (
            scopeless("apiextensions.k8s.io/v1", "CustomResourceDefinition", "fleetmembers.gitops.fleet"),
            "kept on the hub",
        ),
        (
            scopeless(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                "clusterresourceplacements.placement.kubernetes-fleet.io",
            ),
            "kept on the hub",
        ),
        (scopeless(RBAC, "ClusterRole", "cluster-admin", **BOOTSTRAP), "keeps it by itself"),
        (scopeless(RBAC, "ClusterRoleBinding", "system:node", **BOOTSTRAP), "keeps it by itself"),
        (scopeless("scheduling.k8s.io/v1", "PriorityClass", "system-node-critical"), "keeps it by itself"),
        (
            scopeless(
                "apiregistration.k8s.io/v1",
                "APIService",
                "v1.apps",
                labels={"kube-aggregator.kubernetes.io/automanaged": "onstart"},
            ),
            "keeps it by itself",
        ),
        (
            scopeless(
                "flowcontrol.apiserver.k8s.io/v1",
                "FlowSchema",
                "exempt",
                annotations={"apf.kubernetes.io/autoupdate-spec": "true"},
            ),
            "keeps it by itself",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else each["metadata"]["name"],
)
def test_what_a_cluster_or_the_fleet_lives_on_is_left_out_F20(each: dict[str, t.Any], why: str) -> None:
    problem = never_placed_problem(identify(each), each)
    assert problem is not None and why in problem.message


@pytest.mark.parametrize(
    "each",
    [
        scopeless("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.com"),
        scopeless("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.notgitops.fleet"),
        scopeless(RBAC, "ClusterRole", "cluster-admin-of-ours"),
        scopeless("scheduling.k8s.io/v1", "PriorityClass", "high"),
        scopeless("apiregistration.k8s.io/v1", "APIService", "v1beta1.metrics.k8s.io"),
    ],
    ids=lambda each: each["metadata"]["name"],
)
def test_what_people_make_beside_it_is_placed(each: dict[str, t.Any]) -> None:
    assert never_placed_problem(identify(each), each) is None


@pytest.mark.parametrize("value", [["rbac-defaults"], {"a": "b"}, 1, True])
@pytest.mark.parametrize("key", ["labels", "annotations"])
def test_metadata_that_maps_to_no_texts_is_told_and_ends_nothing(key: str, value: t.Any) -> None:
    odd = scopeless(RBAC, "ClusterRole", "odd", **{key: {"kubernetes.io/bootstrapping": value, "": value}})
    assert never_placed_problem(identify(odd), odd) is None
    found = list(malformed_metadata(identify(odd), odd))
    assert {(each.code, each.where) for each in found} == {("malformed-metadata", f"ClusterRole odd metadata.{key}")}
    assert len(found) == 2


@pytest.mark.parametrize("value", [[], "", 0, False])
@pytest.mark.parametrize("key", ["labels", "annotations"])
def test_something_empty_in_place_of_a_map_is_malformed_and_null_is_absent(key: str, value: t.Any) -> None:
    odd = scopeless(RBAC, "ClusterRole", "odd", **{key: value})
    assert [each.where for each in malformed_metadata(identify(odd), odd)] == [f"ClusterRole odd metadata.{key}"]
    absent = scopeless(RBAC, "ClusterRole", "absent", **{key: None})
    assert list(malformed_metadata(identify(absent), absent)) == []


def test_a_value_in_malformed_metadata_is_not_shown() -> None:
    """Tools keep copies of Secrets in annotations."""
    odd = manifest("v1", "Secret", metadata={"annotations": {"password": 73519046}})
    (found,) = malformed_metadata(identify(odd), odd)
    assert found.message == "annotations map keys to texts, and 'password' is mapped to a whole number"


def test_metadata_that_maps_to_texts_is_well_formed() -> None:
    good = scopeless(RBAC, "ClusterRole", "good", labels={"a": "1"}, annotations={"b": None})
    assert list(malformed_metadata(identify(good), good)) == []


def webhook(rules: t.Any = None, **fields: t.Any) -> dict[str, t.Any]:
    every = [{"apiGroups": ["*"], "resources": ["*"], "operations": ["*"], "apiVersions": ["*"]}]
    made = scopeless("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "gate")
    return {**made, "webhooks": [{"name": "gate.example.org", "rules": every if rules is None else rules, **fields}]}


def test_a_webhook_that_could_stop_a_cluster_is_refused_unless_it_is_permitted_F20() -> None:
    every = webhook()
    problem = stopping_webhook_problem(identify(every), every)
    assert problem is not None and problem.code == "stops-cluster" and "gate.example.org" in problem.message
    permitted = {**every, "metadata": {"name": "gate", "annotations": {"gitops.fleet/may-stop-cluster": "true"}}}
    assert stopping_webhook_problem(identify(permitted), permitted) is None


@pytest.mark.parametrize("selector", [None, {}, {"matchLabels": {}}, {"matchExpressions": [], "matchLabels": None}])
@pytest.mark.parametrize("key", ["namespaceSelector", "objectSelector"])
def test_a_selector_without_labels_keeps_nothing_from_a_webhook(key: str, selector: t.Any) -> None:
    every = webhook(**{key: selector})
    assert stopping_webhook_problem(identify(every), every) is not None


@pytest.mark.parametrize(
    ("operations", "stopped"),
    [
        (["*"], "created or changed or deleted"),
        (["CREATE", "UPDATE"], "created or changed"),
        (["CONNECT", "DELETE"], "deleted"),
        (None, "created or changed or deleted"),
    ],
)
def test_a_webhook_is_refused_with_what_it_could_stop(operations: t.Any, stopped: str) -> None:
    every = webhook([{"apiGroups": ["*"], "resources": ["*/*"], "operations": operations}])
    problem = stopping_webhook_problem(identify(every), every)
    assert problem is not None and f"is asked before any object is {stopped}, and" in problem.message


def test_webhooks_that_could_stop_different_things_are_told_apart() -> None:
    rules = [[{"apiGroups": ["*"], "resources": ["*"], "operations": [each]}] for each in ("DELETE", "CREATE")]
    several = {**webhook(), "webhooks": [{"name": name, "rules": each} for name, each in zip("ab", rules, strict=True)]}
    problem = stopping_webhook_problem(identify(several), several)
    assert problem is not None
    assert "webhook a is asked before any object is deleted" in problem.message
    assert "webhook b is asked before any object is created" in problem.message


@pytest.mark.parametrize(
    "narrow",
    [
        webhook(failurePolicy="Ignore"),
        webhook(namespaceSelector={"matchLabels": {"a": "b"}}),
        webhook(objectSelector={"matchLabels": {"a": "b"}}),
        webhook(matchConditions=[{"name": "x", "expression": "true"}]),
        webhook(rules=[{"apiGroups": ["apps"], "resources": ["*"]}]),
        webhook(rules=[{"apiGroups": ["*"], "resources": ["deployments"]}]),
        webhook(rules=[{"apiGroups": ["*"], "resources": ["*/*"], "operations": ["CONNECT"]}]),
        webhook(rules=[]),
        webhook(rules="nothing"),
        {**webhook(), "webhooks": None},
        {**webhook(), "kind": "ValidatingAdmissionPolicy"},
    ],
)
def test_a_webhook_for_some_objects_is_placed(narrow: dict[str, t.Any]) -> None:
    assert stopping_webhook_problem(identify(narrow), narrow) is None
