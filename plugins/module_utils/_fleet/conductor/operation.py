# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The life of an upgrade of a cluster or pool: look, begin, follow, look again until it ends or ``OperationLost``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ..._core.errors import FleetError
from ..._core.values import update_states as states
from ..drivers.contract import (
    FAILED,
    IN_PROGRESS,
    NOT_BEGUN,
    SUCCEEDED,
    UNKNOWN,
    Driver,
    Observation,
    OperationProgress,
    Work,
)


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds: ``interval`` between two looks; ``settle`` for a subject to show what its driver says is done;
    ``lost_after`` until what is not seen is lost, and for how long a driver may fail to tell."""

    interval: float = 2.0
    settle: float = 120.0
    lost_after: float = 900.0


@dataclass(frozen=True, kw_only=True)
class Begun:
    """The operation goes on outside. Record ``reference``, by which it is found again; it may come again with another.
    ``version_before`` is the subject's; empty for one that was taken up."""

    operation: str
    reference: str
    version_before: str = ""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the operation tells of itself, for people."""

    operation: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Ended:
    """``result`` is Completed, Failed or Skipped; ``reason`` is one of ``_core.values.update_states``, or empty;
    versions are those of the subject, empty where not known; ``parts_after`` says what its parts were at then, where
    they were looked at."""

    operation: str
    result: str
    reason: str = ""
    message: str = ""
    version_before: str = ""
    version_after: str = ""
    parts_after: tuple[str, ...] = ()

    @classmethod
    def failed(cls, operation: str, message: str, *, begun: bool, version_before: str = "") -> Ended:
        """The end by an error, with reason UpgradeFailed if it was ``begun``, else PreconditionFailed."""
        reason = states.UPGRADE_FAILED if begun else states.PRECONDITION_FAILED
        return cls(
            operation=operation,
            result=states.FAILED,
            reason=reason,
            message=message,
            version_before=version_before,
        )


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """Nothing was begun now: try later, because of Unreachable or OperationInProgress; with ``anew`` for any reason,
    and it waits for its turn anew."""

    operation: str
    reason: str
    message: str = ""
    anew: bool = False


@dataclass(frozen=True, kw_only=True)
class Paused:
    """It goes on when it is taken up again, which is worth it at ``until``; None: nobody knows when."""

    operation: str
    until: datetime | None
    message: str = ""


class FailureReason(t.Protocol):
    """Why an operation is skipped or has failed, as of ``Goal``."""

    @property
    def reason(self) -> str:
        """One of ``_core.values.update_states``."""

    @property
    def message(self) -> str:
        """That in a sentence, for people."""


class Goal(t.Protocol):
    """Whether what a subject says of itself is what an operation is for, as ``_core.updates.releases.versions``. One
    may go by its last look (``PoolSubject``)."""

    def reached(self, version: str, target: str) -> bool:
        """Whether a subject at ``version`` is where it should be; ValueError for what is no version."""

    def nothing_to_do(self, version: str, target: str) -> FailureReason | None:
        """Why it is skipped, or None. Asked once, before it begins. ValueError for what is no version."""

    def step_refused(self, version: str, target: str) -> FailureReason | None:
        """Why the step from ``version`` to ``target`` must not be made, or None. Asked once, before it begins.
        ValueError for what is no version."""


Event = t.Union[Begun, Said, Ended, Blocked, Paused]  # noqa: UP007  # pylint takes the other form for an error
# Seconds that never go back, from a start that says nothing.
Clock = t.Callable[[], float]
# Sleeps so many seconds, 0 too; raises Closed before or after that as soon as nobody follows any more.
Pause = t.Callable[[float], None]
Last = t.Union[Ended, Blocked, Paused]  # noqa: UP007  # pylint takes the other form for an error

# Refusals of ``Driver.begin`` that pass by themselves.
_BUSY = frozenset({"busy", "operation-in-progress"})
# No answer, or none that says whether the request was carried out.
_UNANSWERED = frozenset({"unreachable", "timeout", "bad-answer", "server-error", "too-many-requests"})


class Closed(Exception):
    """Nobody wants to know any more."""


class Followed(t.Protocol):
    """One operation as an executor follows it, in a thread of its own. ``begun`` says, also after an error of ``run``,
    whether it may go on outside."""

    begun: bool

    @property
    def version_before(self) -> str:
        """Of the subject when it was begun, empty if that is not known here."""

    def run(self, resumed: bool, only_follow: bool = False) -> Last:
        """Carries it on to its last event, and gives that, which it does not tell; called once. The arguments are as of
        ``Executor.begin``. Any error that it raises is its end as failed, but for Closed, when nobody follows any
        more."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt at ``work``, and who follows it. ``tell`` takes Begun and Said; ``clock`` gives monotonic seconds;
    ``pause`` sleeps so many seconds, and raises Closed when nobody follows any more. ``held_back`` is asked right
    before it begins: why it is to wait instead, None if it is not."""

    driver: Driver
    work: Work
    goal: Goal
    pace: Pace
    tell: t.Callable[[Event], None]
    clock: Clock
    pause: Pause
    held_back: t.Callable[[], Blocked | None] = lambda: None


# Makes what follows the attempt, in the thread that follows it; begins nothing.
OperationMaker = t.Callable[[Attempt], Followed]


class Teller:
    """Tells of one attempt at ``operation``; its last events are only made here. Of one that was taken up
    (``recorded``) it tells no version before, which is in the record."""

    def __init__(self, operation: str, tell: t.Callable[[Event], None]) -> None:
        self._operation = operation
        self._tell = tell
        self._said = ""
        self.version_before = ""
        self.recorded = False

    def begins_at(self, version: str) -> None:
        """Keeps the version of the subject as ``version_before``: the first one that is told, and none if it was
        taken up."""
        if not self.recorded:
            self.version_before = self.version_before or version

    def say(self, message: str) -> None:
        """Tells people a sentence; nothing if it is empty, or what was said last."""
        if message and message != self._said:
            self._said = message
            self._tell(Said(operation=self._operation, message=message))

    def begun(self, reference: str) -> None:
        """Tells that it goes on outside, under this reference."""
        self._tell(Begun(operation=self._operation, reference=reference, version_before=self.version_before))

    def blocked(self, reason: str, message: str) -> Blocked:
        """Makes the end of an attempt that did not begin; see ``Blocked``."""
        return Blocked(operation=self._operation, reason=reason, message=message)

    def paused(self, until: datetime | None, message: str) -> Paused:
        """Makes the end for now; see ``Paused``."""
        return Paused(operation=self._operation, until=until, message=message)

    def ended(self, result: str, reason: str = "", message: str = "", version_after: str = "") -> Ended:
        """Makes the end; see ``Ended``."""
        return Ended(
            operation=self._operation,
            result=result,
            reason=reason,
            message=message,
            version_before=self.version_before,
            version_after=version_after,
        )


class Operation:
    """One operation, as it is followed. ``teller`` is that of the attempt which it is a part of, if any."""

    def __init__(self, attempt: Attempt, teller: Teller | None = None) -> None:
        self._driver = attempt.driver
        self._work = attempt.work
        self._goal = attempt.goal
        self._pace = attempt.pace
        self._clock = attempt.clock
        self._pause = attempt.pause
        self._held_back = attempt.held_back
        self.teller = teller or Teller(attempt.work.operation, attempt.tell)
        self.begun = False

    @property
    def version_before(self) -> str:
        """The version of the subject when it was begun; empty if it was taken up, or has not been looked at."""
        return self.teller.version_before

    def run(self, resumed: bool, only_follow: bool = False) -> Ended | Blocked:
        """Begins it and follows it to its end. A subject that cannot be looked at, is busy or held back gives Blocked;
        one with nothing to do is Skipped, one that must not make this step Failed. ``resumed``: its intent was recorded
        earlier; it is begun then only where its driver says that it was not, and not with ``only_follow``.

        FleetError of ``Driver.begin``, but for those that say it is busy, or that there was no answer, after which its
        driver is asked whether it was begun. ValueError as of ``Goal``, where the subject tells what is no version;
        Closed as of ``Attempt``.
        """
        self._pause(0)
        return (self.take_up(only_follow) if resumed else None) or self._start()

    def take_up(self, only_follow: bool) -> Ended | Blocked | None:
        """Looks for one whose intent was recorded, and follows it to its end. None if its driver says that it was not
        begun, unless ``only_follow``. ValueError and Closed as of ``run``."""
        progress = self._poll()
        if progress.state == NOT_BEGUN and not only_follow:
            return None
        self.begun = True
        return self._follow(progress)

    def is_seen(self) -> bool:
        """Whether its driver sees that it was begun; False where that fails to tell for ``lost_after`` seconds. Closed
        as of ``Attempt``."""
        return self._poll().state not in (UNKNOWN, NOT_BEGUN)

    def _start(self) -> Ended | Blocked:
        """Looks at the subject, begins it if it may, and follows it. As of ``run``."""
        seen = self._look()
        if isinstance(seen, FleetError):
            return self.teller.blocked(states.UNREACHABLE, str(seen))
        if seen.busy and seen.busy != self._work.operation:
            return self.teller.blocked(states.OPERATION_IN_PROGRESS, f"{seen.busy} is under way there")
        self.teller.begins_at(seen.version)
        done = self._goal.nothing_to_do(seen.version, self._work.target)
        if done:
            return self.teller.ended(states.SKIPPED, done.reason, done.message, version_after=seen.version)
        refused = self._goal.step_refused(seen.version, self._work.target)
        if refused:
            return self.teller.ended(states.FAILED, refused.reason, refused.message, version_after=seen.version)
        self._pause(0)
        held = self._held_back()
        if held is not None:
            return held
        try:
            reference = self._driver.begin(self._work)
        except FleetError as error:
            if error.code in _BUSY:
                return self.teller.blocked(states.OPERATION_IN_PROGRESS, str(error))
            if error.code not in _UNANSWERED:
                raise
            return self._without_answer(error)
        self.begun = True
        self._refer(reference)
        return self._follow(self._poll())

    def _without_answer(self, error: FleetError) -> Ended | Blocked:
        """What was asked for may have been begun all the same: it is followed; but where its driver sees that it was
        not begun, it is Blocked, to be tried again later. ValueError and Closed as of ``run``."""
        self.teller.say(f"there was no answer to its beginning: {error}")
        progress = self._poll()
        if progress.state == NOT_BEGUN:
            return self.teller.blocked(states.UNREACHABLE, str(error))
        self.begun = True
        if progress.state == UNKNOWN:
            progress = replace(progress, message="; ".join(filter(None, (str(error), progress.message))))
        return self._follow(progress)

    def _follow(self, progress: OperationProgress) -> Ended:
        """Follows one that was begun to its end, or until it cannot be seen and the subject is watched instead.
        ValueError and Closed as of ``run``."""
        while progress.state == IN_PROGRESS:
            self.teller.say(progress.message)
            self._pause(self._pace.interval)
            progress = self._poll()
        if progress.state == SUCCEEDED:
            return self._settled()
        if progress.state == FAILED:
            seen = self._look()
            after = "" if isinstance(seen, FleetError) else seen.version
            return self.teller.ended(states.FAILED, states.UPGRADE_FAILED, progress.message, version_after=after)
        return self._watched(progress.message)

    def _settled(self) -> Ended:
        """The driver is done: Completed if the subject shows the target within ``settle`` seconds, else Failed.
        ValueError and Closed as of ``run``."""
        seen = self._await_target(self._pace.settle)
        if isinstance(seen, FleetError):
            message = f"the driver says it is done, but {self._work.subject} does not answer: {seen}"
        elif self._goal.reached(seen.version, self._work.target):
            return self.teller.ended(states.COMPLETED, version_after=seen.version)
        else:
            message = f"the driver says it is done, but {self._work.subject} is at {seen.version}"
            message += f", not {self._work.target}"
        after = "" if isinstance(seen, FleetError) else seen.version
        return self.teller.ended(states.FAILED, states.UPGRADE_FAILED, message, version_after=after)

    def _watched(self, why: str) -> Ended:
        """Begun where nothing can be seen from here: Completed if the subject shows the target within ``lost_after``
        seconds, else Failed, for it is lost. ValueError and Closed as of ``run``."""
        self.teller.say(f"{why or 'nothing is known of the operation here'}; watching {self._work.subject} itself")
        seen = self._await_target(self._pace.lost_after)
        if not isinstance(seen, FleetError) and self._goal.reached(seen.version, self._work.target):
            return self.teller.ended(states.COMPLETED, version_after=seen.version)
        state = str(seen) if isinstance(seen, FleetError) else f"{self._work.subject} is at {seen.version}"
        message = f"the operation cannot be seen from here, nor its end in {self._pace.lost_after:g} s: {state}"
        message += f"; {why}" if why else ""
        after = "" if isinstance(seen, FleetError) else seen.version
        return self.teller.ended(states.FAILED, states.OPERATION_LOST, message, version_after=after)

    def _await_target(self, seconds: float) -> Observation | FleetError:
        """What was seen last: at the target, or when the time was over. ValueError and Closed as of ``run``."""
        end = self._clock() + seconds
        while True:
            seen = self._look()
            if not isinstance(seen, FleetError) and self._goal.reached(seen.version, self._work.target):
                return seen
            left = end - self._clock()
            if left <= 0:
                return seen
            self._pause(min(self._pace.interval, left))

    def _look(self) -> Observation | FleetError:
        """What the subject is like, or the error, which is not raised."""
        try:
            return self._driver.observe(self._work.subject)
        except FleetError as error:
            return error

    def _poll(self) -> OperationProgress:
        """How it stands. A driver that fails to tell is asked again for ``lost_after`` seconds, for it may well go on;
        UNKNOWN then. A new reference is told. Closed as of ``Attempt``."""
        end = self._clock() + self._pace.lost_after
        while True:
            try:
                progress = self._driver.poll(self._work)
            except FleetError as error:
                if self._clock() >= end:
                    return OperationProgress(state=UNKNOWN, message=f"the driver cannot tell how it stands: {error}")
                self.teller.say(f"the driver cannot tell how it stands, and is asked again: {error}")
                self._pause(self._pace.interval)
                continue
            self._refer(progress.reference or self._work.reference)
            return progress

    def _refer(self, reference: str) -> None:
        """Keeps the reference and tells it, if it is another than before."""
        if reference != self._work.reference:
            self._work = replace(self._work, reference=reference)
            self.teller.begun(reference)
