# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Reading the facts of a fleet: every member once, in parallel, in one process."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime

from .._core.errors import FleetError
from .._core.facts.member import MemberReading, pools, reported, unread
from .._core.facts.node import NodeFacts, node_facts
from .._core.facts.prices import NO_PRICES, PriceList
from .._core.facts.snapshot import FactsSnapshot, parse_instant
from .._core.objects.cluster_resource_placement import PlacementSpec
from .._core.objects.fleet_member import FleetMemberStatus
from .._core.objects.member_cluster import MemberCluster
from .._core.objects.schema import encode
from .._core.values.quantity import Quantity, parse_quantity
from .._kube.access import ready, version
from .._kube.client import KubeClient
from .._kube.lists import list_objects, read_list
from .._kube.parallel import in_parallel
from .members import Clients, Member

AVAILABLE = "resources.kubernetes-fleet.io/available-"
POD_FIELDS = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!="


@dataclass(frozen=True, kw_only=True)
class FleetReading:
    """``statuses`` are those of the FleetMembers that were read; ``failed`` says why others were not."""

    snapshot: FactsSnapshot
    statuses: t.Mapping[str, FleetMemberStatus] = field(default_factory=dict)
    failed: t.Mapping[str, FleetError] = field(default_factory=dict)


def read_fleet(
    members: t.Mapping[str, Member],
    clients: Clients,
    now: datetime,
    pods: bool,
    prices: PriceList = NO_PRICES,
    threads: int = 32,
    deadline: float | None = None,
) -> FleetReading:
    """The facts of all members at ``now``. A member that cannot be read keeps its older facts and is named."""
    work = {name: _reader(name, clients, now, pods, prices.prices) for name in members}
    answers = in_parallel(work, threads=threads, deadline=deadline)
    clusters: list[MemberCluster] = []
    nodes: dict[str, tuple[NodeFacts, ...]] = {}
    statuses: dict[str, FleetMemberStatus] = {}
    failed: dict[str, FleetError] = {}
    for name, answer in answers.items():
        cluster = members[name].cluster
        if isinstance(answer, FleetError):
            failed[name] = answer
            clusters.append(replace(cluster, status=unread(cluster.status, now, answer.code, answer.message)))
            continue
        clusters.append(replace(cluster, status=reported(answer, cluster.status)))
        nodes[name] = answer.nodes
        statuses[name] = pools(answer)
    snapshot = FactsSnapshot(
        captured_at=now,
        members=tuple(clusters),
        nodes=nodes,
        failed={name: {"code": error.code, "message": error.message} for name, error in failed.items()},
        prices=prices.origin if prices.prices else None,
    )
    return FleetReading(snapshot=snapshot, statuses=statuses, failed=failed)


def needs_pods(specs: t.Iterable[PlacementSpec]) -> bool:
    """Whether a property in use can only be known from the members' pods."""
    return any(AVAILABLE in str(encode(spec.policy)) for spec in specs if spec.policy)


def _reader(
    name: str, clients: Clients, now: datetime, pods: bool, prices: t.Mapping[str, float]
) -> t.Callable[[], MemberReading]:
    def read() -> MemberReading:
        client = clients.get(name)
        return MemberReading(
            at=now,
            ready=bool(ready(client)),
            version=version(client),
            server=client.connection.server,
            nodes=_nodes(client),
            requests=_requests(client) if pods else None,
            prices=prices,
        )

    return read


def _nodes(client: KubeClient) -> tuple[NodeFacts, ...]:
    listing = read_list(client, "/api/v1/nodes")
    found = (node_facts(node, _created(node)) for node in listing.items)
    return tuple(sorted(found, key=lambda each: each.name))


def _created(node: t.Mapping[str, t.Any]) -> datetime | None:
    text = node["metadata"].get("creationTimestamp")
    return parse_instant(text) if text else None


def _requests(client: KubeClient) -> dict[str, Quantity]:
    """Requests of all scheduled pods, summed page by page; pods are not kept."""
    total: dict[str, Quantity] = {}
    for pod in list_objects(client, "/api/v1/pods", field_selector=POD_FIELDS):
        for name, amount in pod_requests(pod).items():
            total[name] = total[name] + amount if name in total else amount
    return total


def pod_requests(pod: t.Mapping[str, t.Any]) -> dict[str, Quantity]:
    """A pod's requests as the scheduler counts them: the larger of containers together and any one init container,
    sidecars (init containers that restart) counted with the containers, and the overhead on top.
    """
    spec = pod.get("spec") or {}
    running: dict[str, Quantity] = {}
    largest: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            _add(running, container)
            _raise(largest, running)
        else:
            together = dict(running)
            _add(together, container)
            _raise(largest, together)
    for container in spec.get("containers") or ():
        _add(running, container)
    _raise(largest, running)
    for name, text in (spec.get("overhead") or {}).items():
        amount = parse_quantity(str(text))
        largest[name] = largest[name] + amount if name in largest else amount
    return largest


def _add(total: dict[str, Quantity], container: t.Mapping[str, t.Any]) -> None:
    for name, text in ((container.get("resources") or {}).get("requests") or {}).items():
        amount = parse_quantity(str(text))
        total[name] = total[name] + amount if name in total else amount


def _raise(largest: dict[str, Quantity], other: t.Mapping[str, Quantity]) -> None:
    for name, amount in other.items():
        if name not in largest or largest[name] < amount:
            largest[name] = amount
