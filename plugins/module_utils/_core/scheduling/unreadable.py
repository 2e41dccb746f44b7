# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Scheduling as plans do it: holders that could not be read (out of reach), or whose MemberCluster is missing, keep the
placement under a changed policy (``kept-unreadable``); holders that would not be picked today
(``would-not-be-picked``); which faults make a cluster one out of reach.

KubeFleet's scheduler drops them when the policy changes, as its filter ClusterEligibility refuses them. Ours keeps them
beside the clusters that the policy asks for, not instead of one that could be read, and has them judged when they are
read again.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..errors import Problem
from ..objects.clusters.missing_record import RECORD_MISSING, lacks_record
from ..objects.placements.binding import BOUND, SCHEDULED, ClusterResourceBinding
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..objects.placements.policy import PICK_FIXED
from ..objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from . import cluster_eligibility
from .cycle import Scheduled, schedule
from .index import FleetIndex
from .picking.new_homes import without_taken_marks
from .profile import Profile
from .reasons import ClusterBlocker, keeps_unread
from .request import SchedulingRequest

KEPT = "kept-unreadable"
UNREAD = frozenset(
    {
        "agent-not-online",
        "heartbeat-missing",
        "heartbeat-too-old",
        "health-unknown",
        "unhealthy",
        "unhealthy-too-long",
    }
)


@dataclass(frozen=True, kw_only=True)
class Decided:
    """``scheduled`` is without the bindings that are kept unread, and names their clusters; ``bindings`` are all, by
    name."""

    scheduled: Scheduled
    bindings: tuple[ClusterResourceBinding, ...]


def schedule_keeping_unread(
    placement: ClusterResourcePlacement,
    policy: ClusterSchedulingPolicySnapshot,
    index: FleetIndex,
    bindings: tuple[ClusterResourceBinding, ...],
) -> Decided:
    """What ``schedule`` decides, but that holders keep the placement which a changed policy would drop only because
    they could not be read, or their MemberCluster is missing (finding ``kept-unreadable``); such a one is no new home
    of an evacuated cluster any more once another is. Holders that filters refuse today for more than that are the
    finding ``would-not-be-picked``. FleetError as of ``schedule``."""
    asked = SchedulingRequest(placement, policy, index)
    kept = _kept(asked, bindings)
    names = {each.name for each in kept}
    outcome = schedule(placement, policy, index, [each for each in bindings if each.name not in names])
    where = f"{placement.kind}/{placement.key}"
    unread = {each.spec.target_cluster: _why_unread(each.spec.target_cluster, index) for each in kept}
    findings = (
        *outcome.findings,
        *(Problem(KEPT, f"{cluster} {keeps_unread(why)}", where) for cluster, why in unread.items()),
        *_not_afresh_findings(outcome, where),
    )
    return Decided(
        scheduled=replace(outcome, unread=unread, findings=findings),
        bindings=tuple(
            sorted((*outcome.bindings, *without_taken_marks(kept, outcome.bindings)), key=lambda each: each.name)
        ),
    )


def _kept(asked: SchedulingRequest, bindings: t.Iterable[ClusterResourceBinding]) -> list[ClusterResourceBinding]:
    """Holders under an older policy whom the new one refuses for nothing but not having been read."""
    index = asked.index
    obsolete = [
        each
        for each in bindings
        if each.metadata.deletion_timestamp is None
        and each.spec.state in (SCHEDULED, BOUND)
        and each.spec.scheduling_policy_snapshot_name != asked.snapshot.name
        and _unread(index, each.spec.target_cluster)
    ]
    if not obsolete:
        return []
    if asked.policy.placement_type == PICK_FIXED:
        return [each for each in obsolete if each.spec.target_cluster in asked.policy.cluster_names]
    profile = Profile.of(asked)
    return [each for each in obsolete if _refused(profile, index, index.positions[each.spec.target_cluster]) is None]


def out_of_reach(index: FleetIndex, cluster: str) -> bool:
    """Whether the cluster is not heard of, or not known to be healthy, by its ``faults``; False for one that is not in
    the fleet."""
    position = index.positions.get(cluster)
    found = () if position is None else cluster_eligibility.faults(index.clusters[position], index.now)
    return any(each.code in UNREAD for each in found)


def _unread(index: FleetIndex, cluster: str) -> bool:
    """Whether the cluster is in the fleet and not eligible for nothing but not having been read, itself or its
    record."""
    position = index.positions.get(cluster)
    if position is None or cluster_eligibility.eligible(index) >> position & 1:
        return False
    found = cluster_eligibility.faults(index.clusters[position], index.now)
    return all(each.code in UNREAD or each.code == RECORD_MISSING for each in found)


def _refused(profile: Profile, index: FleetIndex, position: int) -> ClusterBlocker | None:
    """The first refusal of a filter that is not about having been read; None without one, and where labels are not
    known. Of ClusterEligibility only the first fault counts."""
    if lacks_record(index.clusters[position]):
        return None
    for each in profile.filters:
        refusal = None if each.passing >> position & 1 else each.refusal(position)
        if refusal and not (refusal.rule == cluster_eligibility.NAME and refusal.code in UNREAD):
            return refusal
    return None


def _why_unread(cluster: str, index: FleetIndex) -> ClusterBlocker:
    """The first fault of a cluster that is kept unread. AssertionError if it has none."""
    refusal = cluster_eligibility.first_fault(index.clusters[index.positions[cluster]], index.now)
    if refusal is None:
        raise AssertionError("what was read is not kept unread")
    return refusal


def _not_afresh_findings(outcome: Scheduled, where: str) -> t.Iterator[Problem]:
    """The findings ``would-not-be-picked``: holders that a filter refuses today, for more than not having been read."""
    for cluster in outcome.holders_refused_today:
        index = outcome.asked.index
        refusal = _refused(outcome.look.profile, index, index.positions[cluster])
        if refusal:
            yield Problem(
                "would-not-be-picked",
                f"{cluster} keeps the placement, but the next edit of the policy would remove it: {refusal.sentence}",
                where,
            )
