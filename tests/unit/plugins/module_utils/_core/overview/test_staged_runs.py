# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A staged update run as it went, stage by stage, with its approval and its wait."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import (
    ClusterStagedUpdateRun,
    StagedUpdateRunStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.runs import Bar, RunChart
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.staged_runs import staged_chart
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.standing import standing_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import write_time
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.clocks import LAST
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.made import NOW
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout.staged_made import (
    ALL,
    APPROVAL,
    WAIT,
    Play,
    run,
    stage,
    world,
)

GATE = "run-before-prod"


def rings() -> Play:
    """One cluster first, then a wait of ten minutes, an approval, the others; one cluster is left."""
    stages = (
        stage("canary", {"ring": "canary"}, afterStageTasks=[WAIT]),
        stage("prod", {"ring": "prod"}, maxConcurrency=2, beforeStageTasks=[APPROVAL]),
    )
    labels = {"a": {"ring": "canary"}, "b": {"ring": "prod"}, "c": {"ring": "prod"}}
    return Play(world("abc", *stages, labels=labels, gone="d"), run())


def shown(chart: RunChart) -> list[tuple[str, str, str]]:
    return [(each.what, each.name, each.status.state) for each in chart.bars]


def bar_of(chart: RunChart, name: str) -> Bar:
    (found,) = (each for each in chart.bars if each.name == name)
    return found


def minutes(each: Bar) -> tuple[float | None, float | None]:
    """Start and end in minutes after the beginning."""
    instants = (each.status.start_time, each.status.completed_time)
    begin, end = ((one - NOW) / timedelta(minutes=1) if one else None for one in instants)
    return begin, end


def test_a_run_over_time() -> None:
    game = rings()
    game.steps()
    game.after(minutes=5).report("a").steps()
    chart = staged_chart(game.run, {})
    assert (chart.kind, chart.name, chart.target) == ("staged run", "run", "snapshot 1 of placement web")
    assert (chart.state, chart.over, chart.progress) == ("Waiting", False, "1/4 clusters, 0/3 stages")
    names = [each.name for each in chart.bars if each.what == "gate"]
    assert shown(chart) == [
        ("run", "run", "Waiting"),
        ("stage", "canary", "Waiting"),
        ("member", "a", "Succeeded"),
        ("wait", "10m", "Pending"),
        ("gate", names[0], "NotStarted"),
        ("stage", "prod", "NotStarted"),
        ("member", "b", "NotStarted"),
        ("member", "c", "NotStarted"),
        ("stage", "leaving", "NotStarted"),
        ("member", "d", "NotStarted"),
    ]
    assert minutes(bar_of(chart, "a")) == (0, 5) and minutes(bar_of(chart, "canary")) == (0, None)
    assert bar_of(chart, "10m").due == NOW + timedelta(minutes=15) and minutes(bar_of(chart, "10m")) == (5, None)

    game.after(minutes=10).steps()
    asked = next(each for each in staged_chart(game.run, {}).bars if each.what == "gate")
    assert asked.status.state == "Pending" and asked.why == f"approve {asked.name}" and minutes(asked) == (15, None)
    game.after(minutes=30).approve(asked.name).steps()
    game.after(minutes=5).report("b").steps()
    game.after(minutes=5).report("c", status="False", reason="NotAvailable").steps()
    chart = staged_chart(game.run, {asked.name: "anna"})
    gate = bar_of(chart, asked.name)
    assert (gate.status.state, gate.why, minutes(gate)) == ("Completed", "completed by anna", (15, 45))
    assert minutes(bar_of(chart, "10m")) == (5, 15) and bar_of(chart, "10m").status.state == "Completed"
    assert {name: bar_of(chart, name).status.state for name in "bc"} == {"b": "Succeeded", "c": "Running"}

    game.after(minutes=5).report("c").steps()
    game.vanish("d").steps()
    chart = staged_chart(game.run, {})
    assert chart.over and chart.state == "Succeeded" and chart.progress == "4/4 clusters, 3/3 stages"
    assert {each.status.state for each in chart.bars} == {"Succeeded", "Completed"}
    assert minutes(chart.bars[0]) == (0, 60)


def test_what_failed_says_why() -> None:
    failed = {"type": "Succeeded", "status": "False", "reason": "StageUpdatingFailed", "message": "a was deleted"}
    cluster = {"clusterName": "a", "conditions": [{**failed, "reason": "ClusterUpdatingFailed"}]}
    rows = [{"stageName": "all", "clusters": [cluster], "conditions": [failed]}]
    status = {"stagesStatus": rows, "conditions": [{**failed, "reason": "UpdateRunFailed"}]}
    chart = staged_chart(dataclasses.replace(run(), status=decode(StagedUpdateRunStatus, status)), {})
    assert [(each.status.state, each.why) for each in chart.bars] == [("Failed", "a was deleted")] * 3
    assert not chart.over and chart.as_dict()["bars"][1]["state"] == "Failed"


