# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The state of the fleet is put together from its records, and what is damaged of them is told and hides nothing."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import (
    CLUSTER_API,
    FLEET_API,
    PLACEMENT_API,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.key import CLEANUP
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.drift import DriftLook, DriftRow
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.runs import UPDATE_RUN, Bar, RunChart
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.overview import runs as runs_module
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.overview.today import Today, gather_today
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.explaining import (
    Question,
    explanations,
    suppositions,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import all_placements
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)
APPLIED = "2026-08-16T12:00:00Z"


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    """Two members; the placement web is on both, and fails on b."""
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    for name in "ab":
        found.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name},
                      "spec": {"identity": {"kind": "User", "name": "u"}},
                      "status": {"agentStatus": [heard()]}})  # fmt: skip
        found.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name},
                      "spec": {"connection": {"kubeconfig": "/none"}},
                      "status": {"certificates": {"server": "2026-08-20T12:00:00Z"}}})  # fmt: skip
        found.create(binding(name))
    rows = [{"clusterName": name, "conditions": [applied(name == "a")]} for name in "ab"]
    found.create({"apiVersion": PLACEMENT_API, "kind": "ClusterResourcePlacement", "metadata": {"name": "web"},
                  "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "web"}]},
                  "status": {"placementStatuses": rows}})  # fmt: skip
    yield found
    found.close()


def heard() -> dict[str, t.Any]:
    healthy = {"type": "Healthy", "status": "True", "reason": "Ready"}
    return {"type": "MemberAgent", "lastReceivedHeartbeat": "2026-08-17T11:00:00Z", "conditions": [healthy]}


def applied(holds: bool) -> dict[str, t.Any]:
    told = "" if holds else "1 of 3"
    return {"type": "Applied", "status": str(holds), "lastTransitionTime": APPLIED, "message": told}


def binding(cluster: str) -> dict[str, t.Any]:
    decision = {"clusterName": cluster, "selected": True}
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding",
        "metadata": {"name": f"web-{cluster}", "labels": {"kubernetes-fleet.io/parent-CRP": "web"}},
        "spec": {"state": "Bound", "targetCluster": cluster, "schedulingPolicySnapshotName": "web-0",
                 "clusterDecision": decision, "resourceSnapshotName": "web-0-snapshot"},
        "status": {"conditions": [applied(True)]},
    }  # fmt: skip


def gathered(records: SqliteRecords, look: DriftLook | None = None) -> Today:
    session = Session(records=records, holder="tests", clock=lambda: NOW)
    members, clusters = (records.list(kind) for kind in ("FleetMember", "MemberCluster"))
    return gather_today(session, members, clusters, all_placements(records), look)


def test_what_is_held_and_what_fails_and_when_an_apply_was_there(records: SqliteRecords) -> None:
    today = gathered(records)
    bad, good = today.fleet.members
    assert (bad.name, bad.held.count, bad.held.failing) == ("b", 1, {"web": "not Applied: 1 of 3"})
    assert (good.name, good.held.count, good.held.failing) == ("a", 1, {})
    assert good.certificate is not None and good.certificate.days == 3
    assert good.drift.words == "not looked since an apply, 2026-08-16T12:00:00Z or later"
    assert today.fleet.drift.places == 2 and today.fleet.drift.objects is None and today.notes == ()


def test_what_a_look_has_found_counts_where_it_is_newer_and_other_records_are_told(records: SqliteRecords) -> None:
    at = NOW - timedelta(hours=1)
    found = DriftRow(placement="web", cluster="a", object="ConfigMap web/x", path="", live="", placed="", seen=at)
    look = DriftLook(at=at, place=records.place, looked=frozenset({("web", "a")}), rows=(found,))
    today = gathered(records, look)
    rows = {each.name: each for each in today.fleet.members}
    assert rows["a"].drift.words == "1 object drifted, looked at 2026-08-17T11:00:00Z"
    assert rows["b"].drift.objects is None and "drifted" in rows["a"].concerns
    assert today.fleet.drifted == (found,) and today.fleet.objects_drifted == {"a": ["ConfigMap web/x"]}
    assert today.notes == ()
    assert {each.code for each in gathered(records, replace(look, place="others.db")).notes} == {"other-records"}
    assert gathered(records, replace(look, at=NOW - timedelta(days=9))).fleet.drift.looked == 0


