# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Leases that a thread renews while work goes on, and the word that there is to be no further write (``lease-lost``,
``interrupted``); time that counts on while a machine sleeps."""

from __future__ import annotations

import contextlib
import mmap
import threading
import time
import typing as t
from datetime import timedelta

from .._core.errors import FleetError
from .._core.values.duration import span_words
from .._store.records import Lease, Records
from .conductor.outage import out_of_reach
from .leases import acquire
from .permits import PermitWindow

LEASE_SECONDS = 300
LOST, INTERRUPTED = "lease-lost", "interrupted"
STOPS = (LOST, INTERRUPTED)
BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
STEP = 0.5
_START = (time.clock_gettime(BOOTTIME), time.time())


class RunningTime:
    """Seconds since this module was loaded, by a clock that counts on while a machine sleeps, and what the wall clock
    has gained on that, for it is set right when a machine was paused from outside. What it falls back again takes
    nothing away.

    Processes that are forked from the one that made it share it. A gain that several of them, or several threads,
    notice may count more than once: leases are renewed too early then.
    """

    def __init__(self) -> None:
        self._ahead = 0.0
        self._gained = memoryview(mmap.mmap(-1, 8)).cast("d")

    def __call__(self) -> float:
        """The seconds. A gain counts once it is STEP, be it in one or little by little."""
        own = time.clock_gettime(BOOTTIME) - _START[0]
        ahead = time.time() - _START[1] - own
        if ahead >= self._ahead + STEP:
            self._gained[0] += ahead - self._ahead
            self._ahead = ahead
        self._ahead = min(self._ahead, ahead)
        return own + self._gained[0]


running_time = RunningTime()


class Keeper:
    """Takes leases, renews them from a thread of its own while entered, and gives them back. ``check`` is to be called
    before each write; it raises once a lease is lost, or ``told`` says why this run is to end (an empty text: it is
    not). ``seconds`` is how long a lease lasts, ``clock`` gives seconds. ``window`` is what other processes go by that
    work under these leases."""

    def __init__(
        self,
        records: Records,
        holder: str,
        told: t.Callable[[], str],
        seconds: int = LEASE_SECONDS,
        clock: t.Callable[[], float] = running_time,
        *,
        window: PermitWindow | None = None,
    ) -> None:
        self._records, self._holder, self._told = records, holder, told
        self._seconds, self._clock = seconds, clock
        self.window = window
        self._leases: dict[str, Lease] = {}
        self._renewed = clock()
        self._lost: FleetError | None = None
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> t.Self:
        """Starts the thread that renews; a keeper can be entered once only."""
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Ends the renewals, closes the window and gives the leases back, the last first, or leaves them to run out."""
        self._ended.set()
        self._thread.join()
        self._open_until(0.0)
        for lease in reversed(self._leases.values()):
            with contextlib.suppress(FleetError):  # what cannot be given back runs out
                self._records.release(lease)

    def take(self, name: str) -> Lease:
        """Takes the lease; it is renewed while entered, and given back at the exit. With the first one the window
        opens. FleetError as of ``leases.acquire``: ``lease-held`` if another has it."""
        with self._lock:
            now = self._clock()
            lease = self._leases[name] = acquire(self._records, name, self._holder, self._seconds)
            if len(self._leases) == 1:
                self._renewed = now
                self._open_until(now + self._seconds * 2 / 3)
            return lease

    def check(self) -> None:
        """FleetError ``lease-lost``, as of ``check_leases``, or ``interrupted``, if ``told`` says that this run is to
        end."""
        self.check_leases()
        came = self._told()
        if came:
            raise FleetError(INTERRUPTED, f"{came}; nothing new is begun", hint="run again: it goes on from here")

    def check_leases(self) -> None:
        """FleetError ``lease-lost`` once a lease is lost. Where no renewal came for two thirds of their time it renews
        all leases itself, and they are lost if that fails."""
        if self._lost is None and self._clock() - self._renewed >= self._seconds * 2 / 3:
            self._renew(last=True)
        if self._lost is not None:
            raise self._lost

    def _keep(self) -> None:
        """Renews the leases each third of their time until the exit."""
        while not self._ended.wait(self._seconds / 3):
            self._renew(last=False)

    def _renew(self, last: bool) -> None:
        """Renews all leases, and opens the window for two thirds of their time; raises nothing. A failure is left to
        the next time, unless it is the ``last`` chance or somebody else has the lease: then they count as lost. With
        ``last``, nothing if another thread has renewed them meanwhile."""
        with self._lock:
            now = self._clock()
            if last and now - self._renewed < self._seconds * 2 / 3:
                return  # somebody else was faster
            try:
                for name, lease in self._leases.items():
                    self._leases[name] = self._records.renew(lease)
            except FleetError as error:
                if last or error.code == LOST:
                    self._lost = error if error.code == LOST else self._unanswered(error, now)
                    self._open_until(0.0)
                return
            self._renewed = now
            self._open_until(now + self._seconds * 2 / 3)

    def _unanswered(self, error: FleetError, now: float) -> FleetError:
        """The FleetError ``lease-lost``, given back, of leases that could not be renewed in time, which others may have
        by now as far as anybody knows."""
        span = span_words(timedelta(seconds=now - self._renewed))
        return out_of_reach(
            error, LOST, f"for {span}, so that leases may be others' by now, and nothing more is written"
        )

    def _open_until(self, end: float) -> None:
        """Opens the window, if there is one, until then by the clock; 0 closes it. Once a lease is lost it only
        closes."""
        if self.window is not None and (self._lost is None or not end):
            self.window.open_until(end)
