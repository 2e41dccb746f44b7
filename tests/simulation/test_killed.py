# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A conductor that is killed at any write it makes: nothing is repeated, nothing is lost, and the end is the same."""

from __future__ import annotations

import inspect
import random
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.tests.simulation import scenario
from ansible_collections.gitops.fleet.tests.simulation.memory_hub import MemoryHub
from ansible_collections.gitops.fleet.tests.simulation.processes import READS, WRITES, Hook, Point, Process
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import BEGINNING
from ansible_collections.gitops.fleet.tests.simulation.world import World

NewPath = t.Callable[[], Path]
Many = t.Callable[[int], range]


def test_every_method_of_records_is_known_as_a_read_or_a_write():
    """A new one that writes could not be killed at."""
    methods = {name for name, _method in inspect.getmembers(Records, inspect.isfunction) if not name.startswith("_")}
    assert methods - {"close"} == READS | WRITES


@pytest.mark.parametrize("on_hub", [False, True], ids=["sqlite", "hub"])
def test_killed_at_every_write(new_path, undisturbed, on_hub):
    """A killed process does nothing any more: the world is copied at each point, and another process goes on there.

    Before a write everything is mostly as it was after the last one: what is the same is tried once.
    """
    found: list[tuple[Point, World]] = []
    world = scenario.world(new_path(), MemoryHub(lambda: BEGINNING) if on_hub else None)

    def hook(point: Point, _process: Process) -> None:
        if not found or world.visible() != found[-1][1].visible():
            found.append((point, world.copied(new_path())))

    scenario.driven(world, hook, hook)
    assert scenario.ending(world) == undisturbed
    world.close()
    assert len(found) > 60
    for point, copy in found:
        scenario.driven(copy)
        assert scenario.ending(copy) == undisturbed, f"killed {point.side} write {point.number}, {point.what}"
        copy.close()


def test_killed_while_recovering_from_being_killed(new_path, undisturbed, many):
    for seed in many(20):
        chance = random.Random(seed)
        hooks = [killed_at(chance.randint(1, 110), chance) for _process in range(chance.choice((2, 2, 3, 6)))]
        world = scenario.world(new_path())
        scenario.driven(world, *hooks)
        assert scenario.ending(world) == undisturbed, f"seed {seed}"
        world.close()


def test_killed_on_another_machine(new_path, undisturbed, many):
    """The lease of the dead one has to run out first: whatever was in flight ended long ago, and people came too late
    to skip or to stop."""
    for seed in many(12):
        chance = random.Random(seed)
        hooks = [killed_at(chance.randint(1, 120), chance) for _process in range(chance.choice((1, 2, 4)))]
        world = scenario.world(new_path())
        world.holder = "user@elsewhere:{}".format
        scenario.driven(world, *hooks)
        assert scenario.broken(world) == [], f"seed {seed}"
        assert scenario.states(world) == {**scenario.STATES, "q-2": world.row("q-2").state}, f"seed {seed}"
        world.close()


def killed_at(number: int, chance: random.Random) -> Hook:
    side = chance.choice(("before", "after"))

    def hook(point: Point, process: Process) -> None:
        if (point.number, point.side) == (number, side):
            process.die()

    return hook
