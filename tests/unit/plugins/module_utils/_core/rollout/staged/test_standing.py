# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where a staged update run stands, by its conditions alone."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import (
    ClusterStagedUpdateRun,
    StagedUpdateRun,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.standing import standing_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

DONE = {"type": "Succeeded", "status": "True", "reason": "StageUpdatingSucceeded", "message": "it is done"}
BEGUN = {"type": "Started", "status": "True", "reason": "ClusterUpdatingStarted", "message": ""}
ENDED = {"type": "Succeeded", "status": "True", "reason": "ClusterUpdatingSucceeded", "message": ""}
WAITS = {"type": "Progressing", "status": "False", "reason": "UpdateRunWaiting", "message": "stage b waits"}


def run(cls=ClusterStagedUpdateRun, **status):
    spec = {"placementName": "web", "stagedRolloutStrategyName": "rings", "state": "Run"}
    return decode(cls, {"metadata": {"name": "one", "namespace": "shop"}, "spec": spec, "status": status})


def stage(name, clusters, *conditions):
    rows = [{"clusterName": f"{name}-{number}", "conditions": list(each)} for number, each in enumerate(clusters)]
    return {"stageName": name, "clusters": rows, "conditions": list(conditions)}


def test_stages_and_clusters_are_counted_and_those_that_leave_with_them():
    found = standing_of(
        run(
            stagesStatus=[stage("a", [[ENDED], [ENDED]], DONE), stage("b", [[BEGUN], []])],
            deletionStageStatus=stage("kubernetes-fleet.io/deleteStage", [[]]),
            conditions=[WAITS],
        )
    )
    assert (found.name, found.placement, found.state, found.message) == ("one", "web", "Waiting", "stage b waits")
    assert (found.stages_done, found.stages, found.clusters_done, found.clusters) == (1, 3, 2, 5)


def test_a_run_that_has_not_begun_counts_nothing_and_one_in_a_namespace_says_so():
    found = standing_of(run(StagedUpdateRun))
    assert (found.name, found.placement, found.state) == ("shop/one", "shop/web", "NotStarted")
    assert (found.stages, found.clusters, found.message) == (0, 0, "")


@pytest.mark.parametrize(
    ("condition", "state"),
    [
        ({**DONE, "message": "all"}, "Succeeded"),
        ({**DONE, "status": "False"}, "Failed"),
        ({**WAITS, "reason": "UpdateRunStuck"}, "Stuck"),
        ({**WAITS, "reason": "UpdateRunStopped"}, "Stopped"),
        ({"type": "Initialized", "status": "False", "reason": "x", "message": "no snapshot"}, "Failed"),
    ],
)
def test_its_state_in_one_word(condition, state):
    found = standing_of(run(conditions=[condition]))
    assert (found.state, found.message) == (state, condition["message"])
