# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a node may be consolidated (Karpenter, condition ``Consolidatable`` and ``ConsolidateAfter``).

The waiting time runs from the last pod that came or left, not from when somebody saw an opportunity.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...cluster.cluster_state import ClusterState, Pool
from ...cluster.eviction_cost import is_empty, node_cost
from ...cluster.pod import reschedulable
from ...cluster.state_node import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    ZONE,
    StateNode,
)
from ...objects.karpenter.node_pool import NodePool
from ...schema.codec import write_time
from ...values.duration import as_timedelta, parse_or_never

WHEN_EMPTY, BALANCED = "WhenEmpty", "Balanced"


@dataclass(frozen=True)
class Eligibility:
    """``since`` is where the waiting time began, ``at`` when it ends; None where there is no such instant."""

    holds: bool
    code: str
    text: str
    since: datetime | None = None
    at: datetime | None = None

    def as_dict(self) -> dict[str, t.Any]:
        times = {"since": self.since, "at": self.at}
        return {"holds": self.holds, "code": self.code, "text": self.text} | {
            name: write_time(at) if at else None for name, at in times.items()
        }


def consolidatable(pool: NodePool, node: StateNode, now: datetime) -> Eligibility:
    """Whether ``consolidateAfter`` has passed at an aware instant, and since when it runs."""
    wait = consolidate_after(pool)
    if wait is None:
        return Eligibility(False, "never", f"consolidateAfter of pool {pool.name} is Never")
    since = waiting_since(node)
    if since is None:
        return Eligibility(False, "not-initialized", f"node {node.name} isn't initialized")
    at = since + wait
    written = pool.disruption.consolidate_after
    told = f"the last pod change was at {write_time(since)}, and consolidateAfter is {written}"
    if now >= at:
        return Eligibility(True, "eligible", told, since, at)
    left = int(-(-(at - now) // timedelta(seconds=1)))
    return Eligibility(False, "waiting", f"eligible in {left} s: {told}", since, at)


def waiting_since(node: StateNode) -> datetime | None:
    """The last pod event, else the instant of initialization; None for a node that is not initialized."""
    if node.claim is None:
        return None
    condition = node.claim.condition("Initialized")
    if condition is None or condition.status != "True":
        return None
    return node.claim.status.last_pod_event_time or condition.last_transition_time


def consolidate_after(pool: NodePool) -> timedelta | None:
    """None is Never."""
    nanoseconds = parse_or_never(pool.disruption.consolidate_after)
    return None if nanoseconds is None else as_timedelta(nanoseconds)


def empty(node: StateNode) -> bool:
    """Whether no pod with a positive cost would have to go elsewhere; DaemonSet and mirror pods do not count."""
    return is_empty(disruption_cost(node))


def disruption_cost(node: StateNode) -> float:
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


def _unknown(pool: Pool, node: StateNode) -> Eligibility | None:
    """Whether the price of the node cannot be found out."""
    kind = node.labels.get(INSTANCE_TYPE, "")
    if pool.instance_types is not None and pool.instance_type(kind) is None:
        return Eligibility(False, "instance-type-unknown", f"instance type {kind!r} is not known")
    for label in (CAPACITY_TYPE, ZONE):
        if not node.labels.get(label):
            return Eligibility(False, "label-missing", f"node {node.name} lacks the label {label}")
    return None
