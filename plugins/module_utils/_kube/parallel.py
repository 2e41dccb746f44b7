# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The same work on many clusters at once; each has its own outcome."""

from __future__ import annotations

import threading
import time
import typing as t
from collections import deque

from .._core.errors import FleetError, fault

T = t.TypeVar("T")


def in_parallel(
    work: t.Mapping[str, t.Callable[[], T]], threads: int = 16, deadline: float | None = None
) -> dict[str, T | FleetError]:
    """Result or FleetError by name, in the order of ``work``.

    After ``deadline`` seconds whatever has not ended counts as FleetError ``timeout``; its thread is left to itself and
    does not keep the process alive. Any other exception becomes FleetError ``member-fault``, with its type and its
    place in our code: what one member makes us fall over stops no other. An interrupt starts nothing new and is raised
    at once.
    """
    pool = _Pool(work)
    for _thread in range(min(threads, len(work))):
        threading.Thread(target=pool.run, daemon=True).start()
    pool.wait(deadline)
    if pool.ends:
        raise pool.ends[0]
    late = f"no answer within {deadline or 0:g} s"
    return {name: pool.done.get(name, FleetError("timeout", late, name)) for name in work}


class _Pool(t.Generic[T]):
    def __init__(self, work: t.Mapping[str, t.Callable[[], T]]) -> None:
        self._waiting = deque(work.items())
        self._expected = len(work)
        self._ended = threading.Condition()
        self._stopped = False
        self.done: dict[str, T | FleetError] = {}
        self.ends: list[BaseException] = []

    def run(self) -> None:
        while True:
            with self._ended:
                if self._stopped or not self._waiting:
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
        with self._ended:
            try:
                while len(self.done) < self._expected:
                    left = None if end is None else end - time.monotonic()
                    if left is not None and left <= 0:
                        return
                    self._ended.wait(left)
            finally:
                self._stopped = True
