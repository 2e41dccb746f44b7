# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Work on nodes in flight, a thread each, and the leases on the members that it is done on."""

from __future__ import annotations

import threading
import time
import typing as t
from collections import deque
from dataclasses import dataclass
from datetime import datetime

from ..._core.errors import FleetError, fault
from ..._kube.client import KubeClient
from ..members.member_lease import KeptLease
from ..members.members import Clients


class Halted(Exception):
    """Nothing is to be done any more with this node, or at all."""


@dataclass(frozen=True, kw_only=True)
class WorkEnd:
    """How an act ended; ``failure`` is empty if nothing went wrong."""

    operation: str
    node: str
    failure: str = ""


class MemberHolds:
    """Leases on members, taken when they are first needed. Safe to use from threads."""

    def __init__(self, clients: Clients, task: str) -> None:
        self._clients, self._task = clients, task
        self._held: dict[str, KeptLease] = {}
        self._lock = threading.Lock()

    def client(self, member: str) -> KubeClient:
        """The member's client, once it is held; FleetError ``member-held`` if other records have it."""
        client = self._clients.get(member)
        with self._lock:
            if member not in self._held:
                if self._clients.leases is None:
                    raise AssertionError("only verbs that write hold members")
                self._held[member] = self._clients.leases.take(client, self._task)
        return client

    def keep(self) -> None:
        """Renews what is due; one that could not be renewed is forgotten, and taken again by whoever needs it next."""
        with self._lock:
            for member, lease in list(self._held.items()):
                try:
                    lease.keep()
                except FleetError:
                    del self._held[member]

    def keep_only(self, members: t.Container[str]) -> None:
        """Gives the leases on all other members back."""
        with self._lock:
            for member in [each for each in self._held if each not in members]:
                self._held.pop(member).release()


class NodeWorkers:
    """Begins acts and tells how they ended. What goes on when it is closed is begun again by whoever comes next."""

    def __init__(self, holds: MemberHolds, now: t.Callable[[], datetime], say: t.Callable[[str], None]) -> None:
        self.holds, self._now, self._say = holds, now, say
        self._news = threading.Condition()
        self._ends: deque[WorkEnd] = deque()
        self._threads: dict[str, tuple[threading.Thread, threading.Event]] = {}
        self._closing = threading.Event()

    def begin(self, node: str, operation: str, work: t.Callable[[WorkerHands], None]) -> None:
        """Starts a thread for the node, after what is still done with it was ended."""
        self.halt(node)
        stop = threading.Event()
        member = node.partition("/")[0]
        hands = WorkerHands(self.holds, member, self._now, self._said(node), stop, self._closing)
        thread = threading.Thread(target=self._run, args=(node, operation, work, hands), daemon=True)
        self._threads[node] = (thread, stop)
        thread.start()

    def halt(self, node: str) -> None:
        """Ends what is done with the node, and waits until it has ended."""
        found = self._threads.pop(node, None)
        if found is not None:
            found[1].set()
            found[0].join()

    def ended(self) -> tuple[WorkEnd, ...]:
        """What has ended since the last call."""
        with self._news:
            found = tuple(self._ends)
            self._ends.clear()
        return found

    def wait(self, seconds: float) -> None:
        """Blocks until something has ended, at most so many seconds."""
        with self._news:
            self._news.wait_for(lambda: bool(self._ends), timeout=max(0.0, seconds))

    def close(self, timeout: float = 2.0) -> None:
        """Begins nothing any more, waits a moment for requests under way, and lets go of all members."""
        self._closing.set()
        end = time.monotonic() + timeout
        for thread, _stop in self._threads.values():
            thread.join(max(0.0, end - time.monotonic()))
        self.holds.keep_only(())

    def _run(self, node: str, operation: str, work: t.Callable[[WorkerHands], None], hands: WorkerHands) -> None:
        failure = ""
        try:
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
        return lambda text: self._say(f"{node}: {text}")


@dataclass(frozen=True)
class WorkerHands:
    """How a worker reaches its member; see ``draining.Hands``."""

    holds: MemberHolds
    member: str
    present: t.Callable[[], datetime]
    tell: t.Callable[[str], None]
    stop: threading.Event
    closing: threading.Event

    def client(self) -> KubeClient:
        self._check()
        return self.holds.client(self.member)

    def pause(self, seconds: float) -> None:
        """Looks twice in a second whether it is to end; raises Halted then."""
        end = time.monotonic() + seconds
        while True:
            self._check()
            left = end - time.monotonic()
            if left <= 0:
                return
            self.stop.wait(min(left, 0.5))

    def said(self, text: str) -> None:
        self.tell(text)

    def now(self) -> datetime:
        return self.present()

    def _check(self) -> None:
        if self.stop.is_set() or self.closing.is_set():
            raise Halted
