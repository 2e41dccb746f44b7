# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What nodes say of themselves, and what their pods leave of them."""

from __future__ import annotations

import contextlib
import os
import signal
import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members import facts
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.facts import read_fleet
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Member
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection, bearer
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel, no_threads_error
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import (
    POD,
    Answering,
    OneClient,
    listing,
    state,
)

NOW = datetime(2026, 1, 16, tzinfo=UTC)


def test_what_a_pod_asks_for_as_a_whole_is_not_available() -> None:
    """2 cores of 3900m for one pod and 115m for the other; the containers of the first one ask for 500m."""
    whole = {
        "metadata": {"name": "p2", "namespace": "shop", "uid": "u-6"},
        "spec": {
            "resources": {"requests": {"cpu": "2"}},
            "containers": [{"name": "a", "resources": {"requests": {"cpu": "500m"}}}],
        },
    }
    documents = {**state(), "/api/v1/pods": listing("Pod", [POD, whole])}
    member = Member(
        cluster=MemberCluster(metadata=ObjectMeta(name="m1")), fleet=decode(FleetMember, {"metadata": {"name": "m1"}})
    )
    reading = read_fleet({"m1": member}, OneClient(Answering(documents)), NOW, pods=True)
    (read,) = reading.snapshot.members
    assert read.status.resource_usage.available == {"cpu": "1785m", "memory": "7104Mi"}


TOKEN = "canary-of-a-token"


class Showing(KubeClient):
    """It has shown its token, and lists these nodes."""

    def __init__(self, *nodes: t.Any) -> None:
        super().__init__(Connection("https://m1.example:6443", token=TOKEN, name="m1"))
        self._nodes = nodes
        assert self._credential().authorization == bearer(TOKEN)

    def sized(self, *_arguments: t.Any, **_options: t.Any) -> tuple[dict[str, t.Any], int]:
        return {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": list(self._nodes)}, 1


def node(**changes: str) -> dict[str, t.Any]:
    told = {"name": "n1", "kubelet": "v1.36.0", "image": "Linux", "kind": "large", "amount": "cpu", **changes}
    return {
        "metadata": {"name": told["name"], "labels": {"node.kubernetes.io/instance-type": told["kind"]}},
        "status": {
            "nodeInfo": {"kubeletVersion": told["kubelet"], "osImage": told["image"]},
            "capacity": {told["amount"]: "4"},
            "allocatable": {told["amount"]: "3"},
        },
    }


def test_facts_of_nodes_are_as_they_are_told() -> None:
    (found,) = facts.nodes_of(Showing(node()))
    assert (found.name, found.version, found.image, found.instance_type) == ("n1", "v1.36.0", "Linux", "large")
    assert (found.capacity, found.allocatable) == ({"cpu": "4"}, {"cpu": "3"})


@pytest.mark.parametrize("part", ["name", "kubelet", "image", "kind", "amount"])
def test_no_part_of_a_node_gives_our_token_away(part: str) -> None:
    plain, found = facts.nodes_of(Showing(node(name="a"), node(**{"name": "b", part: f"b-{TOKEN}"})))
    assert TOKEN not in repr(found) and "b-(hidden)" in repr(found)
    assert "(hidden)" not in repr(plain)


def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def finds_no_thread() -> None:
    raise no_threads_error(RuntimeError("can't start new thread"))


def falls_over() -> None:
    raise LookupError


@pytest.mark.parametrize(
    ("fails", "code"), [(dies, "worker-lost"), (finds_no_thread, "no-workers"), (falls_over, "fault")]
)
def test_what_fails_on_this_machine_leaves_members_as_well_as_they_were(
    monkeypatch: pytest.MonkeyPatch, fails: t.Callable[[], None], code: str
) -> None:
    """F1: members of another process than this one were not asked; that is told as a problem, and not as theirs."""
    here, fleet = os.getpid(), OneClient(Answering(state()))
    names = [f"m{number}" for number in range(6)]
    fleet.identities.maintenance.update(dict.fromkeys(names, ""))
    members = {
        name: Member(
            cluster=MemberCluster(metadata=ObjectMeta(name=name)),
            fleet=decode(FleetMember, {"metadata": {"name": name}}),
        )
        for name in names
    }
    before = {each.name: each for each in read_fleet(members, fleet, NOW, pods=False).snapshot.members}
    members = {name: replace(each, cluster=before[name]) for name, each in members.items()}

    def in_threads(*given: t.Any, **named: t.Any) -> t.Any:
        if os.getpid() != here:
            fails()
        return in_parallel(*given, **named)

    monkeypatch.setattr(facts, "in_parallel", in_threads)
    monkeypatch.setattr(fleet, "apart", lambda: contextlib.nullcontext(fleet))
    reading = read_fleet(members, fleet, NOW + timedelta(hours=1), pods=False, workers=2)
    assert 0 < len(reading.failed) < len(names) and {each.code for each in reading.failed.values()} == {code}
    assert {each.where for each in reading.problems} == reading.failed.keys() == reading.snapshot.failed.keys()
    after = {each.name: each for each in reading.snapshot.members}
    assert {name: after[name] for name in reading.failed} == {name: before[name] for name in reading.failed}
    assert all(after[name] != before[name] for name in reading.statuses)
