# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a node may be consolidated (Karpenter, condition ``Consolidatable`` and ``ConsolidateAfter``).

The waiting time runs from the last pod that came or left, not from when somebody saw an opportunity.
"""

from __future__ import annotations

from datetime import datetime

from ...cluster.cluster_state import ClusterState, StatePool
from ...cluster.consolidation_wait import Eligibility, consolidatable
from ...cluster.eviction_cost import is_empty, node_cost
from ...cluster.pod import reschedulable
from ...cluster.state_node import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    ZONE,
    StateNode,
)

WHEN_EMPTY, BALANCED = "WhenEmpty", "Balanced"


def empty(node: StateNode) -> bool:
    """Whether no pod with a positive cost would have to go elsewhere; DaemonSet and mirror pods do not count."""
    return is_empty(disruption_cost(node))


def disruption_cost(node: StateNode) -> float:
    """What it costs to move the node's pods, without unit: for comparing nodes. Pods that move nowhere cost nothing."""
    return node_cost(pod.cost for pod in node.pods if reschedulable(pod))


def unconsolidatable(state: ClusterState, node: StateNode, now: datetime) -> Eligibility | None:
    """Why a candidate is left out of consolidation all the same, as upstream asks; None: it is not."""
    pool = state.pools[node.pool]
    if pool.static:
        return Eligibility(False, "static-pool", f"pool {pool.name} is static: it keeps its number of replicas")
    missing = _unknown(pool, node)
    if missing:
        return missing
    waiting = consolidatable(pool.pool, node, now)
    if waiting.code == "never":
        return waiting
    if pool.pool.disruption.consolidation_policy == WHEN_EMPTY and not empty(node):
        return Eligibility(False, "policy", f"pool {pool.name} consolidates {WHEN_EMPTY}, and the node is not empty")
    return None if waiting.holds else waiting


def _unknown(pool: StatePool, node: StateNode) -> Eligibility | None:
    """Whether the price of the node cannot be found out."""
    kind = node.labels.get(INSTANCE_TYPE, "")
    if pool.instance_types is not None and pool.instance_type(kind) is None:
        return Eligibility(False, "instance-type-unknown", f"instance type {kind!r} is not known")
    for label in (CAPACITY_TYPE, ZONE):
        if not node.labels.get(label):
            return Eligibility(False, "label-missing", f"node {node.name} lacks the label {label}")
    return None
