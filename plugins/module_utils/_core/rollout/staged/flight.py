# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The clusters of a stage while it is updated (KubeFleet): who starts within ``maxConcurrency``, who is done, who is in
trouble (``cluster-troubled``) or stuck after 5 minutes, and what fails the run (``cluster-failed``,
``binding-missing``, ``pre-empted``)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ...errors import Problem
from ...objects.staged.update_run import ClusterUpdatingStatus, StageUpdatingStatus
from ...schema.meta import find_condition
from ...values.clock_skew import is_ahead
from ...windows.clocks import shifted
from ..conditions import FALSE, TRUE, status_is
from ..content import RolloutBinding
from ..readiness import (
    AVAILABLE,
    DIFF_REPORTED,
    ROLLOUT_STARTED,
    failed_condition,
)
from .beside import taker_of
from .marks import (
    CLUSTER_DONE,
    CLUSTER_STARTED,
    STARTED,
    SUCCEEDED,
    Marks,
)
from .world import (
    Action,
    BindCluster,
    MarkStarted,
    RunContext,
    RunFailure,
)

STUCK_AFTER = timedelta(minutes=5)
_BY_WHOM = "is another run at work on the same placement?"
DONE, GOING_ON, TROUBLED = "done", "going-on", "troubled"


@dataclass
class Flight:
    """What one look at a stage found: its clusters as they are by now, acts, how many are ``in_flight`` now and
    ``finished`` now or before, whether one was started. ``problems`` may pass; ``failure`` ends the run. ``troubled``
    and ``stuck`` are names of clusters, ``stuck_from`` is when the next one will have been in flight for too long."""

    scene: RunContext
    stage: StageUpdatingStatus
    marks: Marks
    clusters: list[ClusterUpdatingStatus] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    failure: RunFailure | None = None
    in_flight: int = 0
    finished: int = 0
    any_started: bool = False
    troubled: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    stuck_from: datetime | None = None

    @classmethod
    def of(cls, scene: RunContext, stage: StageUpdatingStatus) -> Flight:
        """A look at the stage that has found nothing yet."""
        return cls(scene, stage, Marks(scene.generation, scene.now))

    def fail(self, code: str, message: str) -> None:
        """Sets the failure, unless there is one already."""
        self.failure = self.failure or RunFailure(code=code, message=message)


def update_clusters(scene: RunContext, stage: StageUpdatingStatus, limit: int) -> Flight:
    """One walk over the stage's clusters in order, with at most ``limit`` in flight; those behind are left as they are,
    and not counted, and so are, but for upstream, those that have not begun behind one that fails the run. A place that
    one cluster leaves is taken by the next in the same walk. Failures are ``cluster-failed``, ``binding-missing`` and
    ``pre-empted``, problems ``cluster-troubled``. ``stage_after`` makes the stage of it."""
    flight = Flight.of(scene, stage)
    bindings = {each.cluster: each for each in scene.selected}
    for cluster in stage.clusters:
        ends = flight.failure is not None and not scene.upstream
        if flight.in_flight >= limit or (ends and not scene.has_status(cluster.conditions, STARTED)):
            flight.clusters.append(cluster)
        elif scene.has_status(cluster.conditions, SUCCEEDED):
            flight.finished += 1
            flight.clusters.append(cluster)
        else:
            flight.in_flight += 1
            flight.clusters.append(_look(flight, cluster, bindings.get(cluster.cluster_name)))
    return flight


