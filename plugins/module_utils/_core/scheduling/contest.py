# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Why a cluster that holds a PickN placement has won, its score against the best that was not picked (``rival``), and
why one that passes was not picked, its score against a holder's; what decided (``decidedBy``), term by term."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from functools import cached_property

from ..objects.placements.binding import ClusterDecision, ClusterScore
from ..objects.placements.policy import PICK_N
from .cycle import Scheduled, schedule
from .picking.bindings import CREATED, DROPPED, REBASED, RESTORED
from .picking.decisions import MOST_UNSELECTED, SCORED
from .preferred_affinity import PreferredAffinity, TermScore
from .topology_spread import TopologySpread

# Where the scores are from: this very decision, the recorded one, or one that is made afresh on the facts of now.
DECIDED, RECORDED, NOW = "decided", "recorded", "now"
SPREAD, AFFINITY, NAME, HELD = "spread", "affinity", "name", "held"
FROM = {
    DECIDED: "as it is decided now",
    RECORDED: "as it was recorded with the decision",
    NOW: "as it would be decided now if no cluster held it, for no loser is recorded",
}
LOST_FROM = {**FROM, NOW: "as it would be decided now if no cluster held it, for no score of it is recorded"}
BY = {
    SPREAD: "the better spread counts first",
    AFFINITY: "the higher affinity counts",
    NAME: "of equal scores the name that sorts last is taken, as KubeFleet does",
    HELD: "of equal scores the one that held the placement before is taken",
}
KEEPS = "{} keeps the placement until its policy is edited; by these scores it would not be picked first then."


@dataclass(frozen=True, kw_only=True)
class Contest:
    """``known`` says where the scores are from: ``decided`` now, ``recorded``, or of a decision made afresh (``now``).
    ``rival`` is the best cluster that was not picked, or one that by these scores would be picked before; empty without
    one. ``rule`` is what decided: spread, affinity, name or held; empty without a rival, and where by these scores the
    loser would win. ``terms`` are pairs of the cluster and its rival (None if that is not in the fleet), by preferred
    term and today's facts. With ``lost`` the cluster was not picked, and the ``rival`` holds the placement."""

    cluster: str
    known: str
    score: ClusterScore
    rival: str = ""
    rival_score: ClusterScore | None = None
    rule: str = ""
    terms: tuple[tuple[TermScore, TermScore | None], ...] = ()
    lost: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """The contest in sentences: both scores and where they are from, or that no other is left; what decided, if
        that is known; one for each preferred term; and, of a recorded contest, that its affinity is another today, if
        it is."""
        has = f"it has {_words(self.score)}"
        if self.lost and self.rival_score is not None:
            holds = "is picked" if self.known == DECIDED else "holds the placement"
            first = f"{has}; {self.rival} {holds} with {_words(self.rival_score)}: {LOST_FROM[self.known]}."
            return (first, f"{BY[self.rule]}." if self.rule else KEEPS.format(self.rival), *self._term_lines)
        if not self.rival or self.rival_score is None:
            if self.known == RECORDED:
                return (f"{has}, and no cluster that passed was left over when that was decided.", *self._term_lines)
            return (f"{has}, and no cluster that passes is left over, {FROM[self.known]}.", *self._term_lines)
        loses = "would be picked before it" if not self.rule else "is the best that was not picked"
        first = f"{has}; {self.rival} {loses}, with {_words(self.rival_score)}: {FROM[self.known]}."
        return (first, *([f"{BY[self.rule]}."] if self.rule else []), *self._term_lines)

    @property
    def _term_lines(self) -> list[str]:
        """A sentence for each preferred term, and one more where a recorded affinity is not that of today's facts."""
        lines = [_term_line(self.cluster, own, self.rival, other) for own, other in self.terms]
        total = sum(own.score for own, _other in self.terms)
        if self.known == RECORDED and self.terms and total != (self.score.affinity_score or 0):
            lines.append(f"these terms are of the facts of now, by which it has affinity {total}.")
        return lines

    def as_dict(self) -> dict[str, t.Any]:
        """Plain data: ``known``, ``score``, ``rival``, ``rivalScore`` and ``decidedBy`` (the rule), None where there is
        none; scores as ``spread`` and ``affinity``, 0 for what was not scored; ``rivalTerms``, the rival's half of
        ``terms``."""
        return {
            "known": self.known,
            "score": _plain(self.score),
            "rival": self.rival or None,
            "rivalScore": _plain(self.rival_score) if self.rival_score else None,
            "decidedBy": self.rule or None,
            "rivalTerms": [other.as_dict() for _own, other in self.terms if other],
        }


