# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How the last cycle of a scheduling ended."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...errors import Problem
from ...objects.placements.binding import BOUND, SCHEDULED
from .bindings import Bindings, Pick
from .decisions import CycleView, PickDecision


@dataclass(frozen=True, kw_only=True)
class PickResult:
    """``selected`` in upstream's order; ``unplaced`` are names of PickFixed that cannot be placed.

    ``written`` is False where upstream leaves the recorded status alone. ``look`` is None where no filter was asked.
    """

    selected: list[PickDecision]
    count: int
    wanted: int
    fulfilled: bool
    unplaced: tuple[PickDecision, ...] = ()
    look: CycleView | None = None
    findings: tuple[Problem, ...] = ()
    cycles: int = 1
    written: bool = True


def in_order(book: Bindings, picks: t.Sequence[Pick]) -> list[str]:
    """Hold the picks and list the bindings as a full cycle reports them: new, re-used, then those that were there."""
    before = [*book.in_state(SCHEDULED), *book.in_state(BOUND)]
    taken = book.take(picks)
    return [*taken.created, *taken.patched, *before]
