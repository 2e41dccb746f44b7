# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Windows, freezes and releases as a run's conductor sees them for each member."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.constraints import StartConstraints
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.monitor import (
    LIST_AFTER,
    ControlPlaneJudge,
    MemberMonitor,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)  # a Monday
OURS = "gitops.fleet/v1alpha1"
NIGHTS = {
    "schedule": {"daily": {"intervalDays": 1}},
    "durationHours": 4,
    "startTime": "22:00",
    "utcOffset": "+00:00",
    "startDate": "2026-01-01",
}


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield found
    found.close()


def keep(records: SqliteRecords, kind: str, name: str, spec: t.Any, api: str = OURS, **metadata: t.Any) -> None:
    records.create({"apiVersion": api, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec})


def member(records: SqliteRecords, name: str, env: str = "", **spec: t.Any) -> None:
    keep(records, "FleetMember", name, {"connection": {"kubeconfig": "x"}, **spec})
    identity = {"identity": {"kind": "User", "name": "fleet"}}
    keep(records, "MemberCluster", name, identity, "cluster.kubernetes-fleet.io/v1beta1", labels={"env": env or "none"})


def nights(records: SqliteRecords, **configuration: t.Any) -> None:
    window = {"name": "kubernetes", "maintenanceWindow": NIGHTS, **configuration}
    keep(records, "FleetMaintenance", "nights", {"windows": [window]})


def views(records: SqliteRecords, run_type: str = "ControlPlaneOnly", now: datetime = NOW) -> dict[str, MemberView]:
    return StartConstraints(records, run_type, "1.36.3").views(records.list("FleetMember"), now)


def test_without_maintenance_and_catalogues_members_may_begin_at_any_time(records):  # D3-41
    member(records, "a")
    assert views(records) == {"a": MemberView(name="a")}


def test_the_window_that_a_member_names_holds_for_it_alone(records):  # D3-36
    nights(records)
    member(records, "a", maintenance="nights")
    member(records, "b")
    found = views(records)
    assert found["b"].windows is None
    opens = next(each for each in found["a"].windows if each[1] > NOW)
    assert opens == (NOW.replace(hour=22), NOW.replace(hour=2) + timedelta(days=1))


def test_a_window_by_labels_holds_for_members_that_name_none(records):
    nights(records, memberSelector={"byLabel": "env=prod"})
    member(records, "a", "prod")
    member(records, "b", "test")
    found = views(records)
    assert found["a"].windows and found["b"].windows is None


def test_a_window_for_node_images_is_none_of_a_control_planes(records):
    nights(records)
    member(records, "a", maintenance="nights")
    assert views(records, "NodeImageOnly")["a"].windows is None


def test_a_window_that_opened_yesterday_is_seen_whole(records):
    nights(records)
    member(records, "a", maintenance="nights")
    now = NOW.replace(hour=1)
    (open_now,) = [each for each in views(records, now=now)["a"].windows if each[0] <= now < each[1]]
    assert open_now == (NOW.replace(hour=22) - timedelta(days=1), NOW.replace(hour=2))


def test_a_member_that_names_no_maintenance_that_there_is_never_counts_as_free(records):
    member(records, "a", maintenance="nihgts")
    view = views(records)["a"]
    assert [each.reason for each in view.obstacles] == ["WindowClosed"]
    (problem,) = StartConstraints(records, "ControlPlaneOnly", "1.36.3").problems(records.list("FleetMember"), NOW)
    assert (problem.code, problem.where) == ("no-such-maintenance", "FleetMember/a spec.maintenance")


def test_a_version_that_a_location_lacks_is_waited_for_there(records):  # D3-49
    release = {"version": "1.36.3", "status": "ga"}
    east = {"name": "east", "versions": [release]}
    west = {"name": "west", "versions": [{**release, "availableFrom": "2026-09-01T00:00:00Z"}]}
    spec = {"provider": "acme", "locations": [east, west]}
    keep(records, "ReleaseCatalog", "acme", spec)
    member(records, "a", provider="acme", location="east")
    member(records, "b", provider="acme", location="west")
    found = views(records)
    assert found["a"].obstacles == ()
    (missing,) = found["b"].obstacles
    assert (missing.reason, missing.until) == ("VersionNotAvailable", datetime(2026, 9, 1, tzinfo=UTC))


def test_a_window_that_is_changed_is_seen_with_the_next_list(records):
    member(records, "a", maintenance="nights")
    nights(records)
    permits = StartConstraints(records, "ControlPlaneOnly", "1.36.3")
    sight = MemberMonitor(
        records=records, drivers={}, judge=ControlPlaneJudge("1.36.3"), holder="tests", members=("a",), permits=permits
    )
    sight.refresh(NOW)
    closed = sight.views["a"]
    stored = records.get("FleetMaintenance", "nights")
    stored["spec"]["windows"][0]["maintenanceWindow"] |= {"startTime": "10:00"}
    records.replace(stored)
    sight.refresh(NOW + LIST_AFTER)
    assert closed.windows != sight.views["a"].windows
    assert any(opens <= NOW < closes for opens, closes in sight.views["a"].windows)
