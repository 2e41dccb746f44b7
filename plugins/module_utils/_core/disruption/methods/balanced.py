# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Consolidation policy ``Balanced``: a move has to save enough for what it disrupts, both as shares of the pool
(``score``, threshold 0.50, Karpenter v1.14)."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from ...cluster.eviction_cost import eviction_cost
from ...cluster.state_node import CAPACITY_TYPE, INSTANCE_TYPE, POOL, ZONE, StateNode
from .candidates import NodeCandidate
from .consolidation_candidates import BALANCED
from .method_input import MethodInput

K = 2
THRESHOLD = 1.0 / K


@dataclass(frozen=True)
class Score:
    """``saved`` is the share of what the pool costs an hour, ``disrupted`` that of what it would cost to disrupt all of
    it."""

    saved: float
    disrupted: float

    @property
    def value(self) -> float:
        """The share saved for the share disrupted; 0 if nothing is saved, infinite if something is and nothing is
        disrupted."""
        if self.saved <= 0:
            return 0.0
        return self.saved / self.disrupted if self.disrupted else math.inf

    @property
    def approved(self) -> bool:
        """Whether the move saves enough: its value is 0.5 or more."""
        return self.value >= THRESHOLD

    @property
    def text(self) -> str:
        """As upstream writes it, for every move: ``score 0.40 >= threshold 0.50 (k: 2, savings 10.0%, disruption
        25.0%)``."""
        value = "+Inf" if math.isinf(self.value) else f"{self.value:.2f}"
        shares = f"savings {self.saved * 100:.1f}%, disruption {self.disrupted * 100:.1f}%"
        return f"score {value} >= threshold {THRESHOLD:.2f} (k: {K}, {shares})"


class Balance:
    """By name of the pool: ``prices``, what its NodeClaims cost an hour (of pools with candidates; what these cost
    where NodeClaims do not tell), and ``costs``, what it would cost to disrupt all its nodes. Both are empty where no
    pool has the policy."""

    def __init__(self, look: MethodInput) -> None:
        """Sums prices and costs up from the candidates and nodes of ``look``; of nothing if no pool has the policy.
        ValueError as of ``MethodInput.candidates``."""
        self.prices: dict[str, float] = {}
        self.costs: dict[str, float] = {}
        if not any(each.pool.disruption.consolidation_policy == BALANCED for each in look.state.pools.values()):
            return
        own = {each.name: each for each in look.candidates()}
        known = _claim_prices(look)
        for each in own.values():
            self.prices[each.pool.name] = self.prices.get(each.pool.name, 0.0) + each.known_price
        self.prices |= {name: known[name] for name in self.prices if known.get(name, 0.0) > 0}
        for node in look.state.nodes:
            if POOL in node.labels:
                candidate = own.get(node.name)
                cost = candidate.cost if candidate is not None else _cost(node)
                self.costs[node.pool] = self.costs.get(node.pool, 0.0) + cost

    def scores(self, nodes: t.Sequence[NodeCandidate], saving: float) -> dict[str, Score]:
        """The score of a move by name of each pool with the policy; ``saving`` is per hour. What a move over several
        pools saves is split by what their nodes cost, and counts whole in each if no price is known. The score is 0 in
        a pool without a known price."""
        by_pool: dict[str, list[NodeCandidate]] = {}
        for each in nodes:
            by_pool.setdefault(each.pool.name, []).append(each)
        total = sum(each.known_price for each in nodes)
        found = {}
        for name, own in sorted(by_pool.items()):
            if own[0].pool.pool.disruption.consolidation_policy != BALANCED:
                continue
            share = saving
            if total > 0 and len(by_pool) > 1:
                share = saving * (sum(each.known_price for each in own) / total)
            found[name] = self._score(name, share, sum(each.cost for each in own))
        return found

    def deletion_pays(self, one: NodeCandidate) -> bool:
        """Whether deleting the node without replacement, the most that it can save, would save enough; True for other
        policies, and where the pool has no known price. An unknown price of the node counts as 0."""
        if one.pool.pool.disruption.consolidation_policy != BALANCED or self.prices.get(one.pool.name, 0.0) <= 0:
            return True
        return self._score(one.pool.name, one.known_price, one.cost).approved

    def _score(self, pool: str, saving: float, cost: float) -> Score:
        """The score of saving and cost in a pool; 0 for 0 where its price or its cost is not known."""
        price, whole = self.prices.get(pool, 0.0), self.costs.get(pool, 0.0)
        return Score(saving / price, cost / whole) if price > 0 and whole > 0 else Score(0.0, 0.0)


def _claim_prices(look: MethodInput) -> dict[str, float]:
    """By pool, of those that are there: what its NodeClaims cost an hour together, as far as their labels say type,
    capacity type and zone; an unknown price counts as 0."""
    out: dict[str, float] = {}
    for node in look.state.nodes:
        labels = node.claim.metadata.labels if node.claim is not None else {}
        pool = look.state.pools.get(labels.get(POOL, ""))
        if pool is None or not all(key in labels for key in (INSTANCE_TYPE, CAPACITY_TYPE, ZONE)):
            continue
        kind = pool.instance_type(labels[INSTANCE_TYPE])
        price = kind.price(labels[ZONE], labels[CAPACITY_TYPE]) if kind is not None else None
        out[pool.name] = out.get(pool.name, 0.0) + (price or 0.0)
    return out


def _cost(node: StateNode) -> float:
    """1 and the positive costs of all pods of the node that have not ended, those of DaemonSets left out."""
    costs = (eviction_cost(each.cost) for each in node.pods if not each.ended and not each.daemon)
    return 1.0 + sum(each for each in costs if each > 0)
