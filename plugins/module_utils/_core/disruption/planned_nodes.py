# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What all NodePools and node classes that a program (Pulumi) is about to write or delete on a member do to its nodes
together: nodes that go, refusals (problems, ``allow_subnet_move``), notes."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..cluster.cluster_state import ClusterState, StatePool
from ..errors import Problem
from ..objects.karpenter.node_pool import KIND as NODE_POOL
from ..objects.karpenter.node_pool import decode_node_pool
from ..values.listed import number_of
from .budgets.lint import ERROR, Lint
from .node_source import NodeSource, effect_of
from .subnet_change import MIGRATION, Network


@dataclass(frozen=True, kw_only=True)
class NodesPlan:
    """``nodes`` are replaced or go, by name with the reason, of several the last one; ``problems`` are refusals;
    ``notes`` are for people: nodes that go or may go, and other findings; each begins with the member."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def plan_changes(
    changes: t.Iterable[NodeSource], state: ClusterState, network: Network, where: str, allow_move: bool = False
) -> NodesPlan:
    """What changes of one member, which ``where`` names, do to its nodes. ``network`` and ``allow_move`` are as of
    ``effect_of``; a subnet needs room for what the pools may become by these very changes. Nodes of which nobody can
    tell are only named in ``notes``. FleetError as of ``effect_of_edit``."""
    changes = tuple(changes)
    state = replace(state, pools=_pools(changes, state))
    nodes: dict[str, str] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    for each in changes:
        found = effect_of(each, state, network, allow_move)
        nodes |= found.drifted
        if found.drifted:
            notes.append(f"{where}: {_told(each)} {number_of(len(found.drifted), 'node')}: {', '.join(found.drifted)}")
        for why, names in _by_cause(found.unsure).items():
            count = number_of(len(names), "node")
            told = f"this change of {each.kind} {each.name} may replace {count}: {', '.join(names)}"
            notes.append(f"{where}: {told} ({why})")
        place = f"{where}: {each.kind}/{each.name}"
        problems += [_refused(one, place) for one in found.findings if one.level == ERROR]
        notes += [f"{place} {one.path}: {one.message}" for one in found.findings if one.level != ERROR]
    return NodesPlan(nodes=nodes, problems=tuple(problems), notes=tuple(notes))


def _pools(changes: t.Iterable[NodeSource], state: ClusterState) -> dict[str, StatePool]:
    """The pools by name as they are when all is written. FleetError ``undecodable``."""
    pools = dict(state.pools)
    for each in changes:
        if each.kind == NODE_POOL and each.after is None:
            pools.pop(each.name, None)
        elif each.kind == NODE_POOL and each.after is not None:
            pools[each.name] = StatePool(decode_node_pool(each.after))
    return pools


def _told(change: NodeSource) -> str:
    """The beginning of a note, up to the number of nodes: ``deleting NodePool a ends``, ``this change of NodePool a
    replaces``."""
    about = f"{change.kind} {change.name}"
    return f"deleting {about} ends" if change.after is None else f"this change of {about} replaces"


def _by_cause(unsure: t.Mapping[str, str]) -> dict[str, list[str]]:
    """Names of nodes by why nobody can tell of them, in their order."""
    found: dict[str, list[str]] = {}
    for name, why in unsure.items():
        found.setdefault(why, []).append(name)
    return found


def _refused(finding: Lint, place: str) -> Problem:
    """A finding as a refusal, with how to get by it where that is possible."""
    hint = "allow_subnet_move: true if that is meant" if finding.code == MIGRATION else ""
    return Problem(finding.code, finding.message, f"{place} {finding.path}", hint)
