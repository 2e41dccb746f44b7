# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The snapshots that are kept of placements as tables, the latest first: age, revision, objects, clusters, and what
differs from the one before."""

from __future__ import annotations

import typing as t
from datetime import timedelta

from .._core.resources.history import SnapshotRow
from .._core.values.duration import span_words
from .._core.values.listed import listed
from .text import first_rows, table

SHORT = 12
NAMED = 4
HEADER = ("SNAPSHOT", "AGE", "REVISION", "OBJECTS", "CLUSTERS", "WHAT DIFFERS")


def snapshots_text(rows: t.Sequence[SnapshotRow]) -> list[str]:
    """A table for each placement, below its name, the latest snapshot first, placements in the order of ``rows``, which
    have the oldest of a placement first. A sentence where there is none. FleetError as of ``KeptSnapshot.is_whole``."""
    lines: list[str] = []
    for name in dict.fromkeys(each.placement for each in rows):
        mine = [_row(each) for each in reversed(rows) if each.placement == name]
        lines += [name, *table(HEADER, first_rows(mine))]
    return lines or ["no snapshot is kept"]


def _row(each: SnapshotRow) -> tuple[str, ...]:
    """The cells below ``HEADER``: the age is empty where it is not known, objects and clusters are numbers, the
    revision is cut to 12 characters. FleetError as of ``_differs``."""
    kept = each.step.snapshot
    return (
        f"{kept.index}{' (latest)' if each.latest else ''}",
        "" if each.age is None else span_words(timedelta(seconds=each.age)),
        kept.revision[:SHORT],
        str(len(kept.manifests)),
        str(len(each.clusters)),
        _differs(each),
    )


def _differs(each: SnapshotRow) -> str:
    """To which snapshot it rolled back, which objects it adds, removes and changes, the first ``NAMED`` of each, and
    that its content is not known any more; empty if none of these is so. FleetError as of ``KeptSnapshot.is_whole``."""
    step, kept = each.step, each.step.snapshot
    parts = [
        f"{word} {listed(list(map(str, objects)), NAMED)}"
        for word, objects in (("added", step.added), ("removed", step.removed), ("changed", step.changed))
        if objects
    ]
    if kept.rolled_back:
        parts.insert(0, f"rolled back to {kept.rolled_back.index}")
    if not kept.is_whole:
        parts.append("its content is not known any more")
    return "; ".join(parts)
