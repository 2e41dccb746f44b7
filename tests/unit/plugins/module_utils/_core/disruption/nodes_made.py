# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes, NodeClaims, pods and pools, with what the tests at hand do not care about filled in."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import (
    ClusterState,
    StatePool,
    assemble,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.instance_types import InstanceType, Offering
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.pod import Pod
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import Node
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_claim import (
    NodeClaim,
    NodeClaimSpec,
    NodeClaimStatus,
    NodeClassReference,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import (
    NodePool,
    decode_node_pool,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition, ObjectMeta

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=3)
NANO = 10**9
STATEFUL, DAEMON, STATIC = (("apps/v1", "StatefulSet"),), (("apps/v1", "DaemonSet"),), (("v1", "Node"),)


def before(**time: float) -> datetime:
    return NOW - timedelta(**time)


def amounts(cpu: float, pods: int = 110) -> dict[str, int]:
    return {"cpu": int(cpu * NANO), "pods": pods * NANO}


def a_node(name: str, pool: str = "p", cpu: float = 4, kind: str = "m", zone: str = "a", **more: t.Any) -> Node:
    labels = {
        "karpenter.sh/nodepool": pool,
        "karpenter.sh/initialized": "true",
        "karpenter.sh/capacity-type": more.pop("capacity_type", "on-demand"),
        "node.kubernetes.io/instance-type": kind,
        "topology.kubernetes.io/zone": zone,
        "kubernetes.io/hostname": name,
    }
    labels |= more.pop("labels", {})
    return Node(name=name, uid=f"uid-{name}", labels=labels, allocatable=amounts(cpu), created_at=LONG_AGO, **more)


def a_claim(node: Node | str, **more: t.Any) -> NodeClaim:
    """Launched and initialized long ago; the other keywords go to its metadata, spec, status or conditions."""
    name = node if isinstance(node, str) else node.name
    labels = {} if isinstance(node, str) else dict(node.labels)
    reasons = {"Drifted": more.pop("drifted", None)}
    times = {"Initialized": LONG_AGO, "Launched": LONG_AGO} | {key: more.pop("drifted_at", LONG_AGO) for key in reasons}
    conditions = tuple(
        Condition(type=kind, status="True", reason=reasons.get(kind) or "", last_transition_time=at)
        for kind, at in times.items()
        if kind != "Drifted" or reasons["Drifted"]
    ) + tuple(more.pop("conditions", ()))
    return NodeClaim(
        metadata=ObjectMeta(
            name=f"claim-{name}",
            labels=labels | more.pop("labels", {}),
            annotations=more.pop("annotations", {}),
            creation_timestamp=more.pop("created", LONG_AGO),
            deletion_timestamp=more.pop("deleting", None),
        ),
        spec=NodeClaimSpec(
            node_class_ref=NodeClassReference(
                kind=more.pop("class_kind", "AKSNodeClass"), name=more.pop("node_class", "default")
            ),
            expire_after=more.pop("expire_after", "Never"),
            termination_grace_period=more.pop("grace", ""),
        ),
        status=NodeClaimStatus(
            node_name=name,
            conditions=conditions,
            image_id=more.pop("image", ""),
            last_pod_event_time=more.pop("last_pod_event", None),
        ),
    )


def a_pod(name: str, node: str = "", cpu: float = 1, **more: t.Any) -> Pod:
    return Pod(name=name, node=node, requests={"cpu": int(cpu * NANO), "pods": NANO}, **more)


def a_pool(name: str = "p", policy: str = "WhenEmptyOrUnderutilized", after: str = "0s", **spec: t.Any) -> NodePool:
    """``budgets`` (100% unless given), ``requirements``, ``annotations``; other keywords are fields of the spec."""
    claim = {"requirements": spec.pop("requirements", [])}
    document = {
        "metadata": {"name": name, "annotations": spec.pop("annotations", {})},
        "spec": {
            "disruption": {
                "consolidationPolicy": policy,
                "consolidateAfter": after,
                "budgets": spec.pop("budgets", [{"nodes": "100%"}]),
            },
            "template": {"spec": claim},
            **spec,
        },
    }
    return decode_node_pool(document)


def a_type(name: str, cpu: float, price: float | None, zones: str = "a", kind: str = "on-demand") -> InstanceType:
    offerings = tuple(Offering(zone=zone, capacity_type=kind, price=price) for zone in zones)
    return InstanceType(name=name, allocatable=amounts(cpu), offerings=offerings)


def a_state(
    nodes: t.Iterable[Node],
    pods: t.Iterable[Pod] = (),
    pool: NodePool | None = None,
    types: tuple[InstanceType, ...] | None = None,
    **more: t.Any,
) -> ClusterState:
    """A cluster with one pool ``p`` whose nodes have been there for days, each with a NodeClaim unless given."""
    nodes = list(nodes)
    claims = more.pop("claims", None)
    return assemble(
        nodes,
        [a_claim(each) for each in nodes] if claims is None else claims,
        pods,
        [StatePool(pool or a_pool(), instance_types=types, **more.pop("pool_facts", {}))],
        more.pop("pdbs", ()),
        more.pop("daemons", ()),
    )
