# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The way back (rollback) from a staged update run: which snapshot its clusters held before it
(``resourceSnapshotIndex``), and the manifest of the run that gives that back, does the same once more, or brings what
was mended."""

from __future__ import annotations

import typing as t
from collections import Counter

from ...objects.api_groups import PLACEMENT_API
from ...objects.identity import Manifest
from ...objects.staged.update_run import ClusterStagedUpdateRun
from ...resources.snapshots import snapshot_index
from ...schema.metadata_rules import name_with_ending
from ...updates.terms import as_annotations, kept_terms
from ...values.int_or_percent import int64
from ..content import RolloutBinding
from .standing import cluster_state

AGAIN, BACK, MENDED = "again", "back", "mended"


def index_before(run: ClusterStagedUpdateRun, bindings: t.Iterable[RolloutBinding]) -> str:
    """The ``resourceSnapshotIndex`` of the snapshot, other than the run's, that most clusters are known to hold, by the
    ``bindings`` of its placement; the later of two that are held by as many. Empty where the run has given nothing to
    any cluster, none is to hold its snapshot any more, or none holds another."""
    used, found = int64(run.status.resource_snapshot_index_used), tuple(bindings)
    begun = any(cluster_state(each.conditions) for stage in run.status.stages_status for each in stage.clusters)
    if not begun or all(snapshot_index(each.content.resource_snapshot) != used for each in found):
        return ""
    held = Counter(snapshot_index(each.binding.held_snapshot) for each in found)
    others = {index: count for index, count in held.items() if index >= 0 and index != used}
    return str(max(others, key=lambda index: (others[index], index))) if others else ""


def run_after(run: ClusterStagedUpdateRun, suffix: str, index: str) -> Manifest:
    """The manifest of a run of the same placement by the same strategy, named after this one with ``-suffix``, cut to
    fit, that gives the snapshot at ``index``, the latest where that is empty, and keeps this one's terms of approvals.
    It names no state, so that it only begins (Initialize). Whether there is a run of that name is not asked."""
    spec = {
        "placementName": run.spec.placement_name,
        "stagedRolloutStrategyName": run.spec.staged_rollout_strategy_name,
        **({"resourceSnapshotIndex": index} if index else {}),
    }
    kept = as_annotations(kept_terms(run.metadata.annotations))
    name = name_with_ending(run.name, f"-{suffix}")
    if name == run.name:  # cut to the same name: a character less makes another
        name = name_with_ending(run.name[: -len(suffix) - 2], f"-{suffix}")
    metadata = {**run.key.metadata(name), **({"annotations": kept} if kept else {})}
    return {"apiVersion": PLACEMENT_API, "kind": run.key.kinds.run, "metadata": metadata, "spec": spec}
