# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Files that nobody else may read (keys, states), written as a whole; folders that nobody else may write to
(``unsafe-folder``), by owner and mode."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .._core.errors import FleetError
from .._kube.files import write_file


def write_private(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replaces the file as a whole; at no instant can anybody read the new one whom ``mode`` keeps out. The umask, and
    the mode of a file that is there, only take from ``mode``. OSError as of ``_kube.files.write_file``."""
    write_file(path, content, mode)


def own_folder(path: Path) -> Path:
    """Gives ``path`` back, if by owner and mode only this user (or root) can put something else into that folder, or
    the one that a link there leads to; those above are not looked at. FleetError ``unsafe-folder`` if others can;
    OSError if it cannot be looked at or is not there; before Python 3.13 RuntimeError for links in a circle."""
    why = why_others_may_write(path.resolve())
    if why:
        raise FleetError(
            "unsafe-folder",
            f"what is in {path} could be anybody's: {why}",
            hint=f"look at what is in it, then: chown {os.geteuid()} {path} && chmod go-w {path}",
        )
    return path


def why_others_may_write(path: Path) -> str:
    """Why another user than this one and root could have changed it, by its owner and mode alone; empty if none could.
    A link is not followed, and always refused on Linux, where its mode is 0777. OSError if it cannot be looked at."""
    found = path.lstat()
    if found.st_uid not in (0, os.geteuid()):
        return f"it belongs to user {found.st_uid}"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})"
    return ""
