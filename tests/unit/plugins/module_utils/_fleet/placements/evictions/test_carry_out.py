# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a run of evictions says of what it has changed: whatever it wrote, into the records or on members."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.losing.evicted import (
    DONE,
    OVER,
    REFUSED,
    UNDERWAY,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions import carry_out
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions.carry_out import (
    EvictionReport,
    EvictionRequest,
    run_evictions,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
API = "placement.kubernetes-fleet.io/v1beta1"
EVICTION, BUDGET = "ClusterResourcePlacementEviction", "ClusterResourcePlacementDisruptionBudget"
BINDING = "ClusterResourceBinding"
Document = dict[str, t.Any]


def made(kind: str, name: str, spec: Document, **metadata: t.Any) -> Document:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


ASKED = made(EVICTION, "off-m1", {"placementName": "web", "clusterName": "m1"})


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield found
    found.close()


def evict(records: SqliteRecords, tmp_path: Path, *documents: Document, write: bool = True) -> EvictionReport:
    """What a run of a folder with these manifests tells."""
    folder = tmp_path / "src"
    folder.mkdir(exist_ok=True)
    (folder / "all.yml").write_text("\n---\n".join(map(json.dumps, documents)), encoding="utf-8")
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    return run_evictions(session, EvictionRequest(src=(str(folder),), write=write))


def kept(records: SqliteRecords) -> list[Document]:
    return [each for kind in (EVICTION, BUDGET, BINDING) for each in records.list(kind)]


def placed(records: SqliteRecords) -> None:
    """As an apply leaves it: the placement ``web`` on m1."""
    records.create(made("ClusterResourcePlacement", "web", {"policy": {"placementType": "PickAll"}}))
    labels = {"kubernetes-fleet.io/parent-CRP": "web", "kubernetes-fleet.io/resource-index": "0"}
    marks = {"kubernetes-fleet.io/resource-hash": "h"}
    objects = {"selectedResources": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}]}
    records.create(made("ClusterResourceSnapshot", "web-0-snapshot", objects, labels=labels, annotations=marks))
    spec = {
        "state": "Bound",
        "targetCluster": "m1",
        "schedulingPolicySnapshotName": "web-0",
        "resourceSnapshotName": "web-0-snapshot",
        "clusterDecision": {"clusterName": "m1", "selected": True, "reason": "picked"},
    }
    records.create(made(BINDING, "web-m1", spec, labels={"kubernetes-fleet.io/parent-CRP": "web"}))
    member = {"connection": {"kubeconfig": "/none/m1"}, "clusterUID": "uid-m1"}
    records.create(
        {
            "apiVersion": "gitops.fleet/v1alpha1",
            "kind": "FleetMember",
            "metadata": {"name": "m1"},
            "spec": member,
        }
    )


def test_a_refused_eviction_that_is_recorded_is_a_change(records: SqliteRecords, tmp_path: Path) -> None:
    foretold = evict(records, tmp_path, ASKED, write=False)
    assert foretold.changed and kept(records) == []
    report = evict(records, tmp_path, ASKED)
    assert [each.state for each in report.results] == [REFUSED]
    assert report.changed and [each["kind"] for each in kept(records)] == [EVICTION]
    again = evict(records, tmp_path, ASKED)
    assert [each.state for each in again.results] == [OVER] and not again.changed


def test_a_budget_that_is_recorded_or_deleted_is_a_change(records: SqliteRecords, tmp_path: Path) -> None:
    budget = made(BUDGET, "web", {"minAvailable": 1})
    for given in ((budget,), (made(BUDGET, "web", {"minAvailable": 2}),), ()):
        before = kept(records)
        assert evict(records, tmp_path, *given, write=False).changed and kept(records) == before
        assert evict(records, tmp_path, *given).changed and kept(records) != before
        assert not evict(records, tmp_path, *given).changed


def test_what_was_begun_and_could_not_reach_the_member_is_a_change_once(
    records: SqliteRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cluster is recorded as one that nobody counts on; the next run finds that so."""
    placed(records)
    outcome = {"m1": MemberOutcome(cluster="m1", error=Problem("unreachable", "cut off", "m1"))}

    def on_members(_plan: PlacementPlan, *_given: object, **_more: object) -> dict[str, MemberOutcome]:
        return outcome

    monkeypatch.setattr(carry_out, "on_members", on_members)
    assert evict(records, tmp_path, ASKED, write=False).changed
    first = evict(records, tmp_path, ASKED)
    assert [each.state for each in first.results] == [UNDERWAY] and first.changed
    assert [each["spec"]["state"] for each in records.list(BINDING)] == ["Unscheduled"]
    again = evict(records, tmp_path, ASKED)
    assert [each.state for each in again.results] == [UNDERWAY] and not again.changed
    outcome["m1"] = MemberOutcome(cluster="m1", done=True)
    done = evict(records, tmp_path, ASKED)
    assert [each.state for each in done.results] == [DONE] and done.changed
