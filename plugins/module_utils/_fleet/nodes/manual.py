# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What somebody does by hand to nodes, NodePools and node classes of a member: told first, with the nodes that are
replaced by it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._core.cluster.state_node import StateNode
from ..._core.disruption.blockers import pod_blockers
from ..._core.disruption.manual import nodes_by_name, nodes_of_pool
from ..._core.disruption.members.member_nodes import MemberNodes
from ..._core.disruption.node_source import NodeSource, effect_of
from ..._core.disruption.pool_stop import merged, release_patch, stop_patch
from ..._core.disruption.source_patch import PatchLeave, SourcePatch, read_patches, unconfirmed, withheld
from ..._core.disruption.subnet_change import Network
from ..._core.errors import FleetError, Problem
from ..._core.objects.karpenter.node_pool import API_VERSION
from ..._core.objects.karpenter.node_pool import KIND as NODE_POOL
from ..._core.values.selector import compile_selector
from ..._core.values.selector_text import parse_selector
from ..._kube.client import KubeClient, Timeouts
from ..._kube.errors import ApiError
from ..members.members import Clients, members_to_write, open_clients, recorded_members
from ..session import Session
from .deleting import NodeDeletion, delete_nodes
from .draining import MERGE, NODES, Document
from .reading import ReadingWish, read_members
from .replacing import ReplacementWish, driver_of

DELETED, POOL_DELETED = "deleted", "pool_deleted"
STOPPED, PATCHED = "stopped", "patched"
PROTECTED, UNPROTECTED = "protected", "unprotected"
NO_POOL, NO_OBJECT = "no-such-pool", "no-such-object"
POOLS = f"/apis/{API_VERSION}/nodepools"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"


@dataclass(frozen=True, kw_only=True)
class ManualWish:
    """``confirmed`` is the number of nodes that somebody has seen and means; ``consent``: nodes that drift by a patch
    may be replaced. ``timeout`` is for one node, in seconds. ``network`` is what a new subnet is judged by,
    ``subnet_move``: a good one may be left for another, ``routes``: somebody has seen that nodes of it are reached."""

    member: str
    state: str
    names: tuple[str, ...] = ()
    selector: str = ""
    pool: str = ""
    confirmed: int | None = None
    patches: tuple[Document, ...] = ()
    consent: bool = False
    network: Network = Network()
    subnet_move: bool = False
    routes: bool = False
    timeout: float = 3600.0
    reading: ReadingWish = ReadingWish()
    replacement: ReplacementWish = ReplacementWish()


@dataclass(frozen=True, kw_only=True)
class ManualReport:
    """``nodes`` are those that go, or are replaced, each with what is told of it; ``patches`` are what is written to
    objects, by their path, without secrets; ``failed`` says why nodes stayed, ``unconfirmed`` what a person has to look
    at before it is written."""

    state: str
    changed: bool
    nodes: t.Mapping[str, str] = field(default_factory=dict)
    patches: t.Mapping[str, Document] = field(default_factory=dict)
    failed: tuple[Problem, ...] = ()
    unconfirmed: tuple[str, ...] = ()

    @property
    def text(self) -> list[str]:
        """For people: how many nodes are replaced by it, and which."""
        count = len(self.nodes)
        lines = [f"{self.state}: {count} node{'' if count == 1 else 's'} replaced or gone by it"]
        lines += [f"  {name}: {why}" for name, why in self.nodes.items()]
        lines += [f"  {path.rpartition('/')[2]}: {patch}" for path, patch in self.patches.items()]
        lines += [f"  unconfirmed: {each}" for each in self.unconfirmed]
        return lines + [f"  stays: {each}" for each in self.failed]


