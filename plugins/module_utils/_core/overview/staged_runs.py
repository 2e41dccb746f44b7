# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A staged update run of a placement as bars over time: its stages, their clusters, approvals with who gave them, and
waits, by what its conditions say and when they came to say it."""

from __future__ import annotations

import typing as t
from datetime import datetime, timedelta

from ..objects.staged.strategy import TIMED_WAIT, StageConfig, StageTask
from ..objects.staged.update_run import (
    DELETE_STAGE,
    ClusterStagedUpdateRun,
    ClusterUpdatingStatus,
    StageTaskStatus,
    StageUpdatingStatus,
)
from ..objects.updates.run_status import UpdateStatus
from ..rollout.conditions import TRUE
from ..rollout.staged.layout import wait_nanoseconds
from ..rollout.staged.marks import (
    REQUEST_APPROVED,
    REQUEST_CREATED,
    STAGE_FAILED,
    STAGE_SKIPPED,
    STARTED,
    SUCCEEDED,
    WAIT_TIME_ELAPSED,
)
from ..rollout.staged.standing import (
    FAILED,
    NOT_STARTED,
    RUNNING,
    STOPPED,
    STOPPING,
    WAITING,
    made_good_by,
    message_for_people,
    progress_of,
    standing_of,
    state_of,
)
from ..rollout.staged.standing import SUCCEEDED as DONE
from ..schema.meta import Condition, find_condition
from ..updates.record.summary import TAKEN_UP
from ..values.duration import as_timedelta
from ..values.listed import number_of
from ..values.update_states import COMPLETED, PENDING, SKIPPED
from ..windows.clocks import shifted
from .runs import GATE, MEMBER, RUN, STAGE, STAGED_RUN, WAIT, Bar, RunChart

LEAVING = "leaving"
# By the reason of a stage's condition; a stage that has one and is none of these is being carried out.
_STAGES = {
    "StageUpdatingWaiting": WAITING,
    "StageUpdatingStopping": STOPPING,
    "StageUpdatingStopped": STOPPED,
    "StageUpdatingSucceeded": DONE,
    STAGE_SKIPPED: SKIPPED,
    STAGE_FAILED: FAILED,
}


def staged_chart(
    run: ClusterStagedUpdateRun, approvers: t.Mapping[str, str], runs: t.Collection[ClusterStagedUpdateRun] = ()
) -> RunChart:
    """The staged update run by its status: stages in order, then, if it has clusters, that of those that leave.
    ``approvers`` are who gave approvals, by the names of their requests. Only a run that has succeeded is ``over``, and
    a failed one that others of the ``runs`` have made good; the message says what they have done since."""
    standing, state = standing_of(run, runs), state_of(run)
    status = run.status
    index = status.resource_snapshot_index_used or run.spec.resource_snapshot_index or "latest"
    strategy = status.staged_update_strategy_snapshot
    configs = strategy.stages if strategy else ()
    bars = [
        each
        for number, stage in enumerate(status.stages_status)
        for each in _stage(stage, configs[number] if number < len(configs) else None, approvers)
    ]
    deletion = status.deletion_stage_status
    if deletion is not None and deletion.clusters:
        bars += _stage(deletion, None, approvers)
    begun, ended = find_condition(status.conditions, "Initialized"), find_condition(status.conditions, SUCCEEDED)
    whole = Bar(
        what=RUN,
        name=str(run.key),
        depth=0,
        status=_status(state, _when(begun) if state != NOT_STARTED else None, _when(ended)),
        why=message_for_people(run),
    )
    return RunChart(
        kind=STAGED_RUN,
        name=str(run.key),
        state=state,
        over=state == DONE or made_good_by(run, runs) is not None,
        outcome="",
        target=f"snapshot {index} of placement {run.placement_key}",
        message=standing.message,
        progress=f"{standing.clusters_done:,}/{number_of(standing.clusters, 'cluster')},"
        f" {standing.stages_done:,}/{number_of(standing.stages, 'stage')}",
        bars=(whole, *bars),
        made_at=run.metadata.creation_timestamp,
        of=str(run.placement_key),
        overridden=any(
            (each.cluster_resource_override_snapshots or each.resource_override_snapshots)
            and find_condition(each.conditions, SUCCEEDED) is None
            for stage in status.stages_status
            for each in stage.clusters
        ),
    )


def _stage(stage: StageUpdatingStatus, config: StageConfig | None, approvers: t.Mapping[str, str]) -> t.Iterator[Bar]:
    """The bars of a stage: tasks before it, itself, its clusters, tasks after it. ``config`` is the strategy's, None
    where that has none for it."""
    yield from (_task(each, None, None, approvers) for each in stage.before_stage_task_status)
    found = progress_of(stage.conditions)
    state = _STAGES.get(found.reason, RUNNING) if found else NOT_STARTED
    yield Bar(
        what=STAGE,
        name=LEAVING if stage.stage_name == DELETE_STAGE else stage.stage_name,
        depth=1,
        status=_status(state, stage.start_time, stage.end_time),
        why=found.message if found else "",
    )
    yield from map(_cluster, stage.clusters)
    ends = [end for end in (_when(find_condition(each.conditions, SUCCEEDED)) for each in stage.clusters) if end]
    yield from (_task(each, config, max(ends, default=None), approvers) for each in stage.after_stage_task_status)


def _cluster(each: ClusterUpdatingStatus) -> Bar:
    """The bar of a cluster, with a message where its update failed."""
    begun, ended = find_condition(each.conditions, STARTED), find_condition(each.conditions, SUCCEEDED)
    state = (DONE if ended.status == TRUE else FAILED) if ended else RUNNING if begun else NOT_STARTED
    why = ended.message if ended and ended.status != TRUE else ""
    return Bar(what=MEMBER, name=each.cluster_name, depth=2, status=_status(state, _when(begun), _when(ended)), why=why)


def _task(
    task: StageTaskStatus, config: StageConfig | None, since: datetime | None, approvers: t.Mapping[str, str]
) -> Bar:
    """The bar of an approval or a wait. A wait that is over began at ``since``, when the last cluster of its stage was
    done."""
    if task.type == TIMED_WAIT:
        return _wait(task, config, since)
    asked, approved = (find_condition(task.conditions, each) for each in (REQUEST_CREATED, REQUEST_APPROVED))
    name, done = task.approval_request_name, approved is not None and approved.status == TRUE
    by = approvers.get(name, "")
    given = bool(by) and asked is not None and not done
    why = f"approve {name}" if asked and not done else f"completed by {by}" if done and by else ""
    if given:
        why = f"approved by {by}; {TAKEN_UP}"
    state = COMPLETED if done else PENDING if asked else NOT_STARTED
    status = _status(state, _when(asked), _when(approved) if done else None)
    return Bar(what=GATE, name=name or task.type, depth=2, status=status, why=why, approved=given)


def _wait(task: StageTaskStatus, config: StageConfig | None, since: datetime | None) -> Bar:
    """The bar of a wait, named by its length if ``config`` tells it; ``due`` only while it goes on and its length is
    known. ``since`` is the start of one that is over."""
    found = find_condition(task.conditions, WAIT_TIME_ELAPSED)
    waits = [each for each in config.after_stage_tasks if each.type == TIMED_WAIT] if config else []
    name = waits[0].wait_time if waits else task.type
    if found is None:
        return Bar(what=WAIT, name=name, depth=2, status=UpdateStatus())
    if found.status == TRUE:
        return Bar(what=WAIT, name=name, depth=2, status=_status(COMPLETED, since, _when(found)))
    begun, length = _when(found), _length(waits)
    due = shifted(begun, length) if begun and length else None
    return Bar(what=WAIT, name=name, depth=2, status=_status(PENDING, begun, None), due=due)


def _length(waits: t.Sequence[StageTask]) -> timedelta | None:
    """The length of the first of these waits; None without one, and for one that records have and rules do not
    permit."""
    try:
        return as_timedelta(wait_nanoseconds(waits[0])) if waits else None
    except (ValueError, OverflowError):
        return None


def _status(state: str, start: datetime | None, end: datetime | None) -> UpdateStatus:
    """The record that a bar has: state, start and end, None for what is not known."""
    return UpdateStatus(state=state, start_time=start, completed_time=end)


def _when(condition: Condition | None) -> datetime | None:
    """When the condition changed last; None without one."""
    return condition.last_transition_time if condition else None
