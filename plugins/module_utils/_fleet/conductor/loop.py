# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The loop that carries a run, rollout or rotation on: see, decide, store the intents, begin acts, record, until it
ends or waits (``time_limit``, ``max_idle``, ``resume_at``); for how long records that do not answer are borne.

It knows these machines by the shape of ``_core.machine``, and what is special to one by its ``Steering``. It may be
killed at any instant: what begins is recorded before, and looked for before it is repeated.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..._core.errors import FleetError
from ..._core.machine import Act, Decision
from ..._core.values.clock_skew import is_due_again
from ..._store.records import Lease, Records
from ..leases import acquire
from .interrupts import wait_unless
from .journal import Book, Change, Journal
from .outage import Outage

LEASE_SECONDS, POLL = 60, 1.0
RELOAD, AWAY = timedelta(seconds=5), timedelta(minutes=5)
ATTEMPTS = 5
# What a hub may answer once and not the next time. Whatever is noted is kept meanwhile.
PASSING = ("unreachable", "timeout", "bad-answer", "too-many-requests", "server-error", "records-busy")

Clock = t.Callable[[], datetime]  # the present, aware
S = t.TypeVar("S")
X = t.TypeVar("X")
A = t.TypeVar("A", bound=Act)
T = t.TypeVar("T")
Told_contra = t.TypeVar("Told_contra", contravariant=True)


class Steering(t.Protocol[S, X, A]):
    """One machine with what it needs of the world, called by one thread at a time, not always the same. A turn calls
    ``drain_events``, ``keep``, ``see``, ``decide`` and ``look_before_beginning``, ``stored``, ``carry_out`` for each
    act, ``release``; then comes ``wait``. A FleetError ends the turn: one of PASSING is borne, any other ends all."""

    def see(self, state: S, now: datetime) -> X:
        """What is true of the world, once in a turn that decides."""

    def decide(self, state: S, seen: X, now: datetime) -> Decision[S, A]:
        """What begins now, and the state that says so, as in ``_core.machine``; what it finds may be kept here."""

    def acts_in_flight(self, state: S) -> tuple[A, ...]:
        """The acts for which the conductor stays, but for its ``time_limit`` and interrupts: those that were begun by
        the state and have not ended, without those that nobody waits for, and others that keep it here."""

    def look_before_beginning(self, decision: Decision[S, A], seen: X, now: datetime) -> X | None:
        """Looks closely at what is about to be begun, if anything is, and takes hold of it. None if all of it may
        begin, else what is seen by now, by which it is decided anew."""

    def before_store(self, decision: Decision[S, A]) -> S:
        """The decided state, with parts of the intent that nobody can find out later on; asked once it may begin."""

    def stored(self, state: S, lease: Lease) -> None:
        """What has to follow a stored state, under the lease, before anything of it is begun: Gates that people answer
        are written, or others get their turn. In each turn that stores a decision, news or not."""

    def carry_out(self, act: A, state: S, resumed: bool) -> Change[S] | None:
        """Begins the act; one that is ``resumed`` was meant before, by somebody else or in a turn that failed, and is
        looked for first. What comes of it is told by ``drain_events``, or seen; a change to be noted now, or None."""

    def release(self, state: S) -> None:
        """After the acts of a turn, or without any: lets go of what no act in flight needs, or stores what they
        changed."""

    def drain_events(self, state: S, now: datetime) -> t.Iterable[Change[S]]:
        """Changes by what happened to acts since the last call, told once, and to be gone through to the end. Each
        counts as something that changed, and does nothing where it is made twice."""

    def keep(self, state: S, now: datetime) -> None:
        """Keeps what acts in flight need, and begins, or looks at, again what is due for that."""

    def settled(self, state: S) -> bool:
        """Whether it has ended, or stands until somebody starts it again; asked where nothing is in flight."""

    def next_look(self) -> datetime | None:
        """When what stands in the way is looked at again; the conductor stays for it, up to ``max_idle``; or None."""

    def wait(self, seconds: float) -> object:
        """Blocks until there is something to record, at most so many seconds, or does queued work, as long as that
        takes. After a FleetError it is called again, and then does what that has kept it from."""

    def close(self) -> None:
        """Nothing is begun or followed any more; what is in flight goes on. Only ``conduct`` calls it, at its end."""


