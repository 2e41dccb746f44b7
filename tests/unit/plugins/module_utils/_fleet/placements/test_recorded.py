# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Records that tell what members hold outlive a deletion until they are let go, if they lie in a namespace."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.key import PlacementKey
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import delete_record, statuses_of
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SHOP = PlacementKey("shop", "web")


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    opened = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield opened
    opened.close()


def binding(key: PlacementKey, *finalizers: str) -> dict[str, t.Any]:
    metadata = {**key.kept("web-m1"), "labels": key.labels}
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
