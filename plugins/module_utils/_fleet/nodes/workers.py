# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Work on nodes in flight, a thread each, begun, halted, and how it ended; the leases on the members that it is done
on, renewed and given back; a clock that does not jump ahead."""

from __future__ import annotations

import contextlib
import threading
import time
import typing as t
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..._core.errors import FleetError, fault
from ..._core.values.clock_skew import CLOCK_SKEW
from ..._kube.client import KubeClient
from ..keeping import BOOTTIME
from ..members.member_lease import KeptLease
from ..members.members import Clients

# More than it takes to find that nobody answers.
RELEASE_SECONDS = 10.0


class Halted(Exception):
    """Nothing is to be done any more with this node, or at all."""


@dataclass(frozen=True, kw_only=True)
class WorkEnd:
    """How an act (``operation``) on ``member/node`` ended; ``failure`` is why it failed, empty if it did not."""

    operation: str
    node: str
    failure: str = ""


@dataclass
class _Hold:
    """The lease on one member; who asks the member for it has the lock, and nobody else waits for that. ``left``: one
    of the task may stand there although none is had here."""

    member: str
    lease: KeptLease | None = None
    left: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class MemberHolds:
    """Leases on members' API servers for one ``task``, as which others see them, taken when they are first needed, from
    whatever thread."""

    def __init__(self, clients: Clients, task: str) -> None:
        self._clients, self._task = clients, task
        self._holds: dict[str, _Hold] = {}
        self._lock = threading.Lock()

    def client(self, member: str) -> KubeClient:
        """The member's client, held by a lease that is renewed here if it is due: whoever renews leases may wait for
        another member. FleetError as of ``Clients.get`` and ``MemberLeases.take``, and what a renewal raises."""
        client = self._clients.get(member)
        with self._lock:
            hold = self._holds.setdefault(member, _Hold(member))
        with hold.lock:
            if hold.lease is not None:
                _renew_if_due(hold)
            if hold.lease is None:
                hold.lease = self._take(client)
        return client

    def inherit(self, members: t.Iterable[str]) -> None:
        """Says that an earlier process of the task may have left leases on these members, for ``keep_only`` to give
        back."""
        with self._lock:
            for member in members:
                self._holds.setdefault(member, _Hold(member)).left = True

    def keep(self) -> None:
        """Has threads renew what is due, and waits for none; a lease that could not be renewed is taken again by
        whoever needs it next."""
        _in_threads(_renew_and_unlock, self._free(lambda hold: hold.lease is not None and hold.lease.due))

    def keep_only(self, members: t.Container[str]) -> tuple[threading.Thread, ...]:
        """Gives the leases on all other members back, each in one of these threads, which run already. One that
        somebody is just asking for, or that the machine has no thread for, is left to the next call. One that may have
        been left (``inherit``) is taken first, once, and runs out where that fails."""
        wanted = self._free(lambda hold: hold.member not in members and (hold.lease is not None or hold.left))
        return _in_threads(self._give_back, wanted)

    def _take(self, client: KubeClient) -> KeptLease:
        """The lease on the member of this client, just taken. FleetError as of ``MemberLeases.take``."""
        if self._clients.leases is None:
            raise AssertionError("only verbs that write hold members")
        return self._clients.leases.take(client, self._task)

    def _give_back(self, hold: _Hold) -> None:
        """Gives the lease back, also one that may only stand there, and lets go of the lock, which must be taken."""
        lease, hold.lease = hold.lease, None
        left, hold.left = hold.left, False
        try:
            if lease is None and left:
                with contextlib.suppress(FleetError):
                    lease = self._take(self._clients.get(hold.member))
            if lease is not None:
                lease.release()
        finally:
            hold.lock.release()

    def _free(self, wanted: t.Callable[[_Hold], bool]) -> list[_Hold]:
        """The holds that are wanted and that nobody is just asking for; their locks are taken."""
        with self._lock:
            holds = list(self._holds.values())
        found = []
        for hold in holds:
            if not hold.lock.acquire(blocking=False):
                continue
            if wanted(hold):
                found.append(hold)
            else:
                hold.lock.release()
        return found


def _in_threads(act: t.Callable[[_Hold], None], holds: t.Iterable[_Hold]) -> tuple[threading.Thread, ...]:
    """A thread for each whose lock is taken, which the act releases. What the machine has no thread for stays as it is:
    the next call finds it."""
    begun = []
    for hold in holds:
        thread = threading.Thread(target=act, args=(hold,), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            hold.lock.release()
        else:
            begun.append(thread)
    return tuple(begun)


def _renew_if_due(hold: _Hold) -> None:
    """Renews its lease if that is due; without one if another has taken it. FleetError of a renewal that failed
    otherwise, after which it has none, too. Its lock must be taken, and stays so."""
    lease, hold.lease = hold.lease, None
    try:
        if lease is not None:
            lease.keep()
            hold.lease = lease
    except FleetError as error:
        if error.code != "member-lost":
            hold.left = True
            raise


def _renew_and_unlock(hold: _Hold) -> None:
    """Renews the lease, if that is due, or forgets it if that fails, and lets go of the lock, which must be taken."""
    try:
        with contextlib.suppress(FleetError):
            _renew_if_due(hold)
    finally:
        hold.lock.release()


class SteadyClock:
    """The present as ``clock`` tells it, but no more than 5 minutes ahead of the time that has gone by since this was
    made, in seconds of ``gone``: pods are deleted once their time is over, and not for a clock that jumps."""

    def __init__(
        self, clock: t.Callable[[], datetime], gone: t.Callable[[], float] = lambda: time.clock_gettime(BOOTTIME)
    ) -> None:
        self._clock, self._gone = clock, gone
        self._first, self._began = clock(), gone()

    def __call__(self) -> datetime:
        """The present, aware."""
        return min(self._clock(), self._first + timedelta(seconds=self._gone() - self._began) + CLOCK_SKEW)


class NodeWorkers:
    """Begins acts on nodes, at most one at a time on each, and tells how they ended; to be used from one thread.
    ``now`` and ``say`` are called from others."""

    def __init__(self, holds: MemberHolds, now: t.Callable[[], datetime], say: t.Callable[[str], None]) -> None:
        self.holds, self._now, self._say = holds, SteadyClock(now), say
        self._news = threading.Condition()
        self._ends: deque[WorkEnd] = deque()
        self._threads: dict[str, tuple[threading.Thread, threading.Event]] = {}
        self._waiting: dict[str, tuple[threading.Thread, threading.Event]] = {}
        self._closing = threading.Event()

    def begin(self, node: str, operation: str, work: t.Callable[[WorkerHands], None]) -> None:
        """Tells work on the node (``member/node``) that is under way to end, and has a thread do this work after that;
        work on it that was not started yet is dropped. Where the machine has no thread, a later ``wait`` starts it.
        Returns at once."""
        self.halt(node)
        before = self._threads.get(node)
        stop = threading.Event()
        member = node.partition("/")[0]
        hands = WorkerHands(self.holds, member, self._now, self._said(node), stop, self._closing)
        last = before[0] if before is not None else None
        thread = threading.Thread(target=self._run, args=(node, operation, work, hands, last), daemon=True)
        self._waiting[node] = (thread, stop)
        self._start_waiting()

    def halt(self, node: str) -> None:
        """Tells the work on the node, under way or still to begin, to end; waits for nothing. Once it notices,
        ``ended`` does not have it."""
        for found in (self._threads.get(node), self._waiting.get(node)):
            if found is not None:
                found[1].set()

    def ended(self) -> tuple[WorkEnd, ...]:
        """How acts have ended since the last call, oldest first, without those that were told to end and noticed."""
        with self._news:
            found = tuple(self._ends)
            self._ends.clear()
        return found

    def wait(self, seconds: float) -> None:
        """Starts threads that are still to be started, and blocks until something has ended, at most so many
        seconds."""
        self._start_waiting()
        with self._news:
            self._news.wait_for(lambda: bool(self._ends), timeout=max(0.0, seconds))

    def close(self, timeout: float = 2.0) -> None:
        """Begins nothing any more, waits at most ``timeout`` seconds for requests under way, and gives all leases on
        members back; those that are not given back within RELEASE_SECONDS run out."""
        self._closing.set()
        _join_all((thread for thread, _stop in self._threads.values()), timeout)
        _join_all(self.holds.keep_only(()), RELEASE_SECONDS)

    def _start_waiting(self) -> None:
        """Starts the threads that wait to be started, as long as the machine has some."""
        for node, begun in list(self._waiting.items()):
            try:
                begun[0].start()
            except RuntimeError:  # the machine has no thread to spare
                return
            self._threads[node] = begun
            del self._waiting[node]

    def _run(
        self,
        node: str,
        operation: str,
        work: t.Callable[[WorkerHands], None],
        hands: WorkerHands,
        last: threading.Thread | None,
    ) -> None:
        """Waits for ``last``, does the work, and tells its end, with what went wrong; no end is told of what ends by
        Halted."""
        failure = ""
        try:
            if last is not None:
                last.join()
            work(hands)
        except Halted:
            return
        except FleetError as error:
            failure = error.message
        except Exception as error:  # noqa: BLE001  # a thread that dies silently would leave the node cordoned
            failure = fault(error, "member-fault").message
        with self._news:
            self._ends.append(WorkEnd(operation=operation, node=node, failure=failure))
            self._news.notify_all()

    def _said(self, node: str) -> t.Callable[[str], None]:
        """What tells people a text, with the node before it."""
        return lambda text: self._say(f"{node}: {text}")


def _join_all(threads: t.Iterable[threading.Thread], seconds: float) -> None:
    """Waits for them, at most so many seconds for all together."""
    end = time.monotonic() + seconds
    for each in threads:
        each.join(max(0.0, end - time.monotonic()))


@dataclass(frozen=True)
class WorkerHands:
    """How a worker reaches its member (``draining.Hands``). It is to end, by Halted, once ``stop`` is set, for this
    work, or ``closing``, for all. ``present`` gives the instant, aware; ``tell`` takes a text for people."""

    holds: MemberHolds
    member: str
    present: t.Callable[[], datetime]
    tell: t.Callable[[str], None]
    stop: threading.Event
    closing: threading.Event

    def client(self) -> KubeClient:
        """The member's client, once its lease is held. Halted if this was to end before that was asked for; FleetError
        as of ``MemberHolds.client``."""
        self._check()
        return self.holds.client(self.member)

    def pause(self, seconds: float) -> None:
        """Waits so many seconds; raises Halted within half a second once it is to end."""
        end = time.monotonic() + seconds
        while True:
            self._check()
            left = end - time.monotonic()
            if left <= 0:
                return
            self.stop.wait(min(left, 0.5))

    def said(self, text: str) -> None:
        """Tells people, with the name of the node."""
        self.tell(text)

    def now(self) -> datetime:
        """The present, aware."""
        return self.present()

    def _check(self) -> None:
        """Raises Halted if this work, or all of it, is to end."""
        if self.stop.is_set() or self.closing.is_set():
            raise Halted
