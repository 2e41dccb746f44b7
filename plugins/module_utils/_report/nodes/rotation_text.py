# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation as it stands or would begin: who begins now, who waits for what, who is done."""

from __future__ import annotations

import typing as t
from collections import Counter

from ..._core.disruption.rotation.state import RotationState
from ..._core.machine import HeldBack
from ..text import folded, some, table


def rotation_text(
    name: str,
    state: RotationState,
    due: t.Mapping[str, str],
    begins: t.Collection[str],
    waits: t.Sequence[HeldBack],
) -> list[str]:
    """A sentence about how far the rotation is, and a row for each node: why it is due, and what holds it."""
    phases = Counter(each.phase for each in state.nodes)
    told = ", ".join(f"{number} {phase}" for phase, number in sorted(phases.items()))
    lines = folded(f"{name}: {len(state.nodes)} nodes to replace{f' ({told})' if told else ''}")
    held = {each.name: "; ".join(one.text for one in each.blockers) for each in waits}
    rows = []
    for each in state.nodes:
        now = "begins" if each.name in begins else each.phase
        why = each.text or held.get(each.name, "") or due.get(each.name, "")
        rows.append((each.name, now, why))
    return lines + (table(("NODE", "NOW", "WHY"), some(rows)) if rows else [])
