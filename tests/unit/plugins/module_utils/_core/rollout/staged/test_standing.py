# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Where a staged update run stands, by its conditions alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import (
    ClusterStagedUpdateRun,
    StagedUpdateRun,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.standing import (
    RunStanding,
    standing_of,
    told_of,
    with_newer,
)
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


def test_a_run_that_has_not_ended_names_a_newer_one_of_its_placement():
    def begun(name, minute, state="Running", placement="web", message=""):
        at = datetime(2026, 3, 1, 12, minute, tzinfo=UTC) if minute is not None else None
        return RunStanding(name=name, placement=placement, state=state, message=message, begun_at=at)

    first, ended, newest = begun("a", 1, message="stuck"), begun("b", 2, "Succeeded"), begun("c", 3)
    other, waits = begun("d", 4, placement="till"), begun("e", None, "NotStarted")
    found = with_newer([first, ended, newest, other, waits])
    assert [each.message for each in found] == ["run c has begun since; stuck", "", "", "", ""]
    assert with_newer([begun("b", 2, "Failed"), begun("a", 1)])[1].message == "run b has begun since"
    failed, good = begun("f", 1, "Failed", message="no"), begun("g", 2, "Succeeded")
    assert [each.message for each in with_newer([failed, good])] == ["run g has succeeded since; no", ""]
    tried = begun("h", 3, "Failed")
    assert [each.message for each in with_newer([failed, tried])] == ["run h has begun since; no", ""]
    assert [each.message for each in with_newer([failed, good, tried])] == ["run g has succeeded since; no", "", ""]
    earlier, unknown = begun("g", 0, "Succeeded"), begun("h", None, "Failed")
    assert [each.message for each in with_newer([failed, earlier, unknown])] == ["no", "", ""]


def test_when_it_began_is_when_its_stages_were_laid_out():
    laid = {"type": "Initialized", "status": "True", "reason": "x", "lastTransitionTime": "2026-03-01T12:00:00Z"}
    assert standing_of(run(conditions=[laid])).begun_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert standing_of(run(conditions=[{**laid, "status": "False"}])).begun_at is None


def test_clusters_in_flight_are_told_with_since_when_for_upstreams_words_do_not():
    """``the run is making progress`` stands there for as long as nobody has counted five minutes."""
    words = {"type": "Progressing", "status": "True", "reason": "UpdateRunProgressing", "message": "making progress"}
    first, later = ({**BEGUN, "lastTransitionTime": f"2026-01-15T12:0{minute}:00Z"} for minute in (1, 3))
    going = {"stagesStatus": [stage("a", [[later], [first], [first, ENDED], []])]}
    since = "in flight since Thu 2026-01-15 12:01 UTC"
    assert told_of(run(**going, conditions=[words])) == f"a-0, a-1 {since}"
    assert standing_of(run(**going, conditions=[words])).message == f"a-0, a-1 {since}"
    stuck = {**words, "status": "False", "reason": "UpdateRunStuck", "message": "stage a waits too long for a-1"}
    assert told_of(run(**going, conditions=[stuck])) == f"stage a waits too long for a-1; {since}"
    assert told_of(run(**going, conditions=[WAITS])) == "stage b waits"
    assert told_of(run(stagesStatus=[stage("a", [[ENDED], []])], conditions=[words])) == "making progress"