def finish_clusters(scene: RunContext, stage: StageUpdatingStatus) -> Flight:
    """One walk while the run stops: nothing starts, but a cluster that is only recorded as started gets its content.
    Clusters that have ended, or not begun, are left as they are, and not counted. The only failure is
    ``binding-missing``: as in KubeFleet, whether the binding still names the run's content is not asked."""
    flight = Flight.of(scene, stage)
    bindings = {each.cluster: each for each in scene.selected}
    for cluster in stage.clusters:
        over = any(scene.has_status(cluster.conditions, SUCCEEDED, each) for each in (TRUE, FALSE))
        if over or not scene.has_status(cluster.conditions, STARTED):
            flight.clusters.append(cluster)
            continue
        flight.in_flight += 1
        held = bindings.get(cluster.cluster_name)
        if held is None:
            flight.fail("binding-missing", _without_binding(cluster))
            flight.clusters.append(cluster)
        elif _owed(flight, cluster, held):
            flight.clusters.append(_act(flight, cluster, held))
        else:
            flight.clusters.append(_judge(flight, cluster, held))
    return flight


def _look(flight: Flight, cluster: ClusterUpdatingStatus, held: RolloutBinding | None) -> ClusterUpdatingStatus:
    """The cluster after a look at it, which may start it, give it its content or judge it. A failure keeps it as it is,
    or, if its binding was changed by others, marks it failed."""
    scene = flight.scene
    if scene.has_status(cluster.conditions, SUCCEEDED, FALSE):
        flight.fail("cluster-failed", f"cluster {cluster.cluster_name} has failed")
        return cluster
    if held is None:
        flight.fail("binding-missing", _without_binding(cluster))
        return cluster
    if not scene.has_status(cluster.conditions, STARTED):
        return _start(flight, cluster, held)
    if _is_given(scene, cluster, held):
        return _judge(flight, cluster, held)
    if _owed(flight, cluster, held):
        return _act(flight, cluster, held)
    taker = taker_of(scene, cluster)
    by = f"run {taker.key} of the same placement has taken it" if taker else _BY_WHOM
    message = f"the binding of cluster {cluster.cluster_name} was changed while it was being updated; {by}"
    flight.fail("pre-empted", message)
    return flight.marks.on_cluster(cluster, SUCCEEDED, (FALSE, "ClusterUpdatingFailed", message))


def _start(flight: Flight, cluster: ClusterUpdatingStatus, held: RolloutBinding) -> ClusterUpdatingStatus:
    """The cluster as started, with the act that binds it; one that holds the content already is judged straight away.
    It starts later than what was begun on its binding before, by whatever clock, as far as ``_begun_at`` knows.

    Upstream starts it at ``now``, keeps such a cluster's place until the next look, and does not mark it started if it
    is in trouble.
    """
    scene = flight.scene
    last = None if scene.upstream else _begun_at(held, scene.now)
    at = scene.now if last is None else max(scene.now, shifted(last, timedelta(seconds=1)))
    started = Marks(scene.generation, at).on_cluster(cluster, STARTED, CLUSTER_STARTED)
    if not _is_given(scene, cluster, held):
        _act(flight, started, held)
    elif scene.upstream:
        result = _result(flight, held)
        if result == TROUBLED:
            return cluster
        if result == DONE:
            started = flight.marks.on_cluster(started, SUCCEEDED, CLUSTER_DONE)
    else:
        started = _judge(flight, started, held)
    flight.any_started = True
    return started


def _act(flight: Flight, cluster: ClusterUpdatingStatus, held: RolloutBinding) -> ClusterUpdatingStatus:
    """Adds the act that gives the cluster what it is to hold, or only marks it started if the binding names that
    already, and notes how long it is in flight. Returns the cluster as it is."""
    scene, stage = flight.scene, flight.stage.stage_name
    if scene.binding_names_content(held, cluster) and scene.is_bound(held):
        flight.actions.append(MarkStarted(stage=stage, cluster=cluster.cluster_name, binding=held.name))
    else:
        bind = BindCluster(
            stage=stage,
            cluster=cluster.cluster_name,
            binding=held.name,
            content=scene.content(cluster),
            apply_strategy=scene.status.applied_strategy,
        )
        flight.actions.append(bind)
    _note_stuck(flight, cluster)
    return cluster


