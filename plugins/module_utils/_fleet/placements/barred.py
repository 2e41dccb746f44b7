# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Clusters of a plan told apart before they are written: those that have left the fleet (``not-a-member``) or leave it
(``member-leaving``), and those that get the placement for the first time."""

from __future__ import annotations

from ..._core.errors import Problem
from ..._core.plan.document import GAINED, PlacementPlan
from ..._store.records import Records
from ..leases import leaving_members, leaving_problem
from .recorded import RecordedPlacement


def barred_clusters(records: Records, plan: PlacementPlan) -> dict[str, Problem]:
    """Clusters that have left the fleet since it was planned (``not-a-member``), or are about to (``member-leaving``),
    each with that problem. FleetError of the records."""
    members = records.names("FleetMember")
    leaving = leaving_members(records)
    barred = {}
    for each in plan.clusters:
        if each.cause == "left-the-fleet":
            continue
        if each.cluster not in members:
            barred[each.cluster] = Problem("not-a-member", "it has left the fleet meanwhile", each.cluster, "run again")
        elif each.cluster in leaving:
            barred[each.cluster] = leaving_problem(each.cluster, leaving[each.cluster])
    return barred


def gaining_without_binding(plan: PlacementPlan, recorded: RecordedPlacement) -> frozenset[str]:
    """Clusters that gain the placement and have no binding among those ``recorded``: something is surely to be written
    there. Empty for ``ReportDiff``, and where staged runs do the writing."""
    strategy = plan.placement.spec.strategy.apply_strategy
    if plan.is_by_staged_runs or (strategy is not None and strategy.type == "ReportDiff"):
        return frozenset()
    known = {each["spec"]["targetCluster"] for each in recorded.bindings.values()}
    return frozenset(each.cluster for each in plan.clusters if each.change == GAINED and each.cluster not in known)
