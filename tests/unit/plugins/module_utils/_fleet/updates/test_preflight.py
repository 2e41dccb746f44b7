# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which members of a run are looked at before it begins, or begins again."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import (
    ClusterConnection,
    FleetMember,
    FleetMemberSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.preflight import MemberLook, PreflightFinding
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.options import OptionPlace
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.recorded import recorded
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates import preflight as module
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.conducting import ConductOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import (
    UpdateManifests,
    update_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 8, 17, 12, tzinfo=UTC)


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[Records]:
    """A run over two members, not started."""
    opened = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    for name in ("a", "b"):
        opened.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name}, "spec": {}})
        opened.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": {}})
    update = {"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": "1.36.3"}}
    run = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"},
           "spec": {"managedClusterUpdate": update}}  # fmt: skip
    define_run(opened, "r", update_manifests([], [run], strict=False), write=True)
    yield opened
    opened.close()


def found(records: Records, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, bool]]:
    """Member, code and whether it blocks, where each that is looked at does not answer."""

    def silent(_clients: t.Any, member: t.Any, *_more: t.Any) -> MemberLook:
        return MemberLook(name=member.name, unreachable="no answer")

    monkeypatch.setattr(module, "_look", silent)
    session = Session(records=records, holder="tests", clock=lambda: NOW)
    run = recorded(UpdateRun, records.get("UpdateRun", "r") or {})
    report = module.preflight(session, run, UpdateManifests(), ConductOptions())
    return [(each.member, each.code, each.blocks) for each in report.findings]


def test_a_member_that_has_left_is_told(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    records.delete("FleetMember", "b")
    records.delete("MemberCluster", "b")
    assert found(records, monkeypatch) == [("b", "MemberGone", False), ("a", "unreachable", True)]


@pytest.mark.parametrize(("goes_on", "looked_at"), [(False, ["a", "b"]), (True, ["b"])])
def test_who_failed_is_looked_at_where_a_start_would_try_it_again(
    records: Records, monkeypatch: pytest.MonkeyPatch, goes_on: bool, looked_at: list[str]
) -> None:
    stored = records.get("UpdateRun", "r")
    assert stored
    (stage,) = stored["status"]["stages"]
    (group,) = stage["groups"]
    group["members"][0]["status"]["state"] = "Failed"
    if goes_on:
        stage["maxAllowedFailures"] = group["maxAllowedFailures"] = 1
    records.replace({**stored, "status": {**stored["status"], "phase": "active"}})
    assert [member for member, *_why in found(records, monkeypatch)] == looked_at


@pytest.mark.parametrize(
    ("kind", "told", "finding"),
    [
        ("ControlPlaneOnly", "v1.35.4", ("not-looked-at", False)),
        ("ControlPlaneOnly", "v1.33.1", ("minor-skipped", True)),
        ("Full", "v1.35.4", ("unreachable", True)),
        ("Full", '{"version": "v1.35.4", "pools": []}', ("not-looked-at", False)),
    ],
)
def test_a_cluster_that_its_platform_alone_can_ask_is_blocked_where_the_run_could_not_do_with_that(
    tmp_path: Path, kind: str, told: str, finding: tuple[str, bool]
) -> None:
    """With ``observe`` an upgrade goes on where its API server cannot be reached from here; pools have to be known."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    spec = {"driver": "command", "connection": {"kubeconfig": str(tmp_path / "none")}}
    records.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "a"}, "spec": spec})
    update = {"upgrade": {"type": kind, "kubernetesVersion": "1.36.3"}}
    made = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "r"},
            "spec": {"managedClusterUpdate": update}}  # fmt: skip
    run = define_run(records, "r", update_manifests([], [made], strict=False), write=False).run
    commands = {"begin": ["false"], "observe": ["echo", told], "begin_pool": ["false"]}
    wish = ConductOptions(drivers={"command": commands}, operations=str(tmp_path / "operations"))
    session = Session(records=records, holder="tests", clock=lambda: NOW, environ={"PATH": "/usr/bin:/bin"})
    report = module.preflight(session, run, UpdateManifests(), wish)
    assert finding in [(each.code, each.blocks) for each in report.findings]
    assert any(each.blocks for each in report.findings) == finding[1]
    assert ("a" in report.seen) == (finding[0] != "unreachable")
    records.close()


@pytest.mark.parametrize(
    ("drivers", "finding"),
    [
        ({}, ("not-looked-at", False)),
        ({"command": {"providers": {"gke": {"definition": "gcloud"}}}}, ("driver-without-options", True)),
    ],
)
def test_a_member_whose_provider_no_options_are_for_is_blocked_for_its_run_is_refused_by_them(
    tmp_path: Path, drivers: dict[str, t.Any], finding: tuple[str, bool]
) -> None:
    """Without any options those of the run are not known yet, which is only a remark."""
    spec = FleetMemberSpec(driver="command", provider="aks", connection=ClusterConnection())
    member = FleetMember(metadata=ObjectMeta(name="a"), spec=spec)
    clients: t.Any = SimpleNamespace(hub=None, members={"a": member})
    place = OptionPlace(operations=tmp_path, environ={}, cwd=tmp_path)
    wish = ConductOptions(drivers=drivers)
    seen, told = module._by_driver(clients, member, wish, place, "")
    assert seen is None and [(code, blocks) for code, _words, blocks in told] == [finding]


def test_the_error_names_who_is_blocked_and_leaves_the_findings_to_those_who_read_them() -> None:
    def finding(member: str, blocks: bool = True) -> PreflightFinding:
        return PreflightFinding(member=member, code="unreachable", message="no answer", blocks=blocks)

    assert module.blocked_words([]) == module.blocked_words([finding("a", blocks=False)]) == ""
    assert module.blocked_words([finding("a"), finding("a")]) == "1 cluster cannot be upgraded as things are: a"
    many = module.blocked_words([finding(name) for name in "abcdefg"])
    assert many == "7 clusters cannot be upgraded as things are: a, b, c, d, e and 2 more"


@pytest.mark.parametrize(
    ("connection", "options"),
    [
        ({"kubeconfig": "~/a.conf", "context": "prod"}, ("--kubeconfig", "/home/ann/a.conf", "--context", "prod")),
        ({"kubeconfig": "/fleet/a.conf"}, ("--kubeconfig", "/fleet/a.conf")),
        ({"in_cluster": True}, ()),
    ],
)
def test_a_command_reaches_the_cluster_that_it_is_about(connection: dict[str, t.Any], options: tuple[str, ...]) -> None:
    assert module.kubectl_options(ClusterConnection(**connection), {"HOME": "/home/ann"}) == options
