# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes are replaced, or go, by the NodePools and node classes that placements bring to members or take off them,
as notes of a plan (``nodes-replaced``, ``nodes-unsure``, ``nodes-unread``) beside what is wrong with a new subnet."""

from __future__ import annotations

import copy
import typing as t
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...errors import Problem
from ...objects.karpenter.node_pool import KIND as NODE_POOL
from ...values.field_path import set_at
from ...values.listed import listed, number_of
from ..budgets.lint import ERROR
from ..drift_edits import nodes_made_from
from ..node_source import NodeSource, SourceEffect, effect_of
from ..subnet_change import Network
from .class_changes import KINDS, as_edited, source_on
from .member_nodes import NODE, NODE_CLAIM, NODE_CLASS, UNWANTED, Document, MemberNodes

GROUPS = ("karpenter.sh", "karpenter.azure.com", "karpenter.k8s.aws")
MEMBERS, CAUSES = 12, 3
_NEVER_READ = tuple(f"spec.{each}" for each in UNWANTED)


@dataclass(frozen=True, kw_only=True)
class PlacedSource:
    """A NodePool or node class that ``placement`` sends to ``member`` as ``document``, or takes off it for None.
    ``changed`` are the paths of fields that it sent otherwise before, such as ``spec.weight``, ``given_up`` those that
    it sends no more; both are empty where nobody knows."""

    placement: str
    member: str
    kind: str
    name: str
    document: Mapping[str, t.Any] | None
    changed: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()

    @property
    def about(self) -> tuple[str, str, str]:
        """The placement, and kind and name of the object, which is another one on each member."""
        return self.placement, self.kind, self.name


@dataclass
class _Found:
    """What becomes of nodes by one object: which are replaced or may be, by member, and why; subnet problems with their
    members; members of which nobody knows the nodes."""

    replaced: dict[str, frozenset[str]] = field(default_factory=dict)
    unsure: dict[str, frozenset[str]] = field(default_factory=dict)
    causes: dict[str, None] = field(default_factory=dict)
    doubts: dict[str, None] = field(default_factory=dict)
    refused: dict[tuple[str, str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    unread: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ReplacedNodes:
    """``notes`` about each object; by placement the ``nodes`` that are replaced or may be, each by its member and name,
    and the members of which that is not known (``unread``)."""

    notes: tuple[Problem, ...]
    nodes: Mapping[str, frozenset[tuple[str, str]]]
    unread: Mapping[str, frozenset[str]]


def replaced_nodes(sources: t.Iterable[PlacedSource], members: Mapping[str, MemberNodes]) -> ReplacedNodes:
    """What becomes of nodes by what ``members`` had, with notes about each object in the order in which they first
    come: how many nodes of which members are replaced or go, which may be, and of which members nobody knows it. An
    object that is new on a member replaces none there. Subnets of an AKSNodeClass are judged without a word about
    their network. FleetError ``undecodable`` for a document that cannot be read."""
    found: dict[tuple[str, str, str], _Found] = defaultdict(_Found)
    for each in sources:
        member, told = members.get(each.member), found[each.about]
        if member is None or not {_listed_as(each.kind), NODE, NODE_CLAIM}.isdisjoint(member.missing):
            told.unread.append(each.member)
            continue
        before = source_on(member, each.kind, each.name)
        if before is not None:
            _add(told, each, member, _effect(each, before, member))
    nodes: dict[str, frozenset[tuple[str, str]]] = defaultdict(frozenset)
    unread: dict[str, frozenset[str]] = defaultdict(frozenset)
    for (placement, _kind, _name), told in found.items():
        unread[placement] |= frozenset(told.unread)
        for by_member in (told.replaced, told.unsure):
            nodes[placement] |= {(member, node) for member, names in by_member.items() for node in names}
    notes = tuple(problem for about, told in found.items() for problem in _notes(about, told))
    return ReplacedNodes(notes=notes, nodes=nodes, unread=unread)


def _listed_as(kind: str) -> str:
    """Under which of the kinds that are read of a member it stands."""
    return kind if kind == NODE_POOL else NODE_CLASS


def _effect(source: PlacedSource, before: Document, member: MemberNodes) -> SourceEffect:
    """What the object does on a member that has it as ``before``; FleetError as of ``effect_of``."""
    after = None if source.document is None else as_edited(before, source.document.get("spec"))
    if after is not None and source.given_up:
        after = copy.deepcopy(after)
        for path in source.given_up:
            set_at(after, path, None)
    return effect_of(NodeSource(source.kind, source.name, before, after), member.whole, Network())


def _add(told: _Found, source: PlacedSource, member: MemberNodes, effect: SourceEffect) -> None:
    """Counts an effect on a member; a field that is never read there may change, and drift every node."""
    unsure = dict(effect.unsure)
    hidden = [each for each in source.changed if each in _NEVER_READ]
    if hidden and source.kind != NODE_POOL:
        nodes = nodes_made_from(source.kind, source.name, member.whole)
        unsure |= {each.name: f"{', '.join(hidden)} changes, which is never read" for each in nodes}
    unsure = {name: why for name, why in unsure.items() if name not in effect.drifted}
    if effect.drifted:
        told.replaced[member.name] = frozenset(effect.drifted)
        told.causes |= dict.fromkeys(effect.drifted.values())
    if unsure:
        told.unsure[member.name] = frozenset(unsure)
        told.doubts |= dict.fromkeys(unsure.values())
    for each in effect.findings:
        if each.level == ERROR:
            told.refused[each.code, each.path, each.message].append(member.name)


def _notes(about: tuple[str, str, str], told: _Found) -> t.Iterator[Problem]:
    """The notes about one object."""
    placement, kind, name = about
    where = f"{placement} {kind}/{name}"
    if told.replaced:
        text = f"{_counted(told.replaced)} will be replaced or end: {_by_member(told.replaced)}"
        yield Problem("nodes-replaced", f"{text} ({listed(list(told.causes), CAUSES, '; ')})", where)
    if told.unsure:
        text = f"{_counted(told.unsure)} may be replaced: {_by_member(told.unsure)}"
        yield Problem("nodes-unsure", f"{text} ({listed(list(told.doubts), CAUSES, '; ')})", where)
    for (code, path, message), members in told.refused.items():
        yield Problem(code, f"{message}: on {listed(members, MEMBERS)}", f"{where} {path}")
    if told.unread:
        text = f"which nodes it replaces is not known of {number_of(len(told.unread), 'cluster')}, whose nodes"
        yield Problem("nodes-unread", f"{text} were not read: {listed(told.unread, MEMBERS)}", where)


def _counted(nodes: Mapping[str, frozenset[str]]) -> str:
    """``1,200 nodes on 3 clusters``."""
    return f"{number_of(sum(map(len, nodes.values())), 'node')} on {number_of(len(nodes), 'cluster')}"


def _by_member(nodes: Mapping[str, frozenset[str]]) -> str:
    """Members with the number of their nodes, most first: ``east (40), west (5)``."""
    rows = sorted(nodes.items(), key=lambda each: (-len(each[1]), each[0]))
    return listed([f"{name} ({len(names)})" for name, names in rows], MEMBERS)


def is_source(group: str, kind: str) -> bool:
    """Whether an object of that API group and kind is one that nodes come from, and whose edits can be foreseen."""
    return group in GROUPS and kind in KINDS
