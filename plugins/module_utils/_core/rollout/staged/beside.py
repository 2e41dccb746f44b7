# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Other staged update runs of the same placement: which has taken clusters from this one, which is the newest after it,
and which are open beside a new one. KubeFleet asks none of it."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime

from ...errors import Problem
from ...objects.staged.update_run import ClusterStagedUpdateRun, ClusterUpdatingStatus, StageUpdatingStatus
from ...schema.meta import find_condition
from ...values.listed import listed
from ..conditions import FALSE
from .marks import STARTED, Marks
from .standing import FAILED, SUCCEEDED, begun_at, cluster_state, state_of
from .world import RunContext, RunFailure, RunRefused

SUPERSEDED, _NAMED = "superseded", 3


def superseded(scene: RunContext) -> RunRefused | None:
    """Why the run ends, ``superseded``: a run that has begun after this one has given another content to one of its
    clusters, whether this one is done with it, has begun it or waits for its turn; in its status such clusters in
    flight have failed. None if there is none, and always as upstream, which goes on to all clusters that are left, and
    succeeds."""
    taken = {} if scene.upstream else _taken(scene)
    if not taken:
        return None
    newest = max(taken.values(), key=lambda each: (begun_at(each), str(each.key)))
    names = [name for name, by in taken.items() if by.key == newest.key]
    message = (
        f"run {newest.key} of the same placement has begun since, and gave"
        f" snapshot {newest.status.resource_snapshot_index_used} to {listed(names, _NAMED)}; make a new run"
    )
    marks, row = Marks(scene.generation, scene.now), (FALSE, "ClusterUpdatingFailed", message)

    def ended(cluster: ClusterUpdatingStatus) -> ClusterUpdatingStatus:
        """The cluster as failed if it was taken while it was in flight, else as it is."""
        flying = cluster.cluster_name in taken and cluster_state(cluster.conditions) == "begun"
        return marks.on_cluster(cluster, "Succeeded", row) if flying else cluster

    def with_ends(stage: StageUpdatingStatus) -> StageUpdatingStatus:
        """The stage with its clusters as of ``ended``."""
        return replace(stage, clusters=tuple(map(ended, stage.clusters)))

    status = replace(scene.status, stages_status=tuple(map(with_ends, scene.status.stages_status)))
    return RunRefused(RunFailure(code=SUPERSEDED, message=message), status)


def taker_of(scene: RunContext, cluster: ClusterUpdatingStatus) -> ClusterStagedUpdateRun | None:
    """The run of the same placement that was the last to begin this cluster, after this run has, or after this run
    began where it has not come to the cluster; None where no run is known to have done so."""
    mine, found = started_at(cluster) or begun_at(scene.run), []
    for each in scene.world.runs:
        at = next((started_at(one) for one in clusters_of(each) if one.cluster_name == cluster.cluster_name), None)
        if mine is not None and at is not None and at > mine:
            found.append((at, str(each.key), each))
    return max(found, key=lambda each: each[:2])[2] if found else None


def open_beside(run: ClusterStagedUpdateRun, others: t.Iterable[ClusterStagedUpdateRun]) -> tuple[Problem, ...]:
    """A warning for each of the other runs of the placement, by name, that has begun and not ended, where this run has
    not begun yet; none where it has."""
    found = [each for each in others if begun_at(each) and state_of(each) not in (SUCCEEDED, FAILED)]
    return tuple(
        Problem(
            "run-beside",
            f"staged run {each.key} of the same placement has begun and not ended; it fails once this one has given"
            " other content to a cluster that it has begun",
            str(run.key),
            "let it end first, if both are meant",
        )
        for each in sorted(found, key=lambda one: str(one.key))
        if begun_at(run) is None
    )


def _taken(scene: RunContext) -> dict[str, ClusterStagedUpdateRun]:
    """By cluster of this run that is to hold something else by now: the newer run that was the last to begin it."""
    since, bindings = begun_at(scene.run), {each.cluster: each for each in scene.selected}
    found = {}
    for cluster in clusters_of(scene.run):
        held, taker = bindings.get(cluster.cluster_name), taker_of(scene, cluster)
        began = begun_at(taker) if taker else None
        if held is None or taker is None or since is None or began is None or scene.has_content(held, cluster):
            continue
        if began >= since:
            found[cluster.cluster_name] = taker
    return found


def clusters_of(run: ClusterStagedUpdateRun) -> tuple[ClusterUpdatingStatus, ...]:
    """The clusters of all its stages, without those that leave."""
    return tuple(each for stage in run.status.stages_status for each in stage.clusters)


def started_at(cluster: ClusterUpdatingStatus) -> datetime | None:
    """When the cluster's turn began; None before that."""
    found = find_condition(cluster.conditions, STARTED)
    return found.last_transition_time if found else None
