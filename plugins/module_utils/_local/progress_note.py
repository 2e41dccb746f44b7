# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a process says while it builds or downloads, for those that wait for it: its last line, in a file."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

from .._core.foreign import in_line
from .._kube.files import read_file, write_file

_MOST = 2000  # bytes of a line
_WORTH = ("building ", "downloading ")
Say = t.Callable[[str], None]


def noted(note: Path, say: Say) -> Say:
    """``say``, which also leaves the line in the file ``note``, as far as that can be."""

    def both(text: str) -> None:
        with contextlib.suppress(OSError):
            write_file(note, text.encode()[:_MOST])
        say(text)

    return both


def passed_on(note: Path, say: Say) -> t.Callable[[], None]:
    """To be called now and then: ``say`` gets how far it is, whenever that is news. What was said before is none."""
    seen = _state(note)

    def look() -> None:
        nonlocal seen
        now = _state(note)
        if now == seen:
            return
        seen = now
        with contextlib.suppress(OSError):
            line = in_line(read_file(note, _MOST).decode("utf-8", "replace"))
            if line.startswith(_WORTH):
                say(line)

    return look


def _state(note: Path) -> tuple[int, int]:
    """Another one whenever the file was written: it is a new one each time."""
    try:
        found = note.lstat()
    except OSError:
        return (0, 0)
    return (found.st_ino, found.st_mtime_ns)
