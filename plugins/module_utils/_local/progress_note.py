# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Progress of a build or download by one process, for other processes that wait for it: its last line, left in a file,
and said again by those."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

from .._core.foreign import in_line
from .._kube.files import read_file, write_file

_MOST = 2000  # bytes of a line
_WORTH = ("building ", "downloading ")
# Tells people a line of what goes on.
Say = t.Callable[[str], None]


def noted(note: Path, say: Say) -> Say:
    """A function that leaves the first 2000 bytes of each text in the file ``note``, in the place of the last, if that
    can be written, and gives the text to ``say``."""

    def both(text: str) -> None:
        """Leaves the line in the note, or not where that fails, and says it."""
        with contextlib.suppress(OSError):
            write_file(note, text.encode()[:_MOST])
        say(text)

    return both


def note_follower(note: Path, say: Say) -> t.Callable[[], None]:
    """A function to be called now and then: ``say`` gets the line in ``note`` if it is new since the last look and
    begins with ``building`` or ``downloading``. What was there before is no news."""
    seen = _state(note)

    def look() -> None:
        """Says what is new in the note."""
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
    """Inode and time of the last change (nanoseconds) of the note, which is a new file each time; zeros if it cannot be
    looked at."""
    try:
        found = note.lstat()
    except OSError:
        return (0, 0)
    return (found.st_ino, found.st_mtime_ns)
