# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""An update run in the conductor's loop: what it sees of members, gates and approvals, upgrades begun by drivers,
blocked ones tried again, put back or failed after the ``unreachable_timeout``, and how conducting ended."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from ..._core.machine import Decision
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates import decide as machine
from ..._core.updates.commands import held_up, put_back, with_attempt_end, with_reference
from ..._core.updates.dispatch import operation_prefix
from ..._core.updates.run import (
    Begin,
    MemberBlocker,
    OpenGate,
    RunState,
    UpdateAct,
    UpdateSeen,
)
from ..._core.updates.status import derive
from ..._core.updates.terms import Terms
from ..._core.updates.timing.taking_turns import TakingTurns
from ..._core.values.clock_skew import is_due
from ..._core.values.instants import write_time
from ..._core.values.update_states import (
    COMPLETED,
    FAILED,
    OPERATION_IN_PROGRESS,
    OPERATION_LOST,
    STOPPED,
    TERMINAL,
    UNREACHABLE,
)
from ..._store.records import Lease
from ..audit.update_runs import testify_uncounted
from ..conductor.journal import Change
from ..conductor.loop import (
    RunLimits,
    Telling,
    conduct,
)
from ..conductor.operation import (
    Begun,
    Blocked,
    Ended,
    Event,
    Paused,
    Said,
)
from ..drivers.contract import Work
from ..session import Session
from .gate_objects import GateKeeper
from .monitor import MemberMonitor
from .progress import RunProgress
from .run_record import RunBook

TRY_AGAIN = timedelta(seconds=5)
TAKEN = MemberBlocker(reason=OPERATION_IN_PROGRESS, message="others took it before it had begun")
UNMARKED = "somebody wrote that it was meant: its FleetMember does not bear its mark; it is followed, and not begun"
RunChange = Change[RunState]


class ExecutorLike(t.Protocol):
    """What is wanted of an executor, by the conductor's thread alone; see ``conductor.executor.Executor``."""

    def begin(self, work: Work, *, resumed: bool, only_follow: bool = False) -> None:
        """Begins it, or takes it up, as of ``Executor.begin``. What comes of it, errors too, is told by ``events``."""

    def events(self) -> tuple[Event, ...]:
        """What happened since the last call, oldest first; each is told once."""

    def wait(self, seconds: float) -> object:
        """Blocks until there is an event that ``events`` has not given, at most so many seconds."""

    def close(self) -> None:
        """Follows nothing any more, once calls under way have ended or 2 seconds are over; what was begun goes on."""


@dataclass(frozen=True, kw_only=True)
class ApprovalRules:
    """``terms`` are what approvals have to be; ``since`` says from when on the hub vouches for their names, as of
    ``vouched_since``."""

    terms: Terms = Terms()
    since: t.Callable[[], datetime | None] = lambda: None


@dataclass(frozen=True, kw_only=True)
class RunEnding:
    """How conducting a run ended; ``state``, ``why``, ``changed`` and ``resume_at`` as of ``conductor.loop.Ending``, or
    ``UpdateSteering.resumes`` where all that is in flight stands still. ``witnessed`` are members that this conductor
    saw at the target; ``behind`` has, by name, the versions of those that count as done and are not there."""

    run: UpdateRun
    state: RunState
    why: str
    changed: bool
    resume_at: datetime | None = None
    witnessed: frozenset[str] = frozenset()
    behind: t.Mapping[str, str] = field(default_factory=dict)

    @property
    def resumes(self) -> str:
        """``resume_at`` in RFC 3339, UTC; empty if there is none."""
        return write_time(self.resume_at) if self.resume_at else ""


def conduct_run(
    session: Session,
    name: str,
    sight: MemberMonitor,
    works: ExecutorLike,
    progress: RunProgress,
    limits: RunLimits,
    here: t.Callable[[], str],
    rules: ApprovalRules = ApprovalRules(),
    telling: Telling[RunState] | None = None,
) -> RunEnding:
    """Conducts the run as ``conduct`` does, and ends also (``waiting``) when all that is in flight stands still until
    later. ``sight`` looks at members and claims them, ``works`` begins their upgrades and follows them, ``rules`` judge
    approvals. ``here`` says where operations are begun, as in ``drivers.host``. ``telling`` is what tells of it, if
    more than ``progress``. ``behind`` of the ending is empty.

    FleetError ``run-deleted``, also where another than that of ``progress`` has its name by now, and those of
    ``conduct``.
    """
    book, records = RunBook(name, progress.run.metadata.uid), session.records
    told_of = partial(testify_uncounted, session, progress.run)
    gates = GateKeeper(records, rules.since, rules.terms, progress.approval_refused, told_of)
    steering = UpdateSteering(book, sight, works, gates, progress, here, TakingTurns(limits.max_idle))
    told = limits.interrupted
    limits = replace(limits, interrupted=lambda: told() or steering.why_resting())
    ending = conduct(records, f"run/{name}", steering, session.clock, telling or progress, limits)
    return RunEnding(
        run=book.run,
        state=ending.state,
        why=ending.why,
        changed=ending.changed,
        resume_at=ending.resume_at or (steering.resumes if ending.why == "waiting" else None),
        witnessed=steering.witnessed(ending.state),
    )


