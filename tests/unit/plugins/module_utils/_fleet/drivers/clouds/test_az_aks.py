# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whole update runs by the definition ``az_aks``, beside a program that stands in for ``az``."""

from __future__ import annotations

import sys
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from cloud_setup import IMAGES, control_plane, full

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
BUSY = """ERROR: (OperationNotAllowed) Operation is not allowed: Another operation (nodepool1 - Updating) is in \
progress, please wait for it to finish before starting a new operation.
Code: OperationNotAllowed"""
MANY = "ERROR: (SubscriptionRequestsThrottled) Number of requests for subscription 's1' exceeded the limit."


def test_control_plane_then_pool_through_throttling_and_another_operation(cloud: t.Any) -> None:
    """D3-22. Each is asked for again until it is accepted, and followed while it goes on."""
    aks = cloud("az_aks", subscription="s1")
    aks.refuse("aks upgrade", MANY)
    aks.refuse("nodepool upgrade", BUSY)
    assert aks.conduct(**full("1.36.3")).outcome == "done", aks.row()
    where = "--resource-group=rg-east --subscription=s1"
    plane = f"az aks upgrade --name=east {where} --kubernetes-version=1.36.3"
    plane += " --control-plane-only --yes --no-wait --output=none"
    pool = f"az aks nodepool upgrade --cluster-name=east --name=nodepool1 {where}"
    pool += " --kubernetes-version=1.36.3 --yes --output=none"
    assert aks.commands == [plane, plane, pool, pool]
    seen = aks.driver().observe("east")
    (found,) = seen.pools
    assert (seen.version, seen.busy, found.version) == ("1.36.3", "", "1.36.3")
    assert found.image == "AKSUbuntu-2204gen2containerd-202602.10.0"
    assert (found.name, found.count, found.mode) == ("nodepool1", 3, "system")


def test_a_control_plane_alone(cloud: t.Any) -> None:
    aks = cloud("az_aks")
    assert aks.conduct(**control_plane("1.36.3")).outcome == "done", aks.row()
    assert [" nodepool " in line for line in aks.commands] == [False]


def test_node_images(cloud: t.Any) -> None:
    """D3-106."""
    aks = cloud("az_aks")
    aks.offer("AKSUbuntu-2204gen2containerd", "202601.12.0", "202602.10.0")
    assert aks.conduct(**IMAGES).outcome == "done", aks.row()
    (command,) = aks.commands
    assert command.startswith("az aks nodepool upgrade ") and " --node-image-only " in command
    seen = aks.driver().observe("east")
    assert (seen.version, [each.version for each in seen.pools]) == ("1.35.4", ["1.35.4"])


def test_an_upgrade_that_the_platform_gives_up_has_failed(cloud: t.Any) -> None:
    aks = cloud("az_aks")
    aks.change(fails="yes")
    assert aks.conduct(**control_plane("1.36.3")).outcome == "failed"
    assert aks.row() == ("Failed", "the cluster is Failed") and len(aks.commands) == 1


def test_a_refusal_that_time_does_not_mend_is_not_repeated(cloud: t.Any) -> None:
    aks = cloud("az_aks")
    aks.refuse("aks upgrade", "ERROR: (AuthorizationFailed) The client does not have authorization.")
    assert aks.conduct(**control_plane("1.36.3")).outcome == "failed"
    state, message = aks.row()
    assert state == "Failed" and "az aks upgrade ended with 1" in message and "AuthorizationFailed" in message
    assert len(aks.commands) == 1


def test_what_its_platform_works_on_is_waited_for(cloud: t.Any) -> None:
    aks = cloud("az_aks")
    aks.change(provisioningState="Updating")
    assert aks.conduct(**control_plane("1.36.3")).outcome == "waiting"
    state, message = aks.row()
    assert state == "Pending" and "cluster: Updating" in message and not aks.commands


def test_one_that_is_stopped_or_not_there_is_told(cloud: t.Any) -> None:
    aks = cloud("az_aks")
    aks.change(powerState={"code": "Stopped"})
    with pytest.raises(FleetError, match="the cluster east is stopped"):
        aks.driver().observe("east")
    aks.more["resource_group"] = "other"
    with pytest.raises(FleetError) as refused:
        aks.driver().observe("east")
    assert refused.value.code == "observe-failed" and "ResourceNotFound" in refused.value.message
