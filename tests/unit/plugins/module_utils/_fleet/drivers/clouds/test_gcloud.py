# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whole update runs by the definition ``gcloud``, beside a program that stands in for ``gcloud``."""

from __future__ import annotations

import sys
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from cloud_setup import IMAGES, control_plane, full

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
BUSY = """ERROR: (gcloud.container.clusters.upgrade) ResponseError: code=400, message=Cluster is running \
incompatible operation operation-1718024305921."""
MANY = """ERROR: (gcloud.container.clusters.upgrade) ResponseError: code=429, message=Quota exceeded for quota \
metric 'Read requests'."""


def test_control_plane_then_pool_through_throttling_and_another_operation(cloud: t.Any) -> None:
    gke = cloud("gcloud")
    gke.refuse("--master", MANY)
    gke.refuse("--node-pool", BUSY)
    assert gke.conduct(**full("1.36.3")).outcome == "done", gke.row()
    start, where = "gcloud container clusters upgrade east", "--location=europe-west1 --project=p --async --quiet"
    plane = f"{start} --master --cluster-version=1.36.3 {where}"
    pool = f"{start} --node-pool=default-pool --cluster-version=1.36.3 {where}"
    assert gke.commands == [plane, plane, pool, pool]
    seen = gke.driver().observe("east")
    (found,) = seen.pools
    assert (seen.version, found.version) == ("1.36.3-gke.1200", "1.36.3-gke.1200")
    assert found.image == "COS_CONTAINERD.1.36-1.36.3_gke.1200"


def test_node_images(cloud: t.Any) -> None:
    """They come with builds of the same minor."""
    gke = cloud("gcloud")
    gke.change(currentMasterVersion="1.35.6-gke.1100")
    gke.offer("COS_CONTAINERD.1.35", "1.35.4_gke.1000", "1.35.6_gke.1100")
    assert gke.conduct(**IMAGES).outcome == "done", gke.row()
    (command,) = gke.commands
    assert " --node-pool=default-pool --cluster-version=1.35.6-gke.1100 " in command


def test_an_operation_that_was_done_before_is_not_taken_for_the_new_one(cloud: t.Any) -> None:
    gke = cloud("gcloud")
    old = {"name": "operation-0", "operationType": "UPGRADE_MASTER", "startTime": "2027-01-01T00:00:00Z"}
    state = gke.read()
    state["operations"] = [{**old, "status": "DONE", "targetLink": "https://x/clusters/east"}]
    gke.write(state)
    assert gke.conduct(**control_plane("1.36.3")).outcome == "done", gke.row()


def test_an_operation_that_ends_with_an_error_has_failed(cloud: t.Any) -> None:
    """It is DONE all the same, and only its message tells."""
    gke = cloud("gcloud")
    gke.change(fails="Desired version is not supported.")
    assert gke.conduct(**control_plane("1.36.3")).outcome == "failed"
    assert gke.row() == ("Failed", "Desired version is not supported.")


def test_an_operation_that_ends_with_an_error_and_no_word_has_failed(cloud: t.Any) -> None:
    gke = cloud("gcloud")
    gke.change(error={"code": 13})
    assert gke.conduct(**control_plane("1.36.3")).outcome == "failed"
    assert gke.row() == ("Failed", "operation-1 ended with the error code 13, without a message")


@pytest.mark.parametrize("update", [control_plane("1.36.3"), full("1.36.3")])
def test_an_upgrade_of_which_no_operation_comes_has_failed(cloud: t.Any, update: t.Any) -> None:
    """Nobody would ever know of its end."""
    gke = cloud("gcloud", patience=1, interval=0.01)
    gke.change(silent="yes")
    assert gke.conduct(**update).outcome == "failed"
    state, message = gke.row()
    assert state == "Failed" and "shows no new operation UPGRADE_MASTER after 1 s" in message


def test_what_its_platform_works_on_is_waited_for(cloud: t.Any) -> None:
    gke = cloud("gcloud")
    gke.change(status="RECONCILING")
    assert gke.conduct(**control_plane("1.36.3")).outcome == "waiting"
    state, message = gke.row()
    assert state == "Pending" and "cluster: RECONCILING" in message and not gke.commands


def test_one_that_is_not_there_is_told(cloud: t.Any) -> None:
    with pytest.raises(FleetError, match="code=404"):
        cloud("gcloud", name="west").driver().observe("east")
