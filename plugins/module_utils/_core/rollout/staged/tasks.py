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
)


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """The stage after a look at its tasks, and the ``actions`` that ask for approvals and take them. ``wake_at`` is
    when the timed wait ends, if there is one; a ``failure`` ends the run."""

    stage: StageUpdatingStatus
    passed: bool
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None
    failure: RunFailure | None = None


@dataclass(frozen=True, kw_only=True)
class _Look:
    """The task after a look at it, whether it is passed, what is to be done for it, when its wait ends, and the failure
    that ends the run."""

    task: StageTaskStatus
    passed: bool = False
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None
    failure: RunFailure | None = None


def tasks_before_stage(scene: RunContext, stage: StageUpdatingStatus) -> Tasks:
    """The stage after a look at the task before it, an approval, with the acts that ask for it or take it: passed once
    it is given, without a task at once. Which approvals count was judged by who read ``world.approvals``. The failure
    is ``approval-request-taken``: a request of that name belongs to another run or stage."""
    looks = [_approval(scene, stage, task, BEFORE_STAGE) for task in stage.before_stage_task_status]
    return _tasks(looks, replace(stage, before_stage_task_status=tuple(each.task for each in looks)))


def tasks_after_stage(scene: RunContext, stage: StageUpdatingStatus, config: StageConfig) -> Tasks:
    """The stage after a look at the tasks behind it, once all its clusters are done: they run side by side, and all
    must pass (one of an unknown type does); approvals, and the failure, as of ``tasks_before_stage``. A timed wait
    begins with the first look, in upstream with the stage's last change of Progressing, so that a stop begins it anew,
    also one that was over.
    Of a timed wait ValueError for a time that is no duration above zero, IndexError if ``config`` does not have it."""
    looks: list[_Look] = []
    for index, task in enumerate(stage.after_stage_task_status):
        if any(each.failure for each in looks):
            looks.append(_Look(task=task))
        elif task.type == APPROVAL:
            looks.append(_approval(scene, stage, task, AFTER_STAGE))
        elif task.type == TIMED_WAIT:
            looks.append(_wait(scene, stage, task, config, index))
        else:
            looks.append(_Look(task=task, passed=True))
    return _tasks(looks, replace(stage, after_stage_task_status=tuple(each.task for each in looks)))


def _tasks(looks: list[_Look], stage: StageUpdatingStatus) -> Tasks:
    """What the looks at the tasks of the stage come to; ``stage`` has them in it. The last wait is the one that
    counts, the first failure."""
    return Tasks(
        stage=stage,
        passed=all(each.passed for each in looks),
        actions=tuple(action for each in looks for action in each.actions),
        wake_at=next((each.wake_at for each in reversed(looks) if each.wake_at), None),
        failure=next((each.failure for each in looks if each.failure), None),
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


def _approval(scene: RunContext, stage: StageUpdatingStatus, task: StageTaskStatus, when: str) -> _Look:
    """The look at an approval; what is to be done for it is to ask, to accept, or nothing. It counts at the request's
    own generation; once accepted, a withdrawal has no effect. The failure as of ``tasks_before_stage``."""
    marks = Marks(scene.generation, scene.now)
    if scene.has_status(task.conditions, REQUEST_APPROVED):
        return _Look(task=task, passed=True)
    name = task.approval_request_name
    request = next((each for each in scene.world.approvals if each.name == name), None)
    created = marks.on_task(task, REQUEST_CREATED, TASK_REQUESTED)
    if request is None:
        return _Look(task=created, actions=(RequestApproval(name=name, stage=stage.stage_name, task=when),))
    if (request.spec.parent_stage_rollout, request.spec.target_stage) != (scene.run.name, stage.stage_name):
        message = f"approval request {name} belongs to stage {request.spec.target_stage} of another run or stage"
        return _Look(task=created, failure=RunFailure(code="approval-request-taken", message=message))
    accepted = _says(request, APPROVAL_ACCEPTED)
    if not accepted and not _says(request, APPROVED):
        return _Look(task=created)
    taken = marks.on_task(created, REQUEST_APPROVED, TASK_APPROVED)
    return _Look(task=taken, passed=True, actions=() if accepted else (AcceptApproval(name=name),))


def _says(request: ClusterApprovalRequest, kind: str) -> bool:
    """Whether the request has this condition, True, at its present generation."""
    return status_is(request.status.conditions, kind, request.metadata.generation, TRUE)


def _wait(
    scene: RunContext, stage: StageUpdatingStatus, task: StageTaskStatus, config: StageConfig, index: int
) -> _Look:
    """The look at a timed wait, of which the task remembers when it began. Errors as of ``tasks_after_stage``."""
    marks = Marks(scene.generation, scene.now)
    if scene.has_status(task.conditions, WAIT_TIME_ELAPSED) and not scene.upstream:
        return _Look(task=task, passed=True)
    if not scene.upstream and find_condition(task.conditions, WAIT_TIME_ELAPSED) is None:
        task = marks.on_task(task, WAIT_TIME_ELAPSED, TASK_WAITING)
    source = stage.conditions if scene.upstream else task.conditions
    since = find_condition(source, PROGRESSING if scene.upstream else WAIT_TIME_ELAPSED)
    begun = (since.last_transition_time if since else None) or scene.now
    ends = shifted(begun, as_timedelta(wait_nanoseconds(config.after_stage_tasks[index])))
    if ends > scene.now:
        return _Look(task=task, wake_at=ends)
    return _Look(task=marks.on_task(task, WAIT_TIME_ELAPSED, TASK_WAITED), passed=True)
