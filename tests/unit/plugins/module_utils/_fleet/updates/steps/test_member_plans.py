# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Of which members a plan says that no window holds them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import (
    UpdateManifests,
    update_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.member_plans import member_plans
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords


def now() -> datetime:
    return datetime(2026, 8, 17, 12, tzinfo=UTC)


def test_a_member_that_is_held_is_not_one_without_a_window(tmp_path: Path) -> None:
    """It names a FleetMaintenance that is not there."""
    records = SqliteRecords(tmp_path / "records.db", now)
    for name, spec in {"free": {}, "held": {"maintenance": "nihgts"}}.items():
        records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name}, "spec": {}})
        records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec})
    update = {"upgrade": {"type": "Full", "kubernetesVersion": "1.36.3"}}
    wanted = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"},
              "spec": {"managedClusterUpdate": update}}  # fmt: skip
    made = define_run(records, "r", update_manifests([], [wanted], strict=False), write=True).run
    plans = member_plans(Session(records=records, holder="tests", clock=now, environ={}), made, UpdateManifests(), {})
    assert plans is not None and plans.without_window == ("free",)
    records.close()
