# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Profile fleet: simulated nodes, and pods that run on them; several clusters at once."""

from __future__ import annotations

from functools import partial

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec, NodesSpec

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
SYSTEM = NodesSpec(2, "system", image="Simulated Linux 7", age="30d", cpu="8", zone="eu-1", labels={"tier": "system"})


@pytest.fixture(scope="module")
def fleet(module_clusters):
    """Two clusters, made side by side."""
    root, ports = module_clusters.root, module_clusters.ports
    specs = (
        ClusterSpec("north", profile="fleet", region="eu", nodes=(SYSTEM, NodesSpec(1, "work", version="1.35.1"))),
        ClusterSpec("south", profile="fleet"),
    )
    bad = ClusterSpec("wrong", version="1.20")
    work = {spec.name: partial(cluster.present, spec, root, ports=ports) for spec in (*specs, bad)}
    return cluster.work_on_clusters(work)


def test_the_failure_of_one_cluster_hides_no_other(fleet):
    assert set(fleet.outcomes) == {"north", "south"} and fleet.changed
    assert fleet.errors["wrong"].code == "unknown-version"
    assert not set(fleet.outcomes["north"].ports.values()) & set(fleet.outcomes["south"].ports.values())


def test_nodes_are_as_described(fleet, open_client):
    with open_client(fleet.outcomes["north"].kubeconfig) as client:
        nodes = {node["metadata"]["name"]: node for node in client.get(NODES)["items"]}
    assert sorted(nodes) == ["north-system-0", "north-system-1", "north-work-0"]
    system, work = nodes["north-system-0"], nodes["north-work-0"]
    assert (
        system["metadata"]["labels"]
        | {
            "karpenter.sh/nodepool": "system",
            "topology.kubernetes.io/region": "eu",
            "topology.kubernetes.io/zone": "eu-1",
            "tier": "system",
        }
        == system["metadata"]["labels"]
    )
    assert system["metadata"]["annotations"]["gitops.fleet/simulated-age"] == "30d"
    assert system["status"]["allocatable"] == {"cpu": "8", "memory": "16Gi", "pods": "110"}
    assert system["status"]["nodeInfo"]["osImage"] == "Simulated Linux 7"
    assert system["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3"
    assert work["status"]["nodeInfo"]["kubeletVersion"] == "v1.35.1"


def test_a_pod_runs_on_a_simulated_node(fleet, open_client, eventually):
    with open_client(fleet.outcomes["north"].kubeconfig) as client:
        pod = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "one", "image": "example.com/one:1"}]}}
        client.post(PODS, pod)
        eventually(lambda: client.get(f"{PODS}/one")["status"]["phase"] == "Running")
        assert client.get(f"{PODS}/one")["spec"]["nodeName"].startswith("north-")


def test_pools_change_in_place(fleet, module_clusters, open_client):
    before = fleet.outcomes["north"]
    grown = module_clusters("north", profile="fleet", region="eu", nodes=(NodesSpec(3, "work", version="1.35.1"),))
    assert grown.changes == ("make 2 simulated nodes", "delete 2 simulated nodes")
    assert grown.before.nodes == {"system": 2, "work": 1} and grown.after.nodes == {"work": 3}
    assert grown.processes == before.processes
    newer = (NodesSpec(3, "work", version="1.36.0"),)
    wanted = ClusterSpec("north", profile="fleet", region="eu", nodes=newer)
    assert cluster.present(wanted, module_clusters.root, check=True).changes == ("replace 3 simulated nodes",)
    assert module_clusters(wanted).changes == ("replace 3 simulated nodes",)
    assert not module_clusters(wanted).changed
    with open_client(grown.kubeconfig) as client:
        versions = {node["status"]["nodeInfo"]["kubeletVersion"] for node in client.get(NODES)["items"]}
    assert versions == {"v1.36.0"}


def test_a_smaller_profile_stops_what_it_does_not_have(fleet, module_clusters):
    smaller = module_clusters("south", profile="api")
    assert smaller.changes == (
        "restart kube-apiserver with other options",
        "stop kube-controller-manager",
        "stop kube-scheduler",
        "stop kwok",
    )
    assert set(smaller.processes) == {"etcd", "kube-apiserver"}
