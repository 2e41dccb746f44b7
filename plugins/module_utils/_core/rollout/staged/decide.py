# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One step of a staged update run (KubeFleet ClusterStagedUpdateRun): begin, go on, wait, stop, end, and when to look
again; which clusters are in flight, whether it is over or stands until it is told to go on.

Another machine than update runs: no groups, a delete stage, and a cluster that does not get there makes the run stuck
and never fails it.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ...errors import Problem
from ...machine import Blocker, Decision, HeldBack
from ...objects.staged.strategy import StageConfig
from ...objects.staged.update_run import (
    INITIALIZE,
    RUN,
    ClusterStagedUpdateRun,
    StagedUpdateRunStatus,
    StageUpdatingStatus,
)
from ...schema.meta import find_condition
from ...windows.clocks import shifted
from ..conditions import FALSE, TRUE, Conditions, Row
from . import tasks as staged_tasks
from .begin import begin
from .beside import beginning_of, superseded_refusal
from .deletion import deletion_step, deletions_under_way
from .flight import finish_clusters, stage_after, update_clusters
from .layout import most_in_flight
from .marks import (
    INITIALIZED,
    PROGRESSING,
    RUN_BEGUN,
    RUN_PROGRESSING,
    RUN_STOPPED,
    RUN_STOPPING,
    STAGE_DONE,
    STAGE_FAILED,
    STAGE_SKIPPED,
    STAGE_STOPPED,
    STAGE_STOPPING,
    STARTED,
    SUCCEEDED,
    Marks,
    run_at_generation,
    run_stuck,
    run_waiting,
    stage_waiting,
)
from .position import ALL_DONE, resume
from .world import (
    Action,
    ClusterInFlight,
    DeleteApproval,
    NotYet,
    ObservedState,
    RunContext,
    RunFailure,
    RunRefused,
)

CLUSTER_CHECK, STAGE_CHECK = timedelta(seconds=15), timedelta(seconds=60)
EVENT = None


@dataclass(frozen=True, kw_only=True)
class StagedState:
    """The run, which is all that is stored; ``failure`` is what ended it in this very decision, if anything did."""

    run: ClusterStagedUpdateRun
    failure: RunFailure | None = field(default=None, compare=False)


StagedDecision = Decision[StagedState, Action]


@dataclass(frozen=True, kw_only=True)
class StageStep:
    """What one look at the stage whose turn it is comes to; ``row`` is the run's Progressing. ``problems`` may pass, a
    ``failure`` ends the run, ``finished``: all of it is done."""

    stage: StageUpdatingStatus
    row: Row
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None
    problems: tuple[Problem, ...] = ()
    failure: RunFailure | None = None
    finished: bool = False


def decide(state: StagedState, seen: ObservedState, now: datetime) -> StagedDecision:
    """The next state of a staged update run and what is to be done for it.

    An act is decided again until it is seen done. Waits are what may pass by itself. With Initialize a run only begins,
    and is checked and left alone after that; with Run it goes on, with Stop, or any other word, what is in flight ends.
    One that cannot begin or go on ends, and ``failure`` in the state says why; where that may pass (NotYet) it waits.
    For a run that is over only approvals that it has taken are accepted; of one that is being deleted only the approval
    requests are deleted. ``wake_at`` is when a timed wait ends or a cluster will have been in flight for too long,
    ``now`` where a stage has just ended, None where time alone changes nothing; for upstream, its fixed times.
    """
    run = run_at_generation(state.run)
    scene = RunContext(run=run, world=seen, now=now, upstream=seen.upstream)
    if run.metadata.deletion_timestamp is not None:
        mine = [each.name for each in seen.approvals if each.spec.parent_stage_rollout == run.name]
        return _decision(run, tuple(DeleteApproval(name=name) for name in sorted(mine)))
    owed = staged_tasks.owed_acceptances(scene)
    if is_over(run):
        return _decision(run, owed)
    begun = scene.has_status(run.status.conditions, INITIALIZED)
    try:
        scene, index = resume(scene) if begun else (_begun(scene), 0)
    except NotYet as refusal:
        return _decision(run, owed, problems=(refusal.problem,))
    except RunRefused as refusal:
        return _failed(scene, refusal, begun, owed)
    lost = superseded_refusal(scene)
    if lost is not None:
        return _failed(replace(scene, run=_with_status(scene, lost.status)), lost, begun, owed)
    if index == ALL_DONE:
        return _decision(_with_status(scene, Marks(scene.generation, now).with_run_done(scene.status)), owed)
    if run.spec.state == INITIALIZE:
        return _decision(scene.run, owed)
    decision = _stepped(scene, index)
    return replace(decision, acts=(*owed, *decision.acts))


