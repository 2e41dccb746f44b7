# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A clock that moves when everybody sleeps, and threads of which exactly one runs at a time, in a fixed order.

Code that blocks, above all the life of an operation, runs here unchanged and comes out the same each time.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import typing as t
from datetime import UTC, datetime, timedelta

BEGINNING = datetime(2026, 3, 2, 9, tzinfo=UTC)
ENDLESS = timedelta(hours=6)


class Died(BaseException):
    """The process was killed at this instant."""


class Owner(t.Protocol):
    """Whose fiber it is. Nothing of it runs before ``frozen_until``."""

    frozen_until: datetime


class Nobody:
    frozen_until = BEGINNING


class Fiber:
    """Runs ``work`` when it is its turn, until it sleeps."""

    def __init__(self, time: VirtualTime, work: t.Callable[[], object], owner: Owner) -> None:
        self.owner = owner
        self.over = False
        self.doomed = False
        self.ticket = 0
        self.error: BaseException | None = None
        self._time = time
        self._work = work
        self._awake = False
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        threading.Thread(target=self._run, daemon=True).start()

    def step(self) -> None:
        """Lets it run until it sleeps or ends."""
        before, self._time.current = self._time.current, self
        self._awake = True
        self._go.release()
        self._back.acquire()
        self._awake = False
        self._time.current = before

    def pause(self) -> None:
        """Called by the fiber itself. Died if it is not to live on."""
        self._back.release()
        self._go.acquire()
        if self.doomed:
            raise Died

    def end(self) -> None:
        """Died is raised where it sleeps."""
        self.doomed = True
        self.join()

    # What ``Executor`` asks of a thread.
    def is_alive(self) -> bool:
        return not self.over

    def join(self, _timeout: float | None = None) -> None:
        """One that waits for whoever calls this cannot do anything."""
        if not (self.over or self._awake):
            self.step()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self.doomed:
                self._work()
        except Died:
            pass
        except BaseException as error:  # noqa: BLE001  # raised by whoever waits for it
            self.error = error
        self.over = True
        self._back.release()


class VirtualTime:
    def __init__(self, now: datetime = BEGINNING) -> None:
        self.now = now
        self.current: Fiber | None = None
        self._waiting: list[tuple[datetime, int, int, Fiber]] = []
        self._numbers = itertools.count()

    def clock(self) -> datetime:
        return self.now

    def seconds(self) -> float:
        return (self.now - BEGINNING).total_seconds()

    def spawn(self, work: t.Callable[[], object], owner: Owner | None = None) -> Fiber:
        fiber = Fiber(self, work, owner or Nobody())
        self.wake(fiber, self.now)
        return fiber

    def wake(self, fiber: Fiber, at: datetime) -> None:
        """Its next turn is then, whatever was said before."""
        fiber.ticket = next(self._numbers)
        heapq.heappush(self._waiting, (at, fiber.ticket, fiber.ticket, fiber))

    def sleep(self, seconds: float) -> None:
        """Called by a fiber."""
        assert self.current is not None
        self.wake(self.current, self.now + timedelta(seconds=seconds))
        self.current.pause()

    def run(self, until: t.Callable[[], bool]) -> None:
        """Called from outside. Raises what a fiber raised."""
        while not until():
            at, _number, ticket, fiber = heapq.heappop(self._waiting)
            if fiber.over or ticket != fiber.ticket:
                continue
            if fiber.owner.frozen_until > at:
                self.wake(fiber, fiber.owner.frozen_until)
                continue
            assert at < BEGINNING + ENDLESS, "nothing comes to an end here"
            self.now = max(self.now, at)
            fiber.step()
            if fiber.error is not None:
                raise fiber.error

    def run_for(self, seconds: float) -> None:
        """Lets that much time pass for whoever is there."""
        end = self.now + timedelta(seconds=seconds)
        sleeper = self.spawn(lambda: self.sleep(seconds))
        self.run(lambda: sleeper.over)
        assert self.now >= end

    def close(self) -> None:
        """Ends every fiber that sleeps."""
        while self._waiting:
            _at, _number, ticket, fiber = heapq.heappop(self._waiting)
            if ticket == fiber.ticket:
                fiber.end()
