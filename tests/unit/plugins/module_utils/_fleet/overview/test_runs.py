# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The runs of a report: their forecast is the one that update_run_info gives, and members are read once for all. Staged
runs and rotations come from their records, and who approved from the requests."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import (
    CLUSTER_API,
    FLEET_API,
    PLACEMENT_API,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.runs import ROTATION, RunChart, in_order
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.approving import signature
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.overview.runs import (
    rotation_charts,
    run_charts,
    staged_charts,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.approvals import RUN_DIGEST
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.forecasting import outlooks
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import recorded_runs
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)
DIGEST = f"sha256:{'c' * 64}"
RUNS = ("one", "two", "three")


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    """Three members, of which the first is at the target of three runs already."""
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    for name, version in {"a": "v1.36.3", "b": "v1.35.4", "c": "v1.35.4"}.items():
        found.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name},
                      "spec": {"identity": {"kind": "User", "name": "u"}}})  # fmt: skip
        found.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name},
                      "spec": {"connection": {"kubeconfig": "/none"}, "driver": "local"},
                      "status": {"version": version, "lastRead": "2026-08-17T11:00:00Z"}})  # fmt: skip
    upgrade = {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}
    documents = [
        {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": name},
         "spec": {"managedClusterUpdate": {"upgrade": upgrade}}}
        for name in RUNS
    ]  # fmt: skip
    for name in RUNS:
        define_run(found, name, update_manifests([], documents, strict=False), write=True)
    yield found
    found.close()


def test_a_report_forecasts_as_update_run_info_does(records: SqliteRecords) -> None:
    session = Session(records=records, holder="tests", clock=lambda: NOW)
    charts, problems = run_charts(session, forecasting=True)
    told = outlooks(records, recorded_runs(records, ())[0], NOW, 30)
    assert not problems and {each.name for each in charts} == set(RUNS)
    for chart in charts:
        forecast = told[chart.name].forecast
        expected = {each.name: each.expected for each in chart.bars if each.what == "member"}
        assert expected == {each.name: each for each in forecast.members}
        assert chart.bars[0].expected == forecast.run
        (reached,) = (each for each in forecast.members if each.name == "a")
        assert reached.state == "Skipped", "who is at the target does not begin"


