# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a simulated scheduling comes to, as data: moves of pods, new nodes, pods that fit nowhere (misfits; Karpenter,
``Results``)."""

from __future__ import annotations

from dataclasses import dataclass

from .kinds import Kinds
from .requirement import Requirements


@dataclass(frozen=True)
class Move:
    """A pod (``namespace/name``) and its new home: a node by name, or a new one (``new-1``). ``source`` is the node
    that it leaves, empty for one that waits."""

    pod: str
    source: str
    target: str

    def as_dict(self) -> dict[str, str]:
        """As results have it: ``pod``, ``from``, ``to``."""
        return {"pod": self.pod, "from": self.source, "to": self.target}


@dataclass(frozen=True)
class NewNode:
    """A node to be made from a pool: any of the types, the cheapest first, within the requirements; without types, as
    the provider chooses."""

    name: str
    pool: str
    requirements: Requirements
    kinds: Kinds


@dataclass(frozen=True)
class Misfit:
    """A pod that finds no home, and why in words. ``uninitialized``: the name of a node that would take it, and may
    never come, or empty."""

    pod: str
    text: str
    uninitialized: str = ""


@dataclass(frozen=True)
class Simulation:
    """``moves`` are of all pods that find a place, on nodes that are not initialized too: first to nodes that are
    there, in the order of the search, then to ``new_nodes`` in theirs. ``misfits`` leave out pods that had no node
    before: they may go on waiting. Those without any place come first, in the order in which that was found, then those
    that only a node which is not initialized would take, then those of new nodes that cannot be had."""

    moves: tuple[Move, ...] = ()
    new_nodes: tuple[NewNode, ...] = ()
    misfits: tuple[Misfit, ...] = ()
