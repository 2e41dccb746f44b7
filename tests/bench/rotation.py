# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Node rotation: one step over many nodes, everything that holds one back told."""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption_budget import (
    PodDisruptionBudget,
    PodDisruptionBudgets,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.decide import begin, decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.input import (
    BudgetScope,
    RotationInput,
    RotationNode,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import RotationSettings
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import Budget
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import LabelSelector

NOW = datetime(2026, 1, 15, 12, 34, 56, tzinfo=UTC)
NODES, PODS_EACH, POOLS, APPS = 5_000, 10, 19, 100
Row = tuple[str, float, str, str]


def _nodes() -> tuple[RotationNode, ...]:
    return tuple(
        RotationNode(
            name=f"node-{number}", pool=f"pool-{number % POOLS}", created_at=NOW - timedelta(hours=number % 997)
        )
        for number in range(NODES)
    )


def _pods(node: int) -> list[Pod]:
    """Ten pods of ten applications in ten namespaces; every 50th node has one that wants to stay."""
    return [
        Pod(
            name=f"pod-{node}-{number}",
            namespace=f"team-{(node + number) % 10}",
            node=f"node-{node}",
            labels={"app": f"app-{(node * PODS_EACH + number) % APPS}", "pod-template-hash": f"{node % 7}"},
            annotations={"karpenter.sh/do-not-disrupt": "true"} if node % 50 == 0 and number == 0 else {},
        )
        for number in range(PODS_EACH)
    ]


def _sight() -> RotationInput:
    scopes = [
        BudgetScope(f"pool pool-{number}", (Budget("10%"),), frozenset((f"pool-{number}",))) for number in range(POOLS)
    ]
    budgets = [
        PodDisruptionBudget(
            name=f"pdb-{number}",
            namespace=f"team-{number % 10}",
            selector=LabelSelector(match_labels={"app": f"app-{number}"}),
            allowed=number % 5,
        )
        for number in range(20)
    ]
    return RotationInput(
        nodes=_nodes(),
        pods={f"node-{number}": _pods(number) for number in range(NODES)},
        scopes=(*scopes, BudgetScope("the fleet", (Budget("5%"), Budget("0", "0 8 * * 1-5", "9h")))),
        limits={"": PodDisruptionBudgets(budgets)},
    )


def bench_rotation_5000() -> list[Row]:
    """The step in the middle of a rotation, with 200 nodes in flight."""
    sight = _sight()
    now = NOW.replace(hour=20)
    state = begin([each.name for each in sight.nodes], sight, RotationSettings(first_wave=NODES), now)
    state = decide(state, sight, now).state
    runs = []
    for _time in range(7):
        # Which labels a PodDisruptionBudget covers is found anew, as it is when a cluster has just been read.
        begun = time.perf_counter()
        found = decide(state, _fresh(sight), now)
        runs.append(time.perf_counter() - begun)
    setup = (
        f"{NODES:,} nodes, {NODES * PODS_EACH:,} pods, {POOLS} pools and the fleet with budgets, 20 PDBs; "
        f"{state.counts.get('Draining', 0)} in flight, {len(found.waits):,} told why they wait"
    )
    return [("rotation_5000", statistics.median(runs) * 1e3, "ms", setup)]


def _fresh(sight: RotationInput) -> RotationInput:
    budgets = sight.limits[""].budgets
    return RotationInput(
        nodes=sight.nodes, pods=sight.pods, scopes=sight.scopes, limits={"": PodDisruptionBudgets(budgets)}
    )
