# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What has to be done to each object on one member, by what was read there (create, adopt, update, repair, prune,
release), and why not (``NotTakenOver``, ``FailedToTakeOver``, ``FoundDrifts``, ``NotGoneYet``); what is never deleted,
and deletions that no plan named (``NotPlanned``).

The rules are those of KubeFleet's work applier: takeover, drift, and that a newer manifest is applied over drift.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from ..objects.identity import Manifest, ObjectId, ObjectKey
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..objects.placements.rollout_strategy import ApplyStrategy
from ..objects.selectable import OUR_NAMESPACES
from ..resources.applyset import (
    MANAGER,
    PART_OF_LABEL,
    ApplySet,
    InventoryEntry,
    with_part_of_label,
)
from ..resources.comparison.compare import FieldDiff, added_by_others, differences
from ..resources.comparison.left_alone import IGNORE, as_compared, as_live, ignored_paths, without_left_alone
from ..resources.comparison.ownership import FieldDrift, drift
from ..resources.order import apply_wave
from ..values.listed import number_of
from .brakes import removals_permitted
from .changes import FieldChange
from .document import NO_MOVES, Moves, Rendered
from .object_changes import live_changes

CREATE, ADOPT, UPDATE, REPAIR, UNCHANGED = "create", "adopt", "update", "repair", "unchanged"
REFUSED, DIFFERS, PRUNE, RELEASE = "refused", "differs", "prune", "release"
WRITES = frozenset({CREATE, ADOPT, UPDATE, REPAIR, PRUNE, RELEASE})
NOT_GONE = "NotGoneYet"
KEPT_KINDS = frozenset({("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition")})

Live = t.Mapping[ObjectKey, t.Mapping[str, t.Any]]


@dataclass(frozen=True, kw_only=True)
class Deletable:
    """What may be deleted on a member: what the plan ``named``, of which ``counted`` objects, and what its ApplySet
    holds beyond that, as long as all of it is at most ``limit``, a number or a percentage of what it holds; without a
    limit nothing beyond."""

    named: frozenset[ObjectKey]
    counted: int = 0
    limit: int | str | None = None

    def permits(self, others: int, held: int) -> bool:
        """Whether so many ``others``, which the plan did not name, may be deleted as well, of the ``held`` objects.
        ValueError as of ``removals_permitted``."""
        return self.limit is not None and self.counted + others <= removals_permitted(self.limit, held)


@dataclass(frozen=True, kw_only=True)
class MemberStep:
    """One object's step. ``action`` is one of ``WRITES``, or unchanged, refused or differs; ``reason`` says why it is
    refused or differs: upstream's manifest reason (``NotTakenOver``, ``FoundDrifts``), or ours (``NotPlanned``,
    ``NotGoneYet``); empty for one that differs as it is missing or was only added to. ``manifest`` is None, and
    ``hash`` empty, for what the placement does not want any more. ``drifts`` are fields that others changed, removed or
    added, ``diffs`` those in which a takeover or a report found other values. ``missing``: an object that was applied,
    or is reported on, is not there. ``changes`` are the fields that an update or a takeover changes or gives up, where
    they were asked for."""

    id: ObjectId
    action: str
    hash: str = ""
    manifest: t.Mapping[str, t.Any] | None = field(default=None, repr=False)
    drifts: tuple[FieldDrift, ...] = ()
    diffs: tuple[FieldDiff, ...] = ()
    changes: tuple[FieldChange, ...] = ()
    missing: bool = False
    reason: str = ""
    message: str = ""

    @property
    def drifted(self) -> bool:
        """Whether somebody else changed, deleted or, where that counts, added to what was applied, or an object that is
        only reported on is not there."""
        return bool(self.drifts) or self.missing

    def applied_over(self, live: t.Mapping[str, t.Any] | None) -> t.Mapping[str, t.Any] | None:
        """The manifest as it is applied over what is ``live``, without what the annotation ``gitops.fleet/ignore``
        leaves to others; None without a manifest. ValueError as of ``without_left_alone``."""
        return None if self.manifest is None else without_left_alone(self.manifest, live, MANAGER)

    def as_dict(self) -> dict[str, t.Any]:
        """The step as results have it: ``object`` (``Deployment shop/web``) and ``action``, and what there is of
        ``reason`` with ``message``, ``missing``, ``drifts``, ``diffs`` and ``changes``."""
        row: dict[str, t.Any] = {"object": str(self.id), "action": self.action}
        if self.reason:
            row |= {"reason": self.reason, "message": self.message}
        if self.missing:
            row["missing"] = True
        if self.drifts:
            row["drifts"] = [each.as_dict() for each in self.drifts]
        if self.diffs:
            row["diffs"] = [each.as_dict() for each in self.diffs]
        if self.changes:
            row["changes"] = [each.as_dict() for each in self.changes]
        return row


