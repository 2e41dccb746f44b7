# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Files and folders that are left out (``exclude``, ``.fleetlintignore``), by patterns as most ignore files have
them."""

from __future__ import annotations

import fnmatch
import typing as t
from dataclasses import dataclass


@dataclass(frozen=True)
class Excluded:
    """``patterns`` of paths below a folder. ``*``, ``?`` and ``[a-z]`` stand for characters of one name, ``**`` for any
    number of folders. A pattern with a slash before its end begins at the folder; one without fits a name at any depth.
    One that ends with a slash is for folders. Case counts, and no pattern takes another one back: a ``!`` before it is
    a letter of a name."""

    patterns: t.Sequence[str]

    def folder(self, path: str) -> bool:
        """Whether the folder is left out, and so all in it; ``path`` begins at the folder that patterns begin at."""
        return any(_fits(path, each.rstrip("/")) for each in self.patterns)

    def file(self, path: str) -> bool:
        """Whether the file is left out by its own path; the folders around it are asked about before."""
        return any(_fits(path, each) for each in self.patterns if not each.endswith("/"))


def _fits(path: str, pattern: str) -> bool:
    """Whether the pattern stands for the path below the folder."""
    if "/" not in pattern:
        return fnmatch.fnmatchcase(path.rpartition("/")[2], pattern)
    names = path.split("/")
    # The numbers of names that the steps so far can have taken.
    taken = {0}
    for step in pattern.removeprefix("./").strip("/").split("/"):
        if step == "**":
            taken = set(range(min(taken), len(names) + 1)) if taken else taken
        else:
            taken = {each + 1 for each in taken if each < len(names) and fnmatch.fnmatchcase(names[each], step)}
    return len(names) in taken
