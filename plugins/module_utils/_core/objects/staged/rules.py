# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of staged update strategies (``duplicate-stage``, ``wait-missing``, ``no-stages``), runs
(``invalid-snapshot-index``) and approval requests, and what of them an update may not change (``spec-fixed``,
``state-not-reachable``; KubeFleet's CRD rules and what ends a run at once)."""

from __future__ import annotations

import re
import typing as t

from ...schema.finding import Finding
from ...schema.metadata_rules import check_reference
from ...schema.rules import Found
from ...values.duration import parse_duration
from ...values.selector import check_selector, label_key_problem
from .approval import ClusterApprovalRequest
from .strategy import (
    APPROVAL,
    TIMED_WAIT,
    ClusterStagedUpdateStrategy,
    StageConfig,
    StageTask,
)
from .update_run import (
    INITIALIZE,
    RUN,
    STOP,
    ClusterStagedUpdateRun,
)

STAGES = "spec.stages"
_INDEX = re.compile(r"0|[1-9][0-9]*")
# What a run's state cannot become, by what it is.
_NOT_AFTER = {INITIALIZE: (STOP,), RUN: (INITIALIZE,), STOP: (INITIALIZE,)}


def check_staged_strategy(strategy: ClusterStagedUpdateStrategy) -> t.Iterator[Found]:
    """What is wrong with the stages of a staged update strategy over several fields, one after another:
    ``duplicate-stage``, ``invalid-label-selector``, ``invalid-sorting-key``, ``wait-before-stage``, ``duplicate-task``,
    ``wait-not-wanted``, ``wait-missing``, ``wait-not-usable``."""
    first: dict[str, int] = {}
    for index, stage in enumerate(strategy.spec.stages):
        path = f"{STAGES}[{index}]"
        other = first.setdefault(stage.name, index)
        if stage.name and other != index:
            message = f"stages {other} and {index} are both called {stage.name!r}"
            yield Found("duplicate-stage", f"{path}.name", message, "one approval would stand for both")
        yield from _check_stage(stage, path)


def warn_staged_strategy(strategy: ClusterStagedUpdateStrategy) -> t.Iterator[Finding]:
    """What of a staged update strategy is accepted and takes no cluster: ``no-stages``, or ``stage-takes-nothing`` for
    each stage without ``labelSelector`` (an empty one takes all)."""
    if not strategy.spec.stages:
        yield Finding("no-stages", STAGES, STAGES, None, None, "without stages no cluster is updated")
    for index, stage in enumerate(strategy.spec.stages):
        if stage.label_selector is None:
            place = f"{STAGES}[{index}].labelSelector"
            reason = "a stage without labelSelector takes no cluster; an empty one takes all"
            yield Finding("stage-takes-nothing", place, place, None, None, reason)


def check_staged_run(run: ClusterStagedUpdateRun) -> t.Iterator[Found]:
    """What is wrong with a staged update run: the names of placement and strategy, as of ``check_reference``, and
    ``invalid-snapshot-index`` for an index of resources that is no whole number, or begins with a needless 0; an empty
    one is the latest."""
    yield from check_reference(run.spec.placement_name, "spec.placementName")
    yield from check_reference(run.spec.staged_rollout_strategy_name, "spec.stagedRolloutStrategyName")
    index = run.spec.resource_snapshot_index
    if index and not _INDEX.fullmatch(index):
        message = f"{index!r:.40} is not the index of resources: a whole number from 0 on"
        yield Found("invalid-snapshot-index", "spec.resourceSnapshotIndex", message, "leave it out for the latest")


def check_staged_run_update(old: ClusterStagedUpdateRun, new: ClusterStagedUpdateRun) -> t.Iterator[Found]:
    """What an update of a staged update run may not change: anything in its spec but the state (``spec-fixed``), and
    that not back to Initialize, nor from there to Stop (``state-not-reachable``)."""
    before, after = old.spec, new.spec
    for name, given, wanted in (
        ("placementName", before.placement_name, after.placement_name),
        ("stagedRolloutStrategyName", before.staged_rollout_strategy_name, after.staged_rollout_strategy_name),
        ("resourceSnapshotIndex", before.resource_snapshot_index, after.resource_snapshot_index),
    ):
        if given != wanted:
            message = f"it is {given or 'empty'} and cannot become {wanted or 'empty'}"
            yield Found("spec-fixed", f"spec.{name}", message, "make a new run")
    if after.state in _NOT_AFTER.get(before.state, ()):
        message = f"a run that is to {before.state} cannot be told to {after.state}"
        hint = "delete the run" if before.state == INITIALIZE else f"write {STOP if before.state == RUN else RUN}"
        yield Found("state-not-reachable", "spec.state", message, hint)


def check_approval_request(request: ClusterApprovalRequest) -> t.Iterator[Found]:
    """What is wrong with an approval request: the name of its run, as of ``check_reference``, and a stage that is not
    named (``empty-text``)."""
    yield from check_reference(request.spec.parent_stage_rollout, "spec.parentStageRollout")
    if not request.spec.target_stage:
        yield Found("empty-text", "spec.targetStage", "targetStage must not be empty")


def check_approval_request_update(old: ClusterApprovalRequest, new: ClusterApprovalRequest) -> t.Iterator[Found]:
    """The problem ``spec-fixed`` if an update changes the spec of an approval request."""
    if old.spec != new.spec:
        yield Found("spec-fixed", "spec", "the spec of an approval request cannot be changed")


def _check_stage(stage: StageConfig, path: str) -> t.Iterator[Found]:
    """What is wrong with one stage: selector, sorting key, a TimedWait before it (``wait-before-stage``), two tasks of
    one type after it (``duplicate-task``), each task."""
    for place, message in check_selector(stage.label_selector) if stage.label_selector else ():
        yield Found("invalid-label-selector", f"{path}.labelSelector.{place}", message)
    if stage.sorting_label_key is not None:
        problem = label_key_problem(stage.sorting_label_key)
        if problem:
            yield Found("invalid-sorting-key", f"{path}.sortingLabelKey", problem)
    for index, task in enumerate(stage.before_stage_tasks):
        place = f"{path}.beforeStageTasks[{index}]"
        if task.type == TIMED_WAIT:
            yield Found("wait-before-stage", f"{place}.type", "only Approval may stand before a stage")
        else:
            yield from _check_task(task, place)
    types: set[str] = set()
    for index, task in enumerate(stage.after_stage_tasks):
        place = f"{path}.afterStageTasks[{index}]"
        if task.type in types:
            yield Found("duplicate-task", f"{place}.type", f"two tasks after the stage are of type {task.type}")
        types.add(task.type)
        yield from _check_task(task, place)


def _check_task(task: StageTask, path: str) -> t.Iterator[Found]:
    """At most one problem of a task: ``wait-not-wanted``, ``wait-missing`` or ``wait-not-usable``."""
    place = f"{path}.waitTime"
    if task.type == APPROVAL:
        if task.wait_time:
            yield Found("wait-not-wanted", place, "an Approval has no waitTime", "leave it out")
    elif task.type == TIMED_WAIT and not task.wait_time:
        yield Found("wait-missing", place, "TimedWait does not say how long", "write a time such as 1h or 30m")
    elif task.type == TIMED_WAIT and not _is_usable(task.wait_time):
        yield Found(
            "wait-not-usable", place, f"{task.wait_time!r:.40} is no time to wait", "write one such as 1h or 30m"
        )


def _is_usable(wait_time: str) -> bool:
    """Whether a time to wait can be read, as of ``parse_duration``, and is longer than none."""
    try:
        return parse_duration(wait_time) > 0
    except ValueError:
        return False
