# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What becomes other in windows and freezes as they are recorded, and for which clusters that moves the openings, as
text."""

from __future__ import annotations

import typing as t

from ..._core.overview.maintenance_changes import MaintenanceChange
from ..._core.overview.openings import UNKNOWN, ClusterOpenings
from ..._core.values.listed import listed
from ..text import folded
from .openings_text import works_told
from .openings_words import moved_lines

CLUSTERS, PARTS, NAMES = 10, 40, 5
HEADS = ("CLUSTER", "BEFORE (UTC)", "THEN (UTC)")


def maintenance_text(
    changes: t.Sequence[MaintenanceChange],
    same: t.Sequence[str],
    before: t.Sequence[ClusterOpenings],
    after: t.Sequence[ClusterOpenings],
    written: bool = True,
) -> list[str]:
    """Each FleetMaintenance that comes, goes or changes, with its windows, freezes and budgets that do, below a line
    that says so where they are not ``written``; those that stay the ``same``; then, if anything changes, the clusters
    whose openings move in the next 30 days, or that none does. ``before`` and ``after`` are of the same clusters, in
    the same order."""
    lines = [] if written or not changes else ["nothing is recorded, this is only what would change:"]
    lines += [line for each in changes for line in _change(each)]
    if same:
        lines += folded(f"no change of FleetMaintenance {listed(same, NAMES)}")
    return lines + (_moved(before, after) if changes and after else [])


def _change(each: MaintenanceChange) -> list[str]:
    """The lines of one FleetMaintenance: its mark and name, below them each part, and how many more there are."""
    lines = folded(f"{each.mark} FleetMaintenance {each.name}")
    for part in each.parts[:PARTS]:
        lines += folded(f"{part.mark} {part.what}: {part.words}", "    ")
    left = len(each.parts) - PARTS
    return [*lines, *[f"    {left} more of its windows, freezes and budgets"] * (left > 0)]


def _moved(before: t.Sequence[ClusterOpenings], after: t.Sequence[ClusterOpenings]) -> list[str]:
    """For each kind of work the clusters whose openings move, at most ``CLUSTERS`` rows; a sentence if none moves."""
    lines: list[str] = []
    for title, work in works_told((*before, *after)):
        rows = moved_lines(before, after, work, HEADS, CLUSTERS, "")
        if rows:
            lines += [*folded(f"openings that move, for {title}:"), *rows, *_unknown(before, after, work)]
    return lines or ["it moves no opening of the next 30 days"]


def _unknown(before: t.Sequence[ClusterOpenings], after: t.Sequence[ClusterOpenings], work: str) -> list[str]:
    """Why nothing may begin on clusters of which it was known when it may, and is not any more: each reason once, the
    first ``NAMES``."""
    pairs = [(old.permissions[work], new.permissions[work]) for old, new in zip(before, after, strict=True)]
    found = dict.fromkeys(why for old, new in pairs if new.state == UNKNOWN and old.state != UNKNOWN for why in new.why)
    return [line for why in list(found)[:NAMES] for line in folded(f"nothing begins there: {why}", "    ")]
