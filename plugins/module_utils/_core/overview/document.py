# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Everything that a report shows, in one document: equal inputs give equal bytes."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..errors import Problem
from ..objects.placements.cluster_resource_placement import PatchDetail, PlacementStatus, ResourceIdentifier
from ..scheduling.what_if.what_if import Differences
from ..values.instants import SECONDS, write_time
from .calendar import PoolCalendar
from .clusters import ClusterRow
from .matrix import LETTERS, PlacementColumn, Reasons
from .runs import RunChart

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class DriftRow:
    """A field of an object on a cluster that is not as placed. ``differs``: nobody placed it, it is in the way."""

    placement: str
    cluster: str
    object: str
    path: str
    live: str
    placed: str
    since: datetime | None = None
    differs: bool = False

    def as_dict(self) -> dict[str, t.Any]:
        """The row as reports have it."""
        return {
            "placement": self.placement,
            "cluster": self.cluster,
            "object": self.object,
            "path": self.path,
            "live": self.live,
            "placed": self.placed,
            "since": write_time(self.since, SECONDS) if self.since else None,
            "differs": self.differs,
        }


@dataclass(frozen=True, kw_only=True)
class Overview:
    """``facts_at`` is the instant at which the fleet is judged. ``supposed`` is what would become of each placement in
    another fleet, None where nobody asked."""

    title: str
    made_at: datetime
    facts_at: datetime
    place: str
    clusters: tuple[ClusterRow, ...]
    placements: tuple[PlacementColumn, ...] = ()
    runs: tuple[RunChart, ...] = ()
    pools: tuple[PoolCalendar, ...] = ()
    drift: tuple[DriftRow, ...] = ()
    supposed: tuple[Differences, ...] | None = None
    notes: tuple[Problem, ...] = field(default=())

    def as_dict(self) -> dict[str, t.Any]:
        """The report as JSON data. ``letters`` and ``reasons`` are what the cells of placements stand for; a reason
        goes on after the name of its cluster."""
        reasons = Reasons()
        placements = [each.as_dict(reasons) for each in self.placements]
        supposed = None if self.supposed is None else [each.as_dict() for each in self.supposed]
        return {
            "schema": SCHEMA,
            "title": self.title,
            "madeAt": write_time(self.made_at, SECONDS),
            "factsAt": write_time(self.facts_at, SECONDS),
            "place": self.place,
            "clusters": [each.as_dict() for each in self.clusters],
            "letters": {letter: state for state, letter in LETTERS.items()},
            "reasons": reasons.texts,
            "placements": placements,
            "runs": [each.as_dict() for each in self.runs],
            "pools": [each.as_dict() for each in self.pools],
            "drift": [each.as_dict() for each in self.drift],
            "whatIf": supposed,
            "since": None,
            "changes": [],
            "notes": [str(each) for each in self.notes],
        }


def drift_rows(placement: str, status: PlacementStatus) -> t.Iterator[DriftRow]:
    """What is recorded of drift and differences, a row for each field; one without a path where no field is named."""
    for each in status.placement_statuses:
        for one in each.drifted_placements:
            for detail in one.observed_drifts or (PatchDetail(path=""),):
                yield _drift(placement, each.cluster_name, one, detail, one.first_drifted_observed_time, False)
        for other in each.diffed_placements:
            for detail in other.observed_diffs or (PatchDetail(path=""),):
                yield _drift(placement, each.cluster_name, other, detail, other.first_diffed_observed_time, True)


def _drift(
    placement: str, cluster: str, of: ResourceIdentifier, detail: PatchDetail, since: datetime | None, differs: bool
) -> DriftRow:
    name = f"{of.namespace}/{of.name}" if of.namespace else of.name
    return DriftRow(
        placement=placement,
        cluster=cluster,
        object=f"{of.kind} {name}",
        path=detail.path,
        live=detail.value_in_member,
        placed=detail.value_in_hub,
        since=since,
        differs=differs,
    )