class UpdateSteering:
    """An update run for the loop. ``here`` as of ``conduct_run``."""

    def __init__(
        self,
        book: RunBook,
        sight: MemberMonitor,
        works: ExecutorLike,
        gates: GateKeeper,
        progress: RunProgress,
        here: t.Callable[[], str],
        turns: TakingTurns,
    ) -> None:
        self.book = book
        self._sight = sight
        self._works = works
        self._gates = gates
        self._progress = progress
        self._here = here
        self._completed: set[str] = set()
        self._retries: dict[str, datetime] = {}
        self._blocked_since: dict[str, datetime] = {}
        self._now = datetime.min
        self._turns = turns
        self._taken_on: list[str] = []
        self._resting = False
        self._wake: datetime | None = None

    def see(self, state: RunState, now: datetime) -> UpdateSeen:
        """Members, gates and approvals as they are now; Gates with an approval that does not count are deleted.
        FleetError ``gate-unproven``, ``record-damaged``, ``duplicate-location``, ``conflict``, others of the records,
        and of ``ApprovalRules.since``."""
        self._sight.refresh(now)
        self._gates.prove(self.book.run, state, now)
        approvals, shown = self._gates.judge_open_gates(self.book.run, state, now)
        return UpdateSeen(members=dict(self._sight.views), approvals=approvals, gates=shown)

    def decide(self, state: RunState, seen: UpdateSeen, now: datetime) -> Decision[RunState, UpdateAct]:
        """As ``_core.updates.decide``."""
        found = machine.decide(state, seen, now)
        self._wake, self._now = found.wake_at, now
        return found

    def acts_in_flight(self, state: RunState) -> tuple[UpdateAct, ...]:
        """Upgrades that were begun and have not ended."""
        return machine.acts_in_flight(state)

    def look_before_beginning(
        self, decision: Decision[RunState, UpdateAct], seen: UpdateSeen, now: datetime
    ) -> UpdateSeen | None:
        """Looks at members that are about to begin, and claims those that may. None if all were claimed before; else
        what is seen by now, to decide anew. FleetError as of ``MemberMonitor.claim_or_look``."""
        begins = [each for each in decision.acts if isinstance(each, Begin)]
        return None if self._sight.claim_or_look(begins, now) else replace(seen, members=dict(self._sight.views))

    def before_store(self, decision: Decision[RunState, UpdateAct]) -> RunState:
        """The state with what each member was at before its upgrade, as far as known, and where that is begun.
        FleetError of ``here``."""
        run = decision.state
        for each in decision.acts:
            if isinstance(each, Begin):
                run = with_reference(run, each.operation, self._here(), self._sight.versions.get(each.member, ""))
        return run

    def stored(self, state: RunState, lease: Lease) -> None:
        """Makes the Gate objects say what the run says. FleetErrors as of ``GateKeeper.publish``."""
        self._gates.publish(self.book.run, state, lease)

    def carry_out(self, act: UpdateAct, state: RunState, resumed: bool) -> RunChange | None:
        """Tells of a gate; or begins an upgrade, or takes it up if it is ``resumed``, and only follows it where the
        member does not bear its mark, which is there before the intent is recorded: somebody else wrote that then. The
        change that takes off what held up an upgrade that was resumed, or that puts one back whose member others have
        taken since; else None. FleetErrors of the records."""
        if isinstance(act, OpenGate):
            self._progress.gate_opened(act)
            return None
        ours, now = self._sight.has_mark(act.member, act.operation), self._now
        if not (ours or resumed):
            self._sight.forget_claim(act.member)
            return lambda run: put_back(run, act.operation, TAKEN, now)
        if not ours:
            self._progress.said(act.operation, UNMARKED)
        elif resumed:
            self._sight.take_up(act.member, act.operation)
        self._works.begin(self._work(act, state), resumed=resumed, only_follow=not ours)
        return _held_up(act.operation, "") if resumed else None

    def release(self, state: RunState) -> None:
        """Gives up the claims of members that are in flight no more. FleetErrors of the records."""
        flying = {each.member: each.operation for each in machine.acts_in_flight(state)}
        self._resting = self._turns.all_stand_still(flying.values())
        self._sight.keep_only(flying, operation_prefix(state))

    def drain_events(self, state: RunState, now: datetime) -> t.Iterator[RunChange]:
        """A change for each operation that ``keep`` has begun again, and for each event of the executor since the last
        call, which does nothing for what is only said. To be gone through to the end."""
        for operation in self._taken_on:
            yield _held_up(operation, "")
        self._taken_on = []
        for event in self._works.events():
            if isinstance(event, Said):
                self._progress.said(event.operation, event.message)
                yield _nothing
            elif isinstance(event, Paused):
                self._blocked_since.pop(event.operation, None)
                self._turns.set_aside(event.operation, event.until)
                self._progress.said(event.operation, event.message)
                yield _held_up(event.operation, event.message)
            elif isinstance(event, Blocked):
                yield self._blocked(event, state, now)
            else:
                self._blocked_since.pop(event.operation, None)
                if isinstance(event, Ended) and event.result == COMPLETED:
                    self._completed.add(event.operation)
                yield change_of(event, now)

    def keep(self, state: RunState, now: datetime) -> None:
        """Renews leases of members in flight, and begins again what was blocked or has paused, once it is time.
        FleetErrors of the records."""
        self._sight.renew(now)
        flying = {each.operation: each for each in machine.acts_in_flight(state)}
        self._retries |= dict.fromkeys(self._turns.due(flying, now), now)
        for operation in [one for one, at in self._retries.items() if is_due(at, TRY_AGAIN, now)]:
            act = flying.get(operation)
            if act:
                ours = self._sight.has_mark(act.member, operation)
                self._works.begin(self._work(act, state), resumed=True, only_follow=not ours)
                self._taken_on.append(operation)
            del self._retries[operation]  # not before: the records may fail

    def why_resting(self) -> str:
        """``waiting`` if all that was in flight at the last ``release`` stands still until later; else empty."""
        return "waiting" if self._resting else ""

    @property
    def resumes(self) -> datetime | None:
        """When the first upgrade that stands still goes on, or the next may begin; None where that is not known."""
        return min((each for each in (*self._turns.instants, self._wake) if each), default=None)

    def settled(self, state: RunState) -> bool:
        """Whether the run has ended (Completed, Skipped, Failed), or was stopped."""
        return derive(state).state in (*TERMINAL, STOPPED)

    def next_look(self) -> datetime | None:
        """As of ``MemberMonitor.next_look``."""
        return self._sight.next_look()

    def wait(self, seconds: float) -> object:
        """Until the executor has an event, at most so many seconds."""
        return self._works.wait(seconds)

    def close(self) -> None:
        """Follows no upgrade any more; what was begun goes on."""
        self._works.close()

    def witnessed(self, state: RunState) -> frozenset[str]:
        """Members whose operation this conductor saw end as completed."""
        return frozenset(row.name for row in state.members if row.operation in self._completed)

    def _blocked(self, event: Blocked, state: RunState, now: datetime) -> RunChange:
        """What comes of an upgrade that was blocked between the look and the beginning: one that is to wait for its
        turn anew is put back. Else no change while it is tried again, which is told; once that has lasted for the run's
        ``unreachable_timeout`` it has failed, as lost if it does not answer."""
        if event.anew:
            self._blocked_since.pop(event.operation, None)
            self._progress.said(event.operation, event.message)
            for each in machine.acts_in_flight(state):
                if each.operation == event.operation:
                    self._sight.forget_claim(each.member)
            why = MemberBlocker(reason=event.reason, message=event.message)
            return lambda run: put_back(run, event.operation, why, now)
        since = self._blocked_since.setdefault(event.operation, now)
        if now < since + state.unreachable_timeout:
            self._retries[event.operation] = now + TRY_AGAIN
            self._progress.said(event.operation, event.message)
            return _nothing
        reason = OPERATION_LOST if event.reason == UNREACHABLE else event.reason
        ended = Ended(operation=event.operation, result=FAILED, reason=reason, message=event.message)
        return change_of(ended, now)

    def _work(self, act: Begin, state: RunState) -> Work:
        """The upgrade of one member as work for its driver, with the reference that is recorded."""
        run = self.book.run
        return Work(
            operation=act.operation,
            run=run.name,
            member=act.member,
            upgrade_type=run.spec.managed_cluster_update.upgrade.type,
            target=run.target,
            attempt=act.attempt,
            reference=next(row.reference for row in state.members if row.operation == act.operation),
        )


def _nothing(run: RunState) -> RunState:
    """The change that changes nothing."""
    return run


def _held_up(operation: str, message: str) -> RunChange:
    """The change that says what an operation waits for; an empty ``message``: that it goes on."""
    return lambda run: held_up(run, operation, message)


def change_of(event: Begun | Ended, now: datetime) -> RunChange:
    """What an event does to the run: keeps the reference of an operation that has begun, or ends the member's attempt
    at ``now``; nothing once its operation is not in flight."""
    if isinstance(event, Begun):
        return lambda run: with_reference(run, event.operation, event.reference, event.version_before)
    return lambda run: with_attempt_end(
        run,
        event.operation,
        event.result,
        now,
        message=event.message,
        reason=event.reason,
        version_before=event.version_before,
        version_after=event.version_after,
        node_images=event.parts_after,
    )