def upgraded(name: str, hour: int) -> Bar:
    status = UpdateStatus(state="Completed", completed_time=NOW.replace(hour=hour, minute=30))
    return Bar(what="member", name=name, depth=3, status=status)


def run_of(*bars: Bar) -> RunChart:
    return RunChart(
        kind=UPDATE_RUN,
        name="release-7",
        state="Completed",
        outcome="",
        target="1.36.3",
        message="",
        progress="2/2",
        over=True,
        bars=bars,
    )


def test_who_was_upgraded_after_it_was_read_is_told(records: SqliteRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both were read at 11:00."""
    chart = run_of(upgraded("a", 11), upgraded("b", 10))
    monkeypatch.setattr(runs_module, "run_charts", lambda *_given, **_more: ((chart,), ()))
    (note,) = gathered(records).notes
    assert note.code == "upgraded-since" and note.message.startswith("a: upgraded since it was read")
    rows = {each.name: (each.state, each.why) for each in gathered(records).fleet.members}
    assert rows["a"] == ("to be read", "not read since run release-7 upgraded it at 2026-08-17T11:30:00Z")
    assert rows["b"] == ("ready", "")


def test_who_was_not_reached_by_a_run_after_it_was_read_is_not_ready(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = UpdateStatus(state="Skipped", completed_time=NOW.replace(hour=11, minute=30))
    missed = Bar(what="member", name="a", depth=3, status=status, why="Unreachable: unreachable for 30 minutes")
    other = replace(missed, name="b", why="VersionNotAvailable: no such version")
    monkeypatch.setattr(runs_module, "run_charts", lambda *_given, **_more: ((run_of(missed, other),), ()))
    rows = {each.name: each.state for each in gathered(records).fleet.members}
    assert rows == {"a": "not reached", "b": "ready"}


def test_what_is_left_on_a_cluster_counts_as_held_until_a_staged_run_takes_it_away(records: SqliteRecords) -> None:
    placement = records.get("ClusterResourcePlacement", "web")
    assert placement is not None
    placement = records.replace({**placement, "spec": {**placement["spec"], "strategy": {"type": "External"}}})
    left = records.get("ClusterResourceBinding", "web-a")
    assert left is not None
    records.replace({**left, "spec": {**left["spec"], "state": "Unscheduled"}})
    marked = records.get("MemberCluster", "a")
    assert marked is not None
    taints = [{"key": "gitops.fleet/evacuated", "effect": "NoSchedule"}]
    records.replace({**marked, "spec": {**marked["spec"], "taints": taints}})
    rows = {each.name: each.held for each in gathered(records).fleet.members}
    assert (rows["a"].count, rows["a"].names, rows["a"].leaving) == (1, ("web",), {"web": "a staged run"})
    assert (rows["b"].count, rows["b"].leaving) == (1, {})
    session = Session(records=records, holder="tests", clock=lambda: NOW)
    told = explanations(session, Question(name="web", clusters=("a", "b")))
    assert [(each["picked"], each["left_until"]) for each in told] == [(False, "a staged run"), (True, "")]


def test_no_cluster_is_picked_for_a_placement_that_is_being_deleted(records: SqliteRecords) -> None:
    """Nor by what is written of it: an apply of that ends it, too."""
    web = records.get("ClusterResourcePlacement", "web")
    assert web is not None
    web = records.replace({**web, "metadata": {**web["metadata"], "finalizers": [CLEANUP]}})
    records.delete("ClusterResourcePlacement", "web")
    session = Session(records=records, holder="tests", clock=lambda: NOW)
    written = {**web, "metadata": {"name": "web"}}
    for question in (Question(name="web"), Question(name="web", definition=written)):
        told = explanations(session, replace(question, clusters=("a", "b")))
        assert [(each["picked"], each["won"], each["left_until"]) for each in told] == [(False, None, "an apply")] * 2
        assert told[0]["sentence"] == "a loses the placement: the placement is being deleted."
        assert suppositions(session, question, {"gone": ["b"]})[0] == ()
    with pytest.raises(FleetError) as refused:
        explanations(session, Question(name="web", clusters=("c",)))
    assert refused.value.code == "unknown-cluster"


def test_what_runs_need_is_told_by_their_records(records: SqliteRecords) -> None:
    held = {"name": "a/n1", "blockedSince": "2026-08-17T11:00:00Z"}
    for name, node in (("r", {"name": "a/n1"}), ("s", held)):
        records.create({"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": name}, "spec": {},
                        "status": {"phase": "Waiting", "state": {"nodes": [node]}}})  # fmt: skip
    needs = {(need.kind, need.name, need.needs) for need in gathered(records).fleet.runs}
    assert needs == {("rotation", "r", "nodes"), ("rotation", "s", "blocked")}


def test_what_is_damaged_is_told_and_hides_nothing(records: SqliteRecords) -> None:
    """A hub with other definitions lets in what a file does not."""
    damaged = {"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "c"}, "spec": "none"}
    session = Session(records=records, holder="tests", clock=lambda: NOW)
    members, clusters = (records.list(kind) for kind in ("FleetMember", "MemberCluster"))
    today = gather_today(session, [damaged, *members], clusters, all_placements(records))
    assert [each.name for each in today.fleet.members] == ["b", "a"]
    assert {each.code for each in today.notes} == {"record-damaged"}


def test_records_that_cannot_be_listed_are_told_too(records: SqliteRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    real = records.list

    def listed(kind: str, *more: t.Any) -> t.Any:
        if kind in ("ClusterResourceBinding", "UpdateRun"):
            raise FleetError("records-damaged", "it has no spec", kind)
        return real(kind, *more)

    def leases() -> t.NoReturn:
        raise FleetError("forbidden", "leases may not be listed", "leases")

    monkeypatch.setattr(records, "list", listed)
    monkeypatch.setattr(records, "leases", leases)
    today = gathered(records)
    assert len(today.fleet.members) == 2
    assert {each.where for each in today.notes} == {"ClusterResourceBinding", "UpdateRun", "leases"}


def test_a_member_that_was_never_read_has_a_row(records: SqliteRecords) -> None:
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "new"},
                    "spec": {"connection": {"kubeconfig": "/none"}}})  # fmt: skip
    (row,) = (each for each in gathered(records).fleet.members if each.name == "new")
    assert row.state == "never read" and row.drift.words == "nothing is placed"


def test_who_is_rotated_or_updated_now_is_named(records: SqliteRecords) -> None:
    records.create({"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": "r"}, "spec": {},
                    "status": {"phase": "Running", "state": {"nodes": [
                        {"name": "a/n1", "phase": "Draining"}, {"name": "b/n2", "phase": "Waiting"}]}}})  # fmt: skip
    rows = {each.name: each.runs for each in gathered(records).fleet.members}
    assert rows == {"a": ("rotation r",), "b": ()}


def test_a_rotation_whose_lease_ran_out_is_conducted_by_nobody(records: SqliteRecords) -> None:
    status = {"phase": "Running", "state": {"nodes": [{"name": "a/n1", "phase": "Draining"}]}}
    rotation = {"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": "r"}, "spec": {}}
    records.create({**rotation, "status": status})
    records.acquire("rotation/r", "somebody", 60)
    assert gathered(records).fleet.runs == ()
    later = NOW + timedelta(seconds=61)
    session = Session(records=records, holder="tests", clock=lambda: later)
    members, clusters = (records.list(kind) for kind in ("FleetMember", "MemberCluster"))
    (need,) = gather_today(session, members, clusters, all_placements(records)).fleet.runs
    assert (need.kind, need.name, need.needs, need.since) == ("rotation", "r", "conductor", NOW)
