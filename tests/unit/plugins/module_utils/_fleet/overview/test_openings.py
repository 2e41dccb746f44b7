# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When members may be touched, by what is recorded of them: each rule, and that update runs decide the same."""

from __future__ import annotations

import tempfile
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.openings import (
    NODES,
    RUN_TYPES,
    UPGRADE,
    OpenSpan,
    Permission,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.timing.obstacles import obstacle
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.overview.openings import (
    OpeningsQuestion,
    OpeningsReport,
    openings_report,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.claims import claim
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.constraints import StartConstraints
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.openings_text import openings_text
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import DAILY, configuration, freeze, maintenance
from ansible_collections.gitops.fleet.tests.data.manifest_parts import named
from hypothesis import given, settings
from hypothesis import strategies as st

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)  # a Monday
Document = dict[str, t.Any]


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield found
    found.close()


def member(records: SqliteRecords, name: str, own: Document | None = None, env: str = "prod", **spec: t.Any) -> None:
    identity = {"identity": {"kind": "User", "name": "u"}}
    metadata = {"name": name, "labels": {"env": env}}
    records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": metadata, "spec": identity})
    status = {"maintenance": {"source": "annotation x", **own}} if own else {}
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name},
                    "spec": {"connection": {"kubeconfig": "/none"}, **spec}, "status": status})  # fmt: skip


def nights(name: str = "kubernetes", **fields: t.Any) -> Document:
    """Four hours from 22:00 each day, in UTC unless said otherwise."""
    return configuration(name, DAILY, startTime="22:00", startDate="2026-01-01", **fields)


def asked(records: SqliteRecords, now: datetime = NOW, **question: t.Any) -> OpeningsReport:
    session = Session(records=records, hub=None, clock=lambda: now, holder="tests", say=print, environ={})
    return openings_report(session, OpeningsQuestion(**question))


def told(records: SqliteRecords, now: datetime = NOW, work: str = UPGRADE, **question: t.Any) -> Permission:
    (found,) = asked(records, now, **question).clusters
    return found.permissions[work]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_without_windows_and_freezes_it_is_always_open(records: SqliteRecords) -> None:  # D3-41
    member(records, "a")
    found = told(records)
    assert (found.open, found.next, found.openings) == (True, OpenSpan(NOW, None), (OpenSpan(NOW, None),))
    assert found.why == ("neither window nor freeze holds for it",)


def test_in_a_window_it_is_open_until_that_closes(records: SqliteRecords) -> None:  # D3-36
    records.create(maintenance(nights()))
    member(records, "a", maintenance="standard")
    found = told(records, at("2026-08-17T23:30"), days=2)
    assert found.open and found.next == OpenSpan(at("2026-08-17T23:30"), at("2026-08-18T02:00"))
    assert found.why == ("in the windows of FleetMaintenance standard",)
    assert found.openings == tuple(
        OpenSpan(at(f"2026-08-{day}T22:00"), at(f"2026-08-{day + 1}T02:00")) for day in (17, 18, 19)
    )


def test_outside_its_windows_it_says_whose_they_are_and_when_the_next_opens(records: SqliteRecords) -> None:
    records.create(maintenance(nights()))
    member(records, "a", maintenance="standard")
    found = told(records)
    assert not found.open and found.why == ("outside the windows of FleetMaintenance standard",)
    assert found.next == OpenSpan(at("2026-08-17T22:00"), at("2026-08-18T02:00"))


def test_a_window_of_kubernetes_is_none_of_nodes(records: SqliteRecords) -> None:  # D3-105
    records.create(maintenance(nights(), nights("nodeImage", timeZone="Asia/Tokyo")))
    member(records, "a", maintenance="standard")
    assert told(records).next.start == at("2026-08-17T22:00")
    assert told(records, work=NODES).next.start == at("2026-08-17T13:00")


def test_a_freeze_goes_over_a_window_and_is_named_with_its_object(records: SqliteRecords) -> None:
    records.create(maintenance(nights(), freezes=[freeze(start="2026-08-17", end="2026-08-18", reason="sales")]))
    member(records, "a", maintenance="standard")
    found = told(records, at("2026-08-17T23:00"))
    assert found.why == ("freeze year-end of FleetMaintenance standard: sales, until Wed 2026-08-19 00:00 UTC",)
    assert found.next == OpenSpan(at("2026-08-19T00:00"), at("2026-08-19T02:00")), "what is left of the window"


def test_a_freeze_without_windows_closes_both_kinds_of_work_and_no_placement(records: SqliteRecords) -> None:
    frozen = freeze(start="2026-08-17", end="2026-08-17", memberSelector={"byLabel": "env=prod"})
    records.create(maintenance(freezes=[frozen]))
    member(records, "a")
    member(records, "b", env="test")
    one, other = asked(records).clusters
    for work in RUN_TYPES:
        assert one.permissions[work].next == OpenSpan(at("2026-08-18T00:00"), None)
        assert not one.permissions[work].open and other.permissions[work].open
    assert one.as_dict()["placements"] == {"open": True, "why": []}


