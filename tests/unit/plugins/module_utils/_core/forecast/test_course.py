# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The course of a run on a virtual clock is the one that decisions over the whole run would take."""

from __future__ import annotations

import heapq
import random
import typing as t
from datetime import datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast import course
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.course import Course, Plan
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.durations import share
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import (
    UpdateGroup,
    UpdateRunStrategy,
    UpdateStage,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import commands
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    Approval,
    Begin,
    MemberView,
    OpenGate,
    RunState,
    UpdateSeen,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.strategy import Candidate, resolve
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import T0
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.simulated import (
    UID,
    Script,
    rows,
    script,
)

UNTIL = T0 + timedelta(days=200)


def upgrade(member: str) -> timedelta:
    return timedelta(minutes=5 + round(40 * share(0, 0, member)))


def approval(_gate: str) -> timedelta:
    return timedelta(hours=2)


def plainly(given: Script) -> RunState:
    """Every decision over the whole run, one event at a time."""
    run, now = commands.start(given.run, T0), T0
    events: list[tuple[datetime, str, str]] = []
    approved: list[Approval] = []
    while True:
        decided = decide(run, UpdateSeen(members=given.views, approvals=approved), now)
        run, approved = decided.state, []
        for action in decided.acts:
            if isinstance(action, Begin):
                heapq.heappush(events, (now + upgrade(action.member), "", action.operation))
            elif isinstance(action, OpenGate) and action.gate.due is None:
                heapq.heappush(events, (now + approval(action.gate.id), action.gate.id, ""))
        following = min([each[0] for each in events[:1]] + [decided.wake_at or UNTIL])
        if following >= UNTIL:
            return run
        now = following
        while events and events[0][0] <= now:
            _at, gate, operation = heapq.heappop(events)
            if gate:
                approved.append(Approval(gate=gate, by="forecast", at=now))
            else:
                run = commands.with_attempt_end(run, operation, states.COMPLETED, now)


@pytest.mark.parametrize("seed", range(80))
def test_any_run(seed: int) -> None:
    given = script(seed)
    plan = Plan(upgrade=upgrade, approval=approval, until=UNTIL)
    found = Course(run=commands.start(given.run, T0), views=dict(given.views), now=T0, plan=plan, noted=True).play()
    whole = plainly(given)
    assert found.run == whole
    assert derive(found.run).state in (states.COMPLETED, states.SKIPPED)
    spans = [(each.start, each.end) for each in found.standstills]
    assert all(end and start < end for start, end in spans)
    began = {row.name for row in rows(whole) if row.started}
    assert set(found.held) <= began


def alike(size: int, slots: str, nightly: bool) -> Script:
    """Three groups: members without windows, with the same windows, and of both kinds in turn."""
    days = [T0 + timedelta(days=day, hours=3) for day in range(200)]
    windows = tuple((opens, opens + timedelta(hours=2)) for opens in days) if nightly else None
    groups = ("plain", "nightly", "mixed")
    members = [Candidate(name=f"m-{number:04}", group=groups[number % 3]) for number in range(size)]
    stage = UpdateStage(
        name="all",
        max_concurrency="7",
        groups=tuple(UpdateGroup(name=each, max_concurrency=slots) for each in groups),
    )
    run = RunState(name="run", uid=UID, stages=resolve(UpdateRunStrategy(stages=(stage,)), members, UID).stages)
    views = {
        each.name: MemberView(
            name=each.name, windows=windows if each.group == "nightly" or (each.group == "mixed" and at % 2) else None
        )
        for at, each in enumerate(members)
    }
    return Script(draw=random.Random(0), run=run, views=views)


@pytest.mark.parametrize("slots", ["1", "3", "5", "100%"])
@pytest.mark.parametrize("nightly", [False, True])
def test_members_that_are_alike_are_told_by_one_of_them(slots: str, nightly: bool) -> None:
    given = alike(90, slots, nightly)
    for until in (T0 + timedelta(hours=1), T0 + timedelta(hours=4), UNTIL):
        plan = Plan(upgrade=upgrade, approval=None, until=until)
        found = Course(run=commands.start(given.run, T0), views=dict(given.views), now=T0, plan=plan, noted=True).play()
        if until is UNTIL:
            assert found.run == plainly(given)
        held = {row.state for row in rows(found.run) if given.views[row.name].windows and not row.started}
        assert len(held) <= 1


def test_a_decision_costs_no_more_in_a_large_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 members of one group, five at once: each decision looks at a handful of them, not at all."""
    seen: list[int] = []

    def counting(run: RunState, facts: UpdateSeen, now: datetime) -> t.Any:
        seen.append(len(run.members))
        return decide(run, facts, now)

    monkeypatch.setattr(course, "decide", counting)
    given = alike(3000, "5", nightly=True)
    plan = Plan(upgrade=upgrade, approval=None, until=UNTIL)
    found = Course(run=commands.start(given.run, T0), views=dict(given.views), now=T0, plan=plan).play()
    assert all(row.state == states.COMPLETED for row in rows(found.run))
    assert len(found.run.members) == 3000 and max(seen) < 60
