# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Drift: why a node no longer is what its pool and class ask for, by hash annotations (``NodePoolDrifted``,
``NodeClassDrift``), ``RequirementsDrifted``, ``InstanceTypeNotFound``, ``K8sVersionDrift``, ``ImageDrift``, and which
nodes have drifted (Karpenter, ``nodeclaim/disruption/drift.go``; Azure's ``cloudprovider/drift.go``).

Hashes are compared and never computed: they are those of Go structs, and their version changes with the controller.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...cluster.cluster_state import ClusterState, StatePool
from ...cluster.state_node import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    ZONE,
    StateNode,
)
from ...objects.karpenter.node_class import NodeClass
from ...schema.meta import Condition, ObjectMeta
from ...values.node_selector import NodeSelectorRequirement
from ..scheduling.requirement import compatible, of_labels, of_selector

NODE_POOL_DRIFTED, REQUIREMENTS_DRIFTED = "NodePoolDrifted", "RequirementsDrifted"
INSTANCE_TYPE_NOT_FOUND, NODE_CLASS_DRIFT = "InstanceTypeNotFound", "NodeClassDrift"
KUBERNETES_VERSION_DRIFT, IMAGE_DRIFT = "K8sVersionDrift", "ImageDrift"
POOL_HASH = "karpenter.sh/nodepool-hash"
CLASS_HASHES = {
    "AKSNodeClass": "karpenter.azure.com/aksnodeclass-hash",
    "EC2NodeClass": "karpenter.k8s.aws/ec2nodeclass-hash",
}
# A type that has just been launched may be missing from the catalogue for a while.
YOUNG = timedelta(hours=1)


@dataclass(frozen=True)
class Drift:
    """``reason`` as it stands in the NodeClaim's condition ``Drifted``, ``text`` says what has changed. ``reported``:
    nothing but that condition tells it, as of ``reported_drift``."""

    reason: str
    text: str
    reported: bool = False


def drift(pool: StatePool, node: StateNode, now: datetime) -> Drift | None:
    """Why a node has drifted, or None; the first cause of: hash of its pool, requirements, instance type (with a
    catalogue, and not in the NodeClaim's first hour), then of its class hash, Kubernetes version and image, then
    ``reported_drift``. A node whose NodeClaim is not launched is not judged. FleetError ``undecodable`` for
    requirements that are not made of texts."""
    claim = node.claim
    if claim is None or not claim.is_condition_true("Launched"):
        return None
    found = (
        hash_drift(pool.pool.metadata, claim.metadata, POOL_HASH, NODE_POOL_DRIFTED)
        or requirements_drift(pool.requirements, claim.metadata.labels)
        or _instance_type_drift(pool, node, now)
        or _class_drift(pool.node_class, node)
    )
    return found or reported_drift(pool, node)


def hash_drift(owner: ObjectMeta, claim: ObjectMeta, annotation: str, reason: str) -> Drift | None:
    """The drift for ``reason`` if ``annotation``, the key of a hash, is another on the claim than on its owner; None if
    they are equal, or either lacks it, or ``annotation``-version, by which the hash was made, is missing or differs."""
    version = f"{annotation}-version"
    notes = (owner.annotations, claim.annotations)
    if any(key not in each for each in notes for key in (annotation, version)):
        return None
    if notes[0][version] != notes[1][version] or notes[0][annotation] == notes[1][annotation]:
        return None
    return Drift(reason, f"{owner.name} has changed since {claim.name} was made from it ({annotation})")


def requirements_drift(requirements: t.Iterable[NodeSelectorRequirement], labels: t.Mapping[str, str]) -> Drift | None:
    """The drift if a requirement no longer admits the node's labels, with the first that does not, or because the
    requirements exclude each other; None if all do. One for a key that the node lacks does not, unless it is NotIn or
    DoesNotExist."""
    rows = tuple(requirements)
    have = of_labels(labels)
    if compatible(have, of_selector(rows)):
        return None
    for each in rows:
        if not compatible(have, of_selector([each])):
            has = f"has {labels[each.key]}" if each.key in labels else "has no such label"
            wanted = " ".join((each.operator, ", ".join(each.values))).strip()
            return Drift(REQUIREMENTS_DRIFTED, f"the pool requires {each.key} {wanted}, and the node {has}")
    return Drift(REQUIREMENTS_DRIFTED, "the pool's requirements exclude each other")


def reported_drift(pool: StatePool, node: StateNode) -> Drift | None:
    """The drift whose cause only the controller can judge, as the condition ``Drifted`` has it; None if it is not True,
    or its cause is one that ``drift`` judges itself, as far as pool, catalogue and class are known."""
    condition = node.claim.condition("Drifted") if node.claim is not None else None
    if condition is None or condition.status != "True" or condition.reason in _judged(pool):
        return None
    return Drift(condition.reason, condition.message or f"its provider reports {condition.reason}", True)


