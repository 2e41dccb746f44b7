# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the driver ``cluster_api`` makes of a Cluster: how far it is, what it writes. On API servers it is shown by
``integration/updates/test_cluster_api.py``."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers import cluster_api
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    IN_PROGRESS,
    NOT_BEGUN,
    SUCCEEDED,
    Work,
)

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
    cluster_api._put_off(found, "1.36.3")
    workers = found["spec"]["topology"]["workers"]
    assert found["spec"]["topology"]["version"] == "v1.36.3"
    assert workers["machineDeployments"][0]["metadata"]["annotations"] == {cluster_api.DEFERRED: ""}
    assert workers["machinePools"][0]["metadata"]["annotations"] == {cluster_api.DEFERRED: ""}
    cluster_api._let_go(found, work("blue"))
    assert workers["machineDeployments"] == [{"name": "blue"}]
    assert cluster_api.DEFERRED in workers["machinePools"][0]["metadata"]["annotations"]


def test_what_is_at_its_target_is_left_as_it_is():
    found = cluster("v1.36.4")
    cluster_api._put_off(found, "1.36.3")
    assert found == cluster("v1.36.4")


@pytest.mark.parametrize("target, pool, code", [("1.36", "", "target-not-offered"), ("1.36.3", "red", "no-such-pool")])
def test_what_cannot_be_is_refused(target: str, pool: str, code: str):
    with pytest.raises(FleetError) as refused:
        if pool:
            cluster_api._let_go(cluster("v1.36.3"), work(pool))
        else:
            cluster_api._put_off(cluster(), target)
    assert refused.value.code == code


def test_a_pool_does_not_go_ahead_of_its_topology():
    with pytest.raises(FleetError, match="its topology is at v1.35.4"):
        cluster_api._let_go(cluster(), work("blue"))


def work(pool: str) -> Work:
    return Work(operation="r.east.1", run="r", member="east", upgrade_type="Full", target="1.36.3", pool=pool)
