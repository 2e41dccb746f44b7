# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a run with ``chain: true`` is refused, planned and foretold, by the records alone (U20)."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import run_of
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.forecasting import FleetSight
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.pools import by_steps, upgrades_node_pools
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import (
    UpdateManifests,
    update_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.member_plans import member_plans
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import start_run
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

FAR = {"a": "v1.33.2", "b": "v1.35.4"}


def now() -> datetime:
    return datetime(2026, 8, 17, 12, tzinfo=UTC)


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", now)
    for name, version in FAR.items():
        records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name}, "spec": {}})
        spec = {"connection": {"kubeconfig": "none"}, "driver": "local"}
        member = {"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec}
        pools = [{"name": "old", "count": 1, "version": "v1.32.2"}]
        records.create(member)
        stored = records.get("FleetMember", name)
        records.replace({**t.cast(t.Any, stored), "status": {"version": version, "nodePools": pools}})
    yield Session(records=records, holder="tests", clock=now, environ={})
    records.close()


def made(session: Session, chain: bool, kind: str = "ControlPlaneOnly", target: str = "1.36.3") -> UpdateRun:
    upgrade = {"type": kind, "kubernetesVersion": target, **({"chain": True} if chain else {})}
    run = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "far"},
           "spec": {"managedClusterUpdate": {"upgrade": upgrade}}}  # fmt: skip
    return define_run(session.records, "far", update_manifests([], [run], strict=False), write=True).run


def test_u20_the_start_is_refused_with_the_path_and_both_ways_out_unless_it_chains(session: Session) -> None:
    with pytest.raises(FleetError) as refused:
        start_run(session, made(session, chain=False, target="1.35.4"), FAR, write=False)
    (problem,) = refused.value.problems
    assert (problem.code, problem.where) == ("minor-skipped", "a") and "v1.33.2 -> v1.34 -> 1.35.4" in problem.message
    assert "upgrade.chain: true" in problem.hint and "runs of its own" in problem.hint
    assert start_run(session, made(session, chain=True, target="1.35.4"), FAR, write=False).changed
    with pytest.raises(FleetError, match="differ in the major version"):
        start_run(session, made(session, chain=True, target="2.35.4"), FAR, write=False)


def test_u20_control_planes_alone_that_would_leave_their_pools_behind_are_refused(session: Session) -> None:
    with pytest.raises(FleetError) as refused:
        start_run(session, made(session, chain=True), FAR, write=False)
    assert {each.code for each in refused.value.problems} == {"kubelet-skew"}
    assert start_run(session, made(session, chain=True, kind="Full"), FAR, write=False).changed


def test_u20_the_plan_has_every_step(session: Session) -> None:
    assert member_plans(session, made(session, chain=False), UpdateManifests(), {}) is None
    run = made(session, chain=True, target="1.35.4")
    assert by_steps(run) and not upgrades_node_pools(run)
    plans = member_plans(session, run, UpdateManifests(), {})
    assert plans and {name: [each.version for each in work.steps] for name, work in plans.works.items()} == {
        "a": ["1.34", "1.35.4"],
        "b": [],
    }


@pytest.mark.parametrize("chain", [False, True])
def test_u20_the_forecast_counts_a_chained_member_as_one_that_is_upgraded(session: Session, chain: bool) -> None:
    run = made(session, chain)
    view = FleetSight.of(session.records, ()).views(run, run_of(run), now())["a"]
    assert (view.fail is None) is chain and view.skip is None
