# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Runs commands of the Pulumi engine: what they print, as JSON too, events told while they go on, an end if they take
too long (``stack-timeout``) or this process is told to end (``interrupted``), what their failure means
(``stack-failed``, ``no-passphrase``), who holds a lock."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..._core.errors import FleetError, Problem
from ..._core.values.listed import listed
from ..keeping import INTERRUPTED
from ..leases import process_exists
from .events import Story

# Tells people a line of what goes on.
Say = t.Callable[[str], None]
NO_SUCH_STACK, UNREADABLE = "no-such-stack", "stack-unreadable"
_LOCK = re.compile(r"created by (\S+)@(\S+) \(pid ([0-9]{1,20})\) at (\S+)")
# What the engine says where it lacks the passphrase, or has another one, and what that means.
_PASSPHRASE = {
    "passphrase must be set with": "secrets of the stack are encrypted by a passphrase, and none is given",
    "incorrect passphrase": "the passphrase is not the one that encrypts the secrets of the stack",
}
# What the engine says for each error once more.
_ECHOES = ("update failed", "preview failed", "an unhandled error occurred: program exited with")
_PAUSE = 0.1
_MOST, _MOST_NAMED = 4_000, 20
# Bytes: of what a command prints for us, of what it says for people, and of its events at one look.
_MOST_PRINTED, _MOST_SAID, _MOST_EVENTS = 200_000_000, 1_000_000, 50_000_000


