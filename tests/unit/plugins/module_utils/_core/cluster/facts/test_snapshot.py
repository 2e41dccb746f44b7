# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.node import NodeFacts
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import PriceSource
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import (
    FactsSnapshot,
    read_snapshot,
    snapshot_digest,
    write_snapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

AT = datetime(2026, 1, 15, 12, tzinfo=UTC)
NODE = NodeFacts(
    name="n1",
    pool="p",
    created_at=AT - timedelta(days=30),
    version="v1.34.2",
    image="Linux 1",
    instance_type="big",
    ready=True,
    unschedulable=True,
    capacity={"cpu": "4"},
    allocatable={"cpu": "3900m"},
)


def member(name: str) -> MemberCluster:
    status = {
        "properties": {"kubernetes-fleet.io/node-count": {"value": "1", "observationTime": "2026-01-15T12:00:00Z"}}
    }
    spec = {"identity": {"kind": "User", "name": "agent"}}
    return decode(MemberCluster, {"metadata": {"name": name}, "spec": spec, "status": status})


SNAPSHOT = FactsSnapshot(
    captured_at=AT,
    members=(member("a"), member("b")),
    nodes={"a": (NODE, NodeFacts(name="n2")), "b": ()},
    failed={"b": {"code": "timeout", "message": "no answer"}},
)


def test_what_is_written_reads_back() -> None:
    document = json.loads(json.dumps(write_snapshot(SNAPSHOT)))
    assert read_snapshot(document, "facts.json") == SNAPSHOT
    assert document["capturedAt"] == "2026-01-15T12:00:00Z" and document["schema"] == 1


def test_where_prices_come_from_is_kept_and_is_not_there_without_prices() -> None:  # D4-54
    priced = replace(SNAPSHOT, prices=PriceSource(source="list of the house", version="7"))
    document = json.loads(json.dumps(write_snapshot(priced)))
    assert read_snapshot(document, "facts.json") == priced
    assert "prices" not in write_snapshot(SNAPSHOT)
    with pytest.raises(FleetError) as refused:
        read_snapshot({**document, "prices": {"from": "a friend"}}, "facts.json")
    assert refused.value.code == "facts-invalid"


def test_the_digest_does_not_depend_on_the_order_of_members() -> None:
    turned = replace(SNAPSHOT, members=SNAPSHOT.members[::-1], nodes=dict(reversed(list(SNAPSHOT.nodes.items()))))
    assert snapshot_digest(turned) == snapshot_digest(SNAPSHOT)
    assert snapshot_digest(replace(SNAPSHOT, captured_at=AT + timedelta(seconds=1))) != snapshot_digest(SNAPSHOT)
    assert snapshot_digest(read_snapshot(write_snapshot(SNAPSHOT), "")) == snapshot_digest(SNAPSHOT)


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (None, "facts-invalid"),
        ([], "facts-invalid"),
        ({"schema": 1}, "facts-invalid"),
        ({"schema": 2, "capturedAt": "2026-01-15T12:00:00Z"}, "facts-too-new"),
        ({"schema": "1", "capturedAt": "2026-01-15T12:00:00Z"}, "facts-invalid"),
        ({"schema": 0, "capturedAt": "2026-01-15T12:00:00Z"}, "facts-invalid"),
        ({"schema": 1, "capturedAt": "2026-01-15T12:00:00"}, "facts-invalid"),
        ({"schema": 1, "capturedAt": 5}, "facts-invalid"),
        ({"schema": 1, "capturedAt": "2026-01-15T12:00:00Z", "members": [5]}, "facts-invalid"),
        ({"schema": 1, "capturedAt": "2026-01-15T12:00:00Z", "members": 5}, "facts-invalid"),
        ({"schema": 1, "capturedAt": "2026-01-15T12:00:00Z", "nodes": {"a": [{}]}}, "facts-invalid"),
        ({"schema": 1, "capturedAt": "2026-01-15T12:00:00Z", "nodes": []}, None),
        ({"schema": 1, "capturedAt": "2026-01-15T12:00:00Z", "nodes": [1]}, "facts-invalid"),
        ({"schema": 1, "capturedAt": "2026-01-15T12:00:00Z", "failed": {"a": 1}}, "facts-invalid"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_its_place(document: object, code: str | None) -> None:
    if code is None:
        assert read_snapshot(document, "facts.json").members == ()
        return
    with pytest.raises(FleetError) as caught:
        read_snapshot(document, "facts.json")
    assert (caught.value.code, caught.value.where) == (code, "facts.json")


def test_parts_that_could_not_be_read_are_kept_and_named() -> None:
    missing = {"m1": {"nodes": {"code": "forbidden", "message": "no right"}}}
    snapshot = FactsSnapshot(captured_at=AT, members=(member("m1"),), missing=missing)
    document = json.loads(json.dumps(write_snapshot(snapshot)))
    assert read_snapshot(document, "f") == snapshot
    (problem,) = snapshot.partly_read
    assert (problem.code, problem.where) == ("partly-read", "m1 nodes")
    assert problem.message == "nodes were not read: no right [forbidden]"
    assert "missing" not in write_snapshot(replace(snapshot, missing={}))
    for wrong in ([], {"m1": []}, {"m1": {"nodes": "x"}}, {"m1": {"nodes": {}}}):
        with pytest.raises(FleetError) as caught:
            read_snapshot(document | {"missing": wrong}, "f") if wrong else read_snapshot(
                document | {"missing": [1]}, "f"
            )
        assert caught.value.code == "facts-invalid"


def test_every_fault_of_names_and_times_is_told_at_once() -> None:
    document = json.loads(json.dumps(write_snapshot(SNAPSHOT)))
    first = document["members"][0]
    document["members"] += [first, *({**first, "metadata": {"name": name}} for name in ("A", "../b", "x" * 254, ""))]
    document["nodes"]["c"] = document["failed"]["d"] = {}
    with pytest.raises(FleetError) as refused:
        read_snapshot(document, "facts.json", AT - timedelta(hours=1))
    assert [each.message.partition(" is not a name")[0] for each in refused.value.problems] == [
        "members: a stands there 2 times",
        "members: 'A'",
        "members: '../b'",
        f"members: {'x' * 254!r}",
        "members: ''",
        "nodes: 'c' is none of the members",
        "failed: 'd' is none of the members",
        "capturedAt is 3600 s ahead of this machine's clock; 300 s are allowed",
    ]


def test_facts_may_come_from_a_clock_that_is_a_little_ahead() -> None:
    document = write_snapshot(SNAPSHOT)
    assert read_snapshot(document, "facts.json", AT - timedelta(minutes=5)) == SNAPSHOT
    assert read_snapshot(document, "facts.json", AT + timedelta(days=900)) == SNAPSHOT
