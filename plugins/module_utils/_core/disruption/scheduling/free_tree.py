# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The first of many nodes with room enough for CPU, memory and pods, without looking at each (first fit over a tree of
free amounts)."""

from __future__ import annotations

import typing as t

Free = tuple[int, int, int]
NONE: Free = (-1, -1, -1)


class FreeTree:
    """Free CPU, memory and pods of nodes in a fixed order, in one unit with what is asked for; each inner node has the
    most that any leaf below has."""

    def __init__(self, rows: t.Sequence[Free]) -> None:
        """The tree over rows in the order of their places, which are copied."""
        size = 1
        while size < len(rows):
            size *= 2
        self._size = size
        self._rows: list[Free] = [NONE] * size + list(rows) + [NONE] * (size - len(rows))
        for at in range(size - 1, 0, -1):
            self._rows[at] = _larger(self._rows[2 * at], self._rows[2 * at + 1])

    def set(self, place: int, row: Free) -> None:
        """Notes what is free at a place, from 0, from now on; ``NONE`` where nothing fits."""
        rows, at = self._rows, place + self._size
        rows[at] = row
        at //= 2
        while at:
            new = _larger(rows[2 * at], rows[2 * at + 1])
            if new == rows[at]:
                return
            rows[at] = new
            at //= 2

    def first(self, start: int, need: Free) -> int:
        """The first place, from 0, at ``start`` or behind it, that has at least so much of all three amounts; -1
        without one."""
        cpu, memory, pods = need
        rows, size, at = self._rows, self._size, start + self._size
        if start >= size:
            return -1
        while True:
            row = rows[at]
            if row[0] >= cpu and row[1] >= memory and row[2] >= pods:
                if at >= size:
                    return at - size
                at *= 2
                continue
            while at & 1:
                at >>= 1
            if not at:
                return -1
            at += 1


def _larger(one: Free, other: Free) -> Free:
    """The larger amount of each resource."""
    return (
        one[0] if one[0] >= other[0] else other[0],
        one[1] if one[1] >= other[1] else other[1],
        one[2] if one[2] >= other[2] else other[2],
    )