@dataclass(frozen=True, kw_only=True)
class Commands:
    """Commands for one stack: ``program`` is the folder of its program, ``workspace`` that of its settings. ``seconds``
    are for one command; ``grace`` for the engine to end what it began when it is asked to, and again to break it off.
    ``told`` says why this process is to end, empty if it is not."""

    pulumi: Path
    stack: str
    program: Path
    workspace: Path
    environ: t.Mapping[str, str] = field(repr=False)
    seconds: float
    say: Say
    grace: float = 30.0
    told: t.Callable[[], str] = str

    def output_of(self, *arguments: str, given: str = "") -> str:
        """Runs a command of the engine that runs no program, and gives what it prints; ``given`` is its input.
        FleetError ``stack-failed``, ``stack-locked``, ``no-such-stack``, ``no-passphrase``, ``stack-timeout``,
        ``stack-unreadable``, also for more than 200 MB, ``interrupted``; OSError for files of the workspace, as of a
        full disk."""
        done = self._run([*arguments, "--stack", self.stack], self.workspace, given, None)
        if done.code != 0:
            raise self._failure(done.said, Story())
        return done.printed

    def json_of(self, *arguments: str, empty: t.Any = None) -> t.Any:
        """The JSON that ``output_of`` the command is; ``empty`` if that is blank. FleetError and OSError as of
        ``output_of``; ``stack-unreadable`` for what is no JSON."""
        return self._document(arguments, self.output_of(*arguments), empty)

    def known(self) -> bool:
        """Whether the backend has a stack of this name for the project, with resources or without. FleetError and
        OSError as of ``output_of``."""
        words = ("stack", "ls", "--json")
        done = self._run(words, self.workspace, "", None)
        if done.code != 0:
            raise self._failure(done.said, Story())
        stacks = self._document(words, done.printed, [])
        if not isinstance(stacks, list) or not all(isinstance(each, dict) for each in stacks):
            raise self._unreadable("pulumi stack ls told no list of stacks")
        return any(str(each.get("name")).rpartition("/")[2] == self.stack for each in stacks)

    def run_with_events(self, *arguments: str, keep: bool = False) -> Story:
        """Runs a command of the engine that runs the program, and gives what the engine told of it; ``say`` gets lines
        for people meanwhile. With ``keep`` the engine is ended, and FleetError ``deletions`` raised, at the first
        resource that it deletes or replaces. FleetError and OSError as of ``output_of``; ``stack-unreadable`` if not
        all of what it told is there and understood."""
        log = self.workspace / f"{arguments[0]}.events"
        settings = self.workspace / f"Pulumi.{self.stack}.yaml"
        story = Story(is_look=arguments[0] == "preview" or "--preview-only" in arguments)
        words = [*arguments, "--stack", self.stack, "--config-file", str(settings), "--event-log", str(log)]
        done = self._run(words, self.program, "", _Reader(log, story, self.say, keep))
        if keep and story.deleted:
            names = listed([f"{step.name} ({step.type})" for step in story.deleted], _MOST_NAMED)
            text = f"the engine was ended as it deleted or replaced what the preview had kept: {names}"
            raise FleetError("deletions", text, f"stack {self.stack}", "look at what is left, and run it again")
        if done.code != 0:
            raise self._failure(done.said, story)
        if story.unreadable:
            raise self._unreadable(f"{story.unreadable} of the engine's events cannot be read: not all it did is known")
        if not story.whole:  # the engine passes over what it cannot write, and says that all is well
            text = "the engine's events end before its summary: not all it did is known"
            raise FleetError(UNREADABLE, text, f"stack {self.stack}", f"is the disk of {self.workspace.parent} full?")
        return story

    def _run(self, arguments: t.Sequence[str], folder: Path, given: str, reader: _Reader | None) -> _Done:
        """Runs the engine in ``folder`` until it has ended; its code is not judged. ``reader`` takes in events
        meanwhile and after. FleetError ``stack-failed`` if it cannot be started, ``stack-timeout``,
        ``stack-unreadable`` above 200 MB printed, ``interrupted``; OSError for files of the workspace."""
        self._refuse_if_told("nothing more is asked of the engine")
        command = [str(self.pulumi), *arguments, "--non-interactive", "--color", "never", "--cwd", str(folder)]
        output, errors = self.workspace / "output", self.workspace / "errors"
        with output.open("wb") as written, errors.open("wb") as warned:
            try:
                child = subprocess.Popen(  # pylint: disable=ansible-bad-function  # runs on the controller
                    command,
                    env=dict(self.environ),
                    stdin=subprocess.PIPE if given else subprocess.DEVNULL,
                    stdout=written,
                    stderr=warned,
                )
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or "no program can be given such arguments"
                text = f"{self.pulumi} cannot be started: {why}"
                raise FleetError("stack-failed", text, f"stack {self.stack}") from None
        try:
            self._await_end(child, given, reader)
        finally:
            self._end(child)
        if reader is not None:
            reader.read()
        if output.stat().st_size > _MOST_PRINTED:
            raise self._unreadable(f"pulumi {arguments[0]} printed more than {_MOST_PRINTED // 1_000_000} MB")
        return _Done(output, errors, child.returncode)

    def _document(self, arguments: t.Sequence[str], printed: str, empty: t.Any) -> t.Any:
        """What was printed as JSON; ``empty`` if it is blank. FleetError ``stack-unreadable``."""
        if not printed.strip():
            return empty
        try:
            return json.loads(printed)
        except (ValueError, RecursionError):
            raise self._unreadable(f"pulumi {' '.join(arguments)} printed no JSON") from None

    def _unreadable(self, text: str) -> FleetError:
        """FleetError ``stack-unreadable``, to be raised."""
        hint = "is this an engine that the collection was tried with?"
        return FleetError(UNREADABLE, text, f"stack {self.stack}", hint)

    def _await_end(self, child: subprocess.Popen[bytes], given: str, reader: _Reader | None) -> None:
        """Waits until the engine has ended, hands it its input, and ends it at the first resource it was to keep, and
        when this process is told to end: FleetError ``interrupted``. ``stack-timeout`` after ``seconds``."""
        end = time.monotonic() + self.seconds
        if given and child.stdin is not None:
            threading.Thread(target=_hand_over, args=(child.stdin, given.encode()), daemon=True).start()
        while child.poll() is None:
            if self.told():
                self._end(child)
                self._refuse_if_told("the engine was asked to end, and has ended what it began, or broken it off")
            if time.monotonic() > end:
                self._end(child)
                text = f"the engine was not done after {self.seconds:.0f} s, and was asked to end"
                raise FleetError("stack-timeout", text, f"stack {self.stack}", "give it more by timeout; run it again")
            if reader is not None:
                reader.read()
                if reader.keep and reader.story.deleted:
                    self._end(child)
            time.sleep(_PAUSE)

    def _refuse_if_told(self, then: str) -> None:
        """FleetError ``interrupted`` with what is done ``then``, if this process is told to end."""
        came = self.told()
        if came:
            raise FleetError(INTERRUPTED, f"{came}; {then}", f"stack {self.stack}", "run again: it goes on from here")

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """Ends the engine and waits for it: asked once, it ends what it began; asked again, it breaks off and writes
        down what it knows; each time it has ``grace`` seconds, then it is killed."""
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
        """The error that the engine's words mean: ``stack-locked``, ``no-such-stack``, ``stack-unreadable``,
        ``no-passphrase``, else ``stack-failed`` with a problem for each error of the story, or with the lines that name
        one, or the last five."""
        where = f"stack {self.stack}"
        if "currently locked by" in output:
            return _locked(output, where)
        if "no stack named" in output:
            return FleetError(NO_SUCH_STACK, f"the backend has no stack {self.stack}", where, "is backend_url right?")
        if "failed to load checkpoint" in output:
            hint = "delete empty files *.attrs beside the state: a run that was killed leaves such"
            return FleetError("stack-unreadable", "the state cannot be read", where, hint)
        for words, text in _PASSPHRASE.items():
            if words in output:  # the engine says to set variables, which are not used
                hint = "name the file that has it by the option passphrase_file; variables of the shell are not used"
                return FleetError("no-passphrase", text, where, hint)
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
    output: Path
    errors: Path
    code: int

    @property
    def printed(self) -> str:
        """All that the command printed on its standard output."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    @property
    def said(self) -> str:
        """The end of both outputs, at most 1 MB of each, for people."""
        return f"{_end_of(self.output)}\n{_end_of(self.errors)}"


def _end_of(path: Path) -> str:
    """The last 1 MB of a file as text."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_SAID))
        return file.read(_MOST_SAID).decode(errors="replace")


