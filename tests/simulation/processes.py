# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One process that conducts a run. Whatever it writes, anywhere, passes ``write``: there it can be watched and killed.

Conductor, journal, executor and the life of operations are the real ones; threads of the executor are fibers here.
"""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases import versions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import Executor, Pace
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.operation import (
    Blocked,
    Operation,
    OperationMaker,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Driver, Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import machine
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import BEGINNING, Died, Fiber, VirtualTime

BEFORE, AFTER = "before", "after"
WRITES = frozenset({"create", "replace", "delete", "acquire", "renew", "release", "event", "keep_secret"})
READS = frozenset({"get", "list", "names", "leases", "events", "secret"})
PACE = Pace(interval=2, settle=20, lost_after=900)


@dataclass(frozen=True)
class Point:
    """The instant before or after the ``number``-th write of a process takes effect."""

    number: int
    side: str
    what: str


Hook = t.Callable[[Point, "Process"], object]


def nothing(_point: Point, _process: Process) -> None:
    """Watches and does nothing."""


@dataclass
class Process:
    """``hook`` is called at every point: it may kill the process, freeze it, raise a FleetError, or let others act.

    ``told`` is what makes it end early; ``result`` how its conducting ended, None while it goes on or if it was killed.
    """

    number: int
    time: VirtualTime
    holder: str
    hook: Hook = nothing
    machine: str = field(default_factory=machine)
    points: int = 0
    dead: bool = False
    frozen_until: datetime = BEGINNING
    cut_off_until: datetime = BEGINNING
    told: str = ""
    said: list[str] = field(default_factory=list)
    result: RunEnding | FleetError | None = None
    fibers: list[Fiber] = field(default_factory=list)

    def write(self, what: str, effect: t.Callable[[], t.Any]) -> t.Any:
        self.live()
        self.points += 1
        number = self.points
        self.hook(Point(number, BEFORE, what), self)
        result = effect()
        self.hook(Point(number, AFTER, what), self)
        return result

    def live(self) -> None:
        if self.dead:
            raise Died

    def reach(self) -> None:
        """For whoever asks the records."""
        self.live()
        if self.time.now < self.cut_off_until:
            raise FleetError("unreachable", "the hub does not answer", "hub")

    def spawn(self, work: t.Callable[[], object]) -> Fiber:
        self.live()
        self.fibers.append(self.time.spawn(work, self))
        return self.fibers[-1]

    @property
    def over(self) -> bool:
        return self.dead or self.result is not None

    def die(self) -> t.NoReturn:
        """SIGKILL at a point: nothing of the process does anything any more."""
        self.dead = True
        for fiber in self.fibers:
            if fiber is not self.time.current:
                fiber.end()
        raise Died

    def freeze(self, seconds: float) -> None:
        """SIGSTOP at a point, for so long."""
        self.frozen_until = self.time.now + timedelta(seconds=seconds)
        self.time.sleep(seconds)

    def cut_off(self, seconds: float) -> t.NoReturn:
        """The records cannot be reached from here for so long, beginning at this point."""
        self.cut_off_until = self.time.now + timedelta(seconds=seconds)
        raise FleetError("unreachable", "the hub does not answer", "hub")


class Watched:
    """Records as one process sees them. A method that is not known as a read or as a write does not exist."""

    def __init__(self, records: Records, process: Process) -> None:
        self.durable, self.place, self.close = records.durable, records.place, records.close
        self._records = records
        self._process = process

    def __getattr__(self, name: str) -> t.Callable[..., t.Any]:
        if name not in WRITES | READS:
            raise AttributeError(name)
        method = getattr(self._records, name)

        def call(*arguments: t.Any, **options: t.Any) -> t.Any:
            self._process.reach()
            if name in READS:
                return method(*arguments, **options)
            return self._process.write(f"{name} {_subject(arguments)}", lambda: method(*arguments, **options))

        return call


def _subject(arguments: tuple[t.Any, ...]) -> str:
    first = arguments[0]
    if isinstance(first, dict):
        return f"{first['kind']}/{first['metadata']['name']}"
    return str(getattr(first, "name", first))


class FiberExecutor(Executor):
    """The executor with fibers where it has threads."""

    def __init__(
        self,
        drivers: t.Mapping[str, Driver],
        process: Process,
        follow: OperationMaker = Operation,
        held_back: t.Callable[[Work], Blocked | None] = lambda _work: None,
    ) -> None:
        time = process.time
        super().__init__(
            drivers, versions, PACE, follow=follow, held_back=held_back, clock=time.seconds, sleep=time.sleep
        )
        self._process = process
        self._conductor: Fiber | None = None

    def begin(self, work: Work, *, resumed: bool = False, only_follow: bool = False) -> None:
        if self._closing.is_set() or work.operation in self.in_flight:
            return
        self._threads[work.operation] = self._process.spawn(
            lambda: self._run(work, resumed or only_follow, only_follow)
        )  # type: ignore[assignment]

    def wait(self, seconds: float) -> bool:
        time = self._process.time
        self._conductor = time.current
        if not self._events:
            time.sleep(seconds)
        return bool(self._events)

    def _tell(self, event: t.Any) -> None:
        super()._tell(event)
        if self._conductor is not None:
            self._process.time.wake(self._conductor, self._process.time.now)


def suppressed(call: t.Callable[[], object]) -> None:
    with contextlib.suppress(FleetError):
        call()
