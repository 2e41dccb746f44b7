# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Memory that a process which holds leases shares with those that write for it: whether they still may, by a window for
each set of leases, signs of life, and the word to stop.

Nothing in here lets anything be written: what is not open is asked for, and whoever is asked goes by the leases
themselves.
"""

from __future__ import annotations

import mmap
import os
import threading
import typing as t
from dataclasses import dataclass

# Seconds for which a sign of life counts.
ALIVE = 1.0
# The window of whoever has none: each write is asked for.
NO_WINDOW = -1
_STOPPED, _ALIVE_UNTIL, _FIRST = 0, 1, 2


class PermitPage:
    """Made by the holder of the leases before the others are forked from it. ``clock`` gives seconds, the same in all
    processes of the machine; ``windows`` is for how many sets of leases."""

    def __init__(self, windows: int, clock: t.Callable[[], float]) -> None:
        self._cells = memoryview(mmap.mmap(-1, 8 * (_FIRST + windows))).cast("d")
        self._clock = clock
        self._holder = os.getpid()
        self._given = 0
        self._windows = windows
        self._lock = threading.Lock()

    def window(self) -> PermitWindow | None:
        """The next window that is free; None if all are given."""
        with self._lock:
            if self._given == self._windows:
                return None
            self._given += 1
            return PermitWindow(page=self, number=self._given - 1)

    def stop(self) -> None:
        """From now on ``permits`` is False for all windows, for good; ``holds`` is not changed."""
        self._cells[_STOPPED] = 1.0

    def beat(self) -> None:
        """Gives a sign of life of the holder: ``ALIVE`` seconds after the last one nothing is permitted."""
        self._cells[_ALIVE_UNTIL] = self._clock() + ALIVE

    def open_until(self, window: int, end: float) -> None:
        """Notes that the leases behind the window are good until ``end``, by the page's clock; 0 closes it."""
        self._cells[_FIRST + window] = end

    def holds(self, window: int) -> bool:
        """Whether the leases behind the window are good by the end that is noted here, stopped or not; True for
        ``NO_WINDOW``."""
        return window == NO_WINDOW or self._clock() < self._cells[_FIRST + window]

    def permits(self, window: int) -> bool:
        """Whether a process that was forked from the holder may write without asking it: the holder lives, nobody has
        told it to end, and the leases behind the window are good by what is noted. False for ``NO_WINDOW``."""
        cells, now = self._cells, self._clock()
        if window == NO_WINDOW or cells[_STOPPED] or now >= cells[_ALIVE_UNTIL]:
            return False
        return now < cells[_FIRST + window] and self.holder_lives

    @property
    def holder_lives(self) -> bool:
        """Whether the process that made the page is still the parent of this one, which was forked from it."""
        return os.getppid() == self._holder


@dataclass(frozen=True, kw_only=True)
class PermitWindow:
    """What says of one set of leases until when they are good for writes."""

    page: PermitPage
    number: int

    def open_until(self, end: float) -> None:
        """As ``PermitPage.open_until``, for this window: ``end`` in seconds by the page's clock, 0 closes it."""
        self.page.open_until(self.number, end)
