# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Drifted nodes: one after the other, each with the nodes that its pods need started first (Karpenter, ``drift.go``,
``staticdrift.go``).
"""

from __future__ import annotations

from datetime import datetime

from ...cluster.cluster_state import ClusterState, StatePool
from ...cluster.pod import reschedulable
from ...cluster.rescheduling import Move, simulate
from ...objects.karpenter.node_pool import DRIFTED
from ..blockers import EVENTUAL
from ..budgets.census import NodeCensus
from .candidates import (
    DRIFT,
    HAS_DRIFTED,
    STATIC_DRIFT,
    Command,
    MethodCommands,
    RefusedCommand,
    Replacement,
    allowances,
    candidates,
    within_budgets,
)
from .drift import DriftedNode, drifted
from .replacement import sorted_by_price


def drift_candidates(state: ClusterState, now: datetime, static: bool = False) -> list[DriftedNode]:
    """Nodes without pods to move first, then by how long they have been known to have drifted; ties by name.

    Pods that block are overruled where the NodeClaim has a deadline.
    """
    able = {each.name for each in candidates(state, now, EVENTUAL)}
    found = [each for each in drifted(state, now) if each.node.name in able]
    found = [each for each in found if state.pools[each.node.pool].static == static]
    return sorted(
        found,
        key=lambda one: (any(map(reschedulable, one.node.pods)), (one.since or now).timestamp(), one.node.name),
    )


def drift_method(state: ClusterState, now: datetime) -> MethodCommands:
    """The first drifted node whose pods all find a place."""
    allowed, refused = allowances(state, now, DRIFTED), []
    for each in drift_candidates(state, now):
        kept, over = within_budgets([each.node], allowed)
        if not kept:
            refused += over
            continue
        done = simulate(state, (each.node.name,), now)
        if done.misfits:
            refused.append(RefusedCommand((each.node.name,), "pods-do-not-fit", done.misfits[0].text))
            continue
        new = tuple(Replacement(one.name, one.options[0].pool, sorted_by_price(one.options)) for one in done.new_nodes)
        moves = tuple(one for one in done.moves if one.source == each.node.name)
        return MethodCommands((_command(DRIFT, each, new, moves),), tuple(refused))
    return MethodCommands((), tuple(refused))


def static_drift_method(state: ClusterState, now: datetime) -> MethodCommands:
    """In pools with ``replicas``: as many nodes as the budgets allow, one replacement each, pods not looked at.

    A pool that has more nodes than replicas is left alone until it has shrunk.
    """
    allowed = allowances(state, now, DRIFTED)
    commands, refused = [], []
    for name, pool in sorted(state.pools.items()):
        nodes = [each for each in drift_candidates(state, now, static=True) if each.node.pool == name]
        running = allowed[name].census if name in allowed else NodeCensus()
        if nodes and running.total > _replicas(pool):
            text = f"pool {name} has {running.total} nodes for {_replicas(pool)} replicas"
            refused.append(RefusedCommand(tuple(each.node.name for each in nodes), "over-replicas", text))
            continue
        kept, over = within_budgets([each.node for each in nodes], allowed)
        refused += over
        chosen = {each.name for each in kept}
        due = [each for each in nodes if each.node.name in chosen]
        commands += [_command(STATIC_DRIFT, each, (Replacement("new-1", name),)) for each in due]
    return MethodCommands(tuple(commands), tuple(refused))


def _replicas(pool: StatePool) -> int:
    found = (pool.pool.manifest.get("spec") or {}).get("replicas")
    return found if isinstance(found, int) else 0


def _command(
    method: str, each: DriftedNode, replacements: tuple[Replacement, ...], moves: tuple[Move, ...] = ()
) -> Command:
    return Command(
        method=method,
        reason=DRIFTED,
        motive=HAS_DRIFTED,
        nodes=(each.node.name,),
        replacements=replacements,
        moves=moves,
        text=f"node {each.node.name} has drifted ({each.drift.reason}): {each.drift.text}",
    )
