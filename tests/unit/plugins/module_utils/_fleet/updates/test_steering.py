# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""F5: which intents a conductor carries out, and which it only follows."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates import decide as machine
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import start
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import RunState
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.taking_turns import TakingTurns
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.operation import Blocked, Event
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import machine as this_machine
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import TRY_AGAIN, UpdateSteering
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import changed, laid

NOW = datetime(2026, 8, 21, 12, tzinfo=UTC)
OPERATION = "r-0f8fad5b.east.1"


class Sight:
    """Members that bear ``marks``; ``log`` is what was done about claims."""

    def __init__(self, **marks: str) -> None:
        self.marks = marks
        self.log: list[str] = []

    def has_mark(self, member: str, operation: str) -> bool:
        return self.marks.get(member) == operation

    def __getattr__(self, name: str) -> t.Any:
        return lambda *given: self.log.append(name)


class Works:
    """Takes work, and tells ``told`` of it."""

    def __init__(self, *told: Event) -> None:
        self.told = told
        self.begun: list[tuple[str, bool, bool]] = []

    def begin(self, work: Work, *, resumed: bool, only_follow: bool = False) -> None:
        self.begun.append((work.operation, resumed, only_follow))

    def events(self) -> tuple[Event, ...]:
        told, self.told = self.told, ()
        return told

    def wait(self, _seconds: float) -> None: ...

    def close(self) -> None: ...


def meant(reference: str) -> RunState:
    """The run as it says that the only member's upgrade is meant, and no more."""
    run = start(laid("s{g:east}"), NOW)
    (row,) = run.members
    row = replace(row, state="Running", attempt=1, operation=OPERATION, reference=reference)
    return changed(changed(run, "g", members=(row,), reached=True), "s", reached=True)


def steering(sight: Sight, works: Works) -> UpdateSteering:
    upgrade = SimpleNamespace(upgrade=SimpleNamespace(type="ControlPlaneOnly"))
    run = SimpleNamespace(name="r", target="1.36.3", spec=SimpleNamespace(managed_cluster_update=upgrade))
    silent: t.Any = SimpleNamespace(said=lambda *_words: None)
    book: t.Any = SimpleNamespace(run=run)
    nothing: t.Any = None
    turns = TakingTurns(timedelta(minutes=2))
    return UpdateSteering(book, t.cast(t.Any, sight), works, nothing, silent, lambda: "", turns)


def taken_up(state: RunState, sight: Sight, works: Works, resumed: bool = True) -> tuple[UpdateSteering, RunState]:
    one = steering(sight, works)
    (act,) = machine.acts_in_flight(state)
    change = one.carry_out(act, state, resumed)
    return one, change(state) if change else state


@pytest.mark.parametrize("reference", ["", f"{this_machine()}/1@/operations", "at east"])
def test_what_somebody_wrote_is_only_followed_by_this_conductor_and_the_next(reference: str) -> None:
    """Whatever its reference: the member does not bear its mark. That it is not claimed keeps it so."""
    state = meant(reference)
    for _conductor in range(2):
        sight, works = Sight(), Works()
        _one, state = taken_up(state, sight, works)
        assert works.begun == [(OPERATION, True, True)] and "take_up" not in sight.log


def test_so_it_is_when_it_is_tried_again() -> None:
    """As where this machine started no thread more, or the member did not answer."""
    sight, works = Sight(), Works(Blocked(operation=OPERATION, reason="Unreachable"))
    one, state = taken_up(meant(""), sight, works)
    for change in one.drain_events(state, NOW):
        state = change(state)
    one.keep(state, NOW + TRY_AGAIN)
    assert works.begun == [(OPERATION, True, True)] * 2


def test_what_was_meant_by_a_conductor_of_the_run_is_claimed_and_carried_out() -> None:
    sight, works = Sight(east=OPERATION), Works(Blocked(operation=OPERATION, reason="Unreachable"))
    one, state = taken_up(meant(""), sight, works)
    for change in one.drain_events(state, NOW):
        state = change(state)
    one.keep(state, NOW + TRY_AGAIN)
    assert works.begun == [(OPERATION, True, False)] * 2 and "take_up" in sight.log


def test_a_member_that_others_took_before_it_had_begun_is_put_back() -> None:
    """This conductor stood still between its claim and its beginning."""
    sight, works = Sight(east="two-12345678.east.1"), Works()
    _one, state = taken_up(meant(""), sight, works, resumed=False)
    (row,) = state.members
    assert works.begun == [] and sight.log == ["forget_claim"]
    assert (row.state, row.reason, row.attempt) == ("Pending", "OperationInProgress", 0)


def test_an_upgrade_that_may_not_begin_any_more_is_put_back() -> None:
    """U12. Its claim counts no more, so that it is looked at again before it begins."""
    frozen = Blocked(operation=OPERATION, reason="WindowClosed", message="freeze sales", anew=True)
    sight, works = Sight(east=OPERATION), Works(frozen)
    one, state = taken_up(meant(""), sight, works)
    for change in one.drain_events(state, NOW):
        state = change(state)
    (row,) = state.members
    assert (row.state, row.reason, row.message) == ("Pending", "WindowClosed", "freeze sales")
    one.keep(state, NOW + TRY_AGAIN)
    assert len(works.begun) == 1 and "forget_claim" in sight.log
