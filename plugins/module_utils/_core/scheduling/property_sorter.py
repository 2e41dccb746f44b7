# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The property sorter of preferred terms (KubeFleet ``propertySorter``): a cluster's share of a term's weight, by its
value between the fleet's extremes."""

from __future__ import annotations

import math

from ..objects.placements.policy import PropertySorter
from .properties import PropertyColumn

ASCENDING, DESCENDING = "Ascending", "Descending"
FARTHEST = 1e300
SORT_ORDERS = (ASCENDING, DESCENDING)


def rounded(value: float) -> int:
    """The nearest whole number, half away from zero as upstream rounds; Python's ``round`` goes to the even one."""
    whole = math.trunc(value)
    if abs(value - whole) >= 0.5:
        return whole + (1 if value > 0 else -1)
    return whole


def fraction(column: PropertyColumn, position: int, sort_order: str) -> float:
    """The share of the weight in [0, 1] of a cluster with a value: with Descending all of it for the highest value of
    the whole fleet and nothing for the lowest, with any other sort order the other way round. There must be two
    different values; 0 if lowest and highest are one as floats, or beyond the same bound (1e300 on either side of
    zero)."""
    low, high, value = (_bounded(column.floats[each]) for each in (column.lowest, column.highest, position))
    if low == high:
        return 0.0
    # Equal values that are spelled differently may lie a rounding error beyond the extremes.
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return share if sort_order == DESCENDING else 1 - share


def _bounded(value: float) -> float:
    """The number, cut at ``FARTHEST`` on both sides, as differences of larger ones would be no numbers any more."""
    return min(max(value, -FARTHEST), FARTHEST)


def scores(column: PropertyColumn, sorter: PropertySorter, weight: int) -> tuple[int, ...]:
    """The score of every cluster by position, its ``fraction`` of the weight, ``rounded``: 0 without a value, and for
    all if there are not two different values. Cached in the column."""
    key = (sorter.sort_order, weight)
    found = column.scores.get(key)
    if found is None:
        found = column.scores[key] = _scores(column, sorter.sort_order, weight)
    return found


def beyond_extremes(column: PropertyColumn) -> list[int]:
    """Positions of the values that upstream gives up on, by value: those whose float lies outside of the extremes'
    floats, as an equal value with another spelling may, and all if an extreme is too large for a float."""
    if not column.nanos:
        return []
    low, high = column.floats[column.lowest], column.floats[column.highest]
    if math.isinf(low) or math.isinf(high):
        return list(column.ranked)
    return [position for position in column.ranked if not low <= column.floats[position] <= high]


def _scores(column: PropertyColumn, sort_order: str, weight: int) -> tuple[int, ...]:
    """As ``scores``, not cached."""
    values = [0] * len(column.texts)
    if column.spread_out:
        for position in column.ranked:
            values[position] = rounded(fraction(column, position, sort_order) * weight)
    return tuple(values)
