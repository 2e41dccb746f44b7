# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Gates that keep Karpenter from disrupting a node (``NewCandidate``), in words: of the node (``in-command``,
``not-managed``, ``no-node``, ``not-initialized``, ``deleting``, ``nominated``, ``node-annotation``, ``no-pool-label``,
``no-pool``) and of its pods (``pod-annotation``, ``pdb``, ``pdb-several``).

Upstream stops at the first gate that is closed.
"""

from __future__ import annotations

import typing as t
from datetime import datetime

from ..cluster.cluster_state import ClusterState
from ..cluster.pod import DO_NOT_DISRUPT, Pod
from ..cluster.pod_disruption import evictable, protection
from ..cluster.pod_disruption_budget import PodDisruptionBudget, PodDisruptionBudgets
from ..cluster.state_node import POOL, StateNode
from ..machine import Blocker
from ..values.instants import SECONDS, write_time
from ..values.listed import number_of

# Graceful methods always respect pods; eventual ones do so unless the NodeClaim has a terminationGracePeriod.
GRACEFUL, EVENTUAL = "graceful", "eventual"


def blockers(state: ClusterState, node: StateNode, now: datetime, kind: str = GRACEFUL) -> tuple[Blocker, ...]:
    """The gates that keep a node from being disrupted by graceful or eventual methods (``kind``) at an aware instant:
    as of ``node_blockers``, then ``pod_blockers``, for eventual ones as of ``without_overruled``."""
    found = (*node_blockers(state, node, now), *pod_blockers(node.pods, state.pod_budgets, now))
    return without_overruled(found, node) if kind == EVENTUAL else found


def without_overruled(found: tuple[Blocker, ...], node: StateNode) -> tuple[Blocker, ...]:
    """The blockers of a node that hold for eventual methods too: without those by pods where its NodeClaim has a
    terminationGracePeriod, which no pod outlasts."""
    return tuple(each for each in found if not each.by_pod) if node.grace else found


def node_blockers(state: ClusterState, node: StateNode, now: datetime) -> tuple[Blocker, ...]:
    """The gates of the node itself that are closed at an aware instant, in upstream's order. What follows from another
    is not told: ``deleting`` in a running command, ``not-initialized`` without a Node, ``no-pool`` without the
    label."""
    return tuple(found for gate in _GATES if (found := gate(state, node, now)) is not None)


def pod_blockers(pods: t.Iterable[Pod], limits: PodDisruptionBudgets, now: datetime) -> tuple[Blocker, ...]:
    """The gates of pods that are closed at an aware instant, one at most for each, first ``pod-annotation`` of active
    pods that ``karpenter.sh/do-not-disrupt`` protects, then, of pods that a drain would evict, ``pdb-several`` where
    several PodDisruptionBudgets cover one, ``pdb`` where one does that allows no disruption, unless it lets the pod
    through as unhealthy."""
    shielded, held = [], []
    for pod in pods:
        if DO_NOT_DISRUPT in pod.annotations and pod.active:
            found = _protected(pod, now)
            if found is not None:
                shielded.append(found)
                continue
        over = limits.covering(pod)
        if over and (found := _held(pod, over, now)) is not None:
            held.append(found)
    return (*shielded, *held)


def _queued(_state: ClusterState, node: StateNode, _now: datetime) -> Blocker | None:
    """``in-command`` for a node that a running command has; else None."""
    return Blocker("in-command", f"node {node.name} is part of a running command") if node.queued else None


def _unmanaged(_state: ClusterState, node: StateNode, _now: datetime) -> Blocker | None:
    """``not-managed`` for a Node without a NodeClaim; else None."""
    if node.claim is None:
        return Blocker("not-managed", f"node {node.name} isn't managed: it has no NodeClaim")
    return None


def _no_node(_state: ClusterState, node: StateNode, _now: datetime) -> Blocker | None:
    """``no-node`` for a NodeClaim without a Node; else None."""
    if node.node is None:
        return Blocker("no-node", f"NodeClaim {node.name} does not have an associated node yet")
    return None


def _uninitialized(_state: ClusterState, node: StateNode, _now: datetime) -> Blocker | None:
    """``not-initialized`` for a Node that is not; None for others, and without a Node."""
    if node.node is None or node.initialized:
        return None
    return Blocker("not-initialized", f"node {node.name} isn't initialized")


def _deleting(_state: ClusterState, node: StateNode, _now: datetime) -> Blocker | None:
    """``deleting`` for a node on its way out; None for others, and for one that a running command has."""
    if not node.deleting or node.queued:
        return None
    return Blocker("deleting", f"node {node.name} is deleting or marked for deletion")


def _nominated(_state: ClusterState, node: StateNode, now: datetime) -> Blocker | None:
    """``nominated`` until the instant up to which a pending pod awaits the node; None from then on, and without one."""
    if node.nominated_until is None or now >= node.nominated_until:
        return None
    return Blocker("nominated", f"node {node.name} is nominated for a pending pod")


def _annotated(_state: ClusterState, node: StateNode, _now: datetime) -> Blocker | None:
    """``node-annotation`` if do-not-disrupt on the node is exactly ``true``, for durations do not count there; None
    else, and without a Node."""
    if node.node is None or node.annotations.get(DO_NOT_DISRUPT) != "true":
        return None
    return Blocker("node-annotation", f"node {node.name} is blocked through the annotation {DO_NOT_DISRUPT}")


def _no_pool_label(_state: ClusterState, node: StateNode, _now: datetime) -> Blocker | None:
    """``no-pool-label`` for a node that lacks the label of the pool; else None."""
    if POOL in node.labels:
        return None
    return Blocker("no-pool-label", f"node {node.name} lacks the required label {POOL}")


def _no_pool(state: ClusterState, node: StateNode, _now: datetime) -> Blocker | None:
    """``no-pool`` if the node's pool is not there, belongs to another provider or is known to have no instance types;
    None else, and for a node without the label of a pool."""
    pool = state.pools.get(node.pool)
    if POOL not in node.labels or (pool is not None and pool.managed and pool.instance_types != ()):
        return None
    if pool is None:
        why = "NodePool not found"
    else:
        why = "its class belongs to another provider" if not pool.managed else "it has no instance types"
    return Blocker("no-pool", f"pool {node.pool} of node {node.name}: {why}", about={"pool": node.pool})


_GATES = (
    _queued,
    _unmanaged,
    _no_node,
    _uninitialized,
    _deleting,
    _nominated,
    _annotated,
    _no_pool_label,
    _no_pool,
)


def _protected(pod: Pod, now: datetime) -> Blocker | None:
    """``pod-annotation``, with its end where that is known, if do-not-disrupt protects the pod at an aware instant,
    whether or not the pod is active; else None."""
    found = protection(pod, now)
    if not found.holds:
        return None
    until = f" until {write_time(found.until, SECONDS)}" if found.until else ""
    return Blocker("pod-annotation", f"pod {pod.key} has {DO_NOT_DISRUPT}{until}", True, {"pod": pod.key})


def _held(pod: Pod, found: tuple[PodDisruptionBudget, ...], now: datetime) -> Blocker | None:
    """``pdb-several`` or ``pdb``, if the budgets that cover a pod, one or more, keep it from being evicted; None if
    they do not, or a drain would not evict it."""
    if not evictable(pod, now):
        return None
    if len(found) > 1:
        names = ", ".join(each.key for each in found)
        text = f"pod {pod.key} is covered by {names}; eviction does not support multiple PDBs"
        return Blocker("pdb-several", text, True, {"pod": pod.key, "pdb": names})
    only = found[0]
    if only.allowed > 0 or only.lets_through(pod):
        return None
    allowed = number_of(only.allowed, "disruption")
    text = f"pdb {only.key} prevents pod evictions: it allows {allowed}, and covers pod {pod.key}"
    return Blocker("pdb", text, True, {"pod": pod.key, "pdb": only.key, "allowed": only.allowed})
