# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whole update runs by the definition ``eksctl``, beside a program that stands in for ``eksctl``."""

from __future__ import annotations

import sys
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from cloud_setup import IMAGES, control_plane, full

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
BUSY = "Error: nodegroup is currently being updated, please retry the command after the existing update is complete"
MANY = "Error: operation error EKS: UpdateClusterVersion, StatusCode: 429, ThrottlingException: Rate exceeded"


def test_control_plane_then_node_group_through_throttling_and_another_operation(cloud: t.Any) -> None:
    eks = cloud("eksctl", profile="ops")
    eks.refuse("upgrade cluster", MANY)
    eks.refuse("upgrade nodegroup", BUSY)
    assert eks.conduct(**full("1.36")).outcome == "done", eks.row()
    where = "--region=eu-west-1 --profile=ops"
    plane = f"eksctl upgrade cluster --name=east {where} --version=1.36 --approve --timeout=2h"
    pool = f"eksctl upgrade nodegroup --cluster=east --name=workers {where} --kubernetes-version=1.36 --timeout=2h"
    assert eks.commands == [plane, plane, pool, pool]
    (found,) = eks.driver().observe("east").pools
    assert (found.name, found.count, found.version) == ("workers", 2, "1.36")
    assert found.image == "AL2023_x86_64_STANDARD.1.36-1.36.1_20260210"


def test_node_images(cloud: t.Any) -> None:
    eks = cloud("eksctl")
    eks.offer("AL2023_x86_64_STANDARD.1.35", "1.35.3_20260112", "1.35.5_20260210")
    assert eks.conduct(**IMAGES).outcome == "done", eks.row()
    (command,) = eks.commands
    assert command.startswith("eksctl upgrade nodegroup ") and " --release-version=1.35.5-20260210 " in command


def test_without_aws_no_release_is_known(cloud: t.Any) -> None:
    assert [each.image for each in cloud("eksctl", aws="").driver().observe("east").pools] == [""]


@pytest.mark.parametrize("target", ["1.36.3", "v1.36.3"])
def test_a_patch_is_refused_before_anything_begins(cloud: t.Any, target: str) -> None:
    eks = cloud("eksctl")
    with pytest.raises(FleetError, match='write kubernetesVersion: "1.36"') as refused:
        eks.conduct(**control_plane(target))
    assert [each.code for each in refused.value.problems] == ["target-not-offered"]
    assert eks.row()[0] == "NotStarted" and not eks.commands


def test_what_its_platform_works_on_is_waited_for(cloud: t.Any) -> None:
    eks = cloud("eksctl")
    eks.change(Status="UPDATING")
    assert eks.conduct(**control_plane("1.36")).outcome == "waiting"
    state, message = eks.row()
    assert state == "Pending" and "cluster: UPDATING" in message and not eks.commands


def test_a_group_that_is_not_managed_fails_the_attempt(cloud: t.Any) -> None:
    eks = cloud("eksctl")
    groups = eks.read()["clusters"]["east"]["groups"]
    eks.change(groups=[{**groups[0], "Type": "unmanaged"}])
    assert eks.conduct(**full("1.36")).outcome == "failed"
    assert "only supported for managed nodegroups" in eks.row()[1]


def test_one_that_is_not_there_is_told(cloud: t.Any) -> None:
    with pytest.raises(FleetError, match="No cluster found for name: east"):
        cloud("eksctl", region="eu-west-2").driver().observe("east")
