# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the simulated members of the benchmarks have that no API server alone has: many members, nodes, controllers."""

from __future__ import annotations

import socket
import sys
import typing as t
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.facts import read_fleet
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import join, specs_of_contexts
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients, recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.lists import read_list
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from member_fleet import Members, members

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
POD_PATH, APPLY = "/api/v1/pods", "application/apply-patch+yaml"
DEPLOYMENT: dict[str, t.Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}


@pytest.fixture(scope="module")
def fleet() -> Iterator[Members]:
    with members(count=12, nodes=3, pods=40) as found:
        yield found


@pytest.fixture(params=["token", "certificate"])
def kubeconfig(request: pytest.FixtureRequest, fleet: Members, tmp_path: Path) -> Path:
    fleet.reset()
    return fleet.kubeconfig(tmp_path / "kubeconfig", certificates=request.param == "certificate")


def _client(kubeconfig: Path, name: str) -> KubeClient:
    return KubeClient(connection_from_kubeconfig(kubeconfig, name))


def test_all_are_joined_and_their_facts_read(fleet: Members, kubeconfig: Path, tmp_path: Path) -> None:
    records = open_records({"type": "sqlite", "path": str(tmp_path / "records.db")}, {}, lambda: NOW)
    joined = join(Session(records=records, holder="runner"), specs_of_contexts(str(kubeconfig), "m*"), write=True)
    assert joined.joined == fleet.names
    assert set((joined.versions or {}).values()) == {"v1.36.3"}
    found = recorded_members(records)
    fleet.count_anew()
    with Clients({name: each.fleet for name, each in found.items()}) as clients:
        reading = read_fleet(found, clients, NOW, pods=True)
    records.close()
    assert not reading.failed
    available = {each.name: each.status.resource_usage for each in reading.snapshot.members}
    assert all(usage and usage.available["cpu"] not in ("", "0") for usage in available.values())
    assert len({str(usage) for usage in available.values()}) > 1, "members are alike"
    counts = fleet.counts()
    assert counts.members == dict.fromkeys(fleet.names, 5)
    assert counts.resources == {
        "get namespaces": 12,  # whether it is the cluster that joined
        "get /readyz": 12,
        "get /version": 12,
        "list nodes": 12,
        "list pods": 12,
    }
    assert counts.connections == 12 + 1  # and the one that asks


def test_members_share_nothing_that_is_written(fleet: Members, kubeconfig: Path) -> None:
    first, second = _client(kubeconfig, "m0001"), _client(kubeconfig, "m0009")
    before = read_list(first, "/api/v1/nodes").items
    assert before == read_list(second, "/api/v1/nodes").items, "these two share a set"
    name = before[0]["metadata"]["name"]
    patch = {"spec": {"unschedulable": True}}
    first.request("PATCH", f"/api/v1/nodes/{name}", patch, content_type="application/merge-patch+json")
    assert read_list(first, "/api/v1/nodes", field_selector="spec.unschedulable=true").items
    assert read_list(second, "/api/v1/nodes").items == before
    first.delete(f"/api/v1/nodes/{name}")
    assert len(read_list(first, "/api/v1/nodes").items) == 2
    fleet.reset()
    assert read_list(first, "/api/v1/nodes").items == before


def test_pods_in_pages_are_all_pods(fleet: Members, kubeconfig: Path) -> None:
    client = _client(kubeconfig, "m0002")
    whole = read_list(client, POD_PATH)
    assert len(whole.items) == 40
    assert read_list(client, POD_PATH, limit=7).items == whole.items
    node = whole.items[0]["spec"]["nodeName"]
    on_node = [each for each in whole.items if each["spec"]["nodeName"] == node]
    assert list(read_list(client, POD_PATH, field_selector=f"spec.nodeName={node}", limit=3).items) == on_node


def test_a_deployment_becomes_available(fleet: Members, kubeconfig: Path) -> None:
    client = _client(kubeconfig, "m0001")
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    query = {"fieldManager": "gitops-fleet"}
    written = client.request("PATCH", path, DEPLOYMENT, query, APPLY)
    assert written["status"] == {}
    live = client.get(path)
    assert live["status"]["availableReplicas"] == live["status"]["replicas"] == 2
    assert live["status"]["observedGeneration"] == live["metadata"]["generation"] == 1
    assert live["metadata"]["resourceVersion"] != written["metadata"]["resourceVersion"]
    again = client.request("PATCH", path, DEPLOYMENT, query, APPLY)
    assert again["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]
    more = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 3}}
    client.request("PATCH", path, more, query, APPLY)
    assert client.get(path)["status"]["availableReplicas"] == 3


def test_a_namespace_ends_with_what_is_in_it(fleet: Members, kubeconfig: Path) -> None:
    client = _client(kubeconfig, "m0001")
    client.post("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    client.post("/api/v1/namespaces/shop/configmaps", {"metadata": {"name": "a"}})
    client.delete("/api/v1/namespaces/shop")
    for path in ("/api/v1/namespaces/shop", "/api/v1/namespaces/shop/configmaps/a"):
        with pytest.raises(ApiError, match="not found"):
            client.get(path)
    client.post("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    assert read_list(client, "/api/v1/namespaces/shop/configmaps").items == ()


def test_each_member_has_an_identity_of_its_own(fleet: Members, kubeconfig: Path) -> None:
    """The uid of kube-system, by which a cluster is known, is the same after a reset."""
    path = "/api/v1/namespaces/kube-system"
    first = [_client(kubeconfig, name).get(path)["metadata"]["uid"] for name in fleet.names]
    assert len(set(first)) == len(fleet.names)
    fleet.reset()
    assert [_client(kubeconfig, name).get(path)["metadata"]["uid"] for name in fleet.names] == first


def test_nobody_listens_when_it_is_over(tmp_path: Path) -> None:
    with members(count=1, nodes=0, pods=0, tls=False) as found:
        client = _client(found.kubeconfig(tmp_path / "kubeconfig"), "m0001")
        assert client.get("/version")["gitVersion"] == "v1.36.3"
        port = urlsplit(found.server).port
    with socket.socket() as knocking:
        assert knocking.connect_ex(("127.0.0.1", port or 0)) != 0
