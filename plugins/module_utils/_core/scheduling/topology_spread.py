# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Plugin ``TopologySpreadConstraints`` (KubeFleet scheduler): how evenly holders are spread over the values of a label
key, what one more would do to ``maxSkew``, and whom that forbids (``skew-too-large``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..objects.placements.policy import TopologySpreadConstraint
from .index import FleetIndex, Topology
from .reasons import ClusterBlocker

NAME = "TopologySpreadConstraints"
PENALTY = 1000
# Far below every sum of penalties, so that one refusal shows in any sum.
REFUSED = -(10**15)
FORBIDDEN = REFUSED // 2


@dataclass(frozen=True)
class DomainCensus:
    """How many clusters hold the placement, by domain, and the smallest, second smallest and largest of these numbers.
    A domain counts if any cluster of the fleet is in it."""

    counts: t.Mapping[str, int]
    smallest: int
    second: int
    largest: int

    @classmethod
    def of(cls, counts: t.Mapping[str, int]) -> DomainCensus:
        """The census of these numbers by domain; without any domain all three are 0, of one domain they are its
        number."""
        ordered = sorted(counts.values())
        if not ordered:
            return cls(counts, 0, 0, 0)
        return cls(counts, ordered[0], ordered[min(1, len(ordered) - 1)], ordered[-1])

    def effect(self, count: int, max_skew: int) -> tuple[int, bool]:
        """What one more cluster in a domain of ``count`` does to the skew (1, 0 or -1), and whether that violates
        ``max_skew``. As upstream has it, a skew beyond ``max_skew`` + 1 counts as violated even where the cluster would
        lessen it, and one more in the only domain there is adds to it."""
        if self.largest == self.smallest:
            change = 1
        elif count == self.smallest != self.second:
            change = -1
        else:
            change = 1 if count == self.largest else 0
        return change, self.largest - self.smallest + change > max_skew


@dataclass(frozen=True, kw_only=True)
class DomainCount:
    """How a cluster's domain (None if it lacks the key) stands under one constraint: ``count`` clusters in it hold the
    placement, ``smallest`` to ``largest`` in all domains."""

    topology_key: str
    domain: str | None
    count: int
    smallest: int
    largest: int
    max_skew: int
    when_unsatisfiable: str

    def as_dict(self) -> dict[str, t.Any]:
        """Plain data: the fields, in camelCase."""
        return {
            "topologyKey": self.topology_key,
            "domain": self.domain,
            "count": self.count,
            "smallest": self.smallest,
            "largest": self.largest,
            "maxSkew": self.max_skew,
            "whenUnsatisfiable": self.when_unsatisfiable,
        }


@dataclass(frozen=True)
class TopologySpread:
    """The constraints over one set of holders. ``worth`` is the score that each constraint gives a domain, REFUSED
    where it forbids it. ``scores`` are the sums for the groups of ``topology``, whose clusters share all domains; at
    most FORBIDDEN where any constraint forbids."""

    constraints: tuple[TopologySpreadConstraint, ...]
    topology: Topology
    censuses: tuple[DomainCensus, ...]
    worth: tuple[t.Mapping[str | None, int], ...]
    scores: tuple[int, ...]

    @classmethod
    def of(cls, index: FleetIndex, constraints: tuple[TopologySpreadConstraint, ...], held: int) -> TopologySpread:
        """What one more cluster is worth where the clusters in ``held`` (a bit set by position) hold the placement: for
        each constraint 1 where it lessens the skew, -1 where it adds to it, else 0, as without the key. A violation is
        forbidden by DoNotSchedule, and is worth -1000 otherwise, whatever it does to the skew."""
        keys = tuple(one.topology_key for one in constraints)
        topology = index.topology(keys)
        censuses = tuple(
            DomainCensus.of({value: (bits & held).bit_count() for value, bits in index.label(key).values.items()})
            for key in keys
        )
        worth = tuple(_worth(one, census) for one, census in zip(constraints, censuses, strict=True))
        parts = [map(each.__getitem__, domains) for each, domains in zip(worth, topology.domains, strict=False)]
        scores = tuple(map(sum, zip(*parts, strict=True))) if constraints else (0,)
        return cls(constraints, topology, censuses, worth, scores)

    def refusal(self, position: int) -> ClusterBlocker | None:
        """The first constraint that forbids the cluster's domain; None if none does."""
        if self.scores[self.topology.group_of[position]] > FORBIDDEN:
            return None
        return next(self.blockers(position), None)

    def blockers(self, position: int) -> t.Iterator[ClusterBlocker]:
        """Every constraint that forbids the domain of the cluster at a position, ``skew-too-large``, in their order."""
        for worth, one in zip(self.worth, self.domains(position), strict=True):
            if worth[one.domain] == REFUSED:
                yield ClusterBlocker(NAME, "skew-too-large", one.as_dict())

    def domains(self, position: int) -> tuple[DomainCount, ...]:
        """The cluster's domain under each constraint, in their order, with the numbers of these holders (the cluster
        counts if it is one)."""
        group = self.topology.group_of[position]
        rows = zip(self.constraints, self.censuses, self.topology.domains, strict=True)
        return tuple(_domain_count(constraint, census, values[group]) for constraint, census, values in rows)


def _worth(constraint: TopologySpreadConstraint, census: DomainCensus) -> dict[str | None, int]:
    """The score of one more cluster in each domain, REFUSED where that is forbidden; 0 under None, without the key."""
    worth: dict[str | None, int] = {None: 0}
    violation = REFUSED if constraint.when_unsatisfiable == "DoNotSchedule" else -PENALTY
    by_count = {}
    for count in set(census.counts.values()):
        change, violated = census.effect(count, constraint.max_skew)
        by_count[count] = violation if violated else -change
    for domain, count in census.counts.items():
        worth[domain] = by_count[count]
    return worth


def _domain_count(constraint: TopologySpreadConstraint, census: DomainCensus, domain: str | None) -> DomainCount:
    """The domain under one constraint, with its numbers; None, a cluster without the key, counts 0."""
    return DomainCount(
        topology_key=constraint.topology_key,
        domain=domain,
        count=0 if domain is None else census.counts[domain],
        smallest=census.smallest,
        largest=census.largest,
        max_skew=constraint.max_skew,
        when_unsatisfiable=constraint.when_unsatisfiable,
    )
