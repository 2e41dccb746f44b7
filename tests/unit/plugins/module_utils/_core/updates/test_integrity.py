# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a status can have come of, and what somebody else must have written. ``test_random_runs`` holds that nothing of
ours is refused."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateRunStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import (
    UpdateGroup,
    UpdateRunStrategy,
    UpdateStage,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import (
    ManagedClusterUpdate,
    ManagedClusterUpgradeSpec,
    UpdateRun,
    UpdateRunSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.integrity import (
    DIGEST,
    DIGEST_FORM,
    STRATEGY,
    problems_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.digest import (
    FORM,
    run_digest,
    strategy_digest,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GateRow,
    MemberRow,
    RunState,
    WaitRow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.strategy import gate_id
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import UID, changed, played

NEW_GATE = GateRow(name="board", id=gate_id(UID, "t", "", "Before", 0))


def spec(version: str = "1.36.3") -> UpdateRunSpec:
    upgrade = ManagedClusterUpgradeSpec(type="ControlPlaneOnly", kubernetes_version=version)
    return UpdateRunSpec(managed_cluster_update=ManagedClusterUpdate(upgrade=upgrade))


def object_of(state: RunState, digest: str, version: str = "1.36.3") -> UpdateRun:
    metadata = ObjectMeta(name=state.name, uid=state.uid, annotations={DIGEST: digest})
    status = status_of(state, derive(state), UpdateRunStatus())
    return UpdateRun(metadata=metadata, spec=spec(version), status=status)


def laid_out() -> RunState:
    """Stage s with group g (a, b) and h (c), a wait, then stage t with a gate before its group i (d)."""
    state = played("s(60){g:a,b; h:c}, t{i:d}").run
    return changed(state, "t", before_gates=(NEW_GATE,))


def half_way() -> RunState:
    """Member a is done, b and c are in flight."""
    play = played("s(60){g:a,b; h:c}, t{i:d}")
    play.run = laid_out()
    play.start().ends("a")
    return play.run


def told(state: RunState, digest: str) -> str:
    return " | ".join(each.message for each in problems_of(object_of(state, digest)))


def of(state: RunState) -> str:
    return run_digest(spec(), state.stages)


def rows(state: RunState, group: str, *changes: t.Mapping[str, t.Any]) -> RunState:
    """Fields of the group's members, in order."""
    (found,) = [each for stage in state.stages for each in stage.groups if each.name == group]
    members = [replace(row, **change) for row, change in zip(found.members, changes, strict=True)]
    return changed(state, group, members=tuple(members))


def test_what_we_made_is_ours():
    for state in (laid_out(), half_way()):
        assert problems_of(object_of(state, of(state))) == []


def test_a_run_that_was_never_laid_out_has_nothing_to_alter():
    run = UpdateRun(metadata=ObjectMeta(name="r"), spec=spec())
    assert problems_of(run) == []
    active = replace(run, status=UpdateRunStatus(phase="active"))
    assert [each.code for each in problems_of(active)] == ["record-altered"]


@pytest.mark.parametrize(
    "alter",
    [
        lambda state: replace(state, stages=state.stages[1:]),
        lambda state: changed(state, "t", before_gates=()),
        lambda state: changed(state, "s", wait=None),
        lambda state: changed(state, "s", wait=WaitRow(seconds=1)),
        lambda state: changed(state, "g", max_concurrency=2),
        lambda state: changed(state, "s", max_allowed_failures=1),
        lambda state: changed(state, "i", members=(MemberRow(name="d"), MemberRow(name="e"))),
        lambda state: rows(state, "i", {"name": "e"}),
    ],
    ids=["a stage", "a gate", "a wait", "its length", "slots", "failures", "a member more", "another member"],
)
def test_the_sequence_is_held_by_the_digest(alter: t.Any):
    state = half_way()
    assert "it was recorded with digest" in told(alter(state), of(state))


def test_the_goal_is_held_by_the_digest_too():
    state = half_way()
    assert [each.code for each in problems_of(object_of(state, of(state), "1.36.4"))] == ["record-altered"]
    assert "digest none" in told(state, "")


def test_the_profile_is_held_by_the_digest_too():
    """F18. Whoever makes a run one of a profile has members left out that are too far from its version."""
    state = half_way()

    def problems(recorded: str, profile: str, form: str) -> list[str]:
        made = replace(spec(), auto_upgrade_profile_id=recorded)
        run = object_of(state, run_digest(made, state.stages, form=form))
        marks = {**run.metadata.annotations, **({DIGEST_FORM: form} if form else {})}
        run = replace(run, metadata=replace(run.metadata, annotations=marks))
        return [each.code for each in problems_of(replace(run, spec=replace(made, auto_upgrade_profile_id=profile)))]

    for recorded, profile in (("", "stable"), ("stable", ""), ("stable", "slow")):
        assert problems(recorded, profile, FORM) == ["record-altered"]
    for profile in ("", "stable"):
        assert problems(profile, profile, FORM) == problems(profile, profile, "") == [], "one from before, too"


def test_the_strategy_is_held_by_a_digest_of_its_own():
    """The rows do not show whom its selectors would take, nor what its percentages are of another number."""
    one, other = (
        UpdateRunStrategy(stages=(UpdateStage(name="s", groups=(UpdateGroup(name=name),)),)) for name in ("g", "x")
    )
    run = object_of(half_way(), of(half_way()))
    kept = replace(run.metadata, annotations={**run.metadata.annotations, STRATEGY: strategy_digest(one)})
    run = replace(run, metadata=kept, status=replace(run.status, strategy=one))
    assert problems_of(run) == []
    for altered in (other, None):
        (problem,) = problems_of(replace(run, status=replace(run.status, strategy=altered)))
        assert problem.code == "record-altered" and "not the one that was laid out" in problem.message


@pytest.mark.parametrize(
    "alter, words",
    [
        (lambda state: rows(state, "g", {}, {"operation": "../x"}), "attempt 1 at member b is called '../x'"),
        (lambda state: rows(state, "g", {}, {"attempt": 2}), "attempt 2 at member b"),
        (lambda state: rows(state, "i", {"operation": "r-0f8fad5b.d.1"}), "attempt 0 at member d"),
        (lambda state: rows(state, "h", {"attempt": 0, "operation": ""}), "member c is Running without an attempt"),
        (lambda state: rows(state, "h", {"state": "Great"}), "in state 'Great'"),
        (
            lambda state: changed(state, "t", before_gates=(replace(NEW_GATE, id="other"),)),
            "gate 'board' before t is 'other'",
        ),
        (lambda state: changed(state, "t", before_gates=(replace(NEW_GATE, state="Open"),)), "'Open'"),
    ],
)
def test_names_and_words_follow_from_the_run(alter: t.Any, words: str):
    state = half_way()
    assert words in told(alter(state), of(state))


@pytest.mark.parametrize("word", ["Running", "Completed", "Failed", "Pending", "Stopped"])
def test_nobody_was_begun_in_a_stage_that_was_not_reached(word: str):
    state = half_way()
    operation = {"attempt": 1, "operation": "r-0f8fad5b.d.1"} if word in ("Running", "Completed") else {}
    assert "which the run has not reached" in told(rows(state, "i", {"state": word, **operation}), of(state))


@pytest.mark.parametrize("word", ["Pending", "Completed"])
def test_no_gate_is_open_in_such_a_stage(word: str):
    state = half_way()
    opened = changed(state, "t", before_gates=(replace(NEW_GATE, state=word),))
    assert "is open, which the run has not reached" in told(opened, of(state))


def test_nobody_was_begun_behind_a_gate():
    play = played("t{i:d,e}")
    play.run = changed(play.run, "t", before_gates=(NEW_GATE,))
    play.start()
    state = play.run
    assert told(state, of(state)) == "" and state.stages[0].before_gates[0].state == "Pending"
    running = {"state": "Running", "attempt": 1, "operation": "r-0f8fad5b.d.1"}
    assert "behind a gate before stage t that was not passed" in told(rows(state, "i", running, {}), of(state))


def test_a_gate_is_skipped_only_with_what_it_guards():
    play = played("t{i:d,e}")
    play.run = changed(play.run, "t", before_gates=(NEW_GATE,))
    play.start()
    state = play.run
    skipped = changed(state, "t", before_gates=(replace(NEW_GATE, state="Skipped"),))
    assert "is Skipped, and what it guards is not" in told(skipped, of(state))
    assert told(play.skip("Stage:t").run, of(state)) == "", "this is what a person may do"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"state": "Completed"}, "is Completed, and does not end 60 s after it began"),
        ({"ends": None}, "is Running, and does not end 60 s"),
        ({"ends": timedelta(seconds=-1)}, "is Running, and does not end 60 s"),
        ({"state": "Done"}, "is 'Done'"),
        ({"state": "Skipped"}, "is Skipped without a reason"),
    ],
)
def test_a_wait_lasts_as_long_as_it_is(change: dict[str, t.Any], words: str):
    play = played("s(60){g:a}, t{i:d}").start().ends("a")
    (wait,) = [stage.wait for stage in play.run.stages if stage.wait]
    assert wait.state == "Running" and wait.ends and told(play.run, of(play.run)) == ""
    if isinstance(change.get("ends"), timedelta):
        change = {"ends": wait.ends + change["ends"]}
    altered = changed(play.run, "s", wait=replace(wait, **change))
    assert f"the wait after stage s {words}" in told(altered, of(altered))


def test_a_wait_that_was_left_out_is_no_oddity():
    play = played("s(60){g:a}, t{i:d}").start().ends("a").skip("AfterStageWait:s")
    assert told(play.run, of(play.run)) == ""


def test_before_the_start_nothing_has_happened():
    state = laid_out()
    assert "not reached" in told(rows(state, "g", {"state": "Completed"}, {}), of(state))
