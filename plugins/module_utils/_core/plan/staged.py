# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The plan of a staged update run: for every cluster that is recorded, what one resource snapshot brings to it and what
leaves it once all stages are done, with brakes (its facts are never too old) and digest."""

from __future__ import annotations

import typing as t
from datetime import datetime
from functools import partial

from ..objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from ..resources.snapshots import resource_hash
from ..rollout.content import WantedContent
from ..scheduling.index import FleetIndex
from ..schema.codec import encode
from ..values.canonical import digest_of
from .brakes import BrakeLimits
from .compose import (
    Contents,
    Facts,
    RecordedState,
    WantedPlacement,
    brakes_of,
    cluster_rows,
    members_to_hold,
)
from .digest import plan_digest
from .document import LOST, PlacementPlan
from .losing.handed_over import handed_over
from .rendering import by_cluster, renderings


def staged_plan(
    wanted: WantedPlacement,
    known: RecordedState,
    policy: ClusterSchedulingPolicySnapshot,
    snapshot: str,
    index: FleetIndex,
    now: datetime,
    limits: BrakeLimits,
    hubs: t.Container[str] = (),
) -> PlacementPlan:
    """What becomes of every recorded cluster when all stages are done; ``snapshot`` is the name of the one they get,
    ``policy`` the recorded policy snapshot. Nothing is scheduled anew, and no ``changes`` are compared: the bindings
    say who is picked, and who loses it. All that leaves ``hubs`` is released, as of ``handed_over``. Facts count as
    captured at ``now``, so that their brake does not trip; others that stop the run are told in the plan and not
    raised. FleetError as of ``by_cluster``, ValueError as of ``brakes_of``."""
    placement = wanted.placement
    staying = members_to_hold(known.bindings, index) if wanted.overrides else []
    made = by_cluster(wanted.objects, wanted.overrides, staying, wanted.sealing)
    contents = Contents(
        WantedContent(resource_snapshot=snapshot, overrides=made.overrides), wanted.objects, made.rendered
    )
    clusters = cluster_rows(wanted, known, index, known.bindings, contents, policy.name, ())
    brakes = partial(brakes_of, wanted, known, Facts(index=index, captured_at=now), now, limits)
    tripped = brakes(clusters)
    apart = renderings(wanted.objects, made.rendered)
    spec = digest_of(encode(placement.spec))
    plan = PlacementPlan(
        placement=placement,
        deleting=False,
        policy_snapshot=policy,
        policy_snapshot_new=False,
        resource_snapshot=snapshot,
        resource_hash=resource_hash([each.hash for each in wanted.objects]),
        resource_snapshot_new=False,
        objects=wanted.objects,
        bindings=known.bindings,
        clusters=clusters,
        fulfilled=True,
        wanted=sum(1 for each in clusters if each.change != LOST),
        brakes=tripped,
        findings=wanted.findings,
        digest=plan_digest(str(placement.key), spec, False, clusters, wanted.objects, tripped, apart),
        overrides=made.overrides,
        rendered=made.rendered,
        renderings=apart,
    )
    return handed_over([plan], lambda _plan, rows: brakes(rows), {plan.name: hubs})[0]
