# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterStagedUpdateRun`` and ``StagedUpdateRun``: a placement rolled out in stages, what is wanted of the run
(Initialize, Run, Stop), and how far stages, clusters and tasks are (KubeFleet)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import Condition, NamespacedName, ObjectMeta
from ...schema.prop import prop
from ..api_groups import PLACEMENT_API
from ..placements.eviction import REFERENCE_LENGTH
from ..placements.key import PlacementKey
from ..placements.rollout_strategy import ApplyStrategy
from .key import RunKey
from .strategy import StagedUpdateStrategySpec

INITIALIZE, RUN, STOP = "Initialize", "Run", "Stop"
DELETE_STAGE = "kubernetes-fleet.io/deleteStage"

_INDEX = "(has({0}.resourceSnapshotIndex) ? {0}.resourceSnapshotIndex : '')"
SPEC_RULES = (
    ("self.placementName == oldSelf.placementName", "placementName cannot be changed; make a new run"),
    (
        "self.stagedRolloutStrategyName == oldSelf.stagedRolloutStrategyName",
        "stagedRolloutStrategyName cannot be changed; make a new run",
    ),
    (
        f"{_INDEX.format('self')} == {_INDEX.format('oldSelf')}",
        "resourceSnapshotIndex cannot be changed; make a new run",
    ),
    (
        "self.state == oldSelf.state || oldSelf.state != 'Initialize' || self.state == 'Run'",
        "Initialize becomes Run and nothing else",
    ),
    ("self.state == oldSelf.state || self.state != 'Initialize'", "a run does not go back to Initialize"),
)


@dataclass(frozen=True, kw_only=True)
class StagedUpdateRunSpec:
    placement_name: str = prop("Name of the placement.", max_length=REFERENCE_LENGTH)
    staged_rollout_strategy_name: str = prop("Name of the strategy; it is copied when the run begins.")
    resource_snapshot_index: str = prop("Index of the resources; the latest if empty.", default="", digits=True)
    state: str = prop("What is wanted of the run.", default=INITIALIZE, enum=(INITIALIZE, RUN, STOP))


@dataclass(frozen=True, kw_only=True)
class ClusterUpdatingStatus:
    """Overrides are resolved when the run begins, and stay."""

    cluster_name: str = prop("Name of the cluster.")
    resource_override_snapshots: tuple[NamespacedName, ...] = prop("Overrides of namespaced objects.", default=())
    cluster_resource_override_snapshots: tuple[str, ...] = prop("Overrides of cluster-scoped objects.", default=())
    conditions: tuple[Condition, ...] = prop("Started, Succeeded.", default=())


@dataclass(frozen=True, kw_only=True)
class StageTaskStatus:
    type: str = prop("Kind of task.")
    approval_request_name: str = prop("Name of the approval request, for Approval.", default="")
    conditions: tuple[Condition, ...] = prop(
        "ApprovalRequestCreated, ApprovalRequestApproved, WaitTimeElapsed.", default=()
    )


@dataclass(frozen=True, kw_only=True)
class StageUpdatingStatus:
    stage_name: str = prop("Name of the stage.")
    clusters: tuple[ClusterUpdatingStatus, ...] = prop("Clusters in the order of their update.")
    before_stage_task_status: tuple[StageTaskStatus, ...] = prop("Tasks before the stage.", default=())
    after_stage_task_status: tuple[StageTaskStatus, ...] = prop("Tasks after the stage.", default=())
    start_time: datetime | None = prop("Instant of the first update.", default=None)
    end_time: datetime | None = prop("Instant of the end.", default=None)
    conditions: tuple[Condition, ...] = prop("Progressing, Succeeded.", default=())


@dataclass(frozen=True, kw_only=True)
class StagedUpdateRunStatus:
    policy_snapshot_index_used: str = prop("Index of the policy snapshot.", default="")
    policy_observed_cluster_count: int = prop("Clusters that the policy asks for.", default=0)
    resource_snapshot_index_used: str = prop("Index of the resource snapshot.", default="")
    applied_strategy: ApplyStrategy | None = prop("Copy of the placement's apply strategy.", default=None)
    staged_update_strategy_snapshot: StagedUpdateStrategySpec | None = prop("Copy of the strategy.", default=None)
    stages_status: tuple[StageUpdatingStatus, ...] = prop("The stages.", default=())
    deletion_stage_status: StageUpdatingStatus | None = prop("Clusters that lose the placement.", default=None)
    conditions: tuple[Condition, ...] = prop("Initialized, Progressing, Succeeded.", default=())


@dataclass(frozen=True, kw_only=True)
class ClusterStagedUpdateRun:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterStagedUpdateRun")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: StagedUpdateRunSpec = prop("What is rolled out how.", rules=SPEC_RULES)
    status: StagedUpdateRunStatus = prop("How far it is.", default=StagedUpdateRunStatus())

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def key(self) -> RunKey:
        """Its namespace (empty for a ClusterStagedUpdateRun) and name, which no other staged run has."""
        return RunKey(self.metadata.namespace if self.kind == "StagedUpdateRun" else "", self.metadata.name)

    @property
    def placement_key(self) -> PlacementKey:
        """The placement that it rolls out, of its own namespace if it lies in one."""
        return self.key.placement(self.spec.placement_name)

    @property
    def strategy_record_name(self) -> str:
        """The name by which ``Records`` know its strategy: ``namespace/name``, or the name alone."""
        return self.key.record(self.spec.staged_rollout_strategy_name)


@dataclass(frozen=True, kw_only=True)
class StagedUpdateRun(ClusterStagedUpdateRun):
    """Of a ResourcePlacement in the same namespace."""

    kind: str = prop("Kind.", default="StagedUpdateRun")
