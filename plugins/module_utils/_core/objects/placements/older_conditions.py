# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Condition types, reasons and events of older releases of KubeFleet, read as today's; only today's are written."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...schema.meta import Condition
from .cluster_resource_placement import FailedPlacement, PerClusterPlacementStatus, PlacementStatus

TYPES: t.Mapping[str, str] = {
    # of the placement
    "ClusterResourcePlacementSynchronized": "ClusterResourcePlacementWorkSynchronized",
    # of each cluster
    "ResourceScheduled": "Scheduled",
    "ResourceApplied": "Applied",
}
REASONS: t.Mapping[str, str] = {
    "SynchronizeSucceeded": "WorkSynchronized",
    "ScheduleSucceeded": "Scheduled",
    "WorkSynchronizeSucceeded": "AllWorkSynced",
}
EVENT_REASONS: t.Mapping[str, str] = {
    "PlacementScheduleSuccess": "SchedulingSucceeded",
    "PlacementSyncSuccess": "PlacementWorkSynchronized",
}
"""Of events on placements, today's by the older one; the end of a rollout has kept its reason."""


def with_todays_conditions(status: PlacementStatus) -> PlacementStatus:
    """The status of a placement with today's types and reasons in the conditions of the placement, its clusters and
    failed objects."""
    return replace(
        status,
        conditions=with_todays_types(status.conditions),
        placement_statuses=tuple(_cluster(each) for each in status.placement_statuses),
    )


def with_todays_types(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """The conditions with today's types and reasons, in their order. One of an older type is left out where today's is
    there too."""
    there = {each.type for each in conditions}
    kept = (each for each in conditions if each.type not in TYPES or TYPES[each.type] not in there)
    return tuple(_condition(each) for each in kept)


def _condition(one: Condition) -> Condition:
    """The condition with today's type and reason; itself if it has them."""
    kind, reason = TYPES.get(one.type, one.type), REASONS.get(one.reason, one.reason)
    return one if (kind, reason) == (one.type, one.reason) else replace(one, type=kind, reason=reason)


def _cluster(row: PerClusterPlacementStatus) -> PerClusterPlacementStatus:
    """The cluster's row with today's types and reasons, those of its failed objects too."""
    return replace(
        row,
        conditions=with_todays_types(row.conditions),
        failed_placements=tuple(_failed(each) for each in row.failed_placements),
    )


def _failed(row: FailedPlacement) -> FailedPlacement:
    """The failed object with today's type and reason in its condition, if it has one."""
    # A record need not have the condition, whatever the class says.
    return replace(row, condition=_condition(row.condition)) if row.condition else row
