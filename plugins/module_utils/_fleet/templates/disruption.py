# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What budgets of Karpenter NodePools allow now (filter ``allowed_disruptions``), when they open within days
(``disruption_openings``), and what is wrong with them (``lint_budgets``); whether a pod, a node or a NodePool may be
disrupted (test ``disruptable``). All offline."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from ..._core.cluster.cluster_state import ClusterState, assemble
from ..._core.cluster.counted_node import CountedNode
from ..._core.cluster.pod_disruption import disruptable as pod_disruptable
from ..._core.cluster.pod_disruption_budget import read_pod_disruption_budget
from ..._core.cluster.pod_reading import read_pod
from ..._core.cluster.state_node import StateNode, read_node, read_node_claim
from ..._core.disruption.blockers import blockers
from ..._core.disruption.budgets.census import NodeCensus, PoolAllowance, take_census
from ..._core.disruption.budgets.lint import YEAR
from ..._core.disruption.budgets.timeline import now_and_next_change, timeline
from ..._core.disruption.lint_pool import lint_node_pool
from ..._core.errors import FleetError, Problem
from ..._core.foreign import shown_value
from ..._core.objects.karpenter.definition import consolidation_policies
from ..._core.objects.karpenter.node_pool import REASONS, Budget
from ..._core.objects.karpenter.reading import examine
from ..._core.values.instants import write_time
from .given import objects, one_of, whole_number
from .present import given_instant

Row = dict[str, t.Any]
BUDGET_FIELDS = {"nodes", "schedule", "duration", "reasons"}


@dataclass(frozen=True)
class Budgeted:
    """A pool with its budgets; the name is empty for a list of budgets and for fragments."""

    name: str
    budgets: tuple[Budget, ...]
    document: t.Any


def allowed_disruptions(
    pools: t.Any, nodes: t.Any, reason: str | None = None, node_claims: t.Any = None, now: t.Any = None
) -> list[Row]:
    """A row for each pool, in the order given, and reason: what may be disrupted now (``allowed``, None where no budget
    limits it), the arithmetic, and the next change within a year, None if none comes.

    ``nodes`` is a number of nodes that count, or their manifests. Without ``node_claims`` each node with the label of a
    pool counts as having one; a pool without a name has all nodes. ``reason`` None: all of them. ``now`` as of
    ``given_instant``. FleetError ``bad-argument``, ``invalid-time``, with all problems of pools, and as of
    ``read_node`` and ``read_node_claim``.
    """
    at, rows = given_instant(now), []
    reasons = REASONS if reason is None else (one_of(reason, REASONS, "reason"),)
    census = _census(nodes, node_claims)
    for pool in read_pools(pools):
        counted = census(pool.name)
        for each in reasons:
            answer, change = now_and_next_change(pool.budgets, at, counted.total, each, at + YEAR)
            allowance = PoolAllowance(counted, answer).as_dict()
            rows.append({"pool": pool.name} | allowance | {"next_change": change.as_dict() if change else None})
    return rows


def disruption_openings(
    pools: t.Any, nodes: t.Any, reason: str | None = None, days: t.Any = 7, now: t.Any = None
) -> list[Row]:
    """A row for each span of the next ``days`` (1 to 3660, from ``now`` on) in which a pool may lose nodes, for the
    reason or (None) for each: by pool, reason and time. Arguments and FleetErrors as of ``allowed_disruptions``."""
    begin, rows = given_instant(now), []
    until = begin + timedelta(days=whole_number(days, "days", 1, 3660))
    reasons = REASONS if reason is None else (one_of(reason, REASONS, "reason"),)
    census = _census(nodes, None)
    for pool in read_pools(pools):
        for each in reasons:
            found = timeline(pool.budgets, begin, until, census(pool.name).total, each).openings
            rows += [{"pool": pool.name, "reason": each} | opening.as_dict() for opening in found]
    return rows


def lint_budgets(pools: t.Any, nodes: t.Any = None, now: t.Any = None, definition: t.Any = None) -> list[Row]:
    """A row for each finding about each pool: ``pool``, its name, empty for a fragment and a list of budgets, and what
    ``Lint.as_dict`` has. ``nodes`` is the size of each pool where it is known; ``now`` as of ``given_instant``.
    ``definition`` is the cluster's CustomResourceDefinition, which tells what policies its Karpenter has. FleetError
    ``bad-argument``, ``invalid-time``, ``not-the-definition``."""
    size = None if nodes is None else whole_number(nodes, "nodes")
    at = given_instant(now)
    listed = None if definition is None else consolidation_policies(definition)
    return [
        {"pool": _name(document)} | found.as_dict()
        for document in _pool_documents(pools)
        for found in lint_node_pool(document, at, size, policies=listed)
    ]


