# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evidence of what a conductor carries on, its beginning and what it came to: written once something begins, so that
one that only waits leaves none."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime

from ..._core.objects.audit.audit_entry import WAITING
from ..conductor.loop import Telling
from .evidence import Testimony

S = t.TypeVar("S")


@dataclass
class AttestedTelling(t.Generic[S]):
    """A telling that testifies, too: that it begins, as soon as the stored state has acts in flight, and, when the
    conductor ends, to what it came. ``acts`` gives those in flight, ``members`` those it is done on, ``outcome`` what a
    settled state came to and a sentence about it, ``versions`` what to tell of upgraded members, by name; ``done_on``
    gives, by the first state and the last, those that something was done on, where that is told apart."""

    telling: Telling[S]
    testimony: Testimony
    acts: t.Callable[[S], t.Collection[t.Any]]
    members: t.Callable[[S], t.Sequence[str]]
    outcome: t.Callable[[S], tuple[str, str]]
    versions: t.Callable[[S], t.Mapping[str, str]] = lambda _state: {}
    done_on: t.Callable[[S, S], t.Sequence[str]] | None = None
    _first: S | None = field(default=None, init=False)

    def say(self, text: str, /) -> None:
        """As of ``Telling``; not evidence."""
        self.telling.say(text)

    def begin(self, state: S, now: datetime) -> None:
        """As of ``Telling``; no evidence yet."""
        self._first = state
        self.telling.begin(state, now)

    def stored(self, state: S, now: datetime) -> None:
        """As of ``Telling``; the first time that acts are in flight, the entry of the beginning is written."""
        if self.acts(state):
            self._begin(state)
        self.telling.stored(state, now)

    def waiting(self, state: S, until: datetime | None, now: datetime) -> None:
        """As of ``Telling``; not evidence."""
        self.telling.waiting(state, until, now)

    def end(self, state: S, why: str, now: datetime) -> None:
        """As of ``Telling``; then, if it has begun, the entry of the end: what a settled state came to, or WAITING and
        ``why``, with the versions of members that it was begun on. One that settled without acts, and changed, has both
        entries written now."""
        self.telling.end(state, why, now)
        outcome, message = self.outcome(state) if why == "settled" else (WAITING, why)
        done_on = self.done_on(self._first, state) if self.done_on and self._first is not None else None
        if why == "settled" and state != self._first:
            self._begin(state, done_on)
        names = frozenset(self.testimony.deed.members)
        versions = [text for name, text in self.versions(state).items() if name in names]
        self.testimony.end(outcome, message, done_on, versions=versions)

    def _begin(self, state: S, members: t.Sequence[str] | None = None) -> None:
        """Writes the entry of the beginning, with these members, or as of this state, unless it has begun."""
        testimony = self.testimony
        if not testimony.begun:
            testimony.deed = replace(testimony.deed, members=self.members(state) if members is None else members)
            testimony.begin()
