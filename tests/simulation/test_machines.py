# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Machines that have no verb yet, through the loop that update runs go through, killed at every write (F5).

Update runs themselves are in ``test_killed.py``.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import Ending, RunLimits, conduct
from ansible_collections.gitops.fleet.plugins.module_utils._store.hub import HubRecords
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.simulation.machines import (
    KIND,
    MACHINES,
    NAME,
    MachineWorld,
    Simulated,
)
from ansible_collections.gitops.fleet.tests.simulation.memory_hub import MemoryClient, MemoryHub
from ansible_collections.gitops.fleet.tests.simulation.processes import AFTER, BEFORE, Watched
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import Died
from ansible_collections.gitops.fleet.tests.simulation.world import API, gone

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
NewPath = t.Callable[[], Path]
NEVER = (0, "")


@dataclass
class Mortal:
    """A process that is killed at one point, before or after the write of that number takes effect."""

    fatal: tuple[int, str]
    points: int = 0
    dead: bool = False

    def reach(self) -> None:
        if self.dead:
            raise Died

    def write(self, _what: str, effect: t.Callable[[], t.Any]) -> t.Any:
        self.reach()
        self.points += 1
        self._perhaps_die(BEFORE)
        result = effect()
        self._perhaps_die(AFTER)
        return result

    def _perhaps_die(self, side: str) -> None:
        if self.fatal == (self.points, side):
            self.dead = True
            raise Died


class Quiet:
    """Tells nobody."""

    def say(self, _text: str) -> None: ...

    def begin(self, _state: object, _now: datetime) -> None: ...

    def stored(self, _state: object, _now: datetime) -> None: ...

    def waiting(self, _state: object, _until: datetime | None, _now: datetime) -> None: ...

    def end(self, _state: object, _why: str, _now: datetime) -> None: ...


Open = t.Callable[[Mortal], Records]


def on_sqlite(path: Path, clock: t.Callable[[], datetime]) -> Open:
    return lambda process: t.cast(Records, Watched(SqliteRecords(path, clock), process))  # type: ignore[arg-type]


def on_hub(_path: Path, clock: t.Callable[[], datetime]) -> Open:
    hub = MemoryHub(clock)
    return lambda process: HubRecords(MemoryClient(hub, process.write), clock)


PLACES = {"sqlite": on_sqlite, "hub": on_hub}


@dataclass(frozen=True)
class Came:
    """What it came to: the state without times, what really happened outside, and how many writes the last one made."""

    state: t.Any
    effects: list[str]
    points: int


def driven(machine: Simulated, place: str, path: Path, fatal: tuple[int, str] = NEVER) -> Came:
    """One process that may be killed, and others until it is over."""
    world, state = machine.begin()
    records = PLACES[place](path, world.clock)
    book = machine.book()
    made = {"apiVersion": API, "kind": KIND, "metadata": {"name": NAME}, "spec": {}}
    people = records(Mortal(NEVER))
    people.create({**made, "status": {"epoch": 0, "state": book.to_data(state)}})
    world.recorded = lambda: in_flight(machine, people)
    first = Mortal(fatal)
    ending = None
    for number, process in enumerate((first, *(Mortal(NEVER) for _again in range(3))), 1):
        try:
            ending = conducted(machine, world, records(process), process, gone(number))
        except Died:
            continue
        break
    assert ending is not None and ending.why == "settled", ending
    assert world.unrecorded == [], "these began before the record knew of them"
    data = TIME.sub("", repr(machine.to_data(ending.state)))
    return Came(state=data, effects=world.effects, points=first.points)


def in_flight(machine: Simulated, records: Records) -> set[str]:
    document = records.get(KIND, NAME)
    assert document is not None
    return {each.operation for each in machine.module.acts_in_flight(machine.of_data(document["status"]["state"]))}


def conducted(
    machine: Simulated, world: MachineWorld[t.Any], records: Records, process: Mortal, holder: str
) -> Ending[t.Any]:
    steering = machine.steering(machine.module, machine.book(), world, process.write)
    return conduct(records, f"run/{NAME}", steering, world.clock, Quiet(), RunLimits(holder=holder))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", MACHINES)
def test_killed_at_every_write(name: str, place: str, new_path: NewPath) -> None:
    """Each act is recorded before it takes effect, and does so once; none is missing, and the end is the same."""
    machine = MACHINES[name]
    whole = driven(machine, place, new_path())
    assert len(whole.effects) == len(set(whole.effects)) >= 5 and whole.points > 10
    for number in range(1, whole.points + 1):
        for side in (BEFORE, AFTER):
            came = driven(machine, place, new_path(), (number, side))
            at = f"killed {side} write {number}"
            assert sorted(came.effects) == sorted(whole.effects), at
            assert came.state == whole.state, at
