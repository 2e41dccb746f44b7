# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The tasks before and after a stage of a staged run (KubeFleet): approval requests asked for and accepted
(``approval-request-taken``) and timed waits, whether they are passed, and when a wait ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from ...objects.staged.approval import APPROVAL_ACCEPTED, APPROVED, ClusterApprovalRequest
from ...objects.staged.strategy import APPROVAL, TIMED_WAIT, StageConfig
from ...objects.staged.update_run import StageTaskStatus, StageUpdatingStatus
from ...schema.meta import find_condition
from ...values.duration import as_timedelta
from ...windows.clocks import shifted
from ..conditions import TRUE, status_is
from .layout import wait_nanoseconds
from .marks import (
    PROGRESSING,
    REQUEST_APPROVED,
    REQUEST_CREATED,
    TASK_APPROVED,
    TASK_REQUESTED,
    TASK_WAITED,
    TASK_WAITING,
    WAIT_TIME_ELAPSED,
    Marks,
)
from .world import (
    AFTER_STAGE,
    BEFORE_STAGE,
    AcceptApproval,
    Action,
    RequestApproval,
    RunContext,
    RunFailure,
    RunRefused,
)


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """The stage after a look at its tasks, and the ``actions`` that ask for approvals and take them. ``wake_at`` is
    when the timed wait ends, if there is one."""

    stage: StageUpdatingStatus
    passed: bool
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None


def tasks_before_stage(scene: RunContext, stage: StageUpdatingStatus) -> Tasks:
    """The stage after a look at the task before it, an approval, with the acts that ask for it or take it: passed once
    it is given, without a task at once. Which approvals count was judged by who read ``world.approvals``. RunRefused
    ``approval-request-taken`` if a request of that name belongs to another run or stage."""
    done: list[StageTaskStatus] = []
    actions: list[Action] = []
    passed = True
    for task in stage.before_stage_task_status:
        changed, approved, todo = _approval(scene, stage, task, BEFORE_STAGE)
        done.append(changed)
        actions += todo
        passed = passed and approved
    return Tasks(stage=replace(stage, before_stage_task_status=tuple(done)), passed=passed, actions=tuple(actions))


def tasks_after_stage(scene: RunContext, stage: StageUpdatingStatus, config: StageConfig) -> Tasks:
    """The stage after a look at the tasks behind it, once all its clusters are done: they run side by side, and all
    must pass (one of an unknown type does); approvals, and RunRefused, as of ``tasks_before_stage``. A timed wait
    begins with the first look, in upstream with the stage's last change of Progressing, so that a stop begins it anew.
    Of a timed wait ValueError for a time that is no duration above zero, IndexError if ``config`` does not have it."""
    done: list[StageTaskStatus] = []
    actions: list[Action] = []
    passed, wake_at = True, None
    for index, task in enumerate(stage.after_stage_task_status):
        if task.type == APPROVAL:
            changed, approved, todo = _approval(scene, stage, task, AFTER_STAGE)
            actions += todo
            passed = passed and approved
        elif task.type == TIMED_WAIT:
            changed, ends = _wait(scene, stage, task, config, index)
            passed = passed and ends is None
            wake_at = ends or wake_at
        else:
            changed = task
        done.append(changed)
    return Tasks(
        stage=replace(stage, after_stage_task_status=tuple(done)),
        passed=passed,
        actions=tuple(actions),
        wake_at=wake_at,
    )


def owed_acceptances(scene: RunContext) -> tuple[Action, ...]:
    """The acts that are still owed to approvals: ``AcceptApproval``, in the order of the stages, for each that is
    recorded as taken while its request does not say so, since who took it ended before it could; none for upstream."""
    requests = {each.name: each for each in scene.world.approvals}
    taken = (
        task.approval_request_name
        for stage in scene.status.stages_status
        for task in (*stage.before_stage_task_status, *stage.after_stage_task_status)
        if scene.has_status(task.conditions, REQUEST_APPROVED)
    )
    return tuple(
        AcceptApproval(name=name)
        for name in taken
        if not scene.upstream and name in requests and not _says(requests[name], APPROVAL_ACCEPTED)
    )


def _approval(
    scene: RunContext, stage: StageUpdatingStatus, task: StageTaskStatus, when: str
) -> tuple[StageTaskStatus, bool, list[Action]]:
    """The task, whether it is passed, and what is to be done for it: ask, accept, or nothing. An approval counts at the
    request's own generation; once accepted, a withdrawal has no effect. RunRefused as of ``tasks_before_stage``."""
    marks = Marks(scene.generation, scene.now)
    if scene.has_status(task.conditions, REQUEST_APPROVED):
        return task, True, []
    name = task.approval_request_name
    request = next((each for each in scene.world.approvals if each.name == name), None)
    created = marks.on_task(task, REQUEST_CREATED, TASK_REQUESTED)
    if request is None:
        return created, False, [RequestApproval(name=name, stage=stage.stage_name, task=when)]
    if (request.spec.parent_stage_rollout, request.spec.target_stage) != (scene.run.name, stage.stage_name):
        message = f"approval request {name} belongs to stage {request.spec.target_stage} of another run or stage"
        raise RunRefused(RunFailure(code="approval-request-taken", message=message), scene.status)
    accepted = _says(request, APPROVAL_ACCEPTED)
    if not accepted and not _says(request, APPROVED):
        return created, False, []
    actions: list[Action] = [] if accepted else [AcceptApproval(name=name)]
    return marks.on_task(created, REQUEST_APPROVED, TASK_APPROVED), True, actions


def _says(request: ClusterApprovalRequest, kind: str) -> bool:
    """Whether the request has this condition, True, at its present generation."""
    return status_is(request.status.conditions, kind, request.metadata.generation, TRUE)


def _wait(
    scene: RunContext, stage: StageUpdatingStatus, task: StageTaskStatus, config: StageConfig, index: int
) -> tuple[StageTaskStatus, datetime | None]:
    """The task, which remembers when its wait began, and when that ends, None once it is over. Errors as of
    ``tasks_after_stage``."""
    marks = Marks(scene.generation, scene.now)
    if scene.has_status(task.conditions, WAIT_TIME_ELAPSED):
        return task, None
    if not scene.upstream and find_condition(task.conditions, WAIT_TIME_ELAPSED) is None:
        task = marks.on_task(task, WAIT_TIME_ELAPSED, TASK_WAITING)
    source = stage.conditions if scene.upstream else task.conditions
    since = find_condition(source, PROGRESSING if scene.upstream else WAIT_TIME_ELAPSED)
    begun = (since.last_transition_time if since else None) or scene.now
    ends = shifted(begun, as_timedelta(wait_nanoseconds(config.after_stage_tasks[index])))
    if ends > scene.now:
        return task, ends
    return marks.on_task(task, WAIT_TIME_ELAPSED, TASK_WAITED), None
