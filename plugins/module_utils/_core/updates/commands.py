# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Commands to an update run: start, start again and stop, where its state allows that (``conflict-state``); and what
became of an attempt at a member: its driver's reference, what holds it up, how it ended, that it was never begun.

Start and stop are those of Azure Fleet Manager; stop is possible in Pending too, start after Stopped and Failed.
"""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime

from ..errors import FleetError
from ..values.update_states import (
    ACTIVE,
    ALREADY_AT_TARGET,
    COMPLETED,
    FAILED,
    NOT_STARTED,
    PENDING,
    RUNNING,
    SKIPPED,
    STOPPED,
    STOPPING,
    SYSTEM,
    UPGRADE_FAILED,
)
from .dispatch import operation_name
from .facts import DONE, with_breaches
from .gates import GateContext, with_skipped_gates
from .run import (
    GroupRow,
    MemberBlocker,
    MemberRow,
    RunState,
    StageRow,
    with_members_changed,
)
from .skipping import SkipTarget, carry_on_hint, skip, with_user_skips
from .status import derive, stage_look
from .timing.obstacles import pending

__all__ = ["SkipTarget", "put_back", "skip", "start", "stop", "with_attempt_end", "with_reference"]

STARTABLE = (NOT_STARTED, STOPPED, FAILED)
STOPPABLE = (RUNNING, PENDING)
STOPPED_ALREADY = (STOPPING, STOPPED, SKIPPED)
_RESULTS = {COMPLETED: "", FAILED: UPGRADE_FAILED, SKIPPED: ALREADY_AT_TARGET}


def start(run: RunState, now: datetime) -> RunState:
    """The run once a new one (NotStarted) is begun, or a Stopped or Failed one goes on: members that failed or were
    stopped are NotStarted again and keep the number of their attempt and their first start, breaches of limits of
    failures are lifted; no member begins here. Gates and waits of what is Skipped by then are Skipped at ``now``.
    Failures in stages that are done, and in segments that the user skipped, are left.

    FleetError ``conflict-state`` in any other state.
    """
    status = derive(run)
    if status.state not in STARTABLE:
        hint = "Completed and Skipped are final" if status.state in DONE else ""
        if status.state == STOPPING:
            hint = f"{carry_on_hint(run.name)}; the restart comes after that, once it is Stopped"
        raise FleetError("conflict-state", f"a run in state {status.state} cannot be started", _where(run), hint)
    stages = (
        stage if one.state in DONE and status.state != NOT_STARTED else _again(stage)
        for stage, one in zip(run.stages, status.stages, strict=True)
    )
    fresh = replace(run, phase=ACTIVE, stop_requested=False, completed=None, stages=tuple(stages))
    desk = GateContext(fresh, now)
    return replace(fresh, stages=tuple(with_skipped_gates(stage, desk) for stage in fresh.stages))


def stop(run: RunState) -> RunState:
    """The run told to stop: nothing new starts, Pending members become Stopped, open gates and waits stay; what is in
    flight goes on to its end. The same run where nothing is left to stop (Stopping, Stopped, Skipped). FleetError
    ``conflict-state`` for one that is NotStarted, Failed or Completed."""
    state = derive(run).state
    if state in STOPPED_ALREADY:
        return run
    if state not in STOPPABLE:
        raise FleetError("conflict-state", f"a run in state {state} cannot be stopped", _where(run))
    stages = tuple(with_members_changed(stage, _stopped) for stage in run.stages)
    return replace(
        run, stop_requested=True, stages=tuple(with_breaches(stage, stage_look(stage, run).facts) for stage in stages)
    )


def with_attempt_end(
    run: RunState,
    operation: str,
    result: str,
    now: datetime,
    message: str = "",
    reason: str = "",
    version_before: str = "",
    version_after: str = "",
    node_images: tuple[str, ...] = (),
) -> RunState:
    """The run with the end of the attempt called ``operation``, and with breaches of limits that follow: ``result`` is
    Completed, Failed, or Skipped (there was nothing to do). Empty versions and images stay as they were, ``message``
    replaces the one before; an empty ``reason`` is UpgradeFailed for Failed, AlreadyAtTarget for Skipped.

    The same run if the operation is not in flight, so that a result told twice or late does nothing. ValueError for
    another result.
    """
    if result not in _RESULTS:
        raise ValueError(f"{result!r} is no end of an attempt")

    def ended(row: MemberRow) -> MemberRow:
        """The row with the end of its attempt."""
        return replace(
            row,
            state=result,
            reason=reason or _RESULTS[result],
            message=message,
            skipped_by=SYSTEM if result == SKIPPED else "",
            version_before=version_before or row.version_before,
            version_after=version_after or row.version_after,
            node_images=node_images or row.node_images,
            completed=now,
        )

    return _in_flight(run, operation, ended)


def with_reference(run: RunState, operation: str, reference: str, version_before: str = "") -> RunState:
    """The run with the ``reference`` by which the driver finds the operation again, even an empty one, and the version
    at which it began (empty: that stays); the same run if the operation is not in flight."""
    return _in_flight(
        run,
        operation,
        lambda row: replace(row, reference=reference, version_before=version_before or row.version_before),
    )


def held_up(run: RunState, operation: str, message: str) -> RunState:
    """The run in which the member whose upgrade is in flight says in its ``message`` what that waits for; empty once it
    goes on. The same run if the operation is not in flight, or the message is there already."""
    return _in_flight(run, operation, lambda row: row if row.message == message else replace(row, message=message))


def put_back(run: RunState, operation: str, why: MemberBlocker, now: datetime) -> RunState:
    """The run with an attempt taken back that was surely not begun and may not begin now: its member is Pending for the
    reason ``why``, Stopped where people have stopped the run meanwhile, Skipped where they have skipped its group or
    stage. Its next attempt has the same number and name: should anything of this one come up after all, it is found.
    The same run if the operation is not in flight."""

    def back(row: MemberRow) -> MemberRow:
        """The row as before the attempt, Pending or Stopped."""
        last = row.attempt - 1
        name, started = (operation_name(run, row.name, last), row.started) if last else ("", None)
        idle = pending(MemberRow(name=row.name, attempt=last, operation=name, started=started), why, now)
        return _stopped(idle) if run.stop_requested else idle

    found = _in_flight(run, operation, back)
    return found if found is run else with_user_skips(found, now)


def _again(stage: StageRow) -> StageRow:
    """The stage for another start: without breaches, failed and stopped members to be tried again, but for what the
    user skipped."""
    groups = tuple(_group_again(group, stage.user_skipped or group.user_skipped) for group in stage.groups)
    return replace(stage, groups=groups, breached=False)


def _group_again(group: GroupRow, skipped: bool) -> GroupRow:
    """The group without a breach; its failed and stopped members are to be tried again, unless it is ``skipped``."""
    members = group.members if skipped else tuple(_member_again(row) for row in group.members)
    return replace(group, members=members, breached=False)


def _member_again(row: MemberRow) -> MemberRow:
    """NotStarted, if it failed or was stopped; number of the attempt and first start are kept. Another state stays."""
    if row.state not in (FAILED, STOPPED):
        return row
    return replace(row, state=NOT_STARTED, reason="", message="", completed=None, pending_since=None)


def _stopped(row: MemberRow) -> MemberRow:
    """Stopped, if it was Pending; another state stays."""
    if row.state != PENDING:
        return row
    return replace(row, state=STOPPED, reason="", message="", pending_since=None)


def _in_flight(run: RunState, operation: str, change: t.Callable[[MemberRow], MemberRow]) -> RunState:
    """The run with that member changed whose attempt, called ``operation``, is Running, and with breaches of limits
    that follow written down; the same run if nothing changes."""

    def changed(row: MemberRow) -> MemberRow:
        """The changed row if it is the one, else the same."""
        return change(row) if row.operation == operation and row.state == RUNNING else row

    stages = tuple(with_members_changed(stage, changed) for stage in run.stages)
    if all(new is old for new, old in zip(stages, run.stages, strict=True)):
        return run
    return replace(run, stages=tuple(with_breaches(stage, stage_look(stage, run).facts) for stage in stages))


def _where(run: RunState) -> str:
    """The run as the place of an error: ``UpdateRun/<name>``."""
    return f"UpdateRun/{run.name}"
