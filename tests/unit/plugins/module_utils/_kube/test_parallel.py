# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Each cluster has its own outcome."""

from __future__ import annotations

import re
import sys
import threading

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.order import apply_wave
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import WorkPool, in_parallel


def test_results_and_errors_by_name_in_the_order_given():
    def fail():
        raise FleetError("unreachable", "no route", "b")

    found = in_parallel({"c": lambda: 3, "b": fail, "a": lambda: 1}, threads=2)
    assert list(found) == ["c", "b", "a"]
    assert (found["c"], found["a"], found["b"].code) == (3, 1, "unreachable")


def test_nothing_to_do():
    assert in_parallel({}) == {}


def test_one_that_hangs_costs_the_deadline_and_no_more():
    never = threading.Event()
    found = in_parallel({"dead": never.wait, "good": lambda: 1}, deadline=0.1)
    assert found["good"] == 1
    assert (found["dead"].code, found["dead"].where) == ("timeout", "dead")
    never.set()


def test_what_one_member_makes_us_fall_over_is_its_error_and_stops_no_other():
    def fall():
        return apply_wave(None)

    found = in_parallel({"a": fall, "b": lambda: 2})
    assert found["b"] == 2
    assert (found["a"].code, found["a"].where) == ("member-fault", "a")
    assert re.fullmatch(r"unexpected AttributeError at .* > _core/resources/order.py:\d+", found["a"].message)


def test_the_text_of_an_unexpected_error_is_not_told():
    def fall():
        raise LookupError("canary")

    assert "canary" not in str(in_parallel({"a": fall})["a"])


def test_memory_that_runs_out_for_one_member_stops_no_other():
    def greedy():
        raise MemoryError

    found = in_parallel({"a": greedy, "b": lambda: 2})
    assert (found["a"].code, found["b"]) == ("member-fault", 2)


def test_an_exit_within_the_work_ends_us():
    with pytest.raises(SystemExit):
        in_parallel({"a": sys.exit, "b": lambda: 2})


def test_who_ends_the_process_from_a_piece_of_work_waits_for_no_other() -> None:
    go = threading.Event()
    try:
        with pytest.raises(SystemExit):
            in_parallel({"a": go.wait, "b": sys.exit}, threads=2)
    finally:
        go.set()


def test_an_interrupt_starts_nothing_new(monkeypatch):
    started, go = [], threading.Event()

    def work(name):
        started.append(name)
        go.wait()

    def interrupted(self, timeout=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Condition, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        in_parallel({str(i): (lambda i=i: work(i)) for i in range(9)}, threads=2)
    monkeypatch.undo()
    before = len(started)
    go.set()
    assert before <= 2 and len(started) <= 2


def test_when_all_is_to_end_nothing_new_begins_and_what_hangs_is_left() -> None:
    never, begun, told = threading.Event(), [], [""]

    def hang() -> None:
        begun.append("hang")
        told[0] = "interrupted by SIGTERM"
        never.wait()

    work = {"done": lambda: 1, "hang": hang, "new": lambda: begun.append("new")}
    found = in_parallel(work, threads=1, told=lambda: told[0])
    assert found["done"] == 1 and begun == ["hang"]
    errors = [found[name] for name in ("hang", "new")]
    assert [getattr(each, "code", "") for each in errors] == ["interrupted"] * 2
    assert all("SIGTERM" in str(each) for each in errors)
    never.set()


def test_a_shared_pool_never_does_two_things_on_one_cluster_and_keeps_their_order() -> None:
    """A client has one clock for what is asked of its server at a time."""
    pool, lock, busy, order = WorkPool(4), threading.Lock(), set[str](), list[tuple[str, int]]()

    def work(name: str, number: int) -> int:
        with lock:
            assert name not in busy
            busy.add(name)
            order.append((name, number))
        with lock:
            busy.remove(name)
        return number

    def asked(number: int) -> None:
        names = [f"c{each}" for each in range(8)]
        found = pool.run({name: (lambda name=name: work(name, number)) for name in names})
        assert found == dict.fromkeys(names, number)

    callers = [threading.Thread(target=asked, args=(number,)) for number in range(20)]
    for each in callers:
        each.start()
    for each in callers:
        each.join(60)
    assert len(order) == 160
    for number in range(8):
        assert [each for name, each in order if name == f"c{number}"] == [each for name, each in order if name == "c0"]


def test_a_shared_pool_uses_no_more_threads_than_it_has() -> None:
    pool, lock, running, most = WorkPool(2), threading.Lock(), [0], [0]

    def work() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        with lock:
            running[0] -= 1

    callers = [
        threading.Thread(target=pool.run, args=({f"{caller}-{each}": work for each in range(20)},))
        for caller in range(6)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert 1 <= most[0] <= 2 and not running[0]


def test_what_was_asked_for_in_vain_holds_up_nobody_who_comes_later() -> None:
    never, pool = threading.Event(), WorkPool(2)
    hung = pool.run({"c1": never.wait}, deadline=0.1)
    assert getattr(hung["c1"], "code", "") == "timeout"
    assert pool.run({"c2": lambda: 2}) == {"c2": 2}
    never.set()
    assert pool.run({"c1": lambda: 1}) == {"c1": 1}


@pytest.fixture
def startable(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many threads this machine starts from now on."""
    start, left = threading.Thread.start, [0]

    def limited(thread: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    return left


def test_where_the_machine_starts_no_thread_more_those_that_run_do_the_work(startable: list[int]) -> None:
    startable[0] = 1
    pool = WorkPool(16)
    assert pool.run({str(each): (lambda each=each: each) for each in range(5)}) == {
        str(each): each for each in range(5)
    }
    startable[0] = 1
    assert pool.run({"later": lambda: 1}) == {"later": 1}


def test_without_any_thread_all_that_was_asked_for_is_refused_and_none_of_it_done_later(startable: list[int]) -> None:
    pool, done = WorkPool(1), list[str]()
    for _attempt in range(2):
        with pytest.raises(FleetError) as refused:
            pool.run({name: (lambda name=name: done.append(name)) for name in ("a", "b")})
        assert refused.value.code == "no-workers"
    startable[0] = 1
    assert pool.run({"a": lambda: 1}) == {"a": 1} and done == []
