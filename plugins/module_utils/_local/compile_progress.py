# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How far a build by the Go compiler is, a line with the number of packages now and then, from those that it names
while it works (``go build -v``).

It names a package when it begins with it, and none that it has compiled earlier. All that the package imports is there
then, so what is done is known even where an earlier build was broken off.
"""

from __future__ import annotations

import time
import typing as t

PAUSE = 10.0  # seconds between two lines
# One package a line, and what it imports, for ``go list -deps -f``.
FORMAT = '{{.ImportPath}} {{join .Imports " "}}'


class CompileProgress:
    """``what`` names the program in lines, ``listed`` is what ``go list`` told in ``FORMAT``; ``say`` gets a line now
    and then, by the seconds of ``clock``."""

    def __init__(
        self, what: str, listed: str, say: t.Callable[[str], None], clock: t.Callable[[], float] = time.monotonic
    ) -> None:
        """Time counts from now on: nothing is said in the first 10 seconds."""
        rows = (line.split(" ") for line in listed.splitlines())
        self._imports = {package: imports for package, *imports in rows}
        self._done: set[str] = set()
        self._what, self._say, self._clock = what, say, clock
        self._next = clock() + PAUSE

    @property
    def done(self) -> int:
        """How many packages are compiled or being compiled, as far as the compiler has told."""
        return len(self._done)

    @property
    def all(self) -> int:
        """How many packages the program has, those of the standard library among them."""
        return len(self._imports)

    def heard(self, line: str) -> bool:
        """Counts the package that the compiler begins with, and all that it imports, directly or not; tells ``say`` how
        many there are, at most every 10 seconds. False, and nothing is done, for a line that names no package of the
        program. ``line`` comes without its newline."""
        if line not in self._imports:
            return False
        waiting = self._known(line)
        while waiting:
            package = waiting.pop()
            if package not in self._done:
                self._done.add(package)
                waiting += self._known(package)
        if self._clock() >= self._next:
            self._next = self._clock() + PAUSE
            self._say(f"building {self._what}: {self.done} of {self.all} packages are compiled")
        return True

    def _known(self, package: str) -> list[str]:
        """Those packages of the program that it imports itself. The standard library keeps its own copies of a few
        under ``vendor/``; where there is one, it is given, too."""
        imports = self._imports[package]
        return [name for each in imports for name in (each, f"vendor/{each}") if name in self._imports]
