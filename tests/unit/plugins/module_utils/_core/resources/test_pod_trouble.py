# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What pods tell of their trouble, as the Kubernetes API has it."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.pod_trouble import pod_trouble


def pod(name="web-1", **status):
    return {"metadata": {"name": name}, "status": status}


def waiting(reason):
    return {"containerStatuses": [{"state": {"waiting": {"reason": reason}}}]}


@pytest.mark.parametrize("reason", ["ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError"])
def test_a_container_that_cannot_start(reason):
    assert pod_trouble([pod(), pod("web-2", **waiting(reason))]) == f"pod web-2: {reason}"


def test_an_init_container_comes_first():
    state = {"initContainerStatuses": [{"state": {"terminated": {"reason": "Error"}}}], **waiting("PodInitializing")}
    assert pod_trouble([pod(**state)]) == "pod web-1: Error"


def test_a_pod_without_a_node():
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes fit"}
    assert pod_trouble([pod(conditions=[condition])]) == "pod web-1: Unschedulable: 0/3 nodes fit"


@pytest.mark.parametrize(
    "status",
    [{}, waiting("ContainerCreating"), {"containerStatuses": [{"state": {"running": {}}}]}, {"containerStatuses": 7}],
)
def test_no_trouble_is_told_where_there_is_none_or_it_cannot_be_read(status):
    assert pod_trouble([pod(**status)]) == ""


def test_a_long_word_is_cut():
    assert len(pod_trouble([pod(**waiting("x" * 1000))])) < 200
