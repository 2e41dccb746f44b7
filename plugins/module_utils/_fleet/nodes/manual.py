# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What somebody does by hand on a member: nodes deleted or protected, NodePools deleted, stopped, released, patched,
node classes patched; told first, with nodes replaced by it (``count-not-confirmed``, ``partly-written``)."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, field

from ..._core.cluster.pod import DO_NOT_DISRUPT
from ..._core.cluster.state_node import StateNode
from ..._core.disruption.blockers import pod_blockers
from ..._core.disruption.manual import gone_with_pool, nodes_by_name, nodes_of_pool
from ..._core.disruption.members.member_nodes import MemberNodes
from ..._core.disruption.node_source import NodeSource, effect_of
from ..._core.disruption.pool_stop import budgets_edited_since, release_patch, stop_patch
from ..._core.disruption.source_patch import PatchLeave, SourcePatch, read_patches, unconfirmed_routes, why_withheld
from ..._core.disruption.subnet_change import Network
from ..._core.errors import FleetError, Problem
from ..._core.objects.audit.audit_entry import (
    FAILED,
    NODES_DISRUPTED,
    NODES_MARKED,
    PARTIAL,
    POOL_PATCHED,
    POOL_RELEASED,
    POOL_STOPPED,
)
from ..._core.objects.audit.audit_entry import POOL_DELETED as POOL_GONE
from ..._core.objects.clusters.node_rotation import BY_HAND, NodeRotation, NodeRotationSpec
from ..._core.objects.karpenter.node_pool import API_VERSION
from ..._core.objects.karpenter.node_pool import KIND as NODE_POOL
from ..._core.schema.meta import ObjectMeta
from ..._core.values.listed import listed, number_of
from ..._core.values.merge_patch import merge_patched
from ..._core.values.selector import compile_selector
from ..._core.values.selector_text import parse_selector
from ..._kube.client import KubeClient, Timeouts
from ..._kube.documents import read_object
from ..._kube.errors import ApiError
from ..audit.evidence import Deed, Testimony, attested
from ..keeping import Keeper
from ..members.members import Clients, Member, members_to_write, no_such_member, open_clients, recorded_members
from ..session import Session
from .deleting import NodeDeletion, delete_nodes
from .draining import MERGE, NODES, Document
from .reading import ReadingWish, read_members
from .replacing import ReplacementWish, driver_of, driver_problems

DELETED, POOL_DELETED = "deleted", "pool_deleted"
STOPPED, RELEASED, PATCHED = "stopped", "released", "patched"
PROTECTED, UNPROTECTED = "protected", "unprotected"
NO_POOL, NO_OBJECT = "no-such-pool", "no-such-object"
POOLS = f"/apis/{API_VERSION}/nodepools"
NAMED = 10
# Seconds for which a deletion that was killed keeps others from the nodes of its member.
HELD = 60
ATTEMPTS = 5
_ATTESTED = {STOPPED: POOL_STOPPED, RELEASED: POOL_RELEASED, PROTECTED: NODES_MARKED, UNPROTECTED: NODES_MARKED}
# A deletion by hand waits for no node before it drains another.
NO_PACE = NodeRotation(metadata=ObjectMeta(name=BY_HAND), spec=NodeRotationSpec())


