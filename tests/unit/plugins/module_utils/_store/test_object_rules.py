# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nothing is kept that would be damage to who reads it."""

from __future__ import annotations

import re
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._store.object_rules import proposed
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

MEMBER = {"apiVersion": KINDS["MemberCluster"].api_version, "kind": "MemberCluster", "spec": {}}


@pytest.mark.parametrize(
    ("metadata", "spec", "words"),
    [
        ({"labels": {"env": True}}, {}, "a label"),
        ({"labels": {"env": None}}, {}, "a label"),
        ({"labels": ["env"]}, {}, "a label"),
        ({"finalizers": [1]}, {}, "a finalizer"),
        ({"finalizers": "cleanup"}, {}, "a finalizer"),
        ({}, None, "no spec"),
        ({}, [], "no spec"),
    ],
)
def test_what_would_be_damage_is_not_kept(tmp_path: Path, metadata: dict[str, t.Any], spec: t.Any, words: str) -> None:
    """Else the whole list of its kind could not be read any more."""
    record = {**MEMBER, "metadata": {"name": "m1", **metadata}, "spec": spec}
    records = SqliteRecords(tmp_path / "records.db", lambda: datetime(2026, 1, 2, tzinfo=UTC))
    for keeps in (records.create, proposed):
        with pytest.raises(FleetError) as caught:
            keeps(record)
        assert caught.value.code == "invalid" and words in caught.value.message
    assert records.list("MemberCluster") == ()
    there = records.create({**MEMBER, "metadata": {"name": "m1"}})
    with pytest.raises(FleetError) as caught:
        records.replace({**there, "metadata": {**there["metadata"], **metadata}, "spec": spec})
    assert caught.value.code == "invalid" and words in caught.value.message
    assert records.list("MemberCluster") == (there,)


BINDING = {"apiVersion": KINDS["ClusterResourceBinding"].api_version, "kind": "ClusterResourceBinding"}


@pytest.mark.parametrize(
    "record",
    [
        {**MEMBER, "spec": {"taints": "x"}},
        {**MEMBER, "spec": {"heartbeatPeriodSeconds": "x"}},
        {**MEMBER, "status": {"conditions": 5}},
        {**BINDING, "spec": {"state": "Bound"}},
    ],
)
def test_no_record_is_kept_in_a_file_that_its_readers_would_call_damaged(tmp_path: Path, record: Record) -> None:
    """An API server refuses it, too."""
    records = SqliteRecords(tmp_path / "records.db", lambda: datetime(2026, 1, 2, tzinfo=UTC))
    good = records.create(
        {**record, "metadata": {"name": "a"}, "spec": {"state": "x", "targetCluster": "m"}, "status": {}}
    )
    odd = {**record, "metadata": {"name": "b"}}
    for write in (lambda: records.create(odd), lambda: records.replace({**good, **record})):
        with pytest.raises(FleetError) as caught:
            write()
        assert caught.value.code == "invalid"
        assert re.search("another form|names no cluster", caught.value.message)
    assert records.list(record["kind"]) == (good,)


def test_a_kind_without_spec_is_kept_and_read_again(tmp_path: Path) -> None:
    kind = "ClusterResourcePlacementStatus"
    metadata = {"name": "web", "namespace": "shop"}
    own = {"sourceStatus": {}, "lastUpdatedTime": "2026-01-02T00:00:00Z"}
    records = SqliteRecords(tmp_path / "records.db", lambda: datetime(2026, 1, 2, tzinfo=UTC))
    records.create({"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": metadata, **own})
    (kept,) = records.list(kind, namespace="shop")
    assert {key: kept[key] for key in own} == own


def test_empty_labels_and_finalizers_are_none() -> None:
    empty = {"name": "m1", "labels": None, "finalizers": []}
    assert proposed({**MEMBER, "metadata": empty})["metadata"] == {"name": "m1"}


def test_a_value_that_is_equal_in_python_alone_is_a_change(tmp_path: Path) -> None:
    """1, 1.0 and true are three values of JSON, and an override may set a field to any of them."""

    def override(value: object) -> Record:
        patch = {"op": "replace", "path": "/spec/on", "value": value}
        rules = [{"jsonPatchOverrides": [patch]}]
        kind = "ClusterResourceOverride"
        spec = {"clusterResourceSelectors": [], "policy": {"overrideRules": rules}}
        return {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": {"name": "on"}, "spec": spec}

    records = SqliteRecords(tmp_path / "records.db", lambda: datetime(2026, 1, 2, tzinfo=UTC))
    kept = records.create(override(True))
    for generation, value in enumerate((1, 1.0, True), 2):
        kept = records.replace({**kept, "spec": override(value)["spec"]})
        assert kept["metadata"]["generation"] == generation
        assert repr(records.get("ClusterResourceOverride", "on")) == repr(kept)
    assert records.replace(kept) == kept
