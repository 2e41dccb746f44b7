# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Records that cannot be reached for a while: the conductor bears it, whether a write had taken effect or not."""

from __future__ import annotations

import itertools
import random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import LEASE_SECONDS
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding
from ansible_collections.gitops.fleet.tests.simulation import scenario
from ansible_collections.gitops.fleet.tests.simulation.processes import AFTER, BEFORE, Hook, Point, Process

APART = 20
"""Of so many writes in turn one fails; the next time it is the next one."""


def out_of_reach(first: int, side: str, seconds: float) -> Hook:
    numbers = itertools.count()

    def hook(point: Point, process: Process) -> None:
        if point.side == side and not point.what.startswith(("begin", "line")) and next(numbers) % APART == first:
            process.cut_off(seconds)

    return hook


@pytest.mark.parametrize("side", [BEFORE, AFTER])
@pytest.mark.parametrize("first", range(APART))
def test_out_of_reach_at_every_write(new_path, undisturbed, first, side):
    """``present`` and ``started`` are commands of people, who try again; conducting is not, once it is on its way."""
    world = scenario.world(new_path())
    for process in scenario.driven(world, *[out_of_reach(first, side, 3)] * 40):
        assert isinstance(process.result, RunEnding) or not process.said, process.result
    world.time.run_for(LEASE_SECONDS)
    assert scenario.ending(world) == undisturbed
    world.close()


def test_out_of_reach_for_longer_than_the_lease_lasts(new_path, many):
    for seed in many(8):
        chance = random.Random(seed)
        world = scenario.world(new_path())
        processes = scenario.driven(world, cut_off_once(chance.randint(12, 100), chance.choice((BEFORE, AFTER)), 90))
        if processes[0].said and processes[0].cut_off_until > world.time.clock():
            assert isinstance(processes[0].result, FleetError), seed
        world.time.run_for(LEASE_SECONDS)
        assert scenario.broken(world) == [], f"seed {seed}"
        world.close()


def cut_off_once(number: int, side: str, seconds: float) -> Hook:
    def hook(point: Point, process: Process) -> None:
        if (point.number, point.side) == (number, side) and not point.what.startswith(("begin", "line")):
            process.cut_off(seconds)

    return hook
