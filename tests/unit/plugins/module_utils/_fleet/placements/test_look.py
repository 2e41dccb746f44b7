# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which members of a plan are gone to, and what they are told of what may be deleted there; for how long
they are written on what a look saw of them."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.evacuation import MARK
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.missing_record import (
    with_record_missing,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import HELD_BEFORE
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements import look
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import (
    SIGHT_SECONDS,
    ApplyOptions,
    MemberRunners,
    Outcomes,
    Writing,
    in_threads,
    on_members,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.member_apply import (
    MemberProgress,
    MemberTask,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import WorkPool
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    EXTRA,
    OBJECTS,
    carried_out,
    cluster,
    facts,
    pick_all,
    placed,
    plan,
    rendered,
    wanted,
)

FLEET = facts("a")
MISSING = with_record_missing(cluster("b"))


def counted_on_a(known: RecordedState) -> int:
    """How many objects that go the member is told to count, where the namespace alone is wanted."""
    tasks: list[MemberTask] = []

    def does(task: MemberTask, window: int) -> MemberOutcome:
        tasks.append(task)
        return MemberOutcome(cluster=task.cluster)

    made = plan(wanted(objects=OBJECTS[:1]), FLEET, known, BrakeLimits(max_object_removals="100%"))
    on_members(made, "", t.cast(t.Any, None), ApplyOptions(), runners=replace(in_threads(1), does=does))
    (task,) = tasks
    assert task.deletable and task.deletable.named == {each.key for each in made.clusters[0].leaving}
    return task.deletable.counted


def test_what_a_write_that_did_not_end_was_to_bring_counts_within_what_a_member_may_lose() -> None:
    zero = placed(None, FLEET)
    one = carried_out(plan(wanted(objects=(OBJECTS[0], rendered(EXTRA))), FLEET, zero), zero)
    begun = tuple(
        replace(each, metadata=replace(each.metadata, annotations={HELD_BEFORE: "web-0-snapshot"}))
        for each in one.bindings
    )
    assert (counted_on_a(zero), counted_on_a(one), counted_on_a(replace(one, bindings=begun))) == (1, 1, 2)


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


@pytest.mark.parametrize(("later", "again"), [(0.0, False), (SIGHT_SECONDS, False), (10_000.0, True)])
def test_a_wave_that_begins_long_after_the_look_looks_again(
    monkeypatch: pytest.MonkeyPatch, later: float, again: bool
) -> None:
    """What was there before the first wave may have gone since, and would count as available for the next one."""
    now = [100.0]
    monkeypatch.setattr(look, "running_time", lambda: now[0])
    tasks: list[MemberTask] = []

    def does(task: MemberTask, _window: int) -> MemberOutcome:
        now[0] += 1000.0 if not task.write else 0.0  # a look at many takes its time, which is no reason for another
        task.progress.elsewhere = f"what was seen of {task.cluster}"
        tasks.append(task)
        return MemberOutcome(cluster=task.cluster)

    both = plan(wanted(), facts("a", "b"))
    runners = MemberRunners(pool=WorkPool(1, str), threads=1, does=does)
    seen: dict[str, MemberProgress] = {}

    def go(writing: Writing | None, only: t.Container[str]) -> None:
        on_members(both, "u", Clients({}), ApplyOptions(), writing=writing, seen=seen, only=only, runners=runners)

    go(None, ("a", "b"))
    go(Writing(), ("a",))
    now[0] += later
    go(Writing(), ("b",))
    written = {each.cluster: each.elsewhere for each in tasks if each.write}
    assert written == {"a": "what was seen of a", "b": None if again else "what was seen of b"}
