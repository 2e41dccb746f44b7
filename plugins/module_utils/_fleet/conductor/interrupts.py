# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Being told to end: by signals to this process (SIGTERM, SIGINT, SIGHUP), or by the end of the process that started
it; waiting unless that comes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import types
import typing as t

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CTRL_C = "Ctrl-C"
BLINK = 0.2


class Interrupts:
    """While entered, SIGTERM, SIGINT and SIGHUP end nothing by themselves; calling it says what came, else "". Handlers
    can be set in the main thread only; elsewhere just the end of the parent is noticed.

    ansible-playbook leaves the process that carries a task behind, in a session of its own, when it is killed or ended
    by SIGHUP: a process of a task notices that, also if it was so before this was made. Of Ctrl-C it is told by
    ansible-playbook's SIGTERM, which is told as one of the two.
    """

    def __init__(self) -> None:
        self._came = ""
        forked_by = multiprocessing.parent_process()
        self._forked = forked_by is not None
        self._parent = os.getppid() if forked_by is None or forked_by.pid is None else forked_by.pid
        self._before: dict[int, t.Any] = {}
        self._also: list[t.Callable[[], None]] = []

    def __enter__(self) -> Interrupts:
        """Sets the handlers, in the main thread."""
        if threading.current_thread() is threading.main_thread():
            for each in SIGNALS:
                self._before[each] = signal.signal(each, self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        """Puts the handlers back that were there before; to be called in the thread that has entered it."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> str:
        """What came, in words, the latest signal of several; empty if nothing did."""
        if not self._came and os.getppid() != self._parent:
            self._came = "the process that started this one has ended"
        return self._came

    def also(self, act: t.Callable[[], None]) -> None:
        """Calls ``act`` inside the signal handler, not when the parent ends; it must be short, and wait for nothing."""
        self._also.append(act)

    def _note(self, number: int, _frame: types.FrameType | None) -> None:
        """The handler of the signals: keeps what came, and calls what was given to ``also``."""
        also = f" or {CTRL_C}" if number == signal.SIGTERM and self._forked else ""
        self._came = f"interrupted by {signal.Signals(number).name}{also}"
        for act in self._also:
            act()


def wait_unless(told: t.Callable[[], str], seconds: float) -> None:
    """Sleeps for about so many seconds, or until ``told``, which is asked about every 0.2 s, says why this process is
    to end."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not told():
        time.sleep(min(BLINK, seconds))
