# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The plan of one placement as data and as JSON of plan files: clusters with ``change``, ``cause`` and objects that
leave, ``objects`` that are sent, ``leftOut`` clusters, ``moves`` between placements, how many are picked, whether it
changes anything."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from functools import cached_property

from ..errors import Problem
from ..objects.identity import ObjectId, ObjectKey
from ..objects.overrides.envelope import Origin
from ..objects.placements.binding import ClusterResourceBinding
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..objects.placements.key import PlacementKey
from ..objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from ..resources.history import RolledBack
from ..rollout.content import OverridesByCluster, WantedContent
from ..scheduling.cycle import Scheduled
from ..schema.codec import encode
from ..values.canonical import digest_of
from .brakes import Brake
from .changes import ClusterChanges, ObjectChange

# The code of a finding that stands before everything else that a plan says.
NOTHING_RECORDED = "nothing-recorded"
GAINED, KEPT, LOST = "gained", "kept", "lost"
KEPT_UNREADABLE = "kept-unreadable"
CONTENT_CHANGED = "content-changed"
# Cause and reason of a cluster that keeps the placement.
AS_IT_WAS = ("unchanged", "holds it already")
WITH_OTHER_CONTENT = (CONTENT_CHANGED, "is recorded with another content")
# Why an evacuated cluster loses a placement: at once, or, where it could not be read, as soon as it answers.
EVACUATED, LEFT_BEHIND = "evacuated", "left-behind"
PRUNE, RELEASE, LEFTOVER = LEAVING = ("prune", "release", "leftover")
SCHEMA = 2


def reference(each: ObjectId) -> dict[str, str]:
    """An object in the JSON of a plan: ``apiVersion``, and ``object`` such as ``Deployment shop/web``."""
    return {"apiVersion": each.api_version, "object": str(each)}


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """One object as a cluster gets it: ``manifest`` is what is sent, ``sealed`` the form that may be recorded (None
    where nobody needs it), ``hash`` is that of the sealed form, ``origin`` the envelope that it came out of, if it
    did."""

    id: ObjectId
    hash: str
    manifest: t.Mapping[str, t.Any] = field(repr=False)
    sealed: t.Mapping[str, t.Any] | None = field(default=None, repr=False, compare=False)
    origin: Origin | None = None

    def as_dict(self) -> dict[str, t.Any]:
        """The object as plan files have it, without its manifest: its ``reference``, ``hash``, and ``envelope`` if it
        came out of one."""
        envelope = {"envelope": self.origin.as_dict()} if self.origin else {}
        return {**reference(self.id), "hash": self.hash, **envelope}


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """What equal clusters get that is not as in the objects of the placement: ``objects`` as they are there, and which
    are ``left_out``. ``changes`` say the same by fields."""

    clusters: tuple[str, ...]
    objects: tuple[Rendered, ...] = ()
    left_out: tuple[ObjectId, ...] = ()
    changes: tuple[ObjectChange, ...] = ()

    def as_dict(self) -> dict[str, t.Any]:
        """As plan files have it: ``clusters``, ``objects`` without manifests, ``leftOut`` as references, ``changes``;
        each in its order."""
        return {
            "clusters": list(self.clusters),
            "objects": [each.as_dict() for each in self.objects],
            "leftOut": [reference(each) for each in self.left_out],
            "changes": [each.as_dict() for each in self.changes],
        }