def _hand_over(pipe: t.IO[bytes], given: bytes) -> None:
    """Writes the input and closes the pipe, in a thread of its own: a program that does not read it is ended when its
    time is over. A pipe that breaks is no error."""
    with contextlib.suppress(OSError):  # what did not want it has ended, and says why
        pipe.write(given)
        pipe.close()


@dataclass
class _Reader:
    """Reads events as they are written; a line that is not whole yet waits."""

    log: Path
    story: Story
    say: Say
    keep: bool
    position: int = 0

    def read(self) -> None:
        """Takes in all events whose lines are whole by now, and says what people are told of them; nothing without a
        file."""
        while self.log.exists() and self._read_some():
            pass

    def _read_some(self) -> bool:
        """Reads up to 50 MB of lines; whether there may be more of them by now."""
        with self.log.open("rb") as file:
            file.seek(self.position)
            found = file.read(_MOST_EVENTS)
        lines, newline, _rest = found.rpartition(b"\n")
        if not newline and len(found) == _MOST_EVENTS:  # a part of one event; none is so long
            lines = found
        self.position += len(lines) + len(newline)
        for line in lines.splitlines():
            text = self.story.heard(line.decode(errors="replace"))
            if text:
                self.say(text)
        return len(found) == _MOST_EVENTS


def _locked(output: str, where: str) -> FleetError:
    """The error ``stack-locked`` with all who hold the lock, ``somebody`` if the engine does not tell."""
    holders = [_holder(*found) for found in _LOCK.findall(output)] or ["somebody"]
    hint = "wait for that run; if it was killed, take the lock away by force_unlock"
    return FleetError("stack-locked", f"the stack is locked by {', and by '.join(holders)}", where, hint)


def _holder(user: str, host: str, pid: str, since: str) -> str:
    """Who holds the lock since when, for people; for a host of this machine's name also whether that process has ended,
    as far as this machine sees: others may have that name."""
    told = f"{user} on {host} since {since} (process {pid})"
    if host != socket.gethostname() or process_exists(int(pid)):
        return told
    return f"{told}, which has ended without giving it back, unless another machine or container is called {host}, too"
