# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Builds and downloads that are kept in the cache: ``manifest.json`` beside each, the bill of materials, says where it
is from, and the SHA-256 of every file; why one must not be used (damaged, changed, by another Go)."""

from __future__ import annotations

import functools
import json
import os
import stat
import typing as t
from pathlib import Path

from .._kube.files import read_file
from .locks import unwritable_as_error
from .private import why_others_may_write, write_private
from .recipes import (
    BUILD_ENVIRONMENT,
    BUILD_FLAGS,
    Recipe,
    cache_key,
)
from .released.downloads import sha256

_MANIFEST = "manifest.json"
_MOST = 1_000_000  # bytes of a manifest; ours have three thousand
Go = t.Mapping[str, str]


def write_manifest(one: Recipe, folder: Path, go: Go) -> None:
    """Writes the bill of materials of a whole build, with the SHA-256 of each file, into its folder as
    ``manifest.json``; ``go`` is what ``go env`` tells, GOVERSION among it. OSError if a file of it is missing, or the
    folder cannot be written to."""
    document = {
        "family": one.family,
        "module": one.module,
        "version": one.version,
        "go": dict(go),
        "flags": list(BUILD_FLAGS),
        "ldflags": list(one.ldflags),
        "environment": BUILD_ENVIRONMENT,
        "recipe": _recipe_key(one),
        "binaries": [
            {
                "name": name,
                "module": part.module,
                "package": package,
                "version": part.version,
                "sha256": sha256(folder / name),
                "size": (folder / name).stat().st_size,
                "go": go["GOVERSION"],
            }
            for part in one.parts
            for name, package in part.programs.items()
        ],
        "shipped": {str(file.relative_to(folder)): sha256(file) for file in _shipped(one, folder)},
    }
    write_private(folder / _MANIFEST, (json.dumps(document, indent=2) + "\n").encode(), 0o644)


def write_release_manifest(one: Recipe, folder: Path, sources: t.Mapping[str, str]) -> None:
    """Writes the bill of materials of unpacked release files, with the SHA-256 of each, into their folder as
    ``manifest.json``; ``sources`` are where each binary came from, by its name, without the scheme. OSError as of
    ``write_manifest``."""
    document = {
        "family": one.family,
        "module": one.module,
        "version": one.version,
        "go": {},
        "recipe": _recipe_key(one),
        "binaries": [
            {
                "name": name,
                "version": one.version,
                "source": place,
                "sha256": sha256(folder / name),
                "size": (folder / name).stat().st_size,
            }
            for name, place in sources.items()
        ],
        "shipped": {str(file.relative_to(folder)): sha256(file) for file in _shipped(one, folder)},
    }
    write_private(folder / _MANIFEST, (json.dumps(document, indent=2) + "\n").encode(), 0o644)


def build_fault(one: Recipe, folder: Path, go: Go | None, names: t.Collection[str], check: bool = False) -> str | None:
    """Why a build or download must not be used, the first reason found; empty if there is no such folder, None if
    nothing is wrong with it.

    Of its binaries only ``names`` are looked at, and all else that came along; ``go`` is None where there is no
    compiler to compare with. One of these files that others may write to is made 0755 first; with ``check`` it keeps
    its mode, and is judged as it would be then. FleetError ``unwritable-folder`` where the folder cannot be looked at.
    """
    with unwritable_as_error(folder.parent):
        try:
            why = why_others_may_write(folder)
        except FileNotFoundError:
            return ""
    if why:
        return why
    try:
        if why := why_others_may_write(folder / _MANIFEST):
            return f"{_MANIFEST}: {why}"
        manifest = json.loads(read_file(folder / _MANIFEST, _MOST))
        if manifest["recipe"] != _recipe_key(one) or (go is not None and manifest["go"] != dict(go)):
            return "it was made by another recipe"
        sums = {row["name"]: row["sha256"] for row in manifest["binaries"]}
        wanted = {folder / name: sums[name] for name in names}
        if "shipped" in manifest:  # the first builds did not write it down
            kept = {folder / name: sum_ for name, sum_ in manifest["shipped"].items()}
            if sorted(kept) != _shipped(one, folder):
                return "files are missing, or there are more than were put there"
            wanted |= kept
        return next(filter(None, (_file_fault(path, sum_, check) for path, sum_ in wanted.items())), None)
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return "its manifest or a file is missing or cannot be read"


def _file_fault(path: Path, wanted: str, check: bool) -> str:
    """Why the file is not the one with that SHA-256, or others can write to it, in words; empty if nothing is wrong.
    One that others may write to is made 0755 before; with ``check`` one of this user's is taken as if it were. OSError
    if that fails, or the file cannot be read."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return f"{path.name} is no file"
    found = path.lstat()
    if why_others_may_write(path) and not check:
        path.chmod(0o755)  # as some umasks leave it; what was done to it by then, the sum tells
        found = path.lstat()
    why = "" if check and found.st_uid == os.geteuid() else why_others_may_write(path)
    if why:
        return f"{path.name}: {why}"
    told = _known_sha256(path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return "" if told == wanted else f"{path.name} is not the file that was built: its SHA-256 is another"


def _shipped(one: Recipe, folder: Path) -> list[Path]:
    """All files in the recipe's ``shipped`` folders, and its scripts, there or not; sorted."""
    files = [file for target in one.shipped for file in (folder / target).rglob("*") if not file.is_dir()]
    return sorted([*files, *(folder / name for name in one.scripts)])


def _recipe_key(one: Recipe) -> str:
    """The key without the compiler: finds a finished build on a machine that has no Go. OSError as of ``cache_key``."""
    return cache_key(one, {})


# A hundred megabytes take a tenth of a second: once for each file in a process, as long as it is the same file.
@functools.lru_cache(maxsize=256)
def _known_sha256(path: Path, _inode: int, _size: int, _mtime_ns: int, _ctime_ns: int) -> str:
    """The SHA-256 of the file, read once as long as inode, size and times (as the caller has found them) are the same.
    OSError as of ``sha256``."""
    return sha256(path)
