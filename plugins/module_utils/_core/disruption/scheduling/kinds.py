# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Instance types and their offers against demands on labels: which are left, in what order, at what price (cheapest,
worst launch), with enough ``minValues`` (Karpenter, ``cloudprovider``)."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from ...cluster.instance_types import ON_DEMAND, RESERVED, SPOT, InstanceType
from ...cluster.state_node import CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from .requirement import LabelRequirement, Requirements, intersects, of_labels

LAUNCH_ORDER = (RESERVED, SPOT, ON_DEMAND)


class Offer:
    """One offering of an instance type: a zone (empty: any) and a capacity type, ``available`` or not. ``price`` of an
    hour is infinite where it is not ``known``."""

    __slots__ = ("available", "capacity_type", "known", "price", "zone")

    def __init__(self, zone: str, capacity_type: str, price: float | None, available: bool) -> None:
        self.zone, self.capacity_type, self.available = zone, capacity_type, available
        self.price, self.known = (math.inf if price is None else price), price is not None

    def admitted(self, by: Requirements) -> bool:
        """Whether zone and capacity type meet the demands; an offer without a zone meets any demand on that."""
        zone, capacity_type = by.get(ZONE), by.get(CAPACITY_TYPE)
        if zone is not None and self.zone and not zone.has(self.zone):
            return False
        return capacity_type is None or capacity_type.has(self.capacity_type)


@dataclass(frozen=True)
class _Within:
    """Offers that demands leave, with the lowest price and that of the worst launch."""

    offers: tuple[Offer, ...]
    cheapest: float
    worst: float

    @classmethod
    def of(cls, offers: tuple[Offer, ...]) -> _Within:
        """The offers with their lowest price, and the highest of the capacity type that a launch tries first; each
        infinite if there is none, or it is not known."""
        by_kind = ([each.price for each in offers if each.capacity_type == kind] for kind in LAUNCH_ORDER)
        first = next((prices for prices in by_kind if prices), None)
        cheapest = min((each.price for each in offers), default=math.inf)
        return cls(offers, cheapest, max(first) if first else math.inf)


class CatalogueType:
    """An instance type with what its nodes can be: ``offers`` are all, ``open`` those that can be had now;
    ``requirements``, by label, the values that its labels, zones and capacity types can have. ``allocatable``, and
    ``capacity``, which limits of pools count, are in 10^-9 of each resource's unit."""

    __slots__ = ("_known", "allocatable", "capacity", "name", "offers", "open", "requirements", "type")

    def __init__(self, of: InstanceType) -> None:
        """The type with its offers; its zone is open if it has offers and none of them names one, and a price that is
        no number from 0 on is not known."""
        self.type, self.name, self.allocatable = of, of.name, of.allocatable
        self.capacity = {**of.allocatable, **of.capacity}
        self.offers = tuple(Offer(one.zone, one.capacity_type, one.cost, one.available) for one in of.offerings)
        self.open = tuple(each for each in self.offers if each.available)
        self._known: dict[t.Any, _Within] = {}
        self.requirements = of_labels(of.labels)
        self.requirements[INSTANCE_TYPE] = LabelRequirement(INSTANCE_TYPE, frozenset((of.name,)))
        zones = frozenset(each.zone for each in self.offers if each.zone)
        if zones or not self.offers:
            self.requirements[ZONE] = LabelRequirement(ZONE, zones)
        kinds = frozenset(each.capacity_type for each in self.offers)
        self.requirements[CAPACITY_TYPE] = LabelRequirement(CAPACITY_TYPE, kinds)

    def fits(self, requests: t.Mapping[str, int]) -> bool:
        """Whether a new node of it has so much (10^-9 of each resource's unit) in ``allocatable``, DaemonSets not taken
        off; nothing fits where that has a negative amount."""
        have = self.allocatable
        if any(amount > have.get(name, 0) for name, amount in requests.items()):
            return False
        return all(amount >= 0 for amount in have.values())

    def offered(self, demands: Requirements) -> bool:
        """Whether it can be had now within the demands."""
        return bool(self._within(demands).offers)

    def cheapest(self, demands: Requirements) -> float:
        """The lowest price of an hour at which it can be had now within the demands; infinite if it cannot, or nobody
        knows."""
        return self._within(demands).cheapest

    def worst_launch_price(self, demands: Requirements) -> float:
        """What a launch within the demands costs an hour at most: the dearest offer of the capacity type that a launch
        tries first (reserved, spot, on-demand); infinite without one, or where the price of one is not known."""
        return self._within(demands).worst

    def _within(self, demands: Requirements) -> _Within:
        """The offers that can be had now within the demands, kept by what these say of zone and capacity type, which is
        all that offers differ in."""
        zone, capacity_type = demands.get(ZONE), demands.get(CAPACITY_TYPE)
        key = (zone and zone.identity, capacity_type and capacity_type.identity)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _Within.of(tuple(each for each in self.open if each.admitted(demands)))
        return found


Kinds = tuple[CatalogueType, ...]


@dataclass(frozen=True)
class TooFewValues:
    """Labels of which there are fewer different values than ``minValues`` asks for."""

    labels: tuple[str, ...]

    @property
    def text(self) -> str:
        """As upstream writes it: ``minValues requirement is not met for label(s) (label(s)=[a b])``."""
        return f"minValues requirement is not met for label(s) (label(s)=[{' '.join(self.labels)}])"


def by_price(kinds: t.Iterable[CatalogueType], demands: Requirements) -> Kinds:
    """The types, those with the cheapest offer that can be had now and meets the demands first; of one price as they
    came; last those without such an offer, or of unknown price."""
    return tuple(sorted(kinds, key=lambda one: one.cheapest(demands)))


def types_for_min_values(kinds: Kinds, demands: Requirements) -> tuple[int, TooFewValues | None]:
    """How many of the types, from the first on, have all the different values that ``minValues`` ask for, all where
    they have too few, 0 where none asks; and what is missing, or None, as upstream has it also without any type."""
    wanted = {key: one.min_values for key, one in demands.items() if one.min_values is not None}
    if not wanted:
        return 0, None
    seen: dict[str, set[str]] = {key: set() for key in wanted}
    short: list[str] = []
    for count, kind in enumerate(kinds, 1):
        for key, values in seen.items():
            own = kind.requirements.get(key)
            values |= own.values if own is not None else frozenset()
        short = sorted(key for key, values in seen.items() if len(values) < wanted[key])
        if not short:
            return count, None
    return len(kinds), TooFewValues(tuple(short)) if short else None


def matching(kind: CatalogueType, demands: Requirements) -> bool:
    """Whether the type itself, by its labels, zones and capacity types, meets the demands; ``offered`` tells whether it
    can be had now."""
    return intersects(kind.requirements, demands)
