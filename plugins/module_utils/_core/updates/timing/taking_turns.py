# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Upgrades of members in an update run that have waited for ``max_idle`` and stand still until later: when they are
taken up again, and when that is no use any more."""

from __future__ import annotations

import typing as t
from datetime import datetime, timedelta

# How long reading a member and looking at its nodes may take, beside waiting.
AROUND = timedelta(minutes=1)


class TakingTurns:
    """Each operation waits by itself for ``max_idle`` before it stands still, so that one which is taken up again goes
    on for longer only if it comes on.

    Those that stand still are taken up while another one of the run comes on. Once all have stood still and none has
    come on since, those still trying are waited for, and the run rests: else they would take turns for ever.
    """

    def __init__(self, max_idle: timedelta) -> None:
        """``max_idle`` is how long an operation waits by itself before it stands still."""
        self._comes_on = 2 * max_idle + AROUND
        self._until: dict[str, datetime | None] = {}
        self._tries: dict[str, datetime] = {}

    def set_aside(self, operation: str, until: datetime | None) -> None:
        """The operation stands still from now on, until that instant; with None it is not taken up again."""
        self._until[operation] = until
        self._tries.pop(operation, None)

    def due(self, flying: t.Iterable[str], now: datetime) -> list[str]:
        """Those that stand still whose instant has come, to be taken up now; they count as trying. Empty as long as no
        other operation of the run comes on. ``flying`` are all operations that have not ended; one that has ended may
        be among those given."""
        found = [one for one, at in self._until.items() if at and now >= at]
        if not found or not any(self._fresh(one, now) for one in flying):
            return []
        for operation in found:
            del self._until[operation]
            self._tries[operation] = now
        return found

    def all_stand_still(self, flying: t.Collection[str]) -> bool:
        """Whether all that has not ended (``flying``) stands still; False where there is none."""
        return bool(flying) and self._until.keys() >= set(flying)

    @property
    def instants(self) -> list[datetime]:
        """When those that stand still go on, where that is known, in no order; ended ones count until ``due`` gives
        them."""
        return [each for each in self._until.values() if each]

    def _fresh(self, operation: str, now: datetime) -> bool:
        """Whether it has never stood still, or has come on since it was taken up."""
        if operation in self._until:
            return False
        tried = self._tries.get(operation)
        return tried is None or now >= tried + self._comes_on
