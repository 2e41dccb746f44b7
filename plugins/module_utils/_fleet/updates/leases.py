# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Leases on members' API servers from before an upgrade begins until it has ended: taken, renewed, inherited from an
earlier conductor, given up, and which members go without; drivers that begin nothing where other records hold the
member (``busy``).

A member's API server is away for a part of that time, so the lease lasts for as long as an operation that cannot be
seen is waited for.
"""

from __future__ import annotations

import contextlib
import threading
import typing as t
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from ..._core.errors import FleetError
from ..._core.updates.releases.versions import reached
from ..._core.updates.run import MemberBlocker
from ..._core.values.clock_skew import is_due_again
from ..._core.values.instants import SECONDS, write_time
from ..._core.values.update_states import OPERATION_IN_PROGRESS, PRECONDITION_FAILED, UNREACHABLE
from ..._kube.parallel import in_parallel
from ..._kube.shared_lease import OthersHold
from ..drivers.command import CommandDriver
from ..drivers.contract import (
    Driver,
    Observation,
    OperationProgress,
    Work,
)
from ..drivers.local import LocalDriver
from ..members.home import MEMBER_LEASE
from ..members.identity import DOUBLE_MEMBER, OTHER_CLUSTER
from ..members.member_lease import NAMESPACE, KeptLease
from ..members.members import Clients

UPGRADE_SECONDS = 900
AGAIN = timedelta(seconds=60)
# A conductor does not stand still for members that hang.
DEADLINE = 10.0
AWAY = ("unreachable", "timeout")
# What does not pass by itself; anything else counts as a member that does not answer.
WRONG = (OTHER_CLUSTER, DOUBLE_MEMBER)
FINAL = ("forbidden", *WRONG)


def blocker_of_error(error: FleetError) -> MemberBlocker:
    """Why a member cannot be looked at, or held, by the ``error`` of that: PreconditionFailed, with the way out, for
    codes of ``FINAL``; else Unreachable."""
    if error.code in FINAL:
        return MemberBlocker(reason=PRECONDITION_FAILED, message=f"{error.message} ({error.hint})")
    return MemberBlocker(reason=UNREACHABLE, message=error.message)


@dataclass
class UpgradeLeases:
    """Leases of one run on its members' API servers, each for ``seconds``. Safe to use from threads; ``say`` may be
    called in any of them. ``task`` is the same for every conductor of the run, so that the next one has at once what a
    dead one held. ``clients`` need ``leases``.

    Members in ``unseen`` are looked at by other means than their API server: where that cannot be used, they go without
    a lease. So do those in ``revived`` where it is down: their upgrade may be what brings it back.
    """

    clients: Clients
    task: str
    say: t.Callable[[str], None]
    seconds: int = UPGRADE_SECONDS
    unseen: t.Container[str] = ()
    revived: t.Container[str] = ()
    _kept: dict[str, KeptLease] = field(default_factory=dict)
    _without: set[str] = field(default_factory=set)
    _inherited: set[str] = field(default_factory=set)
    _tried: dict[str, datetime] = field(default_factory=dict)
    _locks: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def claim(self, member: str, again: bool = False) -> MemberBlocker | None:
        """Takes the lease, once another thread that asks the same member is through. None once it is held or the member
        goes without, which is said; else what stands against it: others who have it, or the FleetError of the member as
        of ``blocker_of_error``. A lease that is held is not asked for again, nor, without ``again``, a member that goes
        without."""
        with self._locks[member]:
            return self._claimed(member, again)

    def claim_all(self, members: t.Collection[str]) -> dict[str, MemberBlocker | None]:
        """As ``claim``, of all at once, in ``DEADLINE`` seconds in all, by name. A member that has not answered by then
        is Unreachable, and is not asked anew before it has. FleetError ``no-workers``."""
        silent = FleetError("timeout", f"no answer within {DEADLINE:g} s")
        asked = {each: partial(self.claim, each) for each in members if not self._locks[each].locked()}
        answers = in_parallel(asked, len(asked), DEADLINE)
        found = {each: answers.get(each, silent) for each in members}
        return {name: blocker_of_error(each) if isinstance(each, FleetError) else each for name, each in found.items()}

    def renew(self, members: t.Iterable[str], now: datetime) -> None:
        """For members in flight: renews what is due, and takes what could not be had before (of those in ``unseen``
        only what was inherited, until they go without), each at most once in a minute, in ``DEADLINE`` seconds in all.
        What fails is said or tried again, and not raised."""
        # A copy: whoever hangs in ``release_all`` takes his name out at any time.
        recent = {name for name, tried in dict(self._tried).items() if not is_due_again(tried, AGAIN, now)}
        due = [name for name in members if name not in recent and self._is_due(name)]
        self._tried |= dict.fromkeys(due, now)
        try:
            in_parallel({name: self._renewal(name) for name in due}, len(due), DEADLINE)
        except FleetError as error:
            self.say(f"leases of members in flight are not renewed: {error}")

    def inherit(self, member: str) -> None:
        """Notes that an earlier conductor of the run may have left a lease there, which ``renew`` takes, and
        ``release`` asks for once more."""
        self._inherited.add(member)

    def release_all(self, members: t.Collection[str]) -> None:
        """As ``release``, of all at once, in ``DEADLINE`` seconds in all. The lease of a member that hangs is given up
        when it answers, or runs out."""
        try:
            in_parallel({each: partial(self.release, each) for each in members}, len(members), DEADLINE)
        except FleetError as error:
            self.say(f"leases of members that are done run out by themselves: {error}")

    def release(self, member: str) -> None:
        """Gives the member's lease up, if it is held, as ``KeptLease.release``; one that was inherited and could not be
        had is asked for once more before."""
        with self._locks[member]:  # in one go: who claims it meanwhile would be given what is just given up
            if member in self._inherited and member not in self._kept:
                self._claimed(member, again=True)
            self._inherited.discard(member)
            self._tried.pop(member, None)
            self._without.discard(member)
            kept = self._kept.pop(member, None)
            if kept is not None:
                kept.release()

    def forget_all(self, members: t.Collection[str]) -> None:
        """As ``forget``, of all at once, in ``DEADLINE`` seconds in all."""
        with contextlib.suppress(FleetError):  # where no thread can be started: it is renewed no more, forgotten or not
            in_parallel({each: partial(self.forget, each) for each in members}, len(members), DEADLINE)

    def forget(self, member: str) -> None:
        """Renews the member's lease no more, and leaves it to run out: the upgrade goes on there. Whoever is just
        asking the member is waited for."""
        self._inherited.discard(member)
        self._tried.pop(member, None)
        with self._locks[member]:
            self._without.discard(member)
            self._kept.pop(member, None)

    def release_left_over(self, members: t.Collection[str]) -> None:
        """Gives up, as ``release_all``, the leases that an earlier conductor of the run left on these members, as far
        as they can be had now."""
        self._inherited.update(members)
        self.release_all(members)

    def _claimed(self, member: str, again: bool) -> MemberBlocker | None:
        """As ``claim``, by whoever has the member's lock."""
        if member in self._kept or (member in self._without and not again):
            return None
        try:
            self._kept[member] = self._take(member)
        except OthersHold as error:
            since = f"since {write_time(error.since, SECONDS)} " if error.since else ""
            text = (
                f"{error.holder} works on it {since}(Lease {NAMESPACE}/{MEMBER_LEASE} on the cluster, free"
                f" {error.seconds} s after its last sign of life)"
            )
            return MemberBlocker(reason=OPERATION_IN_PROGRESS, message=text)
        except FleetError as error:
            if not self._does_without(member, error.code):
                return blocker_of_error(error)
            if member not in self._without:
                self._without.add(member)
                self.say(f"{member}: no lease on it tells other records of this upgrade: {error.message}")
        return None

    def _take(self, member: str) -> KeptLease:
        """The lease on the member, just taken. FleetError of its connection, and as of ``MemberLeases.take``;
        AssertionError where ``clients`` have no leases."""
        if self.clients.leases is None:
            raise AssertionError("only conductors hold members")
        return self.clients.leases.take(self.clients.get(member), self.task, self.seconds)

    def _does_without(self, member: str, code: str) -> bool:
        """Whether the member is upgraded without a lease after an error with this code: see ``unseen`` and ``revived``;
        never for those in ``WRONG``."""
        return code not in WRONG and (member in self.unseen or (member in self.revived and code in AWAY))

    def _is_due(self, member: str) -> bool:
        """Whether a third of its lease's time is over, or it has none and could have one, also where it is ``unseen``
        and an earlier conductor may have left one that was not asked for yet."""
        kept = self._kept.get(member)
        if kept is not None:
            return kept.due
        return member not in self.unseen or (member in self._inherited and member not in self._without)

    def _renewal(self, member: str) -> t.Callable[[], None]:
        """What takes the member's lease, or renews it."""

        def work() -> None:
            """Takes the lease, or renews it if that is due. Says who else has the member, or what else forbids it, and
            that a lease is lost, which is kept no more; other FleetErrors are passed over."""
            found = self.claim(member, again=True)
            if found is not None and found.reason != UNREACHABLE:
                self.say(f"{member}: in flight, but {found.message}")
            with self._locks[member]:
                kept = self._kept.get(member)
                try:
                    if kept is not None:
                        kept.keep()
                except FleetError as error:
                    if error.code == "member-lost":
                        del self._kept[member]
                        self.say(f"{member}: in flight, but {error.message}")

        return work


