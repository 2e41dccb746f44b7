# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``schedule``: bindings and decisions of one placement."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects import binding as crb
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects import cluster_resource_placement as crp
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects import scheduling_policy_snapshot as csps
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling import cycle, decisions, index
from ansible_collections.gitops.fleet.tests.conformance.read_objects import camel, read

SEALED = {"finalizers": [crb.SCHEDULER_FINALIZER]}
SCORES = (("affinityScore", "affinity_score"), ("priorityScore", "priority_score"))


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    clusters = [read(MemberCluster, each) for each in input["clusters"]]
    placement = read(crp.ClusterResourcePlacement, input["placement"])
    snapshot = read(csps.ClusterSchedulingPolicySnapshot, {"metadata": input["policySnapshot"]})
    fleet = index.FleetIndex(clusters, datetime.fromisoformat(input["now"]))
    raw = [each | {"metadata": each["metadata"] | SEALED} for each in input["bindings"]]
    held = [read(crb.ClusterResourceBinding, each) for each in raw]
    out = cycle.schedule(placement, snapshot, fleet, held, upstream=True)
    rows = [_binding(each, each.name not in {old.name for old in held}) for each in out.bindings]
    rows.sort(key=lambda row: (row["targetCluster"], row.get("name", "")))
    condition = {"type": "Scheduled", "status": str(out.fulfilled), "reason": out.condition_reason}
    condition |= {"observedGeneration": snapshot.metadata.generation, "clusterCount": out.count}
    status = {"conditions": [condition], "observedCRPGeneration": placement.metadata.generation}
    unwritten = {} if out.written else {"conditions": [], "observedCRPGeneration": 0}
    status |= {"targetClusters": [_row(each) for each in out.decisions]} | unwritten
    return {
        "error": out.error and {"kind": "UnexpectedBehavior"},
        "cycles": out.cycles,
        "bindings": rows,
        "status": status,
    }


def same(expected: dict[str, t.Any], got: dict[str, t.Any]) -> str | None:
    return "; ".join(f"{key}: {got[key]} for {want}" for key, want in expected.items() if want != got[key]) or None


def _binding(each: crb.ClusterResourceBinding, created: bool) -> dict[str, t.Any]:
    row = {"targetCluster": each.spec.target_cluster, "state": each.spec.state, "created": created}
    row |= {"schedulingPolicySnapshotName": each.spec.scheduling_policy_snapshot_name}
    row |= {"deleting": bool(each.metadata.deletion_timestamp), "schedulerFinalizer": bool(each.metadata.finalizers)}
    row |= {"annotations": dict(each.metadata.annotations)} if each.metadata.annotations else {}
    return row | ({} if created else {"name": each.name}) | {"clusterDecision": _decided(each.spec.cluster_decision)}


def _decided(each: crb.ClusterDecision) -> dict[str, t.Any]:
    score = each.cluster_score and {key: getattr(each.cluster_score, name) for key, name in SCORES}
    return {"clusterName": each.cluster_name, "selected": each.selected, "clusterScore": score}


def _row(each: decisions.Decision) -> dict[str, t.Any]:
    row = _decided(each.as_cluster_decision()) | {"outcome": camel(each.outcome)}
    row |= {"filteredBy": each.rule} if each.outcome == "filtered" else {}
    return row | ({"ineligible": camel(each.refusal.code)} if each.rule == "ClusterEligibility" else {})