def acts_in_flight(state: StagedState) -> tuple[ClusterInFlight, ...]:
    """Clusters whose turn has begun and has not ended well, in the order of stages, the delete stage last. Empty for a
    run that has ended, or was stopped: nobody follows it. Which of these the conductor stays for is in
    ``_fleet.placements.staged.steering``."""
    if has_ended_or_stopped(state):
        return ()
    deletion = state.run.status.deletion_stage_status
    return tuple(
        ClusterInFlight(stage=stage.stage_name, cluster=each.cluster_name)
        for stage in (*state.run.status.stages_status, *((deletion,) if deletion else ()))
        for each in stage.clusters
        if _said(each.conditions, STARTED, TRUE) and not _said(each.conditions, SUCCEEDED, TRUE)
    )


def has_ended_or_stopped(state: StagedState) -> bool:
    """Whether a staged update run has ended, or is stopped, which it is until the first step after it was told to go
    on."""
    progress = find_condition(state.run.status.conditions, PROGRESSING)
    return is_over(state.run) or (progress is not None and progress.reason == RUN_STOPPED[1])


def _said(conditions: Conditions, kind: str, *statuses: str) -> bool:
    """Whether a condition has one of these statuses, at whatever generation: all count for the present one, as of
    ``run_at_generation``."""
    found = find_condition(conditions, kind)
    return found is not None and found.status in statuses


def _decision(
    run: ClusterStagedUpdateRun,
    acts: tuple[Action, ...] = (),
    wake_at: datetime | None = None,
    problems: t.Iterable[Problem] = (),
    failure: RunFailure | None = None,
) -> StagedDecision:
    """The decision with this run as its state; each problem is a wait."""
    waits = tuple(HeldBack(each.where, (Blocker(each.code, each.message),)) for each in problems)
    return Decision(state=StagedState(run=run, failure=failure), acts=acts, waits=waits, wake_at=wake_at)


def is_over(run: ClusterStagedUpdateRun) -> bool:
    """Whether a staged update run could not begin, or has ended, at whatever generation: it is never revived.
    ``Succeeded`` or ``Initialized`` that is Unknown is no end here, though ``state_of`` takes the first for one."""
    conditions = run.status.conditions
    return _said(conditions, SUCCEEDED, TRUE, FALSE) or _said(conditions, INITIALIZED, FALSE)


def _begun(scene: RunContext) -> RunContext:
    """The scene of a run that begins, as of ``begin``, with Initialized True, as of ``beginning_of`` but for upstream.
    RunRefused and NotYet as of ``begin``."""
    scene = begin(scene)
    marks = Marks(scene.generation, scene.now if scene.upstream else beginning_of(scene))
    return replace(scene, run=_with_status(scene, marks.on_run(scene.status, INITIALIZED, RUN_BEGUN)))


def _failed(scene: RunContext, refusal: RunRefused, begun: bool, owed: tuple[Action, ...]) -> StagedDecision:
    """The decision that ends a run: one that had begun has failed, else its Initialized is False."""
    marks = Marks(scene.generation, scene.now)
    if begun:
        status = marks.with_run_failed(scene.status, refusal.failure.message)
    else:
        row = (FALSE, "UpdateRunInitializedFailed", refusal.failure.message)
        status = marks.on_run(refusal.status, INITIALIZED, row)
    return _decision(_with_status(scene, status), owed, failure=refusal.failure)


