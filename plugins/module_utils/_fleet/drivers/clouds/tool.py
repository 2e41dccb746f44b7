# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The command line of a cloud, asked and told by a ready definition. No shell, and nothing secret in its arguments: it
logs in by itself, with what it finds in its environment and its own files."""

from __future__ import annotations

import json
import re
import subprocess
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ...._core.errors import FleetError

_TAIL = 8


@dataclass(frozen=True, kw_only=True)
class Refusals:
    """How a tool says that the same command is worth another try later, in its error output: the cluster is ``busy``
    with another operation, or there were too many requests (``throttled``)."""

    busy: re.Pattern[str]
    throttled: re.Pattern[str]

    def later(self, text: str) -> bool:
        """Whether the error output says so."""
        return bool(self.busy.search(text) or self.throttled.search(text))


@dataclass(frozen=True, kw_only=True)
class Tool:
    """Commands that change something are repeated for ``patience`` seconds, every ``interval``, as long as the cloud
    refuses them with one of ``refusals``. Each names where it leads, so that a repeated one changes nothing more."""

    environ: t.Mapping[str, str]
    refusals: Refusals
    patience: float
    interval: float

    def told(self, *argv: str) -> t.Any:
        """Runs a command once, and gives the JSON that it prints. FleetError ``tool-failed``, ``tool-missing``,
        ``tool-unreadable``."""
        done = self._run(argv)
        if done.returncode != 0:
            raise _failed(argv, done)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise FleetError("tool-unreadable", f"{_named(argv)} printed no JSON: {done.stdout[:200]!r}") from None

    def do(self, *argv: str) -> None:
        """Carries out a command to its end, and again as told above. FleetError ``tool-failed``, ``tool-missing``."""
        end = time.monotonic() + self.patience
        while (done := self._run(argv)).returncode != 0:
            if not self.refusals.later(done.stderr) or time.monotonic() + self.interval > end:
                raise _failed(argv, done)
            self.pause()

    def until(self, look: t.Callable[[], t.Any]) -> t.Any:
        """The first thing that ``look`` finds. Looks that find nothing are repeated without end, those that are refused
        for the moment as in ``do``."""
        end = time.monotonic() + self.patience
        while True:
            try:
                found = look()
                end = time.monotonic() + self.patience
            except FleetError as error:
                if not self.refusals.later(error.message) or time.monotonic() + self.interval > end:
                    raise
                found = None
            if found:
                return found
            self.pause()

    def pause(self) -> None:
        """Sleeps for ``interval`` seconds."""
        time.sleep(self.interval)

    def _run(self, argv: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        """In our own session, so that whoever ends us ends it, too."""
        try:
            return subprocess.run(  # pylint: disable=ansible-bad-function  # runs on the controller
                list(argv),
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except OSError as error:
            hint = f"install it, or put its folder into PATH: {self.environ.get('PATH', '')}"
            raise FleetError("tool-missing", f"{argv[0]} cannot be started: {error.strerror}", hint=hint) from None


def without(environ: t.Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment with that folder taken out of ``PYTHONPATH``: tools in Python have modules of their own."""
    kept = [each for each in environ.get("PYTHONPATH", "").split(":") if each and Path(each) != folder]
    rest = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
    return {**rest, "PYTHONPATH": ":".join(kept)} if kept else rest


def _failed(argv: tuple[str, ...], done: subprocess.CompletedProcess[str]) -> FleetError:
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()[-_TAIL:]
    return FleetError("tool-failed", "\n".join([f"{_named(argv)} ended with {done.returncode}", *lines]))


def _named(argv: tuple[str, ...]) -> str:
    """The command without its options."""
    return " ".join(word for word in argv if not word.startswith("-"))
