# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The conditions of a staged update run, its stages, clusters and tasks: types, reasons (``UpdateRunStuck``,
``StageUpdatingWaiting``), messages, and who gets which when; counted for the run's present generation."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime

from ...objects.staged.update_run import (
    ClusterStagedUpdateRun,
    ClusterUpdatingStatus,
    StagedUpdateRunStatus,
    StageTaskStatus,
    StageUpdatingStatus,
)
from ..conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    Conditions,
    Row,
    set_condition,
)

INITIALIZED, PROGRESSING, SUCCEEDED, STARTED = "Initialized", "Progressing", "Succeeded", "Started"
REQUEST_CREATED, REQUEST_APPROVED = "ApprovalRequestCreated", "ApprovalRequestApproved"
WAIT_TIME_ELAPSED = "WaitTimeElapsed"
SHOWN_STUCK = 3

RUN_BEGUN = (TRUE, "UpdateRunInitializedSuccessfully", "the stages are laid out")
RUN_PROGRESSING = (TRUE, "UpdateRunProgressing", "the run is making progress")
RUN_STOPPING = (UNKNOWN, "UpdateRunStopping", "no cluster starts any more; those in flight are let finish")
RUN_STOPPED = (FALSE, "UpdateRunStopped", "the run has stopped")
RUN_DONE = "UpdateRunSucceeded"
RUN_FAILED = "UpdateRunFailed"

STAGE_STARTED = (TRUE, "StageUpdatingStarted", "clusters of the stage are being updated")
STAGE_STOPPING = (UNKNOWN, "StageUpdatingStopping", "no cluster starts any more; those in flight are let finish")
STAGE_STOPPED = (FALSE, "StageUpdatingStopped", "no cluster is in flight; the stage goes on when the run does")
STAGE_DONE = "StageUpdatingSucceeded"
STAGE_SKIPPED = "StageUpdatingSkippedNoClusters"
STAGE_FAILED = "StageUpdatingFailed"

CLUSTER_STARTED = (TRUE, "ClusterUpdatingStarted", "the update of the cluster has begun")
CLUSTER_DONE = (TRUE, "ClusterUpdatingSucceeded", "the cluster holds the content")
TASK_REQUESTED = (TRUE, "StageTaskApprovalRequestCreated", "the approval request exists")
TASK_APPROVED = (TRUE, "StageTaskApprovalRequestApproved", "the approval request is approved")
TASK_WAITED = (TRUE, "AfterStageTaskWaitTimeElapsed", "the wait is over")
TASK_WAITING = (FALSE, "AfterStageTaskWaitTimeNotElapsed", "the wait has begun")


def run_waiting(when: str, stage: str) -> Row:
    """Status, reason (``UpdateRunWaiting``) and message of the run's condition Progressing while tasks ``when``
    (``before-stage``, ``after-stage``) of a stage are left."""
    return (FALSE, "UpdateRunWaiting", f"the {when} tasks of stage {stage} are not done")


def run_stuck(stage: str, clusters: list[str]) -> Row:
    """Status, reason (``UpdateRunStuck``) and message of the run's condition Progressing while clusters of the stage
    take too long; it names the first three."""
    more = ", ..." if len(clusters) > SHOWN_STUCK else ""
    shown = ", ".join(clusters[:SHOWN_STUCK]) + more
    return (FALSE, "UpdateRunStuck", f"stage {stage} waits too long for {shown}")


def stage_waiting(when: str) -> Row:
    """Status, reason (``StageUpdatingWaiting``) and message of the stage's condition Progressing while its tasks
    ``when`` (``before-stage``, ``after-stage``) are not done."""
    return (FALSE, "StageUpdatingWaiting", f"the {when} tasks are not done")


