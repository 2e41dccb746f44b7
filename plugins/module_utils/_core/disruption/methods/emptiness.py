# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Empty nodes: all that budgets allow, deleted in one command (Karpenter, ``emptiness.go``)."""

from __future__ import annotations

from datetime import datetime

from ...cluster.cluster_state import ClusterState
from ...cluster.consolidation_wait import consolidatable
from ...objects.karpenter.node_pool import EMPTY_REASON
from .candidates import (
    EMPTINESS,
    EMPTY,
    Command,
    MethodCommands,
    RefusedCommand,
    allowances,
    by_saving,
    candidates,
    within_budgets,
)
from .eligibility import empty


def emptiness(state: ClusterState, now: datetime) -> MethodCommands:
    """Whatever the policy of the pool, unless it is static or ``consolidateAfter`` is Never."""
    nodes, refused = [], []
    for node in candidates(state, now):
        if not empty(node) or state.pools[node.pool].static:
            continue
        waiting = consolidatable(state.pools[node.pool].pool, node, now)
        if waiting.holds:
            nodes.append(node)
        else:
            refused.append(RefusedCommand((node.name,), waiting.code, f"{node.name}: {waiting.text}"))
    kept, over = within_budgets(by_saving(state, nodes), allowances(state, now, EMPTY_REASON))
    refused += over
    if not kept:
        return MethodCommands((), tuple(refused))
    prices = [price for each in kept if (price := state.price(each)) is not None]
    command = Command(
        method=EMPTINESS,
        reason=EMPTY_REASON,
        motive=EMPTY,
        nodes=tuple(each.name for each in kept),
        saving=sum(prices) if len(prices) == len(kept) else None,
        text=f"{len(kept)} empty nodes",
    )
    return MethodCommands((command,), tuple(refused))
