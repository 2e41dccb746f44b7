# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placement ``web`` in records, applied without a look at any member, and a staged run of it."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.apply import ApplyResult, carry_out
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.plan import (
    PlanRequest,
    make_plans,
    plan_again,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.sources import catalogued, read_placement
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import (
    StagedManifests,
    staged_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.manifests import read_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
API = "placement.kubernetes-fleet.io/v1beta1"


def staged(records: SqliteRecords, folder: Path, **more: t.Any) -> StagedManifests:
    """The placement on cluster ``a``, ``more`` in its spec, and run ``web-1``, which waits for an approval first; the
    run is not recorded."""
    applied(records, folder, made.cluster("a"), strategy={"type": "External"}, **more)
    records.create({**encode(made.cluster("a")), "status": {}})
    strategy = {"stages": [{"name": "all", "labelSelector": {}, "beforeStageTasks": [{"type": "Approval"}]}]}
    run = {"placementName": "web", "stagedRolloutStrategyName": "rings"}
    definitions = (
        {"apiVersion": API, "kind": "ClusterStagedUpdateStrategy", "metadata": {"name": "rings"}, "spec": strategy},
        {"apiVersion": API, "kind": "ClusterStagedUpdateRun", "metadata": {"name": "web-1"}, "spec": run},
    )
    return staged_manifests((), definitions, [str(folder / "shop.json")])


def applied(
    records: SqliteRecords,
    folder: Path,
    *members: MemberCluster,
    absent: tuple[str, ...] = (),
    ways: ApplyOptions | None = None,
    clock: t.Callable[[], datetime] = lambda: NOW,
    names: tuple[str, ...] = ("web",),
    **more: t.Any,
) -> ApplyResult:
    """Placements of these names that are carried out, without a look at these members; or those that end."""
    (folder / "shop.json").write_text('{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}')
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
    spec = {"resourceSelectors": [selector], **more}
    kind = {"apiVersion": API, "kind": "ClusterResourcePlacement", "spec": spec}
    wanted = [read_placement({**kind, "metadata": {"name": each}}, "web.yml", False) for each in names]
    session = Session(records=records, holder="me", clock=clock, environ={})
    request = PlanRequest(
        placements=() if absent else tuple(wanted),
        absent=absent,
        facts=FactsSnapshot(captured_at=NOW, members=members),
        limits=BrakeLimits(),
        now=NOW,
        key=b"key",
        resources=catalogued(read_manifests((str(folder / "shop.json"),))),
    )
    plan = make_plans(session, request)
    again = partial(plan_again, session, request, plan)
    return carry_out(session, Clients(members={}), plan, again, request, ways or ApplyOptions())
