# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Reads core/v1 Pods as decisions about nodes see them, with what they request; and for its neighbours any manifest as
a dataclass (``undecodable``), and quantities as amounts in 10^-9 (``invalid-quantity``)."""

from __future__ import annotations

import typing as t

from ..errors import FleetError
from ..schema.codec import decode
from ..values.node_selector import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ..values.quantity import NANO, read_quantity
from .pod import HostPort, Pod
from .pod_manifest import (
    Expression,
    NodeTerm,
    NodeTerms,
    PodAffinityTerm,
    PodManifest,
    PodSpec,
    PodTerms,
)
from .pod_requests import Amounts, pod_requests

T = t.TypeVar("T")
UNSCHEDULABLE = "Unschedulable"


def read_pod(document: t.Any) -> Pod:
    """A core/v1 Pod, what it does not tell being empty or Kubernetes' default; of two conditions Ready the first
    counts. FleetError ``undecodable`` for another structure, ``invalid-quantity`` for an amount that is none."""
    manifest = read_as(PodManifest, document, "Pod")
    metadata, spec, status = manifest.metadata, manifest.spec, manifest.status
    where = f"Pod {metadata.namespace}/{metadata.name}"
    ready = next((each.status for each in status.conditions if each.type == "Ready"), "")
    terms = spec.affinity.node_affinity.required
    return Pod(
        name=metadata.name,
        namespace=metadata.namespace,
        uid=metadata.uid,
        created_at=metadata.creation_timestamp,
        node=spec.node_name,
        labels=metadata.labels,
        annotations=metadata.annotations,
        owners=tuple((each.api_version, each.kind) for each in metadata.owner_references),
        phase=status.phase,
        ready=ready,
        started_at=status.start_time,
        deleting_at=metadata.deletion_timestamp,
        priority=spec.priority,
        priority_class=spec.priority_class_name,
        grace_seconds=spec.termination_grace_period_seconds,
        requests=requests(spec, where),
        node_selector=spec.node_selector,
        node_affinity=None if terms is None else _selector(terms),
        tolerations=spec.tolerations,
        preferred_terms=tuple((each.weight, _term(each.preference)) for each in spec.affinity.node_affinity.preferred),
        spread=spec.topology_spread_constraints,
        affinity=spec.affinity.pod_affinity.required,
        anti_affinity=spec.affinity.pod_anti_affinity.required,
        preferred_affinity=_wishes(spec.affinity.pod_affinity),
        preferred_anti_affinity=_wishes(spec.affinity.pod_anti_affinity),
        host_ports=_host_ports(spec),
        bound_volumes=any(
            each.persistent_volume_claim is not None or each.ephemeral is not None for each in spec.volumes
        ),
        unjudged="devices (resourceClaims)" if spec.resource_claims else "",
        unschedulable=any(each.type == "PodScheduled" and each.reason == UNSCHEDULABLE for each in status.conditions),
        nominated=status.nominated_node_name,
    )


def read_as(cls: type[T], document: t.Any, where: str) -> T:
    """A manifest decoded as the dataclass ``cls``; FleetError ``undecodable`` at ``where``, with what does not fit."""
    try:
        return decode(cls, document)
    except ValueError as error:
        raise FleetError("undecodable", str(error), where) from None


def requests(spec: PodSpec, where: str) -> Amounts:
    """What a pod of that spec takes of a node, itself included as 1 of ``pods``, in 10^-9 of each resource's unit;
    FleetError ``invalid-quantity`` at ``where`` for an amount that is none."""
    total = pod_requests(
        [(each.restart_policy, nano_amounts(each.resources.requests, where)) for each in spec.init_containers],
        [nano_amounts(each.resources.requests, where) for each in spec.containers],
        nano_amounts(spec.resources.requests, where),
        nano_amounts(spec.overhead, where),
    )
    return {**total, "pods": NANO}


def nano_amounts(written: t.Mapping[str, t.Any], where: str) -> Amounts:
    """Quantities in 10^-9, each of its resource's unit; FleetError ``invalid-quantity`` at ``where`` if one of them is
    none."""
    try:
        return {name: read_quantity(amount).nanos for name, amount in written.items()}
    except ValueError as error:
        raise FleetError("invalid-quantity", str(error), where) from None


def _selector(terms: NodeTerms) -> NodeSelector:
    return NodeSelector(tuple(_term(each) for each in terms.node_selector_terms))


def _term(term: NodeTerm) -> NodeSelectorTerm:
    return NodeSelectorTerm(_expressions(term.match_expressions), _expressions(term.match_fields))


def _expressions(rows: tuple[Expression, ...]) -> tuple[NodeSelectorRequirement, ...]:
    return tuple(NodeSelectorRequirement(each.key, each.operator, each.values) for each in rows)


def _wishes(terms: PodTerms) -> tuple[tuple[int, PodAffinityTerm], ...]:
    """Weight and term of each preferred term, in order."""
    return tuple((each.weight, each.pod_affinity_term) for each in terms.preferred)


def _host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Protocol, port and, where there is one, address of each port of the node that containers take; those of init
    containers do not count, as upstream."""
    ports = [port for each in spec.containers for port in each.ports if port.host_port]
    return tuple(
        (each.protocol, each.host_port, each.host_ip) if each.host_ip else (each.protocol, each.host_port)
        for each in ports
    )
