# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is done with drifted nodes: which may go, in what order; one at a time with the nodes that its pods need started
first, or in pools with ``replicas`` as many as budgets allow (``over-replicas``, ``limit-of-nodes``; Karpenter,
``drift.go``, ``staticdrift.go``)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ...cluster.cluster_state import StatePool
from ...cluster.state_node import POOL
from ...objects.karpenter.node_pool import DRIFTED
from ...values.listed import number_of
from ...values.quantity import NANO
from ..blockers import EVENTUAL
from ..scheduling.simulation import Simulation
from ..scheduling.templates import NODES, pool_limits, static_node
from . import events as words
from .candidates import DRIFT, STATIC_DRIFT, NodeCandidate
from .commands import (
    HAS_DRIFTED,
    Command,
    MethodCommands,
    RefusedCommand,
    Replacement,
    by_saving,
    within_budgets,
)
from .drift import DriftedNode
from .events import NodeEvent
from .method_input import MethodInput
from .simulated import NO_POOLS, misfit_message, simulated
from .worth import hourly_saving


@dataclass(frozen=True)
class DriftCandidate:
    """A candidate and what it has drifted from."""

    candidate: NodeCandidate
    drifted: DriftedNode

    @property
    def name(self) -> str:
        """Name of the node."""
        return self.candidate.name


def drift_candidates(look: MethodInput, static: bool = False) -> list[DriftCandidate]:
    """The drifted nodes that may go, of pools with ``replicas`` if ``static``, else of the others: those without pods
    to move first, of each the longest ``Drifted``, without that condition as if since now, then by name.

    Pods that block are overruled where the NodeClaim has a ``terminationGracePeriod``. FleetError as of ``drift``,
    ValueError as of ``MethodInput.candidates``.
    """
    found = [
        DriftCandidate(each, look.drifted[each.name])
        for each in look.candidates(EVENTUAL)
        if each.pool.static == static and each.name in look.drifted
    ]
    since = {each.name: (each.drifted.since or look.now).timestamp() for each in found}
    return sorted(found, key=lambda one: (bool(one.candidate.pods), since[one.name], one.name))


def drift_method(look: MethodInput) -> MethodCommands:
    """One command for the first drifted node, of pools without ``replicas``, whose pods all find a place within the
    budgets, with as many new nodes as that needs, or none. ``error`` with the setting ``upstream``, where no pool may
    make nodes. Errors as of ``Simulator.simulate`` and ``drift_candidates``."""
    allowed, refused, events = look.allowances(DRIFTED), [], list[NodeEvent]()
    due = drift_candidates(look)
    names = tuple(each.name for each in by_saving(each.candidate for each in due))
    for each in due:
        kept, over = within_budgets([each.candidate], allowed)
        if not kept:
            refused += over
            continue
        done, told = simulated(look, kept)
        events += told
        if done is None:
            return MethodCommands((), tuple(refused), names, (), tuple(events), NO_POOLS)
        if done.misfits:
            refused.append(RefusedCommand((each.name,), "pods-do-not-fit", done.misfits[0].text))
            events.append(NodeEvent(words.NODE, each.name, words.BLOCKED, misfit_message(look, done)))
            continue
        return MethodCommands((_command(look, DRIFT, each, done),), tuple(refused), names, (), tuple(events))
    return MethodCommands((), tuple(refused), names, (), tuple(events))


def static_drift_method(look: MethodInput) -> MethodCommands:
    """In pools with ``replicas``: as many drifted nodes as budgets and the limit of nodes allow, a command and a
    replacement for each, with no look where their pods would go; pools by name, nodes as of ``drift_candidates``.

    A pool of which more NodeClaims stay than ``replicas`` (0 if that is no whole number) is left alone until it has
    shrunk (``over-replicas``); for the limit of nodes those on their way out count too (``limit-of-nodes``). Errors as
    of ``pool_limits`` and ``drift_candidates``.
    """
    allowed = look.allowances(DRIFTED)
    commands, refused = [], []
    due = drift_candidates(look, static=True)
    by_pool: dict[str, list[DriftCandidate]] = defaultdict(list)
    for each in due:
        by_pool[each.candidate.pool.name].append(each)
    for name, nodes in sorted(by_pool.items()):
        pool, (staying, everything) = look.state.pools[name], _claims(look, name)
        if staying > _replicas(pool):
            text = f"pool {name} has {number_of(staying, 'node')} for {number_of(_replicas(pool), 'replica')}"
            refused.append(RefusedCommand(tuple(each.name for each in nodes), "over-replicas", text))
            continue
        kept, over = within_budgets([each.candidate for each in nodes], allowed)
        refused += over
        most = pool_limits(pool).get(NODES)
        room = len(kept) if most is None else max(0, most // NANO - everything)
        if room < len(kept):
            text = f"pool {name} has {number_of(everything, 'node')}, and its limit is {most // NANO if most else 0}"
            refused += [RefusedCommand((each.name,), "limit-of-nodes", text) for each in kept[room:]]
        chosen = {each.name for each in kept[:room]}
        commands += [_command(look, STATIC_DRIFT, each, None) for each in nodes if each.name in chosen]
    names = tuple(each.name for each in by_saving(each.candidate for each in due))
    return MethodCommands(tuple(commands), tuple(refused), names)


def _claims(look: MethodInput, pool: str) -> tuple[int, int]:
    """How many NodeClaims of a pool stay, and how many there are, those without a Node included."""
    own = [each for each in look.state.nodes if each.claim is not None and each.claim.metadata.labels.get(POOL) == pool]
    return sum(not each.deleting for each in own), len(own)


def _replicas(pool: StatePool) -> int:
    """``replicas`` of a pool; 0 if they are no whole number."""
    found = (pool.pool.manifest.get("spec") or {}).get("replicas")
    return found if isinstance(found, int) else 0


def _command(look: MethodInput, method: str, each: DriftCandidate, done: Simulation | None) -> Command:
    """The command of a method for one drifted node; without a simulation (``done``) one new node as of ``static_node``,
    FleetError included."""
    upstream, cause = look.settings.upstream, each.drifted.drift
    wanted = (static_node(each.candidate.pool),) if done is None else done.new_nodes
    price = each.candidate.known_price if upstream else each.candidate.price
    return Command(
        method=method,
        reason=DRIFTED,
        motive=HAS_DRIFTED,
        nodes=(each.name,),
        replacements=tuple(map(Replacement.of, wanted)),
        moves=() if done is None else tuple(one for one in done.moves if one.source == each.name),
        others=() if done is None else tuple(one for one in done.moves if one.source != each.name),
        saving=None if price is None else _saving(price, done, upstream),
        source_cost=price,
        text=f"node {each.name} has drifted ({cause.reason}): {cause.text}",
    )


def _saving(price: float, done: Simulation | None, upstream: bool) -> float | None:
    """What replacing a node of that ``price`` saves an hour, None if not known: what a static pool starts is of a type
    that the provider chooses, so that nobody knows its price, which to ``upstream`` is 0."""
    if done is None:
        return price if upstream else None
    return hourly_saving(price, done.new_nodes, upstream)
