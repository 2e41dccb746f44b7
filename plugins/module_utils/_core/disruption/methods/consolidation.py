# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Underused nodes: several at once, or one, deleted or replaced by at most one that is cheaper (Karpenter,
``multinodeconsolidation.go`` and ``singlenodeconsolidation.go``).
"""

from __future__ import annotations

import dataclasses
import typing as t
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from ...cluster.cluster_state import ClusterState
from ...cluster.instance_types import SPOT
from ...cluster.rescheduling import Simulation, simulate, unsettled_nodes
from ...cluster.state_node import CAPACITY_TYPE, INSTANCE_TYPE, StateNode
from ...objects.karpenter.node_pool import UNDERUTILIZED
from .balanced import Balance
from .candidates import (
    CHEAPER,
    FITS_ELSEWHERE,
    MULTI_NODE,
    SINGLE_NODE,
    Command,
    MethodCommands,
    RefusedCommand,
    Replacement,
    allowances,
    by_saving,
    candidates,
    within_budgets,
)
from .eligibility import unconsolidatable
from .replacement import cheaper, without_same_type

MOST_AT_ONCE = 100


def multi_node(state: ClusterState, now: datetime, spot_to_spot: bool = False) -> MethodCommands:
    """Two or more nodes with at most one replacement: the longest run of the best candidates that works.

    The length is found by halves, so that, as upstream, a longer run may be missed behind one that does not work.
    """
    nodes, refused = underused(state, now)
    nodes, over = within_budgets(nodes, allowances(state, now, UNDERUTILIZED))
    nodes, tried = nodes[:MOST_AT_ONCE], [*refused, *over]
    consolidation = Consolidation(state, now, spot_to_spot)
    best: Command | None = None
    low, high = 2, len(nodes)
    while low <= high:
        length = (low + high) // 2
        found = consolidation.of(nodes[:length])
        if isinstance(found, Command):
            best, low = found, length + 1
        else:
            tried.append(found)
            high = length - 1
    return MethodCommands((best,) if best else (), tuple(tried))


def single_node(state: ClusterState, now: datetime, spot_to_spot: bool = False) -> MethodCommands:
    """The first node that can go, with at most one replacement; pools take turns."""
    nodes, refused = underused(state, now)
    allowed, tried = allowances(state, now, UNDERUTILIZED), list(refused)
    consolidation = Consolidation(state, now, spot_to_spot)
    for node in taking_turns(nodes):
        kept, over = within_budgets([node], allowed)
        found = consolidation.of(kept) if kept else over[0]
        if isinstance(found, Command):
            return MethodCommands((found,), tuple(tried))
        tried.append(found)
    return MethodCommands((), tuple(tried))


def underused(state: ClusterState, now: datetime) -> tuple[list[StateNode], list[RefusedCommand]]:
    """The candidates of consolidation, the best first, and the nodes that only its own rules leave out."""
    kept, refused = [], []
    for node in candidates(state, now):
        why = unconsolidatable(state, node, now)
        if why is None:
            kept.append(node)
        else:
            refused.append(RefusedCommand((node.name,), why.code, f"{node.name}: {why.text}"))
    return by_saving(state, kept), refused


def taking_turns(nodes: t.Sequence[StateNode]) -> list[StateNode]:
    """One node of each pool, then the next of each; pools in the order of their best node."""
    by_pool: dict[str, list[StateNode]] = {}
    for node in nodes:
        by_pool.setdefault(node.pool, []).append(node)
    places = {node.name: (turn, row) for row, each in enumerate(by_pool.values()) for turn, node in enumerate(each)}
    return sorted(nodes, key=lambda one: places[one.name])


@dataclass(frozen=True)
class Consolidation:
    """What is asked of one cluster at one instant; what holds for all its nodes is found once."""

    state: ClusterState
    now: datetime
    spot_to_spot: bool = False

    @cached_property
    def unsettled(self) -> frozenset[str]:
        return unsettled_nodes(self.state, self.now)

    @cached_property
    def balance(self) -> Balance:
        return Balance.of(self.state, self.now)

    def of(self, nodes: t.Sequence[StateNode]) -> Command | RefusedCommand:
        """What removing these nodes together comes to."""
        names = tuple(each.name for each in nodes)
        done = simulate(self.state, names, self.now, self.unsettled)
        found = _decide(self.state, nodes, done, self.spot_to_spot)
        if isinstance(found, RefusedCommand):
            return dataclasses.replace(found, nodes=names)
        against = self.balance.refusal(self.state, nodes, found)
        return RefusedCommand(names, "balanced", against) if against else found


def _decide(
    state: ClusterState, nodes: t.Sequence[StateNode], done: Simulation, spot_to_spot: bool
) -> Command | RefusedCommand:
    if done.misfits:
        return RefusedCommand((), "pods-do-not-fit", done.misfits[0].text)
    if len(done.new_nodes) > 1:
        return RefusedCommand((), "several-new-nodes", f"the pods would need {len(done.new_nodes)} new nodes")
    prices = [state.price(each) for each in nodes]
    known = [each for each in prices if each is not None]
    total = sum(known) if len(known) == len(prices) else None
    if not done.new_nodes:
        return _command(nodes, done, (), total, total)
    if total is None:
        return RefusedCommand((), "price-unknown", "a replacement has to be cheaper, and what goes has no known price")
    new = done.new_nodes[0]
    all_spot = all(each.labels.get(CAPACITY_TYPE) == SPOT for each in nodes)
    options = cheaper(new.options, total, all_spot, len(nodes) == 1, spot_to_spot)
    if isinstance(options, RefusedCommand):
        return options
    if len(nodes) > 1:
        going = {each.labels.get(INSTANCE_TYPE, ""): price for each, price in zip(nodes, known, strict=True)}
        options = without_same_type(options, going)
        if not options:
            return RefusedCommand((), "same-type", "the nodes would become one of a type that goes")
    replacement = Replacement(new.name, options[0].pool, options)
    return _command(nodes, done, (replacement,), total, total - (replacement.price or 0.0))


def _command(
    nodes: t.Sequence[StateNode],
    done: Simulation,
    replacements: tuple[Replacement, ...],
    total: float | None,
    saving: float | None,
) -> Command:
    names, going = tuple(each.name for each in nodes), {each.name for each in nodes}
    count = f"{len(names)} nodes" if len(names) > 1 else f"node {names[0]}"
    if replacements:
        new = replacements[0]
        text = f"{count} at {total:g} an hour, replaced by one of {len(new.options)} options from {new.price:g}"
    else:
        text = f"{count} not needed: the pods fit elsewhere"
    return Command(
        method=MULTI_NODE if len(names) > 1 else SINGLE_NODE,
        reason=UNDERUTILIZED,
        motive=CHEAPER if replacements else FITS_ELSEWHERE,
        nodes=names,
        replacements=replacements,
        moves=tuple(each for each in done.moves if each.source in going),
        saving=saving,
        text=text,
    )
