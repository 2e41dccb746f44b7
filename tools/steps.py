# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Named steps, run one after the other: each says its name and time, and a failed one does not stop the next."""

from __future__ import annotations

import os
import subprocess
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"


class StepFailed(Exception):
    """Ends a step; the text says why, unless the failed command has said it already."""


@dataclass(frozen=True)
class Step:
    name: str
    action: t.Callable[[], None]


@dataclass(frozen=True)
class Report:
    """Names by outcome, in the order of running, and the seconds of all."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        names = f": {', '.join(self.failed)}" if self.failed else ""
        return f"{len(self.passed)} steps ok, {len(self.failed)} failed{names} ({self.seconds:.0f} s)"


def call(
    *command: str | Path, cwd: Path = ROOT, env: t.Mapping[str, str] | None = None, good: t.Collection[int] = (0,)
) -> int:
    """Runs a command with its output shown; StepFailed on any other exit code than the ``good`` ones."""
    words = [str(word) for word in command]
    code = subprocess.run(words, cwd=cwd, env={**os.environ, **(env or {})}, check=False).returncode
    if code not in good:
        raise StepFailed(f"{Path(words[0]).name} ended with {code}")
    return code


def run(steps: t.Iterable[Step]) -> Report:
    passed: list[str] = []
    failed: list[str] = []
    begun = time.monotonic()
    for step in steps:
        print(f"\n==> {step.name}", flush=True)
        started = time.monotonic()
        problem = ""
        try:
            step.action()
        except (StepFailed, OSError) as error:
            problem = f"FAILED: {error}"
        (failed if problem else passed).append(step.name)
        print(f"<== {step.name}: {problem or 'ok'} ({time.monotonic() - started:.1f} s)", flush=True)
    return Report(passed, failed, time.monotonic() - begun)
