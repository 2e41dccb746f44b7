# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The loop that carries an update run on: decide, write the intent, begin, observe, record, until it ends or waits.

Killed at any instant it can be started again: what is in flight is in the records before it is begun, and is looked at
on the member before anything is repeated.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..._core.errors import FleetError
from ..._core.machine import Decision
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates.approvals import Terms
from ..._core.updates.commands import record, referenced
from ..._core.updates.decide import decide
from ..._core.updates.dispatch import operations_of
from ..._core.updates.run import (
    Begin,
    MemberRow,
    OpenGate,
    RunState,
    UpdateAct,
    UpdateSeen,
)
from ..._core.updates.status import derive
from ..._core.values.update_states import (
    COMPLETED,
    FAILED,
    OPERATION_LOST,
    RUNNING,
    UNREACHABLE,
)
from ..._store.records import Records
from ..drivers.contract import Work
from ..drivers.host import is_intent
from ..leases import take
from ..updates.gates import GateKeeper
from ..updates.monitor import Sight
from ..updates.progress import Progress
from .executor import (
    Begun,
    Blocked,
    Ended,
    Event,
    Said,
)
from .journal import Change, Journal

LEASE_SECONDS = 60
POLL = 1.0
RELOAD = timedelta(seconds=5)
TRY_AGAIN = timedelta(seconds=5)
# What a hub may answer once and not the next time. Whatever is noted is kept meanwhile.
PASSING = ("unreachable", "timeout", "bad-answer", "too-many-requests", "server-error", "records-busy")

Clock = t.Callable[[], datetime]
SETTLED = ("Completed", "Skipped", "Failed", "Stopped")


