# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which members of a plan are gone to."""

from __future__ import annotations

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.evacuation import MARK
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.missing_record import (
    with_record_missing,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements import look
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import (
    ApplyOptions,
    Outcomes,
    Writing,
    on_members,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.member_apply import MemberTask
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    carried_out,
    cluster,
    facts,
    pick_all,
    placed,
    plan,
    wanted,
)

MISSING = with_record_missing(cluster("b"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the members that are gone to, all of which answer."""
    found: list[str] = []

    def on_one_member(_clients: Clients, task: MemberTask) -> MemberOutcome:
        found.append(task.cluster)
        return MemberOutcome(cluster=task.cluster, done=True)

    monkeypatch.setattr(look, "on_one_member", on_one_member)
    return found


def gone_to(known: RecordedState, writing: Writing | None) -> Outcomes:
    """What a placement on a and b comes to by now."""
    made = plan(wanted(pick_all()), facts("a", MISSING), known)
    return on_members(made, "uid", Clients(members={}), ApplyOptions(), writing)


@pytest.mark.parametrize("writing", [None, Writing()])
def test_what_a_member_holds_stays_as_it_is_while_its_member_cluster_is_missing(
    asked: list[str], writing: Writing | None
) -> None:
    """Which overrides are for its labels is not known: it is told, with the way out, and counts as out of reach."""
    found = gone_to(placed(pick_all(), facts("a", "b")), writing)
    assert asked == ["a"] and found["a"].error is None
    problem = found["b"].error
    assert problem is not None and problem.code == "record-missing" and "gitops.fleet.join" in problem.hint


def test_what_is_to_leave_such_a_member_leaves_it(asked: list[str]) -> None:
    """It was evacuated before its record was lost."""
    known = placed(pick_all(), facts("a", "b"))
    evacuated = plan(wanted(pick_all()), facts("a", cluster("b", taints=[encode(MARK)])), known)
    found = gone_to(carried_out(evacuated, known, failing=("b",)), Writing())
    assert sorted(asked) == ["a", "b"] and not any(each.error for each in found.values())