def manual(session: Session, wish: ManualWish, write: bool) -> ManualReport:
    """Does what is wished, or tells what it would be. FleetError with all problems before anything is written:
    ``no-such-member``, ``empty-name``, ``unknown-node``, ``count-not-confirmed``, ``no-such-pool``,
    ``no-such-object``, ``drift-without-consent``, ``subnet-routes-unconfirmed``, and as of ``read_patches``."""
    members = members_to_write(session) if write else recorded_members(session.records)
    if wish.member not in members:
        hint = f"there are: {', '.join(members) or 'none'}"
        raise FleetError("no-such-member", "it is no member of the fleet", wish.member or "member", hint)
    one = {wish.member: members[wish.member]}
    waits = Timeouts.connecting(wish.reading.timeout)
    fleet = {name: each.fleet for name, each in one.items()}
    with open_clients(session, fleet, timeout=waits, strict=write) as clients:
        snapshot = read_members(one, clients, wish.reading, session.clock())
        if snapshot.problems:
            raise FleetError.of(snapshot.problems)
        return _Manual(session, clients, snapshot.members[0], wish, write).done()


class _Manual:
    """One wish for one member, as it was read."""

    def __init__(self, session: Session, clients: Clients, member: MemberNodes, wish: ManualWish, write: bool) -> None:
        self._session, self._clients, self._member, self._wish, self._write = session, clients, member, wish, write

    def done(self) -> ManualReport:
        if self._wish.state == DELETED:
            return self._deleted()
        if self._wish.state == POOL_DELETED:
            return self._pool_deleted()
        if self._wish.state in (PROTECTED, UNPROTECTED):
            return self._marked()
        return self._patched()

    @property
    def _client(self) -> KubeClient:
        return self._clients.get(self._member.name)

    def _selected(self) -> tuple[str, ...]:
        """By name, by pool or by label. More than are named need their number confirmed."""
        wish, state = self._wish, self._member.whole
        if sum(map(bool, (wish.names, wish.selector, wish.pool))) != 1:
            hint = "nodes, pool or label_selector; empty is never all of them"
            raise FleetError("empty-name", "it is not said which nodes are meant", "nodes", hint)
        if wish.names:
            return nodes_by_name(state, wish.names)
        if wish.pool:
            self._known_pool()
            return nodes_of_pool(state, wish.pool, wish.confirmed)
        try:
            holds = compile_selector(parse_selector(wish.selector))
        except ValueError as error:
            raise FleetError("invalid-label-selector", str(error), "label_selector") from None
        found = tuple(sorted(each.name for each in state.nodes if each.node is not None and holds(each.labels)))
        if wish.confirmed != len(found):
            given = "no number was" if wish.confirmed is None else f"{wish.confirmed} was"
            text = f"{len(found)} nodes have {wish.selector}, and {given} confirmed; budgets do not hold this back"
            raise FleetError("count-not-confirmed", text, self._member.name, f"confirm_count: {len(found)}")
        return found

    def _known_pool(self) -> None:
        there = {each.pool for each in self._member.whole.nodes} | {each.name for each in self._member.pools}
        if self._wish.pool not in there:
            hint = f"there are: {', '.join(sorted(there - {''})) or 'none'}"
            raise FleetError(NO_POOL, "the member has no such pool", self._wish.pool, hint)

    def _deleted(self) -> ManualReport:
        nodes = {each.name: each for each in self._member.whole.nodes if each.node is not None}
        names = self._selected()
        drivers = {name: driver_of(nodes[name], self._wish.replacement) for name in names}
        nobody = [name for name, driver in drivers.items() if not driver]
        if nobody:
            hint = "name a driver, or give a command that deletes the machine of a node"
            raise FleetError.of(
                Problem("no-driver", "it is not known how it is deleted", name, hint) for name in nobody
            )
        told = {name: self._told(nodes[name], drivers[name]) for name in names}
        if not self._write:
            return ManualReport(state=DELETED, changed=bool(names), nodes=told)
        uids = {name: found.uid for name in names if (found := nodes[name].node) is not None}
        wish = NodeDeletion(
            member=self._member.name, uids=uids, replacement=self._wish.replacement, timeout=self._wish.timeout
        )
        failed = delete_nodes(self._session, self._clients, wish)
        return ManualReport(state=DELETED, changed=len(failed) < len(names), nodes=told, failed=failed)

    def _told(self, node: StateNode, driver: str) -> str:
        """Who deletes it, and what holds its pods now."""
        held = [each.text for each in pod_blockers(node.pods, self._member.whole.limits, self._session.clock())]
        return "; ".join((f"by driver {driver}", *held))

    def _pool_deleted(self) -> ManualReport:
        self._known_pool()
        names = nodes_of_pool(self._member.whole, self._wish.pool, self._wish.confirmed)
        path = f"{POOLS}/{self._wish.pool}"
        if self._wish.pool not in {each.name for each in self._member.pools}:
            raise FleetError(NO_POOL, "no NodePool has that name", self._wish.pool)
        if self._write:
            self._client.delete(path)
        told = dict.fromkeys(names, "drained by Karpenter, for its NodePool goes")
        return ManualReport(state=POOL_DELETED, changed=True, nodes=told)

    def _marked(self) -> ManualReport:
        """do-not-disrupt set on nodes, or lifted."""
        value = "true" if self._wish.state == PROTECTED else None
        names = self._selected()
        there = {each.name: each.annotations.get(DO_NOT_DISRUPT) for each in self._member.nodes}
        patch: Document = {"metadata": {"annotations": {DO_NOT_DISRUPT: value}}}
        patches = {f"{NODES}/{name}": patch for name in names if there[name] != value}
        self._put(patches)
        return ManualReport(state=self._wish.state, changed=bool(patches), patches=patches)

    def _patched(self) -> ManualReport:
        """Pools stopped, released or edited, and node classes edited; who drifts by it is told, and needs consent."""
        wish, nodes = self._wish, dict[str, str]()
        leave = PatchLeave(drift=wish.consent or not self._write, routes=wish.routes or not self._write)
        edits: list[SourcePatch] = []
        open_questions: list[str] = []
        held: list[Problem] = []
        for each, before in self._there(self._edits()):
            after = merged(before, each.patch)
            if after == before:
                continue
            edits.append(each)
            change = NodeSource(each.kind, each.name, before, after)
            found = effect_of(change, self._member.whole, wish.network, wish.subnet_move)
            nodes |= {**found.drifted, **{name: f"perhaps: {why}" for name, why in found.unsure.items()}}
            held += withheld(each, found, leave, self._member.name)
            open_questions += [] if wish.routes else [f"{each.kind}/{each.name}: {text}" for text in unconfirmed(found)]
        if held:
            raise FleetError.of(held)
        self._put({each.path: each.patch for each in edits})
        shown = {each.path: each.shown for each in edits}
        return ManualReport(
            state=wish.state, changed=bool(edits), nodes=nodes, patches=shown, unconfirmed=tuple(open_questions)
        )

    def _there(self, edits: t.Iterable[SourcePatch]) -> list[tuple[SourcePatch, Document]]:
        """Each with the object as it is; a patch makes none."""
        pools = {each.name: dict(each.manifest) for each in self._member.pools}
        found = [(each, self._before(each, pools)) for each in edits]
        hint = f"the member has the pools {', '.join(sorted(pools)) or '(none)'}; a patch makes no object"
        problems = [
            Problem(NO_POOL if each.kind == NODE_POOL else NO_OBJECT, f"no {each.kind} has that name", each.name, hint)
            for each, before in found
            if before is None
        ]
        if problems:
            raise FleetError.of(problems)
        return [(each, before) for each, before in found if before is not None]

    def _before(self, patch: SourcePatch, pools: t.Mapping[str, Document]) -> Document | None:
        """A class is read whole here, for what no snapshot may hold counts, too."""
        if patch.kind == NODE_POOL:
            return pools.get(patch.name)
        try:
            return self._client.get(patch.path)
        except ApiError as error:
            if error.code == "not-found":
                return None
            raise

    def _edits(self) -> tuple[SourcePatch, ...]:
        if self._wish.state == PATCHED:
            return read_patches(self._wish.patches)
        if not self._wish.pool.strip():
            raise FleetError("empty-name", "the name of the pool is empty", "pool", "name a pool")
        make = stop_patch if self._wish.state == STOPPED else release_patch
        pools = {each.name: each.manifest for each in self._member.pools}
        return (SourcePatch(NODE_POOL, self._wish.pool, make(pools.get(self._wish.pool, {})) or {}),)

    def _put(self, patches: t.Mapping[str, Document]) -> None:
        if self._write:
            for path, patch in patches.items():
                self._client.request("PATCH", path, patch, {"fieldManager": "gitops-fleet"}, MERGE)
