# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The clusters and tasks of each stage of a staged run, from a strategy and the clusters picked (KubeFleet): their
order, ``maxConcurrency`` as a number, ``waitTime``, and layouts that are refused (``clusters-not-in-any-stage``,
``cluster-in-several-stages``, ``invalid-sorting-label``, ``invalid-max-concurrency``, ``invalid-label-selector``)."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...objects.clusters.member_cluster import MemberCluster
from ...objects.staged.strategy import (
    APPROVAL,
    TIMED_WAIT,
    StageConfig,
    StagedUpdateStrategySpec,
    StageTask,
)
from ...objects.staged.update_run import (
    ClusterUpdatingStatus,
    StagedUpdateRunStatus,
    StageTaskStatus,
    StageUpdatingStatus,
)
from ...values.duration import parse_duration
from ...values.int_or_percent import int64, scaled
from ...values.listed import number_of
from ...values.selector import compile_selector
from .world import RunFailure, RunRefused

SHOWN_CLUSTERS = 10


def without_approval_waits(strategy: StagedUpdateStrategySpec) -> StagedUpdateStrategySpec:
    """The strategy without the waiting times of Approvals: they mean nothing, and are dropped before any check."""

    def stripped(tasks: tuple[StageTask, ...]) -> tuple[StageTask, ...]:
        """The tasks, in order, Approvals without their waiting times."""
        return tuple(replace(each, wait_time="") if each.type == APPROVAL else each for each in tasks)

    return replace(
        strategy,
        stages=tuple(
            replace(
                stage,
                before_stage_tasks=stripped(stage.before_stage_tasks),
                after_stage_tasks=stripped(stage.after_stage_tasks),
            )
            for stage in strategy.stages
        ),
    )


def laid_out(
    run_name: str,
    status: StagedUpdateRunStatus,
    selected: t.AbstractSet[str],
    clusters: t.Iterable[MemberCluster],
    *,
    upstream: bool,
) -> StagedUpdateRunStatus:
    """The status with its stages, by the copy of the strategy in it; each selected cluster is in exactly one, in the
    order of its update: by the sorting label as a whole number, if the stage has one, then by name. ``run_name`` is in
    the names of its approval requests (``RUN-before-STAGE``, ``RUN-after-STAGE``).

    RunRefused for the first thing that is wrong, stage by stage ``invalid-before-stage-tasks``,
    ``invalid-after-stage-tasks``, ``invalid-label-selector``, ``cluster-in-several-stages``, ``invalid-sorting-label``,
    ``invalid-max-concurrency``, but for upstream; last, selected clusters that are in no stage, or not among
    ``clusters`` (``clusters-not-in-any-stage``).
    """
    stages = []
    placed: set[str] = set()
    everyone = sorted(clusters, key=lambda each: each.metadata.name)
    strategy = status.staged_update_strategy_snapshot
    for config in strategy.stages if strategy else ():
        _check_tasks(config, status)
        members = _members(config, selected, everyone, placed, status)
        if not upstream:
            _check_concurrency(config, len(members), status)
        placed.update(members)
        stages.append(_stage(run_name, config, members))
    status = replace(status, stages_status=tuple(stages))
    missing = sorted(selected - placed)
    if missing:
        shown = tuple(missing[:SHOWN_CLUSTERS])
        message = f"{number_of(len(missing), 'cluster', 'is', 'are')} in no stage, such as {', '.join(shown)}"
        failure = RunFailure(code="clusters-not-in-any-stage", message=message, total=len(missing), shown=shown)
        raise RunRefused(failure, status)
    return status


def most_in_flight(config: StageConfig, clusters: int) -> int:
    """How many of ``clusters`` may be in flight at once, at least 1: a number as it is, a percentage of them rounded
    down. ValueError for what is neither."""
    return max(1, scaled(config.max_concurrency, clusters, round_up=False))


def wait_nanoseconds(task: StageTask) -> int:
    """The waiting time of a task in nanoseconds. ValueError if it is no duration, or not above zero."""
    nanoseconds = parse_duration(task.wait_time)
    if nanoseconds <= 0:
        raise ValueError(f"{task.wait_time!r} is not above zero")
    return nanoseconds