@dataclass(frozen=True)
class LeasedDriver:
    """A driver that begins nothing on a member whose lease others hold."""

    driver: Driver
    leases: UpgradeLeases

    def observe(self, member: str) -> Observation:
        """What the driver sees, and its FleetErrors; no lease is asked for."""
        return self.driver.observe(member)

    def begin(self, work: Work) -> str:
        """Begins as the driver does, once the member is held or goes without a lease. FleetError ``busy`` while it
        cannot be, and where others have brought it to the target just before (no matter for a step of a pool); else
        those of the driver."""
        found = self.leases.claim(work.member)
        if found is not None:
            raise FleetError("busy", found.message, work.member, "it is tried again")
        if work.target and not work.pool_step and self._is_there(work):
            message = "it was upgraded by others just before it was held"
            raise FleetError("busy", message, work.member, "it is looked at again")
        return self.driver.begin(work)

    def _is_there(self, work: Work) -> bool:
        """Whether whoever held the member until now has brought it to the target: it was looked at before. False if it
        does not answer, or with no version."""
        try:
            return reached(self.driver.observe(work.member).version, work.target)
        except (FleetError, ValueError):
            return False

    def poll(self, work: Work) -> OperationProgress:
        """What the driver tells, and its FleetErrors; no lease is asked for."""
        return self.driver.poll(work)


def upgrade_leases(
    clients: Clients, drivers: t.Mapping[str, Driver], task: str, say: t.Callable[[str], None], lost_after: float
) -> UpgradeLeases:
    """The leases of a run on members with these drivers, none taken yet, each for ``lost_after`` seconds, and at least
    ``UPGRADE_SECONDS``."""
    return UpgradeLeases(
        clients,
        task,
        say,
        max(UPGRADE_SECONDS, int(lost_after)),
        unseen={name for name, each in drivers.items() if isinstance(each, CommandDriver) and each.observe_argv},
        revived={name for name, each in drivers.items() if isinstance(each, LocalDriver)},
    )


def behind_leases(drivers: t.Mapping[str, Driver], leases: UpgradeLeases) -> dict[str, Driver]:
    """Drivers by the same names that begin nothing on a member which others hold."""
    return {name: LeasedDriver(each, leases) for name, each in drivers.items()}
