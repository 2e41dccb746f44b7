# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A staged update run as a tree of text: its stages, the clusters and tasks (waits, approvals) of each, how far it is,
what clusters in flight wait for, and who approved."""

from __future__ import annotations

import types
import typing as t
from datetime import UTC

from .._core.objects.staged.strategy import TIMED_WAIT, StageConfig
from .._core.objects.staged.update_run import (
    DELETE_STAGE,
    INITIALIZE,
    RUN,
    STOP,
    ClusterStagedUpdateRun,
    ClusterUpdatingStatus,
    StageTaskStatus,
    StageUpdatingStatus,
)
from .._core.rollout.staged.standing import cluster_state, in_flight_since, message_for_people, progress_of
from .._core.schema.meta import Condition, find_condition
from .._core.updates.record.summary import TAKEN_UP
from .._core.values.instants import SECONDS, write_local, write_time
from .text import table
from .widths import told_line

_WANTED = {INITIALIZE: "not told to run yet", RUN: "told to run", STOP: "told to stop"}
SHOWN, NAME, WHY = 40, 80, 200
IN_FLIGHT = "in flight"
NOTHING: t.Mapping[str, str] = types.MappingProxyType({})
Row = tuple[str, str, str]


def staged_text(
    run: ClusterStagedUpdateRun,
    state: str,
    digest: str,
    approvers: t.Mapping[str, str] = NOTHING,
    lacks: t.Mapping[str, str] = NOTHING,
) -> list[str]:
    """The run as lines: what it does, ``digest`` unless it is empty, then a table of the run in ``state``, its stages,
    and that of clusters that leave. ``approvers`` are who gave approvals, by the names of their requests; ``lacks`` is
    what clusters in flight wait for, by name. Of large stages clusters in flight or failed are shown before others, and
    the rest is counted."""
    status, spec = run.status, run.spec
    index = status.resource_snapshot_index_used or spec.resource_snapshot_index or "latest"
    lines = [
        f"run {run.key}: placement {run.placement_key}, snapshot {index},"
        f" strategy {run.strategy_record_name}, {_WANTED.get(spec.state, spec.state)}"
    ]
    if digest:
        lines.append(f"digest {digest}")
    rows: list[Row] = [(str(run.key), state, message_for_people(run))]
    strategy = status.staged_update_strategy_snapshot
    configs = strategy.stages if strategy else ()
    for number, stage in enumerate(status.stages_status):
        rows += _stage(stage, configs[number] if number < len(configs) else None, approvers, lacks)
    deletion = status.deletion_stage_status
    if deletion is not None and deletion.clusters:
        rows += _stage(deletion, None, approvers, lacks)
    return lines + table(("WHAT", "STATE", "HOW FAR, AND WHY"), rows, "")


def _stage(
    stage: StageUpdatingStatus,
    config: StageConfig | None,
    approvers: t.Mapping[str, str],
    lacks: t.Mapping[str, str],
) -> list[Row]:
    """The rows of one stage: itself, tasks before it, clusters as of ``staged_text``, tasks after it. Without
    ``config`` (None) its limit and its wait times are not told."""
    done = sum(1 for each in stage.clusters if _cluster(each) == "done")
    limit = f"; {config.max_concurrency} at once" if config else ""
    name = "leaving" if stage.stage_name == DELETE_STAGE else stage.stage_name
    rows: list[Row] = [(f"  {name}", _word(stage.conditions), f"{done}/{len(stage.clusters)} done{limit}")]
    rows += [_task(each, "before", config, approvers) for each in stage.before_stage_task_status]
    shown = (
        sorted(stage.clusters, key=_cluster, reverse=True)[:SHOWN] if len(stage.clusters) > SHOWN else stage.clusters
    )
    for each in shown:
        word, since = _cluster(each), in_flight_since(each)
        why = told_line(lacks.get(each.cluster_name, ""), WHY) if word == IN_FLIGHT else ""
        begun = f"since {write_local(since, UTC)}" if since else ""
        rows.append((f"    {each.cluster_name}", word, ": ".join(filter(None, (begun, why)))))
    if len(stage.clusters) > len(shown):
        rows.append((f"    {len(stage.clusters) - len(shown)} more", "", "all of them in the result"))
    return rows + [_task(each, "after", config, approvers) for each in stage.after_stage_task_status]


def _task(task: StageTaskStatus, timing: str, config: StageConfig | None, approvers: t.Mapping[str, str]) -> Row:
    """The row of one task. A timed wait is ``counting``, ``over`` or (before it begins) empty, and has the wait times
    of the stage in ``config``. An approval is ``asked for``, ``approved`` or empty, and has who gave it, if
    ``approvers`` tell, when it was taken up, and its request's name."""
    if task.type == TIMED_WAIT:
        waits = [each.wait_time for each in config.after_stage_tasks if each.type == TIMED_WAIT] if config else []
        found = find_condition(task.conditions, "WaitTimeElapsed")
        word = "" if found is None else "over" if found.status == "True" else "counting"
        return f"    wait {timing}", word, ", ".join(waits)
    approved, asked = (find_condition(task.conditions, f"ApprovalRequest{each}") for each in ("Approved", "Created"))
    word = "approved" if approved and approved.status == "True" else "asked for" if asked else ""
    when = approved.last_transition_time if approved and word == "approved" else None
    name = task.approval_request_name
    by = f"by {told_line(approvers[name], NAME)} " if name in approvers else ""
    if by and not when:
        return f"    approval {timing}", word, f"approved {by.rstrip()}: {name}; {TAKEN_UP}"
    return f"    approval {timing}", word, f"{by}at {write_time(when, SECONDS)}: {name}" if when else name


def _cluster(each: ClusterUpdatingStatus) -> str:
    """``in flight``, ``done``, ``failed``, or empty for one whose turn has not come."""
    state = cluster_state(each.conditions)
    return IN_FLIGHT if state == "begun" else state


def _word(conditions: tuple[Condition, ...]) -> str:
    """The reason of a stage's end, or else of its progress, without ``StageUpdating``; empty if it has neither."""
    found = progress_of(conditions)
    return found.reason.removeprefix("StageUpdating") if found else ""
