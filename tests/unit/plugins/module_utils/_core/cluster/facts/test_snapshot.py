# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.held import without_content
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.node import NodeFacts
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import CPU_COST, PriceSource
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import (
    FactsSnapshot,
    read_snapshot,
    snapshot_digest,
    write_snapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import CertificateEnds
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode

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
        ({"schema": 3, "capturedAt": "2026-01-15T12:00:00Z"}, "facts-too-new"),
        ({"schema": "1", "capturedAt": "2026-01-15T12:00:00Z"}, "facts-invalid"),
        ({"schema": 0, "capturedAt": "2026-01-15T12:00:00Z"}, "facts-invalid"),
        ({"schema": True, "capturedAt": "2026-01-15T12:00:00Z"}, "facts-invalid"),
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


@pytest.mark.parametrize(
    "part",
    [
        {"failed": {"m1": {"code": 1}}},
        {"failed": {"m1": {}, 1: {}}},
        {"prices": {"source": 5}},
        {"prices": {"colour": "red"}},
        *(
            {"nodes": {"m1": [{"name": "n", **each}]}}
            for each in (
                {"name": 5}, {"version": 5}, {"pool": []}, {"capacity": [1]}, {"allocatable": {"cpu": "many"}},
                {"createdAt": 7},
            )
        ),
    ],
)  # fmt: skip
def test_parts_of_other_types_are_refused(part: dict[str, object]) -> None:
    document = write_snapshot(FactsSnapshot(captured_at=AT, members=(member("m1"),)))
    with pytest.raises(FleetError) as caught:
        read_snapshot(document | part, "f")
    assert caught.value.code == "facts-invalid" and "cannot be read" in caught.value.message


def test_of_a_member_that_was_not_read_code_and_message_are_always_there() -> None:
    document = json.loads(json.dumps(write_snapshot(FactsSnapshot(captured_at=AT, members=(member("m1"),)))))
    found = read_snapshot(document | {"failed": {"m1": {}}}, "f")
    assert found.failed == {"m1": {"code": "", "message": ""}} and snapshot_digest(found)


def test_parts_that_could_not_be_read_are_kept_and_named() -> None:
    missing = {"m1": {"nodes": {"code": "forbidden", "message": "no right"}}}
    snapshot = FactsSnapshot(captured_at=AT, members=(member("m1"),), missing=missing)
    document = json.loads(json.dumps(write_snapshot(snapshot)))
    assert read_snapshot(document, "f") == snapshot
    (problem,) = snapshot.partly_read_problems
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


@pytest.mark.parametrize(("part", "source"), [("pods", "aws"), ("namespaces", "aws"), ("nodes", "")])
def test_costs_are_older_than_the_facts_only_where_nodes_were_not_read(part: str, source: str) -> None:
    priced = decode(MemberCluster, {**encode(member("m1")), "status": {"properties": {CPU_COST: {"value": "0.1"}}}})
    missing = {"m1": {part: {"code": "timeout", "message": "no answer"}}}
    snapshot = FactsSnapshot(captured_at=AT, members=(priced,), missing=missing, prices=PriceSource(source="aws"))
    assert [each.as_dict()["source"] for each in snapshot.costs(priced)] == [source]
    assert ("earlier capture" in snapshot.costs_from) == (not source)


NAMES = ["apps/v1", "Deployment", "shop", "web", "abc"]
BINDING = {"name": "web-a", "cluster": "a", "state": "Bound", "policy": "web-3", "holds": "web-4-snapshot"}
WEB = {
    "metadata": {"name": "web", "uid": "u", "generation": 2, "annotations": {"gitops.fleet/revision": "abc"}},
    "spec": {"policy": {"placementType": "PickN", "numberOfClusters": 1}},
    "policy": {"name": "web-3", "hash": "def"},
    "contents": [{"name": "web-4-snapshot", "index": 4, "hash": "ghi", "objects": [NAMES]}],
    "bindings": [{**BINDING, "scores": [1, None]}],
}


def holding(**changes: object) -> dict[str, object]:
    return {**write_snapshot(SNAPSHOT), "schema": 2, "held": {"web": {**WEB, **changes}}}


def test_what_is_held_reads_back_and_is_of_a_newer_schema() -> None:
    """Earlier versions refuse such a file: to them nothing would be placed."""
    found = read_snapshot(holding(), "facts.json")
    document = json.loads(json.dumps(write_snapshot(found)))
    assert document["schema"] == 2 and document["held"] == {"web": WEB} and document["credentials"] == []
    assert read_snapshot(document, "facts.json") == found and snapshot_digest(found) != snapshot_digest(SNAPSHOT)
    older = read_snapshot({**document, "schema": 1}, "facts.json")
    assert older.held is None


def test_overrides_that_are_held_read_back_too() -> None:
    held = {
        "begun": "yes",
        "clusterOverrides": ["all-0a1b"],
        "overrides": [["shop", "web-2c3d"]],
        "leftOut": [["", "ConfigMap", "shop", "settings"]],
    }
    found = read_snapshot(holding(bindings=[{**BINDING, **held}]), "facts.json")
    assert write_snapshot(found)["held"]["web"]["bindings"] == [{**BINDING, **held}]
    assert found.held and found.held.placements["web"].bindings[0].left_out == {("", "ConfigMap", "shop", "settings")}


def test_an_evacuation_and_its_new_home_that_are_held_read_back_too() -> None:
    """A plan of the file says as one of the records that the cluster was evacuated, who has its place, and brakes no
    removal for it."""
    rows = [{**BINDING, "state": "Unscheduled", "evacuated": "yes"}, {**BINDING, "name": "web-b", "insteadOf": "a"}]
    found = read_snapshot(holding(bindings=rows), "facts.json")
    assert write_snapshot(found)["held"]["web"]["bindings"] == rows
    assert found.held
    marks = [each.metadata.annotations for each in found.held.placements["web"].bindings]
    assert marks == [{"gitops.fleet/evacuated": "true"}, {"gitops.fleet/instead-of": "a"}]


def test_of_a_placement_only_what_plans_read_is_kept() -> None:
    """Annotations hold whatever people and tools put there, copies of the object for example."""
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "gitops.fleet/source": "files:x"}
    metadata = {"name": "web", "uid": "u", "labels": {"a": "b"}, "annotations": annotations, "managedFields": []}
    kept = without_content({"metadata": metadata, "spec": {}, "status": {"conditions": []}})
    assert kept["metadata"] == {"name": "web", "uid": "u", "annotations": {"gitops.fleet/source": "files:x"}}
    assert "status" not in kept


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": {"name": "other"}},
        {"metadata": {"name": "web", "generation": "two"}},
        {"spec": []},
        {"spec": {"policy": {"clusterNames": "a"}}},
        {"policy": {"name": "web", "hash": ""}},
        {"policy": {"name": "web-3", "hash": 7}},
        {"contents": [{"name": "web-4-snapshot", "index": -1}]},
        {"contents": [{"name": "web-4-snapshot", "index": True}]},
        {"contents": [{"name": "web-snapshot", "index": 0}]},
        {"contents": [{"name": "web-4-snapshot", "index": 4}] * 2},
        {"contents": [{"name": "web-4-snapshot", "index": 4, "objects": [["v1", "ConfigMap", "a"]]}]},
        {"contents": [{"name": "web-4-snapshot", "index": 4, "objects": [["", "ConfigMap", "", "a", ""]]}]},
        {"contents": [{"name": "web-4-snapshot", "index": 4, "hash": "x" * 1001}]},
        {"contents": {"a": 1}},
        {"bindings": [{**BINDING, "state": "Great"}]},
        {"bindings": [{**BINDING, "before": "Unscheduled"}]},
        {"bindings": [{**BINDING, "cluster": "A B"}]},
        {"bindings": [{**BINDING, "name": ""}]},
        {"bindings": [{**BINDING, "holds": "web"}]},
        {"bindings": [{**BINDING, "begun": 1}]},
        {"bindings": [{**BINDING, "insteadOf": "A B"}]},
        {"bindings": [{**BINDING, "clusterOverrides": [1]}]},
        {"bindings": [{**BINDING, "clusterOverrides": ["x" * 1001]}]},
        {"bindings": [{**BINDING, "overrides": ["web"]}]},
        {"bindings": [{**BINDING, "overrides": [["shop", {}]]}]},
        {"bindings": [{**BINDING, "leftOut": [["", "ConfigMap", "settings"]]}]},
        {"bindings": [{**BINDING, "scores": [1]}]},
        {"bindings": [{**BINDING, "scores": [1.5, 2]}]},
        {"bindings": [{**BINDING, "deleted": "yesterday"}]},
        {"bindings": [BINDING, BINDING]},
        {"bindings": [{**BINDING, "name": f"web-{number}"} for number in range(20_001)]},
    ],
)
def test_what_cannot_be_held_is_refused(changes: dict[str, object]) -> None:
    """F25: the file may come from anywhere."""
    with pytest.raises(FleetError) as caught:
        read_snapshot(holding(**changes), "facts.json")
    assert (caught.value.code, caught.value.where) == ("facts-invalid", "facts.json")


def nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _level in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "changes",
    [
        {"members": [{"metadata": {"name": nested(100_000)}}]},
        {"nodes": {"a": [{"name": "n1", "capacity": nested(100_000)}]}},
        *({"held": {"web": {**WEB, **each}}} for each in (
            {"policy": {"name": "web-3", "hash": nested(100_000)}},
            {"spec": {"policy": {"placementType": nested(100_000)}}},
            {"spec": {"policy": {"affinity": nested(100_000)}}},
            {"spec": {"unknown": nested(100)}},
            {"bindings": [{**BINDING, "state": nested(100_000)}]},
        )),
    ],
)  # fmt: skip
def test_what_is_nested_too_deep_is_refused_wherever_it_stands(changes: dict[str, object]) -> None:
    """F25: no reader, and none of those that hash or write what was read, ends in an error of Python's."""
    with pytest.raises(FleetError) as caught:
        read_snapshot({**holding(), **changes}, "facts.json")
    assert (caught.value.code, caught.value.where) == ("facts-invalid", "facts.json")


def test_a_spec_as_deep_as_any_that_people_write_is_held() -> None:
    found = read_snapshot(holding(spec={**WEB["spec"], "unknown": nested(90)}), "facts.json")
    assert snapshot_digest(found)


def test_until_when_certificates_are_valid_reads_back() -> None:
    ends = {"a": CertificateEnds(server=AT, client=AT + timedelta(days=1))}
    document = json.loads(json.dumps(write_snapshot(replace(SNAPSHOT, certificates=ends))))
    assert document["certificates"]["a"] == {"server": "2026-01-15T12:00:00Z", "client": "2026-01-16T12:00:00Z"}
    assert read_snapshot(document, "facts.json").certificates == ends
    assert "certificates" not in write_snapshot(SNAPSHOT)


@pytest.mark.parametrize("part", [{"c": {"server": "2026-01-15T12:00:00Z"}}, [1], {"a": []}])
def test_certificates_of_nobody_and_what_is_none_are_refused(part: object) -> None:
    with pytest.raises(FleetError) as refused:
        read_snapshot({**write_snapshot(SNAPSHOT), "certificates": part}, "facts.json")
    assert refused.value.code == "facts-invalid"
