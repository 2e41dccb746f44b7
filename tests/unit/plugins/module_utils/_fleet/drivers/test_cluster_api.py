# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the driver ``cluster_api`` makes of a Cluster: how far it is, what it writes. On API servers it is shown by
``integration/updates/test_cluster_api.py``."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import cluster_api
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.cluster_api import ClusterApiDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    IN_PROGRESS,
    NOT_BEGUN,
    SUCCEEDED,
    Work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError

Document = dict[str, t.Any]


def cluster(
    version: str = "v1.35.4", status: str = "True", reason: str = "ReconcileSucceeded", seen: int = 2
) -> Document:
    pools = {"machineDeployments": [{"name": "blue"}], "machinePools": [{"name": "green", "metadata": {"labels": {}}}]}
    condition = {"type": "TopologyReconciled", "status": status, "reason": reason, "observedGeneration": seen}
    return {
        "metadata": {"name": "east", "generation": 2},
        "spec": {"topology": {"version": version, "workers": pools}},
        "status": {"conditions": [condition]},
    }


@pytest.mark.parametrize(
    "found, state",
    [
        (cluster("v1.35.4"), NOT_BEGUN),
        (cluster("v1.36.3", "False", "ClusterUpgrading"), IN_PROGRESS),
        (cluster("v1.36.3", seen=1), IN_PROGRESS),
        (cluster("v1.36.3", "False", "ReconcileFailed"), IN_PROGRESS),
        (cluster("v1.36.3", "False", "MachineDeploymentsUpgradeDeferred"), SUCCEEDED),
        (cluster("v1.36.3"), SUCCEEDED),
    ],
)
def test_it_is_done_when_its_controllers_have_seen_it_and_put_off_the_rest(found: Document, state: str):
    assert cluster_api._progress(found, "1.36.3").state == state


@pytest.mark.parametrize("how", ["spec", "annotation", ""])
def test_one_that_is_paused_is_told_of(how: str):
    found = cluster()
    found["spec"] |= {"paused": how == "spec"}
    found["metadata"] |= {"annotations": {cluster_api.PAUSED: ""}} if how == "annotation" else {}
    if not how:
        cluster_api._refuse_paused(found)
        return
    with pytest.raises(FleetError, match=f"its Cluster is paused .*{how}") as refused:
        cluster_api._refuse_paused(found)
    assert refused.value.code == "cluster-paused"


def test_all_pools_are_put_off_with_the_version_and_let_go_one_by_one():
    found = cluster()
    cluster_api._set_version_deferring_pools(found, "1.36.3")
    workers = found["spec"]["topology"]["workers"]
    assert found["spec"]["topology"]["version"] == "v1.36.3"
    assert workers["machineDeployments"][0]["metadata"]["annotations"] == {cluster_api.DEFERRED: ""}
    assert workers["machinePools"][0]["metadata"]["annotations"] == {cluster_api.DEFERRED: ""}
    cluster_api._stop_deferring(found, work("blue"))
    assert workers["machineDeployments"] == [{"name": "blue"}]
    assert cluster_api.DEFERRED in workers["machinePools"][0]["metadata"]["annotations"]


def test_what_is_at_its_target_is_left_as_it_is():
    found = cluster("v1.36.4")
    cluster_api._set_version_deferring_pools(found, "1.36.3")
    assert found == cluster("v1.36.4")


@pytest.mark.parametrize("target, pool, code", [("1.36", "", "target-not-offered"), ("1.36.3", "red", "no-such-pool")])
def test_what_cannot_be_is_refused(target: str, pool: str, code: str):
    with pytest.raises(FleetError) as refused:
        if pool:
            cluster_api._stop_deferring(cluster("v1.36.3"), work(pool))
        else:
            cluster_api._set_version_deferring_pools(cluster(), target)
    assert refused.value.code == code


def test_a_pool_does_not_go_ahead_of_its_topology():
    with pytest.raises(FleetError, match="its topology is at v1.35.4"):
        cluster_api._stop_deferring(cluster(), work("blue"))


