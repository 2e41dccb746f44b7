# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Records that tell what members hold outlive a deletion until they are let go, if they lie in a namespace."""

from __future__ import annotations

import contextlib
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.key import PlacementKey
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.history.kept import kept_snapshots
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import (
    cluster_of,
    delete_record,
    names_of,
    no_such_placement,
    recorded_from,
    refuse_strange,
    statuses_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import gone_wrong
from hypothesis import given

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SHOP = PlacementKey("shop", "web")


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    opened = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield opened
    opened.close()


def binding(key: PlacementKey, *finalizers: str) -> dict[str, t.Any]:
    metadata = {**key.metadata_with_finalizer("web-m1"), "labels": key.labels}
    if finalizers:
        metadata["finalizers"] = [*metadata.get("finalizers", ()), *finalizers]
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": key.kinds.binding,
        "metadata": metadata,
        "spec": {"targetCluster": "m1", "state": "Bound"},
    }


@pytest.mark.parametrize("key", [SHOP, PlacementKey("", "web")], ids=str)
def test_it_is_gone_then(records: SqliteRecords, key: PlacementKey) -> None:
    made = records.create(binding(key))
    delete_record(records, made, None)
    delete_record(records, made, None)
    assert records.get(key.kinds.binding, key.record("web-m1")) is None


def test_one_that_somebody_deleted_stays_until_then(records: SqliteRecords) -> None:
    made = records.create(binding(SHOP))
    records.delete("ResourceBinding", "shop/web-m1")
    assert records.get("ResourceBinding", "shop/web-m1")
    delete_record(records, made, None)
    assert records.get("ResourceBinding", "shop/web-m1") is None


def test_finalizers_of_others_are_left_alone(records: SqliteRecords) -> None:
    made = records.create(binding(SHOP, "example.org/keep"))
    delete_record(records, made, None)
    found = records.get("ResourceBinding", "shop/web-m1")
    assert found and found["metadata"]["finalizers"] == ["example.org/keep"]
    delete_record(records, found, None)
    assert records.get("ResourceBinding", "shop/web-m1")


@pytest.mark.parametrize("status", [{"conditions": {"type": "Ready"}}, {"conditions": ["Ready"]}, "fine", 7])
def test_a_status_of_another_structure_is_named(status: t.Any) -> None:
    good = {"kind": "ClusterResourcePlacement", "metadata": {"name": "api"}, "spec": {}}
    assert list(statuses_of([good])) == ["api"]
    with pytest.raises(FleetError) as refused:
        statuses_of([good, {**good, "metadata": {"name": "web"}, "status": status}])
    assert {each.code for each in refused.value.problems} == {"record-damaged"}
    assert all(each.where == "ClusterResourcePlacement/web" for each in refused.value.problems)


POLICY = {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterSchedulingPolicySnapshot"}
RESOURCES = {**POLICY, "kind": "ClusterResourceSnapshot"}
PARTS: dict[str, dict[str, t.Any]] = {
    "binding": binding(PlacementKey("", "web")),
    "policy": {
        **POLICY,
        "metadata": {"name": "web-0", "labels": {"kubernetes-fleet.io/policy-index": "0"}},
        "spec": {"policyHash": "p", "policy": {"placementType": "PickAll"}},
        "status": {"observedCRPGeneration": 1, "targetClusters": [{"clusterName": "m1", "selected": True}]},
    },
    "resources": {
        **RESOURCES,
        "metadata": {
            "name": "web-0-snapshot",
            "labels": {"kubernetes-fleet.io/resource-index": "0"},
            "annotations": {"kubernetes-fleet.io/resource-hash": "r", "gitops.fleet/rolled-back-to": "0"},
            "creationTimestamp": "2026-01-15T12:00:00Z",
        },
        "spec": {"selectedResources": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}]},
    },
}


def read(parts: dict[str, dict[str, t.Any]]) -> None:
    kept_snapshots(recorded_from(None, [parts["binding"]], [parts["policy"]], [parts["resources"]], "hub"))


