# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an edit of a NodePool or a node class rotates, and what speaks against it, as text."""

from __future__ import annotations

import typing as t

from ..._core.disruption.members.class_changes import ClassChange
from ..._core.values.listed import number_of
from ..text import first_rows, folded, table


def class_changes_text(changes: t.Sequence[ClassChange]) -> list[str]:
    """A part for each object of each member, in the order given: the fields that change, findings, and the nodes that
    drift or may drift by it."""
    lines: list[str] = []
    for each in changes:
        fields = ", ".join(f"{path} ({kind})" for path, kind in each.changed) or "no change of what nodes are judged by"
        lines += folded(f"{each.member}: {each.kind} {each.name}, {number_of(each.count, 'node')}: {fields}")
        for one in each.findings:
            lines += folded(f"{one.level}: {one.message}", "    ")
        rows = [(node, "drifts", why) for node, why in sorted(each.drifted.items())]
        rows += [(node, "may drift", why) for node, why in sorted(each.unsure.items())]
        if rows:
            lines += table(("NODE", "", "WHY"), first_rows(rows))
        elif each.changed:
            lines += folded("no node will be drifted by it", "    ")
    return lines
