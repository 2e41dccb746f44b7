# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The waves in which a plan is to be carried out, if every cluster is available before and soon after its own."""

from __future__ import annotations

import typing as t

from ..rollout.rolling.budget import limits
from .document import GAINED, KEPT, LOST, PlacementPlan

Wave = tuple[str, ...]


def waves(plan: PlacementPlan) -> tuple[Wave, ...]:
    """Names of the clusters that change, by wave; one wave of a placement that ends, or that has nothing to change.

    As the rolling update decides: clusters that lose the placement and then those that change spend what may be
    unavailable, in the order of their bindings; clusters that gain it spend the surge. FleetError as of ``limits``.
    """
    clusters = tuple(_by_binding(plan))
    leaving = [name for name, change, _changed in clusters if change == LOST]
    changing = [name for name, change, changed in clusters if change == KEPT and changed]
    coming = [name for name, change, _changed in clusters if change == GAINED]
    if plan.deleting:
        return (tuple(leaving),) if leaving else ()
    kept = sum(1 for _name, change, _changed in clusters if change == KEPT)
    limit = limits(plan.placement, kept + len(coming), upstream=False)
    spending, holding = [*leaving, *changing], kept + len(leaving)
    gone = set(leaving)
    found: list[Wave] = []
    while spending or coming:
        # Where nothing has to stay available, what is to go goes at once.
        room = max(0, holding - limit.floor)
        free = max(0, limit.target + limit.max_surge - holding)
        wave, spending = spending[:room], spending[room:]
        new, coming = coming[:free], coming[free:]
        if not wave and not new:
            break
        holding += len(new) - sum(1 for name in wave if name in gone)
        found.append((*wave, *new))
    return tuple(found)


def _by_binding(plan: PlacementPlan) -> t.Iterator[tuple[str, str, bool]]:
    """Cluster, change, and whether its content changes, in the order of the bindings' names."""
    names = {each.spec.target_cluster: each.name for each in plan.bindings}
    rows = (each for each in plan.clusters if each.cause != "left-the-fleet")
    for each in sorted(rows, key=lambda row: names.get(row.cluster, row.cluster)):
        yield each.cluster, each.change, each.cause == "content-changed"
