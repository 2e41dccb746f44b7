# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A cluster that an update run upgrades, and that is therefore not ready, is told so."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateRunStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import RUNNING
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.runs_at_work import (
    upgrading,
    with_runs_told,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.rollout_words import Waiting
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import laid

UNREADY = Problem("not-ready", "its API server says that it is not ready")


class Recorded:
    """Records that list these runs, and count how often."""

    def __init__(self, *runs: Any) -> None:
        self.runs, self.asked = runs, 0

    def list(self, kind: str) -> Any:
        assert kind == "UpdateRun"
        self.asked += 1
        return self.runs


def run(name: str, *members: tuple[str, str]) -> dict[str, Any]:
    rows = [{"name": member, "status": {"state": state}} for member, state in members]
    return {"metadata": {"name": name}, "status": {"stages": [{"groups": [{"members": rows}]}]}}


def report(**errors: Problem) -> Report:
    outcomes = {name: MemberOutcome(cluster=name, error=error) for name, error in errors.items()}
    problems = tuple(Problem(each.code, each.message, f"{name} (web)") for name, each in errors.items())
    plan: Any = SimpleNamespace()
    return Report(plan=plan, outcomes={"web": outcomes}, statuses={}, changed=False, problems=problems)


def test_the_run_that_upgrades_a_cluster_is_named_in_its_row_and_problem() -> None:
    records: Any = Recorded(run("to-1-36", ("a", RUNNING), ("b", "Completed")))
    found = with_runs_told(records, report(a=UNREADY, b=UNREADY))
    first, second = found.problems
    assert first.message == "it is being upgraded by run to-1-36; its API server says that it is not ready"
    assert first.where == "a (web)" and second.message == UNREADY.message
    error = found.outcomes_of("web")["a"].error
    assert error is not None and error.message == first.message


def test_the_run_is_named_beside_what_waits_for_its_cluster() -> None:
    records: Any = Recorded(run("to-1-36", ("a", RUNNING)))
    waiting = Waiting(why="waiting", rows=(), lines=("a waits: it does not answer",))
    found = with_runs_told(records, replace(report(a=UNREADY), waits={"web": waiting}))
    assert found.waits["web"].lines == (*waiting.lines, "a (web) is being upgraded by run to-1-36")


def test_runs_are_read_only_where_a_cluster_is_not_ready() -> None:
    records = Recorded(run("to-1-36", ("a", RUNNING)))
    known: Any = records
    before = report(a=Problem("certificate", "another one"))
    assert with_runs_told(known, before) is before and records.asked == 0


def test_a_damaged_run_tells_of_nobody_and_the_states_are_those_of_runs() -> None:
    assert upgrading([{"status": 1}, {"status": {"stages": {"groups": 1}}}, run("x", ("a", "Pending"))]) == {}
    play = laid("canary{g:a}, prod{g:b}")
    status = encode(status_of(play, derive(play), UpdateRunStatus(digest="sha256:" + "0" * 64)))
    names = {each["name"] for stage in status["stages"] for group in stage["groups"] for each in group["members"]}
    for stage in status["stages"]:
        for group in stage["groups"]:
            for each in group["members"]:
                each["status"]["state"] = RUNNING
    assert set(upgrading([{"metadata": {"name": "r"}, "status": status}])) == names != set()
