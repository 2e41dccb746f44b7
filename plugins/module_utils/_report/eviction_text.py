# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evictions of placements as text: what became of each, or would, with the arithmetic of its budget."""

from __future__ import annotations

import typing as t

from .._core.plan.losing.evicted import DONE, UNDERWAY, EvictionResult
from .text import folded, member_lines


def evictions_text(results: t.Sequence[EvictionResult], would: bool) -> list[str]:
    """A sentence for each, in the order given, and below it what leaves the member and what the next apply would do;
    ``would`` says that nothing was done. A sentence where there are none."""
    lines: list[str] = []
    for each in results:
        lines += folded(f"{each.placement} from {each.cluster}: {_word(each.state, would)}: {each.verdict.message}")
        if each.outcome is not None:
            lines += member_lines(each.cluster, each.outcome)
        if each.next_pick:
            lines += folded(each.next_pick, "  ")
    return lines or ["no eviction is asked for, and none is open"]


def _word(state: str, would: bool) -> str:
    """The state in words: ``executed`` and ``underway`` are ``would be executed`` if nothing was done; else
    ``underway`` is ``begun, and not at its end``. Others as they are."""
    if would:
        return "would be executed" if state in (DONE, UNDERWAY) else state
    return "begun, and not at its end" if state == UNDERWAY else state
