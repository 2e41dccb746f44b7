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
    last_newer_run,
    made_good_by,
    message_for_people,
    standing_of,
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


def begun(name, minute, state="Running", placement="web", message="", ended=None, could=True):
    """A run that began, or with ``could`` False could not, at ``minute`` after noon; None: that is not known."""
    at = {"lastTransitionTime": f"2026-03-01T12:{minute:02}:00Z"} if minute is not None else {}
    laid = {"type": "Initialized", "status": str(could), "reason": "x", "message": "" if could else message, **at}
    end = {**DONE, "status": str(state == "Succeeded"), "message": message}
    if ended is not None:
        end["lastTransitionTime"] = f"2026-03-01T12:{ended:02}:00Z"
    ends = [end] if could and state in ("Succeeded", "Failed") else []
    goes = [{"type": "Progressing", "status": "True", "reason": "x", "message": message}] if state == "Running" else []
    spec = {"placementName": placement, "stagedRolloutStrategyName": "rings", "state": "Run"}
    status = {"conditions": ([] if minute is None and state == "NotStarted" else [laid]) + ends + goes}
    return decode(ClusterStagedUpdateRun, {"metadata": {"name": name}, "spec": spec, "status": status})


def told(*runs):
    return [standing_of(each, runs).message for each in runs]


def test_a_run_that_has_not_ended_names_a_newer_one_of_its_placement():
    first, ended, newest = begun("a", 1, message="stuck"), begun("b", 2, "Succeeded"), begun("c", 3)
    other, waits = begun("d", 4, placement="till"), begun("e", None, "NotStarted")
    assert told(first, ended, newest, other, waits) == ["run c has begun since; stuck", "", "", "", ""]
    assert told(begun("b", 2, "Failed"), begun("a", 1))[1] == "run b has begun since"


def test_a_run_that_failed_is_made_good_by_one_that_has_begun_after_it_and_succeeded():
    failed, good = begun("f", 1, "Failed", message="no"), begun("g", 2, "Succeeded")
    assert told(failed, good) == ["run g has succeeded since; no", ""] and made_good_by(failed, [failed, good]) == good
    assert made_good_by(failed, [begun("h", 3, "Succeeded"), good]).name == "h"
    tried = begun("h", 3, "Failed")
    assert told(failed, tried) == ["run h has begun since; no", ""]
    assert told(failed, good, tried) == ["run g has succeeded since; no", "", ""]
    earlier, unknown = begun("g", 0, "Succeeded"), begun("h", None, "Failed")
    assert told(failed, earlier, unknown) == ["no", "", ""]
    others = [earlier, unknown, begun("e", 2, "Failed"), begun("o", 2), begun("t", 2, "Succeeded", "till")]
    assert made_good_by(failed, others) is None and made_good_by(good, [begun("h", 3, "Succeeded")]) is None


def test_the_newest_run_after_one_that_failed_is_what_goes_on():
    """Whatever became of it; one that has not begun, or began before it, is none."""
    failed, newer, last = begun("f", 1, "Failed"), begun("n", 2), begun("a", 3, "Failed")
    assert last_newer_run(failed, [last, newer]) == last and last_newer_run(newer, [failed]) is None
    assert last_newer_run(failed, [newer, begun("w", None, "NotStarted"), begun("o", 4, placement="till")]) == newer
    assert last_newer_run(begun("w", None, "NotStarted"), [newer]) is None


def test_one_that_fails_as_superseded_long_after_the_newer_one_has_succeeded_is_made_good_by_it():
    old, new = begun("old", 1, "Failed", ended=40), begun("new", 2, "Succeeded", ended=10)
    assert made_good_by(old, [old, new]) == new
    before = begun("before", 0, "Succeeded", ended=50)  # it ended last, and gave what was older
    assert made_good_by(old, [before]) is None


def test_one_that_could_not_begin_is_made_good_by_what_has_begun_since_that_was_found():
    failed = begun("f", 5, "Failed", message="no snapshot", could=False)
    assert made_good_by(failed, [begun("g", 4, "Succeeded", ended=9)]) is None
    assert told(failed, begun("g", 6, "Succeeded"))[0] == "run g has succeeded since; no snapshot"


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
    assert message_for_people(run(**going, conditions=[words])) == f"a-0, a-1 {since}"
    assert standing_of(run(**going, conditions=[words])).message == f"a-0, a-1 {since}"
    stuck = {**words, "status": "False", "reason": "UpdateRunStuck", "message": "stage a waits too long for a-1"}
    assert message_for_people(run(**going, conditions=[stuck])) == f"stage a waits too long for a-1; {since}"
    assert message_for_people(run(**going, conditions=[WAITS])) == "stage b waits"
    assert message_for_people(run(stagesStatus=[stage("a", [[ENDED], []])], conditions=[words])) == "making progress"
