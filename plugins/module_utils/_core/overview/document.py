# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Everything that a fleet report shows, in one document of JSON data (``factsAt``, ``clusters``, ``placements``,
``runs``, ``pools``, ``drift``, ``driftKnown``, ``whatIf``, ``notes``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..errors import Problem
from ..scheduling.what_if.what_if import Differences
from ..values.instants import SECONDS, write_time
from .calendar import PoolCalendar
from .clusters import ClusterRow
from .drift import DriftKnown, FleetDrift
from .matrix import LETTERS, PlacementColumn, Reasons
from .runs import RunChart

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Overview:
    """``made_at`` is when the report is made, ``facts_at`` the instant at which the fleet is judged, ``place`` where
    its records are; ``notes`` say what could not be read or decided. ``supposed`` is what would become of each
    placement in another fleet, None where nobody asked."""

    title: str
    made_at: datetime
    facts_at: datetime
    place: str
    clusters: tuple[ClusterRow, ...]
    placements: tuple[PlacementColumn, ...] = ()
    runs: tuple[RunChart, ...] = ()
    pools: tuple[PoolCalendar, ...] = ()
    drift: FleetDrift = FleetDrift()
    supposed: tuple[Differences, ...] | None = None
    notes: tuple[Problem, ...] = field(default=())

    def as_dict(self) -> dict[str, t.Any]:
        """The report as JSON data, instants in RFC 3339. ``letters`` and ``reasons`` are what the cells of placements
        stand for. ``driftKnown`` is of the fleet, ``drift`` in each cluster what is known there; ``supposed`` is
        ``whatIf``. ``since`` is None and ``changes`` empty: who knows an earlier report fills them in."""
        reasons = Reasons()
        placements = [each.as_dict(reasons) for each in self.placements]
        supposed = None if self.supposed is None else [each.as_dict() for each in self.supposed]
        return {
            "schema": SCHEMA,
            "title": self.title,
            "madeAt": write_time(self.made_at, SECONDS),
            "factsAt": write_time(self.facts_at, SECONDS),
            "place": self.place,
            "clusters": [{**each.as_dict(), "drift": self._drift_of(each.name)} for each in self.clusters],
            "letters": {letter: state for state, letter in LETTERS.items()},
            "reasons": reasons.texts,
            "placements": placements,
            "runs": [each.as_dict() for each in self.runs],
            "pools": [each.as_dict() for each in self.pools],
            "drift": [each.as_dict() for each in self.drift.rows],
            "driftKnown": self.drift.whole.as_dict(),
            "whatIf": supposed,
            "since": None,
            "changes": [],
            "notes": [str(each) for each in self.notes],
        }

    def _drift_of(self, cluster: str) -> dict[str, t.Any]:
        """What is known of drift on the cluster; for one that has nothing placed, that of no places."""
        return self.drift.clusters.get(cluster, DriftKnown()).as_dict()
