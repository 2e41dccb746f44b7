# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Many names in a sentence: the first of them, and how many more there are; a number with its noun, in singular or
plural, and a verb."""

from __future__ import annotations

import typing as t


def listed(names: t.Sequence[str], most: int = 6, between: str = ", ") -> str:
    """``a, b and 3 more``: the first ``most`` names, and how many more there are; all, without "and", if there are no
    more. Names that hold commas are parted by ``between="; "``."""
    if len(names) <= most:
        return between.join(names)
    comma = between.strip() if between != ", " else ""
    return f"{between.join(names[:most])}{comma} and {len(names) - most} more"


def number_of(count: int, noun: str, one: str = "", many: str = "") -> str:
    """``1 object``, ``2,000 objects``, ``0 objects``: for nouns that take an s; with verbs of one and of many, the one
    that fits behind it: ``1 object is``, ``2 objects are``."""
    verb = one if count == 1 else many
    return f"{count:,} {noun}{'' if count == 1 else 's'}{f' {verb}' if verb else ''}"
