# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The waves in which a plan is to be carried out, if every cluster is available before and soon after its own."""

from __future__ import annotations

import typing as t

from ..rollout.rolling.budget import limits
from .document import (
    GAINED,
    KEPT,
    LEFT_BEHIND,
    LOST,
    ClusterPlan,
    PlacementPlan,
)

Wave = tuple[str, ...]


def waves(plan: PlacementPlan) -> tuple[Wave, ...]:
    """Names of the clusters that change, by wave; one wave of a placement that ends, none where nothing
    changes, or staged runs alone change it. Clusters that the limits never let change are in none.

    As the rolling update decides: clusters that lose the placement and then those that change spend what may be
    unavailable, in the order of their bindings; clusters that gain it spend the surge. FleetError as of ``limits``.
    """
    rows = [each for each in plan.clusters if each.cause not in ("left-the-fleet", LEFT_BEHIND)]
    kept = sum(1 for each in rows if each.change == KEPT)
    changed = _by_binding(plan, (each for each in rows if each.change != KEPT or each.cause == "content-changed"))
    leaving = [each.cluster for each in changed if each.change == LOST]
    changing = [each.cluster for each in changed if each.change == KEPT]
    coming = [each.cluster for each in changed if each.change == GAINED]
    if plan.deleting:
        return (tuple(leaving),) if leaving else ()
    if not changed or plan.by_run:
        return ()
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


def _by_binding(plan: PlacementPlan, rows: t.Iterable[ClusterPlan]) -> list[ClusterPlan]:
    """In the order of the bindings' names."""
    found = list(rows)
    names = {each.spec.target_cluster: each.name for each in plan.bindings} if found else {}
    return sorted(found, key=lambda row: names.get(row.cluster, row.cluster))
