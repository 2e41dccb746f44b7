# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.strategy import StageConfig
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import StagedUpdateRunStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.layout import (
    laid_out,
    most_in_flight,
    without_approval_waits,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import RunRefused
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    ALL,
    APPROVAL,
    WAIT,
    cluster,
    stage,
    strategy,
)

CLUSTERS = [
    cluster("a", order="10", wave="1"),
    cluster("b", order="2", wave="1"),
    cluster("c", order="2", wave="2"),
    cluster("d", order="-1", wave="2"),
]


def lay(*stages, selected="abcd", clusters=None, upstream=False):
    status = StagedUpdateRunStatus(staged_update_strategy_snapshot=without_approval_waits(strategy(*stages).spec))
    return laid_out("run", status, frozenset(selected), clusters or CLUSTERS, upstream=upstream).stages_status


def order(*stages, **more):
    return ["".join(each.cluster_name for each in one.clusters) for one in lay(*stages, **more)]


def refusal(*stages, **more):
    with pytest.raises(RunRefused) as error:
        lay(*stages, **more)
    return error.value.failure


def test_clusters_are_ordered_by_name_or_by_an_integer_label():
    assert order(stage("all", ALL)) == ["abcd"]
    assert order(stage("all", ALL, sortingLabelKey="order")) == ["dbca"]
    assert order(stage("all", ALL), clusters=CLUSTERS[::-1]) == ["abcd"]


def test_no_selector_takes_none_and_an_empty_one_all():
    assert order(stage("none"), stage("all", ALL)) == ["", "abcd"]


def test_only_selected_clusters_count():
    stages = (stage("one", {"wave": "1"}), stage("two", ALL, sortingLabelKey="order"))
    assert order(*stages, selected="cd", clusters=[*CLUSTERS, cluster("e")]) == ["", "dc"]


def test_every_cluster_is_in_exactly_one_stage():
    assert refusal(stage("one", {"wave": "1"}), stage("all", ALL)).code == "cluster-in-several-stages"
    missing = refusal(stage("one", {"wave": "1"}))
    assert (missing.code, missing.total, missing.shown) == ("clusters-not-in-any-stage", 2, ("c", "d"))


def test_ten_missing_clusters_are_shown():
    many = [cluster(f"m{number:02}") for number in range(12)]
    failure = refusal(stage("none"), selected={each.metadata.name for each in many}, clusters=many)
    assert (failure.total, len(failure.shown), failure.shown[0]) == (12, 10, "m00")


@pytest.mark.parametrize("value", ["1.5", "", "ten", "1_0", " 1", "9223372036854775808"])
def test_a_sorting_label_is_an_integer(value):
    clusters = [cluster("a", order=value) if value else cluster("a")]
    assert refusal(stage("all", ALL, sortingLabelKey="order"), selected="a", clusters=clusters).code == (
        "invalid-sorting-label"
    )


@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        ({"beforeStageTasks": [APPROVAL, APPROVAL]}, "invalid-before-stage-tasks"),
        ({"beforeStageTasks": [WAIT]}, "invalid-before-stage-tasks"),
        ({"afterStageTasks": [APPROVAL, APPROVAL]}, "invalid-after-stage-tasks"),
        ({"afterStageTasks": [APPROVAL, WAIT, APPROVAL]}, "invalid-after-stage-tasks"),
        ({"afterStageTasks": [{"type": "TimedWait"}]}, "invalid-after-stage-tasks"),
        ({"afterStageTasks": [{"type": "TimedWait", "waitTime": "0s"}]}, "invalid-after-stage-tasks"),
        ({"afterStageTasks": [{"type": "TimedWait", "waitTime": "soon"}]}, "invalid-after-stage-tasks"),
        ({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}, "invalid-label-selector"),
        ({"maxConcurrency": "50"}, "invalid-max-concurrency"),
    ],
)
def test_what_a_stage_may_not_say(tasks, code):
    assert refusal({"name": "all", "labelSelector": ALL} | tasks).code == code


def test_tasks_are_judged_before_clusters_and_stages_in_order():
    twice = stage("again", ALL, beforeStageTasks=[WAIT])
    assert refusal(stage("all", ALL), twice).code == "invalid-before-stage-tasks"
    assert refusal(stage("all", ALL), stage("again", ALL), twice).code == "cluster-in-several-stages"


def test_a_waiting_time_of_an_approval_is_dropped():
    late = APPROVAL | {"waitTime": "1m"}
    (one,) = lay(stage("all", ALL, beforeStageTasks=[late], afterStageTasks=[WAIT, APPROVAL]))
    assert [each.approval_request_name for each in one.before_stage_task_status] == ["run-before-all"]
    assert [each.approval_request_name for each in one.after_stage_task_status] == ["", "run-after-all"]


@pytest.mark.parametrize(
    ("value", "clusters", "expected"),
    [
        (1, 5, 1),
        (3, 2, 3),
        ("25%", 7, 1),
        ("50%", 3, 1),
        ("10%", 1, 1),
        ("70%", 10, 7),
        ("100%", 4, 4),
        (0, 4, 1),
        (-1, 4, 1),
    ],
)
def test_concurrency_rounds_down_and_is_one_at_least(value, clusters, expected):
    assert most_in_flight(replace(StageConfig(name="all"), max_concurrency=value), clusters) == expected


def test_upstream_finds_a_malformed_concurrency_later():
    assert lay({"name": "all", "labelSelector": ALL, "maxConcurrency": "50"}, upstream=True)
