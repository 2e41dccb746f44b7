# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Upgrades in flight (operations), a thread each: begun and followed by their drivers, and what happens (begun, said,
blocked, paused, ended, also by ``no-driver``) comes back as events."""

from __future__ import annotations

import threading
import time
import typing as t
from collections import deque

from ..._core.errors import FleetError, fault
from ..._core.values.update_states import UNREACHABLE
from ..drivers.contract import Driver, Work
from .operation import (
    Attempt,
    Begun,
    Blocked,
    Closed,
    Ended,
    Event,
    Followed,
    Goal,
    Operation,
    OperationMaker,
    Pace,
    Paused,
    Said,
)

__all__ = ["Begun", "Blocked", "Ended", "Event", "Executor", "Pace", "Paused", "Said"]

# Seconds that never go back, from a start that says nothing.
Clock = t.Callable[[], float]
# Sleeps so many seconds, in a thread of an operation.
Sleep = t.Callable[[float], None]


class Executor:
    """Carries out work towards ``goal``; ``drivers`` are by ``Work.subject``. Safe to use from one thread; its own
    threads do not keep the process alive. What is in flight when it is closed, or the process ends, is taken up again
    with ``resumed``.

    ``follow`` makes what follows one operation, where that is more than an ``Operation``. ``held_back`` is as of
    ``Attempt``, asked in threads of operations. ``clock`` gives monotonic seconds; ``sleep`` is for tests: without it
    sleeping ends when this is closed.
    """

    def __init__(
        self,
        drivers: t.Mapping[str, Driver],
        goal: Goal,
        pace: Pace | None = None,
        *,
        follow: OperationMaker = Operation,
        held_back: t.Callable[[Work], Blocked | None] = lambda _work: None,
        clock: Clock = time.monotonic,
        sleep: Sleep | None = None,
    ) -> None:
        self._drivers = drivers
        self._goal = goal
        self._pace = pace or Pace()
        self._follow = follow
        self._held_back = held_back
        self._clock = clock
        self._sleep = sleep
        self._events: deque[Event] = deque()
        self._news = threading.Condition()
        self._closing = threading.Event()
        self._threads: dict[str, threading.Thread] = {}

    @property
    def in_flight(self) -> tuple[str, ...]:
        """Operations that are still followed, in the order begun."""
        with self._news:
            return tuple(self._threads)

    def begin(self, work: Work, *, resumed: bool = False, only_follow: bool = False) -> None:
        """Begins ``work``, or takes it up if its intent was recorded earlier (``resumed``); returns at once. Nothing
        happens if this very operation is being followed already, or after ``close``.

        With ``only_follow`` it is taken up and not begun. It is Blocked where this machine starts no thread more, and
        Ended as failed without a driver for its subject, or by an error that ``Followed.run`` raises.
        """
        if self._closing.is_set() or work.operation in self.in_flight:
            return
        thread = threading.Thread(
            target=self._run,
            args=(work, resumed or only_follow, only_follow),
            name=f"operation {work.operation}",
            daemon=True,
        )
        with self._news:
            self._threads[work.operation] = thread
        try:
            thread.start()
        except RuntimeError as error:
            message = f"it cannot be followed, for this machine starts no thread more: {error}"
            self._forget(work, Blocked(operation=work.operation, reason=UNREACHABLE, message=message))

    def events(self) -> tuple[Event, ...]:
        """What happened since the last call, oldest first. The last event of an operation is Ended, Blocked or Paused;
        after ``close`` it may be missing."""
        with self._news:
            found = tuple(self._events)
            self._events.clear()
        return found

    def wait(self, seconds: float) -> bool:
        """Blocks until there is an event, at most so many seconds; whether there is one."""
        with self._news:
            return self._news.wait_for(lambda: bool(self._events), timeout=max(0.0, seconds))

    def close(self, timeout: float = 2.0) -> None:
        """Begins and follows nothing any more; what goes on outside is not stopped. Waits at most ``timeout`` seconds
        in all for calls under way."""
        self._closing.set()
        end = time.monotonic() + timeout
        with self._news:
            threads = list(self._threads.values())
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self, work: Work, resumed: bool, only_follow: bool) -> None:
        """Follows the work to its last event, and tells that; whatever is raised is told as its end, but for Closed,
        after which nothing is told."""
        operation: Followed | None = None
        try:
            driver = self._drivers.get(work.subject)
            if driver is None:
                raise FleetError("no-driver", "nothing is known of how this is done here", work.subject)
            operation = self._follow(
                Attempt(
                    driver=driver,
                    work=work,
                    goal=self._goal,
                    pace=self._pace,
                    tell=self._tell,
                    clock=self._clock,
                    pause=self._pause,
                    held_back=lambda: self._held_back(work),
                )
            )
            self._forget(work, operation.run(resumed, only_follow))
        except Closed:
            self._forget(work)
        except BaseException as error:  # noqa: BLE001  # a thread that dies silently would leave it Running
            self._forget(work, _ended_by(error, work, operation))

    def _pause(self, seconds: float) -> None:
        """Sleeps; raises Closed when nothing is to be followed any more."""
        if self._closing.is_set():
            raise Closed
        if seconds > 0 and self._sleep is not None:
            self._sleep(seconds)
        elif seconds > 0:
            self._closing.wait(seconds)
        if self._closing.is_set():
            raise Closed

    def _forget(self, work: Work, *last: Event) -> None:
        """Takes it off those in flight and tells its last event, in one: whoever hears that may begin it again."""
        with self._news:
            del self._threads[work.operation]
            for event in last:
                self._tell(event)

    def _tell(self, event: Event) -> None:
        """Adds the event to those that are to be fetched, and wakes who waits for one. Safe from any thread."""
        with self._news:
            self._events.append(event)
            self._news.notify_all()


def _ended_by(error: BaseException, work: Work, operation: Followed | None) -> Ended:
    """The end as failed: of the upgrade where it was begun, else of what has to be true before it."""
    told = error if isinstance(error, FleetError) else fault(error, where=work.subject)
    return Ended.failed(
        work.operation,
        str(told),
        begun=operation is not None and operation.begun,
        version_before=operation.version_before if operation else "",
    )
