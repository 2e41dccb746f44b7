# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The pools of a member that have budgets (NodePools, and what a NodeRotation selects) with their census, in which for
a rotation every Node counts, whoever made it; which members and nodes a rotation takes (selectors)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...cluster.counted_node import CountedNode
from ...cluster.state_node import StateNode
from ...objects.clusters.node_rotation import NodeRotation
from ...objects.karpenter.node_pool import Budget
from ...values.selector import compile_selector
from ...values.selector_text import parse_selector
from ..budgets.census import NodeCensus, take_census
from ..origins import disrupted_by
from .member_nodes import NODE_CLAIM, MemberNodes

KARPENTER, ROTATION = "NodePool", "NodeRotation"
# Whether a node with these labels belongs to the pool.
Holds = t.Callable[[Mapping[str, str]], bool]


@dataclass(frozen=True, kw_only=True)
class BudgetedPool:
    """A pool of one member: ``name`` is that of its NodePool, or of the NodeRotation that selects its nodes, by
    ``kind``."""

    member: str
    name: str
    kind: str
    budgets: tuple[Budget, ...]
    census: NodeCensus


def budgeted_pools(member: MemberNodes, rotations: t.Iterable[NodeRotation]) -> tuple[BudgetedPool, ...]:
    """What has budgets on the member: its NodePools by name, each with its nodes that Karpenter looks at, then the
    ``rotations`` that take the member, by name, as of ``rotation_census``; those without nodes, too. NodePools are left
    out where NodeClaims could not be read: nobody knows then which nodes count. ValueError for a selector that is
    none."""
    census = take_census(each.counted() for each in member.state.nodes)
    pools = () if NODE_CLAIM in member.missing else sorted(member.pools, key=lambda one: one.name)
    ours = (
        each for each in sorted(rotations, key=lambda one: one.name) if takes(each, member.name, member.known_labels)
    )
    return (
        *(
            BudgetedPool(
                member=member.name,
                name=each.name,
                kind=KARPENTER,
                budgets=each.disruption.budgets,
                census=census.get(each.name, NodeCensus()),
            )
            for each in pools
        ),
        *(
            BudgetedPool(
                member=member.name,
                name=each.name,
                kind=ROTATION,
                budgets=each.budgets,
                census=rotation_census(member, each),
            )
            for each in ours
        ),
    )


def rotation_census(member: MemberNodes, rotation: NodeRotation) -> NodeCensus:
    """The nodes that a rotation selects on a member, as its budgets count them (``member_census``). ValueError for a
    selector that is none."""
    return member_census(member, compile_node_selector(rotation))


def member_census(member: MemberNodes, holds: Holds | None = None) -> NodeCensus:
    """All Nodes of the member, or those that ``holds`` selects by their own labels, as one pool without a name: each
    counts, whoever made it, those that Karpenter overlooks too. Disrupting is also one that is being deleted, or that
    one of our verbs has in hand; excluded, one with a NodeClaim that is not initialized or whose instance
    terminates."""
    there = ((each, each.node) for each in member.whole.nodes if each.node is not None)
    counted = [_counted(each) for each, node in there if holds is None or holds(node.labels)]
    return take_census(counted).get("", NodeCensus())


def takes(rotation: NodeRotation, member: str, labels: Mapping[str, str] | None) -> bool:
    """Whether the member with these labels takes part: it is named, if members are, and its labels are selected, if
    there is a selector; labels that are not known (None) are selected by none. ValueError for a selector that is
    none."""
    selector, names = rotation.spec.member_selector, rotation.spec.members
    if names and member not in names:
        return False
    if selector is None:
        return True
    matches = compile_selector(parse_selector(selector.by_label))
    return labels is not None and matches(labels)


def compile_node_selector(rotation: NodeRotation) -> Holds:
    """A function that tells by a node's labels whether it belongs to the rotation's pool; every node does if the
    rotation selects none. ValueError for a selector that is none."""
    selector = rotation.spec.nodes
    return _everything if selector is None else compile_selector(parse_selector(selector.by_label))


def _counted(node: StateNode) -> CountedNode:
    """The node as one of a single pool without a name, whoever made it: without a NodeClaim it is initialized by being
    there, and it leaves also if the Node is deleted or one of our verbs has marked it."""
    found, there = node.counted(), node.node
    emptied = there is not None and (there.deleting or bool(disrupted_by(there.annotations)))
    leaving = found.node_claim_deleting or emptied
    initialized = node.claim is None or node.initialized
    return replace(found, pool="", has_node_claim=True, initialized=initialized, node_claim_deleting=leaving)


def _everything(_labels: Mapping[str, str]) -> bool:
    """True, whatever the labels."""
    return True
