# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The fleet as bit sets, shared by placements: who carries a label, matches a label selector, has a taint or a property
beyond a threshold, is leaving or evacuated; clusters grouped by label values (topology)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ..objects.clusters.evacuation import is_evacuated
from ..objects.clusters.member_cluster import MemberCluster, Taint
from ..values.selector import (
    EXISTS,
    IN,
    NOT_IN,
    LabelSelector,
)
from . import bitset
from .properties import PropertyColumn, property_column


@dataclass(frozen=True)
class LabelColumn:
    """One label key of all clusters: who carries it, and who carries which value, as bit sets by position."""

    present: int
    values: t.Mapping[str, int]


@dataclass(frozen=True)
class Topology:
    """Clusters grouped by their values of some label keys; None stands for a key that a cluster lacks. ``group_of`` is
    by position and gives the number of the group. ``domains`` hold, for each key, the value of every group; nothing for
    a fleet without clusters."""

    group_of: tuple[int, ...]
    domains: tuple[tuple[str | None, ...], ...]


class FleetIndex:
    """The clusters of a fleet as bit sets. Positions follow cluster names in ascending order. ``now`` is the instant at
    which eligibility is judged. ``everyone``, ``leaving`` and ``evacuated`` are bit sets by position. Columns are made
    at first use; making one twice at once is harmless."""

    def __init__(self, clusters: t.Iterable[MemberCluster], now: datetime) -> None:
        self.clusters: tuple[MemberCluster, ...] = tuple(sorted(clusters, key=lambda cluster: cluster.metadata.name))
        self.now = now
        self.names: tuple[str, ...] = tuple(cluster.metadata.name for cluster in self.clusters)
        self.positions: t.Mapping[str, int] = {name: position for position, name in enumerate(self.names)}
        self.size = len(self.names)
        self.everyone = (1 << self.size) - 1
        self.leaving = self.where(lambda cluster: cluster.metadata.deletion_timestamp is not None)
        self.evacuated = self.where(is_evacuated)
        self.taint_sets: t.Mapping[tuple[Taint, ...], int] = self._sets(cluster.taints for cluster in self.clusters)
        self._labels: dict[str, LabelColumn] = {}
        self._properties: dict[tuple[str, bool], PropertyColumn] = {}
        self._known: dict[t.Hashable, int] = {}
        self._topologies: dict[tuple[str, ...], Topology] = {}

    def label(self, key: str) -> LabelColumn:
        """Who carries the label key, and with which value, as bit sets by position."""
        column = self._labels.get(key)
        if column is None:
            values = self._sets(cluster.metadata.labels.get(key) for cluster in self.clusters)
            absent = values.pop(None, 0)
            column = LabelColumn(self.everyone & ~absent, t.cast("dict[str, int]", values))
            self._labels[key] = column
        return column

    def column(self, name: str, *, upstream: bool = False) -> PropertyColumn:
        """A property of all clusters, under its older or its newer name, with ``upstream`` under this one alone.
        ``name`` must be one that can be looked up (``property_name_problem``)."""
        column = self._properties.get((name, upstream))
        if column is None:
            column = property_column(self.clusters, name, alias=not upstream)
            self._properties[name, upstream] = column
        return column

    def where_cached(self, question: t.Hashable, holds: t.Callable[[MemberCluster], bool]) -> int:
        """The clusters of which something holds, as a bit set, cached by ``question``, which must tell all that
        ``holds`` depends on but the cluster."""
        bits = self._known.get(question)
        if bits is None:
            bits = self._known[question] = self.where(holds)
        return bits

    def topology(self, keys: tuple[str, ...]) -> Topology:
        """The clusters grouped by their values of these label keys, groups numbered in the order of the clusters;
        without keys all are one group."""
        found = self._topologies.get(keys)
        if found is None:
            numbers: dict[tuple[str | None, ...], int] = {}
            group_of = tuple(
                numbers.setdefault(tuple(cluster.metadata.labels.get(key) for key in keys), len(numbers))
                for cluster in self.clusters
            )
            found = self._topologies[keys] = Topology(group_of, tuple(zip(*numbers, strict=True)))
        return found

    def selected(self, selector: LabelSelector | None) -> int:
        """Clusters that match a valid selector, as a bit set by position; None matches all, as an empty one does."""
        bits = self.everyone
        if selector is None:
            return bits
        for key, value in selector.match_labels.items():
            bits &= self.label(key).values.get(value, 0)
        for one in selector.match_expressions:
            column = self.label(one.key)
            if one.operator in (IN, NOT_IN):
                named = 0
                for value in one.values:
                    named |= column.values.get(value, 0)
                bits &= named if one.operator == IN else ~named
            else:
                bits &= column.present if one.operator == EXISTS else ~column.present
        return bits

    def where(self, holds: t.Callable[[MemberCluster], bool]) -> int:
        """The clusters of which something holds, as a bit set by position."""
        return bitset.of([position for position, cluster in enumerate(self.clusters) if holds(cluster)], self.size)

    def _sets(self, values: t.Iterable[T]) -> dict[T, int]:
        """The positions at which each value stands, as bit sets."""
        found: dict[T, list[int]] = {}
        for position, value in enumerate(values):
            found.setdefault(value, []).append(position)
        return {value: bitset.of(positions, self.size) for value, positions in found.items()}


T = t.TypeVar("T")
