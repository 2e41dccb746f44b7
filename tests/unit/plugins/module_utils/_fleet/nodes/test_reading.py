# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Lists that are begun anew, and files in which a member is looked for."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.nodes_snapshot import (
    NodesSnapshot,
    read_nodes,
    write_nodes,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.missing_record import without_record
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Member
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import reading
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.budget_info import (
    BudgetQuestion,
    budget_report,
    compiled,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.node_info import node_report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish, read_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import NodeManifests, node_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import maintenance, rotation

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)
Document = dict[str, t.Any]


class Server:
    """Nodes in pages of one; the second page is too old once, so that the list is begun anew."""

    server_name = "m"

    def __init__(self) -> None:
        self.old = True

    def get(self, _name: str, _query: t.Any = None) -> t.Any:
        return self

    def sized(self, _verb: str, path: str, query: Document, **_more: t.Any) -> tuple[Document, int]:
        if not path.endswith("/nodes"):
            kind = {"poddisruptionbudgets": "PodDisruptionBudget"}[path.rpartition("/")[2]]
            return {"kind": f"{kind}List", "items": []}, 1
        if query.get("continue") and self.old:
            self.old = False
            raise ApiError("gone", "too old")
        rows = [{"metadata": {"name": name}} for name in "ab"]
        if "limit" not in query:
            return {"kind": "NodeList", "items": rows}, 1
        return {"kind": "NodeList", "metadata": {"continue": "x"}, "items": rows[:1]}, 1


def unknown(*_each: t.Any) -> t.Any:
    raise ApiError("unknown-kind", "no Karpenter")


def test_a_list_that_is_begun_anew_is_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "resource_for", unknown)
    fleet = decode(FleetMember, {"metadata": {"name": "m"}, "spec": {"connection": {"kubeconfig": "x"}}})
    member = Member(cluster=MemberCluster(metadata=ObjectMeta(name="m")), fleet=fleet)
    wish = ReadingWish(pods=False, keep=True)
    found = read_members({"m": member}, t.cast(t.Any, Server()), wish, NOW)
    assert found.problems == () and [each.name for each in found.members[0].nodes] == ["a", "b"]
    assert [each["metadata"]["name"] for each in found.documents["m"]["Node"]] == ["a", "b"]


@pytest.mark.parametrize("known", [True, False])
def test_a_snapshot_says_of_a_member_whether_its_labels_are_known(monkeypatch: pytest.MonkeyPatch, known: bool) -> None:
    monkeypatch.setattr(reading, "resource_for", unknown)
    fleet = decode(FleetMember, {"metadata": {"name": "m"}, "spec": {"connection": {"kubeconfig": "x"}}})
    cluster = MemberCluster(metadata=ObjectMeta(name="m")) if known else without_record("m")
    member = Member(cluster=cluster, fleet=fleet)
    found = read_members({"m": member}, t.cast(t.Any, Server()), ReadingWish(pods=False, keep=True), NOW)
    (again,) = read_nodes(write_nodes(found), "nodes.json", NOW).members
    assert found.members[0].labels_known is again.labels_known is known


def test_windows_of_a_member_that_no_clock_has_let_nothing_be_read_of_it() -> None:
    window = {"schedule": {"daily": {"intervalDays": 1}}, "durationHours": 4, "startTime": "02:00", "timeZone": "No/X"}
    own = {"source": "annotation", "windows": [{"name": "kubernetes", "maintenanceWindow": window}], "freezes": []}
    manifest = {"metadata": {"name": "m"}, "spec": {"connection": {"kubeconfig": "x"}}, "status": {"maintenance": own}}
    member = Member(cluster=MemberCluster(metadata=ObjectMeta(name="m")), fleet=decode(FleetMember, manifest))
    found = read_members({"m": member}, t.cast(t.Any, Server()), ReadingWish(pods=False), NOW)
    assert found.members == () and "No/X" in found.failed["m"].message


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    with Session(records=SqliteRecords(tmp_path / "records.db", lambda: NOW), holder="me", clock=lambda: NOW) as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> str:
    members = (MemberNodes(name="m1"), MemberNodes(name="m2"))
    failed = {"m3": Problem("timeout", "slow", "m3")}
    found = NodesSnapshot(captured_at=NOW, members=members, failed=failed, documents={"m1": {}, "m2": {}})
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(write_nodes(found)))
    return str(path)


def test_a_member_that_a_file_does_not_know_is_no_such_member(session: Session, file: str) -> None:
    """As it is where members are asked; one that could not be read is known."""
    wish = ReadingWish(names=("m1", "m4"))
    with pytest.raises(FleetError) as error:
        budget_report(session, BudgetQuestion(reading=wish, snapshot=file))
    assert [(each.code, each.where) for each in error.value.problems] == [("no-such-member", "m4")]
    with pytest.raises(FleetError) as error:
        node_report(session, NodeManifests(), wish, file)
    assert [(each.code, each.where) for each in error.value.problems] == [("no-such-member", "m4")]
    found = budget_report(session, BudgetQuestion(reading=ReadingWish(names=("m3",)), snapshot=file))
    assert found.answers == () and [each.code for each in found.snapshot.problems] == ["timeout"]


def test_a_member_asked_for_alone_is_held_by_a_budget_that_it_shares(session: Session, tmp_path: Path) -> None:
    """What is disrupted on the others counts, as it does for a rotation, though nothing is told of them."""
    broken = {"metadata": {"name": "n", "uid": "u"}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    whole = {"metadata": {"name": "n", "uid": "u"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    documents = {"a": {"Node": [whole]}, "b": {"Node": [broken]}}
    members = tuple(MemberNodes(name=each) for each in documents)
    failed = {"c": Problem("timeout", "slow", "c")}
    found = NodesSnapshot(captured_at=NOW, members=members, failed=failed, documents=documents)
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(write_nodes(found)))
    objects = maintenance(budgets=[{"name": "one", "members": 1}]), rotation({"nodes": "1"})
    given = node_manifests((), objects)
    wish = ReadingWish(names=("a",))
    report = budget_report(session, BudgetQuestion(given=given, reading=wish, snapshot=str(path)))
    assert {each.pool.member for each in report.answers} == {"a"} == {each.name for each in report.snapshot.members}
    assert "nodes of b are disrupted" in report.answers[0].held[0]
    assert [each.where for each in report.snapshot.problems] == ["c"], "what is disrupted there is not known"


@pytest.mark.parametrize("nodes", ["abc", "-5", "200%", "20 %", ""])
def test_a_window_as_budgets_has_nodes_that_a_budget_can_have(nodes: str) -> None:
    with pytest.raises(FleetError) as error:
        compiled("22:00-06:00 Europe/Berlin", nodes, NOW)
    assert (error.value.code, error.value.where) == ("bad-option", "window_nodes")


@pytest.mark.parametrize("now", ["9999-12-31T00:00:00Z", "soon"])
def test_the_end_of_the_calendar_is_no_instant_to_answer_for(session: Session, file: str, now: str) -> None:
    with pytest.raises(FleetError) as error:
        budget_report(session, BudgetQuestion(snapshot=file, now=now))
    assert error.value.code == "bad-option"
