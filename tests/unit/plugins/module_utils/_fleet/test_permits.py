# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What processes share that write under the leases of one: whether they still may (F5)."""

from __future__ import annotations

import os
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.permits import ALIVE, NO_WINDOW, PermitPage


class Clock:
    """Moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def page(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> PermitPage:
    """As a process of the holder sees it."""
    made = PermitPage(2, clock)
    monkeypatch.setattr(os, "getppid", os.getpid)
    made.beat()
    return made


def test_nothing_is_open_before_a_lease_is_there(page: PermitPage) -> None:
    window = page.window()
    assert window is not None and not page.permits(window.number)
    window.open_until(1100.0)
    assert page.permits(window.number) and page.holds(window.number)


def test_each_set_of_leases_has_a_window_of_its_own_as_long_as_there_are_some(page: PermitPage) -> None:
    one, two, none = page.window(), page.window(), page.window()
    assert one is not None and two is not None and none is None
    one.open_until(1100.0)
    assert page.permits(one.number) and not page.permits(two.number)


def test_without_a_window_each_write_is_asked_for(page: PermitPage) -> None:
    assert not page.permits(NO_WINDOW) and page.holds(NO_WINDOW)


def closed(page: PermitPage, _clock: Clock) -> None:
    page.open_until(0, 0.0)


def stopped(page: PermitPage, _clock: Clock) -> None:
    page.stop()
    page.beat()
    page.open_until(0, 2000.0)


def old(page: PermitPage, clock: Clock) -> None:
    clock.now = 1100.0
    page.beat()


def silent(_page: PermitPage, clock: Clock) -> None:
    clock.now += ALIVE


@pytest.mark.parametrize("how", [closed, stopped, old, silent])
def test_what_ends_it(page: PermitPage, clock: Clock, how: t.Callable[[PermitPage, Clock], None]) -> None:
    """The lease is lost or given back, the run is to end, no renewal came, or the holder shows no sign of life."""
    page.open_until(0, 1100.0)
    assert page.permits(0)
    how(page, clock)
    assert not page.permits(0)


def test_nobody_writes_for_a_holder_that_has_ended(page: PermitPage, monkeypatch: pytest.MonkeyPatch) -> None:
    """However young its last sign of life is."""
    page.open_until(0, 1100.0)
    assert page.permits(0)
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert not page.permits(0) and not page.holder_lives


def test_what_one_process_writes_the_other_reads(clock: Clock) -> None:
    made = PermitPage(1, clock)
    made.beat()
    asks, answers = os.pipe()
    turns, turned = os.pipe()
    pid = os.fork()
    if not pid:
        for _turn in range(3):
            os.read(turns, 1)
            os.write(answers, b"1" if made.permits(0) else b"0")
        os._exit(0)
    found = []
    for act in (lambda: None, lambda: made.open_until(0, 1100.0), made.stop):
        act()
        os.write(turned, b".")
        found.append(os.read(asks, 1))
    os.waitpid(pid, 0)
    for each in (asks, answers, turns, turned):
        os.close(each)
    assert found == [b"0", b"1", b"0"]
