# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The course of a run on a virtual clock is the one that decisions over the whole run would take."""

from __future__ import annotations

import heapq
from datetime import datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.course import Course, Plan
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.durations import share
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import commands
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    Approval,
    Begin,
    OpenGate,
    RunState,
    UpdateSeen,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import T0
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.simulated import (
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
                run = commands.record(run, operation, states.COMPLETED, now)


@pytest.mark.parametrize("seed", range(80))
def test_any_run(seed: int) -> None:
    given = script(seed)
    plan = Plan(upgrade=upgrade, approval=approval, until=UNTIL)
    found = Course(run=commands.start(given.run, T0), views=dict(given.views), now=T0, plan=plan, told=True).play()
    whole = plainly(given)
    assert found.run == whole
    assert derive(found.run).state in (states.COMPLETED, states.SKIPPED)
    spans = [(each.start, each.end) for each in found.standstills]
    assert all(end and start < end for start, end in spans)
    began = {row.name for row in rows(whole) if row.started}
    assert set(found.held) <= began
