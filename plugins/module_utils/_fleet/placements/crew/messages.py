# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What the process that decides and its workers say to one another, field by field: orders, ends and news of tasks,
questions whether more may be written, lines for people, secrets that were learned."""

from __future__ import annotations

import typing as t

from ...._core.errors import Problem
from ...._core.objects.identity import ObjectId
from ...._core.plan.outcome import MemberOutcome
from ...._kube.login.known_secrets import SecretForm
from ..on_member.member_apply import MemberTask


class TaskOrder(t.NamedTuple):
    """To a worker: what is to be done on a member (``task``), under the leases of that ``window``. ``seen`` is the
    number of the order whose look it goes on from, 0 for none; ``dropped`` are the numbers of looks that none will
    follow."""

    number: int
    task: MemberTask
    window: int
    seen: int = 0
    dropped: tuple[int, ...] = ()


class TaskEnd(t.NamedTuple):
    """From a worker: how the order of that ``number`` ended; ``problems`` where there is no outcome. ``written`` and
    ``underway`` are as of ``MemberProgress``. ``kept``: what was seen is kept. ``uid`` is that of the member's cluster,
    or ``unknown`` says why it cannot be told, once for each member; ``notes`` are those of ``Uses``."""

    number: int
    outcome: MemberOutcome | None
    problems: tuple[Problem, ...] = ()
    written: tuple[ObjectId, ...] = ()
    underway: ObjectId | None = None
    kept: bool = False
    uid: str = ""
    unknown: Problem | None = None
    notes: t.Mapping[str, list[str]] | None = None


class TaskNews(t.NamedTuple):
    """From a worker: all that it has written of the order of that ``number`` by now, and what is on its way."""

    number: int
    written: tuple[ObjectId, ...]
    underway: ObjectId | None


class PermitQuestion(t.NamedTuple):
    """From a worker: may it still write for the order? ``number`` is that of the question."""

    order: int
    number: int


class PermitAnswer(t.NamedTuple):
    """To a worker: yes, if there are no problems. ``number`` is that of the question."""

    number: int
    problems: tuple[Problem, ...]


class SaidLine(t.NamedTuple):
    """From a worker: a line for people about an order."""

    order: int
    text: str


class SecretsLearned(t.NamedTuple):
    """Either way: what is never to be told from now on."""

    forms: frozenset[SecretForm]
