# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A member that is changed leaves an entry that says what is other about it, and why."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.audit.audit_entry import MEMBER_CHANGED
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import join as joining
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import IDENTITY, MemberSpec, join
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease, Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 11, 25, 20, 12, 58, tzinfo=UTC)


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    """Of a fleet with one member, whose cluster is known, so that nobody has to be asked."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    cluster = {"metadata": {"name": "prod-1", "labels": {"env": "test"}}, "spec": {"identity": IDENTITY}}
    uid = "00000000-0000-4000-8000-000000000001"
    spec = {"connection": {"kubeconfig": "/fleet/a.conf"}, "driver": "local", "clusterUID": uid}
    records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", **cluster})
    member = {"kind": "FleetMember", "metadata": {"name": "prod-1"}, "spec": spec}
    records.create({"apiVersion": FLEET_API, **member})
    yield Session(records=records, hub=None, holder="runner-1", clock=lambda: NOW, environ={"USER": "ann"})
    records.close()


def entries(session: Session) -> list[Record]:
    return [each["spec"] for each in session.records.list("AuditEntry")]


def test_the_entry_of_a_changed_member_says_what_was_and_what_is(session: Session) -> None:
    wish = MemberSpec(name="prod-1", labels={"env": "prod"}, fields={"driver": "command", "group": "canary"})
    assert join(session, [wish], write=True).changed == ("prod-1",)
    (entry,) = entries(session)
    assert entry["action"] == MEMBER_CHANGED
    assert entry["message"] == "label env test -> prod, driver local -> command, group none -> canary"


def test_a_lease_that_cannot_be_given_back_hides_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs out by itself, and the member has joined."""

    def refuse(_self: SqliteRecords, _lease: Lease) -> t.NoReturn:
        raise FleetError("unreachable", "the records do not answer")

    monkeypatch.setattr(SqliteRecords, "release", refuse)
    wish = MemberSpec(name="prod-1", labels={"env": "prod"})
    assert join(session, [wish], write=True).changed == ("prod-1",)
    (entry,) = entries(session)
    assert entry["message"] == "label env test -> prod"


@pytest.mark.parametrize("value", [None, True, 1, 1.5, ["a"]])
def test_a_label_that_is_no_text_is_refused(session: Session, value: t.Any) -> None:
    """As kubectl does: ``true`` of YAML is no label ``True``, and nothing is none ``None``."""
    with pytest.raises(FleetError) as caught:
        join(session, [MemberSpec(name="prod-1", labels={"canary": value})], write=True)
    assert "labels[canary]" in str(caught.value) and entries(session) == []


def test_a_field_that_a_server_filled_in_is_no_change(session: Session) -> None:
    record = session.records.get("MemberCluster", "prod-1") or {}
    session.records.replace({**record, "spec": {**record["spec"], "heartbeatPeriodSeconds": 60}})
    join(session, [MemberSpec(name="prod-1", labels={"env": "prod"})], write=True)
    assert entries(session)[0]["message"] == "label env test -> prod"


def test_a_member_without_a_connection_is_told_what_else_is_wrong(session: Session) -> None:
    with pytest.raises(FleetError) as caught:
        join(session, [MemberSpec(name="A_b", labels={"env": "x y"})], write=True)
    told = str(caught.value)
    assert "needs a connection" in told and "labels[env]" in told and "'A_b'" in told


REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("told", "labels"),
    [
        ({REGION: "us-east-1"}, {"env": "test", REGION: "us-east-1"}),
        ({}, {"env": "test", REGION: "eu-west-1", ZONE: "eu-west-1a"}),
    ],
    ids=["in another region", "where its nodes tell nothing"],
)
def test_a_rebuilt_cluster_is_where_its_nodes_say_also_if_no_labels_are_given(
    session: Session, monkeypatch: pytest.MonkeyPatch, told: t.Mapping[str, str], labels: t.Mapping[str, str]
) -> None:
    """As by the command that is printed where another cluster answers (``other-cluster``)."""
    record = session.records.get("MemberCluster", "prod-1") or {}
    before = {"env": "test", REGION: "eu-west-1", ZONE: "eu-west-1a"}
    session.records.replace({**record, "metadata": {**record["metadata"], "labels": before}})
    answer = {"prod-1": joining._Told(version="1.35.4", labels=told)}
    monkeypatch.setattr(joining, "_reach", lambda *_given: answer)
    join(session, [MemberSpec(name="prod-1", rebuilt=True)], write=True)
    found = session.records.get("MemberCluster", "prod-1") or {}
    assert found["metadata"]["labels"] == labels


def test_windows_of_the_former_cluster_go_with_it(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the new one has none of its own; what else is recorded stays until it is read."""
    record = session.records.get("FleetMember", "prod-1") or {}
    windows = {"windows": [{"schedule": {"absoluteMonthly": {"intervalMonths": 1, "dayOfMonth": 1}}}]}
    session.records.replace({**record, "status": {"version": "1.35.4", "maintenance": windows}})
    told = joining._Told(version="1.36.3", labels={})
    monkeypatch.setattr(joining, "_reach", lambda _session, wanted, *_given: dict.fromkeys(wanted, told))
    join(session, [MemberSpec(name="prod-1", connection={"kubeconfig": "/fleet/b.conf"}, rebuilt=True)], write=True)
    assert (session.records.get("FleetMember", "prod-1") or {})["status"] == {"version": "1.35.4"}
    join(session, [MemberSpec(name="prod-2", connection={"kubeconfig": "/fleet/c.conf"}, rebuilt=True)], write=True)
    assert not (session.records.get("FleetMember", "prod-2") or {}).get("status")
