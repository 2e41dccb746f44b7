# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whoever moves a window or a freeze, by whatever verb, leaves evidence of it."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_maintenance import (
    FleetMaintenance,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.maintenance import record_with_evidence
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 11, 25, 20, tzinfo=UTC)


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield Session(records=records, hub=None, holder="runner-1", clock=lambda: NOW, environ={"USER": "ann"})
    records.close()


def frozen(until: str) -> FleetMaintenance:
    freezes = [{"name": "sales", "start": "2026-11-26", "end": until}]
    return decode(FleetMaintenance, {"metadata": {"name": "nights"}, "spec": {"freezes": freezes}})


def told(session: Session) -> list[tuple[str, str, str]]:
    found = [each["spec"] for each in session.records.list("AuditEntry")]
    return [(each["action"], each["object"]["name"], each["message"]) for each in found]


def test_a_freeze_that_comes_or_moves_is_told_and_one_that_stays_is_not(session: Session) -> None:
    assert record_with_evidence(session, [frozen("2026-11-30")], write=True)
    assert not record_with_evidence(session, [frozen("2026-11-30")], write=True)
    assert record_with_evidence(session, [frozen("2026-12-20")], write=True)
    assert told(session) == [
        ("MaintenanceRecorded", "nights", "freeze sales comes (days 2026-11-26 to 2026-11-30, clock UTC)"),
        (
            "MaintenanceRecorded",
            "nights",
            "freeze sales changes (days 2026-11-26 to 2026-11-30 -> 2026-11-26 to 2026-12-20)",
        ),
    ]


def test_without_writing_nothing_is_recorded_or_told(session: Session) -> None:
    assert record_with_evidence(session, [frozen("2026-11-30")], write=False)
    assert not session.records.list("FleetMaintenance") and told(session) == []


def test_one_that_cannot_be_read_is_replaced_and_told(session: Session) -> None:
    damaged = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMaintenance", "spec": {"freezes": 5}}
    session.records.create({**damaged, "metadata": {"name": "nights"}})
    assert record_with_evidence(session, [frozen("2026-11-30")], write=True)
    assert [each[:2] for each in told(session)] == [("MaintenanceRecorded", "nights")]