@dataclass(frozen=True)
class Contests:
    """The contests of one placement by its scheduling ``outcome``; ``recorded`` are the decisions of its policy
    snapshot. Losers are compared with holders ``among`` these names rather than with others."""

    outcome: Scheduled
    recorded: tuple[ClusterDecision, ...] = ()
    among: tuple[str, ...] = ()

    @cached_property
    def afresh(self) -> Scheduled:
        """The placement as it would be decided now if no cluster held it. FleetError as of ``schedule``."""
        asked = self.outcome.asked
        return schedule(asked.placement, asked.snapshot, asked.index, ())

    def contest_of(self, cluster: str) -> Contest | None:
        """The contest that gave the placement to the cluster: as it is decided now, else as recorded, else as it would
        be decided afresh. None for one that does not hold it, for other policies than PickN, and where none was
        recorded and it would be refused today. Of a cluster that keeps it unread only what was recorded. FleetError as
        of ``schedule``."""
        asked, holder = self.outcome.asked, self.outcome.holders.get(cluster)
        if asked.policy.placement_type != PICK_N:
            return None
        if holder is None:
            return self._recorded(cluster) if cluster in self.outcome.unread else None
        change = next((each.what for each in self.outcome.changes if each.cluster == cluster), "")
        score = holder.spec.cluster_decision.cluster_score
        if change in (CREATED, RESTORED, REBASED) and score:
            return self._against(cluster, DECIDED, score, _best_left(self.outcome, cluster), change == REBASED)
        return self._recorded(cluster) or self._contest_now(cluster)

    def lost(self, cluster: str) -> Contest | None:
        """The contest by which the placement went to another cluster. None for a cluster that has it, is refused or is
        not in the fleet, for other policies than PickN, and where there are no two scores to compare. FleetError as of
        ``schedule``."""
        outcome, at = self.outcome, self.outcome.asked.index.positions.get(cluster)
        if outcome.asked.policy.placement_type != PICK_N or at is None or cluster in outcome.staying:
            return None
        if outcome.why_not_picked(at).outcome != SCORED:
            return None
        return (
            self._lost_in(self._decided, cluster, DECIDED)
            or self._lost_recorded(cluster)
            or self._lost_in(self._decided_afresh, cluster, NOW)
            or self._lost_now(cluster)
        )

    @cached_property
    def _rivals(self) -> tuple[str, ...]:
        """The holders that losers are compared with."""
        named = [each for each in self.among if each in self.outcome.holders]
        return tuple(named or self.outcome.holders)

    @cached_property
    def _decided(self) -> t.Sequence[tuple[str, t.Mapping[str, ClusterScore]]]:
        """As of ``_seen_by`` in the very decision."""
        return _seen_by(self.outcome, self._rivals)

    @cached_property
    def _decided_afresh(self) -> t.Sequence[tuple[str, t.Mapping[str, ClusterScore]]]:
        """As of ``_seen_by`` in the decision that is made afresh. FleetError as of ``schedule``."""
        return _seen_by(self.afresh, self._rivals)

    def _lost_in(
        self, seen: t.Sequence[tuple[str, t.Mapping[str, ClusterScore]]], cluster: str, known: str
    ) -> Contest | None:
        """Against the first of the picks that was made when the cluster could have been; None without one."""
        holders = (self.outcome if known == DECIDED else self.afresh).holders
        for rival, left in seen:
            theirs = holders[rival].spec.cluster_decision.cluster_score
            if cluster in left and theirs and rival in self.outcome.holders:
                return self._lost_to(cluster, known, left[cluster], rival, theirs)
        return None

    def _lost_recorded(self, cluster: str) -> Contest | None:
        """By the recorded score of the cluster; None without one, and where no holder's beats it."""
        score = self._score_before(cluster)
        if score is None:
            return None
        holders = self.outcome.holders
        scored = ((name, holders[name].spec.cluster_decision.cluster_score) for name in self._rivals)
        beating = [(name, theirs) for name, theirs in scored if theirs and _rule(name, theirs, cluster, score, True)]
        if not beating:
            return None
        return self._lost_to(cluster, RECORDED, score, *min(beating, key=lambda each: (_rank(each[1]), each[0])))

    def _score_before(self, cluster: str) -> ClusterScore | None:
        """The recorded score of one that was not picked, or by which one that loses the placement now was."""
        dropped = {each.binding for each in self.outcome.changes if each.what == DROPPED and each.cluster == cluster}
        lost = [each.spec.cluster_decision for each in self.outcome.bindings if each.name in dropped]
        return next((each.cluster_score for each in (*lost, *self.recorded) if each.cluster_name == cluster), None)

    def _lost_now(self, cluster: str) -> Contest | None:
        """By a decision without any holder, against a holder that this would not pick; None where it refuses all of
        them, or does not pick the cluster."""
        anew = self.afresh
        at = anew.asked.index.positions
        mine = anew.holders[cluster].spec.cluster_decision.cluster_score if cluster in anew.holders else None
        others = [name for name in (*self._rivals, *self.outcome.holders) if name in at and name not in anew.holders]
        scored = ((name, anew.why_not_picked(at[name]).score) for name in others)
        found = next(((name, theirs) for name, theirs in scored if theirs), None)
        return self._lost_to(cluster, NOW, mine, *found) if mine and found else None

    def _lost_to(self, cluster: str, known: str, score: ClusterScore, rival: str, theirs: ClusterScore) -> Contest:
        """The contest that the cluster lost to the ``rival``."""
        change = next((each.what for each in self.outcome.changes if each.cluster == rival), "")
        held = known != DECIDED or change == REBASED
        return Contest(
            cluster=cluster,
            known=known,
            score=score,
            rival=rival,
            rival_score=theirs,
            rule=_rule(rival, theirs, cluster, score, held),
            terms=self._terms(cluster, rival),
            lost=True,
        )

    def _recorded(self, cluster: str) -> Contest | None:
        """The contest as the policy snapshot has it; None where it has no score for the cluster, no loser, or as many
        losers as KubeFleet lists and none with a score."""
        won = (each.cluster_score for each in self.recorded if each.selected and each.cluster_name == cluster)
        score, losers = next(won, None), [each for each in self.recorded if not each.selected]
        scored = [(each.cluster_name, each.cluster_score) for each in losers if each.cluster_score]
        if score is None or not losers or (not scored and len(losers) >= MOST_UNSELECTED):
            return None
        best = max(scored, key=lambda each: (_rank(each[1]), each[0]), default=None)
        return self._against(cluster, RECORDED, score, best, True)

    def _contest_now(self, cluster: str) -> Contest | None:
        """By a decision without any holder; of a cluster that this would not pick, against the last that it picks. None
        where it refuses the cluster."""
        anew = self.afresh
        winner = anew.holders.get(cluster)
        if winner and (score := winner.spec.cluster_decision.cluster_score):
            return self._against(cluster, NOW, score, _best_left(anew, cluster), False)
        score = anew.why_not_picked(anew.asked.index.positions[cluster]).score
        last = next(reversed(list(anew.ending.held_before)), "")
        theirs = anew.holders[last].spec.cluster_decision.cluster_score if last else None
        if score is None or theirs is None:
            return None
        return self._against(cluster, NOW, score, (last, theirs), False, loses=True)

    def _against(
        self,
        cluster: str,
        known: str,
        score: ClusterScore,
        best: tuple[str, ClusterScore] | None,
        held: bool,
        loses: bool = False,
    ) -> Contest:
        """The contest with the ``best`` other cluster, if any; ``held``: the cluster held the placement before,
        ``loses``: the other would be picked first."""
        rival, other = best or ("", None)
        rule = "" if loses or other is None else _rule(cluster, score, rival, other, held)
        return Contest(
            cluster=cluster,
            known=known,
            score=score,
            rival=rival,
            rival_score=other,
            rule=rule,
            terms=self._terms(cluster, rival),
        )

    def _terms(self, cluster: str, rival: str) -> tuple[tuple[TermScore, TermScore | None], ...]:
        """The ``terms`` of a contest; empty for a cluster that is not in the fleet or could not be read."""
        asked = self.outcome.asked
        at = asked.index.positions
        if cluster not in at or cluster in self.outcome.unread:
            return ()
        preferred = PreferredAffinity.of(asked.index, asked.preferred, upstream=False)
        own = preferred.explained(at[cluster])
        others: t.Sequence[TermScore | None] = preferred.explained(at[rival]) if rival in at else [None] * len(own)
        return tuple(zip(own, others, strict=True))


