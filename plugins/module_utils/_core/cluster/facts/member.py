# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The status of a member by what was read on it, or could not be: properties, costs, usage, namespaces and health, as
KubeFleet's member agent would report them, and node pools, their oldest version and image for its FleetMember.

Properties and usage are those of KubeFleet's default property provider and of its Azure provider for prices; a read
that failed leaves the last known facts as they are and makes the member unhealthy, it never empties them.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from ...errors import Problem
from ...objects.clusters.fleet_member import CertificateEnds, FleetMemberStatus, NodePoolStatus, PoolImage
from ...objects.clusters.member_cluster import (
    AgentStatus,
    MemberClusterStatus,
    PropertyValue,
    ResourceUsage,
)
from ...schema.meta import find_condition, next_condition
from ...values.kube_version import KubeVersion
from ...values.node_image import oldest_image
from ...values.quantity import Quantity, parse_quantity
from .node import NodeFacts
from .prices import CPU_COST, MEMORY_COST

NODE_COUNT = "kubernetes-fleet.io/node-count"
VERSION = "k8s.io/k8s-version"
ENTRYPOINT = "k8s.io/cluster-entrypoint"
AGENT = "MemberAgent"
# The reason of a member's health that answers, and says so itself; any other says why it could not be read.
NOT_READY = "NotReady"
NODES, PODS, NAMESPACES, MAINTENANCE = "nodes", "pods", "namespaces", "maintenance windows"
COLLECTED = "NamespaceCollectionSucceeded"
# As many as KubeFleet keeps: a longer list says nothing of those that it lacks.
MOST_NAMESPACES = 200


@dataclass(frozen=True, kw_only=True)
class MemberReading:
    """One read at ``at``. ``ready`` is what /readyz answers, ``version`` the server's ``gitVersion``, ``server`` its
    address. ``nodes``, ``requests`` (summed over scheduled pods) and ``namespaces`` (names) are None where they were
    not read; ``missing`` says by part (NODES, PODS, NAMESPACES, MAINTENANCE) why one could not be read. ``prices`` of
    an hour are by instance type."""

    at: datetime
    ready: bool
    version: str
    server: str
    nodes: tuple[NodeFacts, ...] | None = ()
    requests: t.Mapping[str, Quantity] | None = None
    missing: t.Mapping[str, Problem] = field(default_factory=dict)
    namespaces: tuple[str, ...] | None = None
    prices: t.Mapping[str, float] = field(default_factory=dict)
    certificates: CertificateEnds | None = None


def after_read(reading: MemberReading, previous: MemberClusterStatus) -> MemberClusterStatus:
    """The member's status after a read. What could not be read stays as it was, with the time of its last read, all
    usage if nodes or pods are ``missing``; so do costs where there are nodes and no prices are given; with prices they
    are left out unless every node has one. Available amounts are left out where ``requests`` is None; of more than 200
    namespaces the first by name are kept, and from 200 on the condition says that there may be more. ValueError for an
    amount of a node that is no quantity."""
    values = {VERSION: reading.version, ENTRYPOINT: reading.server}
    if reading.nodes is not None:
        values |= {NODE_COUNT: str(len(reading.nodes)), **_costs(reading.nodes, reading.prices)}
    health = (
        ("True", "Ready", "/readyz answers ok") if reading.ready else ("False", NOT_READY, "/readyz does not answer ok")
    )
    return replace(
        previous,
        properties=_properties(previous.properties, values, reading),
        resource_usage=previous.resource_usage if reading.missing.keys() & {NODES, PODS} else _usage(reading),
        **_namespaces(previous, reading),
        agent_status=_agent(previous, reading.at, health, heartbeat=reading.at),
    )


