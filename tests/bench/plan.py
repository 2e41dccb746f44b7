# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Planning: 1,000 placements over one fleet of 1,000 clusters, from manifests and records to plans and their digest."""

from __future__ import annotations

import gc
import time
import tracemalloc
import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    BOUND,
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
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.digest import plans_digest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan, Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.index import FleetIndex
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
NODES, CPU = "kubernetes-fleet.io/node-count", "resources.kubernetes-fleet.io/available-cpu"
REGIONS = ("east", "west", "north", "south", "central")
SIZE = 1_000
Row = tuple[str, float, str, str]


def bench_plan_1000x1000() -> list[Row]:
    facts = Facts(index=FleetIndex([_cluster(number) for number in range(SIZE)], NOW), captured_at=NOW, digest="facts")
    wanted = [_wanted(number) for number in range(SIZE)]
    first, first_time = _timed(lambda: _plans(wanted, [RecordedState()] * SIZE, facts))
    known = [_known(plan) for plan in first]
    del first
    again, again_time = _timed(lambda: _plans(wanted, known, facts))
    del again
    setup = (
        "1,000 placements (PickN 10, 3 preferences; every 10th PickAll of 1 region) x 1,000 clusters, 2 objects each"
    )
    return [
        ("plan_1000x1000", first_time, "s", f"{setup}, nothing placed yet, index built on the way"),
        ("plan_1000x1000_again", again_time, "s", f"{setup}, all placed, nothing to do"),
        (
            "plan_1000x1000_memory",
            _peak(wanted, facts),
            "MB",
            "of the first, all plans held: most that Python allocated",
        ),
    ]


def _plans(wanted: t.Iterable[WantedPlacement], known: t.Iterable[RecordedState], facts: Facts) -> list[PlacementPlan]:
    limits = BrakeLimits()
    plans = [compose(one, held, facts, NOW, limits) for one, held in zip(wanted, known, strict=True)]
    plans_digest({each.name: each.digest for each in plans})
    return plans


def _timed(work: t.Callable[[], list[PlacementPlan]]) -> tuple[list[PlacementPlan], float]:
    gc.collect()
    start = time.perf_counter()
    plans = work()
    return plans, time.perf_counter() - start


def _peak(wanted: t.Iterable[WantedPlacement], facts: Facts) -> float:
    tracemalloc.start()
    plans = _plans(wanted, [RecordedState()] * SIZE, facts)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert plans
    return most / 1e6


def _known(plan: PlacementPlan) -> RecordedState:
    """The records after the plan was carried out everywhere."""
    return RecordedState(
        bindings=tuple(_bound(each, plan.resource_snapshot) for each in plan.bindings),
        policy_snapshot=plan.policy_snapshot,
        resource_snapshot=plan.resource_snapshot,
        resource_index=0,
        resource_hash=plan.resource_hash,
        contents={plan.resource_snapshot: tuple(each.id for each in plan.objects)},
    )


def _bound(binding: ClusterResourceBinding, snapshot: str) -> ClusterResourceBinding:
    return replace(binding, spec=replace(binding.spec, state=BOUND, resource_snapshot_name=snapshot))


def _cluster(number: int) -> MemberCluster:
    """Clusters of 5 regions and 3 environments; one in 10 tainted, one in 50 not heard of."""
    heartbeat = NOW - timedelta(seconds=900 if number % 50 == 7 else 30)
    conditions = [{"type": "Joined", "status": "True"}, {"type": "Healthy", "status": "True"}]
    agent = {"type": "MemberAgent", "conditions": conditions, "lastReceivedHeartbeat": heartbeat}
    labels = {"region": REGIONS[number % 5], "env": ("prod", "stage", "dev")[number % 3]}
    taints = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}] if number % 10 == 3 else []
    manifest = {
        "metadata": {"name": f"member-{number:05d}", "labels": labels},
        "spec": {"identity": {"kind": "User", "name": "agent"}, "taints": taints},
        "status": {
            "properties": {NODES: {"value": str(number * 13 % 97)}},
            "resourceUsage": {"available": {"cpu": f"{number * 37 % 9001}m"}},
            "agentStatus": [agent],
        },
    }
    return decode(MemberCluster, manifest)


def _wanted(number: int) -> WantedPlacement:
    name = f"app-{number:04d}"
    objects = tuple(
        Rendered(
            id=ObjectId("", "v1", kind, name if kind != "Namespace" else "", name), hash=f"{kind}{number}", manifest={}
        )
        for kind in ("Namespace", "ConfigMap")
    )
    policy = _pick_all(number) if number % 10 == 9 else _pick_n(number)
    manifest = {"metadata": {"name": name, "generation": 1}, "spec": {"policy": policy}}
    return WantedPlacement(placement=decode(ClusterResourcePlacement, manifest), objects=objects)


def _pick_all(number: int) -> dict[str, t.Any]:
    terms = [{"labelSelector": {"matchLabels": {"region": REGIONS[number // 10 % 5]}}}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms}}
    return {"placementType": "PickAll", "affinity": {"clusterAffinity": required}}


def _pick_n(number: int) -> dict[str, t.Any]:
    """Weights and thresholds differ from placement to placement, so that few answers can be shared."""
    preferred = [
        {"weight": number % 90 + 10, "preference": {"propertySorter": {"name": CPU, "sortOrder": "Descending"}}},
        {"weight": -(number % 7) - 1, "preference": {"propertySorter": {"name": NODES, "sortOrder": "Ascending"}}},
        {"weight": 15, "preference": {"labelSelector": {"matchLabels": {"env": "prod"}}}},
    ]
    enough = [{"name": NODES, "operator": "Ge", "values": [str(number % 50)]}]
    terms = [{"propertySelector": {"matchExpressions": enough}}]
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms},
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    }
    return {"placementType": "PickN", "numberOfClusters": 10, "affinity": {"clusterAffinity": affinity}}