def _owed(flight: Flight, cluster: ClusterUpdatingStatus, held: RolloutBinding) -> bool:
    """Whether the cluster is recorded as started by somebody who did not live to give it its content: nothing has begun
    on its binding since. Upstream acts before it records."""
    if flight.scene.upstream or _is_given(flight.scene, cluster, held):
        return False
    recorded = find_condition(cluster.conditions, STARTED)
    since, last = recorded.last_transition_time if recorded else None, _begun_at(held, flight.scene.now)
    return since is not None and (last is None or last < since)


def _judge(flight: Flight, cluster: ClusterUpdatingStatus, held: RolloutBinding) -> ClusterUpdatingStatus:
    """The cluster after a look at its binding: done, and no longer in flight, or as it is."""
    result = _result(flight, held)
    if result == DONE:
        flight.finished += 1
        flight.in_flight -= 1
        return flight.marks.on_cluster(cluster, SUCCEEDED, CLUSTER_DONE)
    if result == TROUBLED:
        flight.troubled.append(cluster.cluster_name)
    _note_stuck(flight, cluster)
    return cluster


def _note_stuck(flight: Flight, cluster: ClusterUpdatingStatus) -> None:
    """Notes in ``flight`` that the cluster has been in flight for too long, or else when it will have been."""
    scene, condition = flight.scene, find_condition(cluster.conditions, STARTED)
    started = (condition.last_transition_time if condition else None) or scene.now
    due = shifted(started if scene.upstream else min(started, scene.now), STUCK_AFTER)
    if scene.now > due or (scene.now == due and not scene.upstream):
        flight.stuck.append(cluster.cluster_name)
    else:
        flight.stuck_from = min(flight.stuck_from or due, due)


def _result(flight: Flight, held: RolloutBinding) -> str:
    """``DONE``, ``TROUBLED`` or ``GOING_ON``, by the binding. A cluster that fails to apply does not end the run:
    nobody knows whether it will recover."""
    binding = held.binding
    conditions, generation = binding.status.conditions, binding.metadata.generation
    if any(status_is(conditions, kind, generation, TRUE) for kind in (AVAILABLE, DIFF_REPORTED)):
        return DONE
    failure = failed_condition(binding, upstream=flight.scene.upstream)
    if failure or status_is(conditions, DIFF_REPORTED, generation, FALSE):
        reason = f"{failure.type} is False, {failure.reason}" if failure else "DiffReported is False"
        message = f"stage {flight.stage.stage_name}: {reason}"
        flight.problems.append(Problem("cluster-troubled", message, held.cluster))
        return TROUBLED
    return GOING_ON


def _is_given(scene: RunContext, cluster: ClusterUpdatingStatus, held: RolloutBinding) -> bool:
    """Whether the binding says by now what the cluster is to hold, and that this has begun."""
    binding = held.binding
    begun = status_is(binding.status.conditions, ROLLOUT_STARTED, binding.metadata.generation, TRUE)
    return scene.binding_names_content(held, cluster) and scene.is_bound(held) and begun


def _begun_at(held: RolloutBinding, now: datetime) -> datetime | None:
    """When something was begun on the binding last; None where that is not known, or so far ahead of ``now`` that it
    tells nothing."""
    found = find_condition(held.binding.status.conditions, ROLLOUT_STARTED)
    at = found.last_transition_time if found else None
    return None if at is not None and is_ahead(at, now) else at


def _without_binding(cluster: ClusterUpdatingStatus) -> str:
    """What to say of a cluster in flight that has no binding any more."""
    return f"cluster {cluster.cluster_name} has lost its binding"


def stage_after(flight: Flight) -> StageUpdatingStatus:
    """The stage after the walk: under way if a cluster was started in it or, but for upstream, is in flight, also if it
    was stopped before; else as it was."""
    stage = replace(flight.stage, clusters=tuple(flight.clusters))
    resumed = not flight.scene.upstream and flight.in_flight > 0
    return flight.marks.stage_started(stage) if flight.any_started or resumed else stage