class Marks:
    """Gives back a run's status, a stage, cluster or task with conditions set, at one generation and one instant."""

    def __init__(self, generation: int, now: datetime) -> None:
        """Conditions are set for this generation, and as of ``now`` where their status changes."""
        self.generation, self.now = generation, now

    def on_run(self, status: StagedUpdateRunStatus, kind: str, row: Row) -> StagedUpdateRunStatus:
        """The run's status with the condition of type ``kind`` set."""
        return replace(status, conditions=self._put(status.conditions, kind, row))

    def with_run_done(self, status: StagedUpdateRunStatus) -> StagedUpdateRunStatus:
        """The status of a run of which all stages are done: Progressing False, Succeeded True."""
        status = self.on_run(status, PROGRESSING, (FALSE, RUN_DONE, "all stages are done"))
        return self.on_run(status, SUCCEEDED, (TRUE, RUN_DONE, "all stages are done"))

    def with_run_failed(self, status: StagedUpdateRunStatus, message: str) -> StagedUpdateRunStatus:
        """The status of a run that has ended without success: Progressing and Succeeded False; ``message`` says why."""
        status = self.on_run(status, PROGRESSING, (FALSE, RUN_FAILED, "the run has ended"))
        return self.on_run(status, SUCCEEDED, (FALSE, RUN_FAILED, message))

    def on_stage(self, stage: StageUpdatingStatus, row: Row) -> StageUpdatingStatus:
        """The stage with its condition Progressing set."""
        return replace(stage, conditions=self._put(stage.conditions, PROGRESSING, row))

    def stage_started(self, stage: StageUpdatingStatus) -> StageUpdatingStatus:
        """The stage under way, with Progressing True; a start time that it has stays."""
        return self.on_stage(replace(stage, start_time=stage.start_time or self.now), STAGE_STARTED)

    def stage_ended(self, stage: StageUpdatingStatus, status: str, reason: str, message: str) -> StageUpdatingStatus:
        """The stage at its end, with its condition Succeeded of this ``status`` (``True``, ``False``) and Progressing
        False; an end time that it has stays."""
        ended = self.on_stage(replace(stage, end_time=stage.end_time or self.now), (FALSE, reason, message))
        return replace(ended, conditions=self._put(ended.conditions, SUCCEEDED, (status, reason, message)))

    def on_cluster(self, cluster: ClusterUpdatingStatus, kind: str, row: Row) -> ClusterUpdatingStatus:
        """The cluster with the condition of type ``kind`` set."""
        return replace(cluster, conditions=self._put(cluster.conditions, kind, row))

    def on_task(self, task: StageTaskStatus, kind: str, row: Row) -> StageTaskStatus:
        """The task with the condition of type ``kind`` set."""
        return replace(task, conditions=self._put(task.conditions, kind, row))

    def _put(self, conditions: Conditions, kind: str, row: Row) -> Conditions:
        """The conditions with this one set, as of ``set_condition``."""
        return set_condition(conditions, kind, row, self.generation, self.now)


def run_at_generation(run: ClusterStagedUpdateRun) -> ClusterStagedUpdateRun:
    """The run with all its conditions counted for its present generation, so that an edit of the wanted state keeps
    them valid; the very same object where they are so already."""
    generation, status = run.metadata.generation, run.status
    deletion = status.deletion_stage_status

    def here(conditions: Conditions) -> Conditions:
        """The conditions counted for the present generation; the same tuple if they are already."""
        if _count_for(generation, conditions):
            return conditions
        return tuple(replace(each, observed_generation=generation) for each in conditions)

    def all_here(parts: tuple[T, ...]) -> tuple[T, ...]:
        """Clusters or tasks with their conditions so counted; the same tuple if all are already."""
        if all(_count_for(generation, each.conditions) for each in parts):
            return parts
        return tuple(replace(each, conditions=here(each.conditions)) for each in parts)

    def stage(each: StageUpdatingStatus) -> StageUpdatingStatus:
        """A copy of the stage with all its conditions so counted."""
        return replace(
            each,
            conditions=here(each.conditions),
            clusters=all_here(each.clusters),
            before_stage_task_status=all_here(each.before_stage_task_status),
            after_stage_task_status=all_here(each.after_stage_task_status),
        )

    every = (*status.stages_status, *((deletion,) if deletion else ()))
    if _count_for(generation, status.conditions) and all(_is_at(generation, each) for each in every):
        return run
    return replace(
        run,
        status=replace(
            status,
            conditions=here(status.conditions),
            stages_status=tuple(stage(each) for each in status.stages_status),
            deletion_stage_status=stage(deletion) if deletion else None,
        ),
    )


def _is_at(generation: int, stage: StageUpdatingStatus) -> bool:
    """Whether all conditions of the stage, its clusters and its tasks count for this generation."""
    tasks = (*stage.before_stage_task_status, *stage.after_stage_task_status)
    conditions = (stage.conditions, *(each.conditions for each in stage.clusters), *(each.conditions for each in tasks))
    return all(_count_for(generation, each) for each in conditions)


def _count_for(generation: int, conditions: Conditions) -> bool:
    """Whether all conditions are of this generation; True for none."""
    return all(each.observed_generation == generation for each in conditions)


T = t.TypeVar("T", ClusterUpdatingStatus, StageTaskStatus)
