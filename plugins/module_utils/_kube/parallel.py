# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The same work on many clusters at once, in a pool of threads (``workers``): each has its own result or error
(``member-fault``), within a deadline (``timeout``) and until an interrupt (``interrupted``); machines that start no
thread (``no-workers``)."""

from __future__ import annotations

import math
import threading
import time
import typing as t
from collections import deque
from dataclasses import dataclass, field

from .._core.errors import FleetError, fault

T = t.TypeVar("T")
GRACE, LOOK = 1.5, 0.2


def no_threads_error(why: RuntimeError) -> FleetError:
    """The FleetError ``no-workers``, given back: this machine starts no thread."""
    return FleetError("no-workers", f"no thread can be started: {why}", "workers", "run again, where more may run")


def in_parallel(
    work: t.Mapping[str, t.Callable[[], T]],
    threads: int = 16,
    deadline: float | None = None,
    told: t.Callable[[], str] = str,
) -> dict[str, T | FleetError]:
    """Result or FleetError by name, as of ``WorkPool.run``, in a pool of its own; ``threads`` is 1 or more,
    ``deadline`` in seconds, None for none, ``told`` as of ``WorkPool``. FleetError ``no-workers`` is raised."""
    return WorkPool(min(threads, len(work)), told).run(work, deadline)


@dataclass
class _Batch:
    """What one call of ``run`` waits for."""

    expected: int
    done: dict[str, t.Any] = field(default_factory=dict)
    ends: list[BaseException] = field(default_factory=list)
    stopped: bool = False

    @property
    def ended(self) -> bool:
        """Whether each piece is done, or one raised what is no Exception, or nobody is left to do it."""
        return bool(self.ends) or len(self.done) >= self.expected


class WorkPool:
    """At most ``threads`` (1 or more) pieces of work at once, whoever asks for them and for how many clusters.

    ``run`` may be called from several threads: work on a cluster of one name is done in the order in which it was asked
    for, and never two pieces of it at once. ``told`` says why all is to end (an interrupt), and is empty until then.
    Threads end when nothing is left to do, and keep no process alive.
    """

    def __init__(self, threads: int, told: t.Callable[[], str] = str) -> None:
        self._threads = threads
        self._told = told
        self._changed = threading.Condition()
        self._running = 0
        self._ready: deque[tuple[str, t.Callable[[], t.Any], _Batch]] = deque()
        # By name what waits for the piece before it; a name without a row is free.
        self._behind: dict[str, deque[tuple[t.Callable[[], t.Any], _Batch]]] = {}

    def run(self, work: t.Mapping[str, t.Callable[[], T]], deadline: float | None = None) -> dict[str, T | FleetError]:
        """Result or FleetError by name, in the order of ``work``.

        Once ``told`` says why all is to end, nothing new is started, and what has not ended within ``GRACE`` seconds
        counts as FleetError ``interrupted``. After ``deadline`` seconds (None: never) whatever has not ended counts as
        FleetError ``timeout``; its thread is left to itself. Any other exception becomes FleetError ``member-fault``,
        with its type and its place in our code: what one member makes us fall over stops no other. An interrupt of the
        caller is raised at once, as is what a piece raises that is no Exception; nothing more of this work is started
        then.

        Where the machine starts no thread more, those that run do the work; without any FleetError ``no-workers`` is
        raised.
        """
        batch = _Batch(len(work))
        with self._changed:
            for name, function in work.items():
                if name in self._behind:
                    self._behind[name].append((function, batch))
                else:
                    self._behind[name] = deque()
                    self._ready.append((name, function, batch))
            starting = min(self._threads - self._running, len(self._ready))
            self._running += starting
        self._start(starting)
        self._wait(batch, deadline)
        if batch.ends:
            raise batch.ends[0]
        told = self._told()
        code, why = ("interrupted", told) if told else ("timeout", f"no answer within {deadline or 0:g} s")
        return {name: batch.done.get(name, FleetError(code, why, name)) for name in work}

    def _start(self, threads: int) -> None:
        """Starts so many threads, which are counted as running; where the machine starts no more, those that run have
        to do."""
        for left in range(threads, 0, -1):
            try:
                threading.Thread(target=self._work, daemon=True).start()
            except RuntimeError as error:
                with self._changed:
                    self._running -= left
                    if not self._running:
                        self._give_up(error)
                return

    def _give_up(self, why: RuntimeError) -> None:
        """Ends whatever was asked for, by whomever, and is not done, by FleetError ``no-workers``. The caller holds the
        lock."""
        behind = (each for waiting in self._behind.values() for each in waiting)
        for batch in (*(batch for _name, _function, batch in self._ready), *(batch for _function, batch in behind)):
            batch.ends.append(no_threads_error(why))
        self._ready.clear()
        self._behind.clear()
        self._changed.notify_all()

    def _work(self) -> None:
        """What a thread does: pieces that are ready, one after the other, until there are none or all is to end."""
        while True:
            with self._changed:
                if self._told() or not self._ready:
                    self._running -= 1
                    return
                name, function, batch = self._ready.popleft()
            outcome: t.Any = None
            end: BaseException | None = None
            try:
                if not batch.stopped:
                    outcome = function()
            except FleetError as error:
                outcome = error
            except Exception as error:  # noqa: BLE001  # told as an error of this member
                outcome = fault(error, "member-fault", name)
            except BaseException as error:  # noqa: BLE001  # raised again by run
                end = error
            self._end(name, outcome, end, batch)

    def _end(self, name: str, outcome: t.Any, end: BaseException | None, batch: _Batch) -> None:
        """Keeps how a piece ended: its ``outcome``, or ``end`` if that is to be raised; nothing of a batch for which
        nobody waits. What waits behind it on the same cluster is ready then."""
        with self._changed:
            if self._behind[name]:
                function, other = self._behind[name].popleft()
                self._ready.append((name, function, other))
            else:
                del self._behind[name]
            if batch.stopped:
                return
            if end is not None:
                batch.ends.append(end)
            else:
                batch.done[name] = outcome
            if batch.ended:
                self._changed.notify_all()

    def _wait(self, batch: _Batch, deadline: float | None) -> None:
        """Until the batch has ended, its time is over, or ``GRACE`` seconds after ``told`` says why all is to end."""
        end = None if deadline is None else time.monotonic() + deadline
        graceful = False
        with self._changed:
            try:
                while not batch.ended:
                    if not graceful and self._told():
                        graceful, end = True, min(end or math.inf, time.monotonic() + GRACE)
                    left = None if end is None else end - time.monotonic()
                    if left is not None and left <= 0:
                        return
                    # A signal wakes nobody up: whether one came is looked at now and then.
                    self._changed.wait(LOOK if left is None else min(LOOK, left))
            finally:
                batch.stopped = True