def is_released(each: ObjectId, prune_kinds: t.Container[str], abandon: bool) -> bool:
    """Whether an object that leaves its placement is released and not deleted: all with ``abandon``; Namespaces and
    CustomResourceDefinitions whose kind is not in ``prune_kinds``; the fleet's own namespaces (``OUR_NAMESPACES``) and
    what is in them."""
    kept = (each.group, each.kind) in KEPT_KINDS and each.kind not in prune_kinds
    return abandon or kept or _in_our_namespace(each)


def _in_our_namespace(each: ObjectId) -> bool:
    """Whether the object is one of ``OUR_NAMESPACES`` or in one. A hub that is a member too keeps its records and the
    Jobs of upgrades there, and every member our parents and leases: nothing is placed there, and what an earlier
    release did place is never deleted."""
    namespace = each.name if (each.group, each.kind) == ("", "Namespace") else each.namespace
    return namespace in OUR_NAMESPACES


def abandons(placement: ClusterResourcePlacement, deleting: bool) -> bool:
    """Whether everything that leaves is released (``deleteStrategy: Abandon`` of KubeFleet); False unless the placement
    ends (``deleting``)."""
    strategy = placement.spec.strategy.delete_strategy
    return deleting and strategy is not None and strategy.propagation_policy == "Abandon"


def decide_member(
    desired: t.Sequence[Rendered],
    recorded: ApplySet | None,
    live: Live,
    applyset: str,
    strategy: ApplyStrategy,
    prune_kinds: t.Container[str] = (),
    moves: Moves = NO_MOVES,
    *,
    abandon: bool = False,
    shows: bool = False,
) -> tuple[MemberStep, ...]:
    """The steps for each object on one member, in the order in which they are carried out: applies by wave and in a
    wave by identity, then removals in reverse. An ``ignore`` annotation that is no good refuses its object
    (``FailedToApply``).

    ``live`` holds the objects of ``desired`` and of the recorded inventory that exist on the member, and they have
    passed ``check_managed_fields``; ``recorded`` None is an empty inventory. ``strategy`` says what becomes of drift
    and of objects that others hold. What leaves is released or deleted by ``is_released`` (``prune_kinds``,
    ``abandon``) and ``moves``; what has an owner there is released. Removals are among the steps of a placement that
    only reports, too: its caller takes them out. With ``shows`` updates and takeovers tell what they change.
    ``applyset`` is the ID of the placement's ApplySet: what leaves gets no step where it is gone, or does not bear that
    ID any more, or is the very object (by its uid) that is wanted under another name of its place.
    """
    held = {each.id.key: each for each in recorded.inventory} if recorded else {}
    wanted = {each.id.key for each in desired}
    applied = [
        _applied(each, held.get(each.id.key), live.get(each.id.key), applyset, strategy, moves) for each in desired
    ]
    if shows:
        applied = [_telling(step, live.get(step.id.key)) for step in applied]
    applied.sort(key=lambda step: (apply_wave(step.id), step.id))
    stay = {_uid(live.get(place)) for place in wanted} - {""}
    leaving = [each.id for place, each in held.items() if place not in wanted and _uid(live.get(place)) not in stay]
    leaving.sort(key=lambda each: (apply_wave(each), each), reverse=True)
    removed = (
        _removed(each, live.get(each.key), applyset, prune_kinds, abandon or each.key in moves.handed)
        for each in leaving
    )
    return (*applied, *(step for step in removed if step is not None))


