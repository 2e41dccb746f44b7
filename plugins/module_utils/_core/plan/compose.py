# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Composes one placement's plan from specs, records and facts: rows of clusters gained, kept and lost with ``cause``
(``picked``, ``content-changed``, ``unchanged``), the objects that leave each (``prune``, ``release``, ``leftover``),
changes since the last apply, and which brakes are asked.

Pure: the same inputs give the same bytes.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from ..errors import FleetError, Problem
from ..objects.clusters.member_cluster import MemberCluster
from ..objects.identity import ObjectId
from ..objects.overrides.override import Override
from ..objects.placements.binding import (
    BOUND,
    HELD_BEFORE,
    SCHEDULED,
    UNSCHEDULED,
    ClusterResourceBinding,
)
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot, PolicySnapshotSpec
from ..objects.scopes import Scopes, scoped_key, sure_scopes
from ..resources.applyset import too_many_objects_problem
from ..resources.history import RolledBack
from ..resources.snapshots import policy_hash, resource_hash, snapshot_index
from ..rollout.content import (
    NO_OVERRIDES,
    Content,
    Overrides,
    RolloutBinding,
    WantedContent,
)
from ..scheduling.index import FleetIndex
from ..scheduling.unreadable import schedule_keeping_unread
from ..schema.codec import encode
from ..schema.meta import ObjectMeta
from ..values.canonical import digest_of
from . import brakes
from .brakes import Brake, BrakeLimits
from .changes import NEW, UNKNOWN, ClusterChanges, Earlier, ObjectChange
from .digest import plan_digest
from .document import (
    AS_IT_WAS,
    EVACUATED,
    GAINED,
    KEPT,
    KEPT_UNREADABLE,
    LEAVING,
    LEFT_BEHIND,
    LEFTOVER,
    LOST,
    PRUNE,
    RELEASE,
    WITH_OTHER_CONTENT,
    ClusterPlan,
    PlacementPlan,
    Rendered,
)
from .losing.evacuated import with_new_homes_told
from .losing.held import begun_objects, held_objects, holds_any, left_over, object_losses
from .losing.losses import loss_cause, loss_reason
from .member import abandons, is_released
from .object_changes import object_changes
from .rendering import Sealing, by_cluster, renderings
from .waves import gap_finding, held_by_limits_findings


