# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members that leave or do not answer, conductors that are to end early, waits that are longer than anybody waits."""

from __future__ import annotations

import typing as t
from datetime import timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import (
    CONTROL_PLANE_ONLY,
    FULL,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    COMPLETED,
    FAILED,
    MEMBER_GONE,
    PENDING,
    RUNNING,
    SKIPPED,
    STOPPED,
    UNREACHABLE,
    UPGRADE_FAILED,
    WINDOW_CLOSED,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.claims import mark_of
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import stop_run
from ansible_collections.gitops.fleet.tests.simulation import scenario
from ansible_collections.gitops.fleet.tests.simulation.members import OLD, Member
from ansible_collections.gitops.fleet.tests.simulation.node_pools import SimulatedPool
from ansible_collections.gitops.fleet.tests.simulation.processes import AFTER, BEFORE, Process
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import BEGINNING
from ansible_collections.gitops.fleet.tests.simulation.world import API, World, gone, run_manifest

Interval = tuple[int, int]


def world_of(path: Path, *members: Member, stages: t.Sequence[t.Any] = (), **spec: t.Any) -> World:
    """One group of all members, two at a time, unless told otherwise."""
    stages = stages or [{"name": "all", "groups": [{"name": "all", "maxConcurrency": "2"}]}]
    found = {each.name: each for each in members}
    world = World(path=path, members=found, runs=(run_manifest(scenario.RUN, *stages, **spec),), holder=gone)
    world.join()
    return world


def member(name: str, seconds: int = 6, away: t.Sequence[Interval] = (), well: bool = True) -> Member:
    intervals = tuple((BEGINNING + timedelta(seconds=one), BEGINNING + timedelta(seconds=two)) for one, two in away)
    return Member(name, "all", plan=((seconds, well),), away=intervals)


def ending_of(process: Process) -> RunEnding:
    assert isinstance(process.result, RunEnding), process.result
    return process.result


def held_member(name: str, seconds: int, *held: Interval) -> Member:
    """Its control plane takes so long; in these intervals no node of its pool can be replaced, for a pod holds it."""
    found = member(name, seconds)
    found.pools, found.rotates = (SimulatedPool("blue", OLD),), True
    found.held = tuple((BEGINNING + timedelta(seconds=one), BEGINNING + timedelta(seconds=two)) for one, two in held)
    return found


def whole_world_of(path: Path, *members: Member) -> World:
    stages = [{"name": "all", "groups": [{"name": "all", "maxConcurrency": "100%"}]}]
    world = world_of(path, *members, stages=stages, kind=FULL)
    world.offer()
    return world


def at(seconds: int, command: t.Callable[[World], object]) -> t.Callable[[World], None]:
    """People who give one command, at that time."""

    def people(world: World) -> None:
        if world.time.seconds() == seconds:
            command(world)

    return people


def left(name: str) -> t.Callable[[World], None]:
    return lambda world: world.records.delete("FleetMember", name)


class TestMembers:
    def test_left_in_flight(self, new_path):
        """It is given up, and the run goes on as after any other failure."""
        world = world_of(new_path(), member("m-1", 60), member("m-2", 40), member("m-3"))
        world.people = at(10, left("m-1"))
        ending = ending_of(world.conducted())
        assert derive(ending.state).state == FAILED and ending.why == "settled"
        assert (world.row("m-1").state, world.row("m-1").reason) == (FAILED, MEMBER_GONE)
        assert (world.row("m-2").state, world.row("m-3").attempt) == (COMPLETED, 0)
        assert scenario.broken(world) == []
        world.close()

    def test_left_before_its_turn(self, new_path):
        world = world_of(new_path(), member("m-1", 30), member("m-2", 30), member("m-3"))
        world.people = at(5, left("m-3"))
        assert derive(ending_of(world.conducted()).state).state == COMPLETED
        assert (world.row("m-3").state, world.row("m-3").reason) == (SKIPPED, MEMBER_GONE)
        assert scenario.broken(world) == []
        world.close()

    def test_unreachable_for_longer_than_the_timeout(self, new_path):
        """U13: Pending until then, while the others go on; then it is left out."""
        away = member("m-1", away=[(0, 10_000)])
        world = world_of(new_path(), away, member("m-2", 30), unreachableTimeoutSeconds=60)
        process = world.process()
        world.time.run_for(50)
        assert (world.row("m-1").state, world.row("m-1").reason) == (PENDING, UNREACHABLE)
        world.finish(process)
        assert derive(ending_of(process).state).state == COMPLETED and world.time.seconds() == 60
        assert (world.row("m-1").state, world.row("m-1").reason) == (SKIPPED, UNREACHABLE)
        assert world.row("m-2").state == COMPLETED and scenario.broken(world) == []
        world.close()

    def test_unreachable_until_shortly_before_the_timeout(self, new_path):
        world = world_of(new_path(), member("m-1", away=[(0, 50)]), unreachableTimeoutSeconds=80)
        assert derive(ending_of(world.conducted()).state).state == COMPLETED
        assert world.row("m-1").state == COMPLETED and scenario.broken(world) == []
        world.close()

    @pytest.mark.parametrize("away", [(2, 40), (5, 7), (1, 300)])
    def test_away_during_its_upgrade(self, new_path, away):
        """A control plane does not answer while it is upgraded; nothing is concluded from that."""
        world = world_of(new_path(), member("m-1", 30, away=[away]))
        assert derive(ending_of(world.conducted()).state).state == COMPLETED
        assert len(world.members["m-1"].upgrades) == 1 and scenario.broken(world) == []
        world.close()

    def test_not_there_when_it_should_have_begun(self, new_path):
        """It answered when it was looked at, and not a moment later: tried again, and begun once."""
        world = world_of(new_path(), member("m-1", away=[(0, 0)]))

        def hook(point: t.Any, _process: Process) -> None:
            now = world.time.now
            if point.what == "replace UpdateRun/release" and not world.members["m-1"].away[-1][1] > now:
                world.members["m-1"].away = ((now, now + timedelta(seconds=12)),)

        assert derive(ending_of(world.conducted(hook)).state).state == COMPLETED
        assert len(world.members["m-1"].upgrades) == 1 and scenario.broken(world) == []
        world.close()

    def test_never_there_when_it_should_have_begun(self, new_path):
        """Whoever cannot be seen for so long may have been begun or not: the attempt is lost, not repeated."""
        world = world_of(new_path(), member("m-1"), unreachableTimeoutSeconds=60)

        def hook(point: t.Any, _process: Process) -> None:
            if point.what == "acquire member/m-1":
                world.members["m-1"].away = ((world.time.now, world.time.now + timedelta(days=1)),)

        assert derive(ending_of(world.conducted(hook)).state).state == FAILED
        assert world.row("m-1").reason == "OperationLost" and world.members["m-1"].upgrades == []
        assert scenario.broken(world) == []
        world.close()

    def test_one_of_four_is_broken_and_none_may_be(self, new_path):
        """Others in flight finish, nobody else begins."""
        members = [member("m-1", 5, well=False), member("m-2", 40), member("m-3"), member("m-4")]
        world = world_of(new_path(), *members)
        assert derive(ending_of(world.conducted()).state).state == FAILED
        assert [world.row(f"m-{number}").state for number in (1, 2, 3, 4)] == [
            FAILED, COMPLETED, "NotStarted", "NotStarted",
        ]  # fmt: skip
        assert world.row("m-1").reason == UPGRADE_FAILED and scenario.broken(world) == []
        world.close()


class TestEnds:
    def test_time_limit(self, new_path):
        """Nothing is begun after it; what is in flight goes on, and is taken up by the next one."""
        world = world_of(new_path(), member("m-1", 30), member("m-2", 90), member("m-3", 30), member("m-4"))
        first = ending_of(world.conducted(time_limit=timedelta(seconds=20)))
        assert (first.why, world.time.seconds(), first.resume_at) == ("time-limit", 20, world.time.now)
        assert [row.state for row in scenario.rows(first.state)] == [RUNNING, RUNNING, "NotStarted", "NotStarted"]
        world.time.run_for(120)
        assert [len(each.upgrades) for each in world.members.values()] == [1, 1, 0, 0]
        assert ending_of(world.conducted()).why == "settled"
        assert [len(each.upgrades) for each in world.members.values()] == [1, 1, 1, 1]
        assert scenario.broken(world) == []
        world.close()

    def test_interrupted_at_any_second(self, new_path):
        """What has ended by then is recorded, nothing new is begun, and it ends at once."""
        for second in range(1, 20):
            world = world_of(new_path(), *[member(f"m-{number}", 3 + number) for number in range(5)])
            process = world.process()
            world.time.run_for(second)
            process.told = "interrupted by SIGTERM"
            before = [len(each.upgrades) for each in world.members.values()]
            world.finish(process)
            assert (world.time.seconds() - second) <= 1
            if ending_of(process).why != "settled":
                assert ending_of(process).why == "interrupted by SIGTERM"
            world.time.run_for(5)
            assert before == [len(each.upgrades) for each in world.members.values()]
            scenario.driven(world)
            assert [len(each.upgrades) for each in world.members.values()] == [1] * 5
            assert scenario.broken(world) == [], second
            world.close()

    def test_a_gate_that_nobody_approves(self, new_path):
        """Nothing but an approval helps: it is not waited for."""
        gate = {"type": "Approval", "displayName": "go"}
        stages = [{"name": "all", "groups": [{"name": "all"}], "beforeGates": [gate]}]
        world = world_of(new_path(), member("m-1"), stages=stages)
        ending = ending_of(world.conducted())
        assert (ending.why, ending.resume_at, world.time.seconds()) == ("waiting", None, 0)
        assert derive(ending.state).state == PENDING and scenario.broken(world) == []
        world.close()

    @pytest.mark.parametrize(("idle", "why", "seconds"), [(60, "waiting", 6), (600, "settled", 312)])
    def test_a_wait_is_sat_out_only_if_it_is_short(self, new_path, idle, why, seconds):
        stages = [
            {"name": "one", "groups": [{"name": "all"}], "afterStageWaitInSeconds": 300},
            {"name": "two", "groups": [{"name": "rest"}]},
        ]
        world = world_of(new_path(), member("m-1"), Member("m-2", "rest"), stages=stages)
        ending = ending_of(world.conducted(max_idle=timedelta(seconds=idle)))
        assert (ending.why, world.time.seconds()) == (why, seconds)
        if why == "waiting":
            assert ending.resume_at == BEGINNING + timedelta(seconds=306)
            world.time.run_for(300)
            assert ending_of(world.conducted()).why == "settled"
        assert scenario.broken(world) == []
        world.close()


class TestHeldByPods:
    """Each pool waits for ``max_idle`` (two minutes here) by itself, and could be looked at again soon."""

    @pytest.mark.parametrize("count", [1, 2, 3, 5])
    def test_all_are_held_for_ever(self, new_path: t.Callable[[], Path], count: int) -> None:
        """They do not take turns in being waited for: once all of them were, the run ends, to be taken up later."""
        members = [held_member(f"m-{number}", 5 + 23 * number, (0, 100_000)) for number in range(count)]
        world = whole_world_of(new_path(), *members)
        process = world.process()
        world.time.run_for(1200)
        ending = ending_of(process)
        assert ending.why == "waiting" and ending.resume_at is not None
        assert {world.row(each.name).state for each in members} == {RUNNING}
        world.close()

    def test_one_is_let_go_while_another_comes_on(self, new_path: t.Callable[[], Path]) -> None:
        """It is taken up by the same conductor, however often it stood still before."""
        first, second = held_member("m-1", 5, (0, 700)), held_member("m-2", 900)
        world = whole_world_of(new_path(), first, second)
        assert derive(ending_of(world.conducted()).state).state == COMPLETED
        assert scenario.broken(world) == []
        world.close()

    def test_one_is_held_and_another_let_go_comes_on_for_long(self, new_path: t.Callable[[], Path]) -> None:
        """The first one comes on once it is taken up, for longer than anybody waits; the second one is looked at again
        meanwhile."""
        first, second = held_member("m-1", 5, (0, 220)), held_member("m-2", 60, (0, 900))
        first.plan = ((5, True), (600, True))
        world = whole_world_of(new_path(), first, second)
        assert derive(ending_of(world.conducted()).state).state == COMPLETED
        world.close()


def frozen(world: World) -> None:
    """Nothing may begin any more until an hour after the beginning of the world, which is where that day ends."""
    freeze = {"name": "sales", "start": "2026-03-02", "end": "2026-03-02", "timeZone": "Pacific/Kiritimati"}
    world.records.create({"apiVersion": API, "kind": "FleetMaintenance", "metadata": {"name": "sales"},
                          "spec": {"freezes": [freeze]}})  # fmt: skip


class TestFreezes:
    """U12: windows are permission. What was meant while it might begin, and has not begun, may not begin later on."""

    @pytest.mark.parametrize("kind", [CONTROL_PLANE_ONLY, FULL])
    def test_killed_between_the_intent_and_the_beginning(self, new_path: t.Callable[[], Path], kind: str) -> None:
        """The next conductor finds it meant and not begun, in a freeze: it waits for its turn, and takes no slot."""
        world = world_of(new_path(), member("m-1"), member("m-2"), member("m-3"), kind=kind)
        world.offer()

        def dies(point: t.Any, process: Process) -> None:
            if point.what == "begin m-1" and point.side == BEFORE:
                process.die()

        assert world.conducted(dies).dead and world.row("m-1").state == RUNNING
        frozen(world)
        world.time.run_for(1800)
        ending = ending_of(world.conducted())
        assert ending.why == "waiting" and not any(each.upgrades for each in world.members.values())
        assert {world.row(each).reason for each in world.members} == {WINDOW_CLOSED}
        assert ending.resume_at == BEGINNING + timedelta(hours=1)
        assert not any(mark_of(each) for each in world.records.list("FleetMember"))
        world.time.run_for(1800)
        assert derive(ending_of(world.conducted()).state).state == COMPLETED
        assert scenario.broken(world) == [] and [world.row(each).attempt for each in world.members] == [1, 1, 1]
        world.close()

    def test_away_when_it_should_have_begun_and_back_in_a_freeze(self, new_path: t.Callable[[], Path]) -> None:
        world = world_of(new_path(), member("m-1"))
        world.people = at(100, frozen)

        def hook(point: t.Any, _process: Process) -> None:
            first = point.what == "replace UpdateRun/release" and not world.members["m-1"].away
            if first and RUNNING in scenario.states(world).values():
                world.members["m-1"].away = ((world.time.now, world.time.now + timedelta(seconds=900)),)

        ending = ending_of(world.conducted(hook))
        assert ending.why == "waiting" and world.time.seconds() > 900 and not world.members["m-1"].upgrades
        assert (world.row("m-1").state, world.row("m-1").reason) == (PENDING, WINDOW_CLOSED)
        world.time.run_for(3000)
        assert derive(ending_of(world.conducted()).state).state == COMPLETED and scenario.broken(world) == []
        world.close()

    def test_stopped_while_nobody_conducts(self, new_path: t.Callable[[], Path]) -> None:
        """What is held back is not in flight: it is stopped as others that wait are, and begins no more."""
        world = world_of(new_path(), member("m-1"))

        def dies(point: t.Any, process: Process) -> None:
            if point.what == "begin m-1" and point.side == BEFORE:
                process.die()

        world.conducted(dies)
        frozen(world)
        stop_run(world.session, scenario.RUN, write=True)
        world.time.run_for(60)
        assert derive(ending_of(world.conducted()).state).state == STOPPED
        assert world.row("m-1").state == STOPPED and not world.members["m-1"].upgrades
        world.close()

    def test_frozen_itself_until_after_the_window(self, new_path: t.Callable[[], Path]) -> None:
        """A conductor that stands still just before it begins, and goes on when nothing may begin any more."""
        world = world_of(new_path(), member("m-1"))
        world.people = at(100, frozen)

        def hook(point: t.Any, process: Process) -> None:
            stored = point.what == "replace UpdateRun/release" and point.side == AFTER
            if stored and world.time.seconds() < 100 and world.row("m-1").state == RUNNING:
                process.freeze(1800)

        world.conducted(hook)
        assert not world.members["m-1"].upgrades and world.row("m-1").state in (PENDING, RUNNING)
        world.close()
