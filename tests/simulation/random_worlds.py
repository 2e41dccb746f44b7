# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random fleets, strategies, commands, deaths and outages over the whole conductor, for runs of each type.

``random_world(path, random.Random(seed), kind)`` is the world of a seed again.
"""

from __future__ import annotations

import random
import typing as t
from datetime import timedelta
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import (
    CONTROL_PLANE_ONLY,
    FULL,
    NODE_IMAGE_ONLY,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import SkipTarget
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import RunState
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    ACTIVE,
    COMPLETED,
    FAILED,
    PENDING,
    SKIPPED,
    STOPPED,
    TERMINAL,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.claims import operation_in_flight
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_completion import Which, complete_gates
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_objects import gates_of
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import (
    skip_targets,
    start_run,
    stop_run,
)
from ansible_collections.gitops.fleet.tests.simulation import scenario
from ansible_collections.gitops.fleet.tests.simulation.members import LOCAL, NAMED, NEW, OLD, Member
from ansible_collections.gitops.fleet.tests.simulation.node_pools import SimulatedPool
from ansible_collections.gitops.fleet.tests.simulation.processes import BEFORE, Hook, Point, Process
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import BEGINNING
from ansible_collections.gitops.fleet.tests.simulation.world import World, gone, nobody, rows, run_manifest

KINDS = (CONTROL_PLANE_ONLY, FULL, NODE_IMAGE_ONLY)
APPROVAL = {"type": "Approval", "displayName": "go"}
LIMITS, SLOTS = ("0", "0", "1", "50%"), ("1", "1", "2", "50%")
REFUSALS = {"conflict-state", "gate-not-open", "gate-skipped", "conflict"}


def random_member(name: str, group: str, chance: random.Random) -> Member:
    start = BEGINNING + timedelta(seconds=chance.randint(0, 60))
    away = (start, start + timedelta(seconds=chance.choice((5, 20, 90))))
    return Member(
        name,
        group,
        version=NEW if chance.random() < 0.1 else OLD,
        plan=tuple((chance.randint(1, 15), chance.random() < 0.8) for _attempt in range(4)),
        kind=chance.choice((NAMED, LOCAL)),
        tells=chance.random() < 0.5,
        away=(away,) if chance.random() < 0.2 else (),
    )


def with_pools(member: Member, chance: random.Random) -> Member:
    """The same with node pools, some of which are where they should be, or too old for the new API server."""
    start = BEGINNING + timedelta(seconds=chance.randint(0, 60))
    closed = (start, start + timedelta(seconds=chance.choice((10, 100))))
    member.pools = tuple(
        SimulatedPool(name, chance.choice((OLD, OLD, "v1.32.9", member.version)), chance.choice("112"))
        for name in ("blue", "green")[: chance.randint(0, 2)]
    )
    member.rotates = chance.random() < 0.5
    member.closed = (closed,) if chance.random() < 0.2 else ()
    return member


def random_stage(number: int, groups: list[str], chance: random.Random) -> dict[str, t.Any]:
    def gates() -> list[t.Any]:
        return [APPROVAL] if chance.random() < 0.15 else []

    def limits() -> dict[str, t.Any]:
        return {"maxAllowedFailures": chance.choice(LIMITS), "beforeGates": gates(), "afterGates": gates()}

    made = [{"name": each, "maxConcurrency": chance.choice(SLOTS), **limits()} for each in groups]
    wait = {"afterStageWaitInSeconds": chance.choice((3, 30))} if chance.random() < 0.3 else {}
    return {"name": f"stage-{number}", "groups": made, "maxConcurrency": chance.choice(("2", "3")), **limits(), **wait}


def random_world(path: Path, chance: random.Random, kind: str = CONTROL_PLANE_ONLY) -> World:
    groups = [f"group-{number}" for number in range(chance.randint(1, 4))]
    names = [f"m-{number}" for number in range(chance.randint(2, 8))]
    members = {name: random_member(name, chance.choice(groups), chance) for name in names}
    cut = chance.randint(1, len(groups))
    stages = [random_stage(number, part, chance) for number, part in enumerate((groups[:cut], groups[cut:])) if part]
    spec: dict[str, t.Any] = {"unreachableTimeoutSeconds": 60, "kind": kind}
    if kind != CONTROL_PLANE_ONLY:
        members = {name: with_pools(each, chance) for name, each in members.items()}
        spec["images"] = chance.choice(("Latest", "Consistent"))
    world = World(path=path, members=members, runs=(run_manifest(scenario.RUN, *stages, **spec),))
    world.holder = gone if chance.random() < 0.7 else "user@elsewhere:{}".format
    if kind != CONTROL_PLANE_ONLY:
        world.offer()
    world.join()
    return world


def allowed(command: t.Callable[[], object]) -> None:
    try:
        command()
    except FleetError as error:
        assert {each.code for each in error.problems} <= REFUSALS, error


def commands(world: World, chance: random.Random) -> None:
    """Now and then somebody does something."""
    state, records = active(world), world.records
    drawn = chance.random()
    if state is None or drawn > 0.2:
        return
    if drawn < 0.1:
        approve_all(world, state)
    elif drawn < 0.13:
        target = SkipTarget(type="Member", name=chance.choice(rows(state)).name)
        allowed(lambda: skip_targets(world.session, scenario.RUN, [target], write=True))
    elif drawn < 0.15:
        allowed(lambda: stop_run(world.session, scenario.RUN, write=True))
    elif drawn < 0.155:
        records.delete("FleetMember", chance.choice([*world.members]))
    else:
        start(world)


def help_it(world: World) -> None:
    """Somebody who wants the run to end approves everything, and starts it again when it stands."""
    state = active(world)
    if state is not None:
        approve_all(world, state)
        start(world)


def active(world: World) -> RunState | None:
    try:
        state = world.state()
    except FleetError:
        return None
    return state if state.phase == ACTIVE else None


def approve_all(world: World, state: RunState) -> None:
    for placed in gates_of(state):
        if placed.gate.state == PENDING:
            approve(world, placed.gate.id)


def approve(world: World, gate: str) -> None:
    which = Which(id=gate)
    allowed(lambda: complete_gates(world.session, scenario.RUN, which, scenario.ANNA, "", "", write=True))


def start(world: World) -> None:
    if derive(world.state()).state in (STOPPED, FAILED):
        allowed(lambda: start_run(world.session, world.run(), {}, write=True))


def mishaps(chance: random.Random) -> Hook:
    """At one random point the process is killed, frozen, cut off, or told to end; or nothing happens."""
    number, seconds = chance.randint(5, 80), chance.choice((3, 90))
    what = chance.choice(("die", "die", "freeze", "cut off", "tell", ""))

    def hook(point: Point, process: Process) -> None:
        if (point.number, point.side) != (number, BEFORE):
            return
        if what == "die":
            process.die()
        elif what == "freeze":
            process.freeze(seconds)
        elif what == "cut off" and not point.what.startswith(("begin", "line")):
            process.cut_off(seconds)
        elif what == "tell":
            process.told = "interrupted by SIGTERM"

    return hook


def unfinished_below_completed(state: RunState) -> list[str]:
    """No parent is Completed above a child that is not at its end."""
    status, found = derive(state), []
    for stage, one in zip(state.stages, status.stages, strict=True):
        if status.state == COMPLETED and one.state not in (COMPLETED, SKIPPED):
            found.append(f"run above {stage.name} {one.state}")
        for group, each in zip(stage.groups, one.groups, strict=True):
            if one.state == COMPLETED and each.state not in (COMPLETED, SKIPPED):
                found.append(f"{stage.name} above {group.name} {each.state}")
            if each.state == COMPLETED:
                found += [f"{group.name} above {row.name}" for row in group.members if row.state not in TERMINAL]
    return found


def simulate(world: World, chance: random.Random) -> None:
    world.people = lambda world: commands(world, chance)
    for _process in range(chance.randint(2, 6)):
        hook = mishaps(chance)
        process = world.process(hook, orders={"max_idle": timedelta(seconds=40)})
        if chance.random() < 0.2:
            process.machine = f"process:machine-{chance.randint(1, 2)}"
        world.finish(process)
        found = unfinished_below_completed(world.state())
        assert not found, "; ".join(found)
        world.time.run_for(chance.choice((1, 15, 70)))
    world.people = help_it
    for member in world.members.values():
        member.plan, member.away, member.closed = ((3, True),), (), ()
    for _process in range(20):
        world.conducted()
        world.time.run_for(70)
        if derive(world.state()).state in (COMPLETED, SKIPPED):
            return
    raise AssertionError(f"cannot be driven to its end: {derive(world.state())}")


def simulated(path: Path, kind: str, seed: int) -> World:
    """The run of that type and seed, driven to its end; AssertionError with the seed, if a rule was broken."""
    chance = random.Random(seed)
    world = random_world(path, chance, kind)
    try:
        simulate(world, chance)
        world.people = nobody
        world.time.run_for(300)
        # A mark that a frozen process left behind holds nobody up: no run stands for it.
        held = [operation_in_flight(world.records, each) for each in world.records.list("FleetMember")]
        assert not any(held), f"{held} hold members"
        found = [each for each in scenario.broken(world) if "still marked" not in each]
        found += unfinished_below_completed(world.state())
        assert not found, "; ".join(found)
    except BaseException as error:
        raise AssertionError(f"{kind}, seed {seed}: {type(error).__name__}: {error}") from error
    world.close()
    return world
