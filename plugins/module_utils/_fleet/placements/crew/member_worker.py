# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A worker's side: it does on members what it is told to, writes only as long as whoever holds the leases may, and says
every quarter of a second what it has written; an exception that nobody expected there is told as ``member-fault``."""

from __future__ import annotations

import os
import threading
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from ...._core.errors import FleetError, Problem, fault
from ...._core.plan.outcome import MemberOutcome
from ...._kube.login.connection_notes import CONNECTION_NOTES
from ...._kube.login.known_secrets import SHOWN
from ...keeping import running_time
from ...members.members import Clients
from ...permits import ALIVE, PermitPage
from ..look import on_one_member
from ..on_member.member_apply import MemberProgress, MemberTask, Seen
from .message_pipe import MessagePipe
from .messages import (
    PermitAnswer,
    PermitQuestion,
    SaidLine,
    SecretsLearned,
    TaskEnd,
    TaskNews,
    TaskOrder,
)

# Seconds between two words on what is on its way.
TELL = 0.25


@dataclass
class _Question:
    """What was asked, until there is an answer."""

    answered: threading.Event = field(default_factory=threading.Event)
    problems: tuple[Problem, ...] = ()


class MemberWorker:
    """One process. ``clients`` are its own. What it learns of secrets it says before it shows them to anybody."""

    def __init__(self, pipe: MessagePipe, clients: Clients, page: PermitPage, threads: int) -> None:
        self._pipe, self._clients, self._page, self._threads = pipe, clients, page, threads
        self._numbers = count(1)
        self._asked: dict[int, _Question] = {}
        self._seen: dict[int, Seen] = {}
        self._running: dict[int, MemberProgress] = {}
        self._identified: set[str] = set()

    def serve(self) -> None:
        """Does what it is told to, until nobody is at the other end any more; what is under way then is left. To be
        called once, in the forked process."""
        SHOWN.tell_new_to(lambda forms: self._pipe.send(SecretsLearned(forms)))
        CONNECTION_NOTES.take()  # what is known already is told by the process that this one was forked from
        threading.Thread(target=self._tell, daemon=True).start()
        pool = ThreadPoolExecutor(self._threads)
        while True:
            try:
                message = self._pipe.receive()
            except (EOFError, OSError):
                return
            if isinstance(message, TaskOrder):
                for number in message.dropped:
                    self._seen.pop(number, None)
                pool.submit(self._do_task, message)
            elif isinstance(message, PermitAnswer):
                self._hand_over_answer(message)
            elif isinstance(message, SecretsLearned):
                SHOWN.learn(message.forms)

    def _do_task(self, order: TaskOrder) -> None:
        """Does the task, and says how it ended whatever becomes of it: somebody waits for that."""
        progress = self._running[order.number] = MemberProgress()
        try:
            self._say(self._done(order, progress))
        except BaseException as error:  # noqa: BLE001  # told as an error of this member
            self._running.pop(order.number, None)
            self._seen.pop(order.number, None)
            problems = fault(error, "member-fault", order.task.cluster).problems
            self._say(TaskEnd(order.number, None, problems, tuple(progress.written), progress.underway))

    def _done(self, order: TaskOrder, progress: MemberProgress) -> TaskEnd:
        """How the task ended, whatever it raised; what was seen is kept if another order is to follow it."""
        name = order.task.cluster
        outcome: MemberOutcome | None = None
        problems: tuple[Problem, ...] = ()
        try:
            outcome = on_one_member(self._clients, self._own_task(order, progress))
        except FleetError as error:
            problems = error.problems
        except BaseException as error:  # noqa: BLE001  # told as an error of this member
            problems = fault(error, "member-fault", name).problems
        if order.task.followed and progress.seen is not None:
            self._seen[order.number] = progress.seen
        del self._running[order.number]
        end = TaskEnd(
            order.number,
            outcome and _lean(outcome),
            problems,
            tuple(progress.written),
            progress.underway,
            kept=order.number in self._seen,
            notes=CONNECTION_NOTES.take() or None,
        )
        return end if name in self._identified else self._with_identity(name, end)

    def _own_task(self, order: TaskOrder, progress: MemberProgress) -> MemberTask:
        """The task with this process's permit, words and progress, and with what the look that it follows has seen,
        which is kept no longer."""
        permit = partial(self._permit, order)
        say = partial(self._tell_line, order.number)
        return replace(order.task, permit=permit, say=say, progress=progress, seen=self._seen.pop(order.seen, None))

    def _with_identity(self, name: str, end: TaskEnd) -> TaskEnd:
        """The end, with what is known of which cluster the member is; it is told once for each member."""
        uid = self._clients.identities.seen.get(name, "")
        unknown = self._clients.identities.unknown.get(name)
        if uid or unknown:
            self._identified.add(name)
        return end._replace(uid=uid, unknown=unknown)

    def _permit(self, order: TaskOrder) -> None:
        """FleetError, with the problems that were answered, if there is to be no further write. Where what is shared
        does not permit it, it is asked for, and the answer counts for as long as a sign of life does; a holder that is
        stopped is waited for."""
        while not self._page.permits(order.window):
            asked = running_time()
            problems = self._ask(order.number)
            if problems:
                raise FleetError.of(problems)
            if self._page.holder_lives and running_time() - asked < ALIVE:
                return

    def _ask(self, order: int) -> tuple[Problem, ...]:
        """Asks whether there may be a further write for the order, and waits for the answer: why not; empty if nothing
        is against it."""
        number, question = next(self._numbers), _Question()
        self._asked[number] = question
        self._say(PermitQuestion(order, number))
        question.answered.wait()
        del self._asked[number]
        return question.problems

    def _hand_over_answer(self, message: PermitAnswer) -> None:
        """Hands the answer to whoever has asked."""
        question = self._asked[message.number]
        question.problems = message.problems
        question.answered.set()

    def _tell_line(self, order: int, text: str) -> None:
        """Has a line about the order told to people."""
        self._say(SaidLine(order, text))

    def _say(self, message: t.Any) -> None:
        """Sends the message; ends this process where nobody is at the other end any more."""
        try:
            self._pipe.send(message)
        except OSError:
            os._exit(1)  # nobody is there any more

    def _tell(self) -> None:
        """Says every quarter of a second what is written and on its way, if that is news, and never returns: if this
        process is killed, or has to be left, that is known."""
        told: dict[int, tuple[int, object]] = {}
        while True:
            time.sleep(TELL)
            for number, progress in list(self._running.items()):
                state = (len(progress.written), progress.underway)
                if told.get(number, (0, None)) != state:
                    self._say(TaskNews(number, tuple(progress.written), progress.underway))
                    told[number] = state
            told = {number: state for number, state in told.items() if number in self._running}


def _lean(outcome: MemberOutcome) -> MemberOutcome:
    """The outcome without the manifests of its steps, which the other side has."""
    return replace(outcome, steps=tuple(replace(each, manifest=None) for each in outcome.steps))
