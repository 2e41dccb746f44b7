# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The status of an update run (``UpdateRun``) read as the rows that decisions work on, and written back from these."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime, timedelta

from ...objects.updates.run_status import (
    MemberUpdateStatus,
    UpdateError,
    UpdateGroupStatus,
    UpdateRunGateStatus,
    UpdateRunStatus,
    UpdateStageStatus,
    UpdateStatus,
    WaitStatus,
)
from ...objects.updates.strategy import APPROVAL, SCHEDULED_START, ScheduledStartConfiguration
from ...objects.updates.update_run import UpdateRun
from ...values.update_states import (
    FAILED,
    PENDING,
    UPGRADE_FAILED,
)
from ..run import (
    GateRow,
    GroupRow,
    MemberRow,
    RunState,
    Schedule,
    StageRow,
    WaitRow,
)
from ..status import GroupStatus, RunStatus, StageStatus
from .summary import progress

_WITH_ERROR = (FAILED, PENDING)
Ids = t.Mapping[str, str]


def run_of(run: UpdateRun) -> RunState:
    """What is stored of the update run, as rows; nothing is judged. States of groups, stages and the run, and all
    messages but those of members, are left out: they are derived anew."""
    status = run.status
    return RunState(
        name=run.name,
        uid=run.metadata.uid,
        stages=tuple(_stage_row(each) for each in status.stages),
        phase=status.phase,
        stop_requested=status.stop_requested,
        started=status.status.start_time,
        completed=status.status.completed_time,
        unreachable_timeout=timedelta(seconds=run.spec.unreachable_timeout_seconds),
    )


def status_of(state: RunState, status: RunStatus, before: UpdateRunStatus) -> UpdateRunStatus:
    """The status to store: rows and what is derived of them, in place of what stood ``before``; all that neither knows,
    such as conditions and images, stays.

    ``status`` is that of these very rows (``status.derive``); ValueError if their numbers differ. The result may be
    larger than an API server takes: see ``trimmed``.
    """
    ids = _resource_ids(before)
    return replace(
        before,
        status=_record(status.state, state.started, state.completed, status.message),
        stages=tuple(_stage(row, one, ids) for row, one in zip(state.stages, status.stages, strict=True)),
        failure_count=status.failure_count,
        outcome=status.outcome,
        message=status.message,
        progress=progress(state),
        phase=state.phase,
        stop_requested=state.stop_requested,
    )


def _resource_ids(status: UpdateRunStatus) -> Ids:
    """Cluster resource ids by member, of those that have one."""
    members = status.members
    return {member.name: member.cluster_resource_id for member in members if member.cluster_resource_id}


def _record(state: str, started: datetime | None, completed: datetime | None, message: str) -> UpdateStatus:
    """State, times, and for what is Failed the message as an error."""
    error = UpdateError(code=UPGRADE_FAILED, message=message) if state == FAILED else None
    return UpdateStatus(state=state, start_time=started, completed_time=completed, error=error)


def _stage_row(stage: UpdateStageStatus) -> StageRow:
    """What is stored of a stage, with its groups; derived states and messages are left out."""
    return StageRow(
        name=stage.name,
        groups=tuple(_group_row(each) for each in stage.groups),
        max_concurrency=stage.max_concurrency,
        max_allowed_failures=stage.max_allowed_failures,
        wait=_wait_row(stage.after_stage_wait_status) if stage.after_stage_wait_status else None,
        before_gates=tuple(_gate_row(each) for each in stage.before_gates),
        after_gates=tuple(_gate_row(each) for each in stage.after_gates),
        user_skipped=stage.user_skipped,
        breached=stage.breached,
        reached=stage.reached,
        next_group=stage.next_group,
    )


def _stage(row: StageRow, status: StageStatus, ids: Ids) -> UpdateStageStatus:
    """The status of a stage, out of its row and what is derived of it."""
    return UpdateStageStatus(
        name=row.name,
        status=_record(status.state, status.started, status.completed, status.message),
        message=status.message,
        groups=tuple(_group(each, one, ids) for each, one in zip(row.groups, status.groups, strict=True)),
        before_gates=tuple(_gate(each) for each in row.before_gates),
        after_gates=tuple(_gate(each) for each in row.after_gates),
        after_stage_wait_status=_wait(row.wait) if row.wait else None,
        max_concurrency=row.max_concurrency,
        max_allowed_failures=row.max_allowed_failures,
        failure_count=status.failure_count,
        user_skipped=row.user_skipped,
        breached=row.breached,
        reached=row.reached,
        next_group=row.next_group,
    )


