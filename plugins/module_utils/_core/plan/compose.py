# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One placement's plan, composed from specs, records and facts. Pure: the same inputs give the same bytes."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime

from ..errors import Problem
from ..objects.binding import BOUND, SCHEDULED, UNSCHEDULED, ClusterResourceBinding
from ..objects.cluster_resource_placement import ClusterResourcePlacement
from ..objects.meta import ObjectMeta
from ..objects.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot, PolicySnapshotSpec
from ..objects.schema import encode
from ..resources.canonical import digest_of
from ..resources.identity import ObjectId
from ..resources.snapshots import policy_hash, resource_hash
from ..scheduling.cycle import Scheduled, schedule
from ..scheduling.index import FleetIndex
from . import brakes
from .brakes import Brake, BrakeLimits
from .digest import plan_digest
from .document import GAINED, KEPT, LOST, ClusterPlan, LeftOut, PlacementPlan, Rendered


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the records hold of one placement; ``contents`` are the object IDs of each resource snapshot by name."""

    bindings: tuple[ClusterResourceBinding, ...] = ()
    policy_snapshot: ClusterSchedulingPolicySnapshot | None = None
    resource_snapshot: str = ""
    resource_index: int = -1
    resource_hash: str = ""
    contents: t.Mapping[str, tuple[ObjectId, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The fleet as it was at ``captured_at``; ``digest`` names the snapshot file's content."""

    index: FleetIndex
    captured_at: datetime
    digest: str = ""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """``objects`` in apply order. ``deleting`` is empty, or why the placement ends (``deleted``, ``source-gone``)."""

    placement: ClusterResourcePlacement
    objects: tuple[Rendered, ...] = ()
    deleting: str = ""
    findings: tuple[Problem, ...] = ()
    older_source: Brake | None = None


def compose(wanted: Wanted, known: Known, facts: Facts, now: datetime, limits: BrakeLimits) -> PlacementPlan:
    """The plan of ``wanted`` over ``known``. Eligibility is judged at the facts' instant, their age at ``now``."""
    placement = wanted.placement
    policy, policy_new = _policy_snapshot(placement, known.policy_snapshot)
    contents_hash = resource_hash([each.hash for each in wanted.objects])
    contents_new = not wanted.deleting and contents_hash != known.resource_hash
    snapshot = f"{placement.name}-{known.resource_index + 1}-snapshot" if contents_new else known.resource_snapshot
    outcome = None if wanted.deleting else schedule(placement, policy, facts.index, known.bindings)
    after = outcome.bindings if outcome else tuple(_unscheduled(each) for each in known.bindings)
    clusters = _clusters(wanted, known, facts.index, after, snapshot, policy_new)
    held = sum(1 for each in known.bindings if each.spec.resource_snapshot_name)
    lost = sum(1 for each in clusters if each.change == LOST)
    tripped = [
        brakes.removals(placement.name, held, lost, limits.max_removals),
        brakes.facts_age(facts.captured_at, now, limits.max_facts_age),
    ]
    if outcome:
        picked = sum(1 for each in clusters if each.change != LOST)
        tripped.append(brakes.emptied(placement.name, held, picked, limits.allow_empty))
    if wanted.older_source:
        tripped.append(wanted.older_source)
    return PlacementPlan(
        placement=placement,
        deleting=bool(wanted.deleting),
        policy_snapshot=policy,
        policy_snapshot_new=policy_new and not wanted.deleting,
        resource_snapshot=snapshot,
        resource_hash=contents_hash,
        resource_snapshot_new=contents_new,
        objects=wanted.objects,
        bindings=after,
        clusters=clusters,
        left_out=_left_out(outcome) if outcome else (),
        fulfilled=outcome.fulfilled if outcome else True,
        wanted=outcome.wanted if outcome else 0,
        brakes=tuple(tripped),
        findings=(*wanted.findings, *(outcome.findings if outcome else ())),
        digest=plan_digest(
            placement.name, digest_of(encode(placement.spec)), bool(wanted.deleting), clusters, wanted.objects, tripped
        ),
    )


def _policy_snapshot(
    placement: ClusterResourcePlacement, latest: ClusterSchedulingPolicySnapshot | None
) -> tuple[ClusterSchedulingPolicySnapshot, bool]:
    """The latest snapshot if the policy is the same but for the number of clusters, else the next one."""
    digest = policy_hash(encode(placement.spec.policy) if placement.spec.policy else None)
    if latest and latest.spec.policy_hash == digest:
        return latest, False
    index = int(latest.name.rsplit("-", 1)[1]) + 1 if latest else 0
    policy = placement.spec.policy
    spec = PolicySnapshotSpec(policy=replace(policy, number_of_clusters=None) if policy else None, policy_hash=digest)
    return ClusterSchedulingPolicySnapshot(metadata=ObjectMeta(name=f"{placement.name}-{index}", generation=1), spec=spec), True


def _unscheduled(binding: ClusterResourceBinding) -> ClusterResourceBinding:
    return replace(binding, spec=replace(binding.spec, state=UNSCHEDULED))


def _clusters(
    wanted: Wanted,
    known: Known,
    index: FleetIndex,
    after: t.Sequence[ClusterResourceBinding],
    snapshot: str,
    policy_new: bool,
) -> tuple[ClusterPlan, ...]:
    before = {each.spec.target_cluster: each for each in known.bindings}
    holding = {each.spec.target_cluster for each in after if each.spec.state in (SCHEDULED, BOUND)}
    wanted_ids = {each.id for each in wanted.objects}
    rows = []
    for binding in sorted(after, key=lambda each: each.spec.target_cluster):
        cluster, old = binding.spec.target_cluster, before.get(binding.spec.target_cluster)
        had = old.spec.resource_snapshot_name if old else ""
        contents = known.contents.get(had, ())
        if cluster not in holding:
            if not had:
                continue
            cause = wanted.deleting or _loss_cause(cluster, index, policy_new)
            change, prune, reason = LOST, contents, LOSSES[cause]
        elif had:
            change, reason = KEPT, "holds it already"
            cause = "unchanged" if had == snapshot else "content-changed"
            prune = tuple(each for each in contents if each not in wanted_ids)
        else:
            change, cause, prune, reason = GAINED, "picked", (), binding.spec.cluster_decision.reason
        scores = binding.spec.cluster_decision.cluster_score
        rows.append(
            ClusterPlan(
                cluster=cluster,
                change=change,
                cause=cause,
                reason=reason,
                affinity_score=scores.affinity_score if scores else None,
                spread_score=scores.priority_score if scores else None,
                prune=tuple(prune),
            )
        )
    return tuple(rows)


LOSSES = {
    "deleted": "the placement is deleted",
    "source-gone": "the placement's manifest is gone from its source",
    "left-the-fleet": "the cluster has left the fleet; what is there stays",
    "policy-changed": "the changed policy does not pick it any more",
    "scaled-down": "fewer clusters are wanted, and it ranks lowest",
}


def _loss_cause(cluster: str, index: FleetIndex, policy_new: bool) -> str:
    if cluster not in index.positions:
        return "left-the-fleet"
    return "policy-changed" if policy_new else "scaled-down"


def _left_out(outcome: Scheduled) -> tuple[LeftOut, ...]:
    """Every cluster that was looked at and not picked, by name."""
    return tuple(
        LeftOut(cluster=each.cluster, rule=each.rule, reason=each.reason)
        for each in sorted(outcome.left_out, key=lambda each: each.cluster)
    )
