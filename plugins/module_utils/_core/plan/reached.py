# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""On how many of its clusters all of a placement is applied, and on how many it is available: the one is not yet the
other."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..objects.identity import ObjectId
from ..resources.availability import NOT_YET
from .document import LOST, PlacementPlan
from .outcome import MemberOutcome


@dataclass(frozen=True, kw_only=True)
class Reached:
    """Numbers of clusters: those that are to hold the placement, those that hold all of it now, and those of them where
    everything is available. ``waiting`` are the objects that are not, by cluster."""

    clusters: int
    applied: int
    available: int
    waiting: t.Mapping[str, tuple[ObjectId, ...]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, t.Any]:
        """The numbers and the objects as results have them."""
        waiting = {cluster: [str(each) for each in late] for cluster, late in self.waiting.items()}
        return {
            "clusters": self.clusters,
            "applied": self.applied,
            "available": self.available,
            "waiting": waiting,
        }


def reached(plan: PlacementPlan, outcomes: t.Mapping[str, MemberOutcome]) -> Reached | None:
    """How far the clusters are that are to hold the placement, by what was seen of them; None where nobody has looked,
    or nothing is to be applied. One that could not be looked at counts as one that does not hold it."""
    staying = [each.cluster for each in plan.clusters if each.change != LOST]
    if plan.reports_only or not staying or not outcomes:
        return None
    seen = {name: outcomes[name] for name in staying if name in outcomes and outcomes[name].error is None}
    applied = {name: each for name, each in seen.items() if not each.failures and (each.done or not each.changes)}
    late = {
        name: tuple(sorted(one for one, judged in (each.availability or {}).items() if judged == NOT_YET))
        for name, each in applied.items()
    }
    waiting = {name: found for name, found in late.items() if found}
    return Reached(clusters=len(staying), applied=len(applied), available=len(applied) - len(waiting), waiting=waiting)
