# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a new node may be so that it is cheaper than what goes (Karpenter, ``consolidation.go``): types below a price,
spot in place of spot, no type that goes; else ``not-cheaper``, ``min-values``, ``same-type``, ``spot-to-spot-off``,
``spot-not-flexible``."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass, replace

from ...cluster.instance_types import ON_DEMAND, SPOT
from ...cluster.state_node import CAPACITY_TYPE
from ..scheduling.kinds import types_for_min_values
from ..scheduling.requirement import has_min_values, narrowed
from ..scheduling.settings import Settings
from ..scheduling.simulation import NewNode
from .candidates import NodeCandidate

# Fewer types than these would let the next spot node be replaced at once by one that is a little cheaper.
SPOT_TYPES = 15


@dataclass(frozen=True)
class NoGain:
    """Why a new node is no gain: a code, a sentence, and ``event``, the same in upstream's words."""

    code: str
    text: str
    event: str


def narrowed_to_cheaper(
    new: NewNode, price: float, settings: Settings, *, all_spot: bool, single: bool
) -> NewNode | NoGain:
    """The new node as it may replace nodes of that summed ``price`` of an hour, narrowed to cheaper types, or why it is
    no gain, as of ``narrowed_below_price``; ``all_spot``: these are all spot nodes, ``single``: it is one. Spot
    replaces spot only by the setting ``spot_to_spot`` (else ``spot-to-spot-off``), and one node only if 15 types are
    cheaper (else ``spot-not-flexible``), of which the first 15 are kept, or as many as ``minValues`` need. One that may
    be spot or on-demand becomes spot, if that is offered or the setting ``upstream`` is on."""
    if all_spot and _admits(new, SPOT):
        return _spot_to_spot(new, price, single=single, allowed=settings.spot_to_spot)
    found = narrowed_below_price(new, price)
    if isinstance(found, NoGain) or not (_admits(found, SPOT) and _admits(found, ON_DEMAND)):
        return found
    # If spot runs short the launch is to fail, and not to end in something dearer. Upstream demands it also where
    # nothing is ever offered as spot, so that the launch always fails.
    offered = any(one.capacity_type == SPOT for each in found.kinds for one in each.offers)
    return _fixed(found, SPOT) if offered or settings.upstream else found


def narrowed_below_price(new: NewNode, price: float) -> NewNode | NoGain:
    """The new node with only the types whose dearest launch is strictly below a price; why it is no gain if none is
    left (``not-cheaper``), or fewer than ``minValues`` asks for (``min-values``)."""
    kept = tuple(each for each in new.kinds if each.worst_launch_price(new.requirements) < price)
    short = types_for_min_values(kept, new.requirements)[1]
    if short is not None:
        return NoGain("min-values", short.text, f"Filtering by price: {short.text}")
    if not kept:
        text = f"can't replace with a cheaper node: what goes costs {price:g}"
        return NoGain("not-cheaper", text, "Can't replace with a cheaper node")
    return replace(new, kinds=kept)


def without_same_type(new: NewNode, going: t.Iterable[NodeCandidate]) -> NewNode | NoGain:
    """The new node in place of several, or why it is no gain (``same-type``). If it may be of types that go, only those
    of its types are left that are cheaper than the cheapest node of these. A type whose nodes all have no known price
    counts as free, so that nothing is cheaper."""
    prices: dict[str, float] = {}
    for each in sorted(going, key=lambda one: one.price is None):
        if each.type is not None:
            if each.price is None:
                prices.setdefault(each.type.name, 0.0)
            else:
                prices[each.type.name] = min(each.price, prices.get(each.type.name, math.inf))
    most = min((prices[kind.name] for kind in new.kinds if kind.name in prices), default=math.inf)
    found = narrowed_below_price(new, most)
    if isinstance(found, NoGain):
        return NoGain("same-type", "the nodes would become one of a type that goes", found.event)
    return found


def _spot_to_spot(new: NewNode, price: float, *, single: bool, allowed: bool) -> NewNode | NoGain:
    """The new node as spot in place of spot nodes, or why it is no gain, as of ``narrowed_to_cheaper``; ``allowed`` is
    the setting."""
    if not allowed:
        return NoGain(
            "spot-to-spot-off",
            "a spot node replaces spot nodes only if SpotToSpotConsolidation is switched on",
            "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
        )
    new = _fixed(new, SPOT)
    new = replace(new, kinds=tuple(each for each in new.kinds if each.offered(new.requirements)))
    found = narrowed_below_price(new, price)
    if isinstance(found, NoGain) or not single:
        return found
    count = len(found.kinds)
    if count < SPOT_TYPES:
        return NoGain(
            "spot-not-flexible",
            f"a spot node replaces one spot node only if {SPOT_TYPES} types are cheaper, not {count}",
            f"SpotToSpotConsolidation requires {SPOT_TYPES} cheaper instance type options than the current candidate "
            f"to consolidate, got {count}",
        )
    needed = types_for_min_values(found.kinds, found.requirements)[0] if has_min_values(found.requirements) else 0
    return replace(found, kinds=found.kinds[: max(SPOT_TYPES, needed)])


def _fixed(new: NewNode, capacity_type: str) -> NewNode:
    """The new node with that capacity type as a demand; its types stay."""
    return replace(new, requirements=narrowed(new.requirements, CAPACITY_TYPE, capacity_type))


def _admits(new: NewNode, capacity_type: str) -> bool:
    """Whether the demands of the new node leave it that capacity type."""
    found = new.requirements.get(CAPACITY_TYPE)
    return found is None or found.has(capacity_type)