def _stepped(scene: RunContext, index: int) -> StagedDecision:
    """The decision of one step of the stage at ``index``, which after the last is the delete stage."""
    step = _step(scene, index)
    marks = Marks(scene.generation, scene.now)
    stage = step.stage
    if step.failure:
        stage = marks.stage_ended(stage, FALSE, STAGE_FAILED, step.failure.message)
    status = _with_stage(scene.status, index, stage)
    if step.failure:
        status = marks.with_run_failed(status, step.failure.message)
    elif step.finished:
        status = marks.with_run_done(status)
    else:
        status = marks.on_run(status, PROGRESSING, step.row)
    return _decision(
        _with_status(scene, status),
        step.actions,
        wake_at=None if step.failure or step.finished else step.wake_at,
        problems=() if step.failure else step.problems,
        failure=step.failure,
    )


def _step(scene: RunContext, index: int) -> StageStep:
    """One look at the stage at ``index``, running or stopping as is wanted; RunRefused of the delete stage, which has
    begun all the same, becomes its failure. ValueError for a run without the stage or its copy of the strategy."""
    stages, deletion = scene.status.stages_status, scene.status.deletion_stage_status
    stage = stages[index] if index < len(stages) else deletion
    strategy = scene.status.staged_update_strategy_snapshot
    if stage is None or strategy is None:
        raise ValueError("a run that has begun has its stages")
    running = scene.run.spec.state == RUN
    if index < len(stages):
        return _stage(scene, stage, strategy.stages[index]) if running else _stop_stage(scene, stage)
    if running:
        stage = Marks(scene.generation, scene.now).stage_started(stage)
    try:
        return _delete_stage(scene, stage) if running else _stop_delete_stage(scene, stage)
    except RunRefused as refusal:
        return StageStep(stage=stage, row=RUN_PROGRESSING, failure=refusal.failure)


def _stage(scene: RunContext, stage: StageUpdatingStatus, config: StageConfig) -> StageStep:
    """One look at a stage of a run that goes on: tasks before it, clusters, tasks after it. One without clusters ends
    at once, without its tasks. The failure of a task as of ``tasks_before_stage``."""
    marks = Marks(scene.generation, scene.now)
    if not stage.clusters:
        stage = replace(stage, start_time=stage.start_time or scene.now)
        skipped = marks.stage_ended(stage, TRUE, STAGE_SKIPPED, "the stage has no clusters")
        return StageStep(stage=skipped, row=RUN_PROGRESSING, wake_at=scene.now)
    tasks = staged_tasks.tasks_before_stage(scene, stage)
    if tasks.failure:
        return StageStep(stage=tasks.stage, row=RUN_PROGRESSING, actions=tasks.actions, failure=tasks.failure)
    if not tasks.passed:
        stage = marks.on_stage(tasks.stage, stage_waiting("before-stage"))
        row = run_waiting("before-stage", stage.stage_name)
        return StageStep(stage=stage, row=row, actions=tasks.actions, wake_at=_look_again(scene, STAGE_CHECK, EVENT))
    try:
        limit = most_in_flight(config, len(stage.clusters))
    except ValueError as error:
        failure = RunFailure(code="invalid-max-concurrency", message=str(error))
        return StageStep(stage=tasks.stage, row=RUN_PROGRESSING, failure=failure)
    flight = update_clusters(scene, tasks.stage, limit)
    step = StageStep(
        stage=stage_after(flight),
        row=run_stuck(stage.stage_name, flight.stuck) if flight.stuck else RUN_PROGRESSING,
        actions=(*tasks.actions, *flight.actions),
        wake_at=_look_again(scene, CLUSTER_CHECK, flight.stuck_from),
        problems=tuple(flight.problems),
        failure=flight.failure,
    )
    if flight.failure or flight.problems or flight.finished < len(stage.clusters):
        return step
    return _after_stage(scene, step, config)


def _after_stage(scene: RunContext, step: StageStep, config: StageConfig) -> StageStep:
    """The step of a stage whose clusters are all done: it ends when its last tasks pass, and the next one's turn comes
    at once. The failure of a task as of ``tasks_after_stage``."""
    marks = Marks(scene.generation, scene.now)
    waiting = marks.on_stage(step.stage, stage_waiting("after-stage"))
    tasks = staged_tasks.tasks_after_stage(scene, waiting, config)
    step = replace(step, stage=tasks.stage, actions=(*step.actions, *tasks.actions))
    if tasks.failure:
        return replace(step, failure=tasks.failure)
    if tasks.passed:
        done = marks.stage_ended(tasks.stage, TRUE, STAGE_DONE, "all clusters and tasks of the stage are done")
        return replace(step, stage=done, row=RUN_PROGRESSING, wake_at=scene.now)
    wake_at = tasks.wake_at or _look_again(scene, STAGE_CHECK, EVENT)
    return replace(step, row=run_waiting("after-stage", tasks.stage.stage_name), wake_at=wake_at)