class Works(t.Protocol):
    """What the conductor wants of an executor; see ``executor.Executor``."""

    def begin(self, work: Work, resumed: bool, only_follow: bool = False) -> None: ...

    def events(self) -> tuple[Event, ...]: ...

    def wait(self, seconds: float) -> object: ...

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Orders:
    """How a run is conducted. ``time_limit``: start nothing and end after that long; ``max_idle``: end when nothing is
    in flight and nothing can start within that long. ``interrupted`` is asked often and says why to end at once.
    ``here`` says where operations are begun, as in ``drivers.host``; it is asked when one is about to be.
    ``terms`` are what approvals have to be, ``since`` says from when on the hub vouches for their names."""

    holder: str
    here: t.Callable[[], str]
    terms: Terms = Terms()
    since: t.Callable[[], datetime | None] = lambda: None
    time_limit: timedelta | None = None
    max_idle: timedelta = timedelta(minutes=2)
    interrupted: t.Callable[[], str] = lambda: ""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How conducting ended. ``why``: settled, waiting, time-limit, or what ``interrupted`` said.

    ``resume_at`` is when it is worth being started again, None if only an approval or another run's end can help.
    ``witnessed`` are members that this conductor saw at the target; ``behind`` are Completed and not there, by version.
    """

    run: UpdateRun
    state: RunState
    why: str
    changed: bool
    resume_at: datetime | None = None
    witnessed: frozenset[str] = frozenset()
    behind: t.Mapping[str, str] = field(default_factory=dict)


def conduct(
    records: Records, name: str, sight: Sight, works: Works, clock: Clock, progress: Progress, orders: Orders
) -> Ending:
    """Conducts the run until it is settled, waits for longer than allowed, or is out of time.

    FleetError ``lease-held`` (another conductor is at it), ``lease-lost`` (it was taken over), ``run-deleted``,
    ``no-such-run``. Upgrades in flight go on in every case.
    """
    lease = take(records, f"run/{name}", orders.holder, LEASE_SECONDS)
    conductor = None
    try:
        journal = Journal(records, name, lease)
        conductor = Conductor(records, journal, sight, works, clock, progress, orders)
        return conductor.run()
    finally:
        works.close()
        _release(records, conductor.journal.lease if conductor else lease)


class Conductor:
    """One conducting of one run, by one thread; the works have threads of their own."""

    def __init__(
        self,
        records: Records,
        journal: Journal,
        sight: Sight,
        works: Works,
        clock: Clock,
        progress: Progress,
        orders: Orders,
    ) -> None:
        self.journal = journal
        self._sight = sight
        self._works = works
        self._clock = clock
        self._progress = progress
        self._orders = orders
        self._began = self._loaded = self._renewed = self._busy = clock()
        self._gates = GateKeeper(records, orders.since, orders.terms, progress.warned)
        self._begun: set[str] = set()
        self._witnessed: set[str] = set()
        self._retries: dict[str, datetime] = {}
        self._blocked_since: dict[str, datetime] = {}
        self._failing_since: datetime | None = None
        self._changed = False

    def run(self) -> Ending:
        self._progress.begin(self.journal.run, self.journal.state, self._clock())
        while True:
            now = self._clock()
            why = self._orders.interrupted()
            if why:
                self._last_words(now)
                return self._ending(why, now)
            try:
                ending = self._turn(now)
                self._failing_since = None
            except FleetError as error:
                self._bear(error, now)
                ending = None
            if ending is not None:
                return ending
            self._works.wait(POLL)

    def _last_words(self, now: datetime) -> None:
        """What has ended is recorded, if the records answer; else the next conductor sees it on the member."""
        try:
            self._hear(now)
            self.journal.store(self.journal.state)
        except FleetError as error:
            if error.code not in PASSING:
                raise

    def _turn(self, now: datetime) -> Ending | None:
        self._hear(now)  # first of all: events that nobody takes would make every wait end at once
        self._keep_leases(now)
        self._try_again(now)
        if now >= self._loaded + RELOAD:
            self.journal.load()
            self._loaded = now
        out_of_time = self._orders.time_limit is not None and now >= self._began + self._orders.time_limit
        if out_of_time:
            return self._ending("time-limit", now) if self.journal.store(self.journal.state) else None
        self._sight.refresh(now)
        decision = self._decide(now)
        if not self.journal.store(decision.state):
            return None
        self._progress.stored(self.journal.state, now)
        self._carry_out(decision)
        self._sight.keep_only(
            {row.name: row.operation for row in in_flight(decision.state)}, operations_of(decision.state)
        )
        return self._at_rest(decision, now)

    def _decide(self, now: datetime) -> Decision[RunState, UpdateAct]:
        """Decides until everybody who is to begin was looked at, and may."""
        self._gates.prove(self.journal.run, self.journal.state, now)
        state = self.journal.state
        approvals, shown = self._gates.seen(self.journal.run, state, now)
        while True:
            decision = decide(state, UpdateSeen(members=dict(self._sight.views), approvals=approvals, gates=shown), now)
            begins = [each for each in decision.acts if isinstance(each, Begin)]
            clear = not self._orders.interrupted() and self._sight.clear(begins, now)
            if self._orders.interrupted():
                return Decision(state=state)
            if clear:
                return replace(decision, state=self._with_versions(decision.state, begins))

    def _with_versions(self, run: RunState, begins: t.Sequence[Begin]) -> RunState:
        """Parts of the intent that nobody can find out later on: what a member was at before its upgrade, and where it
        is about to be begun."""
        for each in begins:
            run = referenced(run, each.operation, self._orders.here(), self._sight.versions.get(each.member, ""))
        return run

    def _carry_out(self, decision: Decision[RunState, UpdateAct]) -> None:
        """The intents are stored: now gates are shown and upgrades begun.

        Whatever is in flight and was not decided just now was begun by somebody before: it is looked for first.
        """
        self._gates.publish(self.journal.run, decision.state, self.journal.lease)
        fresh = {each.operation for each in decision.acts if isinstance(each, Begin)}
        for row in in_flight(decision.state):
            if row.operation not in self._begun:
                resumed = row.operation not in fresh
                ours = not resumed or self._taken_up(row)
                self._works.begin(self._work(row), resumed=resumed, only_follow=not ours)
                self._begun.add(row.operation)
        for action in decision.acts:
            self._changed = True
            if isinstance(action, OpenGate):
                self._progress.gate_opened(action)

    def _taken_up(self, row: MemberRow) -> bool:
        """Whether the intent may be carried out. It may not if the member does not bear its mark, which is there before
        the intent is: then somebody else wrote it, and it is recorded as one that nobody may carry out any more."""
        if self._sight.bears(row.name, row.operation) or not is_intent(row.reference):
            self._sight.take_up(row.name, row.operation)
            return True
        self.journal.note(lambda run: referenced(run, row.operation, ""))
        return False

    def _hear(self, now: datetime) -> None:
        for event in self._works.events():
            self._changed = True
            if isinstance(event, Said):
                self._progress.said(event.operation, event.message)
            elif isinstance(event, Blocked):
                self._blocked(event, now)
            else:
                self._blocked_since.pop(event.operation, None)
                if isinstance(event, Ended) and event.result == COMPLETED:
                    self._witnessed.add(event.operation)
                self.journal.note(change_of(event, now))

    def _try_again(self, now: datetime) -> None:
        for operation in [one for one, at in self._retries.items() if now >= at]:
            del self._retries[operation]
            row = next((each for each in in_flight(self.journal.state) if each.operation == operation), None)
            if row:
                self._works.begin(self._work(row), resumed=True)

    def _blocked(self, event: Blocked, now: datetime) -> None:
        """The member stopped answering between the look and the beginning: tried again, but not for ever."""
        since = self._blocked_since.setdefault(event.operation, now)
        if now < since + self.journal.state.unreachable_timeout:
            self._retries[event.operation] = now + TRY_AGAIN
            self._progress.said(event.operation, event.message)
            return
        reason = OPERATION_LOST if event.reason == UNREACHABLE else event.reason
        ended = Ended(operation=event.operation, result=FAILED, reason=reason, message=event.message)
        self.journal.note(change_of(ended, now))

    def _keep_leases(self, now: datetime) -> None:
        if now >= self._renewed + timedelta(seconds=LEASE_SECONDS / 3):
            self.journal.renew()
            self._renewed = now
        self._sight.renew(now)

    def _bear(self, error: FleetError, now: datetime) -> None:
        """A hub that does not answer for a moment ends nothing; it does when the lease has run out meanwhile."""
        if error.code not in PASSING:
            raise error
        if self._failing_since is None:
            self._failing_since = now
            self._progress.say(f"the records cannot be reached, trying again: {error.message}")
        if now >= self._failing_since + timedelta(seconds=LEASE_SECONDS):
            raise error
        self._loaded = now - RELOAD

    def _at_rest(self, decision: Decision[RunState, UpdateAct], now: datetime) -> Ending | None:
        """The ending, if nothing is in flight and nothing will be soon."""
        if in_flight(decision.state) or any(isinstance(each, Begin) for each in decision.acts):
            self._busy = now
            return None
        state = derive(decision.state).state
        if state in SETTLED:
            return self._ending("settled", now)
        look, wake = self._sight.next_look(), decision.wake_at
        if wake is not None and wake - now <= self._orders.max_idle:
            self._progress.waiting(decision.state, wake, now)
            return None
        if wake is None and look is None or now >= self._busy + self._orders.max_idle:
            return self._ending("waiting", now, wake or look)
        if wake is not None and look is None:
            return self._ending("waiting", now, wake)
        self._progress.waiting(decision.state, look, now)
        return None

    def _ending(self, why: str, now: datetime, resume_at: datetime | None = None) -> Ending:
        if why not in ("settled", "waiting"):
            resume_at = now
        self._progress.end(self.journal.state, why, now)
        rows = (row for stage in self.journal.state.stages for group in stage.groups for row in group.members)
        return Ending(
            run=self.journal.run,
            state=self.journal.state,
            why=why,
            changed=self._changed,
            resume_at=resume_at,
            witnessed=frozenset(row.name for row in rows if row.operation in self._witnessed),
        )

    def _work(self, row: MemberRow) -> Work:
        upgrade = self.journal.run.spec.managed_cluster_update.upgrade
        return Work(
            operation=row.operation,
            run=self.journal.run.name,
            member=row.name,
            upgrade_type=upgrade.type,
            target=self.journal.run.target,
            attempt=row.attempt,
            reference=row.reference,
        )


def in_flight(run: RunState) -> list[MemberRow]:
    return [row for stage in run.stages for group in stage.groups for row in group.members if row.state == RUNNING]


def change_of(event: Begun | Ended, now: datetime) -> Change:
    """What an event does to the run; nothing if its operation is not in flight any more."""
    if isinstance(event, Begun):
        return lambda run: referenced(run, event.operation, event.reference, event.version_before)
    return lambda run: record(
        run,
        event.operation,
        event.result,
        now,
        message=event.message,
        reason=event.reason,
        version_before=event.version_before,
        version_after=event.version_after,
    )


def _release(records: Records, lease: t.Any) -> None:
    try:
        records.release(lease)
    except FleetError as error:
        if error.code != "lease-lost" and error.code not in PASSING:
            raise
