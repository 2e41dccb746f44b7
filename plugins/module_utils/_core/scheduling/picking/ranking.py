# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The candidates of a PickN placement, best first (KubeFleet scheduler): by topology spread, affinity, stickiness and,
last, larger name."""

from __future__ import annotations

import heapq
from itertools import compress, islice, repeat

from ...objects.placements.binding import ClusterScore
from ...scheduling import bitset, same_placement_affinity
from ..index import Topology
from ..preferred_affinity import PreferredAffinity
from ..topology_spread import FORBIDDEN, TopologySpread


class Ranking:
    """Candidates in groups that share all topology domains, each group sorted once. A candidate is one number,
    (affinity * 2 + bonus) * size + position, so that plain integers sort as upstream compares: equal scores go to the
    larger name. ``candidates`` and ``sticky``, the clusters picked under an older policy, are bit sets by position."""

    def __init__(self, candidates: int, preferred: PreferredAffinity, sticky: int, topology: Topology | None) -> None:
        self.size = preferred.index.size
        self.names = preferred.index.names
        flags = bitset.flags(candidates, self.size)
        positions = compress(range(self.size), flags)
        doubled = 2 * self.size
        totals = preferred.totals(flags, candidates.bit_count())
        keys = [total * doubled + position for total, position in zip(totals, positions, strict=True)]
        if sticky & candidates:
            keys = [key + same_placement_affinity.bonus(sticky, key % self.size) * self.size for key in keys]
        self.groups: list[list[int]] = [keys]
        if topology:
            self.groups = [[] for _domain in topology.domains[0]] if topology.domains else []
            for key, group in zip(keys, compress(topology.group_of, flags), strict=True):
                self.groups[group].append(key)
        for each in self.groups:
            each.sort()

    def pop_best(self, spread: TopologySpread | None) -> tuple[str, ClusterScore] | None:
        """Take out the best candidate that ``spread`` allows, and give its name and score; None without one."""
        best, best_score, best_keys = 0, FORBIDDEN, None
        for keys, score in zip(self.groups, self._scores(spread), strict=True):
            if keys and (score > best_score or (score == best_score and keys[-1] > best)):
                best, best_score, best_keys = keys[-1], score, keys
        return self._name_and_score(best_keys.pop(), best_score) if best_keys and best_score > FORBIDDEN else None

    def best_left(self, spread: TopologySpread | None, most: int) -> list[tuple[str, ClusterScore]]:
        """The next candidates that ``spread`` allows, at most ``most``, best first, as if no pick changed the spread;
        none is taken out."""
        rows = [
            zip(repeat(score), reversed(keys), strict=False)
            for keys, score in zip(self.groups, self._scores(spread), strict=True)
            if keys and score > FORBIDDEN
        ]
        merged = heapq.merge(*rows, reverse=True)
        return [self._name_and_score(key, score) for score, key in islice(merged, most)]

    def refused(self, spread: TopologySpread | None) -> int:
        """The candidates left that a constraint refuses, as a bit set."""
        groups = zip(self.groups, self._scores(spread), strict=True)
        refused = [key % self.size for keys, score in groups if score <= FORBIDDEN for key in keys]
        return bitset.of(refused, self.size)

    def _scores(self, spread: TopologySpread | None) -> tuple[int, ...]:
        """The spread score of each group; 0 for the only one without constraints."""
        return spread.scores if spread else (0,)

    def _name_and_score(self, key: int, spread: int) -> tuple[str, ClusterScore]:
        """Name and score of the candidate that is this number, with its spread score."""
        value, position = divmod(key, self.size)
        return self.names[position], ClusterScore(affinity_score=value >> 1, priority_score=spread)
