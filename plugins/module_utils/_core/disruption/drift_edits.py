# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Edits of a NodePool, AKSNodeClass or EC2NodeClass: the fields that change, as Karpenter hashes them (``Hash``), the
class of each, and which nodes of a cluster become Drifted, or may (``unsure``).

A change of a ``static`` field drifts every node; a ``special`` one is judged node by node; ``behaviour`` and
``unhashed`` ones drift none.
"""

from __future__ import annotations

import contextlib
import json
import typing as t
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..cluster.cluster_state import ClusterState, StatePool
from ..cluster.pod_reading import read_as
from ..cluster.state_node import StateNode
from ..errors import FleetError
from ..objects.karpenter.node_class import AKS_NODE_CLASS, EC2_NODE_CLASS, NodeClass
from ..objects.karpenter.node_pool import KIND as NODE_POOL
from ..objects.karpenter.node_pool import decode_node_pool
from ..schema.meta import ObjectMeta
from ..schema.prop import prop
from ..values.duration import NEVER, format_duration, parse_duration
from ..values.quantity import read_quantity
from .methods.drift import (
    NODE_CLASS_DRIFT,
    NODE_POOL_DRIFTED,
    Drift,
    requirements_drift,
)
from .subnet_drift import subnet_drift

STATIC, SPECIAL, BEHAVIOUR, UNHASHED = "static", "special", "behaviour", "unhashed"
# The first row that a path begins with holds.
FIELD_CLASSES: dict[str, tuple[tuple[str, str], ...]] = {
    NODE_POOL: (
        ("spec.template.spec.requirements", SPECIAL),
        ("spec.template", STATIC),
        ("spec.weight", BEHAVIOUR),
        ("spec.limits", BEHAVIOUR),
        ("spec.disruption", BEHAVIOUR),
        ("spec.replicas", BEHAVIOUR),
    ),
    AKS_NODE_CLASS: (("spec.tags", UNHASHED), ("spec", STATIC)),
    # What is looked up at the provider is left out of the hash, and judged by what an instance has (EC2NodeClassSpec).
    EC2_NODE_CLASS: (
        ("spec.subnetSelectorTerms", SPECIAL),
        ("spec.securityGroupSelectorTerms", SPECIAL),
        ("spec.capacityReservationSelectorTerms", SPECIAL),
        ("spec.amiSelectorTerms", SPECIAL),
        ("spec.amiFamily", SPECIAL),
        ("spec.ipPrefixCount", UNHASHED),
        ("spec", STATIC),
    ),
}
SUBNETS = "spec.subnetSelectorTerms"
# Hashed fields that the published types have as durations, or as quantities that are hashed as Kubernetes prints them;
# all below a row too. Other amounts, such as kubeReserved, are texts there.
DURATIONS = (
    "spec.template.spec.expireAfter",
    "spec.template.spec.terminationGracePeriod",
    "spec.kubelet.evictionSoftGracePeriod",
    "spec.kubelet.cpuCFSQuotaPeriod",
    *(
        f"spec.localDNS.{zones}.{each}"
        for zones in ("vnetDNSOverrides", "kubeDNSOverrides")
        for each in ("cacheDuration", "serveStaleDuration")
    ),
)
QUANTITIES = ("spec.blockDeviceMappings.ebs.volumeSize",)
# What is always there, with all its fields.
STRUCTS = ("spec", "template", "metadata")


@dataclass(frozen=True, kw_only=True)
class _Named:
    metadata: ObjectMeta = prop("Metadata.")


@dataclass(frozen=True)
class EditEffect:
    """The ``changed`` paths of an edit, each with its class, without those of no known class; why nodes will have
    ``drifted``, by name; and why of others nobody can tell from here (``unsure``)."""

    changed: tuple[tuple[str, str], ...]
    drifted: t.Mapping[str, Drift]
    unsure: t.Mapping[str, str] = field(default_factory=dict)


def field_class(kind: str, path: str) -> str | None:
    """The class of a field of a NodePool or node class (``static``, ``special``, ``behaviour`` or ``unhashed``) by its
    path, without indexes: that of the first prefix in ``FIELD_CLASSES``. None if the field, or the kind, is not
    known."""
    for prefix, found in FIELD_CLASSES.get(kind, ()):
        if path == prefix or path.startswith(f"{prefix}."):
            return found
    return None


def drifts_pool(path: str) -> bool:
    """Whether a change at that path of a NodePool, which may have indexes, makes all its nodes Drifted."""
    return field_class(NODE_POOL, path.partition("[")[0]) == STATIC


def effect_of_edit(kind: str, old: Mapping[str, t.Any], new: Mapping[str, t.Any], state: ClusterState) -> EditEffect:
    """What becomes of the nodes when the ``spec`` of ``new`` replaces that of ``old``, manifests of one object as the
    server stores them. Nodes are those of ``nodes_made_from``, drifted before or not; a static change drifts all, and
    special ones are judged only without one. FleetError ``unknown-kind`` for one not in ``FIELD_CLASSES``,
    ``undecodable`` where a part that is needed cannot be read."""
    if kind not in FIELD_CLASSES:
        raise FleetError("unknown-kind", f"drift is foreseen for {' and '.join(FIELD_CLASSES)}, not for {kind}")
    name = read_as(_Named, old, kind).metadata.name
    rows = ((path, field_class(kind, path)) for path in changed_paths(old.get("spec"), new.get("spec"), "spec"))
    changed = tuple((path, found) for path, found in rows if found is not None)
    nodes = nodes_made_from(kind, name, state)
    static = [path for path, found in changed if found == STATIC]
    if static:
        reason = NODE_POOL_DRIFTED if kind == NODE_POOL else NODE_CLASS_DRIFT
        cause = Drift(reason, f"{', '.join(static)} of {kind} {name} changes")
        return EditEffect(changed, {each.name: cause for each in nodes})
    special = [path for path, found in changed if found == SPECIAL]
    if not special:
        return EditEffect(changed, {})
    if kind == NODE_POOL:
        return EditEffect(changed, _by_requirements(new, nodes))
    return EditEffect(changed, *_by_lookup(old, new, nodes, special))


def nodes_made_from(kind: str, name: str, state: ClusterState) -> list[StateNode]:
    """The nodes with a NodeClaim that come from the pool of that name (``StateNode.pool``), or, for another ``kind``
    than NodePool, from the node class of that kind and name, in the order of their names; a reference without a kind
    counts."""
    nodes = sorted((each for each in state.nodes if each.claim is not None), key=lambda one: one.name)
    if kind == NODE_POOL:
        return [each for each in nodes if each.pool == name]
    return [each for each in nodes if each.claim and _of_class(each.claim.spec.node_class_ref, kind, name)]


def changed_paths(old: t.Any, new: t.Any, path: str) -> list[str]:
    """The paths of the fields that differ, as the hash sees them, between two values at ``path``: with dots, keys
    sorted. A list is one field, in any order; two spellings of a duration or quantity are one where upstream reads
    such. ``path`` itself where one of the values is no object (None is an empty one), or they differ only in being
    there."""
    if _significant(old, path) == _significant(new, path):
        return []
    if not (isinstance(old, Mapping) or old is None) or not (isinstance(new, Mapping) or new is None):
        return [path]
    before, after = old or {}, new or {}
    found = [
        each
        for key in sorted({*before, *after}, key=str)
        for each in changed_paths(before.get(key), after.get(key), f"{path}.{key}")
    ]
    return found or [path]


def _by_requirements(new: Mapping[str, t.Any], nodes: list[StateNode]) -> dict[str, Drift]:
    """By name, the drift of those nodes whose labels the requirements of the pool ``new`` no longer admit. FleetError
    ``undecodable``."""
    wanted = StatePool(decode_node_pool(new)).requirements
    found = {each.name: requirements_drift(wanted, each.claim.metadata.labels) for each in nodes if each.claim}
    return {name: why for name, why in found.items() if why is not None}


def _by_lookup(
    old: Mapping[str, t.Any], new: Mapping[str, t.Any], nodes: list[StateNode], special: list[str]
) -> tuple[dict[str, Drift], dict[str, str]]:
    """By name, the nodes that drift, and why nobody can tell of others: subnets are judged by what the class has found,
    while of images, security groups and reservations only the provider can tell. FleetError ``undecodable``."""
    drifted: dict[str, Drift] = {}
    unsure: dict[str, str] = {}
    others = [path for path in special if path != SUBNETS]
    if others:
        text = f"{', '.join(others)} changes, and only the provider knows what it selects then"
        unsure = {each.name: text for each in nodes}
    if SUBNETS in special:
        before = read_as(NodeClass, old, EC2_NODE_CLASS).status.subnets
        drifted, doubtful = subnet_drift(before, (new.get("spec") or {}).get("subnetSelectorTerms"), nodes)
        unsure |= doubtful
    return drifted, {name: why for name, why in unsure.items() if name not in drifted}


def _of_class(reference: t.Any, kind: str, name: str) -> bool:
    """Whether a reference of a NodeClaim is to the class of that kind and name; one without a kind fits any."""
    return (reference.kind or kind) == kind and reference.name == name


def _significant(value: t.Any, path: str, in_list: bool = False) -> t.Any:
    """A value as the hash sees it, at its path without indexes: of DURATIONS and QUANTITIES the value, however it is
    spelled; lists are sets, in which twice the same is nothing; None is absent.

    Zero is as good as absent only in the fields of an object in a list, such as a taint, and an empty ``spec``,
    ``template`` or ``metadata`` is absent. An entry of a map with an empty text, another map or list that is there and
    empty, and a field that may be unset and is set to zero, are not absent.
    """
    if isinstance(value, Mapping):
        kept = {str(key): _significant(each, f"{path}.{key}") for key, each in value.items()}
        found = {key: each for key, each in kept.items() if each is not None and (each or not in_list)}
        return None if not found and path.rpartition(".")[2] in STRUCTS else found
    if isinstance(value, (list, tuple)):
        rows = Counter(json.dumps(_significant(each, path, True), sort_keys=True, default=str) for each in value)
        return sorted(each for each, count in rows.items() if count % 2)
    with contextlib.suppress(ValueError):  # what cannot be read stays as it is
        if isinstance(value, str) and value != NEVER and _is_among(DURATIONS, path):
            return format_duration(parse_duration(value))
        if isinstance(value, (str, int, float)) and _is_among(QUANTITIES, path):
            return read_quantity(value).as_text
    return value


def _is_among(rows: tuple[str, ...], path: str) -> bool:
    """Whether the path is one of the rows, or below one."""
    return any(path == row or path.startswith(f"{row}.") for row in rows)
