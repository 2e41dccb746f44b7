# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Keeps forecasts of large groups fast: only the members that can make a difference to the next decision are looked at,
so that a group of 3,000 costs hardly more than one of 30.

Left out are members that have ended, but for one of each end and for failures, which limits count, and members of which
another one tells everything: those with the same windows and nothing else that holds them, in their order. Of these
there is always one more than can begin at once; it becomes what all behind it would become.
"""

from __future__ import annotations

import typing as t
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import islice

from ..updates.facts import DONE
from ..updates.run import GroupRow, MemberRow, MemberView
from ..values.update_states import NOT_STARTED, PENDING

_IDLE = (NOT_STARTED, PENDING)


@dataclass
class GroupPart:
    """Indexes of members of one group: ``active`` in order, ``alike`` in queues of which the first begin first, and one
    for each way in which members have ``ended``."""

    active: list[int] = field(default_factory=list)
    alike: list[deque[int]] = field(default_factory=list)
    ended: dict[str, int] = field(default_factory=dict)
    _queue_of: dict[int, deque[int]] = field(default_factory=dict)
    _whole: GroupRow | None = None
    _small: GroupRow | None = None
    _shown: list[int] = field(default_factory=list)

    def small(self, group: GroupRow) -> GroupRow:
        """The group with those members alone that decisions need, in their order; the very same object for the same
        group."""
        if self._small is None or group is not self._whole:
            behind = (index for queue in self.alike for index in islice(queue, group.max_concurrency + 1))
            self._shown = sorted((*self.active, *self.ended.values(), *behind))
            self._whole = group
            self._small = replace(group, members=tuple(group.members[at] for at in self._shown))
        return self._small

    def merged(self, group: GroupRow, after: GroupRow) -> GroupRow:
        """The whole group once ``after`` was decided about what ``small`` gave of it, of which note is taken
        (``follow``); ``group`` itself if that changed nothing."""
        if after is self._small:
            return group
        rows, slots = list(group.members), group.max_concurrency
        tellers = [(queue, queue[slots]) for queue in self.alike if len(queue) > slots]
        for at, row in zip(self._shown, after.members, strict=True):
            if row is not rows[at]:
                rows[at] = row
                self.follow(at, row)
        for queue, teller in tellers:
            _tell(queue, rows, teller, slots + 1)
        return replace(after, members=tuple(rows))

    def follow(self, at: int, row: MemberRow) -> None:
        """Takes note that the member at that index of the whole group, one of those that ``small`` gave, has become
        ``row``."""
        queue = self._queue_of.get(at)
        if queue is not None:
            if row.state in _IDLE:
                return
            queue.remove(at)
            del self._queue_of[at]
            self.active.insert(bisect_left(self.active, at), at)
        if row.state in DONE:
            del self.active[bisect_left(self.active, at)]
            self.ended.setdefault(row.state, at)

    def whole(self, group: GroupRow) -> GroupRow:
        """A copy of the group in which those behind others wait for what the first of them waits for."""
        rows, slots = list(group.members), group.max_concurrency
        for queue in self.alike:
            if len(queue) > slots:
                _tell(queue, rows, queue[slots], len(queue))
        return replace(group, members=tuple(rows))


def part_of(group: GroupRow, views: t.Mapping[str, MemberView]) -> GroupPart:
    """The part of a group that decisions need, as it is when its stage begins. ``views`` are members by name; one
    without a view is needed. Windows are told from one another as objects, so that equal ones must be the same
    object."""
    made = GroupPart()
    alike: dict[int | None, list[int]] = {}
    for at, row in enumerate(group.members):
        view = views.get(row.name)
        if row.state in DONE:
            made.ended.setdefault(row.state, at)
        elif row.state == NOT_STARTED and view is not None and _is_free(view):
            alike.setdefault(None if view.windows is None else id(view.windows), []).append(at)
        else:
            made.active.append(at)
    for windows, found in alike.items():
        # As members take their turns: by their windows and names, without windows as they are listed.
        ordered = found if windows is None else sorted(found, key=lambda at: group.members[at].name)
        made.alike.append(deque(ordered))
        made._queue_of |= dict.fromkeys(ordered, made.alike[-1])
    return made


def _is_free(view: MemberView) -> bool:
    """Whether nothing but windows holds it at any time."""
    return view.in_fleet and not (view.obstacles or view.skip or view.fail)


def _tell(queue: deque[int], rows: list[MemberRow], teller: int, end: int) -> None:
    """Changes ``rows``: if the teller has become Pending, those behind it in the queue, up to place ``end``, become
    what it is, as they could begin no sooner."""
    told = rows[teller]
    if told.state == PENDING:
        for at in islice(queue, queue.index(teller) + 1, end):
            rows[at] = replace(told, name=rows[at].name)
