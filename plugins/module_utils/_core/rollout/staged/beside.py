# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Other staged update runs of the same placement: which has taken clusters from this one, so that it ends
(``superseded``), which are open beside a new one (``run-beside``), which have begun a cluster, and when. KubeFleet asks
none of it."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime, timedelta

from ...errors import Problem
from ...objects.staged.update_run import ClusterStagedUpdateRun, ClusterUpdatingStatus, StageUpdatingStatus
from ...schema.meta import find_condition
from ...values.listed import listed
from ...windows.clocks import shifted
from ..conditions import FALSE
from .marks import STARTED, Marks
from .standing import FAILED, SUCCEEDED, begun_at, cluster_state, state_of
from .world import RunContext, RunFailure, RunRefused

SUPERSEDED, _NAMED = "superseded", 3
Begun = t.Sequence[tuple[datetime, ClusterStagedUpdateRun]]
"""Runs that have begun one cluster, each with when it did."""


def superseded_refusal(scene: RunContext) -> RunRefused | None:
    """Why the run ends, ``superseded``: a run that began after this one has given another content to one of its
    clusters, whether this one is done with it, has begun it or waits for its turn; in its status such clusters in
    flight have failed. None if there is none, and for upstream, which goes on, and succeeds."""
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


def beginning_of(scene: RunContext) -> datetime:
    """When a run that begins now is recorded to have begun: now, or a second after the last other run of its placement
    where that is later. So the order of their beginnings is the same by the clocks of all who carry them on."""
    last = max(filter(None, map(begun_at, scene.world.runs)), default=None)
    return scene.now if last is None else max(scene.now, shifted(last, timedelta(seconds=1)))


def taker_of(scene: RunContext, cluster: ClusterUpdatingStatus) -> ClusterStagedUpdateRun | None:
    """The newest run of the same placement that began after this one and has begun this cluster; else the last that has
    begun it after this run has; None where no run is known to have done so."""
    mine, begun = (
        started_at(cluster) or begun_at(scene.run),
        runs_by_begun_cluster(scene.world.runs).get(cluster.cluster_name, ()),
    )
    later = [each for each in begun if mine is not None and each[0] > mine]
    return _newer(scene, cluster, begun) or (
        max(later, key=lambda each: (each[0], str(each[1].key)))[1] if later else None
    )


def open_beside(run: ClusterStagedUpdateRun, others: t.Iterable[ClusterStagedUpdateRun]) -> tuple[Problem, ...]:
    """A warning, where this run has not begun yet, for each other run of the placement that has begun and not ended."""
    found = [each for each in others if begun_at(each) and state_of(each) not in (SUCCEEDED, FAILED)]
    return tuple(
        Problem(
            "run-beside",
            f"staged run {each.key} of the same placement has begun and not ended; it fails once this one begins to"
            " give other content to any cluster of it, begun or not",
            str(run.key),
            "let it end first, if both are meant",
        )
        for each in sorted(found, key=lambda one: str(one.key))
        if begun_at(run) is None
    )


def _taken(scene: RunContext) -> dict[str, ClusterStagedUpdateRun]:
    """By cluster of this run that is to hold something else by now: the newest of the newer runs that have begun it."""
    since = begun_at(scene.run)
    begun = runs_by_begun_cluster(each for each in scene.world.runs if since and (at := begun_at(each)) and at >= since)
    bindings = {each.cluster: each for each in scene.selected} if begun else {}
    found = {}
    for cluster in clusters_of(scene.run) if begun else ():
        held = bindings.get(cluster.cluster_name)
        if held is not None and not scene.binding_names_content(held, cluster):
            taker = _newer(scene, cluster, begun.get(cluster.cluster_name, ()))
            if taker is not None:
                found[cluster.cluster_name] = taker
    return found


def _newer(scene: RunContext, cluster: ClusterUpdatingStatus, begun: Begun) -> ClusterStagedUpdateRun | None:
    """The newest of the runs that began after this one and have ``begun`` this cluster; None without one. Of two that
    began in one second that is newer which has begun the cluster later."""
    since = begun_at(scene.run)
    if since is None:
        return None
    mine = since, started_at(cluster) or since
    found = [((began, at), str(each.key), each) for at, each in begun if (began := begun_at(each))]
    newer = [each for each in found if each[0] > mine]
    return max(newer, key=lambda each: each[:2])[2] if newer else None


def runs_by_begun_cluster(
    runs: t.Iterable[ClusterStagedUpdateRun],
) -> dict[str, list[tuple[datetime, ClusterStagedUpdateRun]]]:
    """By name of the cluster those of the runs that have begun it, as of ``Begun``; clusters of delete stages are left
    out."""
    found: dict[str, list[tuple[datetime, ClusterStagedUpdateRun]]] = {}
    for each in runs:
        for one in clusters_of(each):
            at = started_at(one)
            if at is not None:
                found.setdefault(one.cluster_name, []).append((at, each))
    return found


def clusters_of(run: ClusterStagedUpdateRun) -> tuple[ClusterUpdatingStatus, ...]:
    """The clusters of all its stages but the delete stage."""
    return tuple(each for stage in run.status.stages_status for each in stage.clusters)


def started_at(cluster: ClusterUpdatingStatus) -> datetime | None:
    """When the cluster's turn began; None before that, and where no instant is recorded."""
    found = find_condition(cluster.conditions, STARTED)
    return found.last_transition_time if found else None
