# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""For how long members are written on what a look saw of them."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements import look
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import (
    SIGHT_SECONDS,
    ApplyOptions,
    MemberRunners,
    Writing,
    on_members,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.member_apply import (
    MemberProgress,
    MemberTask,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import WorkPool
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made


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

    plan = made.plan(made.wanted(), made.facts("a", "b"))
    runners = MemberRunners(pool=WorkPool(1, str), threads=1, does=does)
    seen: dict[str, MemberProgress] = {}

    def go(writing: Writing | None, only: t.Container[str]) -> None:
        on_members(plan, "u", Clients({}), ApplyOptions(), writing=writing, seen=seen, only=only, runners=runners)

    go(None, ("a", "b"))
    go(Writing(), ("a",))
    now[0] += later
    go(Writing(), ("b",))
    written = {each.cluster: each.elsewhere for each in tasks if each.write}
    assert written == {"a": "what was seen of a", "b": None if again else "what was seen of b"}
