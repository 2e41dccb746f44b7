# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Clusters that no longer hold what a staged update run that succeeded has given them, though no newer run has come to
them, and what they hold instead: KubeFleet carries on an older run that was overtaken, and never looks at the newer one
again."""

from __future__ import annotations

import typing as t

from ...objects.placements.binding import BOUND
from ...objects.staged.update_run import ClusterStagedUpdateRun, ClusterUpdatingStatus
from ...resources.snapshots import snapshot_index
from ...values.listed import listed
from ..content import RolloutBinding
from .beside import Begun, clusters_of, runs_by_begun_cluster, started_at
from .standing import SUCCEEDED, begun_at, cluster_state, state_of
from .world import given_content

_NAMED = 3


def no_longer_held_text(
    run: ClusterStagedUpdateRun,
    runs: t.Collection[ClusterStagedUpdateRun],
    bindings: t.Iterable[RolloutBinding],
) -> str:
    """Which clusters no longer hold what the run gave them, what they hold instead, and which of the ``runs`` has given
    that, where it is known; empty for none, and for a run that has not succeeded. At most three clusters of one case
    are named, others counted. Runs and ``bindings`` are those of its placement. Clusters to which a run has come that
    began later are passed over, and those that are not bound, or to nothing."""
    began = begun_at(run)
    if state_of(run) != SUCCEEDED or began is None:
        return ""
    held = {each.cluster: each.content for each in bindings if each.state == BOUND and not each.deleting}
    newer = [(at, each) for each in runs if (at := begun_at(each)) and at > began]
    index = run.status.resource_snapshot_index_used
    lost = [
        (each, there.resource_snapshot)
        for each in clusters_of(run)
        if (there := held.get(each.cluster_name)) is not None
        if there.resource_snapshot and there != given_content(run, each)
    ]
    for _at, one in sorted(newer, key=lambda pair: pair[0], reverse=True):
        if not lost:
            break  # mostly the last run has come to all of them
        come = {each.cluster_name for each in clusters_of(one) if cluster_state(each.conditions)}
        lost = [row for row in lost if row[0].cluster_name not in come]
    begun = runs_by_begun_cluster(runs) if lost else {}
    groups: dict[tuple[str, str], list[str]] = {}
    for each, snapshot in lost:
        by = _taker(each, begun.get(each.cluster_name, ()))
        groups.setdefault((_words(snapshot, index), by), []).append(each.cluster_name)
    told = [
        f"{listed(names, _NAMED)} no longer {'holds' if len(names) == 1 else 'hold'} what it gave, but"
        f" {instead}{f', which run {by} gave' if by else ''}"
        for (instead, by), names in groups.items()
    ]
    return "; ".join([*told, "make a new run to give it again"]) if told else ""


def _words(snapshot: str, index: str) -> str:
    """The snapshot by its index, or its name where that has none, as what is held instead of that at ``index``."""
    number = snapshot_index(snapshot)
    if str(number) == index:
        return f"snapshot {number} with other overrides"
    return f"snapshot {number}" if number >= 0 else snapshot


def _taker(cluster: ClusterUpdatingStatus, begun: Begun) -> str:
    """The run that was the last to have ``begun`` this cluster after its own had; empty where none is known."""
    mine = started_at(cluster)
    found = [(at, str(each.key)) for at, each in begun if mine and at > mine]
    return max(found)[1] if found else ""
