# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes with why they may be disrupted and what keeps them from it; and which safeguard holds for which reason."""

from __future__ import annotations

import typing as t
from itertools import groupby

from ..._core.disruption.members.node_answers import NodeAnswer
from ..._core.disruption.safeguards import SafeguardRow
from ..text import folded, some, table


def nodes_text(answers: t.Sequence[NodeAnswer]) -> list[str]:
    """A table for each member, whose answers stand together; nodes without a cause are only counted."""
    lines: list[str] = []
    for name, found in groupby(answers, key=lambda each: each.member):
        here = list(found)
        told = [each for each in here if each.causes or each.origin]
        lines += folded(f"{name}: {len(here)} nodes, {len(here) - len(told)} with no cause to be disrupted")
        if told:
            lines += table(("NODE", "POOL", "CAUSE", "HELD BY"), some([_row(each) for each in told]))
    return lines or ["no member has a node"]


def safeguards_text(rows: t.Iterable[SafeguardRow]) -> list[str]:
    """The lines of a table: what holds back a disruption, a row for each reason."""
    header = ("REASON", "BUDGETS", "PDB", "DO-NOT-DISRUPT", "NEW NODE FIRST")
    return table(
        header,
        [
            (each.reason, each.budgets, each.pod_disruption_budgets, each.annotation, each.replacement_first)
            for each in rows
        ],
    )


def _row(each: NodeAnswer) -> tuple[str, str, str, str]:
    going = f"is disrupted now, origin {each.origin}" if each.origin else ""
    causes = ", ".join([*each.causes, *([going] if going else [])])
    held = each.drain or "; ".join(one.text for one in (each.graceful if each.managed else each.rotation))
    return each.node, each.pool or "-", causes, held or "nothing"