def _uid(live: t.Mapping[str, t.Any] | None) -> str:
    """The uid of a live object; empty where there is no object or it has none."""
    return str(((live or {}).get("metadata") or {}).get("uid") or "")


def with_unplanned_refused(
    steps: t.Sequence[MemberStep], deletable: Deletable | None, held: int
) -> tuple[MemberStep, ...]:
    """The steps, in which deletions that no plan showed are REFUSED (``NotPlanned``), all or none of them: the records
    know nothing of what another run wrote. ``deletable`` None permits all; ``held`` counts the ApplySet's objects.
    ValueError as of ``removals_permitted``."""
    if deletable is None:
        return tuple(steps)
    others = {step.id for step in steps if step.action == PRUNE and step.id.key not in deletable.named}
    if not others or deletable.permits(len(others), held):
        return tuple(steps)
    lift = f"max_object_removals: {deletable.counted + len(others)}" if deletable.limit is not None else "no digest"
    message = (
        f"the plan does not name it: {number_of(len(others), 'object', 'is', 'are')} held here for the placement that "
        f"the records do not know, and they stay; apply with {lift} if they are to go"
    )
    return tuple(
        MemberStep(id=step.id, action=REFUSED, reason="NotPlanned", message=message) if step.id in others else step
        for step in steps
    )


def _applied(
    wanted: Rendered,
    held: InventoryEntry | None,
    live: t.Mapping[str, t.Any] | None,
    applyset: str,
    strategy: ApplyStrategy,
    moves: Moves,
) -> MemberStep:
    """The step for a ``wanted`` object; ``held`` and ``live`` are what the inventory and the member have of it. Refused
    in any case: what would be in our namespaces, and an ``ignore`` annotation that is no good. Else only reported on
    (ReportDiff), created, refused while it is being deleted, taken over where it does not bear the ``applyset``, left
    alone where all of it is ignored, updated where the inventory has another hash, or judged by its drift."""
    manifest = with_part_of_label(wanted.manifest, applyset)

    def step(action: str, **details: t.Any) -> MemberStep:
        """A step of the wanted object, with its hash and manifest."""
        return MemberStep(id=wanted.id, action=action, hash=wanted.hash, manifest=manifest, **details)

    if _in_our_namespace(wanted.id):
        return step(REFUSED, reason="NotTakenOver", message="nothing is placed where the fleet keeps its own objects")
    try:
        others = ignored_paths(manifest)
    except ValueError as error:
        return step(REFUSED, reason="FailedToApply", message=f"annotation {IGNORE}: {error}")
    report_only = strategy.type == "ReportDiff"
    if live is None:
        return step(DIFFERS if report_only else CREATE, missing=held is not None or report_only)
    if report_only:
        diffs = differences(as_compared(wanted.manifest, live), live, full=_compares_fully(strategy))
        return (
            step(DIFFERS, reason="FoundDiff", message="the live object differs", diffs=diffs)
            if diffs
            else step(UNCHANGED)
        )
    if (live.get("metadata") or {}).get("deletionTimestamp"):
        return step(
            REFUSED, reason=NOT_GONE, message="it is being deleted on the member; it can be placed once it is gone"
        )
    if not _ours(live, applyset):
        return _taken_over(as_compared(wanted.manifest, live), live, strategy, step, moves.takes.get(wanted.id.key, ()))
    if () in others:
        return step(UNCHANGED)
    if held is None or held.hash != wanted.hash:
        return step(UPDATE)
    drifts = drift(without_left_alone(manifest, live, MANAGER), live, MANAGER)
    added = added_by_others(as_live(manifest, live, others), live, MANAGER) if _compares_fully(strategy) else ()
    if (drifts or added) and strategy.when_to_apply == "IfNotDrifted":
        message = "drifted, and whenToApply is IfNotDrifted"
        return step(REFUSED, reason="FoundDrifts", message=message, drifts=(*drifts, *added))
    if drifts:
        return step(REPAIR, drifts=(*drifts, *added))
    # No apply takes away what others have added beside it.
    return step(DIFFERS, drifts=added) if added else step(UNCHANGED)


