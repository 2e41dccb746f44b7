# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The same work on many clusters at once; each has its own outcome."""

from __future__ import annotations

import math
import threading
import time
import typing as t
from collections import deque

from .._core.errors import FleetError, fault

T = t.TypeVar("T")
GRACE, LOOK = 1.5, 0.2


def in_parallel(
    work: t.Mapping[str, t.Callable[[], T]],
    threads: int = 16,
    deadline: float | None = None,
    told: t.Callable[[], str] = str,
) -> dict[str, T | FleetError]:
    """Result or FleetError by name, in the order of ``work``.

    Once ``told`` says why all is to end, nothing new is started, and what has not ended within ``GRACE`` seconds counts
    as FleetError ``interrupted``.

    After ``deadline`` seconds whatever has not ended counts as FleetError ``timeout``; its thread is left to itself and
    does not keep the process alive. Any other exception becomes FleetError ``member-fault``, with its type and its
    place in our code: what one member makes us fall over stops no other. An interrupt starts nothing new and is raised
    at once.
    """
    pool = _Pool(work, told)
    for _thread in range(min(threads, len(work))):
        threading.Thread(target=pool.run, daemon=True).start()
    pool.wait(deadline)
    if pool.ends:
        raise pool.ends[0]
    code, why = ("interrupted", told()) if told() else ("timeout", f"no answer within {deadline or 0:g} s")
    return {name: pool.done.get(name, FleetError(code, why, name)) for name in work}


class _Pool(t.Generic[T]):
    def __init__(self, work: t.Mapping[str, t.Callable[[], T]], told: t.Callable[[], str]) -> None:
        self._told = told
        self._waiting = deque(work.items())
        self._expected = len(work)
        self._ended = threading.Condition()
        self._stopped = False
        self.done: dict[str, T | FleetError] = {}
        self.ends: list[BaseException] = []

    def run(self) -> None:
        while True:
            with self._ended:
                if self._stopped or not self._waiting or self._told():
                    return
                name, function = self._waiting.popleft()
            outcome: T | FleetError | None = None
            end: BaseException | None = None
            try:
                outcome = function()
            except FleetError as error:
                outcome = error
            except Exception as error:  # noqa: BLE001  # told as an error of this member
                outcome = fault(error, "member-fault", name)
            except BaseException as error:  # noqa: BLE001  # raised again by in_parallel
                end = error
            self._end(name, outcome, end)

    def _end(self, name: str, outcome: t.Any, end: BaseException | None) -> None:
        with self._ended:
            if self._stopped:
                return
            if end is not None:
                self.ends.append(end)
                self._expected -= 1
            else:
                self.done[name] = outcome
            self._ended.notify()

    def wait(self, deadline: float | None) -> None:
        end = None if deadline is None else time.monotonic() + deadline
        graceful = False
        with self._ended:
            try:
                while len(self.done) < self._expected:
                    if not graceful and self._told():
                        graceful, end = True, min(end or math.inf, time.monotonic() + GRACE)
                    left = None if end is None else end - time.monotonic()
                    if left is not None and left <= 0:
                        return
                    # A signal wakes nobody up: whether one came is looked at now and then.
                    self._ended.wait(LOOK if left is None else min(LOOK, left))
            finally:
                self._stopped = True
