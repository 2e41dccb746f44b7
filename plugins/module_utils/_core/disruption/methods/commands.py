# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a method does with nodes (Karpenter, ``Command``), replacements with their options, and refusals, as data and as
results have it; and nodes within budgets (code ``budget``), by saving, priced together."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...cluster.state_node import CAPACITY_TYPE, ZONE
from ...values.selector import IN
from ..budgets.census import PoolAllowance
from ..scheduling.simulation import Move, NewNode
from .candidates import NodeCandidate
from .events import NodeEvent

# Why a command pays, or is needed.
EMPTY, FITS_ELSEWHERE, CHEAPER, HAS_DRIFTED = "empty", "fits-elsewhere", "cheaper", "drifted"


@dataclass(frozen=True, kw_only=True)
class Option:
    """One thing that a new node could be; ``price`` of an hour, None: nobody knows. ``free`` is what pods could take of
    it, in 10^-9 of each resource's unit."""

    pool: str
    instance_type: str
    zone: str
    capacity_type: str
    price: float | None
    free: t.Mapping[str, int]

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields without ``pool`` and ``free``, in camelCase."""
        return {
            "instanceType": self.instance_type,
            "zone": self.zone,
            "capacityType": self.capacity_type,
            "price": self.price,
        }


@dataclass(frozen=True)
class Replacement:
    """A node to be started first, under a name given in thought (``new-1``). ``pool`` makes it, of one of
    ``instance_types``, the cheapest first, none if the provider is free to choose; ``capacity_types`` and ``zones`` are
    what it has to be, None if that is open. ``options`` are all that can be had within this."""

    name: str
    pool: str
    options: tuple[Option, ...] = ()
    instance_types: tuple[str, ...] = ()
    capacity_types: tuple[str, ...] | None = None
    zones: tuple[str, ...] | None = None

    @classmethod
    def of(cls, new: NewNode) -> Replacement:
        """The replacement that a new node of a simulation is, its options in the order of its types: offers that can be
        had now."""
        options = [
            Option(
                pool=new.pool,
                instance_type=kind.name,
                zone=one.zone,
                capacity_type=one.capacity_type,
                price=one.price if one.known else None,
                free=kind.allocatable,
            )
            for kind in new.kinds
            for one in kind.open
            if one.admitted(new.requirements)
        ]
        return cls(
            new.name,
            new.pool,
            tuple(options),
            tuple(each.name for each in new.kinds),
            _values(new, CAPACITY_TYPE),
            _values(new, ZONE),
        )

    @property
    def price(self) -> float | None:
        """The lowest price of an hour of what it could be, as far as prices are known; None if none is."""
        return min((each.price for each in self.options if each.price is not None), default=None)

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields, in camelCase."""
        return {
            "name": self.name,
            "pool": self.pool,
            "instanceTypes": list(self.instance_types),
            "capacityTypes": None if self.capacity_types is None else list(self.capacity_types),
            "zones": None if self.zones is None else list(self.zones),
            "options": [each.as_dict() for each in self.options],
        }


@dataclass(frozen=True, kw_only=True)
class Command:
    """Nodes to be deleted together once the replacements, if any, are initialized. ``method`` names one of ``METHODS``,
    ``reason`` is as budgets know it, ``motive`` is ``empty``, ``fits-elsewhere``, ``cheaper`` or ``drifted``.

    ``saving`` and ``source_cost`` are per hour, None where a price is not known. ``moves`` are where the nodes' pods
    would go; ``others`` those of pods that wait, and of nodes on their way out.
    """

    method: str
    reason: str
    motive: str
    nodes: tuple[str, ...]
    replacements: tuple[Replacement, ...] = ()
    moves: tuple[Move, ...] = ()
    others: tuple[Move, ...] = ()
    saving: float | None = None
    source_cost: float | None = None
    text: str = ""

    @property
    def decision(self) -> str:
        """``replace`` if it has replacements, else ``delete``."""
        return "replace" if self.replacements else "delete"

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields without ``others`` and ``source_cost``, and ``decision``."""
        return {
            "method": self.method,
            "reason": self.reason,
            "motive": self.motive,
            "decision": self.decision,
            "nodes": list(self.nodes),
            "replacements": [each.as_dict() for each in self.replacements],
            "moves": [each.as_dict() for each in self.moves],
            "saving": self.saving,
            "text": self.text,
        }


@dataclass(frozen=True)
class RefusedCommand:
    """Why nodes, by name, are left alone: a code and a sentence."""

    nodes: tuple[str, ...]
    code: str
    text: str

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields."""
        return {"nodes": list(self.nodes), "code": self.code, "text": self.text}


@dataclass(frozen=True)
class MethodCommands:
    """The commands of one method, and why others were not given.

    ``considered`` are the names of the nodes that the method looks at, budgets left aside, what saves most first;
    ``filtering`` are the events of choosing these, ``events`` those of what follows; ``error`` is why the method gives
    up, in upstream's words, or empty.
    """

    commands: tuple[Command, ...] = ()
    refused: tuple[RefusedCommand, ...] = ()
    considered: tuple[str, ...] = ()
    filtering: tuple[NodeEvent, ...] = ()
    events: tuple[NodeEvent, ...] = ()
    error: str = ""


def within_budgets(
    nodes: t.Iterable[NodeCandidate], allowed: t.Mapping[str, PoolAllowance]
) -> tuple[list[NodeCandidate], list[RefusedCommand]]:
    """The candidates that their pools' budgets leave room for, and why the others have none (code ``budget``): who
    comes first takes the room. ``allowed`` is by pool; a pool that is not in it has no room."""
    left = {name: each.allowed for name, each in allowed.items()}
    kept, refused = [], []
    for each in nodes:
        pool = each.pool.name
        if left.get(pool, 0) > 0:
            left[pool] -= 1
            kept.append(each)
        else:
            told = allowed[pool].text if pool in allowed else "the pool has no budgets"
            refused.append(RefusedCommand((each.name,), "budget", f"pool {pool}: {told}"))
    return kept, refused


def by_saving(nodes: t.Iterable[NodeCandidate], first: t.Sequence[str] = ()) -> list[NodeCandidate]:
    """The nodes in a new list, what saves most for its cost first; unknown prices count as 0, ties go by ``first``,
    which are names, and then by name."""
    rank = {name: place for place, name in enumerate(first)}
    return sorted(nodes, key=lambda one: (-one.ratio, rank.get(one.name, len(rank)), one.name))


def summed_price(nodes: t.Iterable[NodeCandidate], upstream: bool = False) -> float | None:
    """What the nodes cost an hour together; None where one price is not known, which ``upstream`` counts as 0."""
    total = 0.0
    for each in nodes:
        if each.price is None and not upstream:
            return None
        total += each.known_price
    return total


def _values(new: NewNode, key: str) -> tuple[str, ...] | None:
    """The values that a new node may have for a label, sorted; None unless they are listed."""
    found = new.requirements.get(key)
    return tuple(sorted(found.values)) if found is not None and found.operator == IN else None
