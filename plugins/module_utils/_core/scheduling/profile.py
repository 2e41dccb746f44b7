# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The filters that look at one cluster alone (affinity, eligibility, namespace, taints), one after another in the order
of KubeFleet's scheduler."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..errors import Problem
from .cluster_affinity import ClusterAffinityFilter
from .cluster_eligibility import ClusterEligibility
from .namespace_affinity import NamespaceAffinity
from .reasons import ClusterBlocker
from .request import SchedulingRequest
from .taint_toleration import TaintToleration


class Filter(t.Protocol):
    """What all filters have; positions are those of the index. A cluster in ``passing`` has neither a ``refusal`` nor
    ``blockers``; any other has both."""

    @property
    def passing(self) -> int:
        """The clusters that pass, as a bit set by position."""

    def refusal(self, position: int) -> ClusterBlocker | None:
        """Why the cluster at a position does not pass, as upstream gives it: the first reason, or one with a part for
        each alternative."""

    def blockers(self, position: int) -> t.Iterator[ClusterBlocker]:
        """All that the filter has against the cluster at a position, in upstream's order."""


@dataclass(frozen=True)
class Profile:
    """Filters that do not depend on who holds the placement; same placement and topology spread come after them.
    ``passing`` are the clusters that all pass, as a bit set by position; ``findings`` are those of affinity."""

    filters: tuple[Filter, ...]
    passing: int
    findings: tuple[Problem, ...]

    @classmethod
    def of(cls, asked: SchedulingRequest) -> Profile:
        """The filters, judged for all clusters; FleetError as of ``ClusterAffinityFilter.of``."""
        affinity = ClusterAffinityFilter.of(asked.index, asked.required, upstream=asked.upstream)
        filters: tuple[Filter, ...] = (
            affinity,
            ClusterEligibility(asked.index),
            NamespaceAffinity(asked.index, asked.namespace, asked.upstream),
            TaintToleration.of(asked.index, asked.policy.tolerations),
        )
        passing = asked.index.everyone
        for each in filters:
            passing &= each.passing
        return cls(filters, passing, affinity.findings)

    def refusal(self, position: int) -> ClusterBlocker | None:
        """The refusal of the first filter that does not pass the cluster; None if all do."""
        for each in self.filters:
            if not each.passing >> position & 1:
                return each.refusal(position)
        return None

    def blockers(self, position: int) -> t.Iterator[ClusterBlocker]:
        """Everything that any filter has against a cluster, in the order in which they judge."""
        for each in self.filters:
            if not each.passing >> position & 1:
                yield from each.blockers(position)
