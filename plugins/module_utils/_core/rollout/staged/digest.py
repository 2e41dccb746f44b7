# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The digest of a staged update run, to which its approvals are bound: what it covers (content, apply strategy, stages,
clusters, overrides) and what not."""

from __future__ import annotations

import typing as t

from ...objects.staged.update_run import ClusterStagedUpdateRun, StageUpdatingStatus
from ...schema.codec import encode
from ...values.canonical import digest_of


def staged_digest(run: ClusterStagedUpdateRun, resource_hash: str) -> str:
    """``sha256:`` and the hash over the placement, the content (``resource_hash``, the hash of the snapshot that the
    run uses), the apply strategy, the stages of the strategy with their limits and tasks, the clusters of each in order
    with the overrides that act there, and the clusters that lose the placement; not over the names of run and strategy,
    states, instants. It is the same from the beginning of a run to its end. Empty for a run whose stages are not laid
    out."""
    status = run.status
    strategy, deletion = status.staged_update_strategy_snapshot, status.deletion_stage_status
    if strategy is None or deletion is None:
        return ""
    return "sha256:" + digest_of(
        {
            "placement": str(run.placement_key),
            "content": resource_hash,
            "applied": encode(status.applied_strategy) if status.applied_strategy else {},
            "strategy": encode(strategy),
            "stages": [_clusters(each) for each in status.stages_status],
            "leaving": _clusters(deletion),
        }
    )


def _clusters(stage: StageUpdatingStatus) -> list[t.Any]:
    """The clusters of a stage in order, each with the names of its overrides of cluster-scoped and of namespaced
    objects."""
    return [
        [
            each.cluster_name,
            list(each.cluster_resource_override_snapshots),
            [[one.namespace, one.name] for one in each.resource_override_snapshots],
        ]
        for each in stage.clusters
    ]
