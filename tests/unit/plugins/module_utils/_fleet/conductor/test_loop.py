# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conductor is for every machine; tests/simulation drives it."""

from __future__ import annotations

import re
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.machine import Decision
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor import loop
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import Conductor, RunLimits
from ansible_collections.gitops.fleet.tests.arrows import imports

ROOT = Path(__file__).resolve().parents[6]
CONDUCTOR = ROOT / "plugins" / "module_utils" / "_fleet" / "conductor"
# Below _core: the shape of machines, errors, and words that many speak.
NEUTRAL = {"machine", "errors", "values"}
# Below _fleet: itself, leases, and what drivers promise.
BESIDE = {"conductor", "leases", "drivers"}


def test_it_knows_no_machine_in_particular():
    seen = set()
    for file in CONDUCTOR.glob("*.py"):
        for one in imports(file, ROOT):
            room, *inside = one.target[one.target.index("module_utils") + 1 :] if one.room else ("", "")
            assert room in ("", "_core", "_fleet", "_store"), one
            assert room != "_core" or inside[0] in NEUTRAL, one
            assert room != "_fleet" or inside[0] in BESIDE, one
            seen.add(room)
    assert seen == {"", "_core", "_fleet", "_store"}


def test_it_says_nothing_of_members():
    """Operations of every machine pass through it, on members or on nodes: it speaks of what they act on."""
    for file in CONDUCTOR.glob("*.py"):
        assert not re.findall(r"(?i)\bmembers?\b", file.read_text(encoding="utf-8")), file


def test_the_loop_knows_no_drivers_either():
    text = Path(loop.__file__).read_text(encoding="utf-8")
    assert not any(word in text for word in ("driver", "member", "stage", "gate", "node", "placement"))


NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def silently() -> t.Any:
    return SimpleNamespace(**dict.fromkeys(("say", "begin", "stored", "waiting", "end"), lambda *_said: None))


class Waiting:
    """A machine that waits for what is looked at every now and then; with ``busy`` something is in flight."""

    def __init__(self, busy: bool) -> None:
        self._flying = ("act",) if busy else ()

    def __getattr__(self, _name: str) -> t.Any:
        return lambda *_arguments: None

    def decide(self, *_arguments: t.Any) -> Decision[int, t.Any]:
        return Decision(state=0)

    def acts_in_flight(self, _state: int) -> tuple[t.Any, ...]:
        return tuple(SimpleNamespace(operation=each) for each in self._flying)

    def drain_events(self, *_arguments: t.Any) -> tuple[t.Any, ...]:
        return ()

    def next_look(self) -> datetime:
        return NOW + timedelta(seconds=2)


class Again(Waiting):
    """One whose act was given back without having begun, and is decided once more, by the same name."""

    def __init__(self) -> None:
        super().__init__(busy=True)
        self.begun: list[bool] = []
        self._turns = 0

    def decide(self, *_arguments: t.Any) -> Decision[int, t.Any]:
        self._turns += 1
        return Decision(state=0, acts=self.acts_in_flight(0) if self._turns in (1, 3) else ())

    def carry_out(self, _act: t.Any, _state: int, resumed: bool) -> None:
        self.begun.append(resumed)


class Stored:
    """The state of that machine; ``fails`` is what the records say instead of keeping it."""

    state, lease = 0, None
    fails: FleetError | None = None

    def __getattr__(self, _name: str) -> t.Any:
        return lambda *_arguments: None

    def store(self, _state: int, _in_flight: bool) -> bool:
        if self.fails:
            raise self.fails
        return True


def minutes(busy: bool = False, fails: FleetError | None = None) -> tuple[int, str]:
    """After how many minutes of turns it ends, and why, with a clock that is set back an hour after the first."""
    now, journal = [NOW], Stored()
    limits = RunLimits(holder="me", max_idle=timedelta(minutes=2), time_limit=timedelta(minutes=10))
    steering = t.cast(t.Any, Waiting(busy))
    conductor: Conductor[int, t.Any, t.Any] = Conductor(
        t.cast(t.Any, journal), steering, lambda: now[0], silently(), limits
    )
    assert conductor.step() is None
    journal.fails = fails
    now[0] -= timedelta(hours=1)
    for passed in range(60):
        try:
            ending = conductor.step()
        except FleetError as error:
            return passed, error.code
        if ending is not None:
            return passed, ending.why
        now[0] += timedelta(minutes=1)
    return 60, ""


def test_a_clock_that_is_set_back_lengthens_no_limit() -> None:
    assert minutes() == (2, "waiting")
    assert minutes(busy=True) == (10, "time-limit")
    assert minutes(fails=FleetError("unreachable", "no route", "hub")) == (1, "unreachable")


def test_what_is_decided_anew_is_begun_anew() -> None:
    """Each act that is decided is begun, once, though one of its name was begun before."""
    steering = Again()
    conductor: Conductor[int, t.Any, t.Any] = Conductor(
        t.cast(t.Any, Stored()), t.cast(t.Any, steering), lambda: NOW, silently(), RunLimits(holder="me")
    )
    for _turn in range(5):
        assert conductor.step() is None
    assert steering.begun == [False, False]


