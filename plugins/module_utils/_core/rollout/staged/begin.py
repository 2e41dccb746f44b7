# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How a staged update run begins (KubeFleet): what it takes over from its placement, policy, bindings, strategy and
resources, and why it cannot (``strategy-not-external``, ``not-fully-scheduled``, ``no-bindings``,
``cluster-count-mismatch``, ``resource-snapshot-not-found``, ``update-strategy-not-found``, ``not-rescheduled-yet``)."""

from __future__ import annotations

from dataclasses import replace

from ...errors import Problem
from ...objects.placements.binding import UNSCHEDULED
from ...objects.placements.policy import PICK_FIXED, PICK_N, PlacementPolicy
from ...objects.placements.rollout_strategy import with_apply_defaults
from ...objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from ...objects.placements.snapshot_labels import (
    LATEST,
    NUMBER_OF_CLUSTERS,
    POLICY_INDEX,
    RESOURCE_HASH,
    RESOURCE_INDEX,
)
from ...objects.staged.update_run import (
    DELETE_STAGE,
    ClusterUpdatingStatus,
    StagedUpdateRunStatus,
    StageUpdatingStatus,
)
from ...schema.meta import ObjectMeta, find_condition
from ...values.int_or_percent import int64
from ...values.listed import number_of
from ..conditions import TRUE, status_is
from ..content import NO_OVERRIDES, sorted_by_name
from .layout import laid_out, without_approval_waits
from .marks import INITIALIZED
from .world import (
    NotYet,
    RunContext,
    RunFailure,
    RunRefused,
)

WHATEVER_IS_PICKED = -1


def begin(scene: RunContext) -> RunContext:
    """The scene with all that the run takes over fixed in its status: policy, apply strategy, strategy, stages, the
    delete stage (clusters that lose the placement, by name), resources, overrides; Initialized is left to the caller.
    RunRefused as of ``with_placement``, ``with_policy``, ``with_bindings``, ``laid_out`` and ``used_snapshot``, and
    ``update-strategy-not-found``; NotYet as of ``with_bindings``."""
    scene, policy = with_policy(with_placement(scene))
    scene = _with_strategy(with_bindings(scene, policy))
    status = laid_out_again(scene)
    names = sorted(each.cluster for each in scene.leaving)
    deletion = StageUpdatingStatus(
        stage_name=DELETE_STAGE, clusters=tuple(ClusterUpdatingStatus(cluster_name=name) for name in names)
    )
    status = _with_resources(scene, replace(status, deletion_stage_status=deletion))
    return _with_status(scene, _with_overrides(scene, status))


def laid_out_again(scene: RunContext) -> StagedUpdateRunStatus:
    """The run's status with the stages as its copy of the strategy lays them out today for the clusters of
    ``selected``, none begun. RunRefused as of ``laid_out``."""
    selected = frozenset(each.cluster for each in scene.selected)
    return laid_out(scene.run.name, scene.status, selected, scene.world.clusters, upstream=scene.upstream)


def used_snapshot(scene: RunContext) -> ObjectMeta:
    """The metadata of the first part of the resources that the run rolls out, of the given index (compared as text) or
    the latest. Parts without the hash of the resources do not count. Of several that are marked as the latest, as a
    killed apply may leave them, it is the one of the highest index; upstream takes the first.

    RunRefused if there is none, or the latest has no number (``resource-snapshot-not-found``), or the given index is no
    number from 0 on (``invalid-resource-snapshot-index``).
    """
    asked = scene.run.spec.resource_snapshot_index
    snapshots = scene.world.resource_snapshots
    if asked:
        number = int64(asked)
        if number is None or number < 0:
            message = f"resourceSnapshotIndex {asked!r} is not an integer from 0 on"
            raise _refused(scene, "invalid-resource-snapshot-index", message)
        found = [each for each in snapshots if each.labels.get(RESOURCE_INDEX) == asked]
    else:
        found = [each for each in snapshots if each.labels.get(LATEST) == "true"]
    masters = [each for each in found if each.annotations.get(RESOURCE_HASH)]
    if not scene.upstream:
        masters.sort(key=lambda each: _index_of(each, RESOURCE_INDEX), reverse=True)
    first = next(iter(masters), None)
    if first is None or int64(first.labels.get(RESOURCE_INDEX, "")) is None:
        message = f"there are no resources with index {asked}" if asked else "no resource snapshot is the latest"
        raise _refused(scene, "resource-snapshot-not-found", message)
    return first


def _index_of(snapshot: ObjectMeta, label: str) -> int:
    """The number in that label of a snapshot; -1 where it has none."""
    number = int64(snapshot.labels.get(label, ""))
    return -1 if number is None else number


def with_placement(scene: RunContext) -> RunContext:
    """The run with the placement's apply strategy in its status. RunRefused if there is no such placement
    (``placement-not-found``), or its strategy is not External (``strategy-not-external``)."""
    placement = scene.world.placement
    if placement is None:
        message = f"no placement {scene.run.placement_key} is recorded; an apply records it"
        raise _refused(scene, "placement-not-found", message)
    strategy = placement.spec.strategy
    if strategy.type != "External":
        message = f"the placement's strategy is {strategy.type}; a staged run needs External"
        raise _refused(scene, "strategy-not-external", message)
    return _with_status(scene, replace(scene.status, applied_strategy=with_apply_defaults(strategy.apply_strategy)))


def with_policy(scene: RunContext) -> tuple[RunContext, ClusterSchedulingPolicySnapshot]:
    """The scene with the latest policy's index in its status, and how many clusters it asks for (``WHATEVER_IS_PICKED``
    for PickAll); and that policy, of several that are marked as the latest the one of the highest index.

    RunRefused without one (``no-latest-policy-snapshot``), or its index (``no-policy-index``), or a number for PickN
    (``no-cluster-count``), or if it is not fully scheduled (``not-fully-scheduled``); NotYet (``not-scheduled-yet``)
    where the run has begun, and that was said of an older generation. Upstream refuses that too, and several
    (``multiple-latest-policy-snapshots``).
    """
    latest = [each for each in scene.world.policy_snapshots if each.metadata.labels.get(LATEST) == "true"]
    if not latest:
        raise _refused(scene, "no-latest-policy-snapshot", "no policy snapshot is the latest")
    if len(latest) > 1 and scene.upstream:
        raise _refused(scene, "multiple-latest-policy-snapshots", f"{len(latest)} policy snapshots are the latest")
    policy = max(latest, key=lambda each: _index_of(each.metadata, POLICY_INDEX))
    index = policy.metadata.labels.get(POLICY_INDEX)
    if not index:
        raise _refused(scene, "no-policy-index", f"policy snapshot {policy.name} has no index")
    scene = _with_status(scene, replace(scene.status, policy_snapshot_index_used=index))
    count = _wanted_count(scene, policy)
    scene = _with_status(scene, replace(scene.status, policy_observed_cluster_count=count))
    said = find_condition(policy.status.conditions, "Scheduled")
    begun = scene.has_status(scene.status.conditions, INITIALIZED) and not scene.upstream
    if begun and said is not None and said.observed_generation < policy.metadata.generation:
        message = f"placement {scene.run.placement_key} was changed after its last apply; whom it picks is not known"
        raise NotYet(Problem("not-scheduled-yet", f"{message} until it is applied again"))
    if not status_is(policy.status.conditions, "Scheduled", policy.metadata.generation, TRUE):
        raise _refused(scene, "not-fully-scheduled", f"policy snapshot {policy.name} is not fully scheduled")
    return scene, policy


def _wanted_count(scene: RunContext, snapshot: ClusterSchedulingPolicySnapshot) -> int:
    """How many clusters the policy asks for; ``WHATEVER_IS_PICKED`` for PickAll. RunRefused for PickN without a number
    of at least 0."""
    policy = snapshot.spec.policy or PlacementPolicy()
    if policy.placement_type == PICK_FIXED:
        return len(policy.cluster_names)
    if policy.placement_type != PICK_N:
        return WHATEVER_IS_PICKED
    count = int64(snapshot.metadata.annotations.get(NUMBER_OF_CLUSTERS, ""))
    if count is None or count < 0:
        raise _refused(scene, "no-cluster-count", f"policy snapshot {snapshot.name} has no number of clusters")
    return count


def with_bindings(scene: RunContext, policy: ClusterSchedulingPolicySnapshot) -> RunContext:
    """The scene with the bindings of clusters that are picked, and of those that lose the placement, by name, also
    where they are being deleted; for PickAll the number of picked ones goes into the status.

    A run that has nothing to do does not begin (RunRefused ``no-bindings``); with another number of clusters than the
    policy asks for none begins or goes on (``cluster-count-mismatch``); NotYet (``not-rescheduled-yet``) while a
    binding that is not Unscheduled stands under another policy. Upstream also ends a run that has just deleted its last
    binding.
    """
    selected, leaving = [], []
    for each in sorted_by_name(scene.world.bindings):
        if each.state == UNSCHEDULED:
            leaving.append(each)
        elif each.binding.spec.scheduling_policy_snapshot_name == policy.name:
            selected.append(each)
        else:
            message = f"{each.name} is still {each.state} under {each.binding.spec.scheduling_policy_snapshot_name}"
            raise NotYet(Problem("not-rescheduled-yet", message, each.cluster))
    if not selected and not leaving and (scene.upstream or not scene.has_status(scene.status.conditions, INITIALIZED)):
        raise _refused(scene, "no-bindings", "no cluster is picked, and none is to lose the placement")
    count = scene.status.policy_observed_cluster_count
    if count == WHATEVER_IS_PICKED:
        scene = _with_status(scene, replace(scene.status, policy_observed_cluster_count=len(selected)))
    elif count != len(selected):
        message = f"{number_of(count, 'cluster', 'is', 'are')} asked for, and {len(selected)}"
        message += " is picked" if len(selected) == 1 else " are picked"
        raise _refused(scene, "cluster-count-mismatch", message)
    return replace(scene, selected=tuple(selected), leaving=tuple(leaving))


def _with_strategy(scene: RunContext) -> RunContext:
    """The scene with a copy of the strategy in its status, without waiting times of Approvals. RunRefused if there is
    no strategy."""
    strategy = scene.world.strategy
    if strategy is None:
        message = f"there is no strategy {scene.run.strategy_record_name}"
        raise _refused(scene, "update-strategy-not-found", message)
    copy = without_approval_waits(strategy.spec)
    return _with_status(scene, replace(scene.status, staged_update_strategy_snapshot=copy))


def _with_resources(scene: RunContext, status: StagedUpdateRunStatus) -> StagedUpdateRunStatus:
    """The status with the index of the resources to roll out. RunRefused as of ``used_snapshot``."""
    snapshot = used_snapshot(_with_status(scene, status))
    return replace(status, resource_snapshot_index_used=snapshot.labels.get(RESOURCE_INDEX, ""))


def _with_overrides(scene: RunContext, status: StagedUpdateRunStatus) -> StagedUpdateRunStatus:
    """The status with the overrides of each cluster of its stages; the delete stage needs none."""

    def frozen(cluster: ClusterUpdatingStatus) -> ClusterUpdatingStatus:
        """The cluster with the names of the overrides that apply to it now."""
        overrides = scene.world.overrides.get(cluster.cluster_name, NO_OVERRIDES)
        return replace(
            cluster,
            cluster_resource_override_snapshots=overrides.cluster,
            resource_override_snapshots=overrides.namespaced,
        )

    stages = tuple(
        replace(stage, clusters=tuple(frozen(each) for each in stage.clusters)) for stage in status.stages_status
    )
    return replace(status, stages_status=stages)


def _with_status(scene: RunContext, status: StagedUpdateRunStatus) -> RunContext:
    """The scene, its run with this status."""
    return replace(scene, run=replace(scene.run, status=status))


def _refused(scene: RunContext, code: str, message: str) -> RunRefused:
    """The error for a run that cannot begin or go on, to be raised, with the status so far."""
    return RunRefused(RunFailure(code=code, message=message), scene.status)
