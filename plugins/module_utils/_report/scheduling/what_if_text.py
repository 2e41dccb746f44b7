# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What would become of placements in a fleet that is supposed, as a table: who would gain, lose or keep them for the
time being, and what moves with them."""

from __future__ import annotations

import typing as t

from ..._core.errors import Problem
from ..._core.scheduling.what_if.what_if import NAMED, Difference, Differences
from ..._core.values.listed import listed, number_of
from ..text import MARKS, first_rows, folded, notes_text, table

HOLDS = "keeps the placement"


def what_if_text(found: t.Sequence[tuple[Differences, t.Sequence[str]]], told: t.Sequence[Problem] = ()) -> list[str]:
    """A sentence for each placement, and a row for each cluster that gains it, loses it, or keeps it for the time
    being; with objects that move with it, and its notes. Placements that stay as they are share a line. Each placement
    comes with the objects that a cluster which holds it has; ``told`` are notes for the end."""
    lines: list[str] = []
    still = [each.placement for each, _objects in found if not each.rows]
    for each, objects in found:
        if not each.rows:
            continue
        lines += folded(each.sentence)
        lines += table(("", "CLUSTER", "THEN, AND TODAY"), first_rows([_row(one) for one in each.rows]))
        if each.moves and objects:
            lines += folded(f"moves with it: {listed(objects, NAMED)}", "  ")
        lines += notes_text(each.findings)
    if still:
        lines += folded(
            f"{len(still):,} of {number_of(len(found), 'placement')} would stay where they are: {listed(still, NAMED)}"
        )
    return lines + notes_text(told)


def _row(each: Difference) -> tuple[str, str, str]:
    """The cells of one cluster: the sign of its change, its name, and what would be then and what is today."""
    then, now = (text.removeprefix(f"{each.cluster} ") for text in (each.sentence, each.before))
    today = "it holds it." if now.startswith(HOLDS) else f"it {now}"
    return (MARKS[each.change], each.cluster, f"{then} Today: {today}")
