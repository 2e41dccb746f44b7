# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Disruption budgets: one answer, and the timelines of a fleet's pools over a year; consolidation without any room."""

from __future__ import annotations

import statistics
import time
import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import StatePool, assemble
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.instance_types import InstanceType, Offering
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import (
    Node,
    read_node_claim,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import allowed
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.timeline import timeline
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.method_input import MethodInput
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.passes import pass_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import (
    Budget,
    decode_node_pool,
)

NOW = datetime(2026, 1, 15, 12, 34, 56, tzinfo=UTC)
YEAR = timedelta(days=365)
POOLS, NODES, REASON = 1_000, 40, "Drifted"
Row = tuple[str, float, str, str]


def pool(number: int) -> tuple[Budget, ...]:
    """Five budgets, four with windows at times of the pool's own, so that nothing is shared between pools."""
    minute, hour = number % 60, number % 24
    return (
        Budget("10%"),
        Budget("0", f"{minute} {hour} * * 1-5", "8h"),
        Budget("5", f"{minute} */6 * * *", "90m"),
        Budget("0", f"{minute} {hour} {number % 28 + 1} * *", "24h"),
        Budget("1", f"{minute} 3 * * sat,sun", "12h", ("Drifted", "Underutilized")),
    )


def bench_allowed_one() -> list[Row]:
    budgets, calls = pool(7), 1_000

    def ask() -> None:
        for _time in range(calls):
            allowed(budgets, NOW, NODES, REASON)

    setup = "5 budgets, 4 with windows, arithmetic attached; budgets read before"
    return [("allowed_one", _median(ask, 9) / calls * 1e6, "us", setup)]


def bench_timeline_year() -> list[Row]:
    pools = [pool(number) for number in range(POOLS)]
    begun = time.perf_counter()
    changes = sum(len(timeline(budgets, NOW, NOW + YEAR, NODES, REASON).changes) for budgets in pools)
    taken = time.perf_counter() - begun
    setup = f"12 months x {POOLS:,} pools x 5 budgets, no two pools alike, {changes:,} changes found"
    return [("timeline_year", taken, "s", setup)]


DENSE, PODS_EACH, NANO = 3_000, 10, 10**9


def bench_consolidate_3000() -> list[Row]:
    """A whole pass, which finds nothing: every node is tried alone, and no pod fits anywhere else."""
    types = tuple(_type(f"t{size}", 4 * size, 1.0 * size) for size in range(1, 21))
    pool = {
        "metadata": {"name": "p"},
        "spec": {"disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}},
    }
    names = [f"node-{number:04}" for number in range(DENSE)]
    state = assemble(
        [_dense_node(name, "abc"[place % 3]) for place, name in enumerate(names)],
        [read_node_claim(_claim(name)) for name in names],
        [_dense_pod(name, number) for name in names for number in range(PODS_EACH)],
        [StatePool(decode_node_pool(pool), instance_types=types)],
    )
    begun = time.perf_counter()
    found = pass_of(MethodInput(state, NOW))
    taken = time.perf_counter() - begun
    if found.commands:
        raise RuntimeError("a dense cluster has nothing to gain")
    return [
        ("consolidate_3000", taken, "s", f"{DENSE:,} dense nodes x {PODS_EACH} pods, 20 types in 3 zones, all methods")
    ]


def _type(name: str, cpu: int, price: float) -> InstanceType:
    offerings = tuple(Offering(zone=zone, price=price) for zone in "abc")
    return InstanceType(name=name, allocatable={"cpu": cpu * NANO, "pods": 110 * NANO}, offerings=offerings)


def _dense_node(name: str, zone: str) -> Node:
    labels = {
        "karpenter.sh/nodepool": "p",
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        "karpenter.sh/capacity-type": "on-demand",
        "node.kubernetes.io/instance-type": "t1",
        "topology.kubernetes.io/zone": zone,
        "kubernetes.io/hostname": name,
    }
    return Node(name=name, labels=labels, allocatable={"cpu": 4 * NANO, "pods": 110 * NANO})


def _claim(name: str) -> dict[str, t.Any]:
    condition = {"type": "Initialized", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    labels = {"karpenter.sh/nodepool": "p"}
    return {
        "metadata": {"name": f"claim-{name}", "labels": labels},
        "spec": {"expireAfter": "Never"},
        "status": {"nodeName": name, "conditions": [condition]},
    }


def _dense_pod(node: str, number: int) -> Pod:
    requests = {"cpu": 39 * NANO // 100, "pods": NANO}
    return Pod(name=f"{node}-{number}", node=node, labels={"app": f"app-{number}"}, requests=requests)


def _median(work: t.Callable[[], object], times: int) -> float:
    """Seconds of the median run, after one that fills the caches."""
    work()
    runs = []
    for _time in range(times):
        start = time.perf_counter()
        work()
        runs.append(time.perf_counter() - start)
    return statistics.median(runs)
