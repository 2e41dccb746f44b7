# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Reading the facts of a fleet: every member once, in parallel (health, version, nodes, what pods request, namespaces,
windows, ends of certificates), which of these are ``missing``; the nodes of one member; whether placements need what
pods request."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime

from ..._core.cluster.facts.member import (
    MAINTENANCE,
    NAMESPACES,
    NODE_COUNT,
    NODES,
    PODS,
    MemberReading,
    after_failed_read,
    after_read,
    fleet_member_status,
)
from ..._core.cluster.facts.node import NodeFacts, node_facts
from ..._core.cluster.facts.prices import NO_PRICES, PriceList
from ..._core.cluster.facts.snapshot import FactsSnapshot
from ..._core.cluster.pod_requests import Amounts, added, manifest_requests
from ..._core.cluster.silence import WHOLE_MEMBER
from ..._core.errors import FleetError, Problem, fault
from ..._core.objects.clusters.fleet_member import CertificateEnds, FleetMemberStatus
from ..._core.objects.clusters.member_cluster import MemberCluster, MemberClusterStatus
from ..._core.objects.placements.cluster_resource_placement import PlacementSpec
from ..._core.schema.codec import encode
from ..._core.values.instants import parse_time
from ..._core.values.parts import mapping, text
from ..._core.values.quantity import Quantity
from ..._kube.access import server_readiness, version
from ..._kube.client import KubeClient
from ..._kube.documents import unusable_answer
from ..._kube.lists import list_pages, read_each
from ..._kube.parallel import in_parallel
from .members import Clients, Member
from .own_maintenance import ANNOTATIONS, MaintenanceCommands
from .sharing import Answers, NotAsked, shared_out

AVAILABLE = "resources.kubernetes-fleet.io/available-"
POD_FIELDS = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!="
# Kubernetes is tested with 5,000 nodes in a cluster.
MOST_NODES, MOST_RESOURCES, MOST_LISTED = 20_000, 1_000, 100_000


@dataclass(frozen=True, kw_only=True)
class FleetReading:
    """``statuses`` are those of the FleetMembers that were read, by name; ``failed`` says why others were not. The
    ``snapshot`` has all members, in the order given."""

    snapshot: FactsSnapshot
    statuses: t.Mapping[str, FleetMemberStatus] = field(default_factory=dict)
    failed: t.Mapping[str, FleetError] = field(default_factory=dict)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The first problem of every member, and then one for every part of one, that could not be read."""
        whole = (replace(error.problems[0], where=name) for name, error in self.failed.items())
        return (*whole, *self.snapshot.partly_read_problems)


def read_fleet(
    members: t.Mapping[str, Member],
    clients: Clients,
    now: datetime,
    prices: PriceList = NO_PRICES,
    threads: int = 32,
    workers: int = 1,
    commands: MaintenanceCommands = ANNOTATIONS,
    *,
    pods: bool,
    namespaces: bool = False,
) -> FleetReading:
    """The facts of all members at ``now``; with ``pods`` what pods request in all, with ``namespaces`` the names of
    namespaces; windows by ``commands``, costs by ``prices``. A member that cannot be read is in ``failed``, keeps its
    older facts and becomes unhealthy, if it was read before; one that was not asked for a failure of this machine
    (``NotAsked``) keeps its health too. A part that cannot be read is missing; without its nodes a member counts as not
    read if they were never counted. There are ``threads`` in each of the ``workers``, which are processes. FleetError
    ``no-workers``."""

    def read(clients: Clients, names: t.Iterable[str]) -> Answers[_MemberAnswer]:
        """What each of these members says, through these clients, or why it could not be read."""
        work = {name: _reader(members[name], clients, now, pods, namespaces, prices.prices, commands) for name in names}
        return in_parallel(work, threads=threads)

    answers = shared_out(clients, members, workers, read)
    clusters: list[MemberCluster] = []
    failed: dict[str, FleetError] = {}
    told: dict[str, _MemberAnswer] = {}
    for name, answer in answers.items():
        cluster = members[name].cluster
        if isinstance(answer, FleetError):
            failed[name] = answer
            if not isinstance(answer, NotAsked):
                unread = after_failed_read(cluster.status, now, answer.code, answer.message)
                cluster = replace(cluster, status=unread)
            clusters.append(cluster)
            continue
        clusters.append(replace(cluster, status=answer.status))
        told[name] = answer
    snapshot = FactsSnapshot(
        captured_at=now,
        members=tuple(clusters),
        nodes={name: each.reading.nodes for name, each in told.items() if each.reading.nodes is not None},
        failed={name: _why(error.problems[0]) for name, error in failed.items()},
        prices=prices.origin if prices.prices else None,
        missing={
            name: {part: _why(why) for part, why in each.reading.missing.items()}
            for name, each in told.items()
            if each.reading.missing
        },
        certificates={name: each.reading.certificates for name, each in told.items() if each.reading.certificates},
    )
    return FleetReading(snapshot=snapshot, statuses={name: each.pools for name, each in told.items()}, failed=failed)


@dataclass(frozen=True, kw_only=True)
class _MemberAnswer:
    """What one member said, and what becomes of it: made in the member's thread, so that it can only stop itself."""

    reading: MemberReading
    status: MemberClusterStatus
    pools: FleetMemberStatus


def _why(problem: Problem) -> dict[str, str]:
    """Code and message, as a snapshot keeps them."""
    return {"code": problem.code, "message": problem.message}


def needs_pods(specs: t.Iterable[PlacementSpec]) -> bool:
    """Whether the policy of any of these placements names KubeFleet's ``resources.kubernetes-fleet.io/available-*``,
    which can only be known from the members' pods."""
    return any(AVAILABLE in str(encode(spec.policy)) for spec in specs if spec.policy)


