# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Plans of placements that bring NodePools and node classes, or take them away, tell which nodes Karpenter replaces by
it, by a file of what members had (``nodes_file``), and are braked if these are too many (``max_replaced_nodes``)."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..._core.disruption.members.nodes_snapshot import NodesSnapshot
from ..._core.disruption.members.placed_sources import PlacedSource, ReplacedNodes, is_source, replaced_nodes
from ..._core.objects.identity import ObjectKey
from ..._core.plan.brakes import replaced_nodes_brake
from ..._core.plan.changes import FieldChange
from ..._core.plan.document import LOST, PlacementPlan
from ..placements.plan import FleetPlan


def with_nodes_told(plan: FleetPlan, nodes: NodesSnapshot, limit: int | str | None = None) -> FleetPlan:
    """The plan with findings that say which nodes are replaced, as ``replaced_nodes`` tells it, and with a ``limit``
    with the brake ``max_replaced_nodes`` of each placement. Nothing is told of a placement that only reports.
    FleetError as of ``replaced_nodes``, ValueError as of the brake."""
    sources = [each for one in plan.plans if not one.reports_only for each in _sources(one)]
    told = replaced_nodes(sources, {each.name: each for each in nodes.members})
    plans = plan.plans if limit is None else tuple(_braked(each, nodes, told, limit) for each in plan.plans)
    return replace(plan, plans=plans, findings=(*plan.findings, *told.notes))


def _braked(plan: PlacementPlan, nodes: NodesSnapshot, told: ReplacedNodes, limit: int | str) -> PlacementPlan:
    """The plan with the brake; a percentage is of the nodes that its clusters had, those that lose it too."""
    clusters = {each.cluster for each in plan.clusters}
    held = sum(len(each.nodes) for each in nodes.members if each.name in clusters)
    replaced, unread = told.nodes.get(plan.name, ()), told.unread.get(plan.name, ())
    brake = replaced_nodes_brake(plan.name, held, len(replaced), len(unread), limit)
    return replace(plan, brakes=(*plan.brakes, brake))


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
