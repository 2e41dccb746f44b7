# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Plugin ``TopologySpreadConstraints`` (KubeFleet scheduler): spread over the values of a label key."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..objects.placement_policy import TopologySpreadConstraint
from .index import FleetIndex, Topology
from .reasons import Refusal

NAME = "TopologySpreadConstraints"
PENALTY = 1000


@dataclass(frozen=True)
class Census:
    """How many clusters hold the placement, by domain. Domains count over all clusters that carry the key."""

    counts: t.Mapping[str, int]
    smallest: int
    second: int
    largest: int

    @classmethod
    def of(cls, counts: t.Mapping[str, int]) -> Census:
        ordered = sorted(counts.values())
        if not ordered:
            return cls(counts, 0, 0, 0)
        return cls(counts, ordered[0], ordered[min(1, len(ordered) - 1)], ordered[-1])

    def effect(self, count: int, max_skew: int) -> tuple[int, bool]:
        """What one more cluster in a domain of ``count`` does to the skew, and whether that violates ``max_skew``.

        As upstream has it, a skew beyond ``max_skew`` + 1 counts as violated even where the cluster would lessen it.
        """
        if self.largest == self.smallest:
            change = 1
        elif count == self.smallest != self.second:
            change = -1
        else:
            change = 1 if count == self.largest else 0
        return change, self.largest - self.smallest + change > max_skew


@dataclass(frozen=True)
class Verdict:
    """``refused_by`` is the number of the first constraint that refuses, or -1."""

    score: int
    refused_by: int = -1


@dataclass(frozen=True, kw_only=True)
class DomainCount:
    """How a cluster's domain stands under one constraint. ``domain`` is None if it lacks the key."""

    topology_key: str
    domain: str | None
    count: int
    smallest: int
    largest: int
    max_skew: int
    when_unsatisfiable: str

    def as_dict(self) -> dict[str, t.Any]:
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
class Spread:
    """The constraints over one set of holders. Clusters that share all domains share one verdict."""

    constraints: tuple[TopologySpreadConstraint, ...]
    topology: Topology
    censuses: tuple[Census, ...]
    verdicts: dict[int, Verdict] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, index: FleetIndex, constraints: tuple[TopologySpreadConstraint, ...], held: int) -> Spread:
        keys = tuple(one.topology_key for one in constraints)
        censuses = tuple(
            Census.of({value: (bits & held).bit_count() for value, bits in index.label(key).values.items()})
            for key in keys
        )
        return cls(constraints, index.topology(keys), censuses)

    def verdict(self, group: int) -> Verdict:
        found = self.verdicts.get(group)
        if found is None:
            found = self.verdicts[group] = self._judge(self.topology.groups[group])
        return found

    def verdict_at(self, position: int) -> Verdict:
        return self.verdict(self.topology.group_of[position])

    def refusal(self, position: int) -> Refusal | None:
        number = self.verdict_at(position).refused_by
        if number < 0:
            return None
        return Refusal(NAME, "skew-too-large", self.domains(position)[number].as_dict())

    def domains(self, position: int) -> tuple[DomainCount, ...]:
        """Each constraint's view of a cluster, before it is picked."""
        group = self.topology.groups[self.topology.group_of[position]]
        return tuple(
            DomainCount(
                topology_key=constraint.topology_key,
                domain=domain,
                count=0 if domain is None else census.counts[domain],
                smallest=census.smallest,
                largest=census.largest,
                max_skew=constraint.max_skew,
                when_unsatisfiable=constraint.when_unsatisfiable,
            )
            for constraint, census, domain in zip(self.constraints, self.censuses, group, strict=True)
        )

    def _judge(self, domains: tuple[str | None, ...]) -> Verdict:
        score = 0
        rows = zip(self.constraints, self.censuses, domains, strict=True)
        for number, (constraint, census, domain) in enumerate(rows):
            if domain is None:
                continue
            change, violated = census.effect(census.counts[domain], constraint.max_skew)
            if not violated:
                score -= change
            elif constraint.when_unsatisfiable == "DoNotSchedule":
                return Verdict(0, number)
            else:
                score -= PENALTY
        return Verdict(score)
