# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes somebody deletes by hand: by their names (``unknown-node``, ``empty-name``), all of a pool, or what goes
with its NodePool; how many has to be confirmed (``count-not-confirmed``), as no budget holds such a deletion back."""

from __future__ import annotations

import typing as t

from ..cluster.cluster_state import ClusterState
from ..cluster.state_node import StateNode
from ..errors import FleetError, Problem
from ..values.listed import number_of


def nodes_by_name(state: ClusterState, names: t.Iterable[str]) -> tuple[str, ...]:
    """The names of Nodes that somebody deletes, sorted and each once. FleetError with all problems: ``empty-name`` for
    a blank one, and for no name, which is never "all"; ``unknown-node`` where no Node in ``state.nodes`` has one (with
    those that Karpenter overlooks only as of ``with_overlooked``)."""
    wanted = sorted(set(names))
    there = {each.node_name for each in state.nodes if each.node is not None}
    problems = [_empty_name("node") for name in wanted if not name.strip()]
    problems += [
        Problem("unknown-node", f"there is no node {name}", name)
        for name in wanted
        if name.strip() and name not in there
    ]
    if not wanted:
        problems.append(_empty_name("node"))
    if problems:
        raise FleetError.of(problems)
    return tuple(wanted)


def nodes_of_pool(state: ClusterState, pool: str, confirmed: int | None) -> tuple[str, ...]:
    """The names of the Nodes in ``state.nodes`` that belong to a pool, sorted, those without a NodeClaim and those on
    their way out too. FleetError ``empty-name`` for a blank pool, ``count-not-confirmed`` unless ``confirmed`` is their
    number, 0 too."""
    found = [each.node_name for each in _of_pool(state, pool) if each.node is not None]
    return _confirmed(found, f"pool {pool}", confirmed)


def gone_with_pool(state: ClusterState, pool: str, confirmed: int | None) -> tuple[str, ...]:
    """The names of what goes with a NodePool that is deleted, sorted: its NodeClaims, each under the name of its Node,
    or its own without one, those on their way out too. FleetError as of ``nodes_of_pool``."""
    found = [each.node_name or each.name for each in _of_pool(state, pool) if each.claim is not None]
    return _confirmed(found, f"pool {pool}", confirmed)


def _of_pool(state: ClusterState, pool: str) -> list[StateNode]:
    """The nodes of a pool, NodeClaims without a Node included. FleetError ``empty-name`` for a blank name."""
    if not pool.strip():
        raise FleetError.of([_empty_name("pool")])
    return [each for each in state.nodes if each.pool == pool]


def _confirmed(names: t.Sequence[str], what: str, confirmed: int | None) -> tuple[str, ...]:
    """The names, sorted. FleetError ``count-not-confirmed`` unless ``confirmed`` is their number; ``what`` names where
    they are."""
    if confirmed != len(names):
        given = "no number was" if confirmed is None else f"{confirmed} was"
        raise FleetError(
            "count-not-confirmed",
            f"{what}: {number_of(len(names), 'node')} would go, and {given} confirmed; budgets do not hold this back",
            what,
            f"confirm {len(names)}",
        )
    return tuple(sorted(names))


def _empty_name(kind: str) -> Problem:
    """The problem ``empty-name``; ``kind`` is ``node`` or ``pool``."""
    return Problem("empty-name", f"the name of the {kind} is empty", kind, f"name a {kind}; empty is never all of them")
