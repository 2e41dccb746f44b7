# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes of a pool count for its budgets, which of them are ``disrupting`` already or ``excluded``, each with why,
and how many more may go now (``allowed``), in words too (Karpenter, ``BuildDisruptionBudgetMapping``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from ...cluster.counted_node import CountedNode
from ...objects.karpenter.node_pool import Budget
from ...values.listed import listed, number_of
from .budgets import Allowed, allowed, budget_limit_or_none

NAMED = 20


@dataclass(frozen=True)
class NodeCensus:
    """The names of a pool's nodes, in the order in which they were given: ``counted``; of these, with why, those that
    are ``disrupting`` and use up the budget; and, with why, those that are ``excluded``."""

    counted: tuple[str, ...] = ()
    disrupting: t.Mapping[str, str] = field(default_factory=dict, hash=False)
    excluded: t.Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def total(self) -> int:
        """How many nodes count, those that are disrupted included."""
        return len(self.counted)


@dataclass(frozen=True)
class PoolAllowance:
    """What a pool may lose at one instant for one reason: its census with the answer of its budgets."""

    census: NodeCensus
    answer: Allowed

    @property
    def allowed(self) -> int:
        """How many more nodes, never below 0; a number near ``UNLIMITED`` where nothing limits."""
        return self.answer.remaining_after(len(self.census.disrupting))

    @property
    def writes_blocked_event(self) -> bool:
        """Whether upstream writes an event that the pool may lose nothing: only where the limit is 0 and nodes
        count."""
        return self.answer.limit == 0 and self.census.total > 0

    @cached_property
    def text(self) -> str:
        """The sum in words: nodes that count, the limit with its arithmetic, nodes that are disrupted, the first 20
        with why, and what remains; without a limit only the total."""
        limit = budget_limit_or_none(self.answer.limit)
        how = "; ".join(text for index in self.answer.binding if (text := self.answer.budgets[index].arithmetic))
        told = listed([f"{name} {why}" for name, why in self.census.disrupting.items()], NAMED)
        counted = number_of(self.census.total, "node", "counts", "count")
        less = f" - {len(self.census.disrupting)} ({told})" if told else ""
        if limit is None:
            return f"{counted}, no budget limits disruption"
        return f"{counted}, limit {limit}{f' ({how})' if how else ''}{less} = {self.allowed}"

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: ``Allowed.as_dict`` with ``allowed``, None where nothing limits, ``disrupting`` and
        ``excluded``, why by name of the node, and ``text``."""
        return self.answer.as_dict() | {
            "allowed": None if budget_limit_or_none(self.answer.limit) is None else self.allowed,
            "disrupting": dict(self.census.disrupting),
            "excluded": dict(self.census.excluded),
            "text": self.text,
        }


def take_census(nodes: t.Iterable[CountedNode]) -> dict[str, NodeCensus]:
    """The census of each pool that has nodes, by its name, nodes in the order given; those of no pool are under "".

    Nodes whose NodeClaim is being deleted, that a command has marked, or that are not Ready stay in the total and are
    subtracted from what is allowed, each once. Not counted, but ``excluded``, are those without a NodeClaim or Node,
    not initialized, or with an instance that is terminating.
    """
    counted: dict[str, list[str]] = {}
    disrupting: dict[str, dict[str, str]] = {}
    excluded: dict[str, dict[str, str]] = {}
    for node in nodes:
        left_out = _excluded(node)
        if left_out:
            excluded.setdefault(node.pool, {})[node.name] = left_out
            continue
        counted.setdefault(node.pool, []).append(node.name)
        why = _disrupting(node)
        if why:
            disrupting.setdefault(node.pool, {})[node.name] = why
    return {
        pool: NodeCensus(tuple(counted.get(pool, ())), disrupting.get(pool, {}), excluded.get(pool, {}))
        for pool in counted | excluded
    }


def pool_allowances(
    pools: t.Mapping[str, t.Sequence[Budget]], nodes: t.Iterable[CountedNode], now: datetime, reason: str
) -> dict[str, PoolAllowance]:
    """For each of ``pools`` (its budgets by its name), what it may lose for a reason at an aware instant, also without
    nodes."""
    census = take_census(nodes)
    out = {}
    for name, budgets in pools.items():
        found = census.get(name, NodeCensus())
        out[name] = PoolAllowance(found, allowed(budgets, now, found.total, reason))
    return out


def _excluded(node: CountedNode) -> str:
    """Why a node does not count, in words, the first cause alone; empty if it counts."""
    if not node.has_node_claim:
        return "has no NodeClaim"
    if not node.has_node:
        return "has no Node yet"
    if not node.initialized:
        return "is not initialized"
    return "has an instance that is terminating" if node.instance_terminating else ""


def _disrupting(node: CountedNode) -> str:
    """Why a node that counts spends the budget already, in words, all causes in one; empty if it does not."""
    causes = []
    if node.node_claim_deleting:
        causes.append("is being deleted")
    elif node.marked:
        causes.append("is marked for disruption")
    if node.ready != "True":
        causes.append("is not Ready")
    return " and ".join(causes)
