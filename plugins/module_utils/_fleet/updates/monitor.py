# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a conductor sees of its members: who is in the fleet, who of those that are due may begin (version, kubelets,
busy platform, skewed clock (``ClockSkew``), target never offered), obstacles that are looked at again, and claims on
those that begin.

A member is looked at when its turn comes: a run over a thousand members begins as soon as one over three.
"""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..._core.errors import FleetError
from ..._core.objects.clusters.fleet_member import NodePoolStatus
from ..._core.updates.preflight import Judge
from ..._core.updates.releases.versions import kubelet_skew_blocker, view_at_version
from ..._core.updates.run import Begin, MemberBlocker, MemberView
from ..._core.updates.timing.obstacles import obstacle as held_by
from ..._core.values.clock_skew import clock_skew_words, is_due, is_due_again
from ..._core.values.update_states import (
    CLOCK_SKEW,
    OPERATION_IN_PROGRESS,
    PRECONDITION_FAILED,
    UNREACHABLE,
    VERSION_NOT_AVAILABLE,
)
from ..._kube.parallel import in_parallel
from ..._store.records import Lease, Records
from ..conductor.operation import Blocked
from ..drivers.contract import Driver, Observation, Work
from ..members.members import LIST_AFTER
from .claims import (
    LEASE_SECONDS,
    claim,
    lease_name,
    mark_of,
    unclaim,
)
from .constraints import StartConstraints
from .leases import UpgradeLeases, blocker_of_error

LOOK_AGAIN = timedelta(seconds=15)
FRESH = timedelta(seconds=5)
RENEW_AFTER = timedelta(seconds=LEASE_SECONDS // 3)
# Seconds of a turn of the conductor, which keeps its lease between turns only, and how old an answer may be that came
# after its turn.
LOOKING, LATE = 20.0, 60.0
# How old what was listed may be where something is begun that was meant earlier.
STALE = timedelta(seconds=60)
GONE = MemberBlocker(reason=PRECONDITION_FAILED, message="the member has no driver any more")


Pools = tuple[NodePoolStatus, ...]


def no_pools(_member: str, _seen: Observation) -> Pools:
    """No pools: nothing is known of nodes."""
    return ()


@dataclass(frozen=True)
class ControlPlaneJudge:
    """For runs that upgrade control planes alone: kubelets have to be young enough for ``target``. ``automatic``: a
    profile made the run."""

    target: str
    automatic: bool = False

    def __call__(self, view: MemberView, version: str, pools: Pools, _now: datetime, /) -> MemberView:
        """The view with what speaks against its control plane at this ``version``: ``skip`` if it is at the target or
        above, or, where ``automatic``, too far from it; ``fail`` if it is too far else, or no version, or kubelets are
        too old for it."""
        view = view_at_version(view, version, self.target, automatic=self.automatic)
        if view.skip or view.fail:
            return view
        return replace(view, fail=kubelet_skew_blocker({each.name: each.version for each in pools}, self.target))


@dataclass(frozen=True)
class OfferJudge:
    """Members whose platform never has the target are skipped, unless ``judge`` skips them; ``refused`` says why, by
    name."""

    judge: Judge
    refused: t.Mapping[str, str]

    def __call__(self, view: MemberView, version: str, pools: Pools, now: datetime, /) -> MemberView:
        """The view as of ``judge``; if its platform never has the target, and it is not skipped anyway, skipped
        (VersionNotAvailable) and not failed. What ``judge`` raises comes through."""
        found = self.judge(view, version, pools, now)
        words = self.refused.get(view.name)
        if words is None or found.skip:
            return found
        return replace(found, skip=MemberBlocker(reason=VERSION_NOT_AVAILABLE, message=words), fail=None)


@dataclass
class MemberMonitor:
    """``views`` of the run's ``members`` for ``decide``, by name, ``versions`` as they were seen last, and the claims
    of members that are in flight. A member without one of the ``drivers`` is to fail. ``holder`` is the same for every
    conductor of the run, so that its next one has the members at once. Without ``permits`` members may begin at any
    time; without ``leases`` other records do not see that a member is in flight. ``clock_ahead`` says how far the
    servers' clocks are ahead of ours; ``pools`` are a member's node pools, once it was observed; ``judge`` says what it
    has to do."""

    records: Records
    drivers: t.Mapping[str, Driver]
    judge: Judge
    holder: str
    members: t.Collection[str]
    permits: StartConstraints | None = None
    leases: UpgradeLeases | None = None
    clock_ahead: t.Callable[[], timedelta] = timedelta
    pools: t.Callable[[str, Observation], Pools] = no_pools
    views: dict[str, MemberView] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    _plain: dict[str, MemberView] = field(default_factory=dict)
    _found: dict[str, MemberBlocker] = field(default_factory=dict)
    _claims: dict[str, tuple[str, Lease]] = field(default_factory=dict)
    _left: dict[str, tuple[str, Lease | None]] = field(default_factory=dict)
    _again: dict[str, datetime] = field(default_factory=dict)
    _seen: dict[str, datetime] = field(default_factory=dict)
    _pools: dict[str, Pools] = field(default_factory=dict)
    _listed: datetime | None = None
    _until: float = 0.0
    _under_way: set[str] = field(default_factory=set)
    _answers: dict[str, tuple[float, Observation | FleetError]] = field(default_factory=dict)

    def refresh(self, now: datetime) -> None:
        """Brings ``views`` up to date: who is in the fleet, listed every 15 s; obstacles that are due to be looked at
        again are forgotten. Members have ``LOOKING`` seconds from now on to answer in this turn. FleetError
        ``record-damaged``, ``duplicate-location``, others of the records."""
        self._until = time.monotonic() + LOOKING
        if is_due_again(self._listed, LIST_AFTER, now):
            self._list_members(now)
        for name in [name for name, at in self._again.items() if is_due(at, LOOK_AGAIN, now)]:
            del self._again[name]
            self._found.pop(name, None)
            if name in self.views:
                self.views[name] = self._plain[name]

    def _list_members(self, now: datetime) -> None:
        """Lists FleetMembers anew: who has left loses its view, and who is new or may begin at other times gets one.
        The first time it keeps what earlier conductors left. FleetError as of ``refresh``, and others of the
        records."""
        listed = self.records.list("FleetMember")
        here = {each["metadata"]["name"]: mark_of(each) for each in listed}
        if self._listed is None:
            self._left = self._marks_and_own_leases(here)
        plain = self.permits.views(listed, now) if self.permits else {name: MemberView(name=name) for name in here}
        for name in self.members:
            if name not in here:
                self.views.pop(name, None)
            elif name not in self.views or plain[name] != self._plain[name]:
                self.views[name] = self._with_obstacle(plain[name])
        self._plain, self._listed = plain, now

    def _with_obstacle(self, view: MemberView) -> MemberView:
        """The view with the obstacle that was found at the last look, if there is one."""
        found = self._found.get(view.name)
        return replace(view, obstacles=(*view.obstacles, found)) if found else view

    def next_look(self) -> datetime | None:
        """When the first of the members with an obstacle of their own (such as no answer, a busy platform, a lease of
        others) is looked at again; None if there are none."""
        return min(self._again.values(), default=None)

    def claim_or_look(self, begins: t.Sequence[Begin], now: datetime) -> bool:
        """Whether all of them are claimed already. If not, the others are looked at, and those that may begin are
        claimed; decide anew then, by ``views``, which say what holds the others, or that they are to be skipped or
        fail. After ``refresh``; each must be of a member that has a view. FleetErrors of the records, ``no-workers``,
        and what ``judge`` raises: what was claimed by then is given up by ``keep_only``."""
        unclear = [each for each in begins if self._claims.get(each.member, ("",))[0] != each.operation]
        looked = self._look(unclear, now)
        claimed: dict[str, Lease] = {}
        for each in unclear:
            lease = self._judge(each, looked.get(each.member), now)
            if lease is not None:
                claimed[each.member] = lease
                self._left[each.member] = (each.operation, lease)  # given up unless it is held in the end
        held = self.leases.claim_all(claimed) if self.leases else {}
        for member, lease in claimed.items():
            operation, _lease = self._left.pop(member)
            found = held.get(member)
            if found is None:
                self._claims[member] = (operation, lease)
            else:
                unclaim(self.records, member, operation, lease)
                self._note_precondition(self.views[member], found, now)
        return not unclear

    def held_back(self, work: Work, now: datetime) -> Blocked | None:
        """Why a member whose turn had come may not begin any more, None if it may: a window, a freeze or a release, as
        listed last, or our clock (``anew``); or that the last list is older than a minute. Safe from threads."""
        view = self._plain.get(work.member)
        if is_due_again(self._listed, STALE, now):
            words = "whether it may begin now is not known: the records were not read in the last minute"
            return Blocked(operation=work.operation, reason=UNREACHABLE, message=words)
        skew = clock_skew_words(self.clock_ahead())
        blocker = MemberBlocker(reason=CLOCK_SKEW, message=skew) if skew else None
        found = blocker or (held_by(view, now) if view else None)
        if found is None:
            return None
        words = f"not begun in time: {found.message or found.reason}"
        return Blocked(operation=work.operation, reason=found.reason, message=words, anew=True)

    def renew(self, now: datetime) -> None:
        """Keeps the leases of claimed members, in the records and on them; a lost one is passed over, for the mark on
        the member stands. Other FleetErrors of the records are raised."""
        for member, (operation, lease) in list(self._claims.items()):
            if is_due_again(lease.renewed, RENEW_AFTER, now):
                try:
                    self._claims[member] = (operation, self.records.renew(lease))
                except FleetError as error:
                    if error.code != "lease-lost":
                        raise
        if self.leases:
            self.leases.renew(self._claims, now)

    def has_mark(self, member: str, operation: str) -> bool:
        """Whether the member bears the mark of this operation, which is set before the intent is recorded; False if it
        has left. FleetErrors of the records."""
        document = self.records.get("FleetMember", member)
        return document is not None and mark_of(document) == operation

    def forget_claim(self, member: str) -> None:
        """Forgets that the member is claimed, if it is, because its attempt is put back: it is looked at and claimed
        anew when its turn comes. Its leases and mark are given up by the next ``keep_only``."""
        claimed = self._claims.pop(member, None)
        if claimed:
            self._left[member] = claimed

    def take_up(self, member: str, operation: str) -> None:
        """Claims a member whose operation was in flight when this conductor came, and its lease on it; nothing where
        another one has it, or it has left. FleetErrors of the records."""
        found = claim(self.records, member, operation, self.holder)
        if isinstance(found, Lease):
            self._claims[member] = (operation, found)
            if self.leases:
                self.leases.inherit(member)

    def keep_only(self, in_flight: t.Mapping[str, str], ours: str) -> None:
        """Gives up every claim but those of operations in flight (``in_flight``: operation by member), and what earlier
        conductors of the run left: ``ours`` begins the name of each of its operations. A lease on a member that cannot
        be given up there, or of who has left in flight, runs out. FleetErrors of the records; the next call goes on
        with what is left."""
        over = {member: each for member, each in self._claims.items() if in_flight.get(member) != each[0]}
        if self.leases:
            self.leases.release_all([member for member in over if member in self.views])
            # Who left in flight, where the upgrade goes on.
            self.leases.forget_all(over.keys() - self.views.keys())
        for member, (operation, lease) in over.items():
            unclaim(self.records, member, operation, lease)
            del self._claims[member]
        left = {
            member: (mark, lease)
            for member, (mark, lease) in self._left.items()
            if not mark or (in_flight.get(member) != mark and mark.startswith(ours))
        }
        if self.leases:
            self.leases.release_left_over(left.keys() - self._claims.keys())
        for member, (mark, held) in left.items():
            if member not in self._claims:
                unclaim(self.records, member, mark, held)
            del self._left[member]

    def _marks_and_own_leases(self, marks: t.Mapping[str, str]) -> dict[str, tuple[str, Lease | None]]:
        """By member of the run the mark that it bears, whose ever that is, and the lease on it that this run's
        ``holder`` has; members without both are left out."""
        leases = {each.name: each for each in self.records.leases() if each.holder == self.holder}
        found = {name: (marks.get(name, ""), leases.get(lease_name(name))) for name in self.members}
        return {name: (mark, lease) for name, (mark, lease) in found.items() if mark or lease}

    def _look(self, begins: t.Sequence[Begin], now: datetime) -> dict[str, Observation | FleetError]:
        """What members answer, by name: those that have a driver and were not seen within ``FRESH``. FleetError as of
        ``_answered``."""
        asked = (each.member for each in begins if each.member in self.drivers)
        return self._answered([member for member in asked if is_due_again(self._seen.get(member), FRESH, now)])

    def _answered(self, due: t.Collection[str]) -> dict[str, Observation | FleetError]:
        """What each of them answers in the time that this turn has left; FleetError ``timeout`` for one that is still
        at it. Such a one is not asked once more; its answer is taken when it is looked at again. Errors are given, not
        raised, but for ``no-workers`` where this machine starts no thread."""
        new = [each for each in due if self._answer(each) is None and each not in self._under_way]
        left = max(0.1, self._until - time.monotonic())
        found = in_parallel({member: self._observe(member) for member in new}, threads=len(new), deadline=left)
        silent = "its version was asked for, and there is no answer yet"
        for member in due:
            at, late = self._answers.pop(member, (0.0, None))
            answer = late if time.monotonic() < at + LATE else None
            found[member] = answer or found.get(member) or FleetError("timeout", silent, member)
        return found

    def _answer(self, member: str) -> Observation | FleetError | None:
        """What a member has answered within the last ``LATE`` seconds and was not taken yet; None without."""
        at, answer = self._answers.get(member, (0.0, None))
        return answer if time.monotonic() < at + LATE else None

    def _observe(self, member: str) -> t.Callable[[], Observation]:
        """What looks at the member by its driver, and at its pools."""
        driver = self.drivers[member]

        def look() -> Observation:
            """What is true of it now, kept as an answer, as is the FleetError if it has none."""
            self._under_way.add(member)
            try:
                seen = driver.observe(member)
                self._pools[member] = self.pools(member, seen)
                self._answers[member] = (time.monotonic(), seen)
                return seen
            except FleetError as error:
                self._answers[member] = (time.monotonic(), error)
                raise
            finally:
                self._under_way.discard(member)

        return look

    def _judge(self, begin: Begin, found: Observation | FleetError | None, now: datetime) -> Lease | None:
        """Brings the member's view up to date by what it answered, None if it was not asked again; claims it in the
        records if it may begin, by the lease, else it has an obstacle, or is to be skipped or fail. FleetError as of
        ``claim_or_look``."""
        view = self._plain[begin.member]
        if begin.member not in self.drivers:
            self.views[begin.member] = replace(view, fail=GONE)
            return None
        if isinstance(found, FleetError):
            self._note_precondition(view, blocker_of_error(found), now)
            return None
        if found is not None:
            self._seen[begin.member] = now
            self.versions[begin.member] = found.version
            if found.busy:
                words = f"its platform works on it: {found.busy}"
                self._note_obstacle(view, MemberBlocker(reason=OPERATION_IN_PROGRESS, message=words), now)
                return None
        skew = clock_skew_words(self.clock_ahead())
        if skew:
            self._note_obstacle(view, MemberBlocker(reason=CLOCK_SKEW, message=skew), now)
            return None
        view = self.judge(view, self.versions[begin.member], self._pools.get(begin.member, ()), now)
        waits = len(view.obstacles) > len(self._plain[begin.member].obstacles)
        if waits and not (view.skip or view.fail):
            self._note_obstacle(self._plain[begin.member], view.obstacles[-1], now)
            return None
        self.views[begin.member] = view
        if view.skip or view.fail:
            return None
        claimed = claim(self.records, begin.member, begin.operation, self.holder)
        if isinstance(claimed, MemberBlocker):
            self._note_obstacle(view, claimed, now)
            return None
        return claimed

    def _note_precondition(self, view: MemberView, found: MemberBlocker, now: datetime) -> None:
        """The member is to fail, if a precondition failed; otherwise it is looked at again."""
        if found.reason == PRECONDITION_FAILED:
            self.views[view.name] = replace(view, fail=found)
        else:
            self._note_obstacle(view, found, now)

    def _note_obstacle(self, view: MemberView, obstacle: MemberBlocker, now: datetime) -> None:
        """The member waits for this obstacle, and is looked at again after ``LOOK_AGAIN``."""
        self._found[view.name] = obstacle
        self.views[view.name] = self._with_obstacle(view)
        self._again[view.name] = now + LOOK_AGAIN