def _group_row(group: UpdateGroupStatus) -> GroupRow:
    """What is stored of a group, with its members; its derived state and message are left out."""
    return GroupRow(
        name=group.name,
        members=tuple(_member_row(each) for each in group.members),
        max_concurrency=group.max_concurrency,
        max_allowed_failures=group.max_allowed_failures,
        before_gates=tuple(_gate_row(each) for each in group.before_gates),
        after_gates=tuple(_gate_row(each) for each in group.after_gates),
        user_skipped=group.user_skipped,
        breached=group.breached,
        reached=group.reached,
    )


def _group(row: GroupRow, status: GroupStatus, ids: Ids) -> UpdateGroupStatus:
    """The status of a group, out of its row and what is derived of it."""
    return UpdateGroupStatus(
        name=row.name,
        status=_record(status.state, status.started, status.completed, status.message),
        message=status.message,
        members=tuple(_member(each, ids) for each in row.members),
        before_gates=tuple(_gate(each) for each in row.before_gates),
        after_gates=tuple(_gate(each) for each in row.after_gates),
        max_concurrency=row.max_concurrency,
        max_allowed_failures=row.max_allowed_failures,
        failure_count=status.failure_count,
        user_skipped=row.user_skipped,
        breached=row.breached,
        reached=row.reached,
    )


def _member_row(member: MemberUpdateStatus) -> MemberRow:
    """What is stored of a member, without resource id and error."""
    return MemberRow(
        name=member.name,
        state=member.status.state,
        attempt=member.attempt,
        operation=member.operation_id,
        reference=member.reference,
        version_before=member.version_before,
        version_after=member.version_after,
        node_images=member.node_images,
        reason=member.reason,
        message=member.message,
        skipped_by=member.skipped_by,
        skipped_via=member.skipped_via,
        started=member.status.start_time,
        completed=member.status.completed_time,
        pending_since=member.pending_since,
    )


def _member(row: MemberRow, ids: Ids) -> MemberUpdateStatus:
    """The status of a member, out of its row and with its resource id, if ``ids`` has one. One that failed or waits
    carries code and text as an error, where readers of the published type look."""
    error = UpdateError(code=row.reason or UPGRADE_FAILED, message=row.message) if row.state in _WITH_ERROR else None
    return MemberUpdateStatus(
        name=row.name,
        cluster_resource_id=ids.get(row.name, ""),
        operation_id=row.operation,
        message=row.message,
        status=UpdateStatus(state=row.state, start_time=row.started, completed_time=row.completed, error=error),
        attempt=row.attempt,
        reference=row.reference,
        version_before=row.version_before,
        version_after=row.version_after,
        node_images=row.node_images,
        reason=row.reason,
        skipped_by=row.skipped_by,
        skipped_via=row.skipped_via,
        pending_since=row.pending_since,
    )


def _gate_row(gate: UpdateRunGateStatus) -> GateRow:
    """What is stored of a gate; its type, which follows from the schedule, is left out."""
    given = gate.schedule
    return GateRow(
        name=gate.display_name,
        id=gate.id,
        schedule=Schedule(day=given.start_day, time=given.start_time, utc_offset=given.utc_offset) if given else None,
        state=gate.status.state,
        opened=gate.status.start_time,
        due=gate.due,
        completed=gate.status.completed_time,
        by=gate.by,
        verified=gate.verified,
        refused=gate.refused,
    )


def _gate(row: GateRow) -> UpdateRunGateStatus:
    """The status of a gate, which has the name of a Gate object once it was opened."""
    return UpdateRunGateStatus(
        display_name=row.name,
        gate_id=row.id if row.opened else "",
        status=UpdateStatus(state=row.state, start_time=row.opened, completed_time=row.completed),
        id=row.id,
        type=SCHEDULED_START if row.schedule else APPROVAL,
        schedule=_schedule(row.schedule) if row.schedule else None,
        due=row.due,
        by=row.by,
        verified=row.verified,
        refused=row.refused,
    )


def _schedule(row: Schedule) -> ScheduledStartConfiguration:
    """The schedule of a gate as records have it."""
    return ScheduledStartConfiguration(start_day=row.day, start_time=row.time, utc_offset=row.utc_offset)


def _wait_row(wait: WaitStatus) -> WaitRow:
    """What is stored of the wait after a stage."""
    return WaitRow(
        seconds=wait.wait_duration_in_seconds,
        state=wait.status.state,
        reason=wait.reason,
        started=wait.status.start_time,
        ends=wait.ends,
        completed=wait.status.completed_time,
    )


def _wait(row: WaitRow) -> WaitStatus:
    """The status of the wait after a stage, out of its row."""
    return WaitStatus(
        status=UpdateStatus(state=row.state, start_time=row.started, completed_time=row.completed),
        wait_duration_in_seconds=row.seconds,
        reason=row.reason,
        ends=row.ends,
    )