def test_members_are_read_once_for_all_runs(records: SqliteRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[str] = []
    real = records.list
    monkeypatch.setattr(records, "list", lambda kind, *more: counts.append(kind) or real(kind, *more))
    run_charts(Session(records=records, holder="tests", clock=lambda: NOW), forecasting=True)
    assert counts.count("FleetMember") <= 2, counts


def test_runs_are_shown_without_members_where_one_of_these_is_damaged_which_is_told_once(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = records.list

    def listed(kind: str, *more: t.Any) -> t.Any:
        """As a hub with other definitions than ours lets them in."""
        asked.append(kind)
        odd = ("FleetMember", "b")
        return [
            {**each, "spec": "text"} if (kind, each["metadata"]["name"]) == odd else each for each in real(kind, *more)
        ]

    monkeypatch.setattr(records, "list", listed)
    charts, problems = run_charts(Session(records=records, holder="tests", clock=lambda: NOW), forecasting=True)
    assert [(each.code, each.where) for each in problems] == [("record-damaged", "FleetMember/b")]
    assert {each.name for each in charts} == set(RUNS) and asked.count("FleetMember") == 1
    assert all(each.expected is None for chart in charts for each in chart.bars)


def test_a_run_that_was_not_laid_out_breaks_no_report(records: SqliteRecords) -> None:
    """Applied with kubectl, or left behind by somebody who was killed."""
    spec = {"managedClusterUpdate": {"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}}}
    records.create({"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "bare"}, "spec": spec})
    charts, problems = run_charts(Session(records=records, holder="tests", clock=lambda: NOW), forecasting=True)
    assert not problems and {each.name for each in charts} == {*RUNS, "bare"}
    assert outlooks(records, recorded_runs(records, ())[0], NOW, 30)["bare"].forecast.members == ()


@pytest.mark.parametrize("instant", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
def test_instants_at_the_ends_of_the_calendar_break_no_report(records: SqliteRecords, instant: str) -> None:
    stored = records.get("UpdateRun", "one")
    assert stored
    times = {"startTime": instant, "completedTime": instant}
    stored["status"]["status"] |= times
    stored["status"]["stages"][0]["groups"][0]["members"][0]["status"] |= times
    records.replace(stored)
    charts, problems = run_charts(Session(records=records, holder="tests", clock=lambda: NOW), forecasting=True)
    assert not problems and len(charts) == 3


def test_a_run_is_read_once_for_all_members_that_bear_its_mark(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        stored = records.get("FleetMember", name)
        assert stored
        records.replace({**stored, "status": {**stored["status"], "operation": f"one-00000000.{name}.1"}})
    read: list[str] = []
    real = records.get
    monkeypatch.setattr(records, "get", lambda kind, name: read.append(f"{kind}/{name}") or real(kind, name))
    run_charts(Session(records=records, holder="tests", clock=lambda: NOW), forecasting=True)
    assert read.count("UpdateRun/one") <= 1


def test_a_member_that_comes_between_two_reads_breaks_no_report(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = records.list
    seen: list[str] = []

    def listed(kind: str, *more: t.Any) -> t.Any:
        seen.append(kind)
        found = real(kind, *more)
        first = kind == "FleetMember" and seen.count(kind) == 1
        return tuple(each for each in found if each["metadata"]["name"] != "c") if first else found

    monkeypatch.setattr(records, "list", listed)
    charts, problems = run_charts(Session(records=records, holder="tests", clock=lambda: NOW), forecasting=True)
    assert not problems and len(charts) == 3


def kept(records: SqliteRecords, kind: str, name: str, spec: t.Any, status: t.Any, namespace: str = "") -> None:
    metadata = {"name": name, "annotations": {RUN_DIGEST: DIGEST}, **({"namespace": namespace} if namespace else {})}
    api = FLEET_API if kind == "NodeRotation" else PLACEMENT_API
    made = records.create({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})
    records.replace({**made, "status": status})


def asked_and(approved: bool, name: str) -> dict[str, t.Any]:
    conditions = [{"type": "ApprovalRequestCreated", "status": "True"}]
    conditions += [{"type": "ApprovalRequestApproved", "status": "True"}] if approved else []
    row = {"type": "Approval", "approvalRequestName": name, "conditions": conditions}
    return {"stagesStatus": [{"stageName": "all", "clusters": [], "beforeStageTaskStatus": [row]}]}


def test_staged_runs_of_both_kinds_with_who_approved(records: SqliteRecords) -> None:
    """A signature under another digest is nobody's."""
    spec = {"placementName": "web", "stagedRolloutStrategyName": "rings", "state": "Run"}
    rows = (("one", "", DIGEST), ("two", "shop", DIGEST), ("three", "", f"sha256:{'d' * 64}"))
    for name, namespace, digest in rows:
        prefix = "" if namespace else "Cluster"
        kept(records, f"{prefix}StagedUpdateRun", name, spec, asked_and(True, f"{name}-yes"), namespace)
        signed = {"type": "Approved", "status": "True", "message": signature("anna", digest, "looks well")}
        request = {"parentStageRollout": name, "targetStage": "all"}
        kept(records, f"{prefix}ApprovalRequest", f"{name}-yes", request, {"conditions": [signed]}, namespace)
    charts, problems = staged_charts(records)
    assert not problems and {each.name for each in charts} == {"one", "shop/two", "three"}
    told = {chart.name: each.why for chart in charts for each in chart.bars if each.what == "gate"}
    assert told == {"one": "completed by anna", "shop/two": "completed by anna", "three": ""}


def test_an_approval_that_a_staged_run_has_not_taken_is_told(records: SqliteRecords) -> None:
    spec = {"placementName": "web", "stagedRolloutStrategyName": "rings", "state": "Run"}
    kept(records, "ClusterStagedUpdateRun", "one", spec, asked_and(False, "one-yes"))
    signed = {"type": "Approved", "status": "True", "message": signature("anna", DIGEST, "")}
    request = {"parentStageRollout": "one", "targetStage": "all"}
    kept(records, "ClusterApprovalRequest", "one-yes", request, {"conditions": [signed]})
    ((chart,), _problems) = staged_charts(records)
    (gate,) = (each for each in chart.bars if each.what == "gate")
    assert gate.approved and gate.why == "approved by anna; taken up when the run is carried on"


def test_rotations_and_what_is_damaged(records: SqliteRecords) -> None:
    kept(records, "NodeRotation", "well", {}, {"phase": "Running"})
    kept(records, "NodeRotation", "broken", {}, {"phase": "Running", "state": {"nodes": 7}})
    kept(records, "ClusterStagedUpdateRun", "odd", {"placementName": 7}, {})
    charts, problems = rotation_charts(records)
    assert [(each.name, each.state) for each in charts] == [("well", "Running")]
    assert [(each.code, each.where) for each in problems] == [("record-damaged", "NodeRotation/broken")]
    charts, problems = staged_charts(records)
    assert charts == () and {each.where for each in problems} == {"ClusterStagedUpdateRun/odd"}


def test_runs_that_are_not_over_stand_first_and_the_newest_within() -> None:
    def made(name: str, day: int | None, over: bool) -> RunChart:
        at = datetime(2026, 8, day, tzinfo=UTC) if day else None
        return RunChart(kind=ROTATION, name=name, state="", outcome="", target="", message="", progress="", over=over,
                        made_at=at)  # fmt: skip

    charts = [made("new", 9, True), made("old", 1, False), made("undated", None, False), made("late", 3, False)]
    assert [each.name for each in in_order(charts)] == ["late", "old", "undated", "new"]
