# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How the last cycle of a scheduling ended (KubeFleet scheduler): the result that all placement types give, and the
order of its bindings."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...errors import Problem
from ...objects.placements.binding import BOUND, SCHEDULED
from .bindings import Bindings, Pick, Taken
from .decisions import CycleView, PickDecision


@dataclass(frozen=True, kw_only=True)
class PickResult:
    """``selected`` in upstream's order: of PickFixed the named clusters that can be placed, else the first 1000 of the
    ``count`` that hold the placement; ``unplaced`` are names of PickFixed that cannot be placed, ineligible ones before
    those that are not found. ``wanted`` is how many are asked for, of PickAll ``count``. ``written`` is False where
    upstream leaves the recorded status alone. ``look`` is None where no filter was asked. ``held_before`` are those
    that PickN picked, in that order, each with the clusters that held the placement when its cycle began, as a bit
    set."""

    selected: list[PickDecision]
    count: int
    wanted: int
    fulfilled: bool
    unplaced: tuple[PickDecision, ...] = ()
    look: CycleView | None = None
    findings: tuple[Problem, ...] = ()
    cycles: int = 1
    written: bool = True
    held_before: t.Mapping[str, int] = field(default_factory=dict)


def take_in_order(book: Bindings, picks: t.Sequence[Pick]) -> list[str]:
    """Has bindings in ``book`` hold the picks, as of ``Bindings.take``, and gives the names of all that hold the
    placement then, as of ``order_of``."""
    return order_of(book, book.take(picks))


def order_of(book: Bindings, taken: Taken) -> list[str]:
    """Names of the current bindings in ``book``, as a cycle that has just ``taken`` some reports them: new, re-used,
    then the others, Scheduled before Bound."""
    anew = {*taken.created, *taken.patched}
    before = (name for state in (SCHEDULED, BOUND) for name in book.in_state(state))
    return [*taken.created, *taken.patched, *(name for name in before if name not in anew)]
