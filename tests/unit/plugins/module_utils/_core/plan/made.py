# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One placement's way through several plans: records that a carried-out plan leaves behind, and short fleets."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    BOUND,
    UNSCHEDULED,
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import (
    Facts,
    RecordedState,
    WantedPlacement,
    compose,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan, Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.index import FleetIndex
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
NODES = "kubernetes-fleet.io/node-count"
SILENT = "2026-01-15T11:30:00Z"
LIMITS = BrakeLimits()
Manifest = dict[str, t.Any]

NAMESPACE = ObjectId("", "v1", "Namespace", "", "test")
CONFIG = ObjectId("", "v1", "ConfigMap", "test", "test-1")
EXTRA = ObjectId("apps", "v1", "Deployment", "test", "web")


def cluster(name: str, nodes: int = 3, heard: str = "2026-01-15T11:59:30Z", **more: t.Any) -> MemberCluster:
    """An eligible cluster; ``heard`` SILENT is one that could not be read for half an hour."""
    conditions = [{"type": "Joined", "status": "True"}, {"type": "Healthy", "status": "True"}]
    agent = {"type": "MemberAgent", "conditions": conditions, "lastReceivedHeartbeat": heard}
    manifest = {
        "metadata": {"name": name, "labels": more.get("labels", {}), "deletionTimestamp": more.get("leaving")},
        "spec": {"identity": {"kind": "User", "name": "agent"}, "taints": more.get("taints", [])},
        "status": {"agentStatus": [agent], "properties": {NODES: {"value": str(nodes)}}},
    }
    return decode(MemberCluster, manifest)


def facts(*clusters: MemberCluster | str) -> Facts:
    index = FleetIndex([cluster(each) if isinstance(each, str) else each for each in clusters], NOW)
    return Facts(index=index, captured_at=NOW, digest="f" * 64)


def placement(policy: Manifest | None = None, **spec: t.Any) -> ClusterResourcePlacement:
    manifest = {"metadata": {"name": "web", "generation": 1}, "spec": {"policy": policy, **spec}}
    return decode(ClusterResourcePlacement, manifest)


def rendered(each: ObjectId, hash: str = "1") -> Rendered:
    manifest = {"apiVersion": each.api_version, "kind": each.kind, "metadata": {"name": each.name}}
    return Rendered(id=each, hash=f"{each.kind}-{hash}", manifest=manifest)


OBJECTS = (rendered(NAMESPACE), rendered(CONFIG))


def wanted(policy: Manifest | None = None, objects: tuple[Rendered, ...] = OBJECTS, **more: t.Any) -> WantedPlacement:
    return WantedPlacement(placement=placement(policy), objects=objects, **more)


def plan(
    wish: WantedPlacement,
    fleet: Facts,
    known: RecordedState | None = None,
    limits: BrakeLimits = LIMITS,
    now: datetime = NOW,
) -> PlacementPlan:
    return compose(wish, known or RecordedState(), fleet, now, limits)


def carried_out(
    made: PlacementPlan, known: RecordedState | None = None, failing: t.Container[str] = ()
) -> RecordedState:
    """The records after an apply that reached every cluster but the failing ones."""
    before = known or RecordedState()
    bindings = tuple(
        _after(each, made, each.spec.target_cluster in failing)
        for each in made.bindings
        if each.spec.state != UNSCHEDULED or each.spec.target_cluster in failing
    )
    new = made.resource_snapshot_new
    contents = {**before.contents, made.resource_snapshot: tuple(each.id for each in made.objects)}
    return RecordedState(
        bindings=bindings,
        policy_snapshot=made.policy_snapshot,
        resource_snapshot=made.resource_snapshot,
        resource_index=before.resource_index + new,
        resource_hash=made.resource_hash,
        contents=contents,
    )


def _after(binding: ClusterResourceBinding, made: PlacementPlan, failed: bool) -> ClusterResourceBinding:
    if failed:
        return binding
    return replace(binding, spec=replace(binding.spec, state=BOUND, resource_snapshot_name=made.resource_snapshot))


def placed(policy: Manifest | None, fleet: Facts, objects: tuple[Rendered, ...] = OBJECTS) -> RecordedState:
    """The records of a placement that is everywhere where it should be."""
    return carried_out(plan(wanted(policy, objects), fleet))


def pick_n(number: int, **more: t.Any) -> Manifest:
    return {"placementType": "PickN", "numberOfClusters": number, **more}


def pick_fixed(*names: str) -> Manifest:
    return {"placementType": "PickFixed", "clusterNames": list(names)}


def require(labels: dict[str, str] | None = None, nodes: int | None = None) -> Manifest:
    """The affinity that wants these labels and at least so many nodes."""
    term: Manifest = {} if labels is None else {"labelSelector": {"matchLabels": labels}}
    if nodes is not None:
        enough = {"name": NODES, "operator": "Ge", "values": [str(nodes)]}
        term["propertySelector"] = {"matchExpressions": [enough]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [term]}}
    return {"clusterAffinity": required}


def pick_all(**more: t.Any) -> Manifest:
    return {"placementType": "PickAll", **more}


def changes(made: PlacementPlan) -> dict[str, tuple[str, str]]:
    return {each.cluster: (each.change, each.cause) for each in made.clusters}