def _namespaces(previous: MemberClusterStatus, reading: MemberReading) -> dict[str, t.Any]:
    """The fields ``namespaces`` (by name, the first 200) and ``conditions`` with the one that tells whether there may
    be more; no fields where namespaces were not read."""
    if reading.namespaces is None:
        return {}
    row = ("True", "NamespaceCollectionSucceeded", "the namespaces are known")
    if len(reading.namespaces) >= MOST_NAMESPACES:
        row = ("True", "NamespaceCollectionDegraded", f"{MOST_NAMESPACES} namespaces are known, and there may be more")
    condition = next_condition(find_condition(previous.conditions, COLLECTED), COLLECTED, row, reading.at)
    others = tuple(each for each in previous.conditions if each.type != COLLECTED)
    names = sorted(reading.namespaces)[:MOST_NAMESPACES]
    return {"namespaces": dict.fromkeys(names, ""), "conditions": (*others, condition)}


def after_failed_read(previous: MemberClusterStatus, at: datetime, code: str, message: str) -> MemberClusterStatus:
    """The member's status after a read at ``at`` that failed with an error of that ``code`` and ``message``: health
    becomes False, everything known stays, the time of its last answer too. One that has never been read stays as it
    is."""
    last = next((each.last_received_heartbeat for each in previous.agent_status if each.type == AGENT), None)
    if last is None:
        return previous
    return replace(previous, agent_status=_agent(previous, at, ("False", health_reason(code), message), heartbeat=last))


def fleet_member_status(reading: MemberReading, before: t.Sequence[NodePoolStatus] = ()) -> FleetMemberStatus:
    """The FleetMember's status after a read: its version, the instant, its certificates, and node pools as of
    ``pools_of``, or those that were there ``before`` if nodes could not be read; the rest is empty."""
    return FleetMemberStatus(
        version=reading.version,
        node_pools=tuple(before) if reading.nodes is None else pools_of(reading.nodes),
        certificates=reading.certificates,
        last_read=reading.at,
    )


def pools_of(nodes: t.Iterable[NodeFacts]) -> tuple[NodePoolStatus, ...]:
    """The pools of these nodes by name; nodes without a pool are one without a name. Version and image are the oldest
    of a pool, since what has to be done follows from them, and empty where none can be read or compared; images that
    differ are told with their numbers of nodes. ``mode`` is empty where nodes differ."""
    by_pool: dict[str, list[NodeFacts]] = {}
    for node in nodes:
        by_pool.setdefault(node.pool, []).append(node)
    rows = []
    for name, mine in sorted(by_pool.items()):
        modes = {node.mode for node in mine}
        rows.append(
            NodePoolStatus(
                name=name,
                count=len(mine),
                version=_oldest(node.version for node in mine),
                image=oldest_image(node.image for node in mine),
                images=_images(mine),
                mode=modes.pop() if len(modes) == 1 else "",
            )
        )
    return tuple(rows)


def _images(nodes: t.Sequence[NodeFacts]) -> tuple[PoolImage, ...]:
    """How many of the nodes have which image, by name, without those of which it is not known; none where all have the
    same, or none is known."""
    counts = Counter(node.image for node in nodes)
    if len(counts) == 1:
        return ()
    return tuple(PoolImage(image=image, count=count) for image, count in sorted(counts.items()) if image)


def _oldest(versions: t.Iterable[str]) -> str:
    """The text of the oldest of those that are versions at all; empty if none is, for a node that has not reported yet
    has none."""
    readable = {}
    for text in versions:
        with suppress(ValueError):
            readable[text] = KubeVersion.parse(text)
    return min(readable, key=readable.__getitem__, default="")


def _properties(
    previous: t.Mapping[str, PropertyValue], values: t.Mapping[str, str], reading: MemberReading
) -> dict[str, PropertyValue]:
    """Ours replaced by ``values`` or left out, those of others kept; kept are also the number of nodes and costs where
    nodes could not be read, and costs where there are nodes and ``prices`` is empty."""
    ours = {VERSION, ENTRYPOINT}
    if reading.nodes is not None:
        ours |= {NODE_COUNT} | ({CPU_COST, MEMORY_COST} if reading.prices or not reading.nodes else set())
    kept = {name: value for name, value in previous.items() if name not in ours}
    return {**kept, **{name: PropertyValue(value=value, observation_time=reading.at) for name, value in values.items()}}


