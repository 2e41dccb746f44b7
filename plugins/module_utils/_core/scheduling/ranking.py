# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The candidates of a PickN placement, best first: by topology spread, affinity, stickiness and, last, larger name."""

from __future__ import annotations

import heapq
import typing as t
from itertools import islice

from ..objects.binding import ClusterScore
from . import bitset, same_placement_affinity
from .preferred_affinity import PreferredAffinity
from .topology_spread import Spread


class Ranking:
    """Candidates in groups that share all topology domains, each group sorted once.

    A candidate is one number, (affinity * 2 + bonus) * size + position, so that plain integers sort as upstream
    compares: equal scores go to the larger name.
    """

    def __init__(
        self, candidates: int, preferred: PreferredAffinity, sticky: int, group_of: t.Sequence[int] | None
    ) -> None:
        self.size = preferred.index.size
        self.names = preferred.index.names
        self.groups: dict[int, list[int]] = {}
        positions = bitset.positions(candidates)
        doubled = 2 * self.size
        keys = [
            total * doubled + position
            for total, position in zip(preferred.totals(candidates, len(positions)), positions, strict=True)
        ]
        if sticky & candidates:
            keys = [key + same_placement_affinity.bonus(sticky, key % self.size) * self.size for key in keys]
        keys.sort()
        if group_of is None:
            self.groups[0] = keys
            return
        for key in keys:
            self.groups.setdefault(group_of[key % self.size], []).append(key)

    def pop_best(self, spread: Spread | None) -> tuple[str, ClusterScore] | None:
        """Take out the best candidate that ``spread`` allows."""
        best, chosen, score = None, -1, 0
        for group, keys in self.groups.items():
            if not keys:
                continue
            verdict = spread.verdict(group) if spread else None
            if verdict and verdict.refused_by >= 0:
                continue
            rank = (verdict.score if verdict else 0, keys[-1])
            if best is None or rank > best:
                best, chosen, score = rank, group, rank[0]
        return self._named(self.groups[chosen].pop(), score) if best else None

    def best_left(self, spread: Spread | None, most: int) -> list[tuple[str, ClusterScore]]:
        """The next candidates in order, left where they are."""
        rows = []
        for group, keys in self.groups.items():
            verdict = spread.verdict(group) if spread else None
            if not (verdict and verdict.refused_by >= 0):
                score = verdict.score if verdict else 0
                rows.append([(score, key) for key in keys[: -most - 1 : -1]])
        merged = heapq.merge(*rows, reverse=True)
        return [self._named(key, score) for score, key in islice(merged, most)]

    def refused(self, spread: Spread | None) -> list[int]:
        """Positions, in ascending order, that a constraint refuses."""
        if spread is None:
            return []
        return sorted(
            key % self.size
            for group, keys in self.groups.items()
            if keys and spread.verdict(group).refused_by >= 0
            for key in keys
        )

    def _named(self, key: int, spread: int) -> tuple[str, ClusterScore]:
        value, position = divmod(key, self.size)
        return self.names[position], ClusterScore(affinity_score=value >> 1, priority_score=spread)
