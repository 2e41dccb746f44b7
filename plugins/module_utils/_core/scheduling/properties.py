# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Cluster properties as MemberClusters report them (KubeFleet; ``status.properties``, ``status.resourceUsage``): looked
up by either name, names that are refused, and one property of all clusters sorted for thresholds (``Gt``, ``Le``)."""

from __future__ import annotations

import bisect
import typing as t
from dataclasses import dataclass, field

from ..objects.clusters.member_cluster import MemberCluster
from ..objects.placements.property_rules import ALIASES, CAPACITIES, RESOURCE_PREFIX
from ..values.quantity import parse_quantity
from . import bitset

# The field of resourceUsage that holds each capacity.
CAPACITY_FIELDS = {capacity: "capacity" if capacity == "total" else capacity for capacity in CAPACITIES}
OTHER_NAMES = {**ALIASES, **{present: older for older, present in ALIASES.items()}}
BLOCK = 64


def property_name_problem(name: str, *, upstream: bool = False) -> str:
    """Why ``name`` cannot be looked up; empty if it can. ``upstream`` also refuses a second dash in the name of a
    resource."""
    if not name.startswith(RESOURCE_PREFIX):
        return ""
    parts = name.removeprefix(RESOURCE_PREFIX).split("-")
    if len(parts) < 2 or not parts[1] or (upstream and len(parts) != 2):
        return f"{name} is not {RESOURCE_PREFIX}<total, allocatable or available>-<resource>"
    if parts[0] not in CAPACITY_FIELDS:
        return f"{name} names capacity {parts[0]!r}; known are {', '.join(CAPACITY_FIELDS)}"
    return ""


def path_of(name: str) -> str:
    """The field of a MemberCluster that holds the property, for messages. ``name`` must be one that can be looked
    up."""
    if not name.startswith(RESOURCE_PREFIX):
        return f"status.properties[{name}].value"
    capacity, _dash, resource = name.removeprefix(RESOURCE_PREFIX).partition("-")
    return f"status.resourceUsage.{CAPACITY_FIELDS[capacity]}[{resource}]"


def observed(cluster: MemberCluster, name: str) -> str | None:
    """The text that a cluster reports, None if it does not report the property under this very name, which must be one
    that can be looked up (``property_name_problem``). An amount of ``resourceUsage`` that is a quantity comes in
    canonical form, as API servers store it: the float of a sorter depends on the spelling."""
    if not name.startswith(RESOURCE_PREFIX):
        found = cluster.status.properties.get(name)
        return found.value if found else None
    capacity, _dash, resource = name.removeprefix(RESOURCE_PREFIX).partition("-")
    usage = cluster.status.resource_usage
    text: str | None = getattr(usage, CAPACITY_FIELDS[capacity]).get(resource) if usage else None
    try:
        return None if text is None else parse_quantity(text).canonical
    except ValueError:
        return text


@dataclass(frozen=True)
class PropertyColumn:
    """One property of all clusters. ``texts`` (None if not reported) and ``floats`` (0 without a quantity) are by
    position, ``reported`` and ``malformed`` (no quantity) bit sets by position. ``ranked`` are the positions with a
    quantity by value, then by name; ``nanos`` their exact values, in 10^-9, in that order. ``lowest`` and ``highest``
    are the first clusters, by name, with the extreme value (-1 if nobody has one). ``first_blocks[i]`` is the set of
    the first ``i * BLOCK`` of ``ranked``. ``scores`` caches for ``property_sorter``."""

    name: str
    texts: tuple[str | None, ...]
    floats: tuple[float, ...]
    reported: int
    malformed: int
    ranked: tuple[int, ...]
    nanos: tuple[int, ...]
    first_blocks: tuple[int, ...]
    lowest: int
    highest: int
    scores: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def valued(self) -> int:
        """Clusters that report a quantity, as a bit set by position."""
        return self.reported & ~self.malformed

    @property
    def spread_out(self) -> bool:
        """Whether at least two different values are reported."""
        return bool(self.nanos) and self.nanos[0] != self.nanos[-1]

    def meeting(self, operator: str, wanted: int) -> int:
        """Clusters whose value stands in that relation (a key of ``COMPARISONS``) to ``wanted``, in nano units, as a
        bit set by position; one without a quantity stands in none, not even ``Ne``."""
        return COMPARISONS[operator](
            self, bisect.bisect_left(self.nanos, wanted), bisect.bisect_right(self.nanos, wanted)
        )

    def first(self, count: int) -> int:
        """The clusters with the ``count`` smallest values, equal ones by name, as a bit set by position; there must be
        so many."""
        block = count // BLOCK
        bits = self.first_blocks[block]
        for position in self.ranked[block * BLOCK : count]:
            bits |= 1 << position
        return bits


# By operator: the set, given how many values are below and how many are at most the wanted one.
COMPARISONS: t.Mapping[str, t.Callable[[PropertyColumn, int, int], int]] = {
    "Gt": lambda column, below, up_to: column.valued & ~column.first(up_to),
    "Ge": lambda column, below, up_to: column.valued & ~column.first(below),
    "Lt": lambda column, below, up_to: column.first(below),
    "Le": lambda column, below, up_to: column.first(up_to),
    "Eq": lambda column, below, up_to: column.first(up_to) & ~column.first(below),
    "Ne": lambda column, below, up_to: column.valued & ~(column.first(up_to) & ~column.first(below)),
}


def property_column(clusters: t.Sequence[MemberCluster], name: str, *, alias: bool) -> PropertyColumn:
    """Read one property of ``clusters``, which are in name order; ``alias`` takes the property's other name where a
    cluster does not report this one; a malformed value counts as reported. ``name`` must be one that can be looked
    up."""
    other = OTHER_NAMES.get(name) if alias else None
    texts: list[str | None] = []
    floats: list[float] = []
    valued: list[tuple[int, int]] = []
    malformed: list[int] = []
    for position, cluster in enumerate(clusters):
        text = observed(cluster, name)
        if text is None and other:
            text = observed(cluster, other)
        texts.append(text)
        value = 0.0
        if text is not None:
            try:
                quantity = parse_quantity(text)
            except ValueError:
                malformed.append(position)
            else:
                value = quantity.approximate
                valued.append((quantity.nanos, position))
        floats.append(value)
    valued.sort()
    ranked = tuple(position for _nanos, position in valued)
    nanos = tuple(number for number, _position in valued)
    bad = bitset.of(malformed, len(texts))
    blocks = [0]
    for start in range(0, len(ranked), BLOCK):
        blocks.append(blocks[-1] | bitset.of(ranked[start : start + BLOCK], len(texts)))
    return PropertyColumn(
        name=name,
        texts=tuple(texts),
        floats=tuple(floats),
        reported=blocks[-1] | bad,
        malformed=bad,
        ranked=ranked,
        nanos=nanos,
        first_blocks=tuple(blocks),
        lowest=ranked[0] if ranked else -1,
        highest=ranked[bisect.bisect_left(nanos, nanos[-1])] if ranked else -1,
    )
