# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What Karpenter would do to the nodes of members, node by node (``keep``, ``delete``, ``replace``, ``saving``,
``held``, ``needs_catalogue``): by its next pass, held against a later look, and to each other node alone."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ...cluster.state_node import StateNode
from ...objects.karpenter.node_pool import EMPTY_REASON
from ..methods.candidates import EMPTINESS
from ..methods.check_again import Checked, check_again
from ..methods.commands import EMPTY, Command, RefusedCommand, Replacement
from ..methods.consolidation import Consolidation
from ..methods.consolidation_candidates import why_not_consolidated, why_not_emptied
from ..methods.method_input import MethodInput
from ..methods.passes import Pass, pass_of
from ..scheduling.settings import DEFAULTS, Settings
from ..scheduling.simulation import Move
from .catalogue import Catalogue
from .member_nodes import DAEMON_SET, NODE_CLAIM, NODE_POOL, PDB, POD, MemberNodes

KEEP = "keep"
NEEDED = (NODE_POOL, NODE_CLAIM, PDB, DAEMON_SET, POD)
# What a list of instance types could change; without one, only types that nodes have already are known.
OPEN = frozenset(
    (
        "price-unknown",
        "not-cheaper",
        "same-type",
        "pods-do-not-fit",
        "several-new-nodes",
        "min-values",
        "spot-not-flexible",
    )
)


@dataclass(frozen=True, kw_only=True)
class NodePlan:
    """``decision`` (``keep``, ``delete`` or ``replace``) with the ``reason`` that budgets know, empty for a node that
    is kept; ``code`` and ``text`` say why.

    ``next``: the next pass does it, together with the nodes in ``together``. ``moves`` are where its own pods go.
    ``saving`` is per hour and that of the whole command, None where a price is not known. ``held`` is what it waits for
    although it is worth it. ``needs_catalogue``: a list of instance types might change the answer.
    """

    node: str
    pool: str
    decision: str
    code: str
    text: str
    reason: str = ""
    next: bool = False
    together: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    replacements: tuple[Replacement, ...] = ()
    saving: float | None = None
    held: str = ""
    needs_catalogue: bool = False

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields by their names, but ``moves`` as ``pods``, the new home of each pod by its
        key."""
        simple = ("node", "pool", "decision", "reason", "code", "text", "next", "saving", "held", "needs_catalogue")
        return {name: getattr(self, name) for name in simple} | {
            "together": list(self.together),
            "pods": {each.pod: each.target for each in self.moves},
            "replacements": [each.as_dict() for each in self.replacements],
        }


@dataclass(frozen=True, kw_only=True)
class MemberPlan:
    """``unknown``: why there is no plan, in words. ``given``: a list of instance types was. ``again``: what became of
    each command at a later look, if there was one."""

    member: str
    given: bool = False
    commands: tuple[Command, ...] = ()
    nodes: tuple[NodePlan, ...] = ()
    unknown: str = ""
    again: tuple[Checked, ...] = ()

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: ``given`` as ``catalogue`` (``given`` or ``observed``), ``commands`` as ``next``."""
        return {
            "member": self.member,
            "catalogue": "given" if self.given else "observed",
            "next": [each.as_dict() for each in self.commands],
            "again": [each.as_dict() for each in self.again],
            "nodes": [each.as_dict() for each in self.nodes],
            "unknown": self.unknown,
        }


def consolidation_plans(
    members: t.Iterable[MemberNodes],
    catalogue: Catalogue,
    now: datetime,
    settings: Settings = DEFAULTS,
    names: t.Collection[str] = (),
) -> tuple[MemberPlan, ...]:
    """A plan for each member that has Karpenter, at an aware instant, its nodes by name, those that Karpenter overlooks
    included; ``unknown`` where something was not read. ``names`` leaves only these nodes (none: all), while
    ``commands`` are still all of the pass. Errors as of ``pass_of`` and ``Catalogue.put_into``."""
    return tuple(_plan(each, catalogue, now, settings, names) for each in members if each.karpenter)


def looked_again(
    plan: MemberPlan, member: MemberNodes, catalogue: Catalogue, now: datetime, settings: Settings = DEFAULTS
) -> MemberPlan:
    """The same plan, each of whose commands is held against the member as it is at a later instant (``again``); where
    that could not be read, with ``unknown`` saying why instead. Errors as of ``check_again`` and
    ``Catalogue.put_into``."""
    unknown = _why_unknown(member)
    if unknown:
        return replace(plan, unknown=unknown)
    state = catalogue.put_into(member.state)
    return replace(plan, again=tuple(check_again(each, state, now, settings) for each in plan.commands))


