# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Removing the folders of operations that ended long ago, so that not every start looks at all that ever were."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import shutil
import time
from pathlib import Path

from .host import BEGUN

# In the folder of an operation, from when on somebody was told how it ended.
TOLD = "told"
# Seconds for which it is kept after that, and how many are removed at once.
KEPT = 90 * 86400.0
_MOST_REMOVED = 100
_GOING = ".going-"


def remove_old(operations: Path) -> None:
    """Removes the folders of operations that ended, and of which somebody was told so more than KEPT seconds ago; at
    most 100 at once, each renamed first, so that nobody sees a part of it, and what was left renamed before. What
    cannot be removed, or looked at, is left, and keeps no other."""
    before = time.time() - KEPT
    try:
        there = list(operations.iterdir())
    except OSError:
        return
    old = (each for each in there if _told_before(each, before))
    for each in itertools.islice(old, _MOST_REMOVED):
        with contextlib.suppress(OSError):
            each.rename(operations / f"{_GOING}{secrets.token_hex(8)}")
    with contextlib.suppress(OSError):
        for each in operations.glob(f"{_GOING}*"):
            shutil.rmtree(each, ignore_errors=True)


def _told_before(folder: Path, instant: float) -> bool:
    """Whether it is the folder of an operation which ended, as somebody was told before that instant, and whose name
    is kept; not of one that cannot be looked at, as another user's."""
    try:
        if folder.name.startswith(".") or folder.is_symlink() or not (folder / "result.json").is_file():
            return False
        return (folder.parent / BEGUN / folder.name).exists() and (folder / TOLD).lstat().st_mtime < instant
    except OSError:
        return False
