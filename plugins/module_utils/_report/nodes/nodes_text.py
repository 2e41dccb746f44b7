# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes as text: why they may be disrupted and what keeps them from it; which images they have; and which safeguard
holds for which reason."""

from __future__ import annotations

import typing as t
from collections import Counter, defaultdict
from itertools import groupby

from ..._core.disruption.members.node_answers import NodeAnswer
from ..._core.disruption.safeguards import SafeguardRow
from ..._core.values.listed import listed, number_of
from ..text import first_rows, folded, table

PLACES = 20


def images_text(answers: t.Iterable[NodeAnswer]) -> list[str]:
    """A table with a row for each image and version of kubelets, by these two as texts: how many nodes have them, and
    in which pool of which member. Nothing without nodes."""
    found: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for each in answers:
        found[each.image, each.version][each.member, each.pool] += 1
    rows = [
        (image or "unknown", version or "unknown", str(places.total()), _places(places))
        for (image, version), places in sorted(found.items())
    ]
    return table(("IMAGE", "KUBELET", "NODES", "WHERE"), first_rows(rows)) if rows else []


def _places(places: Counter[tuple[str, str]]) -> str:
    """``2 clusters: a pool-1 3, b 1``, with how many nodes, by name; the first ``PLACES`` and how many more."""
    members = len({member for member, _pool in places})
    where = [f"{member}{f' {pool}' if pool else ''} {count}" for (member, pool), count in sorted(places.items())]
    return f"{members} {'cluster' if members == 1 else 'clusters'}: {listed(where, PLACES)}"


def nodes_text(answers: t.Sequence[NodeAnswer]) -> list[str]:
    """A sentence and a table for each member; nodes that have no cause and are not disrupted now are only counted.
    ``answers`` of a member have to stand together. A sentence where there is no node."""
    lines: list[str] = []
    for name, found in groupby(answers, key=lambda each: each.member):
        here = list(found)
        told = [each for each in here if each.causes or each.origin]
        lines += folded(
            f"{name}: {number_of(len(here), 'node')}, {len(here) - len(told)} with no cause to be disrupted"
        )
        if told:
            lines += table(
                ("NODE", "POOL", "CAUSE", "HELD BY, BUDGETS APART"), first_rows([_row(each) for each in told])
            )
    return lines or ["no member has a node"]


def safeguards_text(rows: t.Iterable[SafeguardRow]) -> list[str]:
    """A table of what holds back a disruption, a row for each reason, in the order given."""
    header = ("REASON", "BUDGETS", "PDB", "DO-NOT-DISRUPT", "NEW NODE FIRST")
    return table(
        header,
        [
            (each.reason, each.budgets, each.pod_disruption_budgets, each.annotation, each.replacement_first)
            for each in rows
        ],
    )


def _row(each: NodeAnswer) -> tuple[str, str, str, str]:
    """The cells of one node: its causes, whether it is disrupted now, and how far its drain is, or else what holds it:
    for one with a NodeClaim what holds emptiness and consolidation back, for another what our rotation looks at, but
    for budgets, which are those of pools."""
    going = f"is disrupted now, origin {each.origin}" if each.origin else ""
    causes = ", ".join([*each.causes, *([going] if going else [])])
    held = each.drain or "; ".join(one.text for one in (each.graceful if each.managed else each.rotation))
    return each.node, each.pool or "-", causes, held or "nothing"
