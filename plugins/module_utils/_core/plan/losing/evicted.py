# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The plan of an eviction, in which one cluster loses its placement, and its result as data (``state``, ``permitted``,
``arithmetic``, ``member``, ``next``); and for its budget, whether what the other clusters hold is Available by now."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ...objects.placements.binding import ClusterResourceBinding
from ...objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...resources.availability import NOT_YET
from ...rollout.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    set_condition,
    status_is,
)
from ...rollout.eviction import EvictionVerdict
from ...rollout.readiness import AVAILABLE
from ...values.listed import number_of
from ..compose import (
    RecordedState,
    WantedPlacement,
    leaving_objects,
    policy_snapshot_of,
)
from ..document import (
    AS_IT_WAS,
    KEPT,
    LOST,
    ClusterPlan,
    PlacementPlan,
    Rendered,
)
from ..outcome import MemberOutcome

DONE, REFUSED, UNDERWAY, OVER = "executed", "refused", "underway", "over"


@dataclass(frozen=True, kw_only=True)
class EvictionResult:
    """What became of one eviction. ``state`` is executed, refused, underway (it goes on in the next run), or over (an
    earlier run has tried it). ``outcome`` is that of its cluster, None where nothing was tried there. ``next_pick``
    says in words what the next apply would do, once it is executed."""

    name: str
    placement: str
    cluster: str
    state: str
    verdict: EvictionVerdict
    outcome: MemberOutcome | None = None
    next_pick: str = ""

    def as_dict(self) -> dict[str, t.Any]:
        """The result as plain data; the verdict as ``permitted``, ``why``, ``message`` and ``arithmetic``, None unless
        a budget decided; the outcome as ``member``, None without one; ``next_pick`` as ``next``."""
        numbers = self.verdict.arithmetic
        return {
            "name": self.name,
            "placement": self.placement,
            "cluster": self.cluster,
            "state": self.state,
            "permitted": self.verdict.yes,
            "why": self.verdict.why,
            "message": self.verdict.message,
            "arithmetic": None
            if numbers is None
            else {
                "available": numbers.available,
                "total": numbers.total,
                "limit": numbers.limit,
                "allowed": numbers.allowed,
            },
            "member": self.outcome.as_dict() if self.outcome else None,
            "next": self.next_pick,
        }


def eviction_plan(
    placement: ClusterResourcePlacement,
    known: RecordedState,
    binding: ClusterResourceBinding,
    why: str,
    prune_kinds: tuple[str, ...] = (),
) -> PlacementPlan:
    """The plan in which the cluster of ``binding`` loses the placement, as of ``leaving_objects``, and nothing else
    happens; ``why`` is the reason told, ``prune_kinds`` are as of ``WantedPlacement``. It has no brakes, digest,
    objects or bindings."""
    wanted = WantedPlacement(placement=placement, prune_kinds=prune_kinds)
    leaving = leaving_objects(wanted, known, binding, LOST, "evicted", ())
    row = ClusterPlan(
        cluster=binding.spec.target_cluster,
        change=LOST,
        cause="evicted",
        reason=why,
        affinity_score=None,
        spread_score=None,
        decided=False,
        **leaving,
    )
    return _plan_of(placement, known, (row,))


def holders_plan(
    placement: ClusterResourcePlacement, known: RecordedState, bindings: t.Iterable[ClusterResourceBinding]
) -> PlacementPlan:
    """The plan in which the clusters of these bindings keep what they hold, for a look at what is there of it. Rows are
    by name; of two bindings of a cluster the last counts. Where no record has the manifests of the snapshot that a
    cluster holds, nothing is asked for there."""
    held = {each.spec.target_cluster: _held(known, each) for each in bindings}
    cause, reason = AS_IT_WAS
    rows = tuple(ClusterPlan(cluster=each, change=KEPT, cause=cause, reason=reason) for each in sorted(held))
    return replace(_plan_of(placement, known, rows), rendered=held)


def with_available_seen(
    binding: ClusterResourceBinding, objects: t.Sequence[Rendered], outcome: MemberOutcome, now: datetime
) -> tuple[ClusterResourceBinding, str]:
    """The binding with Available as of a look at its cluster, which is to hold these ``objects``: Unknown where it
    could not be looked at; without objects as it was; False where one is not there or not available; else True, also
    where that cannot be told of some. Also why it is not True now although it was; else empty."""
    judged = outcome.availability or {}
    late = [each.id for each in objects if judged.get(each.id, NOT_YET) == NOT_YET]
    if outcome.error:
        row = (UNKNOWN, "NotSeen", outcome.error.message)
    elif late:
        lacks = (outcome.lacks or {}).get(late[0], "is not there")
        more = f", and {number_of(len(late) - 1, 'other object')} of it too" if len(late) > 1 else ""
        row = (FALSE, "NotAllWorkAreAvailable", f"{late[0]} {lacks}{more}")
    elif objects:
        row = (TRUE, "AllWorkAreAvailable", "all objects are available")
    else:
        return binding, ""
    generation, conditions = binding.metadata.generation, binding.status.conditions
    was = status_is(conditions, AVAILABLE, generation, TRUE)
    status = replace(binding.status, conditions=set_condition(conditions, AVAILABLE, row, generation, now))
    return replace(binding, status=status), row[2] if was and row[0] != TRUE else ""


def _held(known: RecordedState, binding: ClusterResourceBinding) -> tuple[Rendered, ...]:
    """The objects of the snapshot that the cluster holds, sealed and without hashes, but for those left out there; none
    where no record has it, or only hashes of it."""
    ids = known.contents.get(binding.held_snapshot, ())
    earlier = known.earlier.get(binding.held_snapshot)
    manifests = earlier.manifests if earlier and len(earlier.manifests) == len(ids) else ()
    return tuple(
        Rendered(id=each, hash="", manifest=manifest)
        for each, manifest in zip(ids, manifests, strict=False)
        if each.key not in binding.left_out
    )


def _plan_of(placement: ClusterResourcePlacement, known: RecordedState, rows: tuple[ClusterPlan, ...]) -> PlacementPlan:
    """The plan with these rows, and nothing else."""
    return PlacementPlan(
        placement=placement,
        deleting=False,
        policy_snapshot=policy_snapshot_of(placement, known.policy_snapshot)[0],
        policy_snapshot_new=False,
        resource_snapshot=known.resource_snapshot,
        resource_hash=known.resource_hash,
        resource_snapshot_new=False,
        objects=(),
        bindings=(),
        clusters=rows,
        fulfilled=True,
        wanted=0,
        brakes=(),
        findings=(),
        digest="",
    )