def _check_tasks(config: StageConfig, status: StagedUpdateRunStatus) -> None:
    """Raises RunRefused if the stage has more before it than one Approval, two tasks of one type after it, or a
    TimedWait there without a usable time."""
    before, after = config.before_stage_tasks, config.after_stage_tasks
    if len(before) > 1 or any(each.type != APPROVAL for each in before):
        message = f"stage {config.name} may have one task before it, an Approval"
        raise RunRefused(RunFailure(code="invalid-before-stage-tasks", message=message), status)
    if len({each.type for each in after}) < len(after):
        message = f"stage {config.name} has two tasks of one type after it"
        raise RunRefused(RunFailure(code="invalid-after-stage-tasks", message=message), status)
    for each in after:
        try:
            if each.type == TIMED_WAIT:
                wait_nanoseconds(each)
        except ValueError as error:
            message = f"stage {config.name} has a TimedWait without a usable waitTime: {error}"
            raise RunRefused(RunFailure(code="invalid-after-stage-tasks", message=message), status) from None


def _check_concurrency(config: StageConfig, members: int, status: StagedUpdateRunStatus) -> None:
    """Raises RunRefused for a maxConcurrency that is neither a number nor a percentage, which upstream finds only when
    the stage's turn comes."""
    try:
        most_in_flight(config, members)
    except ValueError as error:
        message = f"stage {config.name} has no usable maxConcurrency: {error}"
        raise RunRefused(RunFailure(code="invalid-max-concurrency", message=message), status) from None


def _members(
    config: StageConfig,
    selected: t.Container[str],
    everyone: t.Iterable[MemberCluster],
    placed: t.Container[str],
    status: StagedUpdateRunStatus,
) -> list[str]:
    """Names of the selected clusters that the stage takes, in their order. RunRefused for an unusable selector, a
    sorting label that is no integer, a cluster that an earlier stage has."""
    try:
        matches = compile_selector(config.label_selector)
    except ValueError as error:
        message = f"stage {config.name} has no usable labelSelector: {error}"
        raise RunRefused(RunFailure(code="invalid-label-selector", message=message), status) from None
    ranked = []
    for cluster in everyone:
        name, labels = cluster.metadata.name, cluster.metadata.labels
        if name not in selected or not matches(labels):
            continue
        if name in placed:
            message = f"cluster {name} is in stage {config.name} and in an earlier one"
            raise RunRefused(RunFailure(code="cluster-in-several-stages", message=message), status)
        ranked.append((_rank(config, name, labels, status), name))
    return [name for _number, name in sorted(ranked)]


def _rank(config: StageConfig, name: str, labels: t.Mapping[str, str], status: StagedUpdateRunStatus) -> int:
    """The integer in the cluster's sorting label; 0 for a stage without such a label. RunRefused for what is no
    integer, or missing."""
    if config.sorting_label_key is None:
        return 0
    value = labels.get(config.sorting_label_key, "")
    rank = int64(value)
    if rank is None:
        message = f"cluster {name} of stage {config.name} has no integer in label {config.sorting_label_key}: {value!r}"
        raise RunRefused(RunFailure(code="invalid-sorting-label", message=message), status)
    return rank


def _stage(run_name: str, config: StageConfig, members: t.Iterable[str]) -> StageUpdatingStatus:
    """The record of a stage that has not begun, with the names of its approval requests: ``RUN-before-STAGE``,
    ``RUN-after-STAGE``."""
    return StageUpdatingStatus(
        stage_name=config.name,
        clusters=tuple(ClusterUpdatingStatus(cluster_name=name) for name in members),
        before_stage_task_status=_tasks(config.before_stage_tasks, f"{run_name}-before-{config.name}"),
        after_stage_task_status=_tasks(config.after_stage_tasks, f"{run_name}-after-{config.name}"),
    )


def _tasks(tasks: t.Iterable[StageTask], request: str) -> tuple[StageTaskStatus, ...]:
    """The records of tasks that have not begun; only Approvals have the name of a request."""
    return tuple(
        StageTaskStatus(type=each.type, approval_request_name=request if each.type == APPROVAL else "")
        for each in tasks
    )