@pytest.mark.parametrize("wait", ["", "0s"])
def test_a_wait_that_rules_do_not_permit_has_no_end(wait: str) -> None:
    waiting = {"type": "WaitTimeElapsed", "status": "False", "lastTransitionTime": write_time(NOW)}
    row = {"stageName": "all", "clusters": [], "afterStageTaskStatus": [{"type": "TimedWait", "conditions": [waiting]}]}
    copy = {"stages": [stage("all", ALL, afterStageTasks=[{"type": "TimedWait", "waitTime": wait}])]}
    status = {"stagesStatus": [row], "stagedUpdateStrategySnapshot": copy}
    chart = staged_chart(dataclasses.replace(run(), status=decode(StagedUpdateRunStatus, status)), {})
    assert chart.bars[-1].status.state == "Pending" and chart.bars[-1].due is None


def test_a_wait_at_the_end_of_the_calendar_raises_nothing() -> None:
    waiting = {"type": "WaitTimeElapsed", "status": "False", "lastTransitionTime": "9999-12-31T23:59:59Z"}
    row = {"stageName": "all", "clusters": [], "afterStageTaskStatus": [{"type": "TimedWait", "conditions": [waiting]}]}
    copy = {"stages": [stage("all", ALL, afterStageTasks=[{"type": "TimedWait", "waitTime": "10m"}])]}
    status = {"stagesStatus": [row], "stagedUpdateStrategySnapshot": copy}
    chart = staged_chart(dataclasses.replace(run(), status=decode(StagedUpdateRunStatus, status)), {})
    assert chart.bars[-1].due == LAST


def test_a_run_without_stages_is_one_bar() -> None:
    chart = staged_chart(run("Initialize"), {})
    assert shown(chart) == [("run", "run", "NotStarted")] and minutes(chart.bars[0]) == (None, None)
    assert chart.progress == "0/0 clusters, 0/0 stages" and not chart.over


def ended(name: str, begun: int, end: int, status: str, placement: str = "web") -> ClusterStagedUpdateRun:
    """A run by the hours at which it began and ended."""
    laid = {
        "type": "Initialized",
        "status": "True",
        "reason": "x",
        "lastTransitionTime": f"2026-03-01T{begun:02}:00:00Z",
    }
    done = {"type": "Succeeded", "status": status, "reason": "x", "message": "m",
            "lastTransitionTime": f"2026-03-01T{end:02}:00:00Z"}  # fmt: skip
    made = run(metadata={"name": name}, placementName=placement)
    return dataclasses.replace(made, status=decode(StagedUpdateRunStatus, {"conditions": [laid, done]}))


def test_a_run_that_failed_is_over_when_a_later_one_of_its_placement_has_succeeded() -> None:
    failed, good = ended("a", 9, 10, "False"), ended("b", 10, 11, "True")
    alone = staged_chart(failed, {})
    assert (alone.of, alone.over, alone.state) == ("web", False, "Failed")
    found = staged_chart(failed, {}, [failed, good])
    assert (found.over, found.state, found.message) == (True, "Failed", "run b has succeeded since; m")
    others = (ended("c", 8, 9, "True"), ended("d", 10, 11, "True", "till"))
    assert staged_chart(failed, {}, [failed, *others]) == alone
    tried = staged_chart(failed, {}, [failed, ended("e", 10, 11, "False")])
    assert (tried.over, tried.message) == (False, "run e has begun since; m")


def test_the_overview_tells_that_a_failed_run_was_made_good_by_the_rule_of_its_standing() -> None:
    """One that the newer run has superseded fails long after that has succeeded."""
    failed, newer = ended("a", 9, 15, "False"), ended("b", 10, 11, "True")
    chart, row = staged_chart(failed, {}, [failed, newer]), standing_of(failed, [failed, newer])
    assert chart.over and chart.message == row.message == "run b has succeeded since; m"
    late, older = ended("c", 9, 10, "False"), ended("d", 8, 11, "True")
    chart, row = staged_chart(late, {}, [late, older]), standing_of(late, [late, older])
    assert not chart.over and chart.message == row.message == "m"


def test_a_run_is_overridden_until_all_clusters_with_overrides_are_done() -> None:
    done = {"type": "Succeeded", "status": "True", "reason": "x", "message": ""}
    row = {"clusterName": "a", "clusterResourceOverrideSnapshots": ["o-0"]}

    def overridden(*clusters: dict[str, object]) -> bool:
        status = {"stagesStatus": [{"stageName": "all", "clusters": list(clusters)}]}
        return staged_chart(dataclasses.replace(run(), status=decode(StagedUpdateRunStatus, status)), {}).overridden

    assert overridden({"clusterName": "b"}, row) and not overridden({**row, "conditions": [done]}, {"clusterName": "b"})
