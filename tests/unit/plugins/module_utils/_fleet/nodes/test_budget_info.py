# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is read of which member for an answer about budgets."""

from __future__ import annotations

import contextlib
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.nodes_snapshot import NodesSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import reading
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.budget_info import (
    BudgetQuestion,
    BudgetReport,
    budget_report,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import node_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.known_secrets import SHOWN
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import Resource
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import maintenance, rotation

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)
Document = dict[str, t.Any]
CLAIM: Document = {
    "metadata": {"name": "claim", "deletionTimestamp": "2026-03-28T11:00:00Z"},
    "status": {"nodeName": "n", "conditions": [{"type": "Initialized", "status": "True"}]},
}


class Fleet:
    """Members with one Node each that is Ready, and whose NodeClaim is being deleted on ``b`` alone; what was listed of
    each."""

    def __init__(self) -> None:
        self.listed: dict[str, list[str]] = {}

    def get(self, name: str) -> Server:
        return Server(name, self.listed.setdefault(name, []))


class Server:
    def __init__(self, name: str, listed: list[str]) -> None:
        self.server_name, self._listed = name, listed

    def sized(self, _verb: str, path: str, **_more: t.Any) -> tuple[Document, int]:
        plural = path.rpartition("/")[2]
        self._listed.append(plural)
        labels = {"karpenter.sh/nodepool": "kp", "karpenter.sh/initialized": "true"}
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        rows = {
            "nodes": [{"metadata": {"name": "n", "uid": "u", "labels": labels}, "status": status}],
            "nodeclaims": [CLAIM] if self.server_name == "b" else [],
        }
        return {"kind": "List", "items": rows.get(plural, [])}, 1


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    """Of a fleet of three members."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    for name in "abc":
        body = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMember", "metadata": {"name": name}}
        records.create({**body, "spec": {"connection": {"kubeconfig": f"/none/{name}"}}})
    with Session(records=records, holder="me", clock=lambda: NOW) as made:
        yield made


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Fleet:
    def kind(_client: Server, api_version: str, name: str) -> Resource:
        group, _slash, version = api_version.partition("/")
        return Resource(group, version, name, f"{name.lower()}s", False)

    made = Fleet()
    monkeypatch.setattr(reading, "resource_for", kind)
    monkeypatch.setattr(reading, "open_clients", lambda *_given, **_more: contextlib.nullcontext(made))
    return made


def test_of_members_that_share_a_budget_only_what_counts_in_it_is_read(session: Session, fleet: Fleet) -> None:
    """Pods, for a file, and all else of the member that is asked for; of the others the nodes alone, for what is
    disrupted there holds it."""
    shared = maintenance(budgets=[{"name": "one", "members": 1}])
    given = node_manifests((), (shared, rotation({"nodes": "1"})))
    wish = ReadingWish(names=("a",), daemons=True, keep=True)
    report = budget_report(session, BudgetQuestion(given=given, reading=wish))
    assert {"nodes", "nodeclaims", "nodepools", "pods", "poddisruptionbudgets", "daemonsets"} <= set(fleet.listed["a"])
    assert fleet.listed["b"] == fleet.listed["c"] == ["nodes", "nodeclaims"]
    assert {each.pool.member for each in report.answers} == {"a"} and report.snapshot.documents.keys() == {"a"}
    assert "nodes of b are disrupted" in report.answers[0].held[0], "a NodeClaim that is being deleted counts"


def test_members_that_share_no_budget_are_not_read(session: Session, fleet: Fleet) -> None:
    given = node_manifests((), (maintenance(), rotation({"nodes": "1"})))
    budget_report(session, BudgetQuestion(given=given, reading=ReadingWish(names=("a",), pods=False)))
    assert fleet.listed.keys() == {"a"}


def test_a_pool_on_a_member_that_may_not_list_pools_is_not_told_to_be_nowhere(
    session: Session, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sized(server: Server, verb: str, path: str, **more: t.Any) -> tuple[Document, int]:
        if path.endswith("/nodepools"):
            raise ApiError("forbidden", "may not list them", server.server_name, status=403)
        return answered(server, verb, path, **more)

    answered = Server.sized
    monkeypatch.setattr(Server, "sized", sized)
    asked = BudgetQuestion(
        given=node_manifests((), ()), reading=ReadingWish(names=("a",), pods=False), pools=("general",)
    )
    with pytest.raises(FleetError) as refused:
        budget_report(session, asked)
    assert [each.code for each in refused.value.problems] == ["no-such-pool", "forbidden"]
    assert refused.value.problems[0].message == "no member that could be read has it"


def test_no_token_that_a_member_sends_back_gets_into_the_file() -> None:
    """The file is made to be kept and passed on."""
    token = "Abc0123456789-very-secret-token"
    SHOWN.add(token)
    node = {"kind": "Node", "metadata": {"name": "n", "annotations": {"karpenter.sh/note": token}}, "spec": {}}
    seen = NodesSnapshot(captured_at=NOW, members=(MemberNodes(name="m1"),), documents={"m1": {"Node": [node]}})
    report = BudgetReport(answers=(), snapshot=seen, now=NOW, zone=UTC)
    assert token not in report.file and '"karpenter.sh/note"' in report.file