@dataclass(frozen=True, kw_only=True)
class ClusterPlan:
    """One cluster that has, gets or loses the placement: ``change`` is ``gained``, ``kept`` or ``lost``.

    ``cause`` is why, as a code (``picked``, ``scaled-down``, ``policy-changed``, ``left-the-fleet``, ``deleted``,
    ``source-gone``, ``content-changed``, ``unchanged``, ``kept-unreadable``, ``evicted``, ``evacuated``,
    ``left-behind``), ``reason`` in words. The scores are None where nothing was scored. ``decided``: an earlier run or
    an eviction has recorded already that it loses the placement, be it picked again by now. ``outdated``: it keeps the
    placement, and another content is recorded there. ``prune`` are objects that are held there and would be deleted,
    ``release`` those that would stay there without our label. ``leftover`` are objects that an unfinished run may have
    put there; if they are there they are deleted too. ``begun`` are the keys of all objects of a write that was begun
    there and is not known to have ended.
    """

    cluster: str
    change: str
    cause: str
    reason: str
    affinity_score: int | None = None
    spread_score: int | None = None
    prune: tuple[ObjectId, ...] = ()
    release: tuple[ObjectId, ...] = ()
    leftover: tuple[ObjectId, ...] = ()
    decided: bool = False
    outdated: bool = False
    begun: frozenset[ObjectKey] = frozenset()

    @property
    def leaving(self) -> tuple[ObjectId, ...]:
        """Everything that may be deleted or released there: ``prune``, then ``release``, then ``leftover``."""
        return (*self.prune, *self.release, *self.leftover)

    @property
    def counted(self) -> int:
        """How many of the objects that are deleted the brake on objects counts: ``prune``, and what of ``leftover`` is
        ``begun``."""
        return len(self.prune) + sum(each.key in self.begun for each in self.leftover)

    @property
    def stays(self) -> bool:
        """Whether it keeps the placement with the content that is recorded there, read or not."""
        return self.change == KEPT and not self.outdated

    @property
    def decides_change(self) -> bool:
        """Whether a run has something to do for it by the records; what the member has is not looked at. True for one
        that gains or loses the placement, be the loss recorded already (but of cause ``left-behind`` only until it is),
        and for one that keeps it where its content changes, its loss was recorded, or something leaves it."""
        if self.cause == LEFT_BEHIND:
            return not self.decided
        return not self.stays or self.decided or bool(self.leaving)

    def as_dict(self) -> dict[str, t.Any]:
        """The cluster as plan files have it, without ``decided``, ``outdated``, ``begun``; scores as ``affinityScore``
        and ``topologySpreadScore``; objects as of ``reference``."""
        return {
            "cluster": self.cluster,
            "change": self.change,
            "cause": self.cause,
            "reason": self.reason,
            "affinityScore": self.affinity_score,
            "topologySpreadScore": self.spread_score,
            **{name: [reference(each) for each in getattr(self, name)] for name in LEAVING},
        }


@dataclass(frozen=True, kw_only=True)
class Moves:
    """What goes from one placement to another on a cluster: of what leaves, ``handed`` is released and not deleted;
    ``takes`` are, by object, IDs of ApplySets: it may be taken over although it bears one of them. ``originals``: the
    objects were selected on this very cluster, so that all that leaves it is released."""

    handed: t.Container[ObjectKey] = frozenset()
    takes: t.Mapping[ObjectKey, frozenset[str]] = field(default_factory=dict)
    originals: bool = False


