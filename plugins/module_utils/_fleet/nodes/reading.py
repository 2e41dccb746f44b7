# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Reading what members hold for decisions about their nodes (Nodes, pods, NodePools, NodeClaims, node classes), in
pages and in parallel, or out of a file (``nodes-missing``, ``nodes-invalid``); only what is needed is kept;
``no-such-member``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from ..._core.cluster.cluster_state import class_reference
from ..._core.cluster.daemon_sets import DaemonPods
from ..._core.cluster.facts.maintenance import kept_maintenance
from ..._core.cluster.silence import WHOLE_MEMBER
from ..._core.disruption.members.member_nodes import (
    DAEMON_SET,
    NODE,
    NODE_CLAIM,
    NODE_CLASS,
    NODE_POOL,
    PDB,
    POD,
    Document,
    MemberNodes,
    Object,
    made_of,
    member_of,
    needed_manifest,
)
from ..._core.disruption.members.nodes_snapshot import NodesSnapshot, read_nodes
from ..._core.errors import FleetError, Problem, fault
from ..._core.objects.clusters.fleet_maintenance import ClusterMaintenance
from ..._core.objects.karpenter.node_pool import NodePool
from ..._core.schema.codec import encode
from ..._kube.client import KubeClient, Timeouts
from ..._kube.discovery import resource_for
from ..._kube.errors import ApiError
from ..._kube.lists import read_each
from ..._kube.parallel import in_parallel
from ..._kube.paths import BUILT_IN, Resource
from ..files import json_file, path_option
from ..members.members import Clients, Member, no_members, open_clients, recorded_members, refuse_strangers
from ..session import Session

KARPENTER_API = "karpenter.sh/v1"
# Kubernetes is tested with 5,000 nodes and 150,000 pods in a cluster.
MOST_NODES, MOST_PODS, MOST_OTHERS = 20_000, 300_000, 50_000
# What is kept of a member, given it once as soon as it is read, in the thread that has read it; a FleetError becomes
# that member's failure. None: all of it is kept.
Seen = t.Union[t.Callable[[MemberNodes], MemberNodes], None]  # noqa: UP007  # pylint takes the other form for an error


@dataclass(frozen=True, kw_only=True)
class ReadingWish:
    """``pods`` are read or not; ``daemons``: DaemonSets too, which need the pods; ``keep``: manifests too
    (``NodesSnapshot.documents``). ``names``: only these members, all if empty. Of members in ``counted`` only Nodes and
    NodeClaims are read, which budgets of the fleet count. ``threads``: members read at once; ``timeout``: seconds to
    connect."""

    pods: bool = True
    daemons: bool = False
    keep: bool = False
    names: tuple[str, ...] = ()
    counted: frozenset[str] = frozenset()
    threads: int = 32
    timeout: float = 5.0


@dataclass(frozen=True)
class _MemberRead:
    member: MemberNodes
    documents: t.Mapping[str, t.Sequence[Document]]


def nodes_file(path: str, now: datetime) -> NodesSnapshot:
    """The snapshot in a file; ``now`` is the present. FleetError ``nodes-missing``, ``nodes-invalid``, and as of
    ``read_nodes``."""
    command = f"ansible-playbook gitops.fleet.budgets {path_option('dest', path)}"
    hint = f"{command} reads the nodes of all members and writes it"
    return read_nodes(json_file(path, "nodes-missing", "nodes-invalid", hint), path, now)


def members_in_file(snapshot: NodesSnapshot, names: t.Sequence[str]) -> list[MemberNodes]:
    """The members of these names, or all, of a snapshot, in its order, without those that could not be read. FleetError
    ``no-such-member`` for each name that is not in the snapshot at all."""
    there = {each.name for each in snapshot.members} | snapshot.failed.keys()
    refuse_strangers(names, there, "it is not in the snapshot")
    return [each for each in snapshot.members if not names or each.name in names]