def test_a_window_keeps_to_its_clock_when_that_changes(records: SqliteRecords) -> None:  # D3-43
    """Vienna's clocks go back on 25 October, in the middle of a window that lasts in elapsed time."""
    records.create(maintenance(nights(timeZone="Europe/Vienna", durationHours=8)))
    member(records, "a", maintenance="standard")
    found = told(records, at("2026-10-23T12:00"), days=4)
    assert [(each.start.hour, each.end.hour) for each in found.openings] == [(20, 4), (20, 4), (21, 5), (21, 5)]
    written = [each.as_dict(found.clock) for each in found.openings]
    assert {each["local_start"][-10:] for each in written} == {"22:00 CEST", " 22:00 CET"}
    assert written[1]["local_end"] == "Sun 2026-10-25 05:00 CET", "an hour earlier by the clock"


def test_a_window_on_the_cluster_itself_closes_what_the_fleet_opens(records: SqliteRecords) -> None:
    records.create(maintenance(nights()))
    member(records, "a", own={"windows": [nights(timeZone="Europe/London")]}, maintenance="standard")
    found = told(records, at("2026-08-18T01:30"))
    assert found.why == ("outside the windows of the cluster itself (annotation x)",)
    assert found.next == OpenSpan(at("2026-08-18T22:00"), at("2026-08-19T01:00"))


def test_a_freeze_on_the_cluster_itself_is_named_so(records: SqliteRecords) -> None:
    member(records, "a", own={"freezes": [freeze(start="2026-08-17", end="2026-08-17", timeZone="Europe/Vienna")]})
    (why,) = told(records).why
    assert why == "freeze year-end of the cluster itself (annotation x), until Tue 2026-08-18 00:00 CEST"


def in_flight(records: SqliteRecords, name: str) -> str:
    """An update run that says of an operation on the member that it is under way."""
    operation = f"release-7-12345678.{name}.1"
    states = {"name": name, "operationId": operation, "status": {"state": "Running"}, "attempt": 1}
    upgrade = {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}
    spec = {"managedClusterUpdate": {"upgrade": upgrade}}
    records.create({"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "release-7"},
                    "spec": spec, "status": {"members": [states]}})  # fmt: skip
    claim(records, name, operation, "conductor")
    return operation


def test_an_upgrade_in_flight_holds_others_and_no_rotation(records: SqliteRecords) -> None:
    member(records, "a")
    operation = in_flight(records, "a")
    (found,) = asked(records).clusters
    upgrade = found.permissions[UPGRADE]
    assert (upgrade.state, upgrade.why) == ("held", (f"{operation} is in flight",))
    assert found.permissions[NODES].open and found.operation == operation


def test_a_member_that_names_a_maintenance_that_is_not_there_is_not_free(records: SqliteRecords) -> None:
    member(records, "a", maintenance="nihgts")
    found = told(records)
    assert (found.state, found.next, found.openings) == ("unknown", None, ())
    assert found.why == ("there is no FleetMaintenance nihgts",)


def test_what_does_not_open_within_the_days_tells_when_it_does_after(records: SqliteRecords) -> None:
    yearly = {"absoluteMonthly": {"intervalMonths": 6, "dayOfMonth": 1}}
    records.create(maintenance(configuration("kubernetes", yearly, startDate="2026-08-01")))
    member(records, "a", maintenance="standard")
    found = told(records, days=30)
    assert found.openings == () and found.next.start == at("2027-02-01T01:00")


def test_what_never_opens_says_so(records: SqliteRecords) -> None:
    records.create(maintenance(configuration("kubernetes", startDate="2029-01-01")))
    member(records, "a", maintenance="standard")
    found = told(records)
    assert (found.next, found.openings) == (None, ())
    lines = openings_text(asked(records).clusters, (), (), NOW, 30)
    assert any("none in 13 months" in line for line in lines)


def test_who_is_evacuated_gets_no_placement(records: SqliteRecords) -> None:
    member(records, "a")
    stored = records.get("MemberCluster", "a")
    taints = [{"key": "gitops.fleet/evacuated", "effect": "NoSchedule"}]
    records.replace({**stored, "spec": {**stored["spec"], "taints": taints}})
    (found,) = asked(records).clusters
    assert found.as_dict()["placements"]["open"] is False and found.permissions[UPGRADE].open


def test_what_is_supposed_stands_beside_what_is_recorded(records: SqliteRecords) -> None:
    member(records, "a")
    records.create(named(maintenance(freezes=[freeze(start="2026-08-17", end="2026-08-20")]), name="sales"))
    moved = named(maintenance(freezes=[freeze(start="2026-08-19", end="2026-08-20")]), name="sales")
    found = asked(records, supposed=update_manifests([], [moved], strict=False))
    (before,), (after,) = found.before, found.clusters
    assert before.permissions[UPGRADE].next == OpenSpan(at("2026-08-21T00:00"), None)
    assert after.permissions[UPGRADE].next == OpenSpan(NOW, at("2026-08-19T00:00"))
    lines = openings_text(found.clusters, found.before, (), NOW, 30)
    assert "a        opens Fri 2026-08-21 00:00  open, closes Wed 2026-08-19 00:00" in lines
    assert records.get("FleetMaintenance", "sales")["spec"]["freezes"][0]["start"] == "2026-08-17"


