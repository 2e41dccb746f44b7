# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A credential plugin and all that it starts, with real processes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.plugin_run import PluginFailed, run_plugin

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")

TREE = Path(__file__).resolve().parents[6] / ".cache" / "collections"
LONG = 60.0
# One in the background, one in a session of its own, one that is nobody's child any more, one that ignores SIGTERM; all
# of them hold what the plugin prints to.
FAMILY = """
note() { echo $$ >> "$PIDS"; exec sleep 600; }
export -f note
bash -c note &
setsid bash -c note &
(setsid bash -c 'trap "" TERM; note' &)
bash -c '(bash -c note &)'
until [ "$(wc -l < "$PIDS")" = 4 ]; do sleep 0.01; done
"""


@pytest.fixture
def plugin(tmp_path: Path) -> t.Callable[..., bytes]:
    (tmp_path / "pids").touch()

    def run(script: str, seconds: float = LONG) -> bytes:
        return run_plugin(["bash", "-c", script], {**os.environ, "PIDS": str(tmp_path / "pids")}, tmp_path, seconds)

    return run


def alive(folder: Path) -> list[int]:
    """Those that noted their number and have not ended."""
    found = []
    for pid in map(int, (folder / "pids").read_text().split()):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        found += [pid] if state not in "ZX" else []
    return found


def until(holds: t.Callable[[], t.Any]) -> None:
    end = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def refused(*arguments: t.Any) -> str:
    with pytest.raises(PluginFailed) as caught:
        arguments[0](*arguments[1:])
    return str(caught.value)


def test_what_it_prints_is_the_answer(plugin: t.Callable[..., bytes]) -> None:
    assert plugin("echo one; echo two") == b"one\ntwo\n"
    assert len(plugin("head -c 1000000 /dev/zero")) == 1_000_000


def test_all_that_it_started_ends_with_it(plugin: t.Callable[..., bytes], tmp_path: Path) -> None:
    """What keeps its output open does not keep us waiting."""
    assert plugin(FAMILY + "echo done") == b"done\n"
    assert alive(tmp_path) == []


def test_all_that_it_started_ends_when_the_time_is_over(
    plugin: t.Callable[..., bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that jumps when all of them are there."""
    clock = time.monotonic
    script = FAMILY + "echo $$ >> $PIDS; exec sleep 600"
    jump = 3600.0
    monkeypatch.setattr(time, "monotonic", lambda: clock() + (jump if len(alive(tmp_path)) == 5 else 0.0))
    assert refused(plugin, script) == f"gave no answer within {LONG:g} s"
    assert len((tmp_path / "pids").read_text().split()) == 5 and alive(tmp_path) == []


def test_a_plugin_that_closes_its_output_and_stays_is_ended(plugin: t.Callable[..., bytes], tmp_path: Path) -> None:
    answer = plugin("echo $$ >> $PIDS; (exec > /dev/null; exec sleep 600) & echo done")
    assert answer == b"done\n" and alive(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_all_that_it_started_ends_with_us(tmp_path: Path, number: signal.Signals) -> None:
    """However we end, and from whichever thread it was started."""
    (tmp_path / "pids").touch()
    program = f"""
        import os, sys, threading
        sys.path.insert(0, {str(TREE)!r})
        from pathlib import Path
        from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.plugin_run import run_plugin
        command = ["bash", "-c", {FAMILY + "echo $$ >> $PIDS; exec sleep 600"!r}]
        environ = dict(os.environ, PIDS={str(tmp_path / "pids")!r})
        work = threading.Thread(target=run_plugin, args=(command, environ, Path("/"), 600.0), daemon=True)
        work.start()
        work.join()
    """
    beginner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stderr=subprocess.DEVNULL)
    until(lambda: len((tmp_path / "pids").read_text().split()) == 5)
    assert len(alive(tmp_path)) == 5
    beginner.send_signal(number)
    beginner.wait(300)
    until(lambda: alive(tmp_path) == [])


def test_output_without_end_is_not_taken(plugin: t.Callable[..., bytes], tmp_path: Path) -> None:
    assert refused(plugin, "echo $$ >> $PIDS; exec yes canary") == "printed more than 1 MB"
    assert alive(tmp_path) == []


def test_it_has_no_input_no_terminal_and_nobody_to_complain_to(
    plugin: t.Callable[..., bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    """F23"""
    assert plugin("cat; (echo canary > /dev/tty) && echo terminal; echo canary >&2; echo done") == b"done\n"
    captured = capfd.readouterr()
    assert "canary" not in captured.out + captured.err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-program"], "is not installed"),
        (["/no/such/program"], "is not installed"),
        (["/etc/passwd"], "cannot be executed"),
        (["false"], "failed with exit code 1"),
        (["sh", "-c", "kill -9 $$"], "failed with exit code 137"),
        (["true", "x" * 3_000_000], "cannot be started: Argument list too long"),
        (["true", "a\0b"], "cannot be started: impossible arguments"),
    ],
)
def test_why_there_is_no_answer(tmp_path: Path, command: list[str], words: str) -> None:
    assert refused(run_plugin, command, dict(os.environ), tmp_path, LONG) == words


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    assert "cannot be started: No such file" in refused(run_plugin, ["true"], dict(os.environ), tmp_path / "x", LONG)


def test_a_program_that_the_kernel_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF")
    (tmp_path / "program").chmod(0o755)
    assert refused(run_plugin, [str(tmp_path / "program")], dict(os.environ), tmp_path, LONG).endswith("exit code 126")


def test_what_is_printed_right_before_the_end_is_heard(
    plugin: t.Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that found nothing to read may go on long after: the plugin has printed and ended by then."""
    begun: list[subprocess.Popen[bytes]] = []

    class Late:
        """Looks at a pipe, and comes back from the first look once the plugin has ended."""

        def __init__(self) -> None:
            self._real = select_poll()
            self._looked = False

        def register(self, handle: int, mask: int) -> None:
            self._real.register(handle, mask)

        def poll(self, wait: float) -> list[tuple[int, int]]:
            if self._looked:
                return self._real.poll(wait)
            self._looked = True
            begun[0].wait()
            return []

    select_poll, start = select.poll, subprocess.Popen
    monkeypatch.setattr(select, "poll", Late)
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **named: begun.append(start(*given, **named)) or begun[0])
    assert plugin("echo late") == b"late\n"
