# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A run in which most of what can happen does, and what has to be true when it is over, however often it was killed.

Two stages. After the first one a person approves while a wait runs. In the second one a member fails and may, somebody
stops the run when that is seen, starts it again once it stands, and one member is skipped before its turn.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import SkipTarget
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.status import derive
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    ACTIVE,
    COMPLETED,
    FAILED,
    NOT_STARTED,
    PENDING,
    RUNNING,
    SKIPPED,
    STOPPED,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.claims import mark_of
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_completion import (
    Approver,
    Which,
    complete_gates,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_objects import gates_of
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import (
    skip_targets,
    start_run,
    stop_run,
)
from ansible_collections.gitops.fleet.tests.simulation.members import LOCAL, NEW, Member
from ansible_collections.gitops.fleet.tests.simulation.memory_hub import MemoryHub
from ansible_collections.gitops.fleet.tests.simulation.processes import Hook, Process, nothing
from ansible_collections.gitops.fleet.tests.simulation.world import World, gone, rows, run_manifest

RUN = "release"
ANNA = Approver(name="anna")
TIMES = {
    "startTime", "completedTime", "started", "completed", "opened", "due", "ends", "pendingSince", "epoch",
    "nextGroup",
}  # fmt: skip


def members() -> dict[str, Member]:
    found = (
        Member("c-1", "canary", tells=True),
        Member("c-2", "canary", plan=((4, True),)),
        Member("p-1", "prod", plan=((7, True),), kind=LOCAL),
        Member("p-2", "prod", plan=((3, False),)),
        Member("p-3", "prod", plan=((5, True),), tells=True),
        Member("p-4", "prod", version=NEW),
        Member("q-1", "late", plan=((9, True),)),
        Member("q-2", "late"),
    )
    return {each.name: each for each in found}


def manifest() -> t.Any:
    canary = {"name": "canary", "groups": [{"name": "canary", "maxConcurrency": "2"}], "afterStageWaitInSeconds": 6}
    canary["afterGates"] = [{"type": "Approval", "displayName": "looks good"}]
    groups = [{"name": "prod", "maxConcurrency": "2", "maxAllowedFailures": "1"}, {"name": "late"}]
    prod = {"name": "prod", "groups": groups, "maxConcurrency": "3", "maxAllowedFailures": "1"}
    return run_manifest(RUN, canary, prod)


def people(world: World) -> None:
    """Each does what it does as soon as it sees what it waits for, and only then."""
    try:
        state = world.state()
    except FleetError:
        return
    if state.phase != ACTIVE:
        return
    found = {row.name: row for row in rows(state)}
    if any(placed.gate.state == PENDING for placed in gates_of(state)):
        _unless("gate-not-open", lambda: complete_gates(world.session, RUN, Which(), ANNA, "", "", write=True))
    if found["q-1"].state == RUNNING and found["q-2"].state == NOT_STARTED:
        skip_targets(world.session, RUN, [SkipTarget(type="Member", name="q-2")], write=True)
    if found["p-2"].state == FAILED and found["p-2"].attempt == 1 and not state.stop_requested:
        stop_run(world.session, RUN, write=True)
    if derive(world.state()).state == STOPPED:
        start_run(world.session, world.run(), {}, write=True)


def _unless(code: str, command: t.Callable[[], object]) -> None:
    try:
        command()
    except FleetError as error:
        if error.code != code:
            raise


def world(path: Path, hub: MemoryHub | None = None) -> World:
    made = World(path=path, members=members(), runs=(manifest(),), people=people, holder=gone, hub=hub)
    made.join()
    return made


def driven(world: World, *hooks: Hook, **orders: t.Any) -> list[Process]:
    """Conductors one after another, as a pipeline starts them, until the run is over. Each has its hook, if any."""
    started_: list[Process] = []
    while len(started_) < 40:
        process = world.conducted(hooks[len(started_)] if len(started_) < len(hooks) else nothing, **orders)
        started_.append(process)
        if isinstance(process.result, RunEnding) and derive(process.result.state).state in (COMPLETED, SKIPPED, FAILED):
            return started_
        world.time.run_for(20 if isinstance(process.result, FleetError) else 1)
    raise AssertionError(f"40 conductors did not bring it to its end: {started_[-1]}")


STATES = {
    **dict.fromkeys(("c-1", "c-2", "p-1", "p-3", "q-1"), COMPLETED),
    **dict.fromkeys(("p-4", "q-2"), SKIPPED),
    "p-2": FAILED,
}


@dataclass(frozen=True)
class Ended:
    """What a world came to: the run's tree, the operations that members carried out, and the rules that were broken."""

    tree: t.Any
    upgrades: dict[str, list[str]]
    broken: list[str]


def ending(world: World) -> Ended:
    return Ended(tree(world), upgrades(world), broken(world))


def states(world: World) -> dict[str, str]:
    return {row.name: row.state for row in rows(world.state())}


def tree(world: World) -> t.Any:
    """The status without times, and without what is made of the run's uid."""
    run = world.run()
    text = json.dumps(encode(run.status)).replace(run.metadata.uid[:8], "uid")
    for number, placed in enumerate(gates_of(world.state())):
        text = text.replace(placed.gate.id, f"gate-{number}")
    return json.loads(text, object_hook=lambda found: {key: found[key] for key in found if key not in TIMES})


def upgrades(world: World) -> dict[str, list[str]]:
    """Operations that members carried out, in order."""
    uid = world.run().metadata.uid[:8]
    return {
        name: [each.operation.replace(uid, "uid") for each in member.upgrades] for name, member in world.members.items()
    }


def broken(world: World) -> list[str]:
    """Rules that every world has to keep in which nothing is in flight any more."""
    found = list(world.broken)
    for row in rows(world.state()):
        made = [each.operation for each in world.members[row.name].upgrades]
        attempts = [f"{row.operation.rpartition('.')[0]}.{number}" for number in range(1, row.attempt + 1)]
        steps = {each.operation for each in world.members[row.name].pool_changes}
        foreign = [each for each in steps if not any(each.startswith(f"{one}.") for one in attempts)]
        if foreign:
            found.append(f"{row.name} carried out {foreign} of nobody")
        if not set(made) <= set(attempts) or len(made) != len(set(made)):
            found.append(f"{row.name} carried out {made}, its row knows {attempts}")
        if row.state == COMPLETED and not world.at_target(row.name):
            found.append(f"{row.name} is Completed and not at its target")
    marks = {each["metadata"]["name"]: mark_of(each) for each in world.records.list("FleetMember")}
    found += [f"{name} is still marked with {mark}" for name, mark in marks.items() if mark]
    leases = [each for each in world.records.leases() if not each.expired(world.time.now)]
    return found + [f"lease {each.name} is held by {each.holder}" for each in leases]
