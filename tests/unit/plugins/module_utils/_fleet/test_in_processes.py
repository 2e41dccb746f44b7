# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Processes that share out work: what they answer, what is said of those that do not, and that none is left behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
import typing as t
from functools import partial, reduce
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.in_processes import in_processes
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.descriptors import descriptors

LONG = 120.0
COLLECTIONS = Path(__file__).resolve().parents[5] / ".cache" / "collections"


def codes(answers: t.Iterable[t.Any]) -> list[t.Any]:
    return [each.code if isinstance(each, FleetError) else each for each in answers]


def gone(pid: int) -> bool:
    """Whether the process has ended; a zombie has, too."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def waited_for(what: t.Callable[[], t.Any]) -> t.Any:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come")


def test_the_first_share_is_done_here_and_each_other_in_a_process_of_its_own() -> None:
    found = in_processes([os.getpid] * 3)
    assert found[0] == os.getpid() and len(set(found)) == 3
    assert all(gone(t.cast(int, pid)) for pid in found[1:])


def test_an_answer_may_be_larger_than_a_pipe() -> None:
    assert [len(t.cast(bytes, each)) for each in in_processes([partial(bytes, 3_000_000)] * 3)] == [3_000_000] * 3


def test_a_refusal_comes_back_with_all_its_problems() -> None:
    problems = [Problem("one", "first", "m1", "do this"), Problem("two", "second", "m2")]

    def refuses() -> t.Any:
        raise FleetError.of(problems)

    found = in_processes([lambda: 1, refuses, lambda: 3])
    assert (found[0], found[2]) == (1, 3)
    assert t.cast(FleetError, found[1]).problems == tuple(problems)


def test_what_makes_a_process_fall_over_is_told_without_its_text() -> None:
    def falls() -> t.Any:
        raise LookupError("canary")

    found = in_processes([lambda: 1, falls, lambda: 3])
    assert codes(found) == [1, "fault", 3] and "canary" not in str(found[1])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_process_that_ends_without_an_answer_is_lost_and_stops_no_other(how: int) -> None:
    """F4: its members are told as unread; none is taken for gone."""
    found = in_processes([lambda: 1, lambda: os.kill(os.getpid(), how) or threading.Event().wait(), lambda: 3])
    assert codes(found) == [1, "worker-lost", 3]


def test_when_the_first_share_raises_the_others_end_and_nobody_waits_for_them(tmp_path: Path) -> None:
    told = tmp_path / "pid"

    def hangs() -> t.Any:
        told.write_text(f"{os.getpid()}.")
        threading.Event().wait()

    def raises() -> t.Any:
        waited_for(lambda: told.exists() and told.read_text().endswith("."))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_processes([raises, hangs])
    assert gone(int(told.read_text()[:-1]))


def test_an_answer_that_cannot_be_sent_is_told_too() -> None:
    """Nested deeper than pickle goes."""
    found = in_processes([lambda: 1, lambda: reduce(lambda inner, _time: [inner], range(5000), list[t.Any]())])
    assert codes(found) == [1, "fault"]


@pytest.mark.parametrize("name", ["fork", "pipe"])
@pytest.mark.parametrize("good", range(4))
def test_where_no_process_can_be_started_nothing_is_done_and_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch, name: str, good: int
) -> None:
    real, calls, before = getattr(os, name), iter(range(100)), descriptors()

    def refused() -> t.Any:
        if next(calls) < good:
            return real()
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, name, refused)
    done: list[int] = []
    with pytest.raises(FleetError) as caught:
        in_processes([lambda: done.append(1)] * 6)
    assert (caught.value.code, caught.value.where, done) == ("no-workers", "workers", [])
    assert os.strerror(errno.EAGAIN) in str(caught.value) and not descriptors() - before


PROGRAM = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.in_processes import in_processes
def hangs():
    os.write(1, b"%d\\n" % os.getpid())  # three write here, each in one go
    threading.Event().wait()
in_processes([hangs, hangs, hangs])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_the_one_that_it_works_for(how: int) -> None:
    """However that ends, and whoever of them was started later."""
    command = [sys.executable, "-c", PROGRAM, str(COLLECTIONS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            pids = [int(process.stdout.readline()) for _each in range(3)]
            process.send_signal(how)
            assert process.wait(LONG) == -how
            for pid in pids:
                waited_for(partial(gone, pid))
        finally:
            process.kill()