def _plan(
    member: MemberNodes, catalogue: Catalogue, now: datetime, settings: Settings, names: t.Collection[str]
) -> MemberPlan:
    """The plan of one member, as of ``consolidation_plans``, errors included; nothing but ``unknown`` where something
    was not read."""
    unknown = _why_unknown(member)
    if unknown:
        return MemberPlan(member=member.name, given=catalogue.given, unknown=unknown)
    look = MethodInput(catalogue.put_into(member.state), now, settings)
    done = pass_of(look)
    told = _Nodes(look, done, catalogue.given)
    rows = [told.row_of(each) for each in look.state.nodes if not names or each.name in names]
    rows += [_overlooked(each) for each in look.state.overlooked if not names or each.name in names]
    rows.sort(key=lambda one: one.node)
    return MemberPlan(member=member.name, given=catalogue.given, commands=done.commands, nodes=tuple(rows))


def _overlooked(node: StateNode) -> NodePlan:
    """The row of a node that Karpenter does not look at yet: it is kept."""
    text = f"node {node.name} is overlooked by Karpenter: it names a pool, and does not say its instance type"
    return NodePlan(node=node.name, pool=node.pool, decision=KEEP, code="overlooked", text=text)


def _why_unknown(member: MemberNodes) -> str:
    """Why there can be no plan, in words: the first of the kinds, pods or DaemonSets that were not read, for a plan
    without it would be of another cluster. Empty if all were."""
    for kind in NEEDED:
        if kind in member.missing:
            return f"{kind} could not be read: {member.missing[kind].message}"
    if not member.pods_read:
        return "pods were not read"
    return "DaemonSets were not read" if member.daemons is None else ""


class _Nodes:
    """What is told of single nodes of one look."""

    def __init__(self, look: MethodInput, done: Pass, given: bool) -> None:
        """Judges all nodes of ``look`` and picks the candidates; ``done`` is its pass, ``given`` whether there is a
        list of instance types. ValueError as of ``MethodInput.candidates``."""
        self._look, self._given = look, given
        self._next = {name: each for each in done.commands for name in each.nodes}
        self._blocked = {each.node: each.blockers for each in look.verdicts() if each.blockers}
        self._candidates = {each.name: each for each in look.candidates()}
        self._work = Consolidation(look)

    def row_of(self, node: StateNode) -> NodePlan:
        """The row of a node: what the pass does with it, else the gates that block it, else what would be done with it
        alone. Errors as of ``pass_of``."""
        command = self._next.get(node.name)
        if command is not None:
            return self._gone(node, command, True)
        blocked = self._blocked.get(node.name)
        if blocked:
            text = "; ".join(each.text for each in blocked)
            return NodePlan(node=node.name, pool=node.pool, decision=KEEP, code=blocked[0].code, text=text)
        found = self._alone(node)
        if isinstance(found, Command):
            return self._gone(node, found, False)
        unsure = not self._given and found.code in OPEN
        text = found.text.removeprefix(f"{node.name}: ")
        return NodePlan(
            node=node.name, pool=node.pool, decision=KEEP, code=found.code, text=text, needs_catalogue=unsure
        )

    def _alone(self, node: StateNode) -> Command | RefusedCommand:
        """What would be done with a candidate as if no other node went, budgets left aside: an empty one as of
        emptiness, others as of consolidation. Errors as of ``pass_of``."""
        one = self._candidates[node.name]
        why = why_not_emptied(self._look, one) if one.empty else why_not_consolidated(self._look, one)
        if why is not None:
            return RefusedCommand((one.name,), why.code, why.text)
        if not one.empty:
            return self._work.alone(one)
        return Command(
            method=EMPTINESS,
            reason=EMPTY_REASON,
            motive=EMPTY,
            nodes=(one.name,),
            saving=one.price,
            source_cost=one.price,
            text="an empty node",
        )

    def _gone(self, node: StateNode, command: Command, now: bool) -> NodePlan:
        """The row of a node that a command deletes or replaces; ``now``: by the next pass."""
        return NodePlan(
            node=node.name,
            pool=node.pool,
            decision=command.decision,
            code=command.motive,
            text=command.text,
            reason=command.reason,
            next=now,
            together=tuple(each for each in command.nodes if each != node.name),
            moves=tuple(each for each in command.moves if each.source == node.name),
            replacements=command.replacements,
            saving=command.saving,
            held="" if now else self._held(node.pool, command.reason),
            needs_catalogue=not self._given and bool(command.replacements),
        )

    def _held(self, pool: str, reason: str) -> str:
        """Why a node of the pool waits, in words: its budget for the reason is used up, or else other nodes go before
        it."""
        allowance = self._look.allowances(reason).get(pool)
        if allowance is not None and allowance.allowed <= 0:
            return f"pool {pool}: {allowance.text}"
        return "other nodes go before it"
