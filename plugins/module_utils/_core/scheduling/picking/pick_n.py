# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placement type PickN (KubeFleet scheduler): the best N clusters, in batches of one where spread is constrained
(``skew-beyond-repair``); which holders go when ``numberOfClusters`` is lowered."""

from __future__ import annotations

from ...errors import FleetError, Problem
from ...objects.placements.binding import BOUND, SCHEDULED, ClusterScore
from ...scheduling import same_placement_affinity
from ..preferred_affinity import PreferredAffinity
from ..profile import Profile
from ..reasons import BEST
from ..request import SchedulingRequest
from ..topology_spread import TopologySpread
from .bindings import Bindings, Pick, Taken
from .decisions import CycleView, decisions_of_bindings
from .ending import PickResult, order_of
from .ranking import Ranking


class CycleFailed(Exception):
    """Upstream's failure in one of the cycles: ``cycle`` counts from 1, ``cause`` is what it fails of."""

    def __init__(self, cycle: int, cause: FleetError) -> None:
        super().__init__(str(cause))
        self.cycle = cycle
        self.cause = cause


def pick_n(asked: SchedulingRequest, book: Bindings) -> PickResult:
    """Raises the number of current holders in ``book`` to N as far as clusters pass, the best first, or lowers it to N:
    Scheduled ones go before Bound ones, and of each the lowest recorded score first, one without before all. Obsolete
    holders go, but for those whose clusters are picked again. Where the number is raised, findings are those of
    ``Profile`` and ``PreferredAffinity``, ``skew-beyond-repair`` for a constraint that refuses every cluster with its
    key, and, but for upstream, ``property-unreported`` and ``price-unknown``. FleetError ``missing-field`` without N;
    CycleFailed where upstream fails."""
    wanted = asked.policy.number_of_clusters
    if wanted is None:
        where = f"{asked.placement.kind}/{asked.placement.key} spec.policy.numberOfClusters"
        raise FleetError("missing-field", "PickN needs numberOfClusters", where, "say how many clusters are wanted")
    if wanted <= len(book.current):
        return _lower(book, wanted)
    cycle, state = 1, None
    try:
        state = _Round(asked, book)
        while not state.take(wanted):
            cycle += 1
    except FleetError as error:
        raise CycleFailed(cycle, error) from error
    order = order_of(book, state.taken)
    return PickResult(
        selected=decisions_of_bindings(book, order),
        count=len(order),
        wanted=wanted,
        fulfilled=len(order) >= wanted,
        look=state.look,
        findings=(*state.profile.findings, *state.preferred.findings, *state.undecided, *_beyond_repair(state.look)),
        cycles=cycle,
        held_before=state.held_before,
    )


def _beyond_repair(look: CycleView | None) -> list[Problem]:
    """The findings ``skew-beyond-repair``: constraints that refuse every cluster with their key until somebody evens
    the domains out by hand."""
    spread = look.spread if look else None
    if not spread:
        return []
    return [
        Problem(
            "skew-beyond-repair",
            f"domains of {one.topology_key} hold {census.smallest} to {census.largest} clusters, more than maxSkew "
            f"{one.max_skew} + 1 apart, so the constraint refuses every cluster that carries the key",
            f"spec.policy.topologySpreadConstraints[{number}]",
            "lower numberOfClusters for one run, or use ScheduleAnyway",
        )
        for number, (one, census) in enumerate(zip(spread.constraints, spread.censuses, strict=True))
        if one.when_unsatisfiable == "DoNotSchedule" and census.largest - census.smallest > one.max_skew + 1
    ]


def _lower(book: Bindings, wanted: int) -> PickResult:
    """The result after obsolete bindings went, then as many current ones as are over ``wanted``, as of ``pick_n``. The
    order of what it lists is upstream's."""
    surplus = len(book.current) - wanted
    scheduled, bound = book.in_state(SCHEDULED), book.in_state(BOUND)
    if not surplus and not book.obsolete:
        order = [*bound, *scheduled]
    else:
        book.drop_listed(book.obsolete)
        keep_scheduled = _trim(book, scheduled, min(surplus, len(scheduled)))
        order = [*keep_scheduled, *_trim(book, bound, max(0, surplus - len(scheduled)))]
    return PickResult(selected=decisions_of_bindings(book, order), count=len(order), wanted=wanted, fulfilled=True)


