# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Members of driver ``cluster_api``: a real control plane behind a Cluster whose controllers a thread plays."""

from __future__ import annotations

import threading
import typing as t
from dataclasses import dataclass
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import Pace
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from controllers import Controllers
from update_fleet import NEW, OLD, UpdateFleet, until


@dataclass
class Setup:
    """One member, behind a management cluster of its own."""

    fleet: UpdateFleet
    name: str
    provider: Controllers

    def conduct(self, kind: str = "ControlPlaneOnly", **wish: t.Any) -> str:
        drivers = {"cluster_api": {"kubeconfig": str(self.provider.kubeconfig)}}
        return self.fleet.conduct(self.fleet.run(kind=kind), drivers, **wish).outcome


@pytest.fixture
def setup(fleet: UpdateFleet) -> t.Iterator[Setup]:
    (name,) = fleet.members("all", driver="cluster_api")
    management = f"m{fleet.number}"
    fleet.made.append(management)
    kubeconfig = fleet.clusters(management, version="1.36").kubeconfig
    with KubeClient(connection_from_kubeconfig(kubeconfig)) as client:
        yield Setup(fleet, name, Controllers(client, kubeconfig, name, fleet.clusters.root))


def test_the_control_plane_first_and_then_pool_after_pool(setup: Setup) -> None:
    """D3-22. Pools wait for their step, and nothing of ours is left in the Cluster at the end."""
    with setup.provider as provider:
        assert setup.conduct("Full") == "done", setup.fleet.rows()
        assert provider.log == [f"control plane {NEW}", f"blue {NEW}", f"green {NEW}"]
        assert provider.versions("blue") + provider.versions("green") == [NEW] * 4 and provider.deferred() == []
    assert setup.fleet.version(setup.name) == NEW and setup.fleet.row(setup.name).version_before == OLD


def test_a_control_plane_alone_leaves_the_pools_put_off(setup: Setup) -> None:
    with setup.provider as provider:
        assert setup.conduct() == "done", setup.fleet.rows()
        assert provider.log == [f"control plane {NEW}"] and provider.deferred() == ["blue", "green"]
        assert provider.versions("blue") + provider.versions("green") == [OLD] * 4
    assert setup.fleet.version(setup.name) == NEW


def test_a_topology_that_is_being_rolled_out_already_is_waited_for(setup: Setup) -> None:
    provider = setup.provider
    provider.settle(provider.read("clusters", setup.name), "False", "ClusterUpgrading")
    assert setup.conduct(max_idle=timedelta(0)) == "waiting"
    assert "topology: ClusterUpgrading" in setup.fleet.row(setup.name).message and provider.log == []
    assert provider.read("clusters", setup.name)["spec"]["topology"]["version"] == OLD
    assert provider.deferred() == []


def test_a_paused_cluster_is_told_of_and_not_waited_for_for_ever(setup: Setup) -> None:
    """Before its turn it is left out when its time is over; in the middle of its upgrade the attempt fails then."""
    provider, fleet = setup.provider, setup.fleet
    provider.write("clusters", setup.name, {"spec": {"paused": True}})
    assert setup.conduct(max_idle=timedelta(0)) == "waiting"
    row = fleet.row(setup.name)
    assert row.status.state == "Pending" and "its Cluster is paused (spec.paused)" in row.message
    run = fleet.run(unreachableTimeoutSeconds=1)
    fleet.run_name = run["metadata"]["name"] = f"{fleet.run_name}-2"
    drivers = {"cluster_api": {"kubeconfig": str(provider.kubeconfig)}}
    assert fleet.conduct(run, drivers).outcome == "partial"
    assert fleet.row(setup.name).status.state == "Skipped" and provider.log == []

    provider.write("clusters", setup.name, {"spec": {"paused": False}})
    third = fleet.run()
    fleet.run_name = third["metadata"]["name"] = f"{fleet.run_name}-3"
    pausing = threading.Thread(target=lambda: pause_once_begun(provider, setup.name))
    pausing.start()
    came = fleet.conduct(third, drivers, pace=Pace(interval=0.2, settle=20, lost_after=2))
    pausing.join()
    assert came.outcome == "failed" and "its Cluster is paused" in came.message
    assert fleet.row(setup.name).reason == "OperationLost" and fleet.version(setup.name) == OLD


def pause_once_begun(provider: Controllers, name: str) -> None:
    """Nobody plays the controllers meanwhile, so that what was begun stays as it is."""
    until(lambda: provider.read("clusters", name)["spec"]["topology"]["version"] == NEW)
    provider.write("clusters", name, {"spec": {"paused": True}})
