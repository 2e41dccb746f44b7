# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Processes are told apart by their start, and end when they are told to."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._local import processes

ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.fixture
def start(tmp_path):
    """Start a shell command under a mark of this test."""
    begun = []

    def run(script):
        begun.append(processes.start(("/bin/sh", "-c", script), tmp_path / "log", str(tmp_path), ENVIRON))
        return begun[-1]

    yield run
    processes.stop(begun, grace=0)


def until(holds):
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_it_runs_in_a_session_of_its_own_and_logs(start, tmp_path):
    one = start("echo out; echo err >&2; exec sleep 60")
    assert processes.is_running(one)
    assert os.getsid(one.pid) == one.pid
    until(lambda: processes.last_lines(tmp_path / "log") == "out\nerr")


def test_it_starts_with_default_signals(start, tmp_path):
    """Python ignores SIGPIPE; a server that did would behave otherwise than one started by hand."""
    one = start("grep SigIgn /proc/self/status; exec sleep 60")
    until(lambda: "SigIgn" in processes.last_lines(tmp_path / "log"))
    ignored = int(processes.last_lines(tmp_path / "log").split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1))
    assert processes.is_running(one)


def test_a_zombie_is_dead_and_reaped(start):
    one = start("exit 0")
    until(lambda: not processes.is_running(one))
    with pytest.raises(ChildProcessError):
        os.waitpid(one.pid, os.WNOHANG)


def test_a_zombie_of_somebody_else_is_dead():
    child = subprocess.Popen(["true"])
    until(lambda: (processes._stat(child.pid) or "?")[0] == "Z")
    assert not processes.is_running(processes.ProcessId(child.pid, processes._started(child.pid) or ""))
    child.wait()


def test_another_start_is_another_process(start):
    one = start("exec sleep 60")
    other = replace(one, started="0/1")
    assert not processes.is_running(other)
    processes.stop([other], grace=0)
    assert processes.is_running(one)


def test_the_memory_of_another_process_with_its_number_is_not_counted(start):
    """As after a restart of the machine."""
    one = start("exec sleep 60")
    until(lambda: processes.memory(one) > (0, 0))  # none for a moment, while it becomes sleep
    assert processes.memory(replace(one, started="0/1")) == (0, 0)


def test_a_process_that_ends_while_it_is_looked_at_has_no_memory(start, monkeypatch):
    one, read = start("exec sleep 60"), Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, **how: "" if path.name == "smaps_rollup" else read(path, **how))
    assert processes.memory(one) == (0, 0)


def test_sigterm_first(start, tmp_path):
    one = start("trap 'echo bye; exit' TERM; echo up; while :; do sleep 0.01; done")
    until(lambda: "up" in processes.last_lines(tmp_path / "log"))
    processes.stop([one])
    assert not processes.is_running(one)
    assert "bye" in processes.last_lines(tmp_path / "log")


def test_then_sigkill(start, tmp_path):
    one = start("trap '' TERM; echo up; while :; do sleep 0.01; done")
    until(lambda: "up" in processes.last_lines(tmp_path / "log"))
    processes.stop([one], grace=0.1)
    assert not processes.is_running(one)


def test_stopping_what_has_ended_is_no_error(start):
    one = start("exit 0")
    processes.stop([one])
    processes.stop([one])


def test_a_process_is_found_again_by_its_mark(start, tmp_path):
    one = start("exec sleep 60")
    until(lambda: processes.process_arguments(one) == ("sleep", "60"))
    assert processes.processes_marked(str(tmp_path)) == (one,)
    assert processes.processes_marked(str(tmp_path / "other")) == ()


def test_a_process_that_is_just_being_replaced_by_another_program_is_found(tmp_path):
    """In between the kernel shows neither its environment nor its arguments. This one never does anything else."""
    again = tmp_path / "again.sh"
    again.write_text(f"exec /bin/sh {again}\n")
    one = processes.start(("/bin/sh", str(again)), tmp_path / "log", str(tmp_path), ENVIRON)
    try:
        assert [processes.processes_marked(str(tmp_path)) for _look in range(300)] == [(one,)] * 300
    finally:
        os.kill(one.pid, signal.SIGKILL)
        until(lambda: not processes.is_running(one))


def test_a_process_without_environment_has_no_mark(tmp_path):
    child = subprocess.Popen(["sleep", "60"], env={})
    try:
        assert processes.processes_marked(str(tmp_path)) == ()
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(("numbers", "root", "found"), [("1", "", True), ("2", "", False), ("1", "container", False)])
def test_a_process_of_a_container_is_not_ours_though_its_folder_has_the_same_path(
    tmp_path, monkeypatch, numbers, root, found
):
    """Who sees it is root on the host; it has other numbers for processes, or paths that begin elsewhere."""
    (tmp_path / "container").mkdir()
    for name, its_numbers, its_root in (("self", "1", ""), ("7", numbers, root)):
        (tmp_path / name / "ns").mkdir(parents=True)
        (tmp_path / name / "ns" / "pid").symlink_to(f"pid:[{its_numbers}]")
        (tmp_path / name / "root").symlink_to(tmp_path / its_root)
    (tmp_path / "7" / "environ").write_bytes(b"A=b\0" + f"{processes.MARK}=/clusters/hub\0".encode())
    (tmp_path / "7" / "stat").write_text("7 (etcd) S " + " ".join("1" * 40))
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    assert [one.pid for one in processes.processes_marked("/clusters/hub")] == [7] * found


def test_what_cannot_be_started_is_said(tmp_path):
    with pytest.raises(FleetError) as refused:
        processes.start((str(tmp_path / "none"),), tmp_path / "log", "mark", ENVIRON)
    assert refused.value.code == "cannot-start"


def test_only_the_end_of_a_long_log_is_read(tmp_path):
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(100_000)))
    assert processes.last_lines(log, 2) == "line 99998\nline 99999"
    assert processes.last_lines(tmp_path / "none") == ""


def test_of_a_panic_the_beginning_is_told(tmp_path):
    """Its last lines say only where it was."""
    log = tmp_path / "log"
    log.write_text("up\npanic: failed to setup manager: address already in use\n\n" + "main.main()\n" * 30)
    told = processes.last_lines(log, 3)
    assert told == "panic: failed to setup manager: address already in use\n\nmain.main()"


def test_what_a_log_held_before_a_start_is_not_told(tmp_path):
    log = tmp_path / "log"
    log.write_text("panic: of an earlier start\nmain.main()\n")
    before = log.stat().st_size
    assert processes.last_lines(log, since=before) == ""
    with log.open("a") as file:
        file.write("up\ndown\n")
    assert processes.last_lines(log, since=before) == "up\ndown"
    log.write_text("up\n")
    assert processes.last_lines(log, since=before) == "up", "somebody emptied it meanwhile"
