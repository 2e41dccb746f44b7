# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Manifests of nodes, NodeClaims, pods, PodDisruptionBudgets and instance types, good and random."""

from __future__ import annotations

import typing as t
from random import Random

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import StatePool, assemble
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.instance_types import read_instance_type
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_disruption_budget import (
    read_pod_disruption_budget,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod_reading import read_pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import read_node, read_node_claim
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.blockers import blockers
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.do_not_disrupt import lint_do_not_disrupt
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.drift_edits import effect_of_edit
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.drift import drifted
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.expiration import expired
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.method_input import MethodInput
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.methods.passes import pass_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import decode_node_pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.quantity import NANO
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import NOW
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import anything, mutated

NODE: dict[str, t.Any] = {
    "metadata": {
        "name": "n",
        "uid": "u",
        "labels": {
            "karpenter.sh/nodepool": "p",
            "karpenter.sh/initialized": "true",
            "karpenter.sh/capacity-type": "on-demand",
            "node.kubernetes.io/instance-type": "m",
            "topology.kubernetes.io/zone": "a",
        },
        "creationTimestamp": "2026-11-01T00:00:00Z",
    },
    "spec": {"unschedulable": True, "taints": [{"key": "x", "effect": "NoExecute"}]},
    "status": {
        "allocatable": {"cpu": "3860m", "memory": "12Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.33.1"},
    },
}
CLAIM: dict[str, t.Any] = {
    "metadata": {"name": "c", "creationTimestamp": "2026-11-01T00:00:00Z", "labels": {"karpenter.sh/nodepool": "p"}},
    "spec": {
        "expireAfter": "24h",
        "nodeClassRef": {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "d"},
    },
    "status": {
        "nodeName": "n",
        "imageID": "i",
        "conditions": [
            {"type": "Initialized", "status": "True", "lastTransitionTime": "2026-11-01T00:05:00Z"},
            {"type": "Launched", "status": "True"},
        ],
        "lastPodEventTime": "2026-11-02T00:00:00Z",
    },
}
POD: dict[str, t.Any] = {
    "metadata": {
        "name": "p",
        "namespace": "d",
        "labels": {"app": "web"},
        "annotations": {"karpenter.sh/do-not-disrupt": "1h"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "x"}],
    },
    "spec": {
        "nodeName": "n",
        "initContainers": [
            {"resources": {"requests": {"cpu": "3"}}},
            {"restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
        ],
        "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}, "ports": [{"hostPort": 80}]}],
        "overhead": {"memory": "64Mi"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
                }
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
                ]
            },
        },
        "topologySpreadConstraints": [
            {"topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1},
            {"topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1},
        ],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}],
    },
    "status": {
        "phase": "Running",
        "startTime": "2026-11-18T11:30:00Z",
        "conditions": [{"type": "Ready", "status": "False"}],
    },
}
PDB: dict[str, t.Any] = {
    "metadata": {"name": "b", "namespace": "d"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": "0%"},
    "status": {"disruptionsAllowed": 0},
}
TYPE: dict[str, t.Any] = {
    "name": "m",
    "labels": {"kubernetes.io/arch": "amd64"},
    "allocatable": {"cpu": "4"},
    "offerings": [{"zone": "a", "capacityType": "spot", "price": 0.25}],
}
POOL: dict[str, t.Any] = {
    "metadata": {"name": "p"},
    "spec": {
        "weight": 5,
        "disruption": {"consolidateAfter": "0s", "budgets": [{"nodes": "50%"}]},
        "template": {"spec": {"requirements": [{"key": "x", "operator": "Gt", "values": ["1"]}], "taints": []}},
    },
}


def test_a_node() -> None:
    found = read_node(NODE)
    assert [each.key for each in found.taints] == ["x", "node.kubernetes.io/unschedulable"]
    assert (found.ready, found.kubelet_version, found.uid) == ("True", "v1.33.1", "u")
    assert found.allocatable["cpu"] == 3_860 * NANO // 1000


def test_a_pods_requests_are_the_most_that_it_needs_at_any_time() -> None:
    found = read_pod(POD)
    assert found.requests == {"cpu": 3 * NANO, "memory": (1024 + 64) * 2**20 * NANO, "pods": NANO}


def test_containers_that_stay_are_counted_with_those_that_come_after_them() -> None:
    spec = {
        "initContainers": [
            {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
            {"resources": {"requests": {"cpu": "2"}}},
        ],
        "containers": [{"resources": {"requests": {"cpu": "500m"}}}],
    }
    assert read_pod({"metadata": {"name": "p"}, "spec": spec}).requests["cpu"] == 3 * NANO
    whole = spec | {"resources": {"requests": {"cpu": "7"}}}
    assert read_pod({"metadata": {"name": "p"}, "spec": whole}).requests["cpu"] == 7 * NANO


def test_a_pod() -> None:
    found = read_pod(POD)
    assert (found.daemon, found.ready, found.bound_volumes, found.host_ports) == (True, "False", True, (("TCP", 80),))
    assert [each.when_unsatisfiable for each in found.spread] == ["DoNotSchedule", "ScheduleAnyway"]
    assert found.anti_affinity[0].topology_key == "kubernetes.io/hostname"
    assert found.node_affinity is not None


@pytest.mark.parametrize(
    ("spec", "blocking"),
    [
        ({"maxUnavailable": 0}, True),
        ({"maxUnavailable": "0%"}, True),
        ({"minAvailable": "100%"}, True),
        ({"minAvailable": 3}, False),  # a whole number is not seen through
        ({"maxUnavailable": 1}, False),
        ({}, False),
    ],
)
def test_which_pdbs_never_allow_anything(spec: dict[str, t.Any], blocking: bool) -> None:
    assert read_pod_disruption_budget(PDB | {"spec": spec}).fully_blocking == blocking


def test_a_claim_and_an_instance_type() -> None:
    claim = read_node_claim(CLAIM)
    assert (claim.status.image_id, claim.spec.node_class_ref.name, claim.is_condition_true("Launched")) == (
        "i",
        "d",
        True,
    )
    assert read_instance_type(TYPE).price("a", "spot") == 0.25
    assert read_instance_type(TYPE).price("b", "spot") is None


@pytest.mark.parametrize("read", [read_node, read_node_claim, read_pod, read_pod_disruption_budget, read_instance_type])
def test_random_json_raises_nothing_but_our_error(read: t.Callable[[t.Any], t.Any]) -> None:
    rng = Random(read.__name__)
    for _time in range(150):
        try:
            read(anything(rng))
        except FleetError:
            continue


def maybe(read: t.Callable[[t.Any], t.Any], document: t.Any) -> list[t.Any]:
    try:
        return [read(document)]
    except FleetError:
        return []


@pytest.mark.parametrize("seed", range(25))
def test_decisions_over_objects_gone_wrong_raise_nothing_but_our_error(seed: int) -> None:
    rng = Random(seed)
    for _time in range(8):
        pools = [
            StatePool(each, instance_types=tuple(maybe(read_instance_type, mutated(rng, TYPE))))
            for each in maybe(decode_node_pool, mutated(rng, POOL))
        ]
        state = assemble(
            [*maybe(read_node, mutated(rng, NODE)), *maybe(read_node, NODE)][:1],
            maybe(read_node_claim, mutated(rng, CLAIM)),
            maybe(read_pod, mutated(rng, POD)),
            pools,
            maybe(read_pod_disruption_budget, mutated(rng, PDB)),
        )
        try:
            pass_of(MethodInput(state, NOW))
            expired(state, NOW)
            drifted(state, NOW)
            [blockers(state, each, NOW) for each in state.nodes]
            effect_of_edit("NodePool", mutated(rng, POOL), POOL, state)
        except FleetError:
            continue
        lint_do_not_disrupt(mutated(rng, POD))
