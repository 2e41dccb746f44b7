# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which recorded facts are used, and which members are read instead."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.member import (
    MemberReading,
    after_failed_read,
    after_read,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.node import NodeFacts
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import (
    ClusterConnection,
    FleetMember,
    FleetMemberSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import (
    MemberCluster,
    MemberClusterStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.quantity import parse_quantity
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import members as members_module
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import recorded_facts
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.facts import FleetReading
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients, Member
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.recorded_facts import (
    members_with_young_facts,
    recorded_or_read_facts,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import ServerReadiness

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
AGE = timedelta(minutes=10)
NODE = NodeFacts(name="n", capacity={"cpu": "4"}, allocatable={"cpu": "4"})


def read(minutes_ago: float, pods: bool = False, ready: bool = True) -> MemberClusterStatus:
    requests = {"cpu": parse_quantity("1")} if pods else None
    at = NOW - timedelta(minutes=minutes_ago)
    reading = MemberReading(at=at, ready=ready, version="v1.36.0", server="https://x", nodes=(NODE,), requests=requests)
    return after_read(reading, MemberClusterStatus())


def member(name: str, status: MemberClusterStatus) -> Member:
    spec = FleetMemberSpec(connection=ClusterConnection(kubeconfig="nowhere"))
    fleet = FleetMember(metadata=ObjectMeta(name=name), spec=spec)
    return Member(cluster=MemberCluster(metadata=ObjectMeta(name=name), status=status), fleet=fleet)


@pytest.mark.parametrize(
    "status, pods, young",
    [
        (read(9), False, True),
        (read(10), False, True),
        (read(11), False, False),
        (read(-4), False, True),
        (read(-6), False, False),
        (read(1), True, False),
        (read(1, pods=True), True, True),
        (read(1, ready=False), False, False),
        (after_failed_read(read(2), NOW, "unreachable", "nothing listens"), False, False),
        (MemberClusterStatus(), False, False),
    ],
    ids=[
        "young",
        "just young enough",
        "too old",
        "by a clock that is a little ahead",
        "of the future",
        "without pods where pods count",
        "with pods where pods count",
        "not ready",
        "not reached since",
        "never read",
    ],
)
def test_facts_that_are_used_as_they_are_recorded(status: MemberClusterStatus, pods: bool, young: bool) -> None:
    assert bool(members_with_young_facts({"m1": member("m1", status)}, NOW, AGE, pods)) is young


def test_only_the_others_are_read_and_the_oldest_says_how_old_all_are(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def read_fleet(unknown: t.Mapping[str, Member], *_others: t.Any, **_more: t.Any) -> FleetReading:
        asked.append(list(unknown))
        clusters = tuple(each.cluster for each in unknown.values())
        return FleetReading(snapshot=FactsSnapshot(captured_at=NOW, members=clusters))

    monkeypatch.setattr(recorded_facts, "read_fleet", read_fleet)
    members = {name: member(name, read(age)) for name, age in (("m1", 3), ("m2", 60), ("m3", 7))}
    young = members_with_young_facts(members, NOW, AGE, False)
    found = recorded_or_read_facts(members, young, Clients(members={}), NOW, pods=False)
    assert asked == [["m2"]] and [each.name for each in found.members] == ["m1", "m2", "m3"]
    assert found.captured_at == NOW - timedelta(minutes=7)
    assert recorded_or_read_facts(members, frozenset(), Clients(members={}), NOW, pods=False).captured_at == NOW


def test_a_member_that_is_used_on_recorded_facts_must_say_that_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"m1": ServerReadiness(False, ("etcd",)), "m2": ServerReadiness(True)}
    closed: list[str] = []

    class Client:
        def __init__(self, name: str, **_options: t.Any) -> None:
            self.name = name

        def start_time_budget(self) -> None:
            pass

        def close(self) -> None:
            closed.append(self.name)

    monkeypatch.setattr(members_module, "connection_of", lambda each, _hub, _environ: each.name)
    monkeypatch.setattr(members_module, "KubeClient", Client)
    monkeypatch.setattr(members_module, "server_readiness", lambda client: answers[client.name])
    monkeypatch.setattr(members_module.Identities, "admit", lambda *_arguments: None)
    fleet = {name: member(name, read(1)).fleet for name in answers}
    clients = Clients(members=fleet, ready_first=frozenset(fleet))
    with pytest.raises(FleetError) as refused:
        clients.get("m1")
    assert refused.value.code == "not-ready" and "etcd" in refused.value.message and closed == ["m1"]
    assert clients.get("m2") is clients.get("m2")
    assert Clients(members=fleet).get("m1")
