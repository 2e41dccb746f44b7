# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The manifest files of a folder as they were in an earlier revision, read out of Git. The checkout stays as it is."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from .documents_in_files import MAX_BYTES, SUFFIXES, is_hidden
from .revision import asked_git, is_commit

MOST_BYTES = 256_000_000
_PLAIN = ("100644", "100755")


def files_of(
    path: str | Path, revision: str, environ: t.Mapping[str, str] | None = None
) -> list[tuple[str, str]] | None:
    """Path (relative to the folder) and text, without a byte order mark, of the manifest files at or below ``path`` in
    the commit, but for hidden folders, as of ``read_documents``; links are left out, and files that are no UTF-8 or
    larger than a manifest may be. Of a ``path`` that is a file, whatever its suffix, or not there any more, its folder
    counts, and what it was in the commit is read.

    None where Git cannot tell (no checkout, or one without the commit or its files, or ``revision`` is no commit's
    whole name), and where they have more than ``MOST_BYTES``. Nothing is fetched, no filter is run. ValueError if Git's
    answer ends too early.
    """
    try:
        real = os.path.realpath(path)
    except ValueError:  # no file can have the name
        return None
    folder, within = (real, []) if os.path.isdir(real) else (os.path.dirname(real), [f"./{os.path.basename(real)}"])
    if not is_commit(revision) or not os.path.isdir(folder):
        return None
    listed = asked_git(folder, environ, "ls-tree", "-r", "-l", "-z", revision, *within)
    if listed is None:
        return None
    blobs, total = [], 0
    for row in filter(None, listed.split(b"\0")):
        about, _tab, name = row.partition(b"\t")
        mode, _kind, oid, size = about.decode().split()
        file = os.fsdecode(name)
        if any(map(is_hidden, file.split("/")[:-1])):
            continue
        meant = file.endswith(SUFFIXES) or f"./{file}" in within
        if mode in _PLAIN and meant and size.isdecimal() and int(size) <= MAX_BYTES:
            blobs.append((file, oid))
            total += int(size)
    if total > MOST_BYTES:
        return None
    answer = asked_git(folder, environ, "cat-file", "--batch", given="".join(f"{oid}\n" for _file, oid in blobs))
    return None if answer is None else list(_texts(blobs, answer))


def _texts(blobs: t.Iterable[tuple[str, str]], answer: bytes) -> t.Iterator[tuple[str, str]]:
    """Each file with its text out of what ``cat-file --batch`` prints: each object is a line with its name, kind and
    size, then that many bytes and a newline. What is missing, or no UTF-8, is left out. ValueError if the answer ends
    before the last of them begins."""
    at = 0
    for file, _oid in blobs:
        end = answer.index(b"\n", at)
        size = answer[at:end].rpartition(b" ")[2]
        if not size.isdigit():  # "<name> missing": a clone without its blobs
            at = end + 1
            continue
        body = answer[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)
        try:
            yield file, body.decode("utf-8-sig")
        except UnicodeDecodeError:
            continue
