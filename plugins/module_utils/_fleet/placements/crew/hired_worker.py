# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One worker as the process sees it that hired it: what it was told to do, what came of it (``worker-lost``), what it
wrote, saw and keeps; which worker gets a task, by its share of the members."""

from __future__ import annotations

import contextlib
import threading
import typing as t
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import count

from ...._core.errors import FleetError
from ...._core.plan.outcome import MemberOutcome
from ...in_processes import LOST as WORKER_LOST
from ..on_member.member_apply import MemberProgress, MemberTask, always, unsaid
from .message_pipe import MessagePipe
from .messages import TaskEnd, TaskNews, TaskOrder

_NUMBERS = count(1)


class SeenElsewhere:
    """Stands for what a worker saw on a member, and keeps for a later task as long as this object is there."""

    def __init__(self, worker: HiredWorker, number: int) -> None:
        self.worker, self.number = worker, number

    def __del__(self) -> None:
        self.worker.dropped.append(self.number)


@dataclass
class GivenTask:
    """A task that a worker has, under the leases of that ``window``. ``over`` is set once it has ended (``end``), or
    the worker is lost: then ``end`` is None."""

    task: MemberTask
    window: int
    over: threading.Event = field(default_factory=threading.Event)
    end: TaskEnd | None = None


class HiredWorker:
    """A worker process, for the one that hired it. Safe to use from threads. ``dropped`` are numbers of looks that
    nobody needs any more."""

    def __init__(self, pid: int, pipe: MessagePipe) -> None:
        self.pid, self.pipe = pid, pipe
        self.dropped: deque[int] = deque()
        self.lost = False
        self._given: dict[int, GivenTask] = {}
        self._lock = threading.Lock()

    def run(self, task: MemberTask, window: int) -> MemberOutcome:
        """Has it do the task under the leases of that ``window``, and waits for the end; what it has written is in the
        task's ``progress``, whatever is raised. FleetError as it was raised there, or ``worker-lost``. A
        ``WorkerHearing`` has to hear it meanwhile."""
        number, given = next(_NUMBERS), GivenTask(task, window)
        with self._lock:
            if not self.lost:
                self._given[number] = given
        try:
            if not self.lost:
                with contextlib.suppress(OSError):  # it has ended, which is heard
                    self.pipe.send(self._order(number, given))
                given.over.wait()
        finally:
            with self._lock:
                self._given.pop(number, None)
        end = given.end
        if end is None:
            raise _lost(task)
        _note(task.progress, end)
        if end.kept:
            task.progress.elsewhere = SeenElsewhere(self, number)
        if end.outcome is None:
            raise FleetError.of(end.problems)
        return end.outcome

    def given(self, number: int) -> GivenTask | None:
        """The task of that number, if it was given here and somebody waits for its end; else None."""
        with self._lock:
            return self._given.get(number)

    def heard(self, message: TaskEnd | TaskNews) -> None:
        """Takes in how a task ended, or what it has written by now; nothing where nobody waits for that any more."""
        given = self.given(message.number)
        if given is None:
            return
        if isinstance(message, TaskEnd):
            given.end = message
            given.over.set()
        elif given.end is None:  # said by another thread, and later than the end
            _note(given.task.progress, message)

    def mark_lost(self) -> None:
        """To be called once it says nothing any more: it counts as lost, and nobody waits for it."""
        with self._lock:
            self.lost = True
            given = list(self._given.values())
        for each in given:
            each.over.set()

    def end(self) -> None:
        """Tells it to end, by ending the pipe; what it has under way is lost."""
        self.pipe.end()

    def close(self) -> None:
        """Counts it as lost, and closes the pipe; to be called once it has ended."""
        self.mark_lost()
        self.pipe.close()

    def _order(self, number: int, given: GivenTask) -> TaskOrder:
        """The order for the worker: the task as plain data, which look of its own it goes on from, if any, and which of
        its looks nobody needs any more; those are named once."""
        task, follows = given.task, given.task.elsewhere
        plain = replace(task, permit=always, say=unsaid, progress=MemberProgress(), seen=None, elsewhere=None)
        dropped: list[int] = []
        with contextlib.suppress(IndexError):
            while True:
                dropped.append(self.dropped.popleft())
        seen = follows.number if isinstance(follows, SeenElsewhere) and follows.worker is self else 0
        return TaskOrder(number, plain, given.window, seen, tuple(dropped))


def run_by_share(
    workers: t.Sequence[HiredWorker], shares: t.Mapping[str, int], task: MemberTask, window: int
) -> MemberOutcome:
    """Has the task done by the worker whose share the member is, the first for one that is nobody's; where that one is
    lost, by another that is not. FleetError as of ``HiredWorker.run``."""
    place = shares.get(task.cluster, 0)
    first = workers[place]
    left = [each for each in workers if not each.lost] if first.lost else []
    return (left[place % len(left)] if left else first).run(task, window)


def _note(progress: MemberProgress, told: TaskEnd | TaskNews) -> None:
    """Puts into the progress what was told of writes."""
    progress.written, progress.underway = list(told.written), told.underway


def _lost(task: MemberTask) -> FleetError:
    """FleetError ``worker-lost``, to be raised."""
    message = "the process that worked on it has ended; what it wrote there stands"
    return FleetError(WORKER_LOST, message, task.cluster, "run again: it looks at the member and goes on from there")