@dataclass(frozen=True, kw_only=True)
class RecordedState:
    """What the records hold of one placement. ``policy_snapshot`` is its latest. The ``resource_*`` are of its latest
    resource snapshot, empty and -1 without one; by name of the snapshot, ``contents`` are the object IDs, ``earlier``
    what is known of these objects (manifests or hashes)."""

    bindings: tuple[ClusterResourceBinding, ...] = ()
    policy_snapshot: ClusterSchedulingPolicySnapshot | None = None
    resource_snapshot: str = ""
    resource_index: int = -1
    resource_hash: str = ""
    contents: t.Mapping[str, tuple[ObjectId, ...]] = field(default_factory=dict)
    earlier: t.Mapping[str, Earlier] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The fleet as it was at ``captured_at``; ``digest`` names the snapshot file's content, where somebody asks for
    it."""

    index: FleetIndex
    captured_at: datetime
    digest: str = ""


@dataclass(frozen=True, kw_only=True)
class WantedPlacement:
    """``objects`` in hash order. ``deleting`` is empty, or why the placement ends (``deleted``, ``source-gone``).
    ``older_source``: the brake ``allow_older``, None where no revision is compared. Objects of ``prune_kinds`` are
    deleted although they may hold more than ours. ``respecified``: another spec is recorded. ``overrides`` are those
    attached, in their order; what they make is sealed by ``sealing``. ``rolled_back``: the objects are those of an
    earlier snapshot. ``empty_first`` as of ``PlacementPlan``. ``kinds``: which kinds are namespaced, beyond what
    ``objects`` tell."""

    placement: ClusterResourcePlacement
    objects: tuple[Rendered, ...] = ()
    deleting: str = ""
    findings: tuple[Problem, ...] = ()
    older_source: Brake | None = None
    prune_kinds: tuple[str, ...] = ()
    respecified: bool = False
    rolled_back: RolledBack | None = None
    overrides: tuple[Override, ...] = ()
    sealing: Sealing = Sealing()
    empty_first: bool = False
    kinds: Scopes = field(default_factory=dict)

    @cached_property
    def scopes(self) -> Scopes:
        """Whether kinds are namespaced, where that is sure: ``kinds``, and as of ``sure_scopes`` of its objects."""
        return {**self.kinds, **sure_scopes(each.manifest for each in self.objects)}


@dataclass(frozen=True)
class Contents:
    """What every cluster is to hold: by names, as bindings have it (``named``), and as ``objects``, or what is
    ``rendered`` for it."""

    named: WantedContent
    objects: tuple[Rendered, ...]
    rendered: t.Mapping[str, tuple[Rendered, ...]]

    def on(self, cluster: str) -> tuple[Rendered, ...]:
        """What overrides make of the objects on the cluster; where none change any, the objects."""
        return self.rendered.get(cluster, self.objects)


def compose(
    wanted: WantedPlacement, known: RecordedState, facts: Facts, now: datetime, limits: BrakeLimits
) -> PlacementPlan:
    """The plan of one placement, ``wanted`` over what is ``known`` of it. Eligibility is judged at the facts' instant,
    their age at ``now``, both aware. Where the placement ends nothing is scheduled: all bindings become Unscheduled.
    Brakes that stop it are told in the plan and not raised. FleetError ``too-many-objects``, and as of ``by_cluster``,
    ``schedule_keeping_unread``, ``object_changes`` and ``gap_finding``. ValueError as of
    ``brakes.removals_permitted``."""
    placement = wanted.placement
    many = too_many_objects_problem(str(placement.key), [each.id for each in wanted.objects])
    if many:
        raise FleetError.of([many])
    policy, policy_new = policy_snapshot_of(placement, known.policy_snapshot)
    contents_hash = resource_hash([each.hash for each in wanted.objects])
    contents_new = not wanted.deleting and contents_hash != known.resource_hash
    snapshot = f"{placement.name}-{known.resource_index + 1}-snapshot" if contents_new else known.resource_snapshot
    decided = None if wanted.deleting else schedule_keeping_unread(placement, policy, facts.index, known.bindings)
    outcome = decided.scheduled if decided else None
    after = decided.bindings if decided else tuple(_unscheduled(each) for each in known.bindings)
    staying = members_to_hold(after, facts.index) if wanted.overrides else []
    made = by_cluster(wanted.objects, wanted.overrides, staying, wanted.sealing)
    named = WantedContent(resource_snapshot=snapshot, overrides=made.overrides)
    contents = Contents(named, wanted.objects, made.rendered)
    apart = renderings(wanted.objects, made.rendered)
    clusters = cluster_rows(wanted, known, facts.index, after, contents, policy.name, outcome.unread if outcome else ())
    clusters = with_new_homes_told(clusters, after, wanted.empty_first)
    emptied_first = wanted.empty_first and any(each.cause in (EVACUATED, LEFT_BEHIND) for each in clusters)
    tripped = brakes_of(wanted, known, facts, now, limits, clusters)
    plan = PlacementPlan(
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
        fulfilled=outcome.fulfilled if outcome else True,
        wanted=outcome.wanted if outcome else 0,
        brakes=tripped,
        findings=(*wanted.findings, *(outcome.findings if outcome else ())),
        digest=plan_digest(
            str(placement.key),
            digest_of(encode(placement.spec)),
            bool(wanted.deleting),
            clusters,
            wanted.objects,
            tripped,
            apart,
            empty_first=emptied_first,
        ),
        empty_first=emptied_first,
        respecified=wanted.respecified,
        rebound=[each.spec for each in after] != [each.spec for each in known.bindings],
        rolled_back=wanted.rolled_back,
        changes=_changes(contents, known, clusters),
        overrides=made.overrides,
        rendered=made.rendered,
        renderings=apart,
        scheduled=outcome,
    )
    return replace(plan, findings=(*plan.findings, *gap_finding(plan), *held_by_limits_findings(plan)))


def members_to_hold(bindings: t.Iterable[ClusterResourceBinding], index: FleetIndex) -> list[MemberCluster]:
    """The clusters of the index that are to hold the placement by its bindings, whether they have it already or not;
    each once, by name."""
    names = {each.spec.target_cluster for each in bindings if _is_to_hold(each)} & index.positions.keys()
    return [index.clusters[index.positions[name]] for name in sorted(names)]


def _changes(contents: Contents, known: RecordedState, clusters: t.Iterable[ClusterPlan]) -> tuple[ClusterChanges, ...]:
    """What changes on clusters that stay, those that hold and get the same together; not on those that hold nothing,
    all, or what is not in ``earlier``. FleetError as of ``object_changes``."""
    held = {each.spec.target_cluster: each for each in known.bindings if holds_any(each)}
    groups: dict[t.Any, list[str]] = {}
    for each in clusters:
        binding = held.get(each.cluster)
        if binding and each.outdated and binding.held_snapshot in known.earlier:
            same = _overrides(binding) == contents.named.content_on(each.cluster).overrides
            like = (binding.held_snapshot, binding.left_out, same, _overrides(binding), id(contents.on(each.cluster)))
            groups.setdefault(like, []).append(each.cluster)
    found = ((names, _changes_on(held[names[0]], contents, known)) for names in groups.values())
    return tuple(ClusterChanges(clusters=tuple(names), objects=objects) for names, objects in found if objects)


def _changes_on(binding: ClusterResourceBinding, contents: Contents, known: RecordedState) -> tuple[ObjectChange, ...]:
    """What differs from the snapshot held, which ``earlier`` has: between snapshots if overrides are as before, to what
    the cluster gets if there were none; else names alone, NEW or UNKNOWN. FleetError as of ``_changes``."""
    cluster, earlier = binding.spec.target_cluster, known.earlier[binding.held_snapshot]
    wanted, before = contents.on(cluster), _overrides(binding)
    if before == contents.named.content_on(cluster).overrides:
        there = {each.id for each in wanted}
        wanted = tuple(each for each in contents.objects if each.id in there)
    elif before != NO_OVERRIDES:
        earlier = Earlier(hashes={each.key: "" for each in held_objects(known.contents, binding)})
        found = object_changes(wanted, earlier)
        return tuple(each if each.action == NEW else replace(each, action=UNKNOWN) for each in found)
    return object_changes(wanted, earlier)


def brakes_of(
    wanted: WantedPlacement,
    known: RecordedState,
    facts: Facts,
    now: datetime,
    limits: BrakeLimits,
    clusters: t.Sequence[ClusterPlan],
) -> tuple[Brake, ...]:
    """All brakes that are asked about this change, tripped or not: ``max_removals``, ``max_facts_age``,
    ``max_object_removals``, ``allow_no_objects``, ``allow_empty``, ``allow_older``, in this order. Where the placement
    ends, those about objects are not asked, and ``allow_empty`` only if its manifest is gone from the source; the last
    only where ``wanted`` has it. Evacuated clusters are no removals (they were named), but count as lost for
    ``allow_empty``. A cluster where a write was begun counts as holding it. ValueError as of
    ``brakes.removals_permitted``."""
    name = str(wanted.placement.key)
    given = {each.spec.target_cluster for each in known.bindings if holds_any(each) or each.spec.resource_snapshot_name}
    losing = [each for each in clusters if each.change == LOST]
    lost = sum(1 for each in losing if each.cluster in given and each.cause not in (EVACUATED, LEFT_BEHIND))
    losses = object_losses(known.contents, known.bindings, clusters)
    found = [
        brakes.removals_brake(name, len(given), lost, limits.max_removals),
        brakes.facts_age_brake(facts.captured_at, now, limits.max_facts_age),
    ]
    if not wanted.deleting:
        most = max((each.held for each in losses), default=0)
        found.append(brakes.object_removals_brake(name, losses, limits.max_object_removals))
        found.append(brakes.no_objects_brake(name, most, len(wanted.objects), limits.allow_no_objects))
    if wanted.deleting != "deleted":  # a file that is gone may be a slip; a deletion is not
        found.append(brakes.empty_brake(name, len(given), len(clusters) - len(losing), limits.allow_empty))
    if wanted.older_source:
        found.append(wanted.older_source)
    return tuple(found)


def policy_snapshot_of(
    placement: ClusterResourcePlacement, latest: ClusterSchedulingPolicySnapshot | None
) -> tuple[ClusterSchedulingPolicySnapshot, bool]:
    """The ``latest`` policy snapshot if the policy is the same but for the number of clusters, else the next one, as in
    KubeFleet; and whether it is new. The next one has no number of clusters in its policy, generation 1, and index 0
    without a latest."""
    digest = policy_hash(encode(placement.spec.policy) if placement.spec.policy else None)
    if latest and latest.spec.policy_hash == digest:
        return latest, False
    index = snapshot_index(latest.name) + 1 if latest else 0
    policy = placement.spec.policy
    spec = PolicySnapshotSpec(policy=replace(policy, number_of_clusters=None) if policy else None, policy_hash=digest)
    return ClusterSchedulingPolicySnapshot(
        metadata=ObjectMeta(name=f"{placement.name}-{index}", generation=1), spec=spec
    ), True


def _unscheduled(binding: ClusterResourceBinding) -> ClusterResourceBinding:
    return replace(binding, spec=replace(binding.spec, state=UNSCHEDULED))


def cluster_rows(
    wanted: WantedPlacement,
    known: RecordedState,
    index: FleetIndex,
    after: t.Sequence[ClusterResourceBinding],
    contents: Contents,
    policy: str,
    unread: t.Container[str],
) -> tuple[ClusterPlan, ...]:
    """One row for each cluster that has, gets or loses the placement, by name; of several bindings of a cluster one
    that is to hold it counts, of the recorded ones one that holds something, the last of several. One with a binding
    already is ``gained`` until it is known to hold a snapshot. ``after`` are the bindings that scheduling leaves,
    ``policy`` names today's policy snapshot, ``unread`` are clusters kept for not being read."""
    before = {each.spec.target_cluster: each for each in sorted(known.bindings, key=holds_any)}
    by_cluster = {each.spec.target_cluster: each for each in sorted(after, key=_is_to_hold)}
    rows = []
    for cluster, binding in sorted(by_cluster.items()):
        old = before.get(cluster)
        decided, outdated = old is not None and old.spec.state == UNSCHEDULED, False
        if not _is_to_hold(binding) and old is None:
            continue
        if not _is_to_hold(binding):
            change, cause = LOST, loss_cause(binding, index, policy, wanted.deleting)
            reason = loss_reason(cause, decided)
        elif old is not None and old.held_snapshot:
            outdated = not _holds_already(old, contents.named.content_on(cluster))
            change, (cause, reason) = KEPT, WITH_OTHER_CONTENT if outdated else AS_IT_WAS
        else:
            change, cause, reason = GAINED, "picked", binding.spec.cluster_decision.reason
        if cluster in unread:
            cause, reason = KEPT_UNREADABLE, "holds it already, and could not be read"
        scores = binding.spec.cluster_decision.cluster_score
        rows.append(
            ClusterPlan(
                cluster=cluster,
                change=change,
                cause=cause,
                reason=reason,
                affinity_score=scores.affinity_score if scores else None,
                spread_score=scores.priority_score if scores else None,
                decided=decided,
                outdated=outdated,
                **leaving_objects(wanted, known, old, change, cause, contents.on(cluster)),
            )
        )
    return tuple(rows)