def _compares_fully(strategy: ApplyStrategy) -> bool:
    """Whether fields count that only the live object has."""
    return strategy.comparison_option == "FullComparison"


def _telling(step: MemberStep, live: t.Mapping[str, t.Any] | None) -> MemberStep:
    """An update or a takeover with the fields that it changes, our own label left out; other steps as they are."""
    if step.action not in (UPDATE, ADOPT) or live is None or step.manifest is None:
        return step
    changes = live_changes(without_left_alone(step.manifest, live, MANAGER), live, MANAGER, step.id)
    # Our own label is how the object is held, and nothing that anybody wrote.
    told = tuple(each for each in changes if PART_OF_LABEL not in each.path)
    return replace(step, changes=told)


def _taken_over(
    wanted: Manifest,
    live: t.Mapping[str, t.Any],
    strategy: ApplyStrategy,
    step: t.Callable[..., MemberStep],
    givers: t.Container[str],
) -> MemberStep:
    """The ``step`` for an object that is there and not ours: ADOPT, or REFUSED by whenToTakeOver Never, as one of
    another ApplySet than those of ``givers``, for another owner without allowCoOwnership, or for differences under
    IfNoDiff."""
    metadata = live.get("metadata") or {}
    if strategy.when_to_take_over == "Never":
        return step(REFUSED, reason="NotTakenOver", message="exists already, and whenToTakeOver is Never")
    holder = (metadata.get("labels") or {}).get(PART_OF_LABEL)
    if holder and holder not in givers:
        return step(REFUSED, reason="FailedToTakeOver", message="another placement or tool holds it as its ApplySet")
    if metadata.get("ownerReferences") and not strategy.allow_co_ownership:
        return step(REFUSED, reason="FailedToTakeOver", message="has another owner, and allowCoOwnership is false")
    if strategy.when_to_take_over == "IfNoDiff":
        diffs = differences(wanted, live, full=_compares_fully(strategy))
        if diffs:
            message = "exists with other values, and whenToTakeOver is IfNoDiff"
            return step(REFUSED, reason="FailedToTakeOver", message=message, diffs=diffs)
    return step(ADOPT)


def _removed(
    leaving: ObjectId, live: t.Mapping[str, t.Any] | None, applyset: str, prune_kinds: t.Container[str], abandon: bool
) -> MemberStep | None:
    """The step for an object that is not wanted any more, RELEASE or PRUNE; None where it is gone or does not bear the
    ID ``applyset``. What has an owner there is left to that owner, as KubeFleet leaves it, also where its kind may be
    deleted: claims that a StatefulSet of the member has taken for its own hold its data."""
    if live is None or not _ours(live, applyset):
        return None
    owned = bool(live["metadata"].get("ownerReferences"))
    return MemberStep(id=leaving, action=RELEASE if owned or is_released(leaving, prune_kinds, abandon) else PRUNE)


def _ours(live: t.Mapping[str, t.Any], applyset: str) -> bool:
    """Whether the label ``part-of`` of the live object is the ID ``applyset``."""
    return ((live.get("metadata") or {}).get("labels") or {}).get(PART_OF_LABEL) == applyset