def is_disruptable(
    value: t.Any,
    pods: t.Any = (),
    pod_disruption_budgets: t.Any = (),
    node_claims: t.Any = None,
    nodes: t.Any = None,
    reason: str | None = None,
    now: t.Any = None,
) -> bool:
    """Whether a Pod, a Node or a NodePool may be disrupted now, as Karpenter judges it. ``now`` as of
    ``given_instant``.

    Pods and PodDisruptionBudgets are looked at for a Node; ``nodes`` and ``reason`` for a NodePool, which needs
    ``nodes`` and, with ``reason`` None, has to be free for every reason; NodeClaims for both. Without them (None) a
    Node counts as managed, and is on its way out if it has Karpenter's taint. It has to have the label of a pool, of
    which nothing else need be known. FleetError ``bad-argument``, ``invalid-time``, and those of documents that cannot
    be read.
    """
    at = given_instant(now)
    document, *more = objects(value, "input") or [{}]
    if more:
        raise FleetError("bad-argument", f"one object is wanted, not {len(more) + 1}", "input", "use select()")
    kind = document.get("kind")
    if kind == "Pod":
        return pod_disruptable(read_pod(document), at)
    if kind == "Node":
        state = _state(document, pods, pod_disruption_budgets, node_claims)
        unknown = {"no-pool"} if node_claims is not None else {"no-pool", "not-managed"}
        node = next((each for each in state.nodes if each.node is not None), None)
        if node is None:
            return False
        if node_claims is None and _tainted(node):
            return False  # it is on its way out; its NodeClaim would say so
        return all(each.code in unknown for each in blockers(state, node, at))
    if kind == "NodePool":
        if nodes is None:
            raise FleetError("bad-argument", "whether a NodePool may lose nodes depends on those it has", "nodes")
        rows = allowed_disruptions(document, nodes, reason, node_claims, write_time(at))
        return all(row["allowed"] is None or row["allowed"] > 0 for row in rows)
    raise FleetError("bad-argument", f"a Pod, a Node or a NodePool is wanted, not {shown_value(kind, 60)}", "input")


def read_pools(pools: t.Any) -> list[Budgeted]:
    """Every pool with its budgets, in the order given, from NodePools or from a list of budgets alone. FleetError with
    all problems of all pools, ``bad-argument`` for what is no object."""
    found, problems = [], []
    for document in _pool_documents(pools):
        examined, name = examine(document), _name(document)
        about = f"NodePool/{name}" if name else "the budgets"
        if examined.budgets is None:
            problems += [
                Problem(each.code, each.message, f"{about} {each.path}".strip(), each.hint)
                for each in examined.problems
            ]
        else:
            found.append(Budgeted(name, examined.budgets, document))
    if problems:
        raise FleetError.of(problems)
    return found


def _pool_documents(pools: t.Any) -> list[t.Any]:
    """The documents of pools: a list that is not empty and has nothing but budgets is one pool; a fragment of a pool is
    one too. FleetError ``bad-argument`` for what is no object."""
    if isinstance(pools, list) and pools and all(isinstance(each, Mapping) and _is_budget(each) for each in pools):
        return [pools]
    return list(objects(pools, "input"))


def _is_budget(row: Mapping[str, t.Any]) -> bool:
    """Whether the mapping has a field of a budget, and none that only a pool or a fragment of one has."""
    return bool(BUDGET_FIELDS & row.keys()) and not {"kind", "apiVersion", "spec", "budgets"} & row.keys()


def _name(document: t.Any) -> str:
    """``metadata.name``; empty where there is none that is a text."""
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


def _census(nodes: t.Any, node_claims: t.Any) -> t.Callable[[str], NodeCensus]:
    """Gives the counted nodes of a pool by its name, none for one that no node names; an empty name has them all. A
    number of nodes stands for every pool. FleetError ``bad-argument``, also above 10^6, and as of ``read_node`` and
    ``read_node_claim``."""
    if isinstance(nodes, int):
        number = whole_number(nodes, "nodes", most=10**6)
        counted = NodeCensus(tuple(map(str, range(number))))
        return lambda _name: counted
    claims = None if node_claims is None else [read_node_claim(each) for each in objects(node_claims, "node_claims")]
    state = assemble([read_node(each) for each in objects(nodes, "nodes")], claims or ())
    rows = [each.counted() if claims is not None else _claimed(each) for each in state.nodes]
    by_pool = take_census(rows)
    everything = take_census(replace(each, pool="") for each in rows).get("", NodeCensus())
    return lambda name: by_pool.get(name, NodeCensus()) if name else everything


def _claimed(node: StateNode) -> CountedNode:
    """The node, where NodeClaims are not known, as if one of a pool had one that is being deleted when its node is; one
    with Karpenter's taint is marked as leaving."""
    leaving = node.node is not None and node.node.deleting
    return replace(node.counted(), has_node_claim=bool(node.pool), node_claim_deleting=leaving, marked=_tainted(node))


def _tainted(node: StateNode) -> bool:
    """Whether the node has Karpenter's taint for what is being disrupted; not where there is no node."""
    return node.node is not None and any(each.key == "karpenter.sh/disrupted" for each in node.node.taints)


def _state(document: Row, pods: t.Any, budgets: t.Any, node_claims: t.Any) -> ClusterState:
    """The one node with its pods, the NodeClaims that name it and all budgets of pods; pods and claims of other nodes
    are left out. FleetError ``bad-argument``, and as of the readers."""
    node = read_node(document)
    here = [pod for each in objects(pods, "pods") if (pod := read_pod(each)).node == node.name]
    claims = [read_node_claim(each) for each in objects([] if node_claims is None else node_claims, "node_claims")]
    mine = [each for each in claims if (each.status.node_name or each.name) == node.name]
    limits = [read_pod_disruption_budget(each) for each in objects(budgets, "pod_disruption_budgets")]
    return assemble([node], mine, here, (), limits)
