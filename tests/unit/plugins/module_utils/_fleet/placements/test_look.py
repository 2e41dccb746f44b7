# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a member is told of what may be deleted there."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import HELD_BEFORE
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import (
    ApplyOptions,
    in_threads,
    on_members,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.member_apply import MemberTask
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan.made import (
    EXTRA,
    OBJECTS,
    carried_out,
    facts,
    placed,
    plan,
    rendered,
    wanted,
)

FLEET = facts("a")


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
