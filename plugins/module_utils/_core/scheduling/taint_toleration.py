# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Filter ``TaintToleration`` (KubeFleet scheduler): every taint of a cluster must be tolerated
(``taint-not-tolerated``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..objects.clusters.tolerations import first_untolerated, untolerated
from ..objects.placements.policy import Toleration
from .index import FleetIndex
from .reasons import ClusterBlocker

NAME = "TaintToleration"


@dataclass(frozen=True)
class TaintToleration:
    """The filter over a fleet; ``passing`` are the clusters whose taints are all tolerated, as a bit set by
    position."""

    index: FleetIndex
    tolerations: tuple[Toleration, ...]
    passing: int
    name: t.ClassVar[str] = NAME

    @classmethod
    def of(cls, index: FleetIndex, tolerations: tuple[Toleration, ...]) -> TaintToleration:
        """The filter, judged for all clusters."""
        passing = 0
        for taints, carriers in index.taint_sets.items():
            if first_untolerated(taints, tolerations) is None:
                passing |= carriers
        return cls(index, tolerations, passing)

    def refusal(self, position: int) -> ClusterBlocker | None:
        """The first taint of the cluster at a position that is not tolerated; None if all are."""
        return next(self.blockers(position), None)

    def blockers(self, position: int) -> t.Iterator[ClusterBlocker]:
        """Each taint of the cluster at a position that is not tolerated (``taint-not-tolerated``), in its order
        there."""
        for taint in untolerated(self.index.clusters[position].taints, self.tolerations):
            text = f"{taint.key}={taint.value}" if taint.value else taint.key
            yield ClusterBlocker(NAME, "taint-not-tolerated", {"taint": f"{text}:{taint.effect}"})
