# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Scheduling: one placement with every plugin in use, the index of a fleet, and one explanation.

Members are bare objects: nothing is read from a cluster. All but the index have their columns made already.
"""

from __future__ import annotations

import statistics
import time
import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import (
    AgentIdentity,
    AgentStatus,
    MemberCluster,
    MemberClusterSpec,
    MemberClusterStatus,
    PropertyValue,
    ResourceUsage,
    Taint,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
    PlacementSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.policy import (
    Affinity,
    ClusterAffinity,
    ClusterSelector,
    ClusterSelectorTerm,
    PlacementPolicy,
    PreferredClusterSelector,
    PropertyRequirement,
    PropertySelector,
    PropertySorter,
    Toleration,
    TopologySpreadConstraint,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.scheduling_policy_snapshot import (
    ClusterSchedulingPolicySnapshot,
    PolicySnapshotSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.cycle import schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.explain import explain_outcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.scheduling.index import FleetIndex
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition, ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import (
    LabelSelector,
    LabelSelectorRequirement,
)

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
NODES, CPU = "kubernetes-fleet.io/node-count", "resources.kubernetes-fleet.io/available-cpu"
REGIONS = ("east", "west", "north", "south", "central")
PICKED = 10
Row = tuple[str, float, str, str]


def fleet(size: int) -> tuple[MemberCluster, ...]:
    """Clusters of 5 regions, 20 rings and 3 environments; one in 10 tainted, one in 50 not heard of."""
    return tuple(_cluster(number) for number in range(size))


def _cluster(number: int) -> MemberCluster:
    heartbeat = NOW - timedelta(seconds=900 if number % 50 == 7 else 30)
    conditions = (Condition(type="Joined", status="True"), Condition(type="Healthy", status="True"))
    labels = {
        "region": REGIONS[number % 5],
        "ring": str(number * 7 % 20),
        "env": ("prod", "stage", "dev")[number % 3],
        "kubernetes-fleet.io/member-name": f"member-{number:05d}",
    }
    taints = (Taint(key="dedicated", value="gpu", effect="NoSchedule"),) if number % 10 == 3 else ()
    usage = ResourceUsage(available={"cpu": f"{number * 37 % 9001}m", "memory": f"{number * 53 % 4099}Mi"})
    return MemberCluster(
        metadata=ObjectMeta(name=f"member-{number:05d}", labels=labels),
        spec=MemberClusterSpec(identity=AgentIdentity(kind="User", name="agent"), taints=taints),
        status=MemberClusterStatus(
            properties={NODES: PropertyValue(value=str(number * 13 % 97))},
            resource_usage=usage,
            agent_status=(AgentStatus(type="MemberAgent", conditions=conditions, last_received_heartbeat=heartbeat),),
        ),
    )


def placement() -> ClusterResourcePlacement:
    """PickN with two required terms, three preferences, two spread constraints and a toleration."""
    in_use = LabelSelector({}, (LabelSelectorRequirement("env", "In", ("prod", "stage")),))
    big = PropertySelector(match_expressions=(PropertyRequirement(name=NODES, operator="Ge", values=("5",)),))
    roomy = PropertySelector(match_expressions=(PropertyRequirement(name=CPU, operator="Gt", values=("500m",)),))
    required = ClusterSelector(
        cluster_selector_terms=(
            ClusterSelectorTerm(label_selector=in_use, property_selector=big),
            ClusterSelectorTerm(label_selector=LabelSelector({"env": "dev"}), property_selector=roomy),
        )
    )
    preferred = (
        _preferred(40, ClusterSelectorTerm(property_sorter=PropertySorter(name=CPU, sort_order="Descending"))),
        _preferred(-20, ClusterSelectorTerm(property_sorter=PropertySorter(name=NODES, sort_order="Ascending"))),
        _preferred(15, ClusterSelectorTerm(label_selector=LabelSelector({"env": "prod"}))),
    )
    affinity = Affinity(cluster_affinity=ClusterAffinity(required=required, preferred=preferred))
    policy = PlacementPolicy(
        placement_type="PickN",
        number_of_clusters=PICKED,
        affinity=affinity,
        topology_spread_constraints=(
            TopologySpreadConstraint(topology_key="region", max_skew=2),
            TopologySpreadConstraint(topology_key="ring", when_unsatisfiable="ScheduleAnyway"),
        ),
        tolerations=(Toleration(key="dedicated", operator="Exists"),),
    )
    return ClusterResourcePlacement(
        metadata=ObjectMeta(name="web", generation=1), spec=PlacementSpec(resource_selectors=(), policy=policy)
    )


def _preferred(weight: int, preference: ClusterSelectorTerm) -> PreferredClusterSelector:
    return PreferredClusterSelector(weight=weight, preference=preference)


SNAPSHOT = ClusterSchedulingPolicySnapshot(
    metadata=ObjectMeta(name="web-0", generation=1), spec=PolicySnapshotSpec(policy_hash="")
)


def bench_schedule_10() -> list[Row]:
    return _scheduled(10)


def bench_schedule_100() -> list[Row]:
    return _scheduled(100)


def bench_schedule_1000() -> list[Row]:
    return _scheduled(1_000)


def bench_schedule_10000() -> list[Row]:
    return _scheduled(10_000)


def bench_index_10000() -> list[Row]:
    clusters = fleet(10_000)

    def build() -> None:
        schedule(placement(), SNAPSHOT, FleetIndex(clusters, NOW), ())

    setup = "10,000 clusters, with the columns that a first placement needs, and that placement"
    return [("index_10000", _median(build, 5), "s", setup)]


def bench_explain_one() -> list[Row]:
    index = FleetIndex(fleet(1_000), NOW)
    wanted = placement()
    taken = _median(lambda: explain_outcome(schedule(wanted, SNAPSHOT, index, ()), "member-00042"), 50)
    return [("explain_one", taken * 1_000, "ms", "1 of 1,000 clusters, scheduling included, index built")]


def _scheduled(size: int) -> list[Row]:
    index = FleetIndex(fleet(size), NOW)
    wanted = placement()
    taken = _median(lambda: schedule(wanted, SNAPSHOT, index, ()), 50)
    setup = (
        f"PickN {PICKED} of {size:,} clusters, all plugins, 2 spread constraints, a batch for each pick, index built"
    )
    return [(f"schedule_{size}", taken * 1_000, "ms", setup)]


def _median(work: t.Callable[[], object], times: int) -> float:
    """Seconds of the median run, after one that fills the caches."""
    work()
    runs = []
    for _time in range(times):
        start = time.perf_counter()
        work()
        runs.append(time.perf_counter() - start)
    return statistics.median(runs)
