# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How a staged update run and its clusters stand, by their conditions: state in a word (``NotStarted``, ``Running``,
``Waiting``, ``Stuck``, ``Stopping``, ``Stopped``, ``Succeeded``, ``Failed``), message, counts, in flight since when,
and which newer run has made a failed one good."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime

from ...objects.staged.update_run import INITIALIZE, ClusterStagedUpdateRun, ClusterUpdatingStatus
from ...schema.meta import Condition, find_condition
from ...values.instants import write_local
from ...values.listed import listed
from ..conditions import FALSE, TRUE
from .marks import INITIALIZED

NOT_STARTED, RUNNING, WAITING, STUCK = "NotStarted", "Running", "Waiting", "Stuck"
STOPPING, STOPPED, SUCCEEDED, FAILED = "Stopping", "Stopped", "Succeeded", "Failed"
_NAMED = 3
_STATES = {
    "UpdateRunWaiting": WAITING,
    "UpdateRunStuck": STUCK,
    "UpdateRunStopping": STOPPING,
    "UpdateRunStopped": STOPPED,
}


def state_of(run: ClusterStagedUpdateRun) -> str:
    """Where a staged update run stands: ``NotStarted``, ``Running``, ``Waiting``, ``Stuck``, ``Stopping``, ``Stopped``,
    ``Succeeded`` or ``Failed``, which it also is if it could not begin, or ``Succeeded`` is Unknown. Without any
    progress it is ``NotStarted`` until ``Initialized`` is there, and while only ``Initialize`` is wanted, else
    ``Running``, as with a reason of progress that is not ours."""
    conditions = run.status.conditions
    begun, ended = find_condition(conditions, INITIALIZED), find_condition(conditions, "Succeeded")
    if ended is not None:
        return SUCCEEDED if ended.status == TRUE else FAILED
    if begun is not None and begun.status == FALSE:
        return FAILED
    progress = find_condition(conditions, "Progressing")
    if progress is None:
        return NOT_STARTED if run.spec.state == INITIALIZE or begun is None else RUNNING
    return _STATES.get(progress.reason, RUNNING)


def message_of(run: ClusterStagedUpdateRun) -> str:
    """The message of the condition as of ``progress_of``, or else of Initialized; empty for a run without any."""
    found = progress_of(run.status.conditions) or find_condition(run.status.conditions, INITIALIZED)
    return found.message if found else ""


def message_for_people(run: ClusterStagedUpdateRun) -> str:
    """The message of the run as of ``message_of``, with instants in UTC. While clusters are in flight since a known
    instant, a Running run tells the first three of them and the earliest instant instead; one that is Stuck or Stopping
    tells that instant behind its message, and one that is Stopping which they are."""
    message, state, deletion = message_of(run), state_of(run), run.status.deletion_stage_status
    stages = (*run.status.stages_status, *((deletion,) if deletion else ()))
    flying = [each for stage in stages for each in stage.clusters if cluster_state(each.conditions) == "begun"]
    first = min(filter(None, map(in_flight_since, flying)), default=None)
    if first is None or state not in (RUNNING, STUCK, STOPPING):
        return message
    names = "" if state == STUCK else f"{listed([each.cluster_name for each in flying], _NAMED)} "
    since = f"{names}in flight since {write_local(first, UTC)}"
    return since if state == RUNNING else f"{message}; {since}"


def in_flight_since(cluster: ClusterUpdatingStatus) -> datetime | None:
    """When the cluster's turn began; None unless that is known, and its turn is not over."""
    begun = find_condition(cluster.conditions, "Started")
    return begun.last_transition_time if begun and cluster_state(cluster.conditions) == "begun" else None


def progress_of(conditions: tuple[Condition, ...]) -> Condition | None:
    """The condition of a run or stage that tells how far it is: its end, or else its progress."""
    return find_condition(conditions, "Succeeded") or find_condition(conditions, "Progressing")


def cluster_state(conditions: tuple[Condition, ...]) -> str:
    """Where a cluster of a staged update run stands: ``done`` or ``failed`` (also where ``Succeeded`` is Unknown), else
    ``begun`` with ``Started`` of whatever status; empty for one whose turn has not come."""
    ended = find_condition(conditions, "Succeeded")
    if ended is not None:
        return "done" if ended.status == TRUE else "failed"
    return "begun" if find_condition(conditions, "Started") else ""


