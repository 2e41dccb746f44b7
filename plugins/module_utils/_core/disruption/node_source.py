# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What writing or deleting one NodePool or node class does to the nodes of a cluster (``drifted``, ``unsure``), fields
changed, findings about the subnet of an AKSNodeClass, and how many nodes that class may come to have."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..cluster.cluster_state import ClusterState, class_reference
from ..errors import FleetError
from ..objects.karpenter.node_class import AKS_GROUP, AKS_NODE_CLASS
from ..objects.karpenter.node_pool import KIND as NODE_POOL
from ..objects.karpenter.node_pool import NodePool
from ..values.field_path import field as value_of
from ..values.quantity import NANO, read_quantity
from .budgets.lint import ERROR, Lint
from .drift_edits import effect_of_edit, nodes_made_from
from .subnet_change import MIGRATION, PATH, Network, check_subnet_change

Document = Mapping[str, t.Any]


@dataclass(frozen=True)
class NodeSource:
    """A NodePool or node class that is written, as the server stores it. ``before`` is None if it is not there yet,
    ``after`` if it is deleted."""

    kind: str
    name: str
    before: Document | None
    after: Document | None


@dataclass(frozen=True, kw_only=True)
class SourceEffect:
    """``changed`` are the paths of fields with their class, for an object that is there before and after; ``drifted``
    the nodes that are replaced or go, ``unsure`` those of which nobody can tell, by name with why. ``count``: how many
    nodes come from the object, 0 for a class that goes. ``findings`` are as of ``check_subnet_change``."""

    changed: tuple[tuple[str, str], ...] = ()
    drifted: Mapping[str, str] = field(default_factory=dict)
    unsure: Mapping[str, str] = field(default_factory=dict)
    count: int = 0
    findings: tuple[Lint, ...] = ()


def effect_of(change: NodeSource, state: ClusterState, network: Network, allow_move: bool = False) -> SourceEffect:
    """What writing or deleting the object does to nodes: one that is new replaces none, a class that goes takes none
    with it. The subnet of an AKSNodeClass is judged by ``network``; ``allow_move`` lets a move between good ones
    through, with a warning. FleetError as of ``effect_of_edit``, for an edit alone."""
    if change.after is None:
        return _of_deletion(change, state)
    findings = _of_subnet(change, state, network, allow_move)
    if change.before is None:
        return SourceEffect(findings=findings)
    found = effect_of_edit(change.kind, change.before, change.after, state)
    return SourceEffect(
        changed=found.changed,
        drifted={name: f"{why.reason}: {why.text}" for name, why in found.drifted.items()},
        unsure=found.unsure,
        count=len(nodes_made_from(change.kind, change.name, state)),
        findings=findings,
    )


def most_nodes_of_class(name: str, state: ClusterState) -> int:
    """How many nodes an AKSNodeClass may come to have: those that there are and as many more as ``limits.nodes`` of its
    pools admits; a pool without a readable limit adds none. References without a kind or group count."""
    limits = {each.name: _limit(each.pool) for each in state.pools.values() if _is_of_class(each.pool, name)}
    more = (limit - len(nodes_made_from(NODE_POOL, pool, state)) for pool, limit in limits.items())
    return len(nodes_made_from(AKS_NODE_CLASS, name, state)) + sum(max(each, 0) for each in more)


def _is_of_class(pool: NodePool, name: str) -> bool:
    """Whether the pool makes its nodes of the AKSNodeClass of that name; a reference without a kind or group may."""
    found = class_reference(pool)
    return found.name == name and found.kind in ("", AKS_NODE_CLASS) and found.group in ("", AKS_GROUP)


def _of_deletion(change: NodeSource, state: ClusterState) -> SourceEffect:
    """What a deletion does: a pool takes the nodes with it that have a NodeClaim, while others only name it; a class
    takes none, for its finalizer keeps it until its nodes are gone."""
    gone = change.kind == NODE_POOL
    names = [each.name for each in nodes_made_from(NODE_POOL, change.name, state)] if gone else []
    why = dict.fromkeys(names, f"its NodePool {change.name} is deleted")
    return SourceEffect(drifted=why, count=len(names))


def _of_subnet(change: NodeSource, state: ClusterState, network: Network, allow_move: bool) -> tuple[Lint, ...]:
    """The findings about the subnet of an AKSNodeClass that is written, none for other kinds; a FleetError of the check
    is a finding. The subnet of a class that is new is no move."""
    if change.kind != AKS_NODE_CLASS:
        return ()
    fresh = change.before is None
    asked = replace(network, nodes=max(network.nodes, most_nodes_of_class(change.name, state)))
    try:
        found = check_subnet_change(_subnet(change.before), _subnet(change.after), asked, allow_move or fresh)
    except FleetError as error:
        return tuple(Lint(code=each.code, level=ERROR, path=PATH, message=each.message) for each in error.problems)
    return tuple(each for each in found if not (fresh and each.code == MIGRATION))


def _subnet(document: Document | None) -> str:
    """``spec.vnetSubnetID`` of a manifest; empty where it is missing."""
    return str(value_of(document, "spec.vnetSubnetID") or "")


def _limit(pool: NodePool) -> int:
    """``limits.nodes`` of a pool, rounded down; 0 where there is none, or none that can be read."""
    try:
        return read_quantity(value_of(pool.manifest, "spec.limits.nodes") or 0).nanos // NANO
    except ValueError:
        return 0
