# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The stage at which a staged update run goes on, by its record, and whether it may (KubeFleet):
``apply-strategy-changed``, ``policy-changed``, ``cluster-count-changed``, ``stages-changed``, ``clusters-changed``,
``stage-failed``, ``contradiction``."""

from __future__ import annotations

from dataclasses import replace

from ...objects.staged.strategy import StagedUpdateStrategySpec
from ...objects.staged.update_run import StagedUpdateRunStatus, StageUpdatingStatus
from ...values.int_or_percent import int64
from ...values.listed import listed
from ..conditions import FALSE, TRUE
from .begin import (
    WHATEVER_IS_PICKED,
    laid_out_again,
    with_bindings,
    with_placement,
    with_policy,
)
from .layout import SHOWN_CLUSTERS, most_in_flight
from .marks import PROGRESSING, STARTED, SUCCEEDED
from .world import RunContext, RunFailure, RunRefused

ALL_DONE = -1


def resume(scene: RunContext) -> tuple[RunContext, int]:
    """The run with its bindings, and the index of the stage whose turn it is: that after the last is the delete stage,
    ALL_DONE means that this is over too. RunRefused if placement, policy, stages or clusters differ from what the run
    recorded, a stage has failed, or the record contradicts itself (for upstream also by having no stages), and as of
    ``with_placement``, ``with_policy``, ``with_bindings`` and ``laid_out``; NotYet as of the second and the third."""
    recorded = scene.status
    today, policy = with_policy(with_placement(scene))
    _compare_origin(recorded, today.status)
    today = with_bindings(today, policy)
    scene = replace(scene, selected=today.selected, leaving=today.leaving)
    strategy = recorded.staged_update_strategy_snapshot
    if strategy is None or int64(recorded.resource_snapshot_index_used) is None:
        raise _refused(recorded, "contradiction", "the run has begun and has no copy of its strategy or resources")
    fresh = laid_out_again(today)
    if scene.upstream and not recorded.stages_status:
        raise _refused(recorded, "contradiction", "the run has begun and has no stages")
    if len(fresh.stages_status) != len(recorded.stages_status):
        raise _refused(recorded, "stages-changed", "the run has another number of stages than its strategy")
    updating, finished = ALL_DONE, ALL_DONE
    for index, stage in enumerate(recorded.stages_status):
        _compare_stage(recorded, stage, fresh.stages_status[index])
        limit = _limit(recorded, strategy, index, len(stage.clusters))
        updating, finished = _advance(scene, index, limit, updating, finished)
    return scene, _position(scene, updating, finished)


def _compare_origin(recorded: StagedUpdateRunStatus, today: StagedUpdateRunStatus) -> None:
    """Raises RunRefused if apply strategy, policy or the number of clusters that it asks for (but for PickAll) is no
    longer what was recorded."""
    if recorded.applied_strategy != today.applied_strategy:
        raise _refused(recorded, "apply-strategy-changed", "the placement's apply strategy has changed")
    if recorded.policy_snapshot_index_used != today.policy_snapshot_index_used:
        raise _refused(recorded, "policy-changed", "the placement has a newer policy")
    count = today.policy_observed_cluster_count
    if count not in (WHATEVER_IS_PICKED, recorded.policy_observed_cluster_count):
        raise _refused(recorded, "cluster-count-changed", "the placement asks for another number of clusters")


def _compare_stage(recorded: StagedUpdateRunStatus, stage: StageUpdatingStatus, fresh: StageUpdatingStatus) -> None:
    """Raises RunRefused if the stage as laid out today has another name, types of tasks, clusters or order of these
    than the recorded one."""
    if stage.stage_name != fresh.stage_name:
        raise _refused(recorded, "stages-changed", f"stage {stage.stage_name} is now {fresh.stage_name}")
    if _tasks(stage) != _tasks(fresh):
        raise _refused(recorded, "contradiction", f"stage {stage.stage_name} has other tasks than its strategy")
    before = [each.cluster_name for each in stage.clusters]
    now = [each.cluster_name for each in fresh.clusters]
    if before != now:
        changed = sorted(set(before) ^ set(now))
        what = f"{listed(changed, SHOWN_CLUSTERS)} came or went" if changed else "their order changed"
        failure = RunFailure(
            code="clusters-changed",
            message=f"the clusters of stage {stage.stage_name} are not those it began with: {what}",
            total=len(changed),
            shown=tuple(changed[:SHOWN_CLUSTERS]),
        )
        raise RunRefused(failure, recorded)


def _tasks(stage: StageUpdatingStatus) -> list[str]:
    """Types of the tasks of a stage, those before it first."""
    return [each.type for each in (*stage.before_stage_task_status, *stage.after_stage_task_status)]


def _limit(recorded: StagedUpdateRunStatus, strategy: StagedUpdateStrategySpec, index: int, clusters: int) -> int:
    """How many clusters of the stage at ``index`` may be in flight, as of ``most_in_flight``; RunRefused where that
    raises ValueError."""
    try:
        return most_in_flight(strategy.stages[index], clusters)
    except ValueError as error:
        raise _refused(recorded, "invalid-max-concurrency", str(error)) from None


def _advance(scene: RunContext, index: int, limit: int, updating: int, finished: int) -> tuple[int, int]:
    """Indexes of the stage that is updating and of the last that is finished (``ALL_DONE`` for none), after a look at
    one more. RunRefused if that has failed, or contradicts what came before it, its clusters or ``limit``."""
    status, stage = scene.status, scene.status.stages_status[index]
    if scene.has_status(stage.conditions, SUCCEEDED, FALSE):
        raise _refused(status, "stage-failed", f"stage {stage.stage_name} has failed")
    done = scene.has_status(stage.conditions, SUCCEEDED)
    begun = any(each.type == PROGRESSING for each in stage.conditions)
    if not done and not begun:
        return updating, finished
    if updating != ALL_DONE or index != finished + 1:
        raise _refused(status, "contradiction", f"stage {stage.stage_name} began before an earlier one ended")
    if done:
        unfinished = [each for each in stage.clusters if not scene.has_status(each.conditions, SUCCEEDED)]
        if unfinished:
            message = f"stage {stage.stage_name} is done, and cluster {unfinished[0].cluster_name} is not"
            raise _refused(status, "contradiction", message)
        return updating, index
    flying = sum(
        1
        for each in stage.clusters
        if scene.has_status(each.conditions, STARTED) and not scene.has_status(each.conditions, SUCCEEDED)
    )
    if flying > limit:
        message = f"{flying} clusters of stage {stage.stage_name} are in flight where {limit} may be"
        raise _refused(status, "contradiction", message)
    return index, finished


def _position(scene: RunContext, updating: int, finished: int) -> int:
    """The index of the stage whose turn it is. RunRefused if a cluster has lost the placement since the run began, or
    the delete stage has failed or is out of turn, or is not there."""
    status = scene.status
    deletion = status.deletion_stage_status
    if deletion is None:
        raise _refused(status, "contradiction", "the run has no delete stage")
    known = {each.cluster_name for each in deletion.clusters}
    strangers = sorted({each.cluster for each in scene.leaving} - known)
    if strangers:
        message = f"{listed(strangers, SHOWN_CLUSTERS)} lost the placement after the run began"
        shown = tuple(strangers[:SHOWN_CLUSTERS])
        failure = RunFailure(code="clusters-changed", message=message, total=len(strangers), shown=shown)
        raise RunRefused(failure, status)
    done, failed = (scene.has_status(deletion.conditions, SUCCEEDED, each) for each in (TRUE, FALSE))
    if updating != ALL_DONE or finished < len(status.stages_status) - 1:
        if done or failed or scene.has_status(deletion.conditions, PROGRESSING):
            raise _refused(status, "contradiction", "the delete stage is active before all others are done")
        return updating if updating != ALL_DONE else finished + 1
    if failed:
        raise _refused(status, "stage-failed", "the delete stage has failed")
    return ALL_DONE if done else len(status.stages_status)


def _refused(status: StagedUpdateRunStatus, code: str, message: str) -> RunRefused:
    """The error for a run that cannot go on, to be raised."""
    return RunRefused(RunFailure(code=code, message=message), status)
