# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The status of a placement after an eviction, which others write, too."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions.evicted_records import (
    KIND,
    record_evicted,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recorded import placement_of
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
API = "placement.kubernetes-fleet.io/v1beta1"
Document = dict[str, t.Any]


class Busy(SqliteRecords):
    """Somebody writes the placement just before each of the first ``writes`` that others try."""

    writes = 0

    def replace(self, record: Document, lease: Lease | None = None) -> Document:
        if self.writes and record["kind"] == KIND:
            self.writes -= 1
            there = self.get(KIND, "web") or {}
            metadata = {**there["metadata"], "labels": {"left": str(self.writes)}}
            super().replace({**there, "metadata": metadata})
        return super().replace(record, lease)


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[Busy]:
    found = Busy(tmp_path / "records.db", lambda: NOW)
    made = found.create(
        {
            "apiVersion": API,
            "kind": KIND,
            "metadata": {"name": "web"},
            "spec": {"policy": {"placementType": "PickAll"}},
        }
    )
    found.replace({**made, "status": {"placementStatuses": [{"clusterName": "m1"}, {"clusterName": "m2"}]}})
    yield found
    found.close()


def evicted(records: Busy) -> None:
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    placement = placement_of(records.get(KIND, "web") or {})
    record_evicted(session, placement, "m1", "no budget", NOW, records.acquire("placement/web", "me", 30))


def rows(records: Busy) -> list[str]:
    return [each["clusterName"] for each in (records.get(KIND, "web") or {})["status"]["placementStatuses"]]


@pytest.mark.parametrize("writes", [0, 1, 4])
def test_the_row_goes_whatever_others_write_meanwhile(records: Busy, writes: int) -> None:
    records.writes = writes
    evicted(records)
    assert rows(records) == ["m2"]
    labels = (records.get(KIND, "web") or {})["metadata"].get("labels")
    assert labels == ({"left": "0"} if writes else None), "what they wrote stays"
    assert [each.reason for each in records.events(KIND, "web")] == ["PlacementEvicted"]


def test_a_placement_that_is_written_all_the_time_is_told(records: Busy) -> None:
    records.writes = 99
    with pytest.raises(FleetError) as refused:
        evicted(records)
    assert (refused.value.code, rows(records)) == ("conflict", ["m1", "m2"])
    assert "the next apply takes m1 out of its status" in refused.value.hint


def test_a_placement_without_the_row_is_left_alone(records: Busy) -> None:
    evicted(records)
    before = records.get(KIND, "web")
    evicted(records)
    assert records.get(KIND, "web") == before
