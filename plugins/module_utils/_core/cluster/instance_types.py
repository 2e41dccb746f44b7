# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One instance type, read from an entry of a catalogue: ``allocatable`` (what pods may ask for), ``capacity`` (what
limits of pools count), and its ``offerings`` by zone and capacity type with the price of an hour (Karpenter,
``cloudprovider``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..schema.meta import EMPTY
from ..schema.prop import prop
from .facts.prices import is_price
from .pod_reading import nano_amounts, read_as

RESERVED, SPOT, ON_DEMAND = "reserved", "spot", "on-demand"


@dataclass(frozen=True, kw_only=True)
class Offering:
    """A type in a zone; an empty ``zone`` stands for any. ``price`` is per hour in any currency, the same in the whole
    catalogue; None where it is not known."""

    zone: str = prop("Zone.", default="")
    capacity_type: str = prop("reserved, spot or on-demand.", default=ON_DEMAND)
    price: t.Any = prop("Price of an hour.", default=None)
    available: bool = prop("Whether it can be had now.", default=True)

    @property
    def cost(self) -> float | None:
        """The price, None for one that is unknown, negative, endless or no number."""
        return float(self.price) if is_price(self.price) else None


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """``allocatable`` and ``capacity``, all that the machine has, are in 10^-9 of each resource's unit; a resource that
    ``capacity`` lacks is taken as in ``allocatable``. ``labels`` are those of its nodes but for name, zone and capacity
    type."""

    name: str
    labels: t.Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    allocatable: t.Mapping[str, int] = field(default_factory=lambda: EMPTY, hash=False)
    capacity: t.Mapping[str, int] = field(default_factory=lambda: EMPTY, hash=False)
    offerings: tuple[Offering, ...] = ()

    def price(self, zone: str, capacity_type: str) -> float | None:
        """What a node of the type costs an hour there: the first known price of an offering of that capacity type, in
        the zone or in any, whether or not it can be had now; None without one."""
        known = (each for each in self.offerings if each.capacity_type == capacity_type and each.zone in (zone, ""))
        return next((each.cost for each in known if each.cost is not None), None)


@dataclass(frozen=True, kw_only=True)
class _InstanceTypeManifest:
    name: str = prop("Name of the type.")
    labels: t.Mapping[str, str] = prop("Labels of its nodes.", default=EMPTY)
    allocatable: t.Mapping[str, str] = prop("What pods may ask for.", default=EMPTY, quantity=True)
    capacity: t.Mapping[str, str] = prop("All that the machine has.", default=EMPTY, quantity=True)
    offerings: tuple[Offering, ...] = prop("Where and how it can be had.", default=())


def read_instance_type(document: t.Any) -> InstanceType:
    """An entry of a catalogue. FleetError ``undecodable`` for another structure, ``invalid-quantity`` for an amount
    that is none; prices are not judged."""
    manifest = read_as(_InstanceTypeManifest, document, "instance type")
    what = f"instance type {manifest.name}"
    return InstanceType(
        name=manifest.name,
        labels=manifest.labels,
        allocatable=nano_amounts(manifest.allocatable, what),
        capacity=nano_amounts(manifest.capacity, what),
        offerings=manifest.offerings,
    )