class Management:
    """A management cluster that answers with these objects, whatever they are."""

    server_name = "management"

    def __init__(self, found: t.Any, **lists: t.Any) -> None:
        self.found, self.lists, self.written = found, lists, None

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is open."""

    def get(self, path: str, query: t.Any = None) -> t.Any:
        return {"items": self.lists.get(path.rpartition("/")[2], [])} if query else self.found

    def put(self, _path: str, body: t.Any) -> None:
        self.written = body


def made(name: str, version: str = "v1.36.3", **metadata: t.Any) -> Document:
    labels = {"topology.cluster.x-k8s.io/deployment-name": "blue"}
    counts = {"replicas": 2, "upToDateReplicas": 2, "readyReplicas": 2, "observedGeneration": 1}
    spec = {"replicas": 2, "template": {"spec": {"version": version}}}
    return {"metadata": {"name": name, "generation": 1, "labels": labels, **metadata}, "spec": spec, "status": counts}


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., ClusterApiDriver]:
    def make(found: t.Any, **lists: t.Any) -> ClusterApiDriver:
        monkeypatch.setattr(ClusterApiDriver, "_management", lambda _self: Management(found, **lists))
        monkeypatch.setattr(cluster_api, "version", lambda _client: "v1.36.3")
        clients = t.cast(t.Any, SimpleNamespace(get=lambda _member: None))
        return ClusterApiDriver(clients=clients, kubeconfig="k", context="", namespace="capi", name="east")

    return make


def test_a_pool_that_is_made_anew_is_not_its_former_self(driver: t.Any):
    former = made("east-blue-1", "v1.35.4", deletionTimestamp="2026-08-17T11:00:00Z")
    found = driver(cluster("v1.36.3"), machinedeployments=[former, made("east-blue-2")])
    assert found.observe("east").pools[0].version == "v1.36.3"
    assert found.poll(replace(work("blue"), pool_step=True)).state == SUCCEEDED


def test_two_that_are_both_of_a_pool_are_named(driver: t.Any):
    """Which of them is upgraded cannot be said."""
    found = driver(cluster("v1.36.3"), machinedeployments=[made("east-blue-1"), made("east-blue-2")])
    for ask in (lambda: found.observe("east"), lambda: found.poll(replace(work("blue"), pool_step=True))):
        with pytest.raises(FleetError, match="east-blue-1 and east-blue-2 are both of pool blue") as refused:
            ask()
        assert refused.value.code == "pool-ambiguous"


@pytest.mark.parametrize(
    "lists",
    [
        {"machines": [{"metadata": {"name": "m"}, "spec": {"version": "latest"}}]},
        {"machines": [{"metadata": {}}]},
        {"machines": ["m"]},
        {"machinedeployments": [made("east-blue", "newest")]},
        {"machinedeployments": [made("east-blue", labels=7)]},
        {"machinedeployments": [{**made("east-blue"), "status": {"replicas": "2"}}]},
        {"machinepools": 7},
    ],
)
def test_what_is_made_of_pools_is_an_error_where_it_cannot_be_read(driver: t.Any, lists: Document):
    with pytest.raises(ApiError) as refused:
        driver(cluster("v1.36.3"), **lists).observe("east")
    assert refused.value.code == "bad-answer"


@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": None},
        {"metadata": {"name": "east", "annotations": [cluster_api.PAUSED]}},
        {"metadata": {"name": "east", "generation": "2"}},
        {"spec": {"topology": []}},
        {"spec": {"topology": {"version": "latest"}}},
        {"spec": {"topology": {"version": "v1.36.3", "workers": {"machinePools": [{"class": "x"}]}}}},
        {"status": {"conditions": ["TopologyReconciled"]}},
        {"status": {"conditions": [{"type": "TopologyReconciled", "observedGeneration": "2"}]}},
    ],
)
def test_a_cluster_that_is_none_is_an_error_of_its_server(driver: t.Any, broken: Document):
    found = driver(cluster() | broken)
    for ask in (found.observe, lambda _name: found.begin(work("")), lambda _name: found.poll(work(""))):
        with pytest.raises(ApiError) as refused:
            ask("east")
        assert refused.value.code == "bad-answer"


def work(pool: str) -> Work:
    return Work(operation="r.east.1", run="r", member="east", upgrade_type="Full", target="1.36.3", pool=pool)
