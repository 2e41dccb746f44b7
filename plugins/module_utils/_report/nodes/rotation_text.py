# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation of nodes as it stands or would begin, as text: who begins now, who waits for what, who is done, and which
nodes stay as they came since it began."""

from __future__ import annotations

import typing as t
from collections import Counter
from datetime import UTC, datetime

from ..._core.disruption.rotation.input import cluster_in_name
from ..._core.disruption.rotation.state import WAITING, NodeProgress, RotationState
from ..._core.machine import HeldBack
from ..._core.values.instants import write_local
from ..._core.values.listed import number_of
from ..text import first_rows, folded, table

NOT_BEGUN = "not begun"


def rotation_text(
    name: str,
    state: RotationState,
    due: t.Mapping[str, str],
    begins: t.Collection[str],
    waits: t.Sequence[HeldBack],
) -> list[str]:
    """A sentence on how many nodes are in which phase, and why no more are begun, and a table with a row for each node,
    in the order of the record: what holds it, or why it is due. Nodes of a cluster that wait for the same, or were
    given up unbegun for the same, share a row. ``due`` says by node why, ``begins`` names those that begin now,
    ``waits`` are held back."""
    phases = Counter(NOT_BEGUN if _left_out(each) else each.phase for each in state.nodes)
    told = ", ".join(f"{number} {phase}" for phase, number in sorted(phases.items()))
    ended = f"; {state.halted}" if state.halted else ""
    lines = folded(f"{name}: {number_of(len(state.nodes), 'node')} to replace{f' ({told})' if told else ''}{ended}")
    held = {each.name: "; ".join(one.text for one in each.blockers) for each in waits}
    groups: dict[tuple[str, str], list[NodeProgress]] = {}
    for each in state.nodes:
        alike = held.get(each.name, "") if each.phase == WAITING and each.name not in begins else ""
        alike = each.text if _left_out(each) else alike
        key = (cluster_in_name(each.name), alike) if alike else (each.name, "")
        groups.setdefault(key, []).append(each)
    rows = []
    for (cluster, why), nodes in groups.items():
        first = nodes[0]
        now = "begins" if first.name in begins else NOT_BEGUN if _left_out(first) else first.phase
        told = why or first.text or held.get(first.name, "") or ("" if first.ended else due.get(first.name, ""))
        own = f"NodeRotation {name} on {cluster_in_name(first.name)}: "
        place = first.name if len(nodes) == 1 else f"{cluster} {len(nodes)} nodes".strip()
        rows.append((place, now, told.replace(own, "")))
    return lines + (table(("NODE", "NOW", "WHY"), first_rows(rows)) if rows else [])


def young_text(name: str, young: int, since: datetime | None) -> list[str]:
    """A sentence about the ``young`` nodes that stay because they came after ``since``, when the rotation began first;
    no line for none, or without that instant."""
    if not young or since is None:
        return []
    nodes, stay = number_of(young, "node"), "stays" if young == 1 else "stay"
    return folded(f"{name}: {nodes} that came since it began, on {write_local(since, UTC)}, {stay}")


def _left_out(node: NodeProgress) -> bool:
    """Whether the node, which nothing held back, was given up unbegun, as its rotation begins no more nodes."""
    return node.code == "halted" and not node.attempts