def _delete_stage(scene: RunContext, stage: StageUpdatingStatus) -> StageStep:
    """One look at the delete stage, begun, of a run that goes on; the run is finished once no binding is left.
    RunRefused as of ``deletion_step``."""
    stage, actions = deletion_step(scene, stage, stopping=False)
    if not scene.leaving:
        done = Marks(scene.generation, scene.now).stage_ended(
            stage, TRUE, STAGE_DONE, "all clusters of the stage are done"
        )
        return StageStep(stage=done, row=RUN_PROGRESSING, finished=True)
    wake_at = _look_again(scene, CLUSTER_CHECK, EVENT)
    return StageStep(stage=stage, row=RUN_PROGRESSING, actions=tuple(actions), wake_at=wake_at)


def _stop_stage(scene: RunContext, stage: StageUpdatingStatus) -> StageStep:
    """One look at a stage of a run that stops: no cluster starts, those in flight are let finish. One that is in
    trouble or stuck may never do so: it is left as it is, and looked at again when the run goes on. Upstream waits for
    it for ever."""
    marks = Marks(scene.generation, scene.now)
    flight = finish_clusters(scene, stage)
    stage = replace(stage, clusters=tuple(flight.clusters))
    if scene.upstream:  # goes through Stopping each time, which the wait after the stage counts from
        stage = marks.on_stage(stage, STAGE_STOPPING)
    if flight.failure:
        return StageStep(stage=stage, row=RUN_STOPPING, failure=flight.failure)
    left = flight.in_flight
    if not scene.upstream:
        left -= len({*flight.troubled, *flight.stuck})
    if left == 0 and (not flight.problems or not scene.upstream):
        stopped = marks.on_stage(stage, STAGE_STOPPED)
        return StageStep(stage=stopped, row=RUN_STOPPED, actions=tuple(flight.actions), problems=tuple(flight.problems))
    return StageStep(
        stage=marks.on_stage(stage, STAGE_STOPPING),
        row=run_stuck(stage.stage_name, flight.stuck) if flight.stuck else RUN_STOPPING,
        actions=tuple(flight.actions),
        wake_at=_look_again(scene, CLUSTER_CHECK, flight.stuck_from),
        problems=tuple(flight.problems),
    )


def _stop_delete_stage(scene: RunContext, stage: StageUpdatingStatus) -> StageStep:
    """One look at the delete stage of a run that stops: deletions that have begun are let finish. Upstream counts those
    that have not begun too, and never stops. RunRefused as of ``deletion_step``."""
    marks = Marks(scene.generation, scene.now)
    stage, actions = deletion_step(scene, stage, stopping=True)
    left = deletions_under_way(scene, stage)
    stopped = marks.on_stage(stage, STAGE_STOPPING if left else STAGE_STOPPED)
    if left == 0 and (not scene.leaving or not scene.upstream):
        return StageStep(stage=stopped, row=RUN_STOPPED)
    return StageStep(
        stage=stopped, row=RUN_STOPPING, actions=tuple(actions), wake_at=_look_again(scene, CLUSTER_CHECK, EVENT)
    )


def _look_again(scene: RunContext, upstream: timedelta, ours: datetime | None) -> datetime | None:
    """When to look again: ``ours``, when time alone changes something (None: never); for upstream, after its fixed
    time."""
    return shifted(scene.now, upstream) if scene.upstream else ours


def _with_stage(status: StagedUpdateRunStatus, index: int, stage: StageUpdatingStatus) -> StagedUpdateRunStatus:
    """The status with this stage at ``index``, which after the last is the delete stage."""
    stages = status.stages_status
    if index == len(stages):
        return replace(status, deletion_stage_status=stage)
    return replace(status, stages_status=(*stages[:index], stage, *stages[index + 1 :]))


def _with_status(scene: RunContext, status: StagedUpdateRunStatus) -> ClusterStagedUpdateRun:
    """The scene's run with this status."""
    return replace(scene.run, status=status)
