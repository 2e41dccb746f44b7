# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What may replace nodes: only what is cheaper (Karpenter, ``computeConsolidation``).

A type counts with the dearest offering of the capacity type that would be launched, so that whatever comes is cheaper
than what goes.
"""

from __future__ import annotations

import typing as t
from collections import defaultdict

from ...cluster.instance_types import ON_DEMAND, RESERVED, SPOT
from ...cluster.new_nodes import Option
from .candidates import RefusedCommand

# Fewer types than these would let the next spot node be replaced at once by one that is a little cheaper.
SPOT_TYPES = 15
_LAUNCH_ORDER = (RESERVED, SPOT, ON_DEMAND)
Options = tuple[Option, ...]


def cheaper(
    options: Options, price: float, all_spot: bool, single: bool, spot_to_spot: bool
) -> Options | RefusedCommand:
    """The options that may replace nodes of that summed price; ``all_spot`` says that these are all spot nodes."""
    may_be_spot = any(each.capacity_type == SPOT for each in options)
    if all_spot and may_be_spot:
        return (
            _spot_to_spot(options, price, single)
            if spot_to_spot
            else _refused(
                "spot-to-spot-off", "a spot node replaces spot nodes only if SpotToSpotConsolidation is switched on"
            )
        )
    found = below(options, price)
    if not found:
        return _refused("not-cheaper", f"can't replace with a cheaper node: what goes costs {price:g}")
    kinds = {each.capacity_type for each in found}
    if {SPOT, ON_DEMAND} <= kinds:
        # If spot runs short the launch is to fail, and not to end in something dearer.
        found = tuple(each for each in found if each.capacity_type == SPOT)
    return sorted_by_price(found)


def below(options: Options, price: float) -> Options:
    """The options of types whose launch price is strictly below."""
    launch = launch_prices(options)
    kept = {name for name, each in launch.items() if each is not None and each < price}
    return tuple(each for each in options if each.instance_type in kept)


def launch_prices(options: Options) -> dict[str, float | None]:
    """What each type costs at worst, in the capacity type that comes first; None where a price is not known."""
    by_type: dict[str, list[Option]] = defaultdict(list)
    for each in options:
        by_type[each.instance_type].append(each)
    return {name: _worst(rows) for name, rows in by_type.items()}


def without_same_type(options: Options, going: t.Mapping[str, float]) -> Options:
    """Several nodes are not to become one of a type that goes: what is left is cheaper than the cheapest such type.

    ``going`` are the types of the nodes with their prices.
    """
    same = [price for name, price in going.items() if any(each.instance_type == name for each in options)]
    return below(options, min(same)) if same else options


def sorted_by_price(options: Options) -> Options:
    """The cheapest first, by name where prices are equal. Without a price an option counts as free."""
    return tuple(sorted(options, key=lambda one: (one.price or 0.0, one.instance_type, one.zone, one.capacity_type)))


def _spot_to_spot(options: Options, price: float, single: bool) -> Options | RefusedCommand:
    found = sorted_by_price(below(tuple(each for each in options if each.capacity_type == SPOT), price))
    names = list(dict.fromkeys(each.instance_type for each in found))
    if not names:
        return _refused("not-cheaper", f"can't replace with a cheaper spot node: what goes costs {price:g}")
    if not single:
        return found
    if len(names) < SPOT_TYPES:
        return _refused(
            "spot-not-flexible",
            f"a spot node replaces one spot node only if {SPOT_TYPES} types are cheaper, not {len(names)}",
        )
    return tuple(each for each in found if each.instance_type in names[:SPOT_TYPES])


def _worst(options: list[Option]) -> float | None:
    first = min(options, key=lambda one: _rank(one.capacity_type)).capacity_type
    prices = [each.price for each in options if each.capacity_type == first]
    known = [each for each in prices if each is not None]
    return max(known) if len(known) == len(prices) else None


def _rank(capacity_type: str) -> int:
    return _LAUNCH_ORDER.index(capacity_type) if capacity_type in _LAUNCH_ORDER else len(_LAUNCH_ORDER)


def _refused(code: str, text: str) -> RefusedCommand:
    return RefusedCommand((), code, text)
