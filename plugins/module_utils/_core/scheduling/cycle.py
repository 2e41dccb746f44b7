# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Scheduling of one placement (KubeFleet scheduler framework): bindings before -> bindings after, and why; which
clusters hold it, who is left out by which rule, which holders would not be picked afresh."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from functools import cached_property

from ..errors import FleetError, Problem
from ..objects.placements.binding import (
    BOUND,
    SCHEDULED,
    ClusterResourceBinding,
    ClusterScore,
)
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..objects.placements.policy import PICK_FIXED, PICK_N
from ..objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from . import bitset
from .index import FleetIndex
from .picking.bindings import CREATED, RESTORED, BindingChange, Bindings
from .picking.decisions import (
    FILTERED,
    SCORED,
    CycleView,
    PickDecision,
    last_picked_by_score,
    limited,
    scored,
)
from .picking.ending import PickResult
from .picking.new_homes import with_new_homes
from .picking.pick_all import pick_all
from .picking.pick_fixed import pick_fixed
from .picking.pick_n import CycleFailed, pick_n
from .profile import Profile
from .reasons import NOT_NEEDED, ClusterBlocker
from .request import SchedulingRequest

NOTHING = PickResult(selected=[], count=0, wanted=0, fulfilled=False, written=False)


@dataclass(frozen=True, kw_only=True)
class Scheduled:
    """The outcome for one placement.

    ``bindings`` are all bindings afterwards but those of ``unread``, by name; ``changes`` what was done to them, marks
    of new homes apart. ``decisions`` are the limited list that KubeFleet puts into a policy snapshot, none with an
    ``error``; ``left_out`` is the full list of clusters not picked. ``count`` of ``wanted`` clusters hold the
    placement, of PickFixed those that are named and can be placed; ``fulfilled``: these are enough. ``cycles`` is how
    many there were, ``ending`` how the last one ended. ``written`` is False where upstream leaves the status alone.
    ``error`` is upstream's failure of the cycle; what was changed before stays. ``unread`` are the clusters that keep
    the placement because they could not be read, each with why.
    """

    asked: SchedulingRequest = field(repr=False)
    bindings: tuple[ClusterResourceBinding, ...]
    changes: tuple[BindingChange, ...]
    decisions: tuple[PickDecision, ...]
    fulfilled: bool
    count: int
    wanted: int
    cycles: int
    written: bool
    findings: tuple[Problem, ...]
    error: Problem | None
    ending: PickResult = field(repr=False)
    unread: t.Mapping[str, ClusterBlocker] = field(default_factory=dict)

    @property
    def condition_reason(self) -> str:
        """Reason of the condition Scheduled: ``SchedulingPolicyFulfilled`` or ``SchedulingPolicyUnfulfilled``."""
        return "SchedulingPolicyFulfilled" if self.fulfilled else "SchedulingPolicyUnfulfilled"

    @cached_property
    def holders(self) -> t.Mapping[str, ClusterResourceBinding]:
        """Bindings that are Scheduled or Bound under the current policy and not being deleted, by cluster; of several
        the last by name."""
        snapshot = self.asked.snapshot.name
        return {
            each.spec.target_cluster: each
            for each in self.bindings
            if each.metadata.deletion_timestamp is None
            and each.spec.state in (SCHEDULED, BOUND)
            and each.spec.scheduling_policy_snapshot_name == snapshot
        }

    @property
    def staying(self) -> frozenset[str]:
        """The clusters that have the placement afterwards: the holders, and those that keep it unread."""
        return frozenset(self.holders) | frozenset(self.unread)

    @cached_property
    def left_out(self) -> tuple[PickDecision, ...]:
        """Every cluster of the fleet that does not have the placement afterwards, by name, with why; of PickFixed only
        those that it names, in the fleet or not."""
        if self.asked.policy.placement_type == PICK_FIXED:
            unplaced = [each for each in self.ending.unplaced if each.cluster not in self.staying]
            return tuple(sorted(unplaced, key=lambda each: each.cluster))
        names, staying = self.asked.index.names, self.staying
        return tuple(self.why_not_picked(position) for position in range(len(names)) if names[position] not in staying)

    @cached_property
    def holders_refused_today(self) -> t.Mapping[str, ClusterBlocker]:
        """Holders that today's filters refuse, by name, with the first refusal: a changed policy would not pick them.
        Empty for PickFixed, which asks no filters."""
        asked = self.asked
        if asked.policy.placement_type == PICK_FIXED:
            return {}
        index = asked.index
        held = bitset.of([index.positions[name] for name in self.holders], index.size)
        found = {}
        for position in bitset.positions(held & ~self.look.profile.passing):
            refusal = self.look.profile.refusal(position)
            if refusal:
                found[index.names[position]] = refusal
        return found

    def why_not_picked(self, position: int) -> PickDecision:
        """Why a cluster that does not have the placement was not picked, for PickAll and PickN (``left_out`` tells it
        of PickFixed). The outcome is ``filtered`` where a filter or a spread constraint refuses it, else ``scored``:
        others had a better or an equal score, or N clusters hold the placement already (refusal ``not-needed``)."""
        name = self.asked.index.names[position]
        score = self._left_scores.get(name)
        if score:
            return scored(name, score, self._equal.get(score, ""))
        refusal = self.look.refusal(position)
        if refusal:
            return PickDecision(name, FILTERED, None, refusal)
        return PickDecision(name, SCORED, None, ClusterBlocker(NOT_NEEDED, NOT_NEEDED, {"wanted": self.wanted}))

    @cached_property
    def look(self) -> CycleView:
        """What the last cycle saw; the filters alone where it asked none."""
        if self.ending.look:
            return self.ending.look
        asked = SchedulingRequest(self.asked.placement, self.asked.snapshot, self.asked.index)
        return CycleView(asked.index, Profile.of(asked))

    @cached_property
    def _equal(self) -> t.Mapping[ClusterScore, str]:
        """The last picked cluster of each score."""
        return last_picked_by_score(self.decisions)

    @cached_property
    def _left_scores(self) -> t.Mapping[str, ClusterScore]:
        """The scores of the candidates that the last cycle left and spread allows, by name."""
        ranking = self.look.ranking
        return dict(ranking.best_left(self.look.spread, ranking.size)) if ranking else {}


