# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Runs as objects and as rows."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import (
    UpdateError,
    UpdateRunStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import (
    run_of,
    status_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GateRow,
    GroupRow,
    MemberRow,
    RunState,
    StageRow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import (
    GroupStatus,
    RunStatus,
    StageStatus,
    derive,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.random_runs import (
    NOON,
    object_of,
    random_run,
)

EMPTY = UpdateRunStatus()


def derived(state: RunState, message: str = "") -> RunStatus:
    """A derivation of the right form, all Failed."""
    stages = tuple(
        StageStatus(
            state="Failed",
            failure_count=2,
            message=message,
            groups=tuple(GroupStatus(state="Failed", started=NOON, message=message) for _group in stage.groups),
        )
        for stage in state.stages
    )
    return RunStatus(state="Failed", failure_count=3, outcome="", message=message, stages=stages)


def run(*members: MemberRow, gates: tuple[GateRow, ...] = ()) -> RunState:
    group = GroupRow(name="g", members=members, max_concurrency=1, max_allowed_failures=0, before_gates=gates)
    return RunState(
        name="r", uid="u", stages=(StageRow(name="s", groups=(group,), max_concurrency=50, max_allowed_failures=0),)
    )


@pytest.mark.parametrize("seed", range(300))
def test_rows_come_back_as_they_were_through_the_stored_text(seed):
    state = random_run(Random(seed))
    written = json.dumps(encode(object_of(state, status_of(state, derived(state), EMPTY))))
    assert run_of(decode(UpdateRun, json.loads(written))) == state


@pytest.mark.parametrize("seed", range(100))
def test_writing_what_was_read_changes_nothing(seed):
    state = random_run(Random(seed))
    once = status_of(state, derive(state), EMPTY)
    again = run_of(object_of(state, once))
    assert status_of(again, derive(again), once) == once


def test_what_rows_do_not_know_is_kept():
    state = run(MemberRow(name="a"), MemberRow(name="b"))
    first = status_of(state, derive(state), EMPTY)
    (stage,) = first.stages
    (group,) = stage.groups
    known = replace(group.members[1], cluster_resource_id="/clusters/b")
    before = replace(
        first,
        stages=(replace(stage, groups=(replace(group, members=(group.members[0], known)),)),),
        target_version="1.34.2",
        digest="sha256:0",
        epoch=4,
        uncovered_members=("c",),
        observed_generation=2,
    )
    after = status_of(state, derive(state), before)
    assert after == before


def test_d3_74_d3_75_a_failure_stands_where_readers_look():
    row = MemberRow(name="a", state="Failed", reason="UpgradeFailed", message="no answer", attempt=1)
    status = status_of(run(row), derived(run(row), "a: no answer"), EMPTY)
    (stage,) = status.stages
    (group,) = stage.groups
    (member,) = group.members
    assert member.status.error == UpdateError(code="UpgradeFailed", message="no answer")
    for node in (status, stage, group):
        assert node.status.state == "Failed"
        assert node.status.error == UpdateError(code="UpgradeFailed", message="a: no answer")
    assert (status.failure_count, stage.failure_count) == (3, 2)


def test_a_pending_member_has_error_and_message_and_others_have_no_error():
    rows = [
        MemberRow(name=state, state=state, reason="WindowClosed", message="opens") for state in ("Pending", "Skipped")
    ]
    members = status_of(run(*rows), derive(run(*rows)), EMPTY).stages[0].groups[0].members
    assert [each.status.error and each.status.error.code for each in members] == ["WindowClosed", None]
    assert [each.message for each in members] == ["opens", "opens"]


def test_the_id_of_a_gate_is_published_once_there_is_a_gate():
    gates = (GateRow(name="a", id="1"), GateRow(name="b", id="2", state="Pending", opened=NOON))
    state = run(gates=gates)
    shown = status_of(state, derive(state), EMPTY).stages[0].groups[0].before_gates
    assert [(each.id, each.gate_id, each.type) for each in shown] == [("1", "", "Approval"), ("2", "2", "Approval")]


def test_a_derivation_of_other_rows_is_a_fault():
    with pytest.raises(ValueError, match="zip"):
        status_of(run(), RunStatus(), EMPTY)
