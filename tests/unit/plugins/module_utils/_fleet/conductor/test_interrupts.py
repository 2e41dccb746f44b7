# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Being told to end, by real signals and by the end of a real parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.interrupts import Interrupts

TREE = Path(__file__).resolve().parents[6] / ".cache" / "collections"
# What ansible-playbook does: a worker in a session of its own, which outlives it. It says what it notices.
ORPHANED = """
import multiprocessing, os, sys, time
sys.path.insert(0, {tree!r})
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.interrupts import Interrupts

def work(ours, theirs):
    os.close(theirs)
    os.setsid()
    made = Interrupts() if {early} else None
    os.write(1, b"at work\\n")
    os.read(ours, 1)  # until the parent is gone
    with made or Interrupts() as told:
        end = time.monotonic() + 120  # a process closes its files a moment before it is gone
        while not told() and time.monotonic() < end:
            time.sleep(0.01)
        os.write(1, (told() + "\\n").encode())

ours, theirs = os.pipe()
os.set_inheritable(ours, True)
child = multiprocessing.get_context("fork").Process(target=work, args=(ours, theirs))
child.start()
os.close(ours)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_all_signals_are_equal(number: signal.Signals):
    before = signal.getsignal(number)
    with Interrupts() as told:
        assert told() == ""
        os.kill(os.getpid(), number)
        assert told() == f"interrupted by {number.name}"
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) == before


def test_what_else_is_to_be_done_is_done_as_soon_as_a_signal_comes():
    done: list[str] = []
    with Interrupts() as told:
        told.also(lambda: done.append("stopped"))
        assert done == []
        os.kill(os.getpid(), signal.SIGTERM)
        assert done == ["stopped"]


def test_beside_the_main_thread_no_handler_is_set():
    found: list[t.Any] = []

    def work() -> None:
        with Interrupts() as told:
            found.append(told())

    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)]
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [""] and [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)] == before


@pytest.mark.parametrize("early", [True, False], ids=["while it is entered", "before it was made"])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="Ansible forks its workers")
def test_the_end_of_the_parent_is_noticed(number: signal.Signals, early: bool):
    code = ORPHANED.format(tree=str(TREE), early=early)
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout as said:
        assert said.readline() == "at work\n"
        parent.send_signal(number)
        parent.wait(300)
        assert said.readline() == "the process that started this one has ended\n"


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGTERM, "interrupted by SIGTERM or Ctrl-C"), (signal.SIGHUP, "interrupted by SIGHUP")],
)
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="Ansible forks its workers")
def test_the_process_of_a_task_does_not_say_sigterm_for_ctrl_c(number: signal.Signals, words: str) -> None:
    """Ansible ends it by SIGTERM for both."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def work() -> None:
        with Interrupts() as told:
            os.kill(os.getpid(), number)
            theirs.send(told())

    child = context.Process(target=work)
    child.start()
    assert ours.recv() == words
    child.join()
