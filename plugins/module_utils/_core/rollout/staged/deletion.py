# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The delete stage, the last of every staged update run (KubeFleet): clusters that lose the placement, whose bindings
are deleted, how many deletions are under way, and when that contradicts the record (``clusters-changed``,
``contradiction``)."""

from __future__ import annotations

from dataclasses import replace

from ...objects.staged.update_run import DELETE_STAGE, ClusterUpdatingStatus, StageUpdatingStatus
from ...values.listed import listed
from .layout import SHOWN_CLUSTERS
from .marks import (
    CLUSTER_DONE,
    CLUSTER_STARTED,
    STARTED,
    SUCCEEDED,
    Marks,
)
from .world import (
    Action,
    DeleteBinding,
    RunContext,
    RunFailure,
    RunRefused,
)


def deletion_step(
    scene: RunContext, stage: StageUpdatingStatus, *, stopping: bool
) -> tuple[StageUpdatingStatus, list[Action]]:
    """The stage and what is to be done in it: all bindings are deleted at once, and a cluster is done when its binding
    is gone; of two bindings on one cluster the last by name goes first. While ``stopping``, none begins. A deletion
    that is recorded as begun and was not asked for is asked for now: who recorded it ended before it could.

    RunRefused if a cluster that is done has a binding again (``contradiction``; for upstream also instead of deleting
    anew), or one that is not in the stage loses the placement (``clusters-changed``).
    """
    marks = Marks(scene.generation, scene.now)
    left = {each.cluster: each for each in scene.leaving}
    actions: list[Action] = []
    clusters = []
    for cluster in stage.clusters:
        held = left.pop(cluster.cluster_name, None)
        if held is None:
            started = _started(scene, marks, cluster)
            clusters.append(marks.on_cluster(started, SUCCEEDED, CLUSTER_DONE))
            continue
        _check(scene, cluster, held.deleting)
        begun = scene.has_status(cluster.conditions, STARTED)
        if (begun and not held.deleting) or not (begun or stopping):
            actions.append(DeleteBinding(stage=DELETE_STAGE, cluster=cluster.cluster_name, binding=held.name))
            cluster = _started(scene, marks, cluster)
        clusters.append(cluster)
    if left:
        message = f"{listed(sorted(left), SHOWN_CLUSTERS)} are not in the delete stage"
        raise RunRefused(RunFailure(code="clusters-changed", message=message), scene.status)
    return replace(stage, clusters=tuple(clusters)), actions


def deletions_under_way(scene: RunContext, stage: StageUpdatingStatus) -> int:
    """How many clusters of the delete stage have a deletion that has begun and is not over."""
    return sum(
        1
        for each in stage.clusters
        if scene.has_status(each.conditions, STARTED) and not scene.has_status(each.conditions, SUCCEEDED)
    )


def _started(scene: RunContext, marks: Marks, cluster: ClusterUpdatingStatus) -> ClusterUpdatingStatus:
    """The cluster with Started True, since when it was so first."""
    if scene.has_status(cluster.conditions, STARTED):
        return cluster
    return marks.on_cluster(cluster, STARTED, CLUSTER_STARTED)


def _check(scene: RunContext, cluster: ClusterUpdatingStatus, deleting: bool) -> None:
    """Raises RunRefused ``contradiction`` if the cluster is done; for upstream also if it has begun and its binding is
    not being deleted."""
    if scene.has_status(cluster.conditions, SUCCEEDED):
        message = f"cluster {cluster.cluster_name} of {DELETE_STAGE} is done and has a binding again"
    elif scene.upstream and scene.has_status(cluster.conditions, STARTED) and not deleting:
        message = f"cluster {cluster.cluster_name} of {DELETE_STAGE} has begun and its binding is not being deleted"
    else:
        return
    raise RunRefused(RunFailure(code="contradiction", message=message), scene.status)
