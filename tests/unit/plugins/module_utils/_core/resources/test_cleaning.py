# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Cleaning of manifests."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.cleaning import cleaned


def test_what_one_cluster_added_goes_and_what_people_wrote_stays() -> None:
    people: dict[str, t.Any] = {
        "name": "shop",
        "namespace": "web",
        "labels": {"a": "b"},
        "finalizers": ["example.com/keep"],
        "annotations": {"example.com/note": "n"},
    }
    server = {
        "resourceVersion": "1",
        "generation": 2,
        "uid": "u",
        "selfLink": "/x",
        "deletionTimestamp": "t",
        "managedFields": [{}],
        "ownerReferences": [{}],
        "creationTimestamp": "t",
    }
    noise = {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "deployment.kubernetes.io/revision": "3",
        "deprecated.daemonset.template.generation": "3",
    }
    live = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**people, **server, "annotations": {**people["annotations"], **noise}},
        "spec": {"replicas": 1, "template": {"metadata": {"creationTimestamp": None, "labels": {"a": "b"}}}},
        "status": {"replicas": 1},
    }
    before = copy.deepcopy(live)
    assert cleaned(live) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": people,
        "spec": {"replicas": 1, "template": {"metadata": {"labels": {"a": "b"}}}},
    }
    assert live == before


def test_labels_and_annotations_that_are_empty_go() -> None:
    assert cleaned({"kind": "X", "metadata": {"name": "x", "labels": {}, "annotations": None}}) == {
        "kind": "X",
        "metadata": {"name": "x"},
    }
    noise = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert cleaned({"metadata": {"annotations": noise}}) == {"metadata": {}}


def test_who_holds_an_object_on_its_cluster_is_not_part_of_it() -> None:
    """On a hub that is a member what is selected is held there, too."""
    labels = {"applyset.kubernetes.io/part-of": "applyset-x-v1", "app": "web"}
    assert cleaned({"kind": "X", "metadata": {"labels": labels}})["metadata"] == {"labels": {"app": "web"}}


def service(**spec: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}


def test_a_service_loses_what_was_allotted_to_it() -> None:
    ports = [{"port": 80, "nodePort": 30080}]
    live = service(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1"], healthCheckNodePort=3, ports=ports, type="NodePort")
    assert cleaned(live)["spec"] == {"ports": [{"port": 80}], "type": "NodePort"}


def test_a_headless_service_stays_headless() -> None:
    headless = service(clusterIP="None", clusterIPs=["None"])
    assert cleaned(headless) == headless


NOTES = {
    "pv.kubernetes.io/bind-completed": "yes",
    "volume.kubernetes.io/selected-node": "node-1",
    "volume.kubernetes.io/storage-provisioner": "disk.example.com",
    "volume.beta.kubernetes.io/storage-provisioner": "disk.example.com",
}
BY_CLUSTER = {"pv.kubernetes.io/bound-by-controller": "yes"}


def storage(kind: str, annotations: dict[str, str], **spec: t.Any) -> dict[str, t.Any]:
    metadata = {"name": "data", **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}


def test_a_claim_that_its_cluster_has_bound_is_free_elsewhere() -> None:
    """Else it is Lost there, for the volume is only where it was bound."""
    bound = storage("PersistentVolumeClaim", {**NOTES, **BY_CLUSTER}, volumeName="pvc-1", storageClassName="fast")
    assert cleaned(bound) == storage("PersistentVolumeClaim", {}, storageClassName="fast")


def test_a_claim_keeps_the_volume_that_its_author_has_chosen() -> None:
    bound = storage("PersistentVolumeClaim", {**NOTES, "team": "a"}, volumeName="nfs-1")
    assert cleaned(bound) == storage("PersistentVolumeClaim", {"team": "a"}, volumeName="nfs-1")


def test_a_volume_names_no_claim_of_another_cluster() -> None:
    """Else it counts as given back there, and its disk may be deleted."""
    claim = {"kind": "PersistentVolumeClaim", "namespace": "web", "name": "data"}
    there = {**claim, "uid": "u", "resourceVersion": "7"}
    assert cleaned(storage("PersistentVolume", BY_CLUSTER, claimRef=there)) == storage("PersistentVolume", {})
    assert cleaned(storage("PersistentVolume", {}, claimRef=there)) == storage("PersistentVolume", {}, claimRef=claim)


def test_a_job_loses_its_generated_selector_unless_it_was_written_by_hand() -> None:
    uids = {"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u"}
    spec = {
        "selector": {"matchLabels": uids},
        "template": {"metadata": {"creationTimestamp": None, "labels": {**uids, "a": "b"}}},
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    assert cleaned(job)["spec"] == {"template": {"metadata": {"labels": {"a": "b"}}}}
    manual = {**job, "spec": {**spec, "manualSelector": True}}
    assert cleaned(manual)["spec"]["selector"] == {"matchLabels": uids}


def test_string_data_becomes_data_as_the_server_would_do() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": "b2xk", "b": "Yg=="}, "stringData": {"a": "new"}}
    assert cleaned(secret) == {"apiVersion": "v1", "kind": "Secret", "data": {"a": "bmV3", "b": "Yg=="}}
    assert cleaned({**secret, "stringData": {"a": 1}})["stringData"] == {"a": 1}


def test_a_namespace_from_the_hub_equals_the_one_in_a_file() -> None:
    file = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": {"team": "a"}}}
    hub: dict[str, t.Any] = copy.deepcopy(file)
    hub["metadata"]["labels"]["kubernetes.io/metadata.name"] = "web"
    hub |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    assert cleaned(hub) == cleaned(file) == file


def test_rules_of_an_aggregated_role_belong_to_the_control_plane() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    assert "rules" not in cleaned({**role, "aggregationRule": {"clusterRoleSelectors": []}})
    assert "rules" in cleaned(role)


@pytest.mark.parametrize(
    "odd",
    [
        {"kind": "Service", "metadata": [], "spec": "text"},
        {"kind": "Service", "spec": {"ports": 5}},
        {"kind": "Secret", "data": "abc", "stringData": {"a": "b"}},
        {"kind": "Secret", "data": ["abc"], "stringData": {"a": "b"}},
        {"kind": "Secret", "stringData": {"a": "\ud800"}},
        {"kind": "PersistentVolume", "metadata": {"annotations": "text"}, "spec": {"claimRef": 5}},
        {"kind": "PersistentVolumeClaim", "metadata": [], "spec": "text"},
    ],
)
def test_a_manifest_of_a_wrong_shape_is_left_to_the_server(odd: dict[str, t.Any]) -> None:
    assert cleaned({"apiVersion": "v1", **odd}) == {"apiVersion": "v1", **odd}


def test_keys_that_yaml_reads_as_numbers_or_truths_are_texts() -> None:
    assert cleaned({"kind": "X", "data": {8080: "a", True: "b"}}) == {"kind": "X", "data": {"8080": "a", "true": "b"}}
