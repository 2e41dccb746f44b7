# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The ``reason`` told of an evacuated cluster that loses a placement: which cluster takes its place, its new home, and
whether what it holds goes only once that has it, or in any case (``empty_first``)."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...objects.placements.binding import UNSCHEDULED, ClusterResourceBinding
from ...scheduling.picking.new_homes import replaced_cluster_of
from ..document import EVACUATED, ClusterPlan


def with_new_homes_told(
    rows: tuple[ClusterPlan, ...], after: t.Iterable[ClusterResourceBinding], empty_first: bool
) -> tuple[ClusterPlan, ...]:
    """The ``rows`` of a plan; the ``reason`` of those of cause ``evacuated`` tells which cluster takes their place, by
    the marks on ``after``, the bindings that scheduling leaves, and that they are emptied whether it has what they hold
    or not (``empty_first``), or only then. Where none does, and in rows of other causes, the reason stays."""
    if not any(each.cause == EVACUATED for each in rows):
        return rows
    homes = {replaced_cluster_of(each): each.spec.target_cluster for each in after if each.spec.state != UNSCHEDULED}
    return tuple(
        replace(each, reason=_told(homes[each.cluster], empty_first))
        if each.cause == EVACUATED and each.cluster in homes
        else each
        for each in rows
    )


def _told(home: str, empty_first: bool) -> str:
    """The reason of an evacuated cluster whose place ``home`` takes."""
    if empty_first:
        return f"it was evacuated, and is emptied whether or not {home} has what it holds (empty_first)"
    return f"it was evacuated; what it holds goes once {home} has it"
