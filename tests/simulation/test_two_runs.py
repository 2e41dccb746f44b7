# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Two runs that want the same members at the same time: one operation at a time, the later run waits or is refused."""

from __future__ import annotations

import typing as t
from datetime import timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    COMPLETED,
    OPERATION_IN_PROGRESS,
    PENDING,
    RUNNING,
    SKIPPED,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.claims import mark_of
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding
from ansible_collections.gitops.fleet.tests.simulation.members import Member
from ansible_collections.gitops.fleet.tests.simulation.processes import AFTER, Point, Process
from ansible_collections.gitops.fleet.tests.simulation.world import World, gone, rows, run_manifest


def two_runs(path: Path, later: t.Mapping[str, t.Any], seconds: int = 40) -> World:
    stage = {"name": "all", "groups": [{"name": "all", "maxConcurrency": "2"}]}
    members = {name: Member(name, "all", plan=((seconds, True),)) for name in ("m-1", "m-2")}
    runs = (run_manifest("earlier", stage), run_manifest("later", stage, **later))
    world = World(path=path, members=members, runs=runs, holder=gone)
    world.join()
    return world


def waits(world: World) -> bool:
    """Both members of the later run wait for what the earlier one does, and say so."""
    found = rows(world.state("later"))
    assert [(row.state, row.reason) for row in found] == [(PENDING, OPERATION_IN_PROGRESS)] * 2
    named = [f"{world.row(row.name, 'earlier').operation} is in flight" for row in found]
    assert [row.message for row in found] == named
    return True


def ended(world: World, process: Process) -> str:
    assert isinstance(process.result, RunEnding), process.result
    assert not any(mark_of(each) for each in world.records.list("FleetMember")) and not world.records.leases()
    assert not world.broken and all(len(each.upgrades) == 1 for each in world.members.values())
    return derive(process.result.state).state


def test_the_later_one_waits_and_says_for_what(new_path):
    world = two_runs(new_path(), {})
    earlier = world.process(run="earlier")
    world.time.run_for(5)
    later = world.process(run="later")
    world.time.run_for(20)
    assert waits(world)
    world.time.run(lambda: earlier.over and later.over)
    assert (ended(world, earlier), ended(world, later)) == (COMPLETED, SKIPPED)
    world.close()


def test_it_waits_too_while_nobody_conducts_the_earlier_one(new_path):
    """Its upgrades are in flight however long its conductor is dead; the mark on the members tells."""
    world = two_runs(new_path(), {}, seconds=1500)

    def dies(point: Point, process: Process) -> None:
        if point.what == "begin m-2" and point.side == AFTER:
            process.die()

    world.conducted(dies, run="earlier")
    later = world.conducted(run="later")
    assert isinstance(later.result, RunEnding) and later.result.why == "waiting" and later.result.resume_at is not None
    assert waits(world)
    world.time.run_for(1000)
    assert isinstance(world.conducted(run="later").result, RunEnding) and waits(world)
    assert isinstance(world.conducted(run="earlier").result, RunEnding)
    assert ended(world, world.conducted(run="later")) == SKIPPED
    world.close()


def test_both_at_the_same_instant(new_path):
    """Whoever comes second to a member waits for it; each member is upgraded once."""
    world = two_runs(new_path(), {})
    both = [world.process(run="earlier"), world.process(run="later")]
    world.time.run_for(10)
    states = [row.state for run in ("earlier", "later") for row in rows(world.state(run))]
    assert sorted(states) == [PENDING, PENDING, RUNNING, RUNNING]
    world.time.run(lambda: all(each.over for each in both))
    assert {ended(world, each) for each in both} <= {COMPLETED, SKIPPED}
    world.close()


def test_refused_if_the_later_one_wants_no_conflict(new_path):
    world = two_runs(new_path(), {"onConflict": "refuse"})
    earlier = world.process(run="earlier")
    world.time.run_for(5)
    refused = world.conducted(run="later").result
    assert isinstance(refused, FleetError) and {each.code for each in refused.problems} == {"member-busy"}
    assert [each.where for each in refused.problems] == ["m-1", "m-2"]
    world.finish(earlier)
    assert ended(world, earlier) == COMPLETED
    assert ended(world, world.conducted(run="later")) == SKIPPED
    world.close()


@pytest.mark.parametrize("number", range(4, 40, 3))
def test_the_other_one_comes_at_any_write(new_path, number):
    """Between any two writes of one conductor the other one takes its first steps."""
    world = two_runs(new_path(), {})
    others: list[Process] = []

    def pauses(point: Point, process: Process) -> None:
        if point.number == number and not others:
            others.append(world.process(run="later"))
            process.freeze(3)

    earlier = world.process(pauses, run="earlier")
    world.time.run(lambda: earlier.over and all(each.over for each in others))
    last = others[0] if others else world.conducted(run="later")
    assert {ended(world, earlier), ended(world, last)} <= {COMPLETED, SKIPPED}
    world.close()


def test_a_frozen_conductor_gives_way_to_the_run_that_took_the_member(new_path: t.Callable[[], Path]) -> None:
    """It stood still between its claim and its intent for longer than a claim holds by itself: it begins nothing on a
    member that bears the mark of another run, which it waits for as for any other."""
    world = two_runs(new_path(), {}, seconds=900)
    stood: list[Point] = []

    def stands_still(point: Point, process: Process) -> None:
        marks = [mark_of(each) for each in world.records.list("FleetMember")]
        if (
            point.what == "replace UpdateRun/earlier"
            and any(each.startswith("earlier") for each in marks)
            and not stood
        ):
            stood.append(point)
            process.freeze(400)

    earlier = world.process(stands_still, run="earlier")
    world.time.run_for(30)
    later = world.process(run="later", orders={"max_idle": timedelta(hours=1)})
    world.time.run_for(500)
    assert {row.state for row in rows(world.state("later"))} == {RUNNING}
    assert {(row.state, row.reason) for row in rows(world.state("earlier"))} == {(PENDING, OPERATION_IN_PROGRESS)}
    world.finish(later)
    assert earlier.over and derive(world.state("later")).state == COMPLETED
    assert ended(world, world.conducted(run="earlier")) == SKIPPED
    world.close()