def _usage(reading: MemberReading) -> ResourceUsage:
    """What the nodes have and leave, summed; ``available`` is empty where pods were not read. ValueError for an amount
    that is no quantity."""
    nodes = reading.nodes or ()
    allocatable = _summed(node.allocatable for node in nodes)
    return ResourceUsage(
        capacity=_texts(_summed(node.capacity for node in nodes)),
        allocatable=_texts(allocatable),
        available=_texts(_available(allocatable, reading.requests)),
        observation_time=reading.at,
    )


def _agent(
    previous: MemberClusterStatus, at: datetime, health: tuple[str, str, str], heartbeat: datetime
) -> tuple[AgentStatus, ...]:
    """The member agent's status, first, with ``Joined`` True and ``Healthy`` of the row ``health`` (status, reason,
    message) as its only conditions, and those of other agents as they were."""
    old = next((each for each in previous.agent_status if each.type == AGENT), None)
    conditions = old.conditions if old else ()
    joined = next_condition(
        find_condition(conditions, "Joined"), "Joined", ("True", "Joined", "the member is joined"), at
    )
    healthy = next_condition(find_condition(conditions, "Healthy"), "Healthy", health, at)
    others = tuple(each for each in previous.agent_status if each.type != AGENT)
    return (AgentStatus(type=AGENT, conditions=(joined, healthy), last_received_heartbeat=heartbeat), *others)


def _summed(parts: t.Iterable[t.Mapping[str, str]]) -> dict[str, Quantity]:
    """The sums by resource, in the format of the first that is not zero. Most nodes of a cluster are alike: those that
    have the same are counted, and added once. ValueError for an amount that is no quantity."""
    nanos: dict[str, int] = {}
    formats: dict[str, str] = {}
    for part, count in Counter(tuple(each.items()) for each in parts).items():
        for name, text in part:
            amount = parse_quantity(text)
            so_far = nanos.get(name, 0)
            if not so_far:
                formats[name] = amount.format
            nanos[name] = so_far + amount.nanos * count
    return {name: Quantity.of_nanos(amount, formats[name]) for name, amount in nanos.items()}


def _available(allocatable: t.Mapping[str, Quantity], requests: t.Mapping[str, Quantity] | None) -> dict[str, Quantity]:
    """What requests leave of each allocatable resource, 0 where they ask for more; empty where requests are not
    known."""
    if requests is None:
        return {}
    zero = parse_quantity("0")
    left = {name: amount - requests.get(name, zero) for name, amount in allocatable.items()}
    return {name: max(rest, zero) for name, rest in left.items()}


def _texts(amounts: t.Mapping[str, Quantity]) -> dict[str, str]:
    """The amounts in canonical form, by name of the resource."""
    return {name: amount.canonical for name, amount in sorted(amounts.items())}


def _costs(nodes: t.Sequence[NodeFacts], prices: t.Mapping[str, float]) -> dict[str, str]:
    """Hourly price per core and per GiB, three decimals, each where the nodes have any; nothing unless every node has a
    price. ValueError as of ``_summed``."""
    if not nodes or any(node.instance_type not in prices for node in nodes):
        return {}
    price = sum(prices[node.instance_type] for node in nodes)
    capacity = _summed(node.capacity for node in nodes)
    cores = capacity["cpu"].approximate if "cpu" in capacity else 0.0
    gib = capacity["memory"].approximate / 2**30 if "memory" in capacity else 0.0
    costs = {}
    if cores:
        costs[CPU_COST] = f"{price / cores:.3f}"
    if gib:
        costs[MEMORY_COST] = f"{price / gib:.3f}"
    return costs


def health_reason(code: str) -> str:
    """The code of an error as the reason of a condition: ``credentials-expired`` is ``CredentialsExpired``, an empty
    one ``Unreachable``."""
    return "".join(part.capitalize() for part in code.split("-")) or "Unreachable"
