# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Who begins when, of placements that are carried out side by side."""

from __future__ import annotations

import random
import threading
import typing as t
from contextlib import nullcontext

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.abreast import (
    PlacementWork,
    _due_courses,
    side_by_side,
)

LONG = 60.0


def nothing() -> None:
    """Is done at once."""


def test_what_shares_no_member_runs_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=LONG)
    courses = [PlacementWork([name], lambda: together.wait() and None) for name in ("m1", "m2")]
    assert side_by_side(courses, threads=16) == []


@pytest.mark.parametrize("seed", range(20))
def test_on_a_member_the_order_stays_and_nothing_is_left_out(seed: int) -> None:
    """Whatever the placements share, and however wide they are."""
    draw = random.Random(seed)
    fleet = [f"m{number}" for number in range(draw.randint(1, 9))]
    shares = [draw.sample(fleet, draw.randint(0, len(fleet))) for _each in range(30)]
    lock, begun, at_work = threading.Lock(), list[int](), set[str]()

    def work(place: int) -> None:
        with lock:
            assert not at_work & set(shares[place]), "a member is worked on for two placements"
            at_work.update(shares[place])
            begun.append(place)
        with lock:
            at_work.difference_update(shares[place])

    courses = [PlacementWork(each, lambda place=place: work(place)) for place, each in enumerate(shares)]
    assert side_by_side(courses, threads=draw.randint(1, 4)) == []
    for member in fleet:
        order = [place for place in begun if member in shares[place]]
        assert order == sorted(order)
    assert sorted(begun) == list(range(30))


def test_unordered_ones_do_not_wait_for_each_other() -> None:
    together = threading.Barrier(2, timeout=LONG)
    courses = [PlacementWork(["m1"], lambda: together.wait() and None) for _each in range(2)]
    assert side_by_side(courses, threads=16, ordered=False) == []


def test_not_more_begin_than_give_the_threads_enough_to_do() -> None:
    """What is begun and not written yet is kept in memory."""
    wide = [PlacementWork([f"m{place}-{number}" for number in range(100)], nothing) for place in range(12)]
    narrow = [PlacementWork([f"m{place}"], nothing) for place in range(40)]
    nobody = dict.fromkeys(range(40), 0)
    assert _due_courses(dict.fromkeys(range(12), 0), {}, wide, threads=16) == [0, 1]
    assert _due_courses({5: 0, 6: 0}, {4: 0}, wide, threads=16) == [5]
    assert _due_courses(nobody, {}, narrow, threads=16) == list(range(16))
    assert _due_courses({5: 0, 6: 0}, {1: 0, 2: 0, 3: 0}, narrow, threads=4) == [5]


def test_once_one_says_so_nothing_more_begins() -> None:
    done: list[int] = []
    courses = [PlacementWork(["m1"], lambda place=place: done.append(place)) for place in range(5)]
    assert side_by_side(courses, threads=16, stops=lambda: len(done) == 2) == [2, 3, 4]
    assert done == [0, 1]


def test_what_is_raised_comes_out_when_the_others_have_ended() -> None:
    """Else their leases would be given back while they write."""
    began, go, done = threading.Event(), threading.Event(), list[str]()

    def slow() -> None:
        began.set()
        assert go.wait(LONG)
        done.append("slow")

    def falls() -> None:
        assert began.wait(LONG)
        go.set()
        raise LookupError("canary")

    courses = [PlacementWork(["m1"], slow), PlacementWork(["m2"], falls), PlacementWork(["m1"], nothing)]
    with pytest.raises(LookupError):
        side_by_side(courses, threads=16)
    assert done == ["slow"]


def test_nothing_to_do() -> None:
    none: t.Sequence[PlacementWork] = ()
    assert side_by_side(none, threads=16) == []


@pytest.mark.parametrize("threads", [0, 1])
def test_with_fewer_threads_they_go_one_after_another_and_without_any_none_does(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    start, started, done = threading.Thread.start, list[threading.Thread](), list[int]()

    def limited(thread: threading.Thread) -> None:
        if sum(each.is_alive() for each in started) >= threads:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    courses = [PlacementWork([f"m{place}"], lambda place=place: done.append(place)) for place in range(3)]
    with nullcontext() if threads else pytest.raises(FleetError, match="no-workers"):
        assert side_by_side(courses, threads=16) == []
    assert done == list(range(3 * threads))
