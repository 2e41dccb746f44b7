# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Price lists of instance types, read from a document (``prices-invalid``: source, version, currency, prices) and put
together, and the cost of a core and a GiB of a cluster as KubeFleet's Azure property provider reports it."""

from __future__ import annotations

import sys
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...errors import FleetError, Problem
from ...foreign import shown_value
from ...objects.clusters.member_cluster import MemberCluster

CPU_COST = "kubernetes.azure.com/per-cpu-core-cost"
MEMORY_COST = "kubernetes.azure.com/per-gb-memory-cost"
# Upstream's name says GB; what it divides by is 2**30 bytes.
UNITS = {CPU_COST: "core", MEMORY_COST: "GiB"}
CURRENCY, PERIOD = "USD", "hour"
FORM = 'such as {"m7.large": 0.1}, or {"source": "...", "version": "...", "prices": {"m7.large": 0.1}}'


@dataclass(frozen=True, kw_only=True)
class PriceSource:
    """Where prices come from: who made the list, and which edition of it this is."""

    source: str = ""
    version: str = ""
    currency: str = CURRENCY
    period: str = PERIOD

    def as_dict(self) -> dict[str, str]:
        """``source``, ``version``, ``currency`` and ``period``, in a new dict."""
        return dict(vars(self))

    @property
    def text(self) -> str:
        """Source and version in words; without them ``a list without a name``, and that it does not say from when."""
        of = f"version {self.version}" if self.version else "which does not say from when"
        return f"{self.source or 'a list without a name'}, {of}"


@dataclass(frozen=True, kw_only=True)
class PriceList:
    """What one node of an instance type costs an hour, in US dollars, by type, and whose list that is (``origin``)."""

    prices: Mapping[str, float] = field(default_factory=dict)
    origin: PriceSource = PriceSource()


NO_PRICES = PriceList()


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The property ``name`` of a cluster and its ``value`` as recorded, for one ``unit``: a core, or a GiB of memory.
    ``origin`` None: it is not known."""

    name: str
    value: str
    origin: PriceSource | None = None

    @property
    def unit(self) -> str:
        """``core`` or ``GiB``; KeyError where ``name`` is no property of a cost."""
        return UNITS[self.name]

    def as_dict(self) -> dict[str, str]:
        """``property``, ``value``, ``unit``, and those of ``PriceSource``, of which source and version are empty where
        the origin is not known."""
        origin = self.origin or PriceSource()
        return {"property": self.name, "value": self.value, "unit": self.unit, **origin.as_dict()}


def read_prices(document: t.Any, where: str = "") -> PriceList:
    """A price list: prices by instance type, alone or under ``prices`` beside ``source`` and ``version``; ``where`` is
    its file, for errors.

    ``currency`` and ``period`` may be stated, and are USD and hour: what placements compare has to be of one unit in
    the whole fleet. FleetError ``prices-invalid`` with all problems, other fields and a list without any price among
    them.
    """
    versioned = isinstance(document, Mapping) and isinstance(document.get("prices"), Mapping)
    head: Mapping[str, t.Any] = document if versioned else {}
    rows = head["prices"] if versioned else document
    if not isinstance(rows, Mapping):
        raise FleetError("prices-invalid", "these are no prices by instance type", where, FORM)
    wrong = [
        *(() if rows else ("there is no price in this list",)),
        *_wrong_head(head),
        *(f"{key}: {shown_value(each, 60)} is no price" for key, each in rows.items() if not is_price(each)),
    ]
    if wrong:
        raise FleetError.of(Problem("prices-invalid", text, where, FORM) for text in wrong)
    origin = PriceSource(**{key: str(head[key]) for key in ("source", "version") if key in head})
    return PriceList(prices={str(key): float(each) for key, each in rows.items()}, origin=origin)


def merged_prices(lists: t.Sequence[PriceList]) -> PriceList:
    """All the lists as one; where two have a price for the same type, the later one counts. Its source and version are
    those of all, each once, with commas between them."""
    prices = {key: price for each in lists for key, price in each.prices.items()}
    sources = (each.origin.source for each in lists if each.origin.source)
    versions = (each.origin.version for each in lists if each.origin.version)
    told = (", ".join(dict.fromkeys(parts)) for parts in (sources, versions))
    return PriceList(prices=prices, origin=PriceSource(source=next(told), version=next(told)))


def costs_of(member: MemberCluster, origin: PriceSource | None = None) -> tuple[Cost, ...]:
    """The costs that a member reports as its properties, that of a core first, each with the ``origin``."""
    found = member.status.properties
    return tuple(Cost(name=name, value=found[name].value, origin=origin) for name in UNITS if name in found)


def _wrong_head(head: Mapping[str, t.Any]) -> t.Iterator[str]:
    """What is wrong with the fields beside ``prices``, a text for each; another field is wrong, too."""
    for key, each in head.items():
        if key in ("source", "version"):
            if not isinstance(each, str):
                yield f"{key}: text is wanted, not {shown_value(each, 60)}"
        elif key in ("currency", "period"):
            wanted = CURRENCY if key == "currency" else PERIOD
            if each != wanted:
                yield f"{key}: costs are in {CURRENCY} for an {PERIOD}, not in {shown_value(each, 60)}"
        elif key != "prices":
            yield f"there is no field {key!r:.60} in a price list"


def is_price(price: t.Any) -> bool:
    """Whether it is a number from 0 on that a float holds, and no truth value."""
    return isinstance(price, (int, float)) and not isinstance(price, bool) and 0 <= price <= sys.float_info.max