def schedule(
    placement: ClusterResourcePlacement,
    policy_snapshot: ClusterSchedulingPolicySnapshot,
    index: FleetIndex,
    bindings: t.Iterable[ClusterResourceBinding],
    upstream: bool = False,
) -> Scheduled:
    """Decide where ``placement`` goes; pure, the same inputs give the same result.

    The policy is that of the placement; ``policy_snapshot`` names it, and bindings made for another snapshot are
    obsolete; ``bindings`` are all of the placement; ``index`` has the members, and the instant at which they are
    judged. FleetError ``missing-field`` if PickN names no number. ``upstream`` brings back all that KubeFleet does by
    accident; then what a cycle fails of is not raised, but the ``error`` of the outcome.
    """
    asked = SchedulingRequest(placement, policy_snapshot, index, upstream)
    before = tuple(bindings)
    book = Bindings(asked, before)
    error, failed_in = None, 0
    try:
        ending = _pick(asked, book)
    except CycleFailed as failure:
        if not upstream:
            raise failure.cause from None
        ending, error, failed_in = NOTHING, failure.cause.problems[0], failure.cycle
    except FleetError as failure:
        if not upstream:
            raise
        ending, error, failed_in = NOTHING, failure.problems[0], 1
    decisions = () if error else (*limited(ending.selected, ending.look, upstream=upstream), *ending.unplaced)
    after, changes = tuple(book.by_name[name] for name in sorted(book.by_name)), book.net_changes()
    return Scheduled(
        asked=asked,
        bindings=after if upstream else _settled_in(asked, before, after, changes),
        changes=changes,
        decisions=decisions,
        fulfilled=ending.fulfilled,
        count=ending.count,
        wanted=ending.wanted,
        cycles=failed_in or ending.cycles,
        written=ending.written,
        findings=tuple(dict.fromkeys((*ending.findings, *book.findings))),
        error=error,
        ending=ending,
    )


def _settled_in(
    asked: SchedulingRequest,
    before: tuple[ClusterResourceBinding, ...],
    after: tuple[ClusterResourceBinding, ...],
    changes: t.Iterable[BindingChange],
) -> tuple[ClusterResourceBinding, ...]:
    """The bindings ``after`` with the marks of new homes; under PickAll nobody takes another's place."""
    some = asked.policy.placement_type in (PICK_N, PICK_FIXED)
    anew = {each.binding for each in changes if each.what in (CREATED, RESTORED)} if some else ()
    return with_new_homes(before, after, anew)


def _pick(asked: SchedulingRequest, book: Bindings) -> PickResult:
    """Picks by the type of the placement, and changes ``book``. FleetError and CycleFailed as of ``pick_all``,
    ``pick_fixed`` and ``pick_n``."""
    if asked.policy.placement_type == PICK_FIXED:
        return pick_fixed(asked, book)
    if asked.policy.placement_type == PICK_N:
        return pick_n(asked, book)
    return pick_all(asked, book)
