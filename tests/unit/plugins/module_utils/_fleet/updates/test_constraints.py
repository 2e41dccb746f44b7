# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Windows, freezes and releases as a run's conductor sees them for each member."""

from __future__ import annotations

import threading
import time
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.openings import UNKNOWN, permission
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import Begin, MemberView
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.obstacles import obstacle
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Observation, Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import LIST_AFTER
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates import monitor
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.constraints import StartConstraints
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.monitor import (
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
    assert view.windows == (), "it is held, and not without windows"
    (problem,) = StartConstraints(records, "ControlPlaneOnly", "1.36.3").problems(records.list("FleetMember"), NOW)
    assert (problem.code, problem.where) == ("no-such-maintenance", "FleetMember/a spec.maintenance")


BY_LABEL = {"memberSelector": {"byLabel": "env=prod"}}


@pytest.mark.parametrize(
    "spec",
    [
        {"freezes": [{"name": "sales", "start": "2026-08-01", "end": "2026-08-30", **BY_LABEL}]},
        {"windows": [{"name": "kubernetes", "maintenanceWindow": NIGHTS, **BY_LABEL}]},
    ],
    ids=["freeze", "window"],
)
def test_a_member_whose_labels_are_not_known_is_held_where_labels_choose(records, spec):  # D3-41
    """Its MemberCluster was deleted by hand, or it leaves and was half forgotten: no freeze is lost by that."""
    keep(records, "FleetMaintenance", "chosen", spec)
    keep(
        records, "FleetMaintenance", "all", {"freezes": [{"name": "later", "start": "2027-01-01", "end": "2027-01-02"}]}
    )
    member(records, "a", "prod")
    member(records, "b", "test")
    assert obstacle(views(records)["a"], NOW) is not None
    records.delete("MemberCluster", "a")
    found = views(records)
    held = obstacle(found["a"], NOW)
    assert held is not None and held.reason == "WindowClosed" and found["a"].windows == ()
    assert "MemberCluster" in held.message and "gitops.fleet.join" in held.message
    assert obstacle(found["b"], NOW) is None
    times = StartConstraints(records, "ControlPlaneOnly", "1.36.3").times(records.list("FleetMember"), NOW)["a"]
    assert permission(times, NOW, NOW + timedelta(days=9)).state == UNKNOWN
    assert [each.words for each in times.freezes] == ["freeze later of FleetMaintenance all"], "those for all are told"


def test_a_member_whose_labels_are_not_known_keeps_its_own_freezes_and_gets_none_by_label(records):
    """Without labels a selector by what is not there would fit, and nobody knows whether it does."""
    later = {"start": "2027-01-01", "end": "2027-01-02"}
    chosen = [
        {"name": name, **later, "memberSelector": {"byLabel": text}}
        for name, text in (("prod", "env=prod"), ("not-test", "env notin (test)"), ("none", "!env"))
    ]
    keep(records, "FleetMaintenance", "fleet", {"freezes": [*chosen, {"name": "all", **later}]})
    member(records, "a", "prod")
    own = {"source": "aks", "freezes": [{"name": "inventory", **later}]}
    records.replace({**records.get("FleetMember", "a"), "status": {"maintenance": own}})

    def told() -> tuple[list[str], list[str]]:
        permits, members = StartConstraints(records, "ControlPlaneOnly", "1.36.3"), records.list("FleetMember")
        times = permits.times(members, NOW)["a"]
        return [each.words.split()[1] for each in times.freezes], [
            name for name, _span in permits.freezes(members)["a"]
        ]

    assert told() == (["prod", "not-test", "all", "inventory"],) * 2
    records.delete("MemberCluster", "a")
    assert told() == (["all", "inventory"],) * 2


def test_a_member_whose_labels_are_not_known_may_begin_where_no_labels_choose(records):
    nights(records)
    keep(
        records, "FleetMaintenance", "all", {"freezes": [{"name": "later", "start": "2027-01-01", "end": "2027-01-02"}]}
    )
    member(records, "a")
    records.delete("MemberCluster", "a")
    assert obstacle(views(records)["a"], NOW) is None


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


FREEZE = {"name": "quarter", "start": "2026-08-01", "end": "2026-08-31"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": "2026-08-31", "end": "2026-08-01"},
        {"start": "2026-02-30"},
        {"end": "2026-02-30"},
        {"timeZone": "Mars/Olympus"},
        {"timeZone": 7},
    ],
    ids=["ends before it starts", "no such day", "no such last day", "no such zone", "a number"],
)
def test_what_a_cluster_says_of_its_windows_holds_no_other_member(records, wrong):
    """D3-41. Many may write the status of a FleetMember."""
    keep(records, "FleetMaintenance", "frozen", {"freezes": [{**FREEZE, "start": "2026-09-01", "end": "2026-09-02"}]})
    for name in ("a", "b"):
        member(records, name)
    stored = records.get("FleetMember", "a")
    own = {"source": "aks", "freezes": [{**FREEZE, **wrong}]}
    records.replace({**stored, "status": {"maintenance": own}})
    found = views(records)
    assert found["b"].obstacles == ()
    (obstacle,) = found["a"].obstacles
    assert obstacle.reason == "WindowClosed" and "status.maintenance" in obstacle.message
    assert found["a"].windows == ()
    permits = StartConstraints(records, "ControlPlaneOnly", "1.36.3")
    freezes = permits.freezes(records.list("FleetMember"))
    assert len(freezes["a"]) == len(freezes["b"]) == 1, "those of the fleet hold"


