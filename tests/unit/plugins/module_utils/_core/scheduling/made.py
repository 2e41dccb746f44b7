# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Small fleets, placements and bindings for the tests of this folder, written as manifests."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.scheduling_policy_snapshot import (
    ClusterSchedulingPolicySnapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import Scheduled, schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.index import FleetIndex
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
NODES = "kubernetes-fleet.io/node-count"
CPU = "resources.kubernetes-fleet.io/total-cpu"
JOINED = {"type": "Joined", "status": "True", "lastTransitionTime": "2026-01-15T11:00:00Z"}
HEALTHY = {"type": "Healthy", "status": "True", "lastTransitionTime": "2026-01-15T11:00:00Z"}
AGENT = {"type": "MemberAgent", "conditions": [JOINED, HEALTHY], "lastReceivedHeartbeat": "2026-01-15T11:59:30Z"}
Manifest = dict[str, t.Any]


def cluster(name: str, nodes: str | None = None, cpu: str | None = None, **more: t.Any) -> MemberCluster:
    """An eligible cluster; ``labels``, ``taints``, ``properties`` and parts of the status by keyword."""
    properties = dict(more.pop("properties", {})) | ({} if nodes is None else {NODES: nodes})
    metadata = {"name": name, "labels": more.pop("labels", {}), "deletionTimestamp": more.pop("leaving", None)}
    status: Manifest = {
        "agentStatus": [AGENT],
        "properties": {key: {"value": each} for key, each in properties.items()},
    }
    if cpu is not None:
        status["resourceUsage"] = {"capacity": {"cpu": cpu}}
    spec = {"identity": {"kind": "User", "name": "agent"}, "taints": more.pop("taints", [])}
    return decode(MemberCluster, {"metadata": metadata, "spec": spec, "status": status | more})


def fleet(*clusters: MemberCluster | str) -> FleetIndex:
    return FleetIndex([cluster(each) if isinstance(each, str) else each for each in clusters], NOW)


def placement(policy: Manifest | None = None, **more: t.Any) -> ClusterResourcePlacement:
    metadata = {"name": "web", "generation": 1} | more.pop("metadata", {})
    return decode(ClusterResourcePlacement, {"metadata": metadata, "spec": {"policy": policy}} | more)


def snapshot(name: str = "web-1") -> ClusterSchedulingPolicySnapshot:
    return decode(ClusterSchedulingPolicySnapshot, {"metadata": {"name": name, "generation": 1}})


def binding(target: str, state: str = "Bound", policy: str = "web-1", **more: t.Any) -> ClusterResourceBinding:
    """A binding named after its cluster; ``score`` is (spread, affinity)."""
    spread, affinity = more.pop("score", (0, 0))
    score = {"affinityScore": affinity, "priorityScore": spread}
    spec = {
        "state": state,
        "targetCluster": target,
        "schedulingPolicySnapshotName": policy,
        "resourceSnapshotName": more.pop("resources", "web-0-snapshot"),
        "clusterDecision": {"clusterName": target, "selected": True, "clusterScore": score},
    }
    metadata = {"name": more.pop("name", f"web-{target}-0"), **more}
    return decode(ClusterResourceBinding, {"metadata": metadata, "spec": spec})


def pick_n(number: int, *preferred: Manifest, required: list[Manifest] | None = None, **more: t.Any) -> Manifest:
    affinity: Manifest = {"preferredDuringSchedulingIgnoredDuringExecution": list(preferred)}
    if required is not None:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"clusterSelectorTerms": required}
    return {"placementType": "PickN", "numberOfClusters": number, "affinity": {"clusterAffinity": affinity}} | more


def require(*terms: Manifest) -> Manifest:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": list(terms)}}
    return {"placementType": "PickAll", "affinity": {"clusterAffinity": required}}


def term(labels: dict[str, str] | None = None, *expressions: tuple[str, str, str]) -> Manifest:
    out: Manifest = {"labelSelector": {"matchLabels": labels}} if labels is not None else {}
    if expressions:
        rows = [{"name": name, "operator": operator, "values": [value]} for name, operator, value in expressions]
        out["propertySelector"] = {"matchExpressions": rows}
    return out


def prefer(weight: int, labels: dict[str, str] | None = None, sorter: tuple[str, str] | None = None) -> Manifest:
    preference: Manifest = {} if labels is None else {"labelSelector": {"matchLabels": labels}}
    if sorter:
        preference["propertySorter"] = {"name": sorter[0], "sortOrder": sorter[1]}
    return {"weight": weight, "preference": preference}


def decide(
    policy: Manifest | None, index: FleetIndex, *bindings: ClusterResourceBinding, upstream: bool = False
) -> Scheduled:
    return schedule(placement(policy), snapshot(), index, bindings, upstream=upstream)


def picked(outcome: Scheduled) -> list[str]:
    return sorted(outcome.holders)


def changes(outcome: Scheduled) -> dict[str, str]:
    return {each.cluster: each.what for each in outcome.changes}
