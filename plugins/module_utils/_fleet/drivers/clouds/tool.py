# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The command line of a cloud, asked and told by a ready definition, again while it is busy or throttled
(``tool-failed``, ``tool-missing``, ``tool-unreadable``). It logs in by itself, with what it finds in its environment
and its own files."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import tempfile
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ...._core.errors import FleetError

_TAIL = 8
# Bytes of what a tool prints: a list of a thousand operations has one million; of its errors the last are read.
_MOST_OUTPUT, _MOST_ERRORS = 50_000_000, 65_536


@dataclass(frozen=True, kw_only=True)
class Refusals:
    """How the error output of a tool says that the same command is worth another try later: the cluster is ``busy``
    with another operation, or there were too many requests (``throttled``)."""

    busy: re.Pattern[str]
    throttled: re.Pattern[str]

    def later(self, text: str) -> bool:
        """Whether the error output says either."""
        return bool(self.busy.search(text) or self.throttled.search(text))


@dataclass(frozen=True, kw_only=True)
class Tool:
    """Commands that change something are repeated for ``patience`` seconds, every ``interval``, as long as the cloud
    refuses them with one of ``refusals``."""

    environ: t.Mapping[str, str] = field(repr=False)
    refusals: Refusals
    patience: float
    interval: float

    def json_of(self, *argv: str) -> t.Any:
        """Runs a command that only reads, once, and gives the JSON that it prints. FleetError ``tool-failed``, also
        after ``patience`` seconds, ``tool-missing``, ``tool-unreadable``."""
        done = self._run(argv, self.patience)
        if done.returncode != 0:
            raise _failure_of(argv, done)
        try:
            return json.loads(done.stdout)
        except (ValueError, RecursionError):
            raise FleetError("tool-unreadable", f"{_named(argv)} printed no JSON: {done.stdout[:200]!r}") from None

    def do(self, *argv: str) -> None:
        """Carries out a command to its end, however long that takes, and again while the cloud refuses it for the
        moment. FleetError ``tool-failed`` for another refusal, or the last one, ``tool-missing``, ``tool-unreadable``
        for more than 50 MB of output."""
        end = time.monotonic() + self.patience
        while (done := self._run(argv)).returncode != 0:
            if not self.refusals.later(done.stderr) or time.monotonic() + self.interval > end:
                raise _failure_of(argv, done)
            self.pause()

    def until(self, look: t.Callable[[], t.Any], within: float = math.inf) -> t.Any:
        """Calls ``look``, at least once, every ``interval`` seconds until it gives something that is true, and gives
        that; after ``within`` seconds what it gave last, or None if that was refused. Looks that are refused for the
        moment are repeated as in ``do``; other errors of a look are raised."""
        last = time.monotonic() + within
        end = time.monotonic() + self.patience
        while True:
            try:
                found = look()
                end = time.monotonic() + self.patience
            except FleetError as error:
                if not self.refusals.later(error.message) or time.monotonic() + self.interval > end:
                    raise
                found = None
            if found or time.monotonic() + self.interval > last:
                return found
            self.pause()

    def pause(self) -> None:
        """Sleeps for ``interval`` seconds."""
        time.sleep(self.interval)

    def _run(self, argv: tuple[str, ...], seconds: float | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command once, in our own session, so that whoever ends us ends it, too. Into files: what it leaves
        behind, holding its output open, is not waited for. FleetError ``tool-failed`` after so many seconds (None:
        never), ``tool-missing`` if it cannot be started, ``tool-unreadable`` for more than 50 MB."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                done = subprocess.run(  # pylint: disable=ansible-bad-function  # runs on the controller
                    list(argv),
                    env=dict(self.environ),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    timeout=seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise FleetError("tool-failed", f"{_named(argv)} gave no answer within {seconds:g} s") from None
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or "no program can be given such arguments"
                hint = f"install it, or put its folder into PATH: {self.environ.get('PATH', '')}"
                raise FleetError("tool-missing", f"{argv[0]} cannot be started: {why}", hint=hint) from None
            if out.seek(0, os.SEEK_END) > _MOST_OUTPUT:
                raise FleetError("tool-unreadable", f"{_named(argv)} printed more than {_MOST_OUTPUT // 1_000_000} MB")
            return subprocess.CompletedProcess(
                done.args, done.returncode, _tail(out, _MOST_OUTPUT), _tail(err, _MOST_ERRORS)
            )


def _tail(file: t.IO[bytes], most: int) -> str:
    """The end of what was written there, ``most`` bytes at most."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    return file.read(most).decode("utf-8", "replace")


def without_folder(environ: t.Mapping[str, str], folder: Path) -> dict[str, str]:
    """A copy of the environment with that folder, and empty parts, taken out of ``PYTHONPATH``: tools in Python have
    modules of their own."""
    kept = [each for each in environ.get("PYTHONPATH", "").split(":") if each and Path(each) != folder]
    rest = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
    return {**rest, "PYTHONPATH": ":".join(kept)} if kept else rest


def _failure_of(argv: tuple[str, ...], done: subprocess.CompletedProcess[str]) -> FleetError:
    """The error ``tool-failed``, to be raised, with the last 8 lines of its error output or else its output."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()[-_TAIL:]
    return FleetError("tool-failed", "\n".join([f"{_named(argv)} ended with {done.returncode}", *lines]))


def _named(argv: tuple[str, ...]) -> str:
    """The command without its options."""
    return " ".join(word for word in argv if not word.startswith("-"))
