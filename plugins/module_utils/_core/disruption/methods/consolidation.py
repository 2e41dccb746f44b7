# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Underused nodes: several at once, or one, deleted or replaced by at most one that is cheaper, or why not
(``pods-do-not-fit``, ``several-new-nodes``, ``price-unknown``, ``balanced``, ``no-pools``; Karpenter,
``multinodeconsolidation.go``, ``singlenodeconsolidation.go``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...cluster.instance_types import SPOT
from ...cluster.state_node import CAPACITY_TYPE
from ...objects.karpenter.node_pool import UNDERUTILIZED
from ..scheduling.simulation import NewNode, Simulation
from . import events as words
from .balanced import Balance, Score
from .candidates import MULTI_NODE, SINGLE_NODE, NodeCandidate
from .commands import (
    CHEAPER,
    FITS_ELSEWHERE,
    Command,
    MethodCommands,
    RefusedCommand,
    Replacement,
    by_saving,
    summed_price,
    within_budgets,
)
from .consolidation_candidates import BALANCED, sorted_out, why_not_consolidated
from .events import NodeEvent
from .method_input import MethodInput
from .replacement import NoGain, narrowed_to_cheaper, without_same_type
from .simulated import NO_POOLS, misfit_message, simulated
from .worth import hourly_saving

MOST_AT_ONCE = 100


class NoPools(Exception):
    """No pool may make nodes, and the setting ``upstream`` is on: Karpenter gives up then. ``multi_node``,
    ``check_again`` and ``Consolidation.alone`` catch it."""


def multi_node(look: MethodInput) -> MethodCommands:
    """Two or more underused nodes with at most one replacement that is cheaper: the longest run of the best candidates
    that works, out of the first 100 that budgets leave room for (101 with the setting ``upstream``). At most one
    command, in pools with policy ``Balanced`` only one that saves enough; ``error`` where it ends in ``NoPools``.

    The length is found by halves, so that, as upstream, a longer run may be missed. Errors as of ``Simulator.simulate``
    and ``underused``.
    """
    nodes, refused, filtering = underused(look)
    names = tuple(each.name for each in by_saving(nodes))
    nodes, over = within_budgets(nodes, look.allowances(UNDERUTILIZED))
    tried = [*refused, *over]
    work = Consolidation(look)
    try:
        best = _longest(work, nodes, tried)
    except NoPools:
        return MethodCommands((), tuple(tried), names, tuple(filtering), tuple(work.events), NO_POOLS)
    return MethodCommands((best,) if best else (), tuple(tried), names, tuple(filtering), tuple(work.events))


def _longest(work: Consolidation, nodes: list[NodeCandidate], tried: list[RefusedCommand]) -> Command | None:
    """The command of the longest run from the first node on that works, found by halves; None if no run of two or more
    that is tried does. Adds to ``tried`` why runs do not work, and events to ``work``. Errors, NoPools among them, as
    of ``Consolidation.command_for`` and ``unbalanced``."""
    best: Command | None = None
    scores: dict[str, Score] = {}
    rejected: dict[str, Score] | None = None
    # Upstream's own limit lets one more through than it says.
    low, high = 2, min(len(nodes), MOST_AT_ONCE + work.look.settings.upstream)
    while low <= high:
        length = (low + high) // 2
        found = work.command_for(nodes[:length])
        refusal = work.unbalanced(nodes[:length], found) if isinstance(found, Command) else None
        if isinstance(found, Command) and refusal is None:
            best, scores, low = found, work.scored, length + 1
            continue
        if refusal is not None:
            rejected = work.scored
        tried.append(refusal or t.cast(RefusedCommand, found))
        high = length - 1
    work.tell_pools(scores if best is not None else rejected or {})
    return best


def single_node(look: MethodInput) -> MethodCommands:
    """The first underused node within the budgets that can go alone, with at most one replacement that is cheaper,
    pools taking turns; what does not work is refused as of ``Consolidation.alone``, without an ``error``. Errors as of
    ``Simulator.simulate`` and ``underused``."""
    nodes, refused, filtering = underused(look)
    names = tuple(each.name for each in by_saving(nodes))
    allowed, tried = look.allowances(UNDERUTILIZED), list(refused)
    work = Consolidation(look)
    for one in taking_turns(nodes, look.settings.first):
        kept, over = within_budgets([one], allowed)
        if not kept:
            tried += over
            continue
        found = work.alone(one)
        if isinstance(found, Command):
            work.tell_node(one, work.scored)
            return MethodCommands((found,), tuple(tried), names, tuple(filtering), tuple(work.events))
        tried.append(found)
    return MethodCommands((), tuple(tried), names, tuple(filtering), tuple(work.events))


def underused(look: MethodInput) -> tuple[list[NodeCandidate], list[RefusedCommand], list[NodeEvent]]:
    """The candidates of consolidation, the best first; why its own rules leave others out, but for silent causes; and
    what upstream says of these. ValueError as of ``MethodInput.candidates`` and ``never_consolidates``."""
    kept, refused, events = sorted_out([(each, why_not_consolidated(look, each)) for each in look.candidates()])
    return by_saving(kept, look.settings.first), refused, events


def taking_turns(nodes: t.Sequence[NodeCandidate], first: t.Sequence[str] = ()) -> list[NodeCandidate]:
    """The candidates of consolidation in turns: one node of each pool, then the next of each; pools in the order of
    their best node, which upstream leaves to chance, those that ``first`` names (pools) before all others. ``nodes``
    come with the best first."""
    by_pool: dict[str, list[NodeCandidate]] = {name: [] for name in first}
    for node in nodes:
        by_pool.setdefault(node.pool.name, []).append(node)
    places = {node.name: (turn, row) for row, each in enumerate(by_pool.values()) for turn, node in enumerate(each)}
    return sorted(nodes, key=lambda one: places[one.name])


@dataclass
class Consolidation:
    """Consolidations tried out on one cluster at one instant (``look``), which is not changed; ``events`` are what
    upstream says meanwhile, ``scored`` the last scores of policy ``Balanced`` by pool."""

    look: MethodInput
    events: list[NodeEvent] = field(default_factory=list)
    scored: dict[str, Score] = field(default_factory=dict)

    @cached_property
    def balance(self) -> Balance:
        """Prices and costs of pools with policy ``Balanced``. ValueError as of ``MethodInput.candidates``."""
        return Balance(self.look)

    def command_for(self, nodes: t.Sequence[NodeCandidate]) -> Command | RefusedCommand:
        """What consolidating these nodes together comes to, ``Balanced`` and budgets left aside; or why it is not done:
        ``pods-do-not-fit``, ``several-new-nodes``, ``price-unknown``, what ``narrowed_to_cheaper`` says, of several
        nodes ``same-type``. Adds to ``events``. NoPools with the setting ``upstream``, where no pool may make nodes;
        other errors as of ``Simulator.simulate``."""
        names = tuple(each.name for each in nodes)
        done, told = simulated(self.look, nodes, consolidation=True)
        self.events += told
        if done is None:
            raise NoPools
        refusal = self._impossible(done)
        if refusal is not None:
            self._say(nodes, refusal.event)
            return RefusedCommand(names, refusal.code, refusal.text)
        total = summed_price(nodes, self.look.settings.upstream)
        if not done.new_nodes:
            return _command(nodes, done, None, total, self.look.settings.upstream)
        if total is None:
            text = "a replacement has to be cheaper, and what goes has no known price"
            return RefusedCommand(names, "price-unknown", text)
        return self._replaced(nodes, done, total)

    def alone(self, one: NodeCandidate) -> Command | RefusedCommand:
        """What consolidating this node alone comes to, budgets left aside; or why it is not done: ``balanced``,
        ``no-pools``, or as of ``command_for``. Errors as of ``Simulator.simulate`` and ``balance``."""
        if not self.balance.deletion_pays(one):
            unknown = "its price is not known, which counts as saving nothing,"
            why = unknown if one.price is None else "not even its deletion would save enough"
            return RefusedCommand((one.name,), "balanced", f"{one.name}: {why} for policy {BALANCED}")
        try:
            found = self.command_for([one])
        except NoPools:
            return RefusedCommand((one.name,), "no-pools", "no pool may make nodes")
        if isinstance(found, RefusedCommand):
            return found
        return self.unbalanced([one], found) or found

    def unbalanced(self, nodes: t.Sequence[NodeCandidate], command: Command) -> RefusedCommand | None:
        """Why a consolidation is not worth it, for the first pool with policy ``Balanced`` where it is not, or None. A
        saving that is not known counts as 0. Leaves the scores in ``scored``. ValueError as of ``balance``."""
        self.scored = self.balance.scores(nodes, command.saving or 0.0)
        for pool, score in self.scored.items():
            if not score.approved:
                return RefusedCommand(command.nodes, "balanced", f"pool {pool}: {score.text}")
        return None

    def tell_pools(self, scores: t.Mapping[str, Score]) -> None:
        """Adds the event ``ConsolidationApproved`` to ``events`` for each pool, by name, whose score is approved."""
        self.events += [
            NodeEvent(words.NODE_POOL, pool, words.APPROVED, score.text)
            for pool, score in scores.items()
            if score.approved
        ]

    def tell_node(self, one: NodeCandidate, scores: t.Mapping[str, Score]) -> None:
        """Adds the event ``ConsolidationApproved`` about the node to ``events`` for each score, approved or not."""
        self.events += [NodeEvent(words.NODE, one.name, words.APPROVED, score.text) for score in scores.values()]

    def _impossible(self, done: Simulation) -> NoGain | None:
        """Why a simulation stands against consolidation, ``pods-do-not-fit`` or ``several-new-nodes``; None if it does
        not."""
        if done.misfits:
            return NoGain("pods-do-not-fit", done.misfits[0].text, misfit_message(self.look, done))
        count = len(done.new_nodes)
        if count > 1:
            text = f"the pods would need {count} new nodes"
            return NoGain("several-new-nodes", text, f"Can't remove without creating {count} candidates")
        return None

    def _replaced(self, nodes: t.Sequence[NodeCandidate], done: Simulation, total: float) -> Command | RefusedCommand:
        """The command that puts the one new node of a simulation, made cheaper, in place of nodes of that ``total``
        price; or why it is no gain. Adds to ``events``."""
        names = tuple(each.name for each in nodes)
        all_spot = all(each.node.labels.get(CAPACITY_TYPE) == SPOT for each in nodes)
        new = narrowed_to_cheaper(
            done.new_nodes[0], total, self.look.settings, all_spot=all_spot, single=len(nodes) == 1
        )
        if isinstance(new, NoGain):
            self._say(nodes, new.event)
            return RefusedCommand(names, new.code, new.text)
        self._propose(nodes, new, total)
        if len(nodes) > 1:
            new = without_same_type(new, nodes)
            if isinstance(new, NoGain):
                return RefusedCommand(names, new.code, new.text)
        return _command(nodes, replace(done, new_nodes=(new,)), new, total, self.look.settings.upstream)

    def _propose(self, nodes: t.Sequence[NodeCandidate], new: NewNode, total: float) -> None:
        """Adds an event for each node, that replacing it is looked at, with what the whole move saves an hour; an
        unknown price of the new node counts as 0."""
        amount, several = f"(savings: ${hourly_saving(total, [new], upstream=True):.2f})", len(nodes) > 1
        for each in nodes:
            what = f"(part of {len(nodes)}-node consolidation)" if several else "-> [1 replacement]"
            message = f"Consolidation candidate: replace: [{each.name}] {what} {amount}"
            self.events.append(NodeEvent(words.NODE, each.name, words.CANDIDATE, message))

    def _say(self, nodes: t.Sequence[NodeCandidate], message: str) -> None:
        """Adds the event that a node is not consolidated, if it is a single one: upstream speaks of no others."""
        if len(nodes) == 1:
            self.events.append(words.unconsolidatable(nodes[0].name, message))


def _command(
    nodes: t.Sequence[NodeCandidate], done: Simulation, new: NewNode | None, total: float | None, upstream: bool
) -> Command:
    """The command that deletes nodes, one at least, with ``new`` in their place, or nothing for None; ``total`` is what
    they cost an hour, None where not known."""
    names, going = tuple(each.name for each in nodes), {each.name for each in nodes}
    count = f"{len(names)} nodes" if len(names) > 1 else f"node {names[0]}"
    replacements = (Replacement.of(new),) if new is not None else ()
    if replacements:
        first = replacements[0]
        least = "?" if first.price is None else f"{first.price:g}"
        text = f"{count} at {total:g} an hour, replaced by one of {len(first.options)} options from {least}"
    else:
        text = f"{count} not needed: the pods fit elsewhere"
    return Command(
        method=MULTI_NODE if len(names) > 1 else SINGLE_NODE,
        reason=UNDERUTILIZED,
        motive=CHEAPER if replacements else FITS_ELSEWHERE,
        nodes=names,
        replacements=replacements,
        moves=tuple(each for each in done.moves if each.source in going),
        others=tuple(each for each in done.moves if each.source not in going),
        saving=None if total is None else hourly_saving(total, done.new_nodes, upstream),
        source_cost=total,
        text=text,
    )