def test_what_is_asked_wrongly_is_refused(records: SqliteRecords) -> None:
    def code(**question: t.Any) -> list[str]:
        with pytest.raises(FleetError) as refused:
            asked(records, **question)
        return [each.code for each in refused.value.problems]

    assert code() == ["no-members"]
    member(records, "a")
    assert code(names=("b", "a", "c")) == ["no-such-member", "no-such-member"]
    assert code(days=0) == code(days=367) == ["bad-option"]
    assert code(supposed=update_manifests([], [], strict=False)) == ["no-maintenance-given"]


def test_a_thousand_clusters_are_a_row_for_each_answer(records: SqliteRecords) -> None:
    records.create(maintenance(nights()))
    for number in range(30):
        member(records, f"eu-{number:02}", maintenance="standard" if number % 3 else "")
    lines = openings_text(asked(records).clusters, (), (), NOW, 7)
    assert "    and 9 more with the same answer: eu-03, eu-06, eu-09 and 6 more" in lines
    assert "    and 19 more with the same answer: eu-02, eu-04, eu-05 and 16 more" in lines
    assert max(map(len, lines)) <= 80 and len(lines) < 60


def test_the_calendar_has_openings_and_freezes_for_all_that_share_them(records: SqliteRecords) -> None:
    records.create(maintenance(nights(), freezes=[freeze(start="2026-08-19", end="2026-08-19")]))
    for name in ("a", "b"):
        member(records, name, maintenance="standard")
    member(records, "c", env="test")
    found = asked(records, days=2).appointments[UPGRADE]
    rows = [(each.kind, each.start, each.members) for each in found]
    assert ("open", at("2026-08-17T22:00"), ("a", "b")) in rows
    assert ("freeze", at("2026-08-19T00:00"), ("a", "b", "c")) in rows


ZONES = st.sampled_from(["UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe"])
HOURS = st.integers(0, 23).map(lambda hour: f"{hour:02}:30")
DAYS = st.integers(0, 9).map(lambda day: f"2026-10-{20 + day}")


@st.composite
def windows(draw: st.DrawFn) -> Document:
    name = draw(st.sampled_from(["kubernetes", "nodeImage", "platform"]))
    schedule = {"weekly": {"intervalWeeks": 1, "dayOfWeek": draw(st.sampled_from(["Saturday", "Sunday", "Monday"]))}}
    schedule = schedule if name == "platform" or draw(st.booleans()) else DAILY
    hours = draw(st.integers(4, 24))
    start, zone = draw(HOURS), draw(ZONES)
    return configuration(name, schedule, startTime=start, durationHours=hours, timeZone=zone, startDate="2026-01-01")


@st.composite
def freezes(draw: st.DrawFn) -> list[Document]:
    spans = draw(st.lists(st.tuples(DAYS, DAYS, ZONES), max_size=2))
    return [
        freeze(f"f{number}", start=min(one, two), end=max(one, two), timeZone=zone)
        for number, (one, two, zone) in enumerate(spans)
    ]


@settings(max_examples=20)
@given(st.lists(windows(), max_size=3), freezes(), st.lists(windows(), max_size=2), freezes(), st.booleans())
def test_it_says_what_update_runs_decide(  # D3-36
    ours: list[Document], frozen: list[Document], own: list[Document], own_frozen: list[Document], names: bool
) -> None:
    """Over the clock changes of autumn: at each instant that is tried a run would begin exactly where it says open."""
    start, days = at("2026-10-22T05:17"), 8
    with tempfile.TemporaryDirectory() as folder:
        records = SqliteRecords(Path(folder) / "records.db", lambda: start)
        compared(records, start, days, ours, frozen, own, own_frozen, names)
        records.close()


def compared(
    records: SqliteRecords,
    start: datetime,
    days: int,
    ours: list[Document],
    frozen: list[Document],
    own: list[Document],
    own_frozen: list[Document],
    names: bool,
) -> None:
    spec = {**({"windows": ours} if ours else {}), **({"freezes": frozen} if frozen else {})}
    records.create(maintenance(**spec))
    given_own = {**({"windows": own} if own else {}), **({"freezes": own_frozen} if own_frozen else {})}
    member(records, "a", given_own or None, **({"maintenance": "standard"} if names else {}))
    for work, kind in RUN_TYPES.items():
        found = told(records, start, work, days=days)
        for step in range(days * 24 // 5):
            now = start + timedelta(hours=5 * step, minutes=(step * 37) % 60)
            view = StartConstraints(records, kind, "").views(records.list("FleetMember"), now)["a"]
            begins = obstacle(view, now) is None
            assert any(each.start <= now and (not each.end or now < each.end) for each in found.openings) == begins
            if step % 9 == 0:
                assert told(records, now, work).open == begins
        if found.next and not found.open:
            view = StartConstraints(records, kind, "").views(records.list("FleetMember"), found.next.start)["a"]
            assert obstacle(view, found.next.start) is None
