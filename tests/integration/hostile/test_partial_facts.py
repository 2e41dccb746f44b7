# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A part of a member that could not be read is a problem, and what was known of it stands: it is never zero. (F1-F3)

Also here: members that ask us to wait (F26), and members whose credentials have expired (F27).
"""

from __future__ import annotations

import base64
import json
import typing as t
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import (
    read_snapshot,
    write_snapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import Captured, capture
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import facts_text
from authority import Authority
from misbehaving import Misbehaving, Request, answer, listing, raw, respond, status
from small_fleet import Fleet, changes, codes

if t.TYPE_CHECKING:
    from conftest import Turned

COUNT = "kubernetes-fleet.io/node-count"


@dataclass
class Partly:
    """A fleet of m1, before which a server stands, and m2."""

    fleet: Fleet
    server: Misbehaving

    def capture(self, pods: bool = False) -> Captured:
        return capture(self.fleet.session(hub=None), pods=pods, prices=NO_PRICES, threads=2, timeout=5.0, record=True)

    def recorded(self, kind: str) -> dict[str, t.Any]:
        found = self.fleet.records.get(kind, "m1")
        assert found is not None
        return t.cast("dict[str, t.Any]", found["status"])


@pytest.fixture
def partly(file_fleet: Fleet, turned: Turned) -> t.Iterator[Partly]:
    server = turned(file_fleet.servers["m1"], file_fleet.folder / "kubeconfigs" / "m1", "token-of-m1")
    file_fleet.join("m1", "m2")
    amounts = {"cpu": "4", "memory": "8Gi"}
    node = {"metadata": {"name": "n1", "labels": {"gitops.fleet/pool": "big"}}}
    made = server.real.post("/api/v1/nodes", node)
    state = {**made, "status": {"capacity": amounts, "allocatable": amounts, "nodeInfo": made["status"]["nodeInfo"]}}
    server.real.put("/api/v1/nodes/n1/status", state)
    yield Partly(file_fleet, server)
    server.real.delete("/api/v1/nodes/n1")


REFUSED = status(403, "Forbidden", 'nodes is forbidden: User "reader" cannot list resource "nodes"')


@pytest.mark.parametrize(
    ("part", "step", "code"),
    [
        ("nodes", REFUSED, "forbidden"),
        ("nodes", answer(listing("Node", [{"metadata": {"name": "n1"}, "status": {"capacity": ["x"]}}])), "bad-answer"),
        (
            "nodes",
            raw(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"kind": "NodeList", "it'),
            "bad-answer",
        ),
        ("pods", status(500, "InternalError", "etcd is away"), "server-error"),
        ("pods", answer(listing("Pod", [{"metadata": {"name": "p"}, "spec": {"containers": {}}}])), "bad-answer"),
    ],
)
def test_the_part_is_named_and_what_was_known_of_it_stands(partly: Partly, part: str, step: t.Any, code: str) -> None:
    first = partly.capture(pods=True)
    assert not first.reading.problems and "missing" not in first.document
    before, pools = partly.recorded("MemberCluster"), partly.recorded("FleetMember")["nodePools"]
    partly.fleet.later = timedelta(minutes=5)
    partly.server.rules = {f"^GET /api/v1/{part}": step}
    found = partly.capture(pods=True)
    (problem,) = found.reading.problems
    assert (problem.code, problem.where) == ("partly-read", f"m1 {part}") and f"[{code}]" in problem.message
    assert found.document["missing"]["m1"][part]["code"] == code
    after = partly.recorded("MemberCluster")
    assert after["resourceUsage"] == before["resourceUsage"]
    assert after["resourceUsage"]["capacity"]["cpu"] == "4" and after["resourceUsage"]["available"]["cpu"] == "4"
    counted = after["properties"][COUNT]
    assert counted["value"] == "1"
    assert (counted == before["properties"][COUNT]) is (part == "nodes")  # with the time of its own last read
    assert after["properties"]["k8s.io/k8s-version"]["observationTime"] > counted["observationTime"] or part == "pods"
    assert partly.recorded("FleetMember")["nodePools"] == pools
    (line,) = (line for line in facts_text(found.reading.snapshot) if "m1" in line)
    assert f"ready, {part} not read: {code}" in line and " 1 " in line
    assert read_snapshot(json.loads(json.dumps(found.document)), "x") == found.reading.snapshot
    assert write_snapshot(found.reading.snapshot) == found.document
    assert found.reading.snapshot.nodes.keys() == ({"m1", "m2"} if part == "pods" else {"m2"})


def test_a_plan_on_older_facts_says_so_and_changes_nothing_for_it(partly: Partly) -> None:
    """F1."""
    fleet = partly.fleet
    needs = {
        "clusterSelectorTerms": [
            {"propertySelector": {"matchExpressions": [{"name": COUNT, "operator": "Ge", "values": ["1"]}]}}
        ]
    }
    affinity = {
        "clusterAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": needs["clusterSelectorTerms"]}
        }
    }
    partly.capture()
    fleet.place({"placementType": "PickAll", "affinity": affinity})
    assert changes(fleet.apply(), fleet.name) == {"m1": "gained"}
    partly.server.rules = {"^GET /api/v1/nodes": REFUSED}
    report = fleet.apply(read=True)
    assert changes(report, fleet.name) == {"m1": "kept"} and fleet.holders() == ["m1"]
    assert [(each.code, each.where) for each in report.problems] == [("partly-read", "m1 nodes")]


def test_a_member_of_which_nothing_is_known_yet_is_not_read_in_part(partly: Partly) -> None:
    partly.server.rules = {"^GET /api/v1/nodes": REFUSED}
    found = partly.capture()
    assert {name: error.code for name, error in found.reading.failed.items()} == {"m1": "forbidden"}


def test_members_that_ask_us_to_wait_get_their_pace_and_stall_nobody(partly: Partly) -> None:
    """F26."""
    asked: Counter[str] = Counter()

    def at_the_third_time(request: Request) -> None:
        asked[request.path] += 1
        if asked[request.path] < 3:
            respond(request, b"{}", 429, Retry_After="1")
        else:
            partly.server.passed_on(request)

    partly.server.rules = {"^GET": at_the_third_time}
    assert not partly.capture().reading.problems
    assert asked["/version"] == asked["/readyz"] == 3
    partly.server.rules = {"^GET": lambda request: respond(request, b"{}", 429, Retry_After="3600")}
    found = partly.capture()
    assert {name: error.code for name, error in found.reading.failed.items()} == {"m1": "too-many-requests"}
    assert "it asks us to wait 3600 s" in found.reading.failed["m1"].message


def test_expired_credentials_of_one_member_are_listed_and_the_others_go_on(
    partly: Partly, made_up_authority: Authority
) -> None:
    """F27."""
    fleet = partly.fleet
    fleet.place()
    partly.capture()
    assert not fleet.apply().problems
    cert, key = made_up_authority.issue("admin", "system:masters", ends=timedelta(hours=-1))
    path = fleet.kubeconfig("m1")
    document = json.loads(path.read_text(encoding="utf-8"))
    pem = {"client-certificate-data": cert, "client-key-data": key}
    document["users"][0]["user"] = {name: base64.b64encode(data).decode() for name, data in pem.items()}
    path.write_text(json.dumps(document), encoding="utf-8")
    partly.server.rules = {"": status(401, "Unauthorized", "Unauthorized")}
    fleet.resources(fleet.configmap(color="red"))
    report = fleet.apply()
    assert codes(report) == {"credentials-expired"} and {each.where for each in report.problems} == {
        f"m1 ({fleet.name})"
    }
    assert "client certificate" in str(report.problems[0]) and "expired at" in str(report.problems[0])
    assert fleet.servers["m2"].data(fleet.namespaced("configmaps", "settings")) == {"color": "red"}
    assert fleet.holders() == ["m1", "m2"]