def _reader(
    member: Member,
    clients: Clients,
    now: datetime,
    pods: bool,
    namespaces: bool,
    prices: t.Mapping[str, float],
    commands: MaintenanceCommands,
) -> t.Callable[[], _MemberAnswer]:
    """What reads the facts of the member when it is called, in a thread, and raises FleetError where it is lost."""

    def read() -> _MemberAnswer:
        """The facts of the member; a part that cannot be read is missing. FleetError if the member is lost on the way,
        or its nodes cannot be read and were never counted."""
        client = clients.get(member.name)
        missing: dict[str, Problem] = {}
        reading = MemberReading(
            at=now,
            ready=bool(server_readiness(client)),
            version=version(client),
            server=client.connection.server,
            nodes=_part(NODES, missing, lambda: nodes_of(client)),
            requests=_part(PODS, missing, lambda: _requests(client)) if pods else None,
            namespaces=_part(NAMESPACES, missing, lambda: _namespaces(client)) if namespaces else None,
            prices=prices,
            missing=missing,
            certificates=_certificates(client),
        )
        own = _part(MAINTENANCE, missing, lambda: commands.ask(member.fleet, clients))
        if NODES in missing and NODE_COUNT not in member.cluster.status.properties:
            raise FleetError.of([missing[NODES]])  # nothing is known of it yet, so this is no part
        return _MemberAnswer(
            reading=reading,
            status=after_read(reading, member.cluster.status),
            pools=replace(
                fleet_member_status(reading, member.fleet.status.node_pools),
                maintenance=member.fleet.status.maintenance if MAINTENANCE in missing else own,
            ),
        )

    return read


def _certificates(client: KubeClient) -> CertificateEnds | None:
    """When certificates end, as the connection itself has told, without a request; None where it told of none."""
    found = CertificateEnds(server=client.server_until, client=client.client_until)
    return found if found.server or found.client else None


T = t.TypeVar("T")


def _part(name: str, missing: dict[str, Problem], work: t.Callable[[], T]) -> T | None:
    """The part, or None, and why it could not be read goes into ``missing``. What speaks of the whole member is
    raised."""
    try:
        return work()
    except FleetError as error:
        if error.code in WHOLE_MEMBER:
            raise
        missing[name] = error.problems[0]
    except Exception as error:  # noqa: BLE001  # told as what is wrong with this part
        missing[name] = fault(error, "member-fault").problems[0]
    return None


def nodes_of(client: KubeClient) -> tuple[NodeFacts, ...]:
    """A member's nodes in the order of their names, with credentials of ours hidden in their texts. FleetError of the
    request, ``too-large`` above ``MOST_NODES``."""
    found = read_each(client, "/api/v1/nodes", _node, "Node", MOST_NODES).items
    told = "\n".join(text for node in found for text in _texts_of(node))
    if client.hide(told) != told:
        found = tuple(_without_secrets(client, node) for node in found)
    return tuple(sorted(found, key=lambda each: each.name))


def _node(node: t.Mapping[str, t.Any]) -> NodeFacts:
    """The facts of a node; ValueError if it is none."""
    created = text(node["metadata"], "creationTimestamp")
    return node_facts(node, parse_time(created) if created else None)


def _texts_of(node: NodeFacts) -> tuple[str, ...]:
    """All texts of it in which a credential could stand."""
    texts = (node.name, node.pool, node.version, node.image, node.mode, node.instance_type)
    return (*texts, *node.capacity, *node.allocatable)


def _without_secrets(client: KubeClient, found: NodeFacts) -> NodeFacts:
    """The same with credentials of ours hidden in its texts."""
    return replace(
        found,
        name=client.hide(found.name),
        pool=client.hide(found.pool),
        version=client.hide(found.version),
        image=client.hide(found.image),
        mode=client.hide(found.mode),
        instance_type=client.hide(found.instance_type),
        capacity=_hidden(client, found.capacity),
        allocatable=_hidden(client, found.allocatable),
    )


def _hidden(client: KubeClient, amounts: t.Mapping[str, str]) -> dict[str, str]:
    """The amounts, with credentials of ours hidden in their names."""
    return {client.hide(name): amount for name, amount in amounts.items()}


def _namespaces(client: KubeClient) -> tuple[str, ...]:
    """Names of those that are not ending, sorted. FleetError of the request."""
    found = read_each(client, "/api/v1/namespaces", _name_if_staying, "Namespace", MOST_LISTED).items
    return tuple(sorted(client.hide(name) for name in found if name))


def _name_if_staying(namespace: t.Mapping[str, t.Any]) -> str:
    """Its name, empty if it is being deleted. ValueError for what is no namespace."""
    metadata = mapping(namespace, "metadata")
    return "" if metadata.get("deletionTimestamp") else text(metadata, "name")


def _requests(client: KubeClient) -> dict[str, Quantity]:
    """What all pods that run or wait on a node request, by resource, summed page by page; pods are not kept. FleetError
    ``bad-answer``, also for more than MOST_RESOURCES kinds, and of the request."""
    total: Amounts = {}
    for pods in list_pages(client, "/api/v1/pods", field_selector=POD_FIELDS, kind="Pod"):
        try:
            total = added(total, manifest_requests(pods))
        except ValueError as error:
            raise unusable_answer("GET /api/v1/pods", str(error), client) from None
        if len(total) > MOST_RESOURCES:
            message = f"pods ask for more than {MOST_RESOURCES} kinds of resources"
            raise unusable_answer("GET /api/v1/pods", message, client)
    return {name: Quantity.of_nanos(amount) for name, amount in total.items()}
