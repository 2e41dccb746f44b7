# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Plans of placements that bring NodePools and node classes, or take them away, tell which nodes Karpenter replaces by
it, by a file of what members had (``nodes_file``)."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..._core.disruption.members.nodes_snapshot import NodesSnapshot
from ..._core.disruption.members.placed_sources import PlacedSource, is_source, replaced_nodes
from ..._core.objects.identity import ObjectKey
from ..._core.plan.changes import FieldChange
from ..._core.plan.document import LOST, PlacementPlan
from ..placements.placement import Report


def with_nodes_told(report: Report, nodes: NodesSnapshot) -> Report:
    """The report, the findings of whose plan say which nodes are replaced, as ``replaced_nodes`` tells it; nothing is
    told of a placement that only reports. FleetError as there."""
    sources = [each for plan in report.plan.plans if not plan.reports_only for each in _sources(plan)]
    told = replaced_nodes(sources, {each.name: each for each in nodes.members})
    return replace(report, plan=replace(report.plan, findings=(*report.plan.findings, *told)))


def _sources(plan: PlacementPlan) -> t.Iterator[PlacedSource]:
    """The NodePools and node classes that the plan sends to clusters, or deletes there, cluster by cluster."""
    changed = _changed(plan)
    for row in plan.clusters:
        for each in () if row.change == LOST else plan.objects_on(row.cluster):
            if is_source(each.id.group, each.id.kind):
                fields = changed.get((row.cluster, each.id.key), ())
                yield PlacedSource(
                    placement=plan.name,
                    member=row.cluster,
                    kind=each.id.kind,
                    name=each.id.name,
                    document=each.manifest,
                    changed=tuple(one.path.removeprefix(".") for one in fields),
                    given_up=tuple(one.path.removeprefix(".") for one in fields if one.new is None),
                )
        for gone in row.prune:
            if is_source(gone.group, gone.kind):
                yield PlacedSource(
                    placement=plan.name, member=row.cluster, kind=gone.kind, name=gone.name, document=None
                )


def _changed(plan: PlacementPlan) -> t.Mapping[tuple[str, ObjectKey], tuple[FieldChange, ...]]:
    """The fields of NodePools and node classes that change since the last apply, by cluster and object."""
    return {
        (cluster, one.id.key): one.fields
        for each in plan.changes
        for one in each.objects
        if is_source(one.id.group, one.id.kind)
        for cluster in each.clusters
    }