def _trim(book: Bindings, names: list[str], count: int) -> list[str]:
    """Drops ``count`` of the bindings, the lowest recorded score first; gives those that stay, in order of score if any
    went."""
    if not count:
        return names
    ordered = sorted(names, key=lambda name: _recorded(book, name))
    book.drop_listed(ordered[:count])
    return ordered[count:]


def _recorded(book: Bindings, name: str) -> tuple[bool, int, int, str]:
    """The score at the time of the pick: (none comes first, spread, affinity, cluster)."""
    spec = book.by_name[name].spec
    score = spec.cluster_decision.cluster_score
    spread, affinity = (score.priority_score or 0, score.affinity_score or 0) if score else (0, 0)
    return score is not None, spread, affinity, spec.target_cluster


def _pick(cluster: str, score: ClusterScore) -> Pick:
    """The pick of a cluster with its score, and the sentence about that."""
    return Pick(cluster, score, BEST.format(spread=score.priority_score, affinity=score.affinity_score))


class _Round:
    """Successive cycles over one fleet: what depends on clusters alone is worked out once. ``held`` are the clusters of
    current bindings, as a bit set; ``held_before`` as of ``PickResult``."""

    def __init__(self, asked: SchedulingRequest, book: Bindings) -> None:
        self.asked, self.book = asked, book
        self.profile = Profile.of(asked)
        self.preferred = PreferredAffinity.of(asked.index, asked.preferred, upstream=asked.upstream)
        keys = tuple(one.topology_key for one in asked.constraints)
        self.topology = asked.index.topology(keys) if keys else None
        self.sticky = book.clusters(book.obsolete)
        self.held = book.clusters(book.current)
        self.ranking = self._rank(self.held)
        self.held_before: dict[str, int] = {}
        self.taken = Taken((), ())
        self.look: CycleView | None = None

    @property
    def undecided(self) -> tuple[Problem, ...]:
        """Preferences that decide nothing among all that may have the placement, or that some of these have no price
        for."""
        if self.asked.upstream:
            return ()
        passing = self.profile.passing
        return (*self.preferred.deciding_nothing(passing), *self.preferred.prices_unknown(passing))

    def take(self, wanted: int) -> bool:
        """One cycle: picks one cluster if there are constraints, else all that are missing, as far as there are
        candidates, and holds them in the book. True if it was the last. FleetError where upstream fails."""
        asked, book, index = self.asked, self.book, self.asked.index
        held = self.held
        self._forget_stickiness(held)
        spread = TopologySpread.of(index, asked.constraints, held) if asked.constraints else None
        if asked.upstream:
            self.preferred.check_scorable(self.profile.passing & ~held & ~self.ranking.refused(spread))
        missing = wanted - len(book.current)
        batch = 1 if spread else missing
        picks: list[Pick] = []
        while len(picks) < batch:
            best = self.ranking.pop_best(spread)
            if best is None:
                break
            picks.append(_pick(*best))
        self.taken = book.take(picks)
        self.held_before |= dict.fromkeys((pick.cluster for pick in picks), held)
        anew = (*self.taken.created, *self.taken.patched)
        self.held |= book.clusters(anew)
        self.look = CycleView(index, self.profile, self.ranking, spread)
        return not (missing > batch and len(anew) == batch)

    def _forget_stickiness(self, held: int) -> None:
        """Ranks anew where upstream forgets whom it prefers: it unschedules obsolete bindings after the first batch.
        Only with ``asked.upstream``."""
        if self.asked.upstream:
            sticky = self.book.clusters(self.book.obsolete)
            if sticky != self.sticky:
                self.sticky = sticky
                self.ranking = self._rank(held)

    def _rank(self, held: int) -> Ranking:
        """The ranking of the clusters that pass and are not ``held``."""
        candidates = same_placement_affinity.passing(self.profile.passing, held)
        return Ranking(candidates, self.preferred, self.sticky, self.topology)
