# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Two conductors of one run: the second is refused, or takes over what a frozen one has; nothing is begun twice."""

from __future__ import annotations

import random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.claims import LEASE_SECONDS as CLAIM_SECONDS
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.claims import operation_in_flight
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding
from ansible_collections.gitops.fleet.tests.simulation import scenario
from ansible_collections.gitops.fleet.tests.simulation.processes import AFTER, BEFORE, Hook, Point, Process
from ansible_collections.gitops.fleet.tests.simulation.world import World, nobody


def test_the_second_is_told_who_holds_the_run_and_for_how_long(new_path, undisturbed):
    world = scenario.world(new_path())
    world.holder = "user@elsewhere:{}".format
    first = world.process()
    world.time.run_for(5)
    refused = world.conducted().result
    assert isinstance(refused, FleetError) and refused.code == "lease-held"
    assert "run/release is being worked on by user@elsewhere:1, since 5 s" in refused.message
    world.finish(first)
    assert isinstance(first.result, RunEnding)
    scenario.driven(world)
    assert scenario.ending(world) == undisturbed
    world.close()


def test_a_frozen_one_is_replaced_and_its_next_write_fails(new_path, many):
    """Frozen at any write, for longer than its lease lasts.

    One that was about to claim a member does so when it wakes, before it is told. No run stands for that mark, so it
    holds nobody up, and the member's lease ends by itself: its successor may be about to use both.
    """
    for seed in many(16):
        chance = random.Random(seed)
        number, side = chance.randint(4, 100), chance.choice((BEFORE, AFTER))
        world = scenario.world(new_path())
        world.holder = "user@elsewhere:{}".format
        frozen = world.process(freezes(number, side))
        frozen_or_over(world, frozen)
        what = f"seed {seed}: frozen {side} write {number}"
        epoch = world.run().status.epoch
        if not frozen.over and "run/release" in {each.name for each in world.records.leases()}:
            scenario.driven(world)
            world.people, left = nobody, world.run()
            assert left.status.epoch > epoch, what
            world.finish(frozen)
            assert world.run() == left, what
            had_nothing_to_write = isinstance(frozen.result, RunEnding) and frozen.result.why == "settled"
            assert had_nothing_to_write or getattr(frozen.result, "code", "") == "lease-lost", what
            world.time.run_for(CLAIM_SECONDS)
            marks = [each for each in world.records.list("FleetMember") if operation_in_flight(world.records, each)]
            assert marks == [] and [each for each in scenario.broken(world) if "still marked" not in each] == [], what
            assert scenario.states(world) == {**scenario.STATES, "q-2": world.row("q-2").state}, what
        world.close()


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8])
def test_a_successor_that_has_not_written_yet_is_not_overwritten(new_path, number):
    """The run is as the frozen one knows it, so only the lease tells that it must not write."""
    world = scenario.world(new_path())
    world.holder = "user@elsewhere:{}".format
    first = world.process(freezes_before_the(number, "replace UpdateRun/release", 100))
    frozen_or_over(world, first)
    world.time.run_for(70)
    world.people = nobody
    second = world.process(freezes_before_the(1, "replace UpdateRun/release", 100))
    frozen_or_over(world, second)
    left = world.run()
    world.finish(first)
    assert getattr(first.result, "code", "") == "lease-lost" and world.run() == left
    world.people = scenario.people
    world.finish(second)
    scenario.driven(world)
    assert scenario.states(world) == {**scenario.STATES, "q-2": world.row("q-2").state}
    world.close()


def freezes_before_the(number: int, what: str, seconds: int) -> Hook:
    """Before that write, counted from the one that takes the lease."""
    seen: list[Point] = []

    def hook(point: Point, process: Process) -> None:
        if point.side == BEFORE and (point.what == "acquire run/release" or (seen and point.what == what)):
            seen.append(point)
            if len(seen) == number + 1 and point.what == what:
                process.freeze(seconds)

    return hook


def frozen_or_over(world: World, process: Process) -> None:
    world.time.run(lambda: process.over or process.frozen_until > world.time.now)


def freezes(number: int, side: str) -> Hook:
    def hook(point: Point, process: Process) -> None:
        if (point.number, point.side) == (number, side):
            process.freeze(150)

    return hook