@dataclass(frozen=True, kw_only=True)
class RunStanding:
    """How far a staged update run is; ``name`` and ``placement`` as keys write them, ``state`` and ``message`` as of
    ``standing_of``. Stages and clusters, those that leave among them, are counted once its stages are laid out, which
    was at ``begun_at``; clusters that failed are not among ``clusters_done``."""

    name: str
    placement: str
    state: str
    stages: int = 0
    stages_done: int = 0
    clusters: int = 0
    clusters_done: int = 0
    message: str = ""
    begun_at: datetime | None = None

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields but ``begun_at``, in camelCase."""
        return {
            "name": self.name,
            "placement": self.placement,
            "state": self.state,
            "stages": self.stages,
            "stagesDone": self.stages_done,
            "clusters": self.clusters,
            "clustersDone": self.clusters_done,
            "message": self.message,
        }


def begun_at(run: ClusterStagedUpdateRun) -> datetime | None:
    """When its stages were laid out; None for a run that has not begun, or could not."""
    begun = find_condition(run.status.conditions, INITIALIZED)
    return begun.last_transition_time if begun and begun.status == TRUE else None


def standing_of(run: ClusterStagedUpdateRun, runs: t.Collection[ClusterStagedUpdateRun] = ()) -> RunStanding:
    """Where a staged update run stands, in numbers, with its state as of ``state_of``; a deletion stage without
    clusters is none. The message begins with what others of the ``runs`` have done since: of one that failed, which has
    made it good; else, of one that has begun and not succeeded, which was the last to begin since, and may have taken
    clusters."""
    deletion = run.status.deletion_stage_status
    stages = (*run.status.stages_status, *((deletion,) if deletion and deletion.clusters else ()))
    ended = [find_condition(each.conditions, "Succeeded") for each in stages]
    states = [cluster_state(each.conditions) for stage in stages for each in stage.clusters]
    return RunStanding(
        name=str(run.key),
        placement=str(run.placement_key),
        state=state_of(run),
        stages=len(stages),
        stages_done=sum(each is not None and each.status == TRUE for each in ended),
        clusters=len(states),
        clusters_done=states.count("done"),
        message="; ".join(filter(None, (_since(run, runs), message_for_people(run)))),
        begun_at=begun_at(run),
    )


def made_good_by(
    run: ClusterStagedUpdateRun, runs: t.Iterable[ClusterStagedUpdateRun]
) -> ClusterStagedUpdateRun | None:
    """Of the ``runs`` the last that has made good what this one left: this one failed, and that one is of the same
    placement, has begun after it, and has succeeded. When it ended says nothing: an older run fails, ``superseded``,
    long after the newer one has succeeded. One that could not begin counts as begun when that was found. None without,
    and where either instant is not known."""
    if state_of(run) != FAILED:
        return None
    return last_newer_run(run, (each for each in runs if state_of(each) == SUCCEEDED))


def last_newer_run(
    run: ClusterStagedUpdateRun, runs: t.Iterable[ClusterStagedUpdateRun]
) -> ClusterStagedUpdateRun | None:
    """Of the ``runs`` the last of the same placement that has begun after this one began, or was found unable to; None
    without, and where that is not known."""
    tried = find_condition(run.status.conditions, INITIALIZED)
    since = tried.last_transition_time if tried else None
    later = [
        (at, str(each.key), each)
        for each in runs
        if each.placement_key == run.placement_key and (at := begun_at(each)) and since and at > since
    ]
    return max(later, key=lambda one: one[:2])[2] if later else None


def _since(run: ClusterStagedUpdateRun, runs: t.Iterable[ClusterStagedUpdateRun]) -> str:
    """What others of the ``runs`` have done since, as of ``standing_of``, in words; empty for nothing."""
    good = made_good_by(run, runs)
    if good:
        return f"run {good.key} has succeeded since"
    newest = last_newer_run(run, runs) if begun_at(run) is not None and state_of(run) != SUCCEEDED else None
    return f"run {newest.key} has begun since" if newest else ""