NO_MOVES = Moves()


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A cluster that is not picked, and the ``rule`` that refused it: the name of a plugin of the scheduler,
    ``PickFixed`` for a name that is not found, or of PickN ``not-enough-score`` or ``not-needed``."""

    cluster: str
    rule: str
    reason: str

    def as_dict(self) -> dict[str, t.Any]:
        """The cluster as plan files have it: ``cluster``, ``rule`` and ``reason``."""
        return {"cluster": self.cluster, "rule": self.rule, "reason": self.reason}


@dataclass(frozen=True, kw_only=True)
class PlacementPlan:
    """Everything that one placement's next apply would do.

    ``objects`` are those of the snapshot; ``overrides`` names what acts on them on a cluster, and ``rendered`` holds
    what a cluster gets where that is not just ``objects``; ``renderings`` tell the difference. ``bindings`` are those
    that scheduling leaves, ``clusters`` are by name; ``brakes`` are all that were asked, tripped or not.
    ``resource_snapshot`` names what clusters get, empty without any; a ``*_new`` says that the snapshot is yet to be
    recorded. ``digest`` is what approvals are bound to, empty in plans of evictions.

    ``wanted`` is how many clusters the policy asks for, ``fulfilled`` whether it found them all; where nothing is
    scheduled it is True, and ``wanted`` 0, or in a staged run how many are to hold it. ``deleting``: the placement
    ends. ``scheduled`` is None then, and in plans of evictions and of staged runs. ``respecified``: its spec is not the
    recorded one, ``rebound``: a binding's is not. ``changes`` are those since the last apply, in objects that stay on
    clusters that stay. ``rolled_back``: the objects are those of an earlier snapshot, ``empty_first``: evacuated
    clusters do not keep what they hold until others have it. ``moves`` are by cluster.
    """

    placement: ClusterResourcePlacement
    deleting: bool
    policy_snapshot: ClusterSchedulingPolicySnapshot
    policy_snapshot_new: bool
    resource_snapshot: str
    resource_hash: str
    resource_snapshot_new: bool
    objects: tuple[Rendered, ...]
    bindings: tuple[ClusterResourceBinding, ...]
    clusters: tuple[ClusterPlan, ...]
    fulfilled: bool
    wanted: int
    brakes: tuple[Brake, ...]
    findings: tuple[Problem, ...]
    digest: str
    respecified: bool = False
    rebound: bool = False
    rolled_back: RolledBack | None = None
    empty_first: bool = False
    changes: tuple[ClusterChanges, ...] = ()
    overrides: OverridesByCluster = field(default_factory=dict)
    rendered: t.Mapping[str, tuple[Rendered, ...]] = field(default_factory=dict, repr=False)
    renderings: tuple[Rendering, ...] = ()
    scheduled: Scheduled | None = field(default=None, repr=False, compare=False)
    moves: t.Mapping[str, Moves] = field(default_factory=dict, repr=False)

    @property
    def key(self) -> PlacementKey:
        """Kind, namespace and name of the placement."""
        return self.placement.key

    @property
    def name(self) -> str:
        """``web``, or ``shop/web`` for a ResourcePlacement."""
        return str(self.placement.key)

    @property
    def content(self) -> WantedContent:
        """What every cluster is to hold, as bindings name it."""
        return WantedContent(resource_snapshot=self.resource_snapshot, overrides=self.overrides)

    def objects_on(self, cluster: str) -> tuple[Rendered, ...]:
        """What the cluster is to hold, in hash order, if it is to hold the placement, which is not asked."""
        return self.rendered.get(cluster, self.objects)

    def left_out_on(self, cluster: str) -> tuple[ObjectId, ...]:
        """The objects of the snapshot that overrides leave out on the cluster, in hash order."""
        there = {each.id for each in self.objects_on(cluster)}
        return tuple(each.id for each in self.objects if each.id not in there) if cluster in self.rendered else ()

    @property
    def picked(self) -> int:
        """How many clusters the policy has found, without those that keep the placement only because they could not be
        read."""
        return sum(1 for each in self.clusters if each.change != LOST and each.cause != KEPT_UNREADABLE)

    @property
    def unread(self) -> int:
        """How many clusters keep the placement only because they could not be read."""
        return sum(1 for each in self.clusters if each.change != LOST) - self.picked

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Every cluster of the fleet that does not get the placement, those that lose it among them, by name; of
        PickFixed only those that it names, in the fleet or not. Empty where the placement ends, in an eviction and in a
        staged run."""
        staying = {each.cluster for each in self.clusters if each.change != LOST}
        return tuple(
            LeftOut(cluster=each.cluster, rule=each.rule, reason=each.reason)
            for each in (self.scheduled.left_out if self.scheduled else ())
            if each.cluster not in staying
        )

    def left_out_alike(self, few: int) -> list[tuple[tuple[str, ...], str, str]]:
        """What ``left_out`` has, as names with their rule and reason: one name in each where there are at most ``few``,
        else all names with the same rule and reason, in the order of the first names."""
        if len(self.left_out) <= few:
            return [((each.cluster,), each.rule, each.reason) for each in self.left_out]
        alike: dict[tuple[str, str], list[str]] = {}
        for each in self.left_out:
            alike.setdefault((each.rule, each.reason), []).append(each.cluster)
        return [(tuple(names), rule, reason) for (rule, reason), names in alike.items()]

    def objects_going(self, way: str, but: str = "") -> list[tuple[tuple[ObjectId, ...], tuple[str, ...]]]:
        """Objects that leave clusters by one ``way`` (``prune``, ``release``, ``leftover``), each set, sorted by text,
        with all clusters that it leaves; those that leave most clusters first, then by the clusters' names. Clusters of
        the cause ``but`` are left out."""
        rows = [each for each in self.clusters if each.cause != but]
        return _alike({each.cluster: getattr(each, way) for each in rows})

    @property
    def objects_left_behind(self) -> list[tuple[tuple[ObjectId, ...], tuple[str, ...]]]:
        """What goes from evacuated clusters that could not be read, once they answer; in the form of
        ``objects_going``."""
        rows = [each for each in self.clusters if each.cause == LEFT_BEHIND]
        return _alike({each.cluster: each.leaving for each in rows})

    @property
    def changes_first(self) -> tuple[ClusterPlan, ...]:
        """All clusters of the plan: lost, gained, kept, and those of cause ``unchanged``, each group by name; so that a
        long list can be cut at its end."""
        order = (LOST, GAINED, KEPT)
        return tuple(
            sorted(self.clusters, key=lambda each: (order.index(each.change), each.cause == "unchanged", each.cluster))
        )

    def clusters_with(self, change: str) -> tuple[str, ...]:
        """Names of the clusters with this ``change`` (``gained``, ``kept``, ``lost``), in the order of the plan."""
        return tuple(each.cluster for each in self.clusters if each.change == change)

    @property
    def is_by_staged_runs(self) -> bool:
        """Whether its clusters are changed by staged update runs alone (KubeFleet's strategy type External); False
        where the placement ends."""
        return self.placement.spec.strategy.type == "External" and not self.deleting

    @property
    def reports_only(self) -> bool:
        """Whether the placement's apply strategy is ReportDiff: differences are told, and nothing is applied."""
        strategy = self.placement.spec.strategy.apply_strategy
        return strategy is not None and strategy.type == "ReportDiff"

    @property
    def decides_change(self) -> bool:
        """Whether the plan differs from what is recorded, members not looked at; one of a placement that ends does. A
        new policy snapshot, or a binding of another spec (``rebound``), alone does not count. Where staged runs change
        the clusters (``is_by_staged_runs``), these two count, as a new resource snapshot or spec does, and what the
        runs will do does not."""
        if self.is_by_staged_runs:
            return self.resource_snapshot_new or self.policy_snapshot_new or self.respecified or self.rebound
        return (
            self.resource_snapshot_new
            or self.respecified
            or self.deleting
            or any(each.decides_change for each in self.clusters)
        )

    def decides_change_beside(self, away: t.Container[str]) -> bool:
        """As ``decides_change``; but where the records have all of it already, what is only to be done on clusters that
        are ``away`` is no change."""
        news = self.resource_snapshot_new or self.respecified or self.deleting or self.rebound or self.is_by_staged_runs
        if news:
            return self.decides_change
        return any(each.decides_change and each.cluster not in away for each in self.clusters)

    def as_dict(self) -> dict[str, t.Any]:
        """Plain data in a fixed order, so that equal plans are equal bytes: ``objects`` in hash order, ``clusters`` and
        ``leftOut`` by name; ``spec`` is a digest, ``emptyFirst`` is there only where it is true; of the brakes those
        that have tripped, lifted ones too. Instants are in brakes and findings alone."""
        return {
            "placement": self.name,
            "spec": digest_of(encode(self.placement.spec)),
            "deleting": self.deleting,
            "digest": self.digest,
            "policySnapshot": self.policy_snapshot.name,
            "resourceSnapshot": self.resource_snapshot,
            "fulfilled": self.fulfilled,
            "wanted": self.wanted,
            **({"emptyFirst": True} if self.empty_first else {}),
            "objects": [each.as_dict() for each in self.objects],
            "renderings": [each.as_dict() for each in self.renderings],
            "clusters": [each.as_dict() for each in self.clusters],
            "changes": [each.as_dict() for each in self.changes],
            "leftOut": [each.as_dict() for each in self.left_out],
            "brakes": [each.as_dict() for each in self.brakes if each.tripped],
            "findings": [each.as_dict() for each in self.findings],
        }


def _alike(found: t.Mapping[str, tuple[ObjectId, ...]]) -> list[tuple[tuple[ObjectId, ...], tuple[str, ...]]]:
    """Each set of objects, sorted by their text, with the clusters that have it; sets of most clusters first, then by
    the names of clusters. Clusters without objects are left out."""
    sets: dict[tuple[ObjectId, ...], list[str]] = {}
    for cluster, objects in found.items():
        if objects:
            sets.setdefault(tuple(sorted(objects, key=str)), []).append(cluster)
    ordered = sorted(sets.items(), key=lambda item: (-len(item[1]), item[1]))
    return [(objects, tuple(clusters)) for objects, clusters in ordered]
