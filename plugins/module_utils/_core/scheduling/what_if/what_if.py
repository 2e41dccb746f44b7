# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a placement would do if the fleet, or N of a PickN placement, were another: clusters that gain or lose it or
keep it only until the policy is edited, and why (``not-for-placement-type``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ...errors import FleetError, Problem
from ...objects.placements.binding import ClusterResourceBinding
from ...objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...objects.placements.policy import PICK_N
from ...objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from ...values.listed import listed
from ..cycle import Scheduled
from ..explain import explain_outcome
from ..index import FleetIndex
from ..reasons import GONE, SENTENCES, ClusterBlocker
from ..unreadable import schedule_keeping_unread
from .overlay import Overlay, overlaid

GAINED, LOST, KEPT = "gained", "lost", "kept"
NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What becomes of one cluster; ``change`` is gained, lost or kept. ``sentence`` says why it stands as it does then,
    ``before`` how it stood. ``refusal`` is what takes the placement away, or for a kept cluster would keep it from
    being picked afresh; ``overcome`` what had kept the placement away from a cluster that gains it."""

    cluster: str
    change: str
    sentence: str
    before: str
    refusal: ClusterBlocker | None = None
    overcome: ClusterBlocker | None = None

    def as_dict(self) -> dict[str, t.Any]:
        """Plain data; None for ``refusal`` and ``overcome`` where there is none."""
        return {
            "cluster": self.cluster,
            "change": self.change,
            "sentence": self.sentence,
            "before": self.before,
            "refusal": self.refusal.as_dict() if self.refusal else None,
            "overcome": self.overcome.as_dict() if self.overcome else None,
        }


@dataclass(frozen=True, kw_only=True)
class Differences:
    """``rows`` by cluster: all that gain or lose the placement, and those that keep it but would not be picked afresh
    any more. ``kept`` are the names of all that keep it, ``until_edit`` is how many of them the second fleet's filters
    refuse; ``fulfilled`` says before and after whether the policy is. ``findings`` are those that only the second fleet
    raises."""

    placement: str
    rows: tuple[Difference, ...]
    kept: tuple[str, ...]
    fulfilled: tuple[bool, bool]
    until_edit: int = 0
    findings: tuple[Problem, ...] = ()

    def named(self, change: str) -> tuple[str, ...]:
        """The clusters of the rows with this ``change`` (gained, lost, kept), by name."""
        return tuple(each.cluster for each in self.rows if each.change == change)

    @property
    def gained(self) -> tuple[str, ...]:
        """The clusters that gain the placement, by name."""
        return self.named(GAINED)

    @property
    def lost(self) -> tuple[str, ...]:
        """The clusters that lose the placement, by name."""
        return self.named(LOST)

    @property
    def moves(self) -> bool:
        """Whether any cluster gains or loses the placement."""
        return bool(self.gained or self.lost)

    @property
    def sentence(self) -> str:
        """What would become of the placement, in one sentence; at most 5 clusters that lose it are named, and 5 that
        gain it."""
        parts = [f"leave {listed(self.lost, NAMED)}"] if self.lost else []
        parts += [f"come to {listed(self.gained, NAMED)}"] if self.gained else []
        kept = f"{len(self.kept)} keep{'s' if len(self.kept) == 1 else ''} it"
        said = f"{self.placement} would {' and '.join(parts) or 'move nowhere'}; {kept}"
        if self.until_edit:
            said += f", {self.until_edit} of them only until the policy is edited"
        before, after = self.fulfilled
        if before != after:
            said += "; the policy would then be fulfilled" if after else "; the policy would not be fulfilled any more"
        elif not after:
            said += "; the policy is fulfilled neither now nor then"
        return f"{said}."

    def as_dict(self) -> dict[str, t.Any]:
        """Plain data: the sentence, names of clusters, both values of ``fulfilled``, rows and findings."""
        return {
            "placement": self.placement,
            "sentence": self.sentence,
            "gained": list(self.gained),
            "lost": list(self.lost),
            "kept": list(self.kept),
            "fulfilledBefore": self.fulfilled[0],
            "fulfilledAfter": self.fulfilled[1],
            "rows": [each.as_dict() for each in self.rows],
            "findings": [each.as_dict() for each in self.findings],
        }


def what_if(
    placement: ClusterResourcePlacement,
    policy_snapshot: ClusterSchedulingPolicySnapshot,
    index: FleetIndex,
    bindings: t.Iterable[ClusterResourceBinding],
    overlay: Overlay,
    supposed: FleetIndex | None = None,
) -> Differences:
    """What would become of the placement if the fleet were as ``overlay`` supposes, decided as a plan does.
    ``supposed`` is its ``supposed_fleet``, if that is there already. FleetError ``not-for-placement-type`` if N is
    given and it is not PickN, and as of ``schedule``."""
    recorded = tuple(bindings)
    wanted = _with_number(placement, overlay.number_of_clusters)
    return differences(
        schedule_keeping_unread(placement, policy_snapshot, index, recorded).scheduled,
        schedule_keeping_unread(
            wanted, policy_snapshot, supposed or supposed_fleet(index, overlay), recorded
        ).scheduled,
    )


def supposed_fleet(index: FleetIndex, overlay: Overlay) -> FleetIndex:
    """The fleet as ``overlay`` supposes it, at the instant of ``index``; one will do for all placements."""
    return FleetIndex(overlaid(index.clusters, overlay, index.now), index.now)


def differences(before: Scheduled, after: Scheduled) -> Differences:
    """What differs between two schedulings of one placement, as of ``Differences``. A cluster that keeps it unread in
    the second has no row, and does not count in ``until_edit``."""
    had, has = before.staying, after.staying
    rows = []
    for cluster in sorted(had | has):
        if cluster in had and cluster in has:
            if cluster in after.holders_refused_today and cluster not in before.holders_refused_today:
                rows.append(_kept(before, after, cluster))
        else:
            rows.append(_gained(before, after, cluster) if cluster in has else _lost(before, after, cluster))
    known = set(before.findings)
    return Differences(
        placement=str(after.asked.placement.key),
        rows=tuple(rows),
        kept=tuple(sorted(had & has)),
        fulfilled=(before.fulfilled, after.fulfilled),
        until_edit=len(had & has & after.holders_refused_today.keys()),
        findings=tuple(each for each in after.findings if each not in known),
    )


def _gained(before: Scheduled, after: Scheduled, cluster: str) -> Difference:
    """The row of a cluster that gains the placement."""
    then = explain_outcome(after, cluster)
    if cluster not in before.asked.index.positions:
        sentence = f"{cluster} is not in the fleet."
        return Difference(cluster=cluster, change=GAINED, sentence=then.sentence, before=sentence)
    now = explain_outcome(before, cluster)
    return Difference(cluster=cluster, change=GAINED, sentence=then.sentence, before=now.sentence, overcome=now.refusal)


def _lost(before: Scheduled, after: Scheduled, cluster: str) -> Difference:
    """The row of a cluster that loses the placement."""
    now = explain_outcome(before, cluster).sentence
    if cluster not in after.asked.index.positions:
        gone = ClusterBlocker("ClusterEligibility", GONE)
        sentence = f"{cluster} loses the placement: {SENTENCES[GONE]}."
        return Difference(cluster=cluster, change=LOST, sentence=sentence, before=now, refusal=gone)
    then = explain_outcome(after, cluster)
    return Difference(cluster=cluster, change=LOST, sentence=then.sentence, before=now, refusal=then.refusal)


def _kept(before: Scheduled, after: Scheduled, cluster: str) -> Difference:
    """The row of a cluster that keeps the placement and would not be picked afresh any more."""
    then = explain_outcome(after, cluster)
    return Difference(
        cluster=cluster,
        change=KEPT,
        sentence=then.sentence,
        before=explain_outcome(before, cluster).sentence,
        refusal=then.would_refuse,
    )


def _with_number(placement: ClusterResourcePlacement, number: int | None) -> ClusterResourcePlacement:
    """The placement with that number of clusters, if one is given. FleetError ``not-for-placement-type`` if it is not
    PickN then."""
    if number is None:
        return placement
    policy = placement.spec.policy
    if policy is None or policy.placement_type != PICK_N:
        message = f"only PickN has a number of clusters, and {placement.key} is not of that type"
        raise FleetError("not-for-placement-type", message, "numberOfClusters", "leave it out")
    return replace(placement, spec=replace(placement.spec, policy=replace(policy, number_of_clusters=number)))