class RecordSteering(Steering[S, X, A], t.Protocol[S, X, A]):
    """One of which the state stands in one record."""

    @property
    def book(self) -> Book[S]:
        """How the state stands in its record; always the same."""


class Keeping(t.Protocol[S]):
    """How a machine stands in one record (``conductor.journal.Journal``) or many. ``state`` is what is stored, with
    what was noted since."""

    state: S
    lease: Lease

    def load(self) -> None:
        """Reads the state again, and makes changes that were noted anew on it; only checks the lease where nobody else
        may write. FleetError ``lease-lost``, or that the record is gone or damaged."""

    def note(self, change: Change[S]) -> None:
        """Makes a change of ``state`` now, which is stored with the next state."""

    def renew(self) -> None:
        """Renews the lease, or checks it where others renew it. FleetError ``lease-lost`` if another has it."""

    def store(self, state: S, in_flight: bool) -> bool:
        """Stores what is new in it, under the lease. False if somebody else wrote in between, and it was read again;
        FleetError ``conflict`` where nobody may. ``in_flight``: acts are. FleetError ``lease-lost``, as of ``load``."""


class Telling(t.Protocol[Told_contra]):
    """Tells people and machines what goes on, as far as it is news. Its FleetErrors in a turn are borne as others."""

    def say(self, text: str, /) -> None:
        """A line for people."""

    def begin(self, state: Told_contra, now: datetime) -> None:
        """A conductor begins, or takes the machine up; once, before its first turn."""

    def stored(self, state: Told_contra, now: datetime) -> None:
        """The state that is recorded by now, in each turn that stores a decision; its acts are begun after that."""

    def waiting(self, state: Told_contra, until: datetime | None, now: datetime) -> None:
        """Nothing is in flight, and the conductor stays; in each such turn. ``until``: None if no instant is known."""

    def end(self, state: Told_contra, why: str, now: datetime) -> None:
        """The conductor ends, but not by an error; ``why`` as in ``Ending``."""


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """For how long a machine is conducted, by which ``holder`` of its lease. ``time_limit``: start nothing and end
    after that (None: never); ``max_idle``: end when nothing is in flight and nothing can start within that long.
    ``interrupted``, asked often, says why to end at once; empty: go on."""

    holder: str
    time_limit: timedelta | None = None
    max_idle: timedelta = timedelta(minutes=2)
    interrupted: t.Callable[[], str] = lambda: ""

    @property
    def stays(self) -> str:
        """The words for people where nothing is in flight, and the conductor stays."""
        seconds = int(self.max_idle.total_seconds())
        return f"stays up to {seconds} s (max_idle); ended before, it goes on when started again"


@dataclass(frozen=True, kw_only=True)
class Ending(t.Generic[S]):
    """How conducting ended. ``why``: settled, waiting, time-limit, or what ``interrupted`` said. ``changed``: whether
    anything was begun or has happened. ``resume_at``: when it is worth being started again, as far as that is known;
    the present if it was cut off."""

    state: S
    why: str
    changed: bool
    resume_at: datetime | None = None


def conduct(
    records: Records,
    lease: str,
    steering: RecordSteering[S, X, A],
    clock: Clock,
    telling: Telling[S],
    limits: RunLimits,
) -> Ending[S]:
    """Takes the lease of that name and conducts the machine until it is settled, waits for longer than allowed, is out
    of time or told to end; then closes the steering, and gives the lease back. What is in flight is not stopped.

    FleetError ``lease-held`` (another conductor is at it; the steering is not closed), ``lease-lost`` (it was taken
    over), those of its book, and any other of the records or the steering. One of PASSING is borne for LEASE_SECONDS,
    once the lease is held and the state read; all others are raised at once.
    """
    held = acquire(records, lease, limits.holder, LEASE_SECONDS)
    conductor = None
    try:
        conductor = Conductor(Journal(records, steering.book, held), steering, clock, telling, limits)
        return conductor.run()
    finally:
        steering.close()
        _release(records, conductor.journal.lease if conductor else held)


