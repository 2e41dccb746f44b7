# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Scheduling decisions, one line for a cluster: what a cycle saw, the filter that refused a cluster first, and the
limited list (1000, and 20 that were not picked) that KubeFleet puts into the status of a policy snapshot."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from itertools import islice

from ...objects.placements.binding import ClusterDecision, ClusterScore
from ..index import FleetIndex
from ..profile import Profile
from ..reasons import EQUAL_SCORE, NOT_ENOUGH_SCORE, ClusterBlocker
from ..topology_spread import TopologySpread
from .bindings import Bindings
from .ranking import Ranking

PICKED, SCORED, FILTERED, INELIGIBLE, NOT_FOUND = "picked", "scored", "filtered", "ineligible", "not-found"
# The API takes no more decisions; KubeFleet lists no more clusters that were not picked.
MOST_DECISIONS, MOST_UNSELECTED = 1000, 20


@dataclass(frozen=True)
class PickDecision:
    """``outcome`` is picked, scored (passed, but the score was too low, or no more are needed), filtered, ineligible or
    not-found; in explanations not-named and gone, too. ``score`` is None where nothing was scored; a picked one has a
    ``note`` in place of a ``refusal``."""

    cluster: str
    outcome: str
    score: ClusterScore | None = None
    refusal: ClusterBlocker | None = None
    note: str = ""

    @property
    def selected(self) -> bool:
        """Whether the cluster is picked."""
        return self.outcome == PICKED

    @property
    def rule(self) -> str:
        """Who refused the cluster: a plugin's name, ``PickFixed``, or a code of the ranking; empty if picked."""
        return self.refusal.rule if self.refusal else ""

    @property
    def reason(self) -> str:
        """Why it is not picked, without a full stop; for a picked one the note on that."""
        return self.refusal.sentence if self.refusal else self.note

    def as_cluster_decision(self) -> ClusterDecision:
        """The form of ``clusterDecision`` in bindings and policy snapshots."""
        return ClusterDecision(
            cluster_name=self.cluster, selected=self.selected, reason=self.reason, cluster_score=self.score
        )


@dataclass(frozen=True)
class CycleView:
    """What one cycle saw. ``ranking`` holds who passed and was not picked; None where nothing was scored. ``spread`` is
    None where no constraint was asked."""

    index: FleetIndex
    profile: Profile
    ranking: Ranking | None = None
    spread: TopologySpread | None = None

    def filtered(self) -> t.Iterator[tuple[int, ClusterBlocker]]:
        """By name, position and refusal of each cluster that a filter refuses, holders among them, and of each
        candidate left that a spread constraint refuses."""
        late = self.ranking.refused(self.spread) if self.ranking else 0
        refused = self.index.everyone & ~self.profile.passing | late
        while refused:
            low = refused & -refused
            position = low.bit_length() - 1
            refused ^= low
            refusal = self.refusal(position)
            if refusal:
                yield position, refusal

    def refusal(self, position: int) -> ClusterBlocker | None:
        """The first refusal of the cluster at a position by a filter or a spread constraint; None if nothing refuses
        it."""
        early = self.profile.refusal(position)
        return early or (self.spread.refusal(position) if self.spread else None)

    def blockers(self, position: int) -> t.Iterator[ClusterBlocker]:
        """Everything that filters and spread constraints have against the cluster at a position, in this order."""
        yield from self.profile.blockers(position)
        if self.spread:
            yield from self.spread.blockers(position)


def decisions_of_bindings(book: Bindings, names: t.Sequence[str]) -> list[PickDecision]:
    """The picked decisions that the first 1000 of these bindings record, in their order. KeyError for an unknown
    name."""
    rows = []
    for name in names[:MOST_DECISIONS]:
        spec = book.by_name[name].spec
        decision = spec.cluster_decision
        rows.append(PickDecision(spec.target_cluster, PICKED, decision.cluster_score, None, decision.reason))
    return rows


def limited(selected: list[PickDecision], look: CycleView | None, *, upstream: bool) -> tuple[PickDecision, ...]:
    """At most 1000 decisions: the selected ones first, then up to 20 others, the best scored and then filtered ones by
    name. Without a ``look`` the selected ones alone. Upstream's limit counts holders that a filter refuses although it
    does not list them."""
    if look is None or len(selected) >= MOST_DECISIONS:
        return tuple(selected[:MOST_DECISIONS])
    room = min(MOST_UNSELECTED, MOST_DECISIONS - len(selected))
    equal = last_picked_by_score(selected)
    left = look.ranking.best_left(look.spread, room) if look.ranking else []
    others = [scored(name, score, equal.get(score, "")) for name, score in left]
    chosen = {decision.cluster for decision in selected}
    rows = (
        (look.index.names[position], refusal)
        for position, refusal in look.filtered()
        if upstream or look.index.names[position] not in chosen
    )
    for name, refusal in islice(rows, room - len(others)):
        if name not in chosen:
            others.append(PickDecision(name, FILTERED, None, refusal))
    return (*selected, *others)


def last_picked_by_score(decisions: t.Iterable[PickDecision]) -> dict[ClusterScore, str]:
    """By score the last of the clusters that are picked with it, in the order given."""
    return {each.score: each.cluster for each in decisions if each.selected and each.score}


def scored(name: str, score: ClusterScore, equal: str = "") -> PickDecision:
    """A cluster that could have been picked, but that others stand before: with higher scores, or, where ``equal``
    names the last of them, with the same one."""
    details = {"spread": score.priority_score, "affinity": score.affinity_score}
    blocker = ClusterBlocker(NOT_ENOUGH_SCORE, NOT_ENOUGH_SCORE, details)
    if equal:
        blocker = ClusterBlocker(NOT_ENOUGH_SCORE, EQUAL_SCORE, {**details, "before": equal})
    return PickDecision(name, SCORED, score, blocker)
