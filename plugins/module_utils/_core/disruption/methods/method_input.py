# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What all methods of disruption ask of a cluster at one instant (candidates, drift, which nodes are Consolidatable,
allowances of budgets, the simulator), found out once."""

from __future__ import annotations

import typing as t
from datetime import datetime
from functools import cached_property

from ...cluster.cluster_state import ClusterState
from ...cluster.consolidation_wait import consolidation_eligibility
from ...cluster.state_node import StateNode
from ..blockers import GRACEFUL
from ..budgets.census import PoolAllowance, pool_allowances
from ..scheduling.settings import DEFAULTS, Settings
from ..scheduling.simulator import Simulator
from . import events as words
from .candidates import CandidateVerdict, NodeCandidate, candidate_verdict
from .drift import DriftedNode, drifted
from .events import NodeEvent


class MethodInput:
    """A state at an aware instant, with the settings of the controller. What it gives is kept, and not to be
    changed."""

    def __init__(self, state: ClusterState, now: datetime, settings: Settings = DEFAULTS) -> None:
        self.state, self.now, self.settings = state, now, settings
        self._known: dict[str, NodeCandidate] = {}
        self._candidates: dict[str, list[NodeCandidate]] = {}
        self._verdicts: dict[str, tuple[CandidateVerdict, ...]] = {}
        self._allowances: dict[str, dict[str, PoolAllowance]] = {}

    @cached_property
    def simulator(self) -> Simulator:
        """The simulator of the state, which all methods share."""
        return Simulator(self.state, self.now, self.settings)

    @cached_property
    def leaving_events(self) -> list[NodeEvent]:
        """The events about annotations do-not-disrupt of pods on nodes on their way out."""
        rows = self.simulator.leaving
        return [event for each in rows for event in words.of_annotations(each.pods, self.now, moving=True)]

    @cached_property
    def drifted(self) -> dict[str, DriftedNode]:
        """The nodes that have drifted, by name. FleetError as of ``drift``."""
        return {each.node.name: each for each in drifted(self.state, self.now)}

    def verdicts(self, kind: str = GRACEFUL) -> tuple[CandidateVerdict, ...]:
        """Of each node, by name, whether it is a candidate for graceful or eventual methods (``kind``)."""
        found = self._verdicts.get(kind)
        if found is None:
            found = tuple(candidate_verdict(self.state, each, self.now, kind) for each in self.state.nodes)
            self._verdicts[kind] = found
        return found

    def candidates(self, kind: str = GRACEFUL) -> list[NodeCandidate]:
        """The nodes that nothing blocks for methods of that kind, by name. ValueError as of ``NodeCandidate.of``."""
        found = self._candidates.get(kind)
        if found is None:
            able = zip(self.state.nodes, self.verdicts(kind), strict=True)
            found = [self._costs(node) for node, each in able if each.candidate]
            self._candidates[kind] = found
        return found

    def _costs(self, node: StateNode) -> NodeCandidate:
        """The candidate of a node that nothing blocks, worked out once for all kinds of methods. ValueError as of
        ``NodeCandidate.of``."""
        found = self._known.get(node.name)
        if found is None:
            found = self._known[node.name] = NodeCandidate.of(self.state, node, self.now)
        return found

    def consolidatable(self, node: StateNode) -> bool:
        """Whether the NodeClaim's condition ``Consolidatable`` would be True now; as it says where the controller
        judges it no more, and in static pools. False without a NodeClaim. ValueError for a ``consolidateAfter`` that is
        no duration."""
        claim, pool = node.claim, self.state.judging_pool(node)
        if claim is None:
            return False
        if pool is None or pool.static:
            return claim.is_condition_true("Consolidatable")
        return consolidation_eligibility(pool.pool, node, self.now).holds

    def allowances(self, reason: str) -> dict[str, PoolAllowance]:
        """What the pools may lose now for a reason (Empty, Drifted, Underutilized), by name, with the arithmetic, those
        without nodes too; pools of other providers are left out."""
        found = self._allowances.get(reason)
        if found is None:
            budgets = {name: each.pool.disruption.budgets for name, each in self.state.pools.items() if each.managed}
            rows = [each.counted() for each in self.state.nodes]
            found = self._allowances[reason] = pool_allowances(budgets, rows, self.now, reason)
        return found

    def budget_events(self, reason: str) -> t.Iterator[NodeEvent]:
        """An event for each pool, in the order of ``allowances``, whose limit for the reason is 0 and that has nodes
        that count."""
        for name, each in self.allowances(reason).items():
            if each.writes_blocked_event:
                yield words.budget_blocked(name, reason)
