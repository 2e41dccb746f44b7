# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a plan says of members: which of them no window holds, and what their control planes have and would get."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import NodePoolStatus
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import (
    UpdateManifests,
    update_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.member_plans import member_plans
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.seen_members import as_seen
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords


def now() -> datetime:
    return datetime(2026, 8, 17, 12, tzinfo=UTC)


@pytest.mark.parametrize("freezes", [[], [{"name": "years-end", "start": "2026-12-20", "end": "2027-01-03"}]])
def test_a_member_that_is_held_is_not_one_without_a_window(tmp_path: Path, freezes: list[dict[str, str]]) -> None:
    """It names a FleetMaintenance that is not there. A freeze of the fleet is no window of the other."""
    records = SqliteRecords(tmp_path / "records.db", now)
    metadata = {"name": "fleet"}
    records.create(
        {"apiVersion": FLEET_API, "kind": "FleetMaintenance", "metadata": metadata, "spec": {"freezes": freezes}}
    )
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


def test_a_run_of_control_planes_alone_is_planned_for_the_members_that_were_seen(tmp_path: Path) -> None:
    """As the run judges them: ``old`` has kubelets that are too old, ``late`` would skip a minor."""
    records = SqliteRecords(tmp_path / "records.db", now)
    versions = {"a": "1.35.4", "done": "1.36.3", "late": "1.33.1", "old": "1.35.4", "silent": ""}
    for name in versions:
        records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name}, "spec": {}})
        records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": {}})
    update = {"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}}
    wanted = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"},
              "spec": {"managedClusterUpdate": update}}  # fmt: skip
    made = define_run(records, "r", update_manifests([], [wanted], strict=False), write=True).run
    session = Session(records=records, holder="tests", clock=now, environ={})
    pools = {"old": (NodePoolStatus(name="blue", count=1, version="1.32.0"),)}
    seen = {
        name: as_seen(member.fleet, version, pools.get(name, ()))
        for name, member in recorded_members(records).items()
        if (version := versions[name])
    }
    plans = member_plans(session, made, UpdateManifests(), {}, seen)
    assert plans is not None and sorted(plans.works) == ["a", "done", "late", "old"]
    (step,) = plans.works["a"].steps
    assert (step.what, step.from_version, step.version) == ("ControlPlane", "1.35.4", "1.36.3")
    assert [name for name, work in plans.works.items() if work.skip] == ["done"]
    assert [name for name, work in plans.works.items() if work.fail] == ["late", "old"]
    assert member_plans(session, made, UpdateManifests(), {}) is None, "nothing is guessed of who was not seen"
    records.close()
