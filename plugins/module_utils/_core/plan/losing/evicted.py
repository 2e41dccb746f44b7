# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The plan of an eviction, in which one cluster loses its placement, and its result: the verdict, and what was done on
the member."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...objects.placements.binding import ClusterResourceBinding
from ...objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...rollout.eviction import EvictionVerdict
from ..compose import (
    RecordedState,
    WantedPlacement,
    leaving_objects,
    policy_snapshot_of,
)
from ..document import LOST, ClusterPlan, PlacementPlan
from ..outcome import MemberOutcome

DONE, REFUSED, UNDERWAY, OVER = "executed", "refused", "underway", "over"


@dataclass(frozen=True, kw_only=True)
class EvictionResult:
    """What became of one eviction. ``state`` is executed, refused, underway (it goes on in the next run), or over (an
    earlier run has tried it). ``next_pick`` says in words what the next apply would do."""

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
    """The plan in which one cluster, that of ``binding``, loses the placement, and nothing else happens; ``why`` is the
    reason told, ``prune_kinds`` are as of ``WantedPlacement``. It has neither brakes nor a digest. Nothing is
    written."""
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
        clusters=(row,),
        fulfilled=True,
        wanted=0,
        brakes=(),
        findings=(),
        digest="",
    )