def read_all(session: Session, wish: ReadingWish, seen: Seen = None) -> NodesSnapshot:
    """What the members of ``wish.names``, or all, hold; ``seen`` is given each as soon as it is read, in threads, and
    says what is kept of it. A member that cannot be read is in ``failed`` of the snapshot. FleetError as of
    ``wanted_members``, ``no-workers``, or the first problem of each member if none can be read."""
    members = wanted_members(session, wish.names)
    fleet = {name: each.fleet for name, each in members.items()}
    waits = Timeouts.connecting(wish.timeout)
    with open_clients(session, fleet, timeout=waits) as clients:
        snapshot = read_members(members, clients, wish, session.clock(), seen)
    if len(snapshot.failed) == len(members):
        raise FleetError.of(snapshot.failed.values())
    return snapshot


def wanted_members(session: Session, names: t.Sequence[str]) -> dict[str, Member]:
    """The joined members of these names, in their order, or all, by name. FleetError ``no-members``,
    ``no-such-member``, ``record-damaged``."""
    members = recorded_members(session.records)
    if not members:
        raise no_members(session.records)
    refuse_strangers(names, members)
    return {name: members[name] for name in names} if names else members


def read_members(
    members: t.Mapping[str, Member], clients: Clients, wish: ReadingWish, now: datetime, seen: Seen = None
) -> NodesSnapshot:
    """What these members hold, in their order; one that cannot be read is in ``failed`` with its first problem. ``now``
    becomes the instant of the snapshot; ``seen`` as in ``read_all``. FleetError ``no-workers``."""
    work = {name: _reader(each, clients, wish, seen) for name, each in members.items()}
    answers = in_parallel(work, threads=wish.threads)
    told = {name: each for name, each in answers.items() if isinstance(each, _MemberRead)}
    failed = {
        name: replace(each.problems[0], where=name) for name, each in answers.items() if isinstance(each, FleetError)
    }
    return NodesSnapshot(
        captured_at=now,
        members=tuple(each.member for each in told.values()),
        failed=failed,
        documents={name: each.documents for name, each in told.items()} if wish.keep else {},
    )


def _reader(member: Member, clients: Clients, wish: ReadingWish, seen: Seen) -> t.Callable[[], _MemberRead]:
    """What reads that member when it is called, in a thread; FleetError of its connection, and as of
    ``_MemberReader.read_member``."""

    def read() -> _MemberRead:
        """What the member holds, and what ``seen`` keeps of it. Errors of its connection, of ``read_member`` and of
        ``seen``."""
        found = _MemberReader(clients.get(member.name), wish).read_member(member)
        return found if seen is None else replace(found, member=seen(found.member))

    return read