def _holds_already(old: ClusterResourceBinding, content: Content) -> bool:
    """Whether the cluster is known to hold the content. Of one where a write was begun that is not known."""
    if old.held_snapshot != content.resource_snapshot or HELD_BEFORE in old.metadata.annotations:
        return False
    return _overrides(old) == content.overrides


def _overrides(binding: ClusterResourceBinding) -> Overrides:
    return RolloutBinding(binding=binding).content.overrides


def leaving_objects(
    wanted: WantedPlacement,
    known: RecordedState,
    old: ClusterResourceBinding | None,
    change: str,
    cause: str,
    contents: t.Iterable[Rendered],
) -> dict[str, t.Any]:
    """What leaves a cluster, by ``prune``, ``release`` (as of ``is_released``) and ``leftover``, and what is ``begun``;
    empty without a recorded binding ``old``, if unchanged, for one that keeps or gets a placement which only reports,
    and for one that has left the fleet, where all stays. ``change`` and ``cause`` are those of its row; ``contents``,
    what one that keeps or gets it is to hold, does not leave."""
    only_reports = wanted.placement.spec.strategy.apply_strategy
    if old is None or cause in ("left-the-fleet", "unchanged"):
        return {}
    if change != LOST and only_reports is not None and only_reports.type == "ReportDiff":
        return {}
    stay = set() if change == LOST else {scoped_key(each.id, wanted.scopes) for each in contents}
    held = {each.key: each for each in held_objects(known.contents, old)}
    ways: dict[str, list[ObjectId]] = {way: [] for way in LEAVING}
    for place, each in {**left_over(known.contents, old), **held}.items():
        if scoped_key(each, wanted.scopes) in stay:
            continue
        if is_released(each, wanted.prune_kinds, abandons(wanted.placement, bool(wanted.deleting))):
            ways[RELEASE].append(each)
        else:
            ways[PRUNE if place in held else LEFTOVER].append(each)
    begun = frozenset(each.key for each in begun_objects(known.contents, old))
    return {**{way: tuple(found) for way, found in ways.items()}, "begun": begun}


def _is_to_hold(binding: ClusterResourceBinding) -> bool:
    """Whether it is Scheduled or Bound, and not being deleted."""
    return binding.spec.state in (SCHEDULED, BOUND) and binding.metadata.deletion_timestamp is None