def _best_left(outcome: Scheduled, picked: str) -> tuple[str, ClusterScore] | None:
    """The best of those of ``_left``; None where there is none."""
    return next(iter(_left(outcome, picked, 1)), None)


def _left(outcome: Scheduled, picked: str, most: int) -> t.Sequence[tuple[str, ClusterScore]]:
    """The candidates that were not picked at all, best first, at most ``most``, with their scores in the cycle that
    picked this cluster; empty where no cycle did."""
    look, held = outcome.ending.look, outcome.ending.held_before.get(picked)
    if look is None or look.ranking is None or held is None:
        return ()
    spread = TopologySpread.of(look.index, look.spread.constraints, held) if look.spread else None
    return look.ranking.best_left(spread, most)


def _seen_by(outcome: Scheduled, rivals: t.Container[str]) -> t.Sequence[tuple[str, t.Mapping[str, ClusterScore]]]:
    """The last of the ``rivals`` that was picked, and the last of all, each with ``_left`` by name."""
    picks = list(reversed(list(outcome.ending.held_before)))
    last = [*[each for each in picks if each in rivals][:1], *picks[:1]]
    size = outcome.asked.index.size
    return [(each, dict(_left(outcome, each, size))) for each in dict.fromkeys(last)]


def _rule(cluster: str, score: ClusterScore, rival: str, other: ClusterScore, held: bool) -> str:
    """What decided for the cluster: SPREAD, AFFINITY, then HELD or NAME; empty where the rival's score is better."""
    mine, theirs = _rank(score), _rank(other)
    if mine[0] != theirs[0]:
        return SPREAD if mine[0] > theirs[0] else ""
    if mine[1] != theirs[1]:
        return AFFINITY if mine[1] > theirs[1] else ""
    return HELD if held and cluster < rival else NAME