class _MemberReader:
    """One member, kind by kind."""

    def __init__(self, client: KubeClient, wish: ReadingWish) -> None:
        self._client, self._wish = client, wish
        self._found: dict[str, tuple[Object, ...]] = {}
        self._documents: dict[str, list[Document]] = {}
        self._missing: dict[str, Problem] = {}
        self._daemons = DaemonPods()

    def read_member(self, member: Member) -> _MemberRead:
        """What the member holds. FleetError if it is lost on the way, its nodes may not be read, or its own windows are
        damaged; any other kind that cannot be read is missing."""
        own = _own_maintenance(member)
        self._read_kind(NODE, lambda: BUILT_IN["v1", "Node"], MOST_NODES)
        if member.name in self._wish.counted:
            karpenter = self._read_kind(NODE_CLAIM, lambda: self._karpenter(NODE_CLAIM), MOST_NODES)
        else:
            karpenter = self._beside_nodes()
        if NODE in self._missing:
            raise FleetError.of([self._missing[NODE]])
        found = member_of(
            member.name,
            self._found,
            labels=dict(member.cluster.metadata.labels),
            labels_known=member.labels_known,
            maintenance=member.fleet.spec.maintenance,
            own_maintenance=own,
            karpenter=karpenter,
            pods_read=self._wish.pods and member.name not in self._wish.counted,
            daemons=self._daemons.pods_of(t.cast(t.Any, self._found[DAEMON_SET]))
            if DAEMON_SET in self._found
            else None,
            missing=self._missing,
        )
        return _MemberRead(found, self._documents)

    def _beside_nodes(self) -> bool:
        """Reads everything that is wanted but the nodes; whether the server has NodePools. ApiError as of ``_read``."""
        self._read_kind(PDB, lambda: BUILT_IN["policy/v1", "PodDisruptionBudget"], MOST_OTHERS)
        if self._wish.daemons:
            self._read_kind(DAEMON_SET, lambda: BUILT_IN["apps/v1", "DaemonSet"], MOST_OTHERS)
        if self._wish.pods:
            self._read_kind(POD, lambda: BUILT_IN["v1", "Pod"], MOST_PODS)
        karpenter = self._read_kind(NODE_POOL, lambda: self._karpenter(NODE_POOL), MOST_OTHERS)
        if karpenter:
            self._read_kind(NODE_CLAIM, lambda: self._karpenter(NODE_CLAIM), MOST_NODES)
            self._read_classes()
        return karpenter

    def _karpenter(self, kind: str) -> Resource:
        """Where the server has that kind of Karpenter. ApiError ``unknown-kind``, and of the request."""
        return resource_for(self._client, KARPENTER_API, kind)

    def _read_classes(self) -> None:
        """Reads the node classes that the pools refer to, of whatever provider, after the pools. ApiError as of
        ``_read``."""
        refs = [class_reference(each) for each in self._found.get(NODE_POOL, ()) if isinstance(each, NodePool)]
        for group, kind in sorted({(each.group, each.kind) for each in refs} - {("", "")}):
            self._read_kind(NODE_CLASS, partial(_by_group, self._client, group, kind), MOST_OTHERS)

    def _read_kind(self, kind: str, resource: t.Callable[[], Resource], most: int) -> bool:
        """Whether the server has the kind; what it holds is put with the rest, or, if it cannot be read, why it is
        missing. ApiError of what speaks of the whole member."""
        try:
            path = resource().path()
            rows = read_each(self._client, path, lambda item: self._kept(kind, item), "", most).items
        except ApiError as error:
            if error.code == "unknown-kind":
                return False
            if error.code in WHOLE_MEMBER:
                raise
            self._missing[kind] = replace(error.problems[0], where=f"{self._client.server_name} {kind}")
            return True
        except Exception as error:  # noqa: BLE001  # told as what is wrong with this part
            self._missing[kind] = fault(error, "member-fault").problems[0]
            return True
        self._found[kind] = (*self._found.get(kind, ()), *(made for made, _document in rows))
        if self._wish.keep:
            self._documents[kind] = [*self._documents.get(kind, ()), *(document for _made, document in rows)]
        return True

    def _kept(self, kind: str, item: Document) -> tuple[Object, Document]:
        """The object, and its manifest if that is to be kept. A list may be begun anew in the middle, so that nothing
        is put anywhere yet. ValueError for what is none of the kind."""
        try:
            if kind == POD and self._wish.daemons:
                self._daemons.see(item)
            if not self._wish.keep:
                return made_of(kind, item), {}
            document = needed_manifest(kind, item)
            return made_of(kind, document), document
        except FleetError as error:
            raise ValueError(str(error)) from None


def _own_maintenance(member: Member) -> ClusterMaintenance | None:
    """What is recorded of windows that live on the cluster, None if nothing is. FleetError as of
    ``kept_maintenance``."""
    own = member.fleet.status.maintenance
    return None if own is None else kept_maintenance(encode(own), f"member {member.name}, status.maintenance")


def _by_group(client: KubeClient, group: str, kind: str) -> Resource:
    """The kind in the first version of the group that has it, of ``v1``, ``v1beta1`` and ``v1alpha1``. ApiError
    ``unknown-kind`` where none has, and of the requests."""
    for version in ("v1", "v1beta1", "v1alpha1"):
        try:
            return resource_for(client, f"{group}/{version}", kind)
        except ApiError as error:
            if error.code != "unknown-kind":
                raise
    raise ApiError("unknown-kind", f"this cluster has no kind {kind} in {group}", client.server_name)
