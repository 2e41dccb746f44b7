# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How far a placement is: on how many of its clusters all of it is applied, and on how many it is available, which
clusters keep the old version, and whether something is still waited for."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..objects.identity import ObjectId
from ..resources.availability import NOT_YET
from ..values.listed import number_of
from .document import LOST, PlacementPlan
from .outcome import MemberOutcome


@dataclass(frozen=True, kw_only=True)
class Reached:
    """Numbers of clusters: those that are to hold the placement, those that hold all of it now, and those of them where
    everything is available. ``waiting`` are the objects that are not, by cluster. ``replacing``: a new version takes
    the place of an old one; ``keeping`` are clusters that were looked at and where nothing of the new one was written
    yet."""

    clusters: int
    applied: int
    available: int
    waiting: t.Mapping[str, tuple[ObjectId, ...]] = field(default_factory=dict)
    replacing: bool = False
    keeping: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """How far it is, in numbers, and how many clusters keep an old version that is replaced."""
        if not self.replacing:
            clusters = number_of(self.clusters, "cluster")
            return f"applied on {self.applied:,} of {clusters}, {self.available:,} of {self.clusters:,} available"
        said = (
            f"new version on {self.applied:,} of {number_of(self.clusters, 'cluster')}, available on {self.available:,}"
        )
        return "; ".join(filter(None, [said, self.keeping_sentence]))

    @property
    def keeping_sentence(self) -> str:
        """How many clusters keep the old version, in words; empty for none."""
        count = len(self.keeping)
        return f"{count} keep{'s' if count == 1 else ''} the old one" if count else ""

    def as_dict(self) -> dict[str, t.Any]:
        """``clusters``, ``applied`` and ``available`` as numbers, ``waiting`` (objects as text, by cluster) and
        ``keeping``; without ``replacing``."""
        waiting = {cluster: [str(each) for each in late] for cluster, late in self.waiting.items()}
        return {
            "clusters": self.clusters,
            "applied": self.applied,
            "available": self.available,
            "waiting": waiting,
            "keeping": list(self.keeping),
        }


def reached(plan: PlacementPlan, outcomes: t.Mapping[str, MemberOutcome]) -> Reached | None:
    """How far the clusters are that are to hold the placement, by what was seen of them; None where nobody has looked,
    nothing is to be applied (ReportDiff), or no cluster is to hold it. One that could not be looked at counts as one
    that does not hold it; an object whose availability cannot be told counts as available."""
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
    replaced = [each.cluster for each in plan.clusters if each.outdated]
    return Reached(
        clusters=len(staying),
        applied=len(applied),
        available=len(applied) - len(waiting),
        waiting=waiting,
        replacing=bool(replaced),
        keeping=tuple(name for name in replaced if name in seen and _is_as_before(seen[name])),
    )


def waits_for_availability(plan: PlacementPlan, outcomes: t.Mapping[str, MemberOutcome]) -> bool:
    """Whether something is not available yet on a cluster where all is applied; a rollout that waits to the end stays
    for that. False where staged runs change the clusters, and where ``reached`` has None."""
    far = None if plan.is_by_staged_runs else reached(plan, outcomes)
    return far is not None and bool(far.waiting)


def _is_as_before(outcome: MemberOutcome) -> bool:
    """Whether something is due there, and nothing of it was written or failed."""
    return not outcome.done and not outcome.failures and bool(outcome.changes)