@dataclass(frozen=True)
class DriftedNode:
    """A node and the first cause of its drift. ``since``: when the condition ``Drifted`` came, None if it is not True,
    or does not tell."""

    node: StateNode
    drift: Drift
    since: datetime | None


def drifted(state: ClusterState, now: datetime) -> tuple[DriftedNode, ...]:
    """The nodes that have drifted at an aware instant, as of ``standing_drift``, FleetError included, by name."""
    rows = []
    for node in state.nodes:
        found = standing_drift(state, node, now)
        if found is not None:
            rows.append(DriftedNode(node, found, _since(node.claim.condition("Drifted") if node.claim else None)))
    return tuple(rows)


def standing_drift(state: ClusterState, node: StateNode, now: datetime) -> Drift | None:
    """What the condition ``Drifted`` of a NodeClaim would say now, as of ``drift``, FleetError included; where no pool
    judges it any more, what it says (``reported``). None: the node has not drifted."""
    pool = state.judging_pool(node)
    if pool is not None:
        return drift(pool, node, now)
    condition = node.claim.condition("Drifted") if node.claim is not None else None
    if condition is None or condition.status != "True":
        return None
    return Drift(condition.reason, condition.message, True)


def _instance_type_drift(pool: StatePool, node: StateNode, now: datetime) -> Drift | None:
    """The drift if the type, or its offering, has left the catalogue, by the labels of the NodeClaim, where a missing
    zone or capacity type asks for nothing. Reserved nodes may go on as on-demand. None without a catalogue, and in the
    first hour."""
    if pool.instance_types is None or node.claim is None or _young(node, now):
        return None
    labels = node.claim.metadata.labels
    name, zone, capacity_type = (labels.get(key) for key in (INSTANCE_TYPE, ZONE, CAPACITY_TYPE))
    kind = pool.instance_type(name or "")
    wanted = (capacity_type, "on-demand") if capacity_type == "reserved" else (capacity_type,)
    offered = kind is not None and any(
        (capacity_type is None or each.capacity_type in wanted) and (zone is None or each.zone in (zone, ""))
        for each in kind.offerings
    )
    if offered:
        return None
    told = f"instance type {name or ''} ({capacity_type or 'any'} in {zone or 'any zone'}) is no longer offered"
    return Drift(INSTANCE_TYPE_NOT_FOUND, told)


def _class_drift(node_class: NodeClass | None, node: StateNode) -> Drift | None:
    """The drift by the node's class, the first of its hash, Kubernetes version and image; None without a class or
    NodeClaim, or if all agree."""
    if node_class is None or node.claim is None:
        return None
    annotation = CLASS_HASHES.get(node_class.kind)
    found = annotation and hash_drift(node_class.metadata, node.claim.metadata, annotation, NODE_CLASS_DRIFT)
    return found or _version_drift(node_class, node) or _image_drift(node_class, node)


def _version_drift(node_class: NodeClass, node: StateNode) -> Drift | None:
    """The drift if the kubelet has another version than the class wants; None if one is not told."""
    wanted = node_class.status.kubernetes_version.removeprefix("v")
    found = node.node.kubelet_version.removeprefix("v") if node.node is not None else ""
    if not wanted or not found or wanted == found:
        return None
    return Drift(KUBERNETES_VERSION_DRIFT, f"the kubelet is {found}, and the class wants {wanted}")


def _image_drift(node_class: NodeClass, node: StateNode) -> Drift | None:
    """The drift if the NodeClaim's image is none of those that the class has; None if either is not told."""
    image = node.claim.status.image_id if node.claim is not None else ""
    wanted = [each.id for each in node_class.status.images]
    if not image or not wanted or image in wanted:
        return None
    return Drift(IMAGE_DRIFT, f"image {image} is none of those that class {node_class.name} has now")


def _judged(pool: StatePool) -> frozenset[str]:
    """The causes that can be judged by us, since pool, catalogue and class tell enough; what a condition says of others
    is not ours to doubt."""
    reasons = {NODE_POOL_DRIFTED, REQUIREMENTS_DRIFTED}
    if pool.instance_types is not None:
        reasons.add(INSTANCE_TYPE_NOT_FOUND)
    if pool.node_class is not None and pool.node_class.kind in CLASS_HASHES:
        reasons.add(NODE_CLASS_DRIFT)
        reasons |= {KUBERNETES_VERSION_DRIFT} if pool.node_class.status.kubernetes_version else set()
        reasons |= {IMAGE_DRIFT} if pool.node_class.status.images else set()
    return frozenset(reasons)


def _young(node: StateNode, now: datetime) -> bool:
    """Whether the NodeClaim was made an hour ago or less; False if nobody says when."""
    created = node.claim.metadata.creation_timestamp if node.claim is not None else None
    return created is not None and now - created <= YOUNG


def _since(condition: Condition | None) -> datetime | None:
    """When a condition that is True came; None for others."""
    return condition.last_transition_time if condition is not None and condition.status == "True" else None
