# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Policy ``Balanced``: a move has to save enough for what it disrupts, both as shares of the pool (Karpenter v1.14)."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from ...cluster.cluster_state import ClusterState
from ...cluster.state_node import StateNode
from .candidates import Command, candidates
from .eligibility import BALANCED, disruption_cost

THRESHOLD = 0.5


@dataclass(frozen=True)
class Balance:
    """By pool: what its nodes cost, and what it would cost to disrupt them all; nodes without a price are left out."""

    prices: t.Mapping[str, float]
    costs: t.Mapping[str, float]

    @classmethod
    def of(cls, state: ClusterState, now: datetime) -> Balance:
        if not any(_balanced(state, name) for name in state.pools):
            return cls({}, {})
        prices: dict[str, float] = defaultdict(float)
        costs: dict[str, float] = defaultdict(float)
        for node in candidates(state, now):
            price = state.price(node)
            if price:
                prices[node.pool] += price
                costs[node.pool] += disruption_cost(node)
        return cls(prices, costs)

    def refusal(self, state: ClusterState, nodes: t.Sequence[StateNode], command: Command) -> str:
        """Why a move is not worth it, for the first pool with the policy where it is not; empty if it is.

        What a move over several pools saves is split by what their nodes cost.
        """
        total = sum(state.price(each) or 0.0 for each in nodes)
        for pool in sorted({each.pool for each in nodes if _balanced(state, each.pool)}):
            own = [each for each in nodes if each.pool == pool]
            share = sum(state.price(each) or 0.0 for each in own) / total if total else 0.0
            score = self.score(pool, (command.saving or 0.0) * share, sum(disruption_cost(each) for each in own))
            if score < THRESHOLD:
                return f"pool {pool}: saving over disruption is {score:.2f}, and {BALANCED} wants {THRESHOLD}"
        return ""

    def score(self, pool: str, saving: float, cost: float) -> float:
        """The share of the pool's price that is saved, over the share of its disruption cost; 0 if nothing is saved."""
        price, whole = self.prices.get(pool, 0.0), self.costs.get(pool, 0.0)
        if price <= 0 or saving <= 0:
            return 0.0
        return (saving / price) / (cost / whole) if whole > 0 and cost > 0 else float("inf")


def _balanced(state: ClusterState, pool: str) -> bool:
    found = state.pools.get(pool)
    return found is not None and found.pool.disruption.consolidation_policy == BALANCED
