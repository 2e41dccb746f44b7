# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a forecast learns from: other runs, and members of the run itself that are done; who is in its calendar."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.durations import UPGRADE, Duration
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.forecasting import FleetSight, outlooks
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import DAILY, configuration, maintenance

MINUTE = timedelta(minutes=1)
NOW = datetime(2026, 8, 17, 12, tzinfo=UTC)


def run(name: str, minutes: int | None) -> UpdateRun:
    """One member, done after so long, or not begun."""
    status: dict[str, t.Any] = {"state": "NotStarted"}
    if minutes is not None:
        begun, ended = "2026-08-17T12:00:00Z", f"2026-08-17T12:{minutes:02}:00Z"
        status = {"state": "Completed", "startTime": begun, "completedTime": ended}
    group = {"name": "g", "members": [{"name": f"of-{name}", "status": status, "attempt": 1}]}
    spec = {"managedClusterUpdate": {"upgrade": {"type": "Full", "kubernetesVersion": "1.36.3"}}}
    stages = [{"name": "s", "groups": [group]}]
    return decode(UpdateRun, {"metadata": {"name": name}, "spec": spec, "status": {"stages": stages}})


@pytest.mark.parametrize(
    ("mine", "other", "usual"),
    [
        (None, None, UPGRADE),
        (7, None, Duration(7 * MINUTE, 7 * MINUTE)),
        (None, 9, Duration(9 * MINUTE, 9 * MINUTE)),
        (7, 9, Duration(7 * MINUTE, 9 * MINUTE)),
    ],
)
def test_a_run_teaches_its_own_forecast(mine: int | None, other: int | None, usual: Duration) -> None:
    """As it stands now, and once: not as it was recorded when others were listed."""
    asked = run("now", mine)
    listed = (run("now", 59), run("before", other))
    sight = FleetSight(records=t.cast(t.Any, None), documents={}, fleet={}, in_flight={}, runs=listed)
    assert sight.durations(asked).others == usual


@pytest.mark.parametrize("days", [-5, 0, 367, 4_000_000])
def test_nobody_looks_further_ahead_than_a_year(days: int) -> None:
    with pytest.raises(FleetError) as refused:
        outlooks(t.cast(t.Any, None), [], NOW, days)
    assert (refused.value.code, refused.value.where) == ("bad-option", "days")


def test_a_member_that_is_held_is_not_open_in_the_calendar(tmp_path: Path) -> None:
    """It names a FleetMaintenance that is not there."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    for name, spec in {"free": {}, "held": {"maintenance": "nihgts"}}.items():
        records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name}, "spec": {}})
        records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec})
    update = {"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}}
    wanted = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"},
              "spec": {"managedClusterUpdate": update}}  # fmt: skip
    made = define_run(records, "r", update_manifests([], [wanted], strict=False), write=True).run
    found = outlooks(records, [made], NOW, 14)["r"].appointments
    assert [(each.what, each.members) for each in found if each.kind == "open"] == [("any time", ("free",))]
    records.close()


def test_the_calendar_tells_which_opening_a_freeze_closes(tmp_path: Path) -> None:
    """By windows and freezes as they are recorded."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    frozen = {"name": "sales", "start": "2026-08-19", "end": "2026-08-19"}
    records.create(maintenance(configuration(schedule=DAILY), freezes=[frozen]))
    records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": "a"}, "spec": {}})
    member = {"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "a"}}
    records.create({**member, "spec": {"maintenance": "standard"}})
    update = {"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}}
    wanted = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"},
              "spec": {"managedClusterUpdate": update}}  # fmt: skip
    made = define_run(records, "r", update_manifests([], [wanted], strict=False), write=True).run
    found = outlooks(records, [made], NOW, 3)["r"].appointments
    (closed,) = (each for each in found if each.kind == "closed")
    assert (closed.start, closed.members) == (datetime(2026, 8, 19, 1, tzinfo=UTC), ("a",))
    assert closed.what == "window, by freeze sales"
    records.close()


@pytest.mark.parametrize(
    ("kind", "kubelet", "begins"),
    [("Full", "1.35.4", True), ("Full", "1.36.3", False), ("ControlPlaneOnly", "1.35.4", False)],
)
def test_a_member_whose_pools_are_behind_is_upgraded_though_its_control_plane_is_not(
    tmp_path: Path, kind: str, kubelet: str, begins: bool
) -> None:
    """As after a run that ended between the two."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": "a"}, "spec": {}})
    status = {"version": "1.36.3", "nodePools": [{"name": "blue", "count": 2, "version": kubelet}]}
    member = {"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "a"}}
    records.create({**member, "spec": {}, "status": status})
    update = {"upgrade": {"type": kind, "kubernetesVersion": "1.36.3"}}
    wanted = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"},
              "spec": {"managedClusterUpdate": update}}  # fmt: skip
    made = define_run(records, "r", update_manifests([], [wanted], strict=False), write=True).run
    found = outlooks(records, [made], NOW, 3)["r"]
    assert (found.forecast.run.expected.end != NOW) is begins
    records.close()