def wrong(part: str, **changes: t.Any) -> dict[str, dict[str, t.Any]]:
    return {**PARTS, part: {**PARTS[part], **changes}}


@pytest.mark.parametrize(
    "parts",
    [
        wrong("binding", spec="text"),
        wrong("binding", spec={}),
        wrong("binding", spec={"targetCluster": ["m1"], "state": "Bound"}),
        wrong("binding", status={"conditions": "text"}),
        wrong("policy", spec=[]),
        wrong("policy", spec={"policy": ["PickAll"]}),
        wrong("policy", metadata={"name": "web-0"}),
        wrong("resources", metadata={"name": "web-0-snapshot", "labels": {}}),
        wrong("resources", metadata={"name": "s", "labels": {"kubernetes-fleet.io/resource-index": "9" * 5000}}),
        wrong("resources", spec=None),
    ],
)
def test_a_damaged_record_of_a_placement_is_named(parts: dict[str, dict[str, t.Any]]) -> None:
    """A hub with other definitions than ours lets them in."""
    read(PARTS)
    with pytest.raises(FleetError) as refused:
        read(parts)
    assert refused.value.code in ("record-damaged", "records-damaged")
    assert any(each["metadata"]["name"] in str(refused.value) for each in parts.values())


def test_a_binding_without_a_cluster_is_on_no_cluster() -> None:
    assert cluster_of(PARTS["binding"]) == "m1"
    for spec in (None, "text", {}, {"targetCluster": 7.5}):
        with pytest.raises(FleetError) as refused:
            cluster_of({**PARTS["binding"], "spec": spec})
        assert refused.value.code == "record-damaged"


def test_an_index_that_nobody_can_count_to_is_no_index() -> None:
    metadata = PARTS["resources"]["metadata"]
    annotations = {**metadata["annotations"], "gitops.fleet/rolled-back-to": "9" * 5000}
    read(wrong("resources", metadata={**metadata, "annotations": annotations, "creationTimestamp": "yesterday"}))


@given(gone_wrong(PARTS, times=4))
def test_records_gone_wrong_are_read_or_refused(parts: t.Any) -> None:
    """Metadata are as an API server keeps them, the rest may be anything."""
    for name, good in PARTS.items():
        found = parts.get(name) if isinstance(parts, dict) else None
        part = {**found, "metadata": good["metadata"], "kind": good["kind"]} if isinstance(found, dict) else good
        with contextlib.suppress(FleetError):
            read({**PARTS, name: part})


def test_a_record_of_another_placement_is_not_taken_for_ones_own() -> None:
    refuse_strange(binding(SHOP), SHOP)
    for key in (PlacementKey("", "web"), PlacementKey("shop", "db"), PlacementKey("other", "web")):
        with pytest.raises(FleetError) as refused:
            refuse_strange(binding(SHOP), key)
        assert (refused.value.code, refused.value.where) == ("record-damaged", "ResourceBinding/shop/web-m1")


@pytest.mark.parametrize(
    ("known", "hint"),
    [
        (("shop", "web"), "did you mean shop?"),
        (("one", "two"), "there are: one, two"),
        (tuple("abcdefgh"), "there are: a, b, c, d, e, f and 2 more"),
        ((), ""),
    ],
)
def test_a_placement_that_is_not_there_is_refused_with_those_that_are(known: tuple[str, ...], hint: str) -> None:
    (problem,) = no_such_placement("sop", known, "records.db").problems
    assert (problem.code, problem.message) == ("no-such-placement", "there is no placement sop")
    assert (problem.where, problem.hint) == ("records.db", hint)


def test_names_are_those_of_keys_in_order() -> None:
    keys = (PlacementKey("", "web"), SHOP)
    documents = [{"kind": key.kinds.placement, "metadata": key.metadata_with_finalizer(key.name)} for key in keys]
    assert names_of(documents) == ["shop/web", "web"]
