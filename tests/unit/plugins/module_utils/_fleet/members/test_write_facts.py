# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Facts of many members go into their records with few reads, and over nobody else's words."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMemberStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import (
    MemberCluster,
    MemberClusterStatus,
    PropertyValue,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.facts import FleetReading
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.write_facts import FEW, record_facts
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import NO_LABELS, Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = {"MemberCluster": "cluster.kubernetes-fleet.io/v1beta1", "FleetMember": "gitops.fleet/v1alpha1"}


class Counted(SqliteRecords):
    """Counts reads; ``meanwhile`` is done once, right after the first of them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, lambda: NOW)
        self.reads = 0
        self.meanwhile: t.Callable[[], object] = lambda: None

    def get(self, kind: str, name: str) -> Record | None:
        return self._read(super().get(kind, name))

    def list(self, kind: str, labels: t.Mapping[str, str] = NO_LABELS) -> tuple[Record, ...]:
        return self._read(super().list(kind, labels))

    def _read(self, found: t.Any) -> t.Any:
        self.reads += 1
        now, self.meanwhile = self.meanwhile, lambda: None
        now()
        return found


def fleet(path: Path, count: int) -> Counted:
    records = Counted(path / "fleet.db")
    for number in range(count):
        for kind, version in KINDS.items():
            spec = {"identity": {"kind": "User", "name": "a"}} if kind == "MemberCluster" else {"connection": {}}
            name = f"m-{number:03d}"
            records.create({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})
    return records


def reading(records: Counted, at: datetime = NOW) -> FleetReading:
    clusters = [decode(MemberCluster, each) for each in SqliteRecords.list(records, "MemberCluster")]
    status = MemberClusterStatus(properties={"cost": PropertyValue(value="3", observation_time=at)})
    members = tuple(replace(each, status=status) for each in clusters)
    told = {each.name: FleetMemberStatus(version="v1.36.3", last_read=at) for each in members}
    return FleetReading(snapshot=FactsSnapshot(captured_at=at, members=members), statuses=told)


@pytest.mark.parametrize(("count", "reads"), [(3, 6), (FEW + 5, 2)])
def test_a_fleet_is_read_at_once_and_a_few_members_by_their_names(tmp_path: Path, count: int, reads: int) -> None:
    """On a hub each read is a request: a thousand members were two thousand of them."""
    records = fleet(tmp_path, count)
    record_facts(records, reading(records))
    assert records.reads == reads
    for kind in KINDS:
        assert len([each for each in SqliteRecords.list(records, kind) if each.get("status")]) == count
    before = SqliteRecords.list(records, "FleetMember")
    record_facts(records, reading(records))
    assert SqliteRecords.list(records, "FleetMember") == before


@pytest.mark.parametrize("count", [3, FEW + 5])
def test_facts_are_recorded_though_labels_were_changed_meanwhile(tmp_path: Path, count: int) -> None:
    records = fleet(tmp_path, count)

    def labelled() -> None:
        document = t.cast(Record, SqliteRecords.get(records, "MemberCluster", "m-001"))
        records.replace({**document, "metadata": {**document["metadata"], "labels": {"env": "prod"}}})

    told = reading(records)
    records.meanwhile = labelled
    record_facts(records, told)
    found = t.cast(Record, records.get("MemberCluster", "m-001"))
    assert found["metadata"]["labels"] == {"env": "prod"} and found["status"]["properties"]["cost"]["value"] == "3"


def test_newer_facts_of_another_run_stand(tmp_path: Path) -> None:
    records = fleet(tmp_path, FEW + 5)
    older, newer = reading(records), reading(records, NOW + timedelta(hours=1))
    records.meanwhile = lambda: record_facts(records, newer)
    record_facts(records, older)
    found = t.cast(Record, records.get("MemberCluster", "m-001"))
    assert found["status"]["properties"]["cost"]["observationTime"] == "2026-01-01T01:00:00Z"


def test_an_operation_in_flight_stays(tmp_path: Path) -> None:
    records = fleet(tmp_path, FEW + 5)
    document = t.cast(Record, records.get("FleetMember", "m-001"))
    operation = "upgrade-1"
    records.replace({**document, "status": {"operation": operation}})
    record_facts(records, reading(records))
    assert t.cast(Record, records.get("FleetMember", "m-001"))["status"]["operation"] == operation
