# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""An eviction that is executed is told as executed, whatever cannot be told of the apply after it."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.losing.evicted import DONE
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions import carry_out
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.evictions.carry_out import (
    EvictionRequest,
    run_evictions,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._report.eviction_text import evictions_text
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
API = "placement.kubernetes-fleet.io/v1beta1"
MEMBERS = ("m1", "m2")


def removed(plan: PlacementPlan, *_given: object, **_more: object) -> dict[str, MemberOutcome]:
    """Every member lets go at once what it has."""
    return {each.cluster: MemberOutcome(cluster=each.cluster, done=True) for each in plan.clusters}


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    """A placement of policy PickN on two members, of which somebody has taken the number of clusters away."""
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
    spec = {"resourceSelectors": [selector], "policy": {"placementType": "PickN"}}
    records.create({"apiVersion": API, "kind": "ClusterResourcePlacement", "metadata": {"name": "shop"}, "spec": spec})
    labels = {"kubernetes-fleet.io/parent-CRP": "shop"}
    snapshot = {
        "name": "shop-0-snapshot",
        "labels": {**labels, "kubernetes-fleet.io/resource-index": "0"},
        "annotations": {"kubernetes-fleet.io/resource-hash": "h"},
    }
    resources = {"selectedResources": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}]}
    records.create({"apiVersion": API, "kind": "ClusterResourceSnapshot", "metadata": snapshot, "spec": resources})
    for name in MEMBERS:
        connection = {"connection": {"kubeconfig": f"/none/{name}"}, "clusterUID": f"uid-{name}"}
        fleet = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMember", "metadata": {"name": name}}
        records.create({**fleet, "spec": connection})
        bound = {
            "state": "Bound",
            "targetCluster": name,
            "schedulingPolicySnapshotName": "shop-0",
            "resourceSnapshotName": "shop-0-snapshot",
            "clusterDecision": {"clusterName": name, "selected": True, "reason": "picked"},
        }
        metadata = {"name": f"shop-{name}", "labels": labels}
        records.create({"apiVersion": API, "kind": "ClusterResourceBinding", "metadata": metadata, "spec": bound})
    yield Session(records=records, holder="me", clock=lambda: NOW, environ={})
    records.close()


@pytest.mark.parametrize("write", [True, False])
def test_that_the_next_pick_cannot_be_scheduled_fails_no_eviction(
    session: Session, monkeypatch: pytest.MonkeyPatch, write: bool
) -> None:
    monkeypatch.setattr(carry_out, "on_members", removed)
    report = run_evictions(session, EvictionRequest(placement="shop", clusters=MEMBERS, write=write))
    assert [(each.cluster, each.state) for each in report.results] == [("m1", DONE), ("m2", DONE)]
    assert report.outcome == "done" and not report.problems and report.changed
    assert all("PickN needs numberOfClusters" in each.next_pick for each in report.results)
    text = "\n".join(evictions_text(report.results, would=not write))
    assert "next apply" in text and "say how many clusters are wanted" in text
    left = session.records.list("ClusterResourceBinding")
    assert bool(left) is not write
