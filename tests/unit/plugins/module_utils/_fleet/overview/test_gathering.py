# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A report tells what may not be listed of the records of runs, and has all the rest."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import (
    CLUSTER_API,
    FLEET_API,
    PLACEMENT_API,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.document import Overview
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.overview.gathering import OverviewRequest, gather
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._report.overview.summary import overview_text
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)
NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace", "name": "web"}
KINDS = ("UpdateRun", "StagedUpdateRun", "NodeRotation")


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    """One member, one placement, a staged update run and a rotation."""
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    found.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": "a"},
                  "spec": {"identity": {"kind": "User", "name": "u"}}})  # fmt: skip
    found.create({"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "a"},
                  "spec": {"connection": {"kubeconfig": "/none"}}})  # fmt: skip
    found.create({"apiVersion": PLACEMENT_API, "kind": "ClusterResourcePlacement", "metadata": {"name": "web"},
                  "spec": {"resourceSelectors": [NAMESPACE]}})  # fmt: skip
    found.create({"apiVersion": PLACEMENT_API, "kind": "ClusterStagedUpdateRun", "metadata": {"name": "s"},
                  "spec": {"placementName": "web", "stagedRolloutStrategyName": "rings"}})  # fmt: skip
    found.create({"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": "r"}, "spec": {}})
    yield found
    found.close()


def overview(records: SqliteRecords) -> Overview:
    return gather(Session(records=records, holder="tests", clock=lambda: NOW), OverviewRequest())


def test_all_runs_are_in_it(records: SqliteRecords) -> None:
    found = overview(records)
    assert {each.name for each in found.runs} == {"s", "r"} and found.notes == ()


def test_a_report_of_records_without_clusters_says_so(tmp_path: Path) -> None:
    """Another folder, or a hub that was forgotten, would look like a fleet that is well."""
    found = overview(SqliteRecords(tmp_path / "mistyped.db", lambda: NOW))
    assert [(each.code, each.where) for each in found.notes] == [("no-members-recorded", found.place)]
    assert any("no cluster is recorded" in line for line in overview_text(found.as_dict(), ""))


@pytest.mark.parametrize("forbidden", KINDS)
def test_a_kind_of_runs_that_may_not_be_listed_is_a_note(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch, forbidden: str
) -> None:
    real = records.list

    def listed(kind: str, *more: t.Any) -> t.Any:
        if kind == forbidden:
            raise FleetError("forbidden", f"cannot list {kind}", "hub")
        return real(kind, *more)

    monkeypatch.setattr(records, "list", listed)
    found = overview(records)
    assert [each.code for each in found.notes] == ["forbidden"]
    assert {each.name for each in found.runs} == {"s", "r"} - ({"r"} if forbidden == "NodeRotation" else set())
    assert [each.name for each in found.clusters] == ["a"] and [each.name for each in found.placements] == ["web"]
    assert any(f"cannot list {forbidden}" in line for line in overview_text(found.as_dict(), ""))
