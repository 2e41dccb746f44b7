# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Hearing what the worker processes say, and passing it on with secrets taken out: how tasks end, what they wrote,
lines for people, UIDs of members' clusters that are merged; answering whether they may still write.

A worker says what it learns of secrets before it shows them to anybody. So whatever could hold one was said later than
that; it is passed on only when all that was said before, by all workers, has been heard.
"""

from __future__ import annotations

import contextlib
import pickle
import selectors
import threading
import typing as t
from dataclasses import fields, is_dataclass, replace

from ...._core.errors import FleetError, Problem, fault
from ...._kube.login.connection_notes import CONNECTION_NOTES
from ...._kube.login.known_secrets import SHOWN
from ...keeping import LOST
from ...members.members import Clients
from ...permits import PermitPage
from .hired_worker import HiredWorker
from .messages import (
    PermitAnswer,
    PermitQuestion,
    SaidLine,
    SecretsLearned,
    TaskEnd,
    TaskNews,
)

# Nothing is heard any more where there is no message; with it comes its text.
Heard = t.Union[tuple[t.Any, str], None]  # noqa: UP007  # pylint takes the other form for an error


class WorkerHearing:
    """While entered, which is once, a thread hears all workers. To leave tells them to end, and waits until they were
    heard out."""

    def __init__(self, workers: t.Sequence[HiredWorker], clients: Clients, page: PermitPage) -> None:
        self._workers, self._clients, self._page = workers, clients, page
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_error: object) -> None:
        for each in self._workers:
            each.end()
        self._thread.join()

    def _listen(self) -> None:
        """Hears all workers out; whatever ends it, they are told to end and count as lost."""
        try:
            self._listen_to_all()
        finally:
            for each in self._workers:  # whoever is not heard is not to go on
                each.end()
                each.mark_lost()

    def _listen_to_all(self) -> None:
        """Takes in what comes until no worker speaks any more. What came in one turn is passed on in the next, after
        all that had been said by then was read."""
        speaking = list(self._workers)
        held: list[tuple[HiredWorker, Heard]] = []
        with selectors.DefaultSelector() as selector:
            for each in speaking:
                selector.register(each.pipe, selectors.EVENT_READ)
            while speaking or held:
                selector.select(0 if held else None)
                come: list[tuple[HiredWorker, Heard]] = [
                    (each, message) for each in speaking for message in self._arrived(each)
                ]
                for worker, message in held:
                    self._pass_on(worker, message)
                for each in [one for one in speaking if one.pipe.ended]:
                    selector.unregister(each.pipe)
                    speaking.remove(each)
                    come.append((each, None))
                held = come

    def _arrived(self, worker: HiredWorker) -> t.Iterator[tuple[t.Any, str]]:
        """The messages that are there by now, each with its pickled text; secrets are learned at once and not given."""
        for content in worker.pipe.arrived():
            message = pickle.loads(content)
            if isinstance(message, SecretsLearned):
                self._learn(worker, message)
            else:
                # Texts stand in there as they are.
                yield message, content.decode(errors="replace")

    def _learn(self, by: HiredWorker, message: SecretsLearned) -> None:
        """Takes in what is never to be told, and says what of it is new to all other workers that are not lost."""
        fresh = SHOWN.learn(message.forms)
        for each in self._workers if fresh else ():
            if each is not by and not each.lost:
                with contextlib.suppress(OSError):
                    each.pipe.send(SecretsLearned(fresh))

    def _pass_on(self, worker: HiredWorker, heard: Heard) -> None:
        """Does what the message asks for, known secrets taken out of it; None: the worker is lost."""
        if heard is None:
            worker.mark_lost()
            return
        message, text = heard
        if SHOWN.may_stand_in(text):
            message = _hidden(message)
        if isinstance(message, PermitQuestion):
            threading.Thread(target=self._answer, args=(worker, message), daemon=True).start()
        elif isinstance(message, SaidLine):
            given = worker.given(message.order)
            if given is not None:
                given.task.say(message.text)
        elif isinstance(message, TaskEnd):
            self._take_over(worker, message)
            worker.heard(message)
        elif isinstance(message, TaskNews):
            worker.heard(message)

    def _take_over(self, worker: HiredWorker, end: TaskEnd) -> None:
        """Keeps what a worker has learned of connections, and whose cluster the member is."""
        given = worker.given(end.number)
        CONNECTION_NOTES.add_taken(end.notes or {})
        if given is not None and (end.uid or end.unknown):
            name = given.task.cluster
            unknown = {name: end.unknown} if end.unknown else {}
            self._clients.identities.take_over({name: end.uid} if end.uid else {}, unknown)

    def _answer(self, worker: HiredWorker, question: PermitQuestion) -> None:
        """Says to the worker whether it may write for the order: not where nobody waits for it, the task's ``permit``
        raises, or its leases were given back. A worker that is gone is no error."""
        given = worker.given(question.order)
        problems: tuple[Problem, ...] = ()
        try:
            if given is None:
                raise FleetError(LOST, "nobody waits any more for what is done here", hint="run again")
            given.task.permit()
            if not self._page.holds(given.window):
                raise FleetError(LOST, "the leases were given back", given.task.cluster, "run again")
        except FleetError as error:
            problems = error.problems
        except Exception as error:  # noqa: BLE001  # nothing is written on what nobody understands
            problems = fault(error).problems
        with contextlib.suppress(OSError):
            worker.pipe.send(PermitAnswer(question.number, problems))


def _hidden(value: t.Any) -> t.Any:
    """The same without any secret that is known by now, within texts, lists, tuples, mappings (keys too) and
    dataclasses; anything else as it is."""
    if isinstance(value, str):
        return SHOWN.without_secrets(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _hidden(getattr(value, each.name)) for each in fields(value)})
    if isinstance(value, tuple):
        parts = map(_hidden, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_hidden(each) for each in value]
    if isinstance(value, t.Mapping):
        return {_hidden(key): _hidden(each) for key, each in value.items()}
    return value
