# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A status that fits."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateRunStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import find_condition
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.record_size import size_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import run_of, status_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.trimming import (
    LIMIT,
    TRIMMED,
    trimmed,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GroupRow,
    MemberRow,
    RunState,
    StageRow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.random_runs import NOON, object_of


def run(message: str, count: int = 1000) -> RunState:
    """Two stages: one whose members are all done, one whose members all failed in their second attempt."""
    half = count // 2
    stages = []
    for name, state in (("done", "Completed"), ("last", "Failed")):
        members = tuple(
            MemberRow(
                name=f"cluster-{name}-{at:04}",
                state=state,
                attempt=2,
                operation=f"release-7-0b9c1d2e.cluster-{name}-{at:04}.2",
                reference=f"/var/lib/fleet/operations/release-7-0b9c1d2e.cluster-{name}-{at:04}.2",
                version_before="v1.33.9",
                version_after="v1.34.2",
                reason="UpgradeFailed" if state == "Failed" else "",
                message=message,
                started=NOON,
                completed=NOON,
            )
            for at in range(half)
        )
        group = GroupRow(name=name, members=members, max_concurrency=5, max_allowed_failures=0)
        stages.append(StageRow(name=name, groups=(group,), max_concurrency=50, max_allowed_failures=0))
    return RunState(name="release-7", uid="u", stages=tuple(stages), phase="active", started=NOON)


def status(message: str, count: int = 1000) -> UpdateRunStatus:
    state = run(message, count)
    return status_of(state, derive(state), UpdateRunStatus())


def messages(shown: UpdateRunStatus) -> list[set[int]]:
    """The lengths of the messages of each stage's members."""
    return [{len(member.message) for member in stage.groups[0].members} for stage in shown.stages]


def test_a_thousand_members_fit_as_they_are():
    whole = status("x" * 200)
    assert size_of(whole) < 0.8 * 2**20 < LIMIT
    assert trimmed(whole)[0] is whole


def test_long_messages_give_way_and_it_is_told():
    shown, encoded = trimmed(status("x" * 3000))
    assert size_of(shown) < LIMIT
    assert encoded == encode(shown)
    assert messages(shown) == [{83}, {83}]
    condition = find_condition(shown.conditions, TRIMMED)
    assert condition is not None and condition.status == "True"


@pytest.mark.parametrize(
    ("limit", "left"),
    [(15_000, [{200}, {200}]), (12_500, [{83}, {83}]), (11_200, [{0}, {83}]), (10_200, [{0}, {0}]), (9, [{0}, {0}])],
)
def test_messages_of_stages_that_are_done_go_before_others(limit, left):
    assert messages(trimmed(status("x" * 200, 20), limit)[0]) == left


def test_what_a_resume_needs_stays():
    state = run("x" * 3000)
    kept = run_of(object_of(state, trimmed(status("x" * 3000), 1)[0]))

    def needed(each: RunState) -> list[tuple[object, ...]]:
        return [
            (row.name, row.state, row.attempt, row.operation, row.reference, row.reason, row.started, row.completed)
            for stage in each.stages
            for group in stage.groups
            for row in group.members
        ]

    assert needed(kept) == needed(state)


def test_it_is_told_once():
    once, _encoded = trimmed(status("x" * 3000, 20), 1)
    assert trimmed(once, 1)[0].conditions == once.conditions
