# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What holds in every update run, whatever happens to it.

``FLEET_RANDOM_RUNS`` is how many random runs are made, ``FLEET_RANDOM_SEED`` the seed of the first one. A failure names
the seed and the number of the action.
"""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.machine import Decision
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.facts import DONE
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.integrity import oddities
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import Begin, RunState, UpdateSeen
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import RunStatus, derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values import update_states as states
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.simulated import (
    Script,
    rows,
    script,
)

RUNS = int(os.environ.get("FLEET_RANDOM_RUNS", "80"))
FIRST_SEED = int(os.environ.get("FLEET_RANDOM_SEED", "1"))
ACTIONS = 100
PARTS = 8
SETTLED = (states.STOPPED, states.SKIPPED, states.FAILED, states.PENDING, states.COMPLETED, states.NOT_STARTED)


@pytest.mark.parametrize("part", range(PARTS))
def test_rules_that_hold_in_every_run(part):
    for seed in range(FIRST_SEED + part, FIRST_SEED + RUNS, PARTS):
        run = script(seed)
        try:
            _play(run, seed)
        except Exception as error:
            error.add_note(f"seed {seed}, action {run.count}: {run.action}")
            raise


def _play(run: Script, seed: int) -> None:
    begun: set[tuple[str, int]] = set()
    status = derive(run.run)
    for number in range(ACTIONS):
        old, old_status = run.run, status
        run.act()
        status = derive(run.run)
        _check(run, old, old_status, status, begun)
        if number % 4 == seed % 4:
            _check_order_of_members(run)
            _check_time_alone(run)
    while derive(run.run).state not in DONE:
        old, old_status = run.run, status
        run.drive()
        status = derive(run.run)
        _check(run, old, old_status, status, begun)
        assert run.count < 1_000, f"no end in sight: {status}"


def _check(run: Script, old: RunState, old_status: RunStatus, status: RunStatus, begun: set[tuple[str, int]]) -> None:
    _check_tree(run.run, status)
    _check_limits(run.run)
    _check_dispatches(run, begun)
    _check_ends_are_final(run, old, old_status, status)
    assert oddities(run.run) == [], "whatever we make of a run is taken for ours"
    assert run.decided.wake_at is None or run.decided.wake_at > run.now
    if run.run.phase == "active":
        again = decide(run.run, UpdateSeen(members=run.views), run.now)
        assert again == Decision(state=run.run, waits=run.decided.waits, wake_at=run.decided.wake_at)


def _check_tree(run: RunState, status: RunStatus) -> None:
    """No parent is finished above an unfinished child, and nothing settled has a member in flight."""
    for stage, one in zip(run.stages, status.stages, strict=True):
        for group, each in zip(stage.groups, one.groups, strict=True):
            in_flight = any(row.state == states.RUNNING for row in group.members)
            assert not (in_flight and each.state in SETTLED)
            if each.state in DONE:
                assert all(row.state in states.TERMINAL for row in group.members)
                assert all(gate.state in DONE for gate in (*group.before_gates, *group.after_gates))
            assert not (in_flight and one.state in SETTLED)
        if one.state == states.COMPLETED:
            assert all(each.state in DONE for each in one.groups)
            assert stage.wait is None or stage.wait.state in DONE
            assert all(gate.state in DONE for gate in (*stage.before_gates, *stage.after_gates))
    if status.state in SETTLED:
        assert all(row.state != states.RUNNING for row in rows(run))
    if status.state in DONE:
        assert all(one.state in DONE for one in status.stages)
    assert (run.completed is not None) == (status.state in (*DONE, states.FAILED)) or run.phase == "new"


def _check_limits(run: RunState) -> None:
    busy = [
        [sum(row.state == states.RUNNING for row in group.members) for group in stage.groups] for stage in run.stages
    ]
    for stage, counts in zip(run.stages, busy, strict=True):
        assert sum(counts) <= stage.max_concurrency
        assert all(count <= group.max_concurrency for count, group in zip(counts, stage.groups, strict=True))
    assert sum(any(counts) for counts in busy) <= 1, "two stages in flight"


def _check_dispatches(run: Script, begun: set[tuple[str, int]]) -> None:
    """Once an attempt, in order of stages, nowhere after a stop, a breach or a skip; gates open by the same rule."""
    before = {row.name: row for row in rows(run.before)}
    places = {group.name: (stage, group) for stage in run.before.stages for group in stage.groups}
    states_before = {stage.name: one.state for stage, one in zip(run.run.stages, derive(run.run).stages, strict=True)}
    for action in run.decided.acts:
        assert not run.before.stop_requested
        if not isinstance(action, Begin):
            assert not next(stage for stage in run.before.stages if stage.name == action.stage).breached
            continue
        stage, group = places[action.group]
        assert not (stage.breached or group.breached or stage.user_skipped or group.user_skipped)
        assert before[action.member].state in (states.NOT_STARTED, states.PENDING)
        assert action.attempt == before[action.member].attempt + 1
        assert (action.member, action.attempt) not in begun
        begun.add((action.member, action.attempt))
        earlier = run.before.stages[: run.before.stages.index(stage)]
        assert all(states_before[each.name] in DONE for each in earlier)


def _check_ends_are_final(run: Script, old: RunState, old_status: RunStatus, status: RunStatus) -> None:
    """A finished run stays so; a failed one, and a failed member, until the next start."""
    assert old_status.state not in DONE or status.state == old_status.state
    started = run.action == "start"
    assert started or old_status.state != states.FAILED or status.state == states.FAILED
    for row, was in zip(rows(run.run), rows(old), strict=True):
        assert was.state not in DONE or row == was
        if was.state == states.FAILED and not started:
            assert row == was or (row.state == states.SKIPPED and row.skipped_by == states.USER)


def _check_order_of_members(run: Script) -> None:
    turned = dict(reversed(run.views.items()))
    assert decide(run.before, UpdateSeen(members=turned), run.now) == decide(
        run.before, UpdateSeen(members=run.views), run.now
    )


def _check_time_alone(run: Script) -> None:
    """Until ``wake_at`` the clock changes nothing; what a halted member waits for wakes nobody."""
    wake = run.decided.wake_at
    later = run.now + timedelta(days=60) if wake is None else wake - timedelta(microseconds=1)
    made = decide(run.run, UpdateSeen(members=run.views), later)
    assert (made.acts, made.wake_at) == ((), wake)
    stages = run.run.stages
    if any(stage.breached or any(group.breached for group in stage.groups) for stage in stages):
        assert [row.state for row in rows(made.state)] == [row.state for row in rows(run.run)]
    else:
        assert made.state == run.run
