# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterResourceBinding`` and ``ResourceBinding``: the record that one placement holds one cluster (KubeFleet), with
state and decision, which snapshot the cluster holds by now, and which objects it lacks there."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

from ...schema.meta import Condition, NamespacedName, ObjectMeta
from ...schema.prop import prop
from ..api_groups import PLACEMENT_API
from ..identity import ObjectId, ObjectKey
from .cluster_resource_placement import DiffedPlacement, DriftedPlacement, FailedPlacement
from .rollout_strategy import ApplyStrategy

SCHEDULED, BOUND, UNSCHEDULED = "Scheduled", "Bound", "Unscheduled"
PREVIOUS_STATE = "kubernetes-fleet.io/previous-binding-state"
# What the cluster held before the snapshot that the spec names, for as long as that is not all there; ours.
HELD_BEFORE = "gitops.fleet/held-before"
# On a binding whose cluster is being cleaned: since when; ours.
REMOVING = "gitops.fleet/removing"
# What of the snapshot that the cluster holds is left out there by overrides; ours.
LEFT_OUT = "gitops.fleet/left-out"
# The evacuated cluster that keeps what it holds until this binding's cluster has it; ours.
INSTEAD_OF = "gitops.fleet/instead-of"
SCHEDULER_FINALIZER = "kubernetes-fleet.io/scheduler-binding-cleanup"


@dataclass(frozen=True, kw_only=True)
class ClusterScore:
    """How well a cluster did when clusters were picked. ``priority_score`` is upstream's name of the topology spread
    score."""

    affinity_score: int | None = prop("Sum over the preferred terms.", default=None)
    priority_score: int | None = prop("Topology spread score.", default=None)


@dataclass(frozen=True, kw_only=True)
class ClusterDecision:
    cluster_name: str = prop("Name of the cluster.")
    selected: bool = prop("Whether it was picked.")
    reason: str = prop("Why.", default="")
    cluster_score: ClusterScore | None = prop("Scores, absent where none was given.", default=None)


@dataclass(frozen=True, kw_only=True)
class BindingSpec:
    state: str = prop("Scheduled, Bound or Unscheduled.")
    target_cluster: str = prop("Name of the cluster.")
    scheduling_policy_snapshot_name: str = prop("Policy under which it was picked.")
    cluster_decision: ClusterDecision = prop("The decision.")
    resource_snapshot_name: str = prop("Resources that it holds; empty until bound.", default="")
    cluster_resource_override_snapshots: tuple[str, ...] = prop(
        "Overrides of cluster-scoped objects that it holds, in the order in which they apply.", default=()
    )
    resource_override_snapshots: tuple[NamespacedName, ...] = prop(
        "Overrides of namespaced objects that it holds, applied after those.", default=()
    )
    apply_strategy: ApplyStrategy | None = prop("Copy of the placement's strategy.", default=None)


@dataclass(frozen=True, kw_only=True)
class BindingStatus:
    conditions: tuple[Condition, ...] = prop("RolloutStarted, Overridden, WorkSynchronized, Applied, ...", default=())
    failed_placements: tuple[FailedPlacement, ...] = prop("Objects that failed.", default=(), max_items=100)
    drifted_placements: tuple[DriftedPlacement, ...] = prop("Objects that drifted.", default=(), max_items=100)
    diffed_placements: tuple[DiffedPlacement, ...] = prop("Objects that differ.", default=(), max_items=100)


@dataclass(frozen=True, kw_only=True)
class ClusterResourceBinding:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterResourceBinding")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: BindingSpec = prop("What is bound to what.")
    status: BindingStatus = prop("What became of it.", default=BindingStatus())

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def held_snapshot(self) -> str:
        """Name of the resource snapshot that the cluster is known to hold: that which is recorded as held before, until
        the one of the spec is all there, else the latter; empty if it holds nothing yet."""
        return self.metadata.annotations.get(HELD_BEFORE, self.spec.resource_snapshot_name)

    @property
    def left_out(self) -> frozenset[ObjectKey]:
        """Keys of the objects of the snapshot that the cluster does not get, as overrides leave them out there; none
        where there is no record of it, or a damaged one."""
        try:
            rows = json.loads(self.metadata.annotations.get(LEFT_OUT, "[]"))
            return frozenset(
                (str(group), str(kind), str(namespace), str(name)) for group, kind, namespace, name in rows
            )
        except (ValueError, TypeError, RecursionError):
            return frozenset()


@dataclass(frozen=True, kw_only=True)
class ResourceBinding(ClusterResourceBinding):
    """The same of a ResourcePlacement, in its namespace."""

    kind: str = prop("Kind.", default="ResourceBinding")


def left_out_mark(objects: t.Iterable[ObjectId]) -> dict[str, str]:
    """The annotation of a binding whose cluster does not get these objects, by its key: a JSON list of their keys,
    sorted. Empty without objects."""
    rows = sorted(each.key for each in objects)
    return {LEFT_OUT: json.dumps(rows, separators=(",", ":"))} if rows else {}
