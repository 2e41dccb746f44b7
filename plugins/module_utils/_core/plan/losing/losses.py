# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Why a cluster loses a placement, as ``cause`` and as sentence: ``deleted``, ``source-gone``, ``left-the-fleet``,
``evacuated``, ``left-behind``, ``policy-changed``, ``scaled-down``, or decided by an earlier run or eviction."""

from __future__ import annotations

from ...objects.clusters.evacuation import EVACUATED as MARK
from ...objects.placements.binding import ClusterResourceBinding
from ...scheduling.index import FleetIndex
from ...scheduling.unreadable import out_of_reach
from ..document import EVACUATED, LEFT_BEHIND

LOSSES = {
    "deleted": "the placement is deleted",
    "source-gone": "the placement's manifest is gone from its source",
    "left-the-fleet": "the cluster has left the fleet; what is there stays",
    EVACUATED: "it was evacuated, so that others have what it holds",
    LEFT_BEHIND: "it was evacuated and could not be read; what it holds goes as soon as it answers",
    "policy-changed": "the changed policy does not pick it any more",
    "scaled-down": "fewer clusters are wanted, and it ranks lowest",
}
# Of the last two causes, where an earlier run has recorded the loss already: that may have been an eviction.
NOT_AGAIN = "an eviction or an earlier run has decided that, and it is not picked again"


def loss_reason(cause: str, decided: bool) -> str:
    """The cause, a key of ``LOSSES``, in words; ``decided``: an earlier run or an eviction has recorded already that
    the cluster loses the placement, which is told in place of ``policy-changed`` and ``scaled-down``."""
    return NOT_AGAIN if decided and cause in ("policy-changed", "scaled-down") else LOSSES[cause]


def loss_cause(binding: ClusterResourceBinding, index: FleetIndex, policy: str, deleting: str) -> str:
    """A key of ``LOSSES`` for a binding that is to go; the first that holds, in this order: ``left-the-fleet`` for a
    cluster that is not in the index; ``deleting``, the cause where the placement itself ends, else empty;
    ``left-the-fleet`` for one that is leaving; with the mark of an evacuation ``left-behind`` where the cluster is
    ``out_of_reach``, else ``evacuated``; ``scaled-down`` where it was picked under ``policy``, the name of today's
    policy snapshot; ``policy-changed``."""
    position = index.positions.get(binding.spec.target_cluster)
    if position is None:
        return "left-the-fleet"
    if deleting:
        return deleting
    if index.leaving >> position & 1:
        return "left-the-fleet"
    if MARK in binding.metadata.annotations:
        return LEFT_BEHIND if out_of_reach(index, binding.spec.target_cluster) else EVACUATED
    return "scaled-down" if binding.spec.scheduling_policy_snapshot_name == policy else "policy-changed"