class Conductor(t.Generic[S, X, A]):
    """One conducting of one machine, by one thread at a time."""

    def __init__(
        self, journal: Keeping[S], steering: Steering[S, X, A], clock: Clock, telling: Telling[S], limits: RunLimits
    ) -> None:
        self.journal = journal
        self._steering = steering
        self._clock = clock
        self._telling = telling
        self._limits = limits
        self._read = self._loaded = self._renewed = clock()
        # How long it has been running by now, and had been when it was busy last.
        self._ran = self._busy = timedelta(0)
        self._outage = Outage(telling.say, timedelta(seconds=LEASE_SECONDS))
        self._begun: set[str] = set()
        self._changed = False
        self._told = False
        self._wait_failed = False

    def run(self) -> Ending[S]:
        """Steps until it ends. FleetError as of ``conduct``."""
        while (ending := self.step()) is None:
            self.wait(POLL)
        return ending

    def step(self) -> Ending[S] | None:
        """One turn: what has happened is recorded, and what may begin begins, unless interrupted. The ending, or None
        while it goes on. FleetError as of ``conduct``."""
        now = self._now()
        if not self._told:
            self._telling.begin(self.journal.state, now)
            self._told = True
        if why := self._limits.interrupted():
            self._flush(now)
            return self._ending(why, now)
        try:
            ending = self._tick(now)
            if not self._wait_failed:
                self._outage.answered(self._ran)
        except FleetError as error:
            self._tolerate_outage(error, now)
            ending = None
        return ending

    def wait(self, seconds: float) -> None:
        """Waits as the steering does. Records that cannot be reached meanwhile are borne as in a turn. FleetError as of
        ``conduct``."""
        try:
            self._steering.wait(seconds)
            self._wait_failed = False
        except FleetError as error:
            self._wait_failed = True
            self._tolerate_outage(error, self._now())
            wait_unless(self._limits.interrupted, POLL)

    def again_while_unreachable(self, step: t.Callable[[bool], T]) -> T:
        """What ``step`` gives, done again while records cannot be reached, unless the conductor is to end. It is told
        whether it was tried before. FleetError as of ``conduct``."""
        self._outage.begin_anew()
        again = False
        while True:
            try:
                found = step(again)
                self._outage.answered(self._ran)
                return found
            except FleetError as error:
                if self._limits.interrupted():
                    raise
                self._tolerate_outage(error, self._now())
                wait_unless(self._limits.interrupted, POLL)
                again = True

    def _now(self) -> datetime:
        """The time by the clock. What has gone by since it was read last is counted, unless it was set back."""
        now = self._clock()
        self._ran += max(now - self._read, timedelta(0))
        self._read = now
        return now

    def _flush(self, now: datetime) -> None:
        """Records what has ended, if the records answer, and unless others write at each of ATTEMPTS; FleetErrors but
        those of PASSING are raised."""
        try:
            self._record(now)
            any(self._store(self.journal.state) for _attempt in range(ATTEMPTS))
        except FleetError as error:
            if error.code not in PASSING:
                raise

    def _tick(self, now: datetime) -> Ending[S] | None:
        """One turn, without ``interrupted`` and without bearing errors; the ending, or None while it goes on. After
        AWAY, as of a machine that slept, what was decided is no more for the present, and is decided anew."""
        self._record(now)  # first of all: events that nobody takes would make every wait end at once
        self._renew(now)
        self._steering.keep(self.journal.state, now)
        if is_due_again(self._loaded, RELOAD, now):
            self.journal.load()
            self._loaded = now
        if self._limits.time_limit is not None and self._ran >= self._limits.time_limit:
            return self._ending("time-limit", now) if self._store(self.journal.state) else None
        decision = self._decide(now)
        if is_due_again(now, AWAY, self._clock()) or not self._store(decision.state):
            return None
        self._telling.stored(self.journal.state, now)
        self._steering.stored(decision.state, self.journal.lease)
        self._carry_out(decision)
        self._steering.release(decision.state)
        return self._at_rest(decision, now)

    def _record(self, now: datetime) -> None:
        """Notes what has happened to acts since the last call."""
        for change in self._steering.drain_events(self.journal.state, now):
            self._changed = True
            self.journal.note(change)

    def _store(self, state: S) -> bool:
        """As ``Journal.store``."""
        return self.journal.store(state, bool(self._steering.acts_in_flight(state)))

    def _decide(self, now: datetime) -> Decision[S, A]:
        """Decides until all that is to begin was looked at, and may; nothing begins once interrupted."""
        state = self.journal.state
        seen = self._steering.see(state, now)
        while True:
            decision = self._steering.decide(state, seen, now)
            again = None if self._limits.interrupted() else self._steering.look_before_beginning(decision, seen, now)
            if self._limits.interrupted():
                return Decision(state=state)
            if again is None:
                return replace(decision, state=self._steering.before_store(decision))
            seen = again
            self._renew(self._clock())  # many that do not answer, one after another, may take longer than the lease

    def _carry_out(self, decision: Decision[S, A]) -> None:
        """Begins the acts whose intents are stored. What is in flight and was not decided just now was meant before,
        and is looked for first."""
        fresh = {each.operation: each for each in decision.acts}
        flying = self._steering.acts_in_flight(decision.state)
        for act in flying:
            if act.operation in fresh or act.operation not in self._begun:
                now = fresh.get(act.operation)
                self._carry_out_one(now or act, decision.state, resumed=now is None)
                self._begun.add(act.operation)
        followed = {each.operation for each in flying}
        for act in decision.acts:
            self._changed = True
            if act.operation not in followed:
                self._carry_out_one(act, decision.state, resumed=False)

    def _carry_out_one(self, act: A, state: S, resumed: bool) -> None:
        """Begins the act, and notes the change that comes of it, if any."""
        change = self._steering.carry_out(act, state, resumed)
        if change is not None:
            self.journal.note(change)

    def _renew(self, now: datetime) -> None:
        """Renews the lease, if a third of its time is over."""
        if is_due_again(self._renewed, timedelta(seconds=LEASE_SECONDS / 3), now):
            self.journal.renew()
            self._renewed = now

    def _tolerate_outage(self, error: FleetError, now: datetime) -> None:
        """Bears records that do not answer, as of ``Outage.failed``; raises the error if not PASSING."""
        if error.code not in PASSING:
            raise error
        self._outage.failed(error, self._ran, now)
        self._loaded = now - RELOAD

    def _at_rest(self, decision: Decision[S, A], now: datetime) -> Ending[S] | None:
        """The ending, if nothing is in flight, nor will be soon; else None, and what is waited for is told if so."""
        if self._steering.acts_in_flight(decision.state):
            self._busy = self._ran
            return None
        if self._steering.settled(decision.state):
            return self._ending("settled", now)
        if self._limits.interrupted():
            return None  # perhaps nothing was decided; the next turn says why it ends
        look, wake = self._steering.next_look(), decision.wake_at
        if wake is not None and wake - now <= self._limits.max_idle:
            self._telling.waiting(decision.state, wake, now)
            return None
        if look is None or self._ran >= self._busy + self._limits.max_idle:
            return self._ending("waiting", now, min(filter(None, (wake, look)), default=None))
        self._telling.waiting(decision.state, look, now)
        return None

    def _ending(self, why: str, now: datetime, resume_at: datetime | None = None) -> Ending[S]:
        """Tells the end, and gives it; ``resume_at`` is ``now`` where it was cut off."""
        if why not in ("settled", "waiting"):
            resume_at = now
        self._telling.end(self.journal.state, why, now)
        return Ending(state=self.journal.state, why=why, changed=self._changed, resume_at=resume_at)


def _release(records: Records, lease: Lease) -> None:
    """Gives the lease back. One that is lost, or records that do not answer, are passed over."""
    try:
        records.release(lease)
    except FleetError as error:
        if error.code != "lease-lost" and error.code not in PASSING:
            raise
