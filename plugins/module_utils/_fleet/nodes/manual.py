# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What somebody does by hand to nodes and pools of a member: told first, with the nodes that are replaced by it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._core.cluster.state_node import StateNode
from ..._core.disruption.blockers import pod_blockers
from ..._core.disruption.drift_edits import edit
from ..._core.disruption.manual import nodes_by_name, nodes_of_pool
from ..._core.disruption.members.member_nodes import MemberNodes
from ..._core.disruption.pool_stop import merged, release_patch, stop_patch
from ..._core.errors import FleetError, Problem
from ..._core.objects.karpenter.node_pool import API_VERSION
from ..._core.objects.karpenter.node_pool import KIND as NODE_POOL
from ..._core.objects.karpenter.reading import examine
from ..._core.values.selector import compile_selector
from ..._core.values.selector_text import parse_selector
from ..._kube.client import KubeClient, Timeouts
from ..members.members import Clients, members_to_write, open_clients, recorded_members
from ..session import Session
from .deleting import NodeDeletion, delete_nodes
from .draining import MERGE, NODES, Document
from .reading import ReadingWish, read_members
from .replacing import ReplacementWish, driver_of

DELETED, POOL_DELETED = "deleted", "pool_deleted"
STOPPED, PATCHED = "stopped", "patched"
PROTECTED, UNPROTECTED = "protected", "unprotected"
POOLS = f"/apis/{API_VERSION}/nodepools"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"


@dataclass(frozen=True, kw_only=True)
class ManualWish:
    """``confirmed`` is the number of nodes that somebody has seen and means; ``consent``: nodes that drift by a patch
    may be replaced. ``timeout`` is for one node, in seconds."""

    member: str
    state: str
    names: tuple[str, ...] = ()
    selector: str = ""
    pool: str = ""
    confirmed: int | None = None
    patches: tuple[Document, ...] = ()
    consent: bool = False
    timeout: float = 3600.0
    reading: ReadingWish = ReadingWish()
    replacement: ReplacementWish = ReplacementWish()


@dataclass(frozen=True, kw_only=True)
class ManualReport:
    """``nodes`` are those that go, or are replaced, each with what is told of it; ``patches`` are what is written to
    objects, by their path; ``failed`` says why nodes stayed."""

    state: str
    changed: bool
    nodes: t.Mapping[str, str] = field(default_factory=dict)
    patches: t.Mapping[str, Document] = field(default_factory=dict)
    failed: tuple[Problem, ...] = ()

    @property
    def text(self) -> list[str]:
        """For people: how many nodes are replaced by it, and which."""
        count = len(self.nodes)
        lines = [f"{self.state}: {count} node{'' if count == 1 else 's'} replaced or gone by it"]
        lines += [f"  {name}: {why}" for name, why in self.nodes.items()]
        lines += [f"  {path.rpartition('/')[2]}: {patch}" for path, patch in self.patches.items()]
        return lines + [f"  stays: {each}" for each in self.failed]


def manual(session: Session, wish: ManualWish, write: bool) -> ManualReport:
    """Does what is wished, or tells what it would be. FleetError with all problems before anything is written:
    ``no-such-member``, ``empty-name``, ``unknown-node``, ``count-not-confirmed``, ``no-such-pool``,
    ``drift-without-consent``."""
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
            raise FleetError("no-such-pool", "the member has no such pool", self._wish.pool, hint)

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
            raise FleetError("no-such-pool", "no NodePool has that name", self._wish.pool)
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
        return self._written(patches, {})

    def _patched(self) -> ManualReport:
        """Pools stopped, released or edited; who drifts by it is told, and needs consent."""
        pools = {each.name: dict(each.manifest) for each in self._member.pools}
        wanted = self._edits(pools)
        unknown = sorted(set(wanted) - pools.keys())
        if unknown:
            hint = f"there are: {', '.join(sorted(pools)) or 'none'}; a patch makes no pool"
            raise FleetError.of(Problem("no-such-pool", "no NodePool has that name", name, hint) for name in unknown)
        drifted: dict[str, str] = {}
        patches: dict[str, Document] = {}
        for name, patch in wanted.items():
            after = merged(pools[name], patch)
            if after == pools[name]:
                continue
            patches[f"{POOLS}/{name}"] = patch
            found = edit(NODE_POOL, pools[name], after, self._member.whole)
            drifted |= {node: f"{why.reason}: {why.text}" for node, why in found.drifted.items()}
        if drifted and not self._wish.consent and self._write:
            text = f"this marks {len(drifted)} existing nodes Drifted, which replaces them: {', '.join(drifted)}"
            hint = "say consent: true if that is meant"
            raise FleetError("drift-without-consent", text, self._member.name, hint)
        return self._written(patches, drifted)

    def _edits(self, pools: t.Mapping[str, Document]) -> dict[str, Document]:
        if self._wish.state == PATCHED:
            return dict(_patch_of(each) for each in self._wish.patches)
        if not self._wish.pool.strip():
            raise FleetError("empty-name", "the name of the pool is empty", "pool", "name a pool")
        make = stop_patch if self._wish.state == STOPPED else release_patch
        found = make(pools.get(self._wish.pool, {}))
        return {self._wish.pool: found or {}}

    def _written(self, patches: dict[str, Document], nodes: t.Mapping[str, str]) -> ManualReport:
        if self._write:
            for path, patch in patches.items():
                self._client.request("PATCH", path, patch, {"fieldManager": "gitops-fleet"}, MERGE)
        return ManualReport(state=self._wish.state, changed=bool(patches), nodes=nodes, patches=patches)


def _patch_of(document: Document) -> tuple[str, Document]:
    """A NodePool, or the part of one that is to change, as a merge patch. FleetError with all its problems."""
    found = examine(document)
    name = str((document.get("metadata") or {}).get("name") or "")
    problems = [Problem(each.code, each.message, f"NodePool/{name} {each.path}", each.hint) for each in found.problems]
    if found.fragment or not name:
        problems.append(Problem("missing-field", "apiVersion, kind and metadata.name are needed", "patches"))
    if problems:
        raise FleetError.of(problems)
    metadata = {key: each for key, each in document["metadata"].items() if key in ("labels", "annotations")}
    patch: Document = {"spec": dict(found.repaired.get("spec") or {})}
    return name, {**patch, **({"metadata": metadata} if metadata else {})}
