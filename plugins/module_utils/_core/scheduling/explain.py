# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Why one cluster is picked or not (``explain``), with every number that led there, or each cluster of the fleet in a
sentence: read from the scheduling itself, or of a placement that is being deleted (``explain_end``);
``unknown-cluster``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..errors import FleetError, Problem
from ..objects.placements.binding import UNSCHEDULED, ClusterResourceBinding, ClusterScore
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..objects.placements.policy import PICK_FIXED, PICK_N
from ..schema.hints import most_like
from . import bitset, cluster_eligibility, reasons
from .cycle import Scheduled
from .index import FleetIndex
from .picking.bindings import DROPPED, REBASED, RELEASED
from .picking.decisions import PickDecision
from .preferred_affinity import PreferredAffinity, TermScore
from .reasons import ClusterBlocker
from .topology_spread import DomainCount, TopologySpread


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """One cluster's answer. ``picked``: it has the placement afterwards, also where it only keeps it unread.
    ``changes`` are what scheduling does to its bindings, as of ``BindingChange``, in order: an old one that is being
    deleted is released, and the cluster picked anew. ``would_refuse`` is why a cluster that holds the placement would
    not be picked afresh. Upstream stops at the first reason, as ``refusal`` and ``would_refuse`` do; ``blockers`` are
    all of them, in upstream's order. ``score`` is None where nothing was scored; ``terms`` and ``spread`` are of PickN
    alone, ``findings`` of the whole scheduling."""

    placement: str
    cluster: str
    picked: bool
    sentence: str
    changes: tuple[str, ...] = ()
    refusal: ClusterBlocker | None = None
    would_refuse: ClusterBlocker | None = None
    blockers: tuple[ClusterBlocker, ...] = ()
    score: ClusterScore | None = None
    terms: tuple[TermScore, ...] = ()
    spread: tuple[DomainCount, ...] = ()
    findings: tuple[Problem, ...] = ()

    @property
    def change(self) -> str:
        """Of ``changes`` the one that the cluster ends with, as of ``Verdict``."""
        return _last(self.changes)

    def as_dict(self) -> dict[str, t.Any]:
        """Plain data, in camelCase; ``score`` as ``affinityScore`` and ``topologySpreadScore``, None without one.
        ``spread`` are the counts with which the last cycle began, or those of now where none was needed."""
        score = self.score
        return {
            "placement": self.placement,
            "cluster": self.cluster,
            "picked": self.picked,
            "sentence": self.sentence,
            "change": self.change,
            "changes": list(self.changes),
            "refusal": self.refusal.as_dict() if self.refusal else None,
            "wouldRefuse": self.would_refuse.as_dict() if self.would_refuse else None,
            "blockers": [each.as_dict() for each in self.blockers],
            "affinityScore": score.affinity_score if score else None,
            "topologySpreadScore": score.priority_score if score else None,
            "terms": [each.as_dict() for each in self.terms],
            "spread": [each.as_dict() for each in self.spread],
            "findings": [each.as_dict() for each in self.findings],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """An explanation as one sentence; the fields mean what they mean there. ``change`` is the last of its changes
    (``created``, ``rebased``, ``restored``, ``unscheduled``), or ``finalizer-removed`` where there is no other; empty
    for none."""

    cluster: str
    picked: bool
    change: str
    sentence: str


def explain_outcome(outcome: Scheduled, cluster: str) -> Explanation:
    """Why a cluster was picked or not by a scheduling that was done already. FleetError ``unknown-cluster`` if neither
    the fleet nor the policy knows it, nor a binding that is Unscheduled or holds the placement."""
    asked, position = outcome.asked, outcome.asked.index.positions.get(cluster)
    changes = tuple(each.what for each in outcome.changes if each.cluster == cluster)
    holder = outcome.holders.get(cluster)
    unread = outcome.unread.get(cluster)
    decision = None if holder or unread else _decision(outcome, cluster, position)
    scored = asked.policy.placement_type == PICK_N and position is not None
    would_refuse = unread or outcome.holders_refused_today.get(cluster)
    blockers = _blockers(outcome, position, decision, would_refuse)
    terms: tuple[TermScore, ...] = ()
    spread: tuple[DomainCount, ...] = ()
    if scored and position is not None:
        terms = PreferredAffinity.of(asked.index, asked.preferred, upstream=False).explained(position)
        spread = _spread(outcome).domains(position)
    return Explanation(
        placement=str(asked.placement.key),
        cluster=cluster,
        picked=decision is None,
        sentence=_sentence(cluster, changes, holder, decision, unread, would_refuse, blockers),
        changes=changes,
        refusal=decision.refusal if decision else None,
        would_refuse=would_refuse,
        blockers=blockers,
        score=(holder.spec.cluster_decision.cluster_score if holder else None)
        or (decision.score if decision else None),
        terms=terms,
        spread=spread,
        findings=outcome.findings,
    )


def explain_end(
    placement: ClusterResourcePlacement, holders: t.Container[str], index: FleetIndex, cluster: str
) -> Explanation:
    """The answer of a placement that is being deleted: no cluster has it afterwards. ``holders`` are the clusters with
    a binding. FleetError ``unknown-cluster`` for one that is neither in the fleet nor among these."""
    holds = cluster in holders
    if not holds and cluster not in index.positions:
        raise _unknown_cluster(cluster, index)
    verb = "loses the placement" if holds else "is not picked"
    sentence = f"{cluster} {verb}: the placement is being deleted."
    changes = (DROPPED,) if holds else ()
    return Explanation(placement=str(placement.key), cluster=cluster, picked=False, sentence=sentence, changes=changes)


def verdicts(outcome: Scheduled) -> t.Iterator[Verdict]:
    """The answers of ``explain_outcome`` for all clusters of the fleet, in the order of the index, without numbers."""
    by_cluster: dict[str, list[str]] = {}
    for one in outcome.changes:
        by_cluster.setdefault(one.cluster, []).append(one.what)
    for position, cluster in enumerate(outcome.asked.index.names):
        holder, changes = outcome.holders.get(cluster), by_cluster.get(cluster, ())
        unread = outcome.unread.get(cluster)
        decision = None if holder or unread else _decision(outcome, cluster, position)
        would_refuse = unread or outcome.holders_refused_today.get(cluster)
        blockers = _blockers(outcome, position, decision, would_refuse)
        sentence = _sentence(cluster, changes, holder, decision, unread, would_refuse, blockers)
        yield Verdict(cluster=cluster, picked=decision is None, change=_last(changes), sentence=sentence)


def _decision(outcome: Scheduled, cluster: str, position: int | None) -> PickDecision:
    """Why a cluster holds nothing. FleetError ``unknown-cluster`` as of ``explain_outcome``."""
    if outcome.asked.policy.placement_type == PICK_FIXED:
        found = next((each for each in outcome.left_out if each.cluster == cluster), None)
        if found:
            return found
        if position is not None:
            return PickDecision(cluster, reasons.NOT_NAMED, refusal=ClusterBlocker(PICK_FIXED, reasons.NOT_NAMED))
    elif position is not None:
        return outcome.why_not_picked(position)
    if any(each.spec.target_cluster == cluster for each in outcome.bindings if each.spec.state == UNSCHEDULED):
        return PickDecision(cluster, reasons.GONE, refusal=ClusterBlocker("ClusterEligibility", reasons.GONE))
    raise _unknown_cluster(cluster, outcome.asked.index)


def _unknown_cluster(cluster: str, index: FleetIndex) -> FleetError:
    """The FleetError ``unknown-cluster``, with names like it, given back, not raised."""
    close = most_like(cluster, index.names, 3, 0.6)
    hint = f"did you mean {', '.join(close)}?" if close else ""
    return FleetError("unknown-cluster", f"no cluster of the fleet is named {cluster!r}", "", hint)


def _blockers(
    outcome: Scheduled, position: int | None, decision: PickDecision | None, would_refuse: ClusterBlocker | None
) -> tuple[ClusterBlocker, ...]:
    """All that is against a cluster; a refusal that no filter made (not named, not needed) stands alone or first."""
    refusal = decision.refusal if decision else would_refuse
    if refusal is None or position is None:
        return (refusal,) if refusal else ()
    index = outcome.asked.index
    if outcome.asked.policy.placement_type == PICK_FIXED:
        not_named = (refusal,) if refusal.code == reasons.NOT_NAMED else ()
        return (*not_named, *cluster_eligibility.faults(index.clusters[position], index.now))
    look = outcome.look
    found = tuple(look.blockers(position) if decision else look.profile.blockers(position))
    return found or (refusal,)


def _spread(outcome: Scheduled) -> TopologySpread:
    """The constraints as the last cycle saw them, or as they are where no cycle was needed."""
    asked = outcome.asked
    if outcome.look.spread:
        return outcome.look.spread
    held = bitset.of([asked.index.positions[name] for name in outcome.holders], asked.index.size)
    return TopologySpread.of(asked.index, asked.constraints, held)


def _last(changes: t.Sequence[str]) -> str:
    """What a cluster of these changes ends with, as of ``Verdict``."""
    return next((each for each in reversed(changes) if each != RELEASED), changes[-1] if changes else "")


def _sentence(
    cluster: str,
    changes: t.Sequence[str],
    holder: ClusterResourceBinding | None,
    decision: PickDecision | None,
    unread: ClusterBlocker | None,
    would_refuse: ClusterBlocker | None,
    blockers: tuple[ClusterBlocker, ...],
) -> str:
    """Why the cluster is picked or not, loses or keeps the placement, in words, and what else stands against it."""
    change = _last(changes)
    if RELEASED in changes:
        further = [each for each in changes if each != RELEASED]
        then = _sentence(cluster, further, holder, decision, unread, would_refuse, blockers)
        return f"{cluster} has an old binding, which is released, as it is being deleted; {then}"
    why, *others = [each.sentence for each in blockers] or [""]
    besides = f" Besides: {'; '.join(others)}." if others else ""
    if decision:
        verb = "loses the placement" if change == DROPPED else "is not picked"
        return f"{cluster} {verb}: {why}.{besides}"
    if unread:
        return f"{cluster} {reasons.keeps_unread(unread)}."
    if holder and change:
        verb = "keeps the placement under the changed policy:" if change == REBASED else "is"
        return f"{cluster} {verb} {holder.spec.cluster_decision.reason}."
    if would_refuse:
        return f"{cluster} keeps the placement, though it would not be picked afresh: {why}.{besides}"
    return f"{cluster} keeps the placement, which it holds under this policy already."
