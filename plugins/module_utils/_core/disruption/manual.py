# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that somebody deletes by hand: by name, of one pool, or all that Karpenter manages.

No budget holds such a deletion back, so that more than one node needs its number confirmed.
"""

from __future__ import annotations

import typing as t

from ..cluster.cluster_state import ClusterState
from ..cluster.state_node import StateNode
from ..errors import FleetError, Problem


def nodes_by_name(state: ClusterState, names: t.Iterable[str]) -> tuple[str, ...]:
    """These names, sorted and each once. FleetError ``empty-name`` for an empty one and for none, which is never "all",
    ``unknown-node`` where no Node stands behind one."""
    wanted = sorted(set(names))
    there = {each.name for each in state.nodes if each.node is not None}
    problems = [_empty("node") for name in wanted if not name.strip()]
    problems += [
        Problem("unknown-node", f"there is no node {name}", name)
        for name in wanted
        if name.strip() and name not in there
    ]
    if not wanted:
        problems.append(_empty("node"))
    if problems:
        raise FleetError.of(problems)
    return tuple(wanted)


def nodes_of_pool(state: ClusterState, pool: str, confirmed: int | None) -> tuple[str, ...]:
    """The names of the nodes that a pool has, which also go when it is deleted, sorted; a NodeClaim without a Node is
    one under its own name. FleetError ``empty-name``, ``count-not-confirmed`` unless their number is."""
    if not pool.strip():
        raise FleetError.of([_empty("pool")])
    return _confirmed([each for each in state.nodes if each.pool == pool], f"pool {pool}", confirmed)


def _confirmed(nodes: t.Sequence[StateNode], what: str, confirmed: int | None) -> tuple[str, ...]:
    if confirmed != len(nodes):
        given = "no number was" if confirmed is None else f"{confirmed} was"
        raise FleetError(
            "count-not-confirmed",
            f"{what}: {len(nodes)} nodes would go, and {given} confirmed; budgets do not hold this back",
            what,
            f"confirm {len(nodes)}",
        )
    return tuple(sorted(each.name for each in nodes))


def _empty(kind: str) -> Problem:
    return Problem("empty-name", f"the name of the {kind} is empty", kind, f"name a {kind}; empty is never all of them")
