# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What people place, on real API servers: a namespace with all that is in it, rights everywhere, one in each region."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import prices_files
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import capture
from small_fleet import LEASES, PARENTS, Document, Fleet

APPS, RBAC = "apps/v1", "rbac.authorization.k8s.io/v1"
POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]}}
WORKLOAD = {"selector": {"matchLabels": {"a": "b"}}, "template": POD}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def in_namespace(fleet: Fleet, api_version: str, kind: str, **content: t.Any) -> Document:
    metadata = {"name": "one", "namespace": fleet.namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def there(fleet: Fleet, name: str, document: Document) -> bool:
    version, metadata = document["apiVersion"], document["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return fleet.servers[name].get(f"{root}{scope}/{document['kind'].lower()}s/{metadata['name']}") is not None


def test_a_namespace_arrives_with_one_of_each_kind_d4_06(file_fleet: Fleet) -> None:
    objects = [
        in_namespace(file_fleet, APPS, "Deployment", spec=WORKLOAD),
        in_namespace(file_fleet, APPS, "StatefulSet", spec={**WORKLOAD, "serviceName": "one"}),
        in_namespace(file_fleet, APPS, "DaemonSet", spec=WORKLOAD),
        in_namespace(file_fleet, "v1", "ConfigMap", data={"a": "b"}),
        in_namespace(file_fleet, "v1", "Secret", stringData={"a": "b"}),
        in_namespace(file_fleet, "v1", "PersistentVolumeClaim", spec=CLAIM),
        in_namespace(file_fleet, "v1", "Service", spec={"ports": [{"port": 80}]}),
    ]
    file_fleet.join("m1")
    file_fleet.resources(*objects)
    file_fleet.place()
    assert not file_fleet.apply().problems
    assert [each["kind"] for each in objects if not there(file_fleet, "m1", each)] == []


def test_a_member_holds_what_was_placed_and_our_marks_alone_d4_04(file_fleet: Fleet) -> None:
    """Every write that the member saw; none of them makes anything that runs."""
    with file_fleet.servers["m1"].writing() as written:
        file_fleet.join("m1")
        file_fleet.place()
        file_fleet.apply()
    seen = {each.split(" ", 1)[1] for each in written}
    namespace = file_fleet.namespace
    placed = {f"namespaces {namespace}/{namespace}", f"configmaps {namespace}/settings"}
    marks = {"namespaces gitops-fleet/gitops-fleet", f"configmaps gitops-fleet/{file_fleet.name}"}
    lease = "leases gitops-fleet/member"  # while it is written to
    assert placed < seen <= placed | marks | {lease}
    assert {each for each in written if each.endswith(lease)} == {f"create {lease}", f"delete {lease}"}
    assert file_fleet.servers["m1"].client.get(LEASES)["items"] == []
    assert file_fleet.servers["m1"].get(f"{PARENTS}/{file_fleet.name}")


def test_rights_reach_every_member_and_one_that_joins_later_d4_11(file_fleet: Fleet) -> None:
    name = f"reader-{file_fleet.number}"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    role = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers"}
    binding = {"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name}}
    file_fleet.resources(role, {**binding, "roleRef": reference, "subjects": [subject]}, namespace=False)
    document = file_fleet.placement()
    group, version = RBAC.split("/")
    document["spec"]["resourceSelectors"] = [
        {"group": group, "version": version, "kind": each["kind"], "name": name} for each in (role, binding)
    ]
    file_fleet.join("m1", "m2")
    assert not file_fleet.apply(definition=document).problems
    file_fleet.join("m3")
    file_fleet.apply(definition=document)
    for member in ("m1", "m2", "m3"):
        assert there(file_fleet, member, role) and there(file_fleet, member, binding)


def joined_by_region(fleet: Fleet) -> None:
    fleet.join("m1", "m2", labels={"region": "east", "environment": "production"})
    fleet.join("m3", labels={"region": "west", "environment": "production"})
    fleet.join("m4", labels={"region": "west", "environment": "test"})


@pytest.mark.parametrize("number", [2, 4])
def test_one_in_each_region_d4_12(file_fleet: Fleet, number: int) -> None:
    joined_by_region(file_fleet)
    spread = [{"topologyKey": "region", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
    file_fleet.place({"placementType": "PickN", "numberOfClusters": number, "topologySpreadConstraints": spread})
    file_fleet.apply()
    held = file_fleet.holders()
    assert len(held) == number
    assert len({"m1", "m2"} & set(held)) == len({"m3", "m4"} & set(held)) == number // 2


def test_two_that_are_named_of_three_d4_17(file_fleet: Fleet) -> None:
    file_fleet.join("m1", "m2", "m3")
    file_fleet.place({"placementType": "PickFixed", "clusterNames": ["m1", "m3"]})
    file_fleet.apply()
    assert file_fleet.holders() == ["m1", "m3"]
    assert file_fleet.servers["m2"].get(file_fleet.namespaced()) is None


def test_all_with_the_label_d4_22(file_fleet: Fleet) -> None:
    joined_by_region(file_fleet)
    terms = {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"environment": "production"}}}]}
    affinity = {"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    file_fleet.place({"placementType": "PickAll", "affinity": affinity})
    file_fleet.apply()
    assert file_fleet.holders() == ["m1", "m2", "m3"]
    assert file_fleet.servers["m4"].get(file_fleet.namespaced()) is None


# Instance type, and whether it is spot capacity: the cheapest core is not the cheapest of those that are.
MACHINES = {"m1": ("m5.large", "spot"), "m2": ("e2-standard-2", "spot"), "m3": ("e2-medium", "reserved")}


@pytest.fixture
def priced(file_fleet: Fleet) -> Iterator[Fleet]:
    """Three members with a node of two cores each."""
    for name, (machine, capacity) in MACHINES.items():
        labels = {"priced": "yes", "node.kubernetes.io/instance-type": machine}
        status = {"capacity": {"cpu": "2", "memory": "8Gi"}, "allocatable": {"cpu": "2", "memory": "8Gi"}}
        node = {"metadata": {"name": "priced", "labels": labels}, "status": status}
        file_fleet.servers[name].client.post("/api/v1/nodes", node)
        file_fleet.join(name, labels={"capacity": capacity})
    yield file_fleet
    options = {"kind": "DeleteOptions", "apiVersion": "v1"}
    for name in MACHINES:
        file_fleet.servers[name].client.request("DELETE", "/api/v1/nodes", options, {"labelSelector": "priced=yes"})


def test_batch_work_goes_where_capacity_is_cheap_d4_13(priced: Fleet) -> None:
    """By the price lists that come with the collection (D4-54)."""
    prices = prices_files(["aws", "gce"])
    found = capture(priced.session(), pods=False, prices=prices, threads=3, timeout=5.0, record=True)
    snapshot = found.reading.snapshot
    costs = {each.name: [cost.as_dict() for cost in snapshot.costs(each)] for each in snapshot.members}
    assert {name: rows[0]["value"] for name, rows in costs.items()} == {"m1": "0.048", "m2": "0.034", "m3": "0.017"}
    assert "us-east-1" in costs["m1"][0]["source"] and costs["m1"][0]["version"].startswith("20")
    terms = [{"labelSelector": {"matchLabels": {"capacity": "spot"}}}]
    cheap = {"name": "kubernetes.azure.com/per-cpu-core-cost", "sortOrder": "Ascending"}
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {"propertySorter": cheap}}],
    }
    priced.place({"placementType": "PickN", "numberOfClusters": 1, "affinity": {"clusterAffinity": affinity}})
    assert not priced.apply().problems
    assert priced.holders() == ["m2"]