def watched(records: SqliteRecords, drivers: t.Mapping[str, t.Any], now: datetime = NOW) -> MemberMonitor:
    for name in drivers:
        member(records, name)
    sight = MemberMonitor(
        records=records, drivers=drivers, judge=ControlPlaneJudge("1.36.3"), holder="tests", members=tuple(drivers)
    )
    sight.refresh(now)
    return sight


class SlowDriver:
    """Tells its version when it is let go."""

    def __init__(self) -> None:
        self.go, self.asked = threading.Event(), 0

    def observe(self, _member: str) -> Observation:
        self.asked += 1
        self.go.wait(10)
        return Observation(version="v1.35.2")


def begin(name: str) -> Begin:
    return Begin(stage="s", group="g", member=name, attempt=1, operation=f"r-0.{name}.1")


def test_members_that_hang_hold_the_conductor_for_a_bounded_time(records, monkeypatch):
    """Its lease is renewed between turns only: another one would take over."""
    monkeypatch.setattr(monitor, "LOOKING", 0.4)
    drivers = {name: SlowDriver() for name in "abcd"}
    sight = watched(records, drivers)
    began = time.monotonic()
    for name in drivers:
        assert not sight.claim_or_look([begin(name)], NOW)
    assert time.monotonic() - began < 3
    assert [sight.views[name].obstacles[-1].reason for name in drivers] == ["Unreachable"] * 4
    later = NOW + timedelta(seconds=16)
    sight.refresh(later)
    assert not sight.claim_or_look([begin(name) for name in drivers], later)
    assert [each.asked for each in drivers.values()] == [1] * 4, "one that is still at it is not asked once more"
    for each in drivers.values():
        each.go.set()
    until(lambda: not sight._under_way)
    later += timedelta(seconds=16)
    sight.refresh(later)
    assert not sight.claim_or_look([begin(name) for name in drivers], later), "it was looked at, and is claimed"
    assert sight.claim_or_look([begin(name) for name in drivers], later)
    assert sight.versions == dict.fromkeys(drivers, "v1.35.2")
    assert [each.asked for each in drivers.values()] == [1] * 4, "and its answer counts, late as it was"


def until(done: t.Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_was_meant_begins_only_while_it_may(records: SqliteRecords) -> None:
    """By windows and freezes as they were listed last; if that is long ago, by nothing."""
    member(records, "m-1")
    seen = MemberMonitor(
        records=records,
        drivers={},
        judge=ControlPlaneJudge("1.36.3"),
        holder="me",
        members=("m-1",),
        permits=StartConstraints(records, "ControlPlaneOnly", "1.36.3"),
    )
    work = Work(operation="run-1.m-1.1", run="run-1", member="m-1", upgrade_type="ControlPlaneOnly", target="1.36.3")
    seen.refresh(NOW)
    assert seen.held_back(work, NOW) is None
    keep(
        records,
        "FleetMaintenance",
        "sales",
        {"freezes": [{"name": "sales", "start": "2026-08-17", "end": "2026-08-18"}]},
    )
    seen.refresh(NOW + LIST_AFTER)
    frozen = seen.held_back(work, NOW + LIST_AFTER)
    assert frozen and frozen.anew and frozen.reason == "WindowClosed" and "freeze sales" in frozen.message
    unknown = seen.held_back(work, NOW + timedelta(minutes=5))
    assert unknown and not unknown.anew and "not known" in unknown.message
    seen.clock_ahead = lambda: timedelta(hours=1)
    off = seen.held_back(work, NOW + LIST_AFTER)
    assert off and off.reason == "ClockSkew"
