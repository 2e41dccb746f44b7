# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Removing the folders of operations (upgrades) whose end was told more than 90 days ago; and private files of such as
nobody came to begin."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import secrets
import shutil
import time
from pathlib import Path

from ..._kube.files import read_file
from .host import BEGUN

# In the folder of an operation, from when on somebody was told how it ended.
TOLD = "told"
# Seconds for which it is kept after that, and how many are removed at once.
KEPT = 90 * 86400.0
# Seconds within which an operation is begun once its files are written.
BEGINS = 86400.0
_MOST_REMOVED = 100
_PAUSE = 60.0
_GOING = ".going-"
_LONGEST_REQUEST = 10_000_000  # bytes


_looked: dict[Path, float] = {}  # by the folder of all operations, when this process tidied it last


def tidy(operations: Path) -> None:
    """``remove_old`` and ``remove_unbegun_private``, but at most once a minute in this process for this folder."""
    if time.monotonic() < _looked.get(operations, -math.inf) + _PAUSE:
        return
    _looked[operations] = time.monotonic()
    remove_old(operations)
    remove_unbegun_private(operations)


def remove_old(operations: Path) -> None:
    """Removes the folders of operations that ended, and of which somebody was told so more than KEPT seconds ago; at
    most 100 at once, each renamed first, so that nobody sees a part of it. What cannot be removed, or looked at, is
    left."""
    before = time.time() - KEPT
    old = (each for each in _listed(operations) if _told_before(each, before))
    for each in itertools.islice(old, _MOST_REMOVED):
        with contextlib.suppress(OSError):
            each.rename(operations / f"{_GOING}{secrets.token_hex(8)}")
    with contextlib.suppress(OSError):
        for each in operations.glob(f"{_GOING}*"):
            shutil.rmtree(each, ignore_errors=True)


def _listed(operations: Path) -> list[Path]:
    """What is in the folder of all operations; nothing where it cannot be looked at."""
    try:
        return list(operations.iterdir())
    except OSError:
        return []


def _told_before(folder: Path, instant: float) -> bool:
    """Whether it is the folder of an operation which ended, as somebody was told before that instant, and whose name
    is kept; not of one that cannot be looked at, as another user's."""
    try:
        if folder.name.startswith(".") or folder.is_symlink() or not (folder / "result.json").is_file():
            return False
        return (folder.parent / BEGUN / folder.name).exists() and (folder / TOLD).lstat().st_mtime < instant
    except OSError:
        return False


def remove_unbegun_private(operations: Path) -> None:
    """Removes the private files of operations that were to be begun more than BEGINS seconds ago and that no process
    has taken up. They can be begun still, which writes the files anew. What cannot be looked at or removed is left."""
    before = time.time() - BEGINS
    for path in (folder / name for folder in _listed(operations) for name in _unbegun_private(folder, before)):
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _unbegun_private(folder: Path, instant: float) -> tuple[str, ...]:
    """The names of private files of the operation in the folder, if it was to be begun before that instant and was not;
    none for what is no such operation, or cannot be looked at."""
    request = folder / "request.json"
    try:
        if folder.is_symlink() or (folder / "process.json").exists() or request.lstat().st_mtime >= instant:
            return ()
        names = json.loads(read_file(request, _LONGEST_REQUEST))["private"]
        return tuple(name for name in names if "/" not in name)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ()
