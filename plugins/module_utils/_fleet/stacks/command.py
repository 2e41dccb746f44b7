# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the Pulumi engine: one command after another, told while it goes on, ended if it takes too long."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ..._core.errors import FleetError, Problem
from .events import Story

Say = t.Callable[[str], None]
NO_SUCH_STACK = "no-such-stack"
_LOCK = re.compile(r"created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)")
# What the engine says for each error once more.
_ECHOES = ("update failed", "preview failed", "an unhandled error occurred: program exited with")
_PAUSE = 0.1
_MOST = 4_000


@dataclass(frozen=True, kw_only=True)
class Commands:
    """Of one stack: ``program`` is its folder, ``workspace`` that of its settings. ``seconds`` are for one command;
    ``grace`` for the engine to end what it began when it is asked to, and again for what it breaks off then."""

    pulumi: Path
    stack: str
    program: Path
    workspace: Path
    environ: t.Mapping[str, str]
    seconds: float
    say: Say
    grace: float = 30.0

    def told(self, *arguments: str, given: str = "") -> str:
        """Runs a command that runs no program, and gives its output and error output as one; ``given`` is its input.
        FleetError if it fails, ``stack-timeout``."""
        done = self._run([*arguments, "--stack", self.stack], self.workspace, given, None)
        if done.code != 0:
            raise self._failure(done.output, Story())
        return done.output

    def known(self) -> bool:
        """Whether the backend has the stack."""
        done = self._run(["stack", "ls", "--json"], self.workspace, "", None)
        if done.code != 0:
            raise self._failure(done.output, Story())
        return re.search(rf'"name": "(?:[^"]*/)?{re.escape(self.stack)}"', done.output) is not None

    def story(self, *arguments: str) -> Story:
        """Runs a command that runs the program, and gives what it told; FleetError with all that the engine says went
        wrong, ``stack-timeout``."""
        log = self.workspace / f"{arguments[0]}.events"
        settings = self.workspace / f"Pulumi.{self.stack}.yaml"
        story = Story()
        words = [*arguments, "--stack", self.stack, "--config-file", str(settings), "--event-log", str(log)]
        done = self._run(words, self.program, "", _Reader(log, story, self.say))
        if done.code != 0:
            raise self._failure(done.output, story)
        return story

    def _run(self, arguments: t.Sequence[str], folder: Path, given: str, reader: _Reader | None) -> _Done:
        command = [str(self.pulumi), *arguments, "--non-interactive", "--color", "never", "--cwd", str(folder)]
        output = self.workspace / "output"
        with output.open("wb") as written:
            child = subprocess.Popen(  # pylint: disable=ansible-bad-function  # runs on the controller
                command,
                env=dict(self.environ),
                stdin=subprocess.PIPE if given else subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
            )
        try:
            self._awaited(child, given, reader)
        finally:
            self._ended(child)
        if reader is not None:
            reader.read()
        return _Done(output.read_text(encoding="utf-8", errors="replace"), child.returncode)

    def _awaited(self, child: subprocess.Popen[bytes], given: str, reader: _Reader | None) -> None:
        end = time.monotonic() + self.seconds
        if given and child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # what did not want it has ended, and says why
                child.stdin.write(given.encode())
                child.stdin.close()
        while child.poll() is None:
            if time.monotonic() > end:
                self._ended(child)
                text = f"the engine was not done after {self.seconds:.0f} s, and was asked to end"
                raise FleetError("stack-timeout", text, f"stack {self.stack}", "give it more by timeout; run it again")
            if reader is not None:
                reader.read()
            time.sleep(_PAUSE)

    def _ended(self, child: subprocess.Popen[bytes]) -> None:
        """Asked once, the engine ends what it began; asked again, it breaks off and writes down what it knows."""
        for _asked in range(2):
            if child.poll() is not None:
                return
            child.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(self.grace)
        if child.poll() is None:
            child.kill()
            child.wait()

    def _failure(self, output: str, story: Story) -> FleetError:
        where = f"stack {self.stack}"
        if "currently locked by" in output:
            return _locked(output, where)
        if "no stack named" in output:
            return FleetError(NO_SUCH_STACK, f"the backend has no stack {self.stack}", where, "is backend_url right?")
        if "failed to load checkpoint" in output:
            hint = "delete empty files *.attrs beside the state: a run that was killed leaves such"
            return FleetError("stack-unreadable", "the state cannot be read", where, hint)
        if story.errors:
            named = [each for each in story.errors if not each[1].startswith(_ECHOES)] or story.errors
            return FleetError.of(
                Problem("stack-failed", text[:_MOST], f"{where}: {name}" if name else where) for name, text in named
            )
        said = [line for line in output.splitlines() if line.strip()]
        errors = [line.partition("error: ")[2] for line in said if "error: " in line]
        return FleetError("stack-failed", "; ".join(errors or said[-5:])[:_MOST] or "the engine failed", where)


@dataclass(frozen=True)
class _Done:
    output: str
    code: int


@dataclass
class _Reader:
    """Reads events as they are written; a line that is not whole yet waits."""

    log: Path
    story: Story
    say: Say
    position: int = 0

    def read(self) -> None:
        if not self.log.exists():
            return
        with self.log.open("rb") as file:
            file.seek(self.position)
            lines, newline, _rest = file.read().rpartition(b"\n")
        self.position += len(lines) + len(newline)
        for line in lines.splitlines():
            text = self.story.heard(line.decode(errors="replace"))
            if text:
                self.say(text)


def _locked(output: str, where: str) -> FleetError:
    holders = [_holder(*found) for found in _LOCK.findall(output)] or ["somebody"]
    hint = "wait for that run; if it was killed, take the lock away by force_unlock"
    return FleetError("stack-locked", f"the stack is locked by {', and by '.join(holders)}", where, hint)


def _holder(user: str, host: str, pid: str, since: str) -> str:
    told = f"{user} on {host} since {since} (process {pid})"
    if host != socket.gethostname():
        return told
    return told if Path(f"/proc/{pid}").exists() else f"{told}, which has ended without giving it back"
