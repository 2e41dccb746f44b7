# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded kind ``schedule``: bindings and decisions of one placement."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters import member_cluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements import binding
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements import (
    cluster_resource_placement as crp,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements import (
    scheduling_policy_snapshot as csps,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling import cycle, index
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.picking import decisions
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.fields import camel
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.instants import parse_time


def answer(input: dict[str, t.Any]) -> dict[str, t.Any]:
    clusters = [decode(member_cluster.MemberCluster, each) for each in input["clusters"]]
    placement = decode(crp.ClusterResourcePlacement, input["placement"])
    snapshot = decode(csps.ClusterSchedulingPolicySnapshot, {"metadata": input["policySnapshot"]})
    fleet = index.FleetIndex(clusters, parse_time(input["now"]))
    sealed = {"finalizers": [binding.SCHEDULER_FINALIZER]}
    raw = [each | {"metadata": each["metadata"] | sealed} for each in input["bindings"]]
    held = [decode(binding.ClusterResourceBinding, each) for each in raw]
    out = cycle.schedule(placement, snapshot, fleet, held, upstream=True)
    rows = [_binding(each, each.name not in {old.name for old in held}) for each in out.bindings]
    rows.sort(key=lambda row: (row["targetCluster"], row.get("name", "")))
    condition = {"type": "Scheduled", "status": str(out.fulfilled), "reason": out.condition_reason}
    condition |= {"observedGeneration": snapshot.metadata.generation, "clusterCount": out.count}
    generation = placement.metadata.generation if out.written else 0
    status = {"conditions": [condition] if out.written else [], "observedCRPGeneration": generation}
    status["targetClusters"] = [_row(each) for each in out.decisions]
    error = out.error and {"kind": "UnexpectedBehavior"}
    return {"error": error, "cycles": out.cycles, "bindings": rows, "status": status}


def same(expected: dict[str, t.Any], got: dict[str, t.Any]) -> str | None:
    return "; ".join(f"{key}: {got[key]} for {want}" for key, want in expected.items() if want != got[key]) or None


def _binding(each: binding.ClusterResourceBinding, created: bool) -> dict[str, t.Any]:
    row = {key: encode(each.spec)[key] for key in ("targetCluster", "state", "schedulingPolicySnapshotName")}
    row |= {"deleting": bool(each.metadata.deletion_timestamp), "created": created}
    row |= {"schedulerFinalizer": binding.SCHEDULER_FINALIZER in each.metadata.finalizers}
    row |= {"clusterDecision": _decided(each.spec.cluster_decision)} | ({} if created else {"name": each.name})
    return row | ({"annotations": dict(each.metadata.annotations)} if each.metadata.annotations else {})


def _decided(each: binding.ClusterDecision) -> dict[str, t.Any]:
    return {key: encode(each).get(key) for key in ("clusterName", "selected", "clusterScore")}


def _row(each: decisions.PickDecision) -> dict[str, t.Any]:
    row = _decided(each.as_cluster_decision()) | {"outcome": camel(each.outcome.replace("-", "_"))}
    row |= {"filteredBy": each.rule} if each.outcome == "filtered" else {}
    return row | (
        {"ineligible": camel(each.refusal.code.replace("-", "_"))} if each.rule == "ClusterEligibility" else {}
    )