def _rank(score: ClusterScore | None) -> tuple[int, int]:
    """Spread and affinity, in the order in which they count; 0 for what was not scored."""
    return ((score.priority_score or 0), (score.affinity_score or 0)) if score else (0, 0)


def _words(score: ClusterScore) -> str:
    """The score in words, without a spread of 0."""
    spread, affinity = _rank(score)
    return f"spread {spread} and affinity {affinity}" if spread else f"affinity {affinity}"


def _plain(score: ClusterScore) -> dict[str, int]:
    """The score as plain data, 0 for what was not scored."""
    spread, affinity = _rank(score)
    return {"spread": spread, "affinity": affinity}


def _term_line(cluster: str, own: TermScore, rival: str, other: TermScore | None) -> str:
    """What a term gives the cluster and its rival, as a sentence, with the fleet's extremes where they differ."""
    about = f", {own.property} {own.sort_order}" if own.property else ", labels"
    parts = [_gets(cluster, own), *([_gets(rival, other)] if other else [])]
    span = ""
    if own.minimum is not None and own.maximum is not None and own.minimum != own.maximum:
        span = f"; the fleet has {own.minimum} ({own.minimum_cluster}) to {own.maximum} ({own.maximum_cluster})"
    return f"term {own.term}, weight {own.weight}{about}: {', '.join(parts)}{span}."


def _gets(cluster: str, term: TermScore) -> str:
    """What a cluster has and what a term gives it, in words."""
    if term.code == "label-mismatch":
        return f"{cluster} does not have its labels and gets {term.score}"
    if not term.property:
        return f"{cluster} gets {term.score}"
    has = f"{cluster} reports none" if term.observed is None else f"{cluster} has {term.observed}"
    return f"{has} and gets {term.score}"