class Looking(Waiting):
    """One that is told to end while it looks at the world, with nothing in flight and nothing to be looked at again."""

    def __init__(self) -> None:
        super().__init__(busy=False)
        self.told = ""

    def see(self, *_arguments: t.Any) -> None:
        self.told = "interrupted by SIGTERM"

    def settled(self, *_arguments: t.Any) -> bool:
        return False

    def next_look(self) -> t.Any:
        return None


def test_who_is_told_to_end_during_the_look_says_so_and_is_worth_being_started_again() -> None:
    """What is not decided does not wait for people."""
    steering = Looking()
    limits = RunLimits(holder="me", interrupted=lambda: steering.told)
    conductor: Conductor[int, t.Any, t.Any] = Conductor(
        t.cast(t.Any, Stored()), t.cast(t.Any, steering), lambda: NOW, silently(), limits
    )
    ending = conductor.run()
    assert (ending.why, ending.resume_at) == ("interrupted by SIGTERM", NOW)


class Written:
    """A state that others write to at the same time, so often: each time it is read again, with what was noted."""

    state, lease = 0, None

    def __init__(self, others: int) -> None:
        self.kept = 0
        self._others = others

    def note(self, change: t.Callable[[int], int]) -> None:
        self.state = change(self.state)

    def store(self, state: int, _in_flight: bool) -> bool:
        if self._others:
            self._others -= 1
            return False
        self.kept = state
        return True


class Ended(Waiting):
    """One of which an act has just ended."""

    def drain_events(self, *_arguments: t.Any) -> tuple[t.Any, ...]:
        return (lambda _state: 7,)


def test_what_has_ended_is_recorded_before_an_interrupt_ends_it_whoever_else_writes() -> None:
    """A person skips or approves something in the very moment of the signal."""
    for others in (0, 1, 3):
        journal = Written(others)
        limits = RunLimits(holder="me", interrupted=lambda: "interrupted by SIGTERM")
        conductor: Conductor[int, t.Any, t.Any] = Conductor(
            t.cast(t.Any, journal), t.cast(t.Any, Ended(busy=False)), lambda: NOW, silently(), limits
        )
        ending = conductor.step()
        assert ending and (ending.state, journal.kept) == (7, 7)


class Slow(Waiting):
    """One with much to look at, one after another, of which each look takes 5 s."""

    def __init__(self, now: list[datetime]) -> None:
        super().__init__(busy=False)
        self._now, self._left = now, 30

    def look_before_beginning(self, *_arguments: t.Any) -> t.Any:
        self._now[0] += timedelta(seconds=5)
        self._left -= 1
        return self._left or None


def test_the_lease_is_kept_during_a_turn_that_takes_longer_than_it() -> None:
    """F5: else the next runner of a schedule takes over from one that only looks, and so on."""
    now, journal = [NOW], Stored()
    kept = [NOW]
    t.cast(t.Any, journal).renew = lambda: kept.append(now[0])
    conductor: Conductor[int, t.Any, t.Any] = Conductor(
        t.cast(t.Any, journal), t.cast(t.Any, Slow(now)), lambda: now[0], silently(), RunLimits(holder="me")
    )
    assert conductor.step() is None and now[0] - NOW > 2 * timedelta(seconds=loop.LEASE_SECONDS)
    gaps = [later - before for before, later in zip(kept, [*kept[1:], now[0]], strict=True)]
    assert max(gaps) < timedelta(seconds=loop.LEASE_SECONDS) / 2


class WaitingForBoth(Waiting):
    """For a window of tomorrow, and for somebody who is looked at every now and then."""

    def decide(self, *_arguments: t.Any) -> Decision[int, t.Any]:
        return Decision(state=0, wake_at=NOW + timedelta(days=1))


def test_the_earlier_of_clock_and_look_is_when_to_come_back() -> None:
    """Else who answers again in a minute would wait for the other's window."""
    now = [NOW]
    steering = t.cast(t.Any, WaitingForBoth(False))
    conductor: Conductor[int, t.Any, t.Any] = Conductor(
        t.cast(t.Any, Stored()), steering, lambda: now[0], silently(), RunLimits(holder="me")
    )
    while (ending := conductor.step()) is None:
        now[0] += timedelta(minutes=1)
    assert ending.resume_at == NOW + timedelta(seconds=2)


class Slept(Waiting):
    """One that decides to begin an act by the instant it is given; what it sees at first takes an hour."""

    def __init__(self, now: list[datetime]) -> None:
        super().__init__(busy=False)
        self._now, self.begun = now, list[datetime]()
        self._decided = NOW

    def see(self, _state: int, now: datetime) -> None:
        self._now[0] = max(self._now[0], NOW + timedelta(hours=1))

    def decide(self, _state: int, _seen: None, now: datetime) -> Decision[int, t.Any]:
        self._decided = now
        return Decision(state=0, acts=(SimpleNamespace(operation="act"),))

    def carry_out(self, _act: t.Any, _state: int, resumed: bool) -> None:
        self.begun.append(self._decided)


def test_what_was_decided_before_the_machine_slept_is_decided_anew() -> None:
    """It may have been decided within a window that has closed long since."""
    now = [NOW]
    steering = Slept(now)
    conductor: Conductor[int, t.Any, t.Any] = Conductor(
        t.cast(t.Any, Stored()), t.cast(t.Any, steering), lambda: now[0], silently(), RunLimits(holder="me")
    )
    assert conductor.step() is None and not steering.begun
    conductor.step()
    assert steering.begun == [NOW + timedelta(hours=1)]