@dataclass(frozen=True, kw_only=True)
class ManualWish:
    """``state`` is one of DELETED to UNPROTECTED; ``names``, ``selector`` or ``pool`` says what is meant, or
    ``patches`` do what PATCHED writes. ``confirmed`` is the number of nodes that somebody means, of no matter for
    ``names``. ``timeout``: seconds for all nodes to be deleted. ``network`` is what a new subnet is judged by. Allowed
    are ``consent``: that nodes drift by a patch and are replaced; ``subnet_move``: that a good subnet is left for
    another; ``routes``: a new one, whose nodes somebody has seen to be reached."""

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
    """``changed``: something was begun, or would be, also if every node stayed: pods may be gone, or Karpenter go on.
    ``nodes`` are those that go or are replaced, or may be (``unsure``), each with what is told of it; ``patches`` are
    what is written to objects, by their path, without secrets; ``failed`` says why nodes stayed, ``unconfirmed`` what a
    person has to look at before it is written."""

    state: str
    changed: bool
    nodes: t.Mapping[str, str] = field(default_factory=dict)
    unsure: frozenset[str] = frozenset()
    patches: t.Mapping[str, Document] = field(default_factory=dict)
    failed: tuple[Problem, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> list[str]:
        """Lines for people: how many ``nodes`` there are, which and why; then the patches, what is unconfirmed, notes,
        and why nodes stay."""
        more = f", {len(self.unsure)} more perhaps" if self.unsure else ""
        lines = [f"{self.state}: {number_of(len(self.nodes) - len(self.unsure), 'node')} replaced or gone by it{more}"]
        lines += [f"  {name}: {why}" for name, why in self.nodes.items()]
        lines += [f"  {path.rpartition('/')[2]}: {patch}" for path, patch in self.patches.items()]
        lines += [f"  unconfirmed: {each}" for each in self.unconfirmed]
        lines += [f"  note: {each}" for each in self.notes]
        return lines + [f"  stays: {each}" for each in self.failed]


def manual(session: Session, wish: ManualWish, write: bool) -> ManualReport:
    """Does what is wished, or without ``write`` tells what it would be. What others write meanwhile is read and judged
    anew, ATTEMPTS times in all; ``conflict`` then. FleetError before anything is written: ``no-such-member``,
    ``empty-name``, ``unknown-node``, ``count-not-confirmed``, ``no-such-pool``, ``no-such-object``,
    ``drift-without-consent`` and ``subnet-routes-unconfirmed`` (with ``write`` alone), ``invalid-label-selector``,
    ``budgets-unknown``, as of ``members_to_write``, ``read_members``, ``driver_problems``, ``read_patches``,
    ``effect_of`` and ``why_withheld``, ``lease-held`` where somebody else deletes nodes of it, ``member-held`` where
    other records have it (nodes to be deleted wait for that), and of a member that cannot be read. A write that failed
    after others has ``partly-written``, which names these."""
    members = members_to_write(session) if write else recorded_members(session.records)
    if wish.member not in members:
        raise FleetError.of([no_such_member(wish.member or "member", members)])
    one = {wish.member: members[wish.member]}
    waits = Timeouts.connecting(wish.reading.timeout)
    fleet = {name: each.fleet for name, each in one.items()}
    with open_clients(session, fleet, timeout=waits, strict=write) as clients:
        for _attempt in range(ATTEMPTS - 1):
            try:
                return _read_and_carry_out(session, clients, one, wish, write)
            except FleetError as error:
                if [each.code for each in error.problems] != ["conflict"]:
                    raise
        return _read_and_carry_out(session, clients, one, wish, write)


def _read_and_carry_out(
    session: Session, clients: Clients, one: t.Mapping[str, Member], wish: ManualWish, write: bool
) -> ManualReport:
    """Reads the member, and does what is wished, or tells it. FleetError as of ``manual``."""
    snapshot = read_members(one, clients, wish.reading, session.clock())
    if snapshot.problems:
        raise FleetError.of(snapshot.problems)
    return _Manual(session, clients, snapshot.members[0], wish, write).done()


class _Manual:
    """One wish for one member, as it was read."""

    def __init__(self, session: Session, clients: Clients, member: MemberNodes, wish: ManualWish, write: bool) -> None:
        self._session, self._clients, self._member, self._wish, self._write = session, clients, member, wish, write

    def done(self) -> ManualReport:
        """Does it, or tells it. FleetError as of ``manual``."""
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
        """The nodes by name, by pool or by label, one of which is given. More than are named need their number
        confirmed. FleetError ``empty-name``, ``invalid-label-selector``, ``count-not-confirmed``, ``no-such-pool``,
        ``unknown-node``."""
        wish, state = self._wish, self._member.whole
        if sum(map(bool, (wish.names, wish.selector, wish.pool))) != 1:
            hint = "nodes, pool or label_selector; empty is never all of them"
            raise FleetError("empty-name", "it is not said which nodes are meant", "nodes", hint)
        if wish.names:
            return nodes_by_name(state, wish.names)
        if wish.pool:
            self._require_pool()
            return nodes_of_pool(state, wish.pool, wish.confirmed)
        try:
            holds = compile_selector(parse_selector(wish.selector))
        except ValueError as error:
            raise FleetError("invalid-label-selector", str(error), "label_selector") from None
        found = tuple(sorted(node.name for each in state.nodes if (node := each.node) and holds(node.labels)))
        if wish.confirmed != len(found):
            given = "no number was" if wish.confirmed is None else f"{wish.confirmed} was"
            count = number_of(len(found), "node", "has", "have")
            text = f"{count} {wish.selector}, and {given} confirmed; budgets do not hold this back"
            raise FleetError("count-not-confirmed", text, self._member.name, f"confirm_count: {len(found)}")
        return found

    def _require_pool(self) -> None:
        """FleetError ``no-such-pool`` if neither nodes nor NodePools of the member have that name."""
        there = {each.pool for each in self._member.whole.nodes} | {each.name for each in self._member.pools}
        if self._wish.pool not in there:
            hint = f"there are: {', '.join(sorted(there - {''})) or 'none'}"
            raise FleetError(NO_POOL, "the member has no such pool", self._wish.pool, hint)

    def _deleted(self) -> ManualReport:
        """The selected nodes drained and deleted, or what would be. FleetError as of ``manual``; who stays is in
        ``failed``."""
        nodes = {each.node_name: each for each in self._member.whole.nodes if each.node is not None}
        names = self._selected()
        where = {f"{self._member.name}/{name}" for name in names}
        problems = list(driver_problems([self._member], where, NO_PACE, self._wish.replacement))
        if problems:
            raise FleetError.of(problems)
        told = {name: self._told(nodes[name], driver_of(nodes[name], self._wish.replacement)) for name in names}
        if not self._write:
            return ManualReport(state=DELETED, changed=bool(names), nodes=told)
        uids = {name: found.uid for name in names if (found := nodes[name].node) is not None}
        wish = NodeDeletion(
            member=self._member.name, uids=uids, replacement=self._wish.replacement, timeout=self._wish.timeout
        )
        with self._alone(), self._attested(NODES_DISRUPTED, sorted(told)) as testimony:
            failed = delete_nodes(self._session, self._clients, wish)
            if failed:
                testimony.end(PARTIAL if len(failed) < len(names) else FAILED, str(failed[0]))
        return ManualReport(state=DELETED, changed=bool(names), nodes=told, failed=failed)

    @contextlib.contextmanager
    def _alone(self) -> t.Iterator[None]:
        """While entered, nobody else deletes nodes of the member by hand, or FleetError ``lease-held``: what one lets
        go the other might just be emptying."""
        with Keeper(self._session.records, self._session.holder, lambda: "", HELD) as keeper:
            keeper.take(f"{BY_HAND}/{self._member.name}")
            yield

    def _told(self, node: StateNode, driver: str) -> str:
        """Who deletes it, and what holds its pods now."""
        held = [each.text for each in pod_blockers(node.pods, self._member.whole.pod_budgets, self._session.clock())]
        return "; ".join((f"by driver {driver}", *held))

    def _pool_deleted(self) -> ManualReport:
        """The NodePool deleted, or its nodes told; Karpenter drains these, and nobody waits. FleetError as of
        ``manual``."""
        self._require_pool()
        names = gone_with_pool(self._member.whole, self._wish.pool, self._wish.confirmed)
        found = next((each for each in self._member.pools if each.name == self._wish.pool), None)
        if found is None:
            raise FleetError(NO_POOL, "no NodePool has that name", self._wish.pool)
        if self._write:
            with (
                self._clients.holding(self._member.name, BY_HAND),
                self._attested(POOL_GONE, sorted(names), pool=found.name),
            ):
                known = {"preconditions": {"uid": found.metadata.uid}} if found.metadata.uid else {}
                body = {"kind": "DeleteOptions", "apiVersion": "v1", **known}
                self._client.delete(f"{POOLS}/{found.name}", body)
        told = dict.fromkeys(names, "drained by Karpenter, for its NodePool goes")
        return ManualReport(state=POOL_DELETED, changed=True, nodes=told)

    def _marked(self) -> ManualReport:
        """do-not-disrupt set on the selected nodes, or lifted, where it is not so already. FleetError as of
        ``manual``."""
        value = "true" if self._wish.state == PROTECTED else None
        names = self._selected()
        there = {each.name: each for each in self._member.nodes}
        wanted = [there[name] for name in names if there[name].annotations.get(DO_NOT_DISRUPT) != value]
        patch: Document = {"metadata": {"annotations": {DO_NOT_DISRUPT: value}}}
        self._put({f"{NODES}/{each.name}": written_over(patch, {"uid": each.uid}) for each in wanted})
        shown = {f"{NODES}/{each.name}": patch for each in wanted}
        return ManualReport(state=self._wish.state, changed=bool(shown), patches=shown)

    def _patched(self) -> ManualReport:
        """Pools stopped, released or edited, and node classes edited; who drifts by it is told, and needs consent. What
        changes nothing is left out. FleetError as of ``manual``."""
        wish, nodes, sure = self._wish, dict[str, str](), set[str]()
        leave = PatchLeave(drift=wish.consent or not self._write, routes=wish.routes or not self._write)
        edits, writes = list[SourcePatch](), dict[str, Document]()
        open_questions, held = list[str](), list[Problem]()
        for each, before in self._with_objects(self._edits()):
            after = merge_patched(before, each.patch)
            if after == before:
                continue
            edits.append(each)
            writes[each.path] = written_over(each.patch, before["metadata"])
            change = NodeSource(each.kind, each.name, before, after)
            found = effect_of(change, self._member.whole, wish.network, wish.subnet_move)
            sure |= found.drifted.keys()
            nodes |= found.drifted
            nodes |= {name: f"perhaps: {why}" for name, why in found.unsure.items() if name not in sure}
            held += why_withheld(each, found, leave, self._member.name)
            if not wish.routes:
                open_questions += [f"{each.kind}/{each.name}: {text}" for text in unconfirmed_routes(found)]
        if held:
            raise FleetError.of(held)
        self._put(writes)
        return ManualReport(
            state=wish.state,
            changed=bool(edits),
            nodes=nodes,
            unsure=frozenset(nodes.keys() - sure),
            patches={each.path: each.shown for each in edits},
            unconfirmed=tuple(open_questions),
            notes=self._lost_edit() if edits else (),
        )

    def _lost_edit(self) -> tuple[str, ...]:
        """Budgets that others have written into a pool since it was stopped, which this replaces for good."""
        pools = {each.name: each.manifest for each in self._member.pools}
        lost = budgets_edited_since(pools.get(self._wish.pool, {})) if self._wish.state in (STOPPED, RELEASED) else None
        return () if lost is None else (f"budgets of {self._wish.pool} written since it was stopped go: {lost}",)

    def _with_objects(self, edits: t.Iterable[SourcePatch]) -> list[tuple[SourcePatch, Document]]:
        """Each with the object as it is; a patch makes none: FleetError ``no-such-pool``, ``no-such-object``, and as of
        ``_before``."""
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
        """The object, None if it is not there. A class is read whole here, for what no snapshot may hold counts,
        too. FleetError of the request."""
        if patch.kind == NODE_POOL:
            return pools.get(patch.name)
        try:
            return read_object(self._client, patch.path, patch.kind)
        except ApiError as error:
            if error.code == "not-found":
                return None
            raise

    def _edits(self) -> tuple[SourcePatch, ...]:
        """The patches that are given, or the one that stops or releases the pool, an empty one if that changes nothing.
        FleetError ``empty-name``, ``budgets-unknown``, and as of ``read_patches``."""
        if self._wish.state == PATCHED:
            return read_patches(self._wish.patches)
        if not self._wish.pool.strip():
            raise FleetError("empty-name", "the name of the pool is empty", "pool", "name a pool")
        make = stop_patch if self._wish.state == STOPPED else release_patch
        pools = {each.name: each.manifest for each in self._member.pools}
        return (SourcePatch(NODE_POOL, self._wish.pool, make(pools.get(self._wish.pool, {})) or {}),)

    def _attested(
        self, action: str, names: t.Sequence[str], pool: str = ""
    ) -> contextlib.AbstractContextManager[Testimony]:
        """Evidence of what is written to the member, by these names of nodes, pools or classes, as of ``attested``."""
        deed = Deed(
            action=action,
            kind="MemberCluster",
            name=self._member.name,
            members=(self._member.name,),
            message=f"{f'pool {pool}: ' if pool else ''}{listed(names, NAMED) or 'no nodes'}",
        )
        return attested(self._session, deed)

    def _put(self, patches: t.Mapping[str, Document]) -> None:
        """Writes them, if anything is to be written, one after the other, each over the object that was judged; with
        evidence, and the member held. FleetError of the first that fails, with what was written by then."""
        if not self._write or not patches:
            return
        written: list[str] = []
        paths = [path.rpartition("/")[2] for path in patches]
        with (
            self._clients.holding(self._member.name, BY_HAND) as keep,
            self._attested(_ATTESTED.get(self._wish.state, POOL_PATCHED), paths, pool=self._wish.pool),
        ):
            for path, patch in patches.items():
                try:
                    keep()
                    self._client.request("PATCH", path, patch, {"fieldManager": "gitops-fleet"}, MERGE)
                except FleetError as error:
                    raise _told_partly(error, written) from None
                written.append(path)


def written_over(patch: Document, judged: t.Mapping[str, t.Any]) -> Document:
    """The patch, which the server refuses for another object, or another version of it, than the metadata ``judged``
    name."""
    known = {key: judged[key] for key in ("uid", "resourceVersion") if judged.get(key)}
    return {**patch, "metadata": {**patch.get("metadata", {}), **known}}


def _told_partly(error: FleetError, written: list[str]) -> FleetError:
    """The error, with a problem ``partly-written`` if something was written before."""
    if not written:
        return error
    done = ", ".join(written)
    return FleetError.of([*error.problems, Problem("partly-written", f"written before that: {done}", "patches")])
