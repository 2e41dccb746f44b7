# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes a method may disrupt, and what a method then does (Karpenter, ``Candidate`` and ``Command``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...cluster.cluster_state import ClusterState
from ...cluster.eviction_cost import savings_ratio
from ...cluster.new_nodes import Option
from ...cluster.rescheduling import Move
from ...cluster.state_node import StateNode
from ...machine import Blocker
from ...objects.karpenter.node_pool import DRIFTED, EMPTY_REASON, UNDERUTILIZED
from ..blockers import (
    EVENTUAL,
    GRACEFUL,
    blockers,
)
from ..budgets.census import PoolAllowance, pool_allowances
from .eligibility import disruption_cost

EMPTINESS, STATIC_DRIFT, DRIFT = "Emptiness", "StaticDrift", "Drift"
MULTI_NODE, SINGLE_NODE = "MultiNodeConsolidation", "SingleNodeConsolidation"
# Why a command pays, or is needed.
EMPTY, FITS_ELSEWHERE, CHEAPER, HAS_DRIFTED = "empty", "fits-elsewhere", "cheaper", "drifted"


@dataclass(frozen=True)
class Method:
    """``reason`` is the one that budgets know; ``kind`` says whether pods are always respected."""

    name: str
    reason: str
    kind: str


# In the order in which they are tried; the first that yields a command ends the pass.
METHODS = (
    Method(EMPTINESS, EMPTY_REASON, GRACEFUL),
    Method(STATIC_DRIFT, DRIFTED, EVENTUAL),
    Method(DRIFT, DRIFTED, EVENTUAL),
    Method(MULTI_NODE, UNDERUTILIZED, GRACEFUL),
    Method(SINGLE_NODE, UNDERUTILIZED, GRACEFUL),
)
BY_NAME = {each.name: each for each in METHODS}


@dataclass(frozen=True)
class Replacement:
    """A node to be started first: what it may be, the best first. ``pool`` makes it."""

    name: str
    pool: str
    options: tuple[Option, ...] = ()

    @property
    def price(self) -> float | None:
        return min((each.price for each in self.options if each.price is not None), default=None)


@dataclass(frozen=True, kw_only=True)
class Command:
    """Nodes to be deleted together once the replacements, if any, are initialized. ``saving`` is per hour."""

    method: str
    reason: str
    motive: str
    nodes: tuple[str, ...]
    replacements: tuple[Replacement, ...] = ()
    moves: tuple[Move, ...] = ()
    saving: float | None = None
    text: str = ""

    @property
    def decision(self) -> str:
        return "replace" if self.replacements else "delete"

    def as_dict(self) -> dict[str, t.Any]:
        return {
            "method": self.method,
            "reason": self.reason,
            "motive": self.motive,
            "decision": self.decision,
            "nodes": list(self.nodes),
            "replacements": [
                {"name": each.name, "pool": each.pool, "options": [one.as_dict() for one in each.options]}
                for each in self.replacements
            ],
            "moves": [each.as_dict() for each in self.moves],
            "saving": self.saving,
            "text": self.text,
        }


@dataclass(frozen=True)
class RefusedCommand:
    """Why something is not done, with the nodes that it is about."""

    nodes: tuple[str, ...]
    code: str
    text: str

    def as_dict(self) -> dict[str, t.Any]:
        return {"nodes": list(self.nodes), "code": self.code, "text": self.text}


@dataclass(frozen=True)
class MethodCommands:
    """The commands of one method, and why others were not given."""

    commands: tuple[Command, ...] = ()
    refused: tuple[RefusedCommand, ...] = ()


@dataclass(frozen=True)
class CandidateVerdict:
    """Whether a node is a candidate for a class of methods; if not, why, in upstream's order."""

    node: str
    blockers: tuple[Blocker, ...]

    @property
    def candidate(self) -> bool:
        return not self.blockers

    def as_dict(self) -> dict[str, t.Any]:
        return {"node": self.node, "candidate": self.candidate, "blockers": [each.as_dict() for each in self.blockers]}


def judge(state: ClusterState, now: datetime, kind: str = GRACEFUL) -> tuple[CandidateVerdict, ...]:
    """All nodes, by name."""
    return tuple(CandidateVerdict(each.name, blockers(state, each, now, kind)) for each in state.nodes)


def candidates(state: ClusterState, now: datetime, kind: str = GRACEFUL) -> list[StateNode]:
    """The nodes that nothing blocks, by name."""
    return [each for each in state.nodes if not blockers(state, each, now, kind)]


def allowances(state: ClusterState, now: datetime, reason: str) -> dict[str, PoolAllowance]:
    """What the pools may lose now for a reason, with the arithmetic."""
    budgets = {name: each.pool.disruption.budgets for name, each in state.pools.items() if each.managed}
    return pool_allowances(budgets, (each.counted() for each in state.nodes), now, reason)


def within_budgets(
    nodes: t.Iterable[StateNode], allowed: t.Mapping[str, PoolAllowance]
) -> tuple[list[StateNode], list[RefusedCommand]]:
    """The nodes, in the order given, that their pools' budgets leave room for, and the others."""
    left = {name: each.allowed for name, each in allowed.items()}
    kept, refused = [], []
    for node in nodes:
        if left.get(node.pool, 0) > 0:
            left[node.pool] -= 1
            kept.append(node)
        else:
            told = allowed[node.pool].text if node.pool in allowed else "the pool has no budgets"
            refused.append(RefusedCommand((node.name,), "budget", f"pool {node.pool}: {told}"))
    return kept, refused


def by_saving(state: ClusterState, nodes: t.Iterable[StateNode]) -> list[StateNode]:
    """What saves most for the disruption that it costs comes first; unknown prices count as 0, ties go by name."""
    return sorted(nodes, key=lambda one: (-savings_ratio(state.price(one) or 0.0, disruption_cost(one)), one.name))
