# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Commands of other processes between any two writes of a conductor: each that was taken counts."""

from __future__ import annotations

import itertools
import random
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import SkipTarget
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import RunState
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    COMPLETED,
    SKIPPED,
    STOPPED,
    USER,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_completion import Which, complete_gates
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_objects import gates_of
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import (
    skip_targets,
    start_run,
    stop_run,
)
from ansible_collections.gitops.fleet.tests.simulation import scenario
from ansible_collections.gitops.fleet.tests.simulation.processes import Hook, Point, Process
from ansible_collections.gitops.fleet.tests.simulation.world import People, World, nobody, rows

REFUSALS = {"conflict-state", "no-such-run", "gate-not-open", "gate-skipped", "unknown-target"}
Command = t.Callable[[World], object]
NOT_SKIPPED = {**scenario.STATES, "q-2": COMPLETED}


def stop(world: World) -> None:
    stop_run(world.session, scenario.RUN, write=True)


def approve(world: World) -> None:
    complete_gates(world.session, scenario.RUN, Which(), scenario.ANNA, "", "", write=True)


def skipping(member: str) -> Command:
    target = SkipTarget(type="Member", name=member)
    return lambda world: skip_targets(world.session, scenario.RUN, [target], write=True)


def taken(world: World, command: Command) -> bool:
    try:
        command(world)
    except FleetError as error:
        assert error.code in REFUSALS, error
        return False
    return True


def approving(world: World) -> None:
    taken(world, approve)


def once(world: World, command: Command, chance: random.Random, latest: int) -> tuple[Hook, list[RunState]]:
    """Tries the command at every point from a random one on, until it is taken; and the run as it is then."""
    first, numbers, then = chance.randint(6, 2 * latest), itertools.count(), list[RunState]()

    def hook(_point: Point, _process: Process) -> None:
        if next(numbers) >= first and not then and taken(world, command):
            then.append(world.state())

    return hook, then


@pytest.fixture
def worlds(new_path, many):
    """Worlds with a chance each, judged afterwards."""

    def made(usual: int, people: People) -> t.Iterator[tuple[World, random.Random, str]]:
        for seed in many(usual):
            world = scenario.world(new_path())
            world.people = people
            yield world, random.Random(seed), f"seed {seed}"
            assert scenario.broken(world) == [], f"seed {seed}"
            world.close()

    return made


def test_stop(worlds):
    """What is in flight ends; nothing that was not in flight at the stop is begun, until the run is started again."""
    for world, chance, seed in worlds(16, approving):
        hook, then = once(world, stop, chance, 80)
        process = world.conducted(hook)
        assert len(then) == 1 and world.state().stop_requested, seed
        known = {row.operation for row in rows(then[0])} | {""}
        assert {row.operation for row in rows(world.state())} <= known, seed
        assert isinstance(process.result, RunEnding), seed
        if derive(process.result.state).state == STOPPED:
            start_run(world.session, world.run(), {}, write=True)
        scenario.driven(world)
        assert scenario.states(world) == NOT_SKIPPED, seed


def test_skip(worlds):
    """A member that was skipped is not touched any more."""
    for world, chance, seed in worlds(16, approving):
        name = chance.choice([*scenario.STATES])
        hook, then = once(world, skipping(name), chance, 80)
        scenario.driven(world, hook)
        row = world.row(name)
        if then and next(each for each in rows(then[0]) if each.name == name).skipped_by == USER:
            assert (row.state, row.skipped_by, world.members[name].upgrades) == (SKIPPED, USER, []), seed
        else:
            assert row.state == NOT_SKIPPED[name], seed


def test_approval(worlds):
    """Given as soon as the gate is known, at any point of the conductor's way."""
    for world, chance, seed in worlds(8, nobody):
        hook, then = once(world, approve, chance, 45)
        scenario.driven(world, *[hook] * 9)
        (placed,) = gates_of(world.state())
        assert then and (placed.gate.state, placed.gate.by) == (COMPLETED, "anna"), seed
