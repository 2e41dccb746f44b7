# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The state of the fleet as its records tell it, gathered for one view: of each member what it holds, what fails, is
late and goes on there, and drift; runs whose conductor is gone; ``upgraded-since``. Asks no member and writes
nothing."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..._core.disruption.rotation.state import IN_FLIGHT
from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.objects.clusters.member_cluster import MemberCluster
from ..._core.objects.placements.binding import ClusterResourceBinding
from ..._core.objects.placements.key import PlacementKey
from ..._core.overview.drift import (
    DriftLook,
    DriftRow,
    FleetDrift,
    Place,
    applied_at,
    drift_known,
    drift_rows,
)
from ..._core.overview.drift_look import other_records_problems
from ..._core.overview.matrix import failing, late
from ..._core.overview.run_needs import run_needs
from ..._core.overview.runs import MEMBER, NODE, ROTATION, STAGED_RUN, UPDATE_RUN, RunChart
from ..._core.overview.seen_by_runs import seen_by_runs
from ..._core.overview.today import TO_READ, FleetToday, MemberToday, PlacementsHeld, fleet_today, member_today
from ..._core.schema.meta import ObjectMeta
from ..._core.values.listed import listed
from ..._core.values.update_states import RUNNING
from ..._store.records import Lease, Record, Records
from ..leases import is_alive
from ..placements.recorded import all_bindings, binding_of, clusters_still_holding, placement_of
from ..placements.staged.listed import EXTERNAL
from ..recorded import decoded
from ..session import Session
from .runs import charts_of_all

T = t.TypeVar("T")
# What a run is conducted under: one of a placement under that of the placement.
_LEASES = {UPDATE_RUN: "run/{}", STAGED_RUN: "placement/{}", ROTATION: "rotation/{}"}


@dataclass(frozen=True, kw_only=True)
class Today:
    """The fleet as its records tell it. ``notes`` tell of records that could not be read, of members that were upgraded
    since they were read, and of a look for drift that went by other records."""

    fleet: FleetToday
    notes: tuple[Problem, ...] = ()


@dataclass
class _Gathered:
    """What the records hold, by name, and what is wrong with others."""

    now: datetime
    problems: list[Problem] = field(default_factory=list)
    held: dict[str, set[str]] = field(default_factory=dict)
    leaving: dict[str, dict[str, str]] = field(default_factory=dict)
    failing: dict[str, dict[str, str]] = field(default_factory=dict)
    late: dict[str, dict[str, str]] = field(default_factory=dict)

    def held_by(self, cluster: str) -> PlacementsHeld:
        """What is recorded of placements on the cluster."""
        names = tuple(sorted(self.held.get(cluster, ())))
        failing, late, leaving = (each.get(cluster, {}) for each in (self.failing, self.late, self.leaving))
        return PlacementsHeld(count=len(names), names=names, failing=failing, late=late, leaving=leaving)

    def listed(self, documents: t.Callable[[], t.Iterable[Record]]) -> t.Iterable[Record]:
        """The documents, which ``documents`` has to list at once, not as they are asked for; none where they cannot be
        listed, which goes to ``problems``."""
        try:
            return documents()
        except FleetError as error:
            self.problems += error.problems
            return ()

    def leases(self, records: Records) -> tuple[Lease, ...]:
        """All leases that have a holder; none where they cannot be listed, which goes to ``problems``."""
        try:
            return records.leases()
        except FleetError as error:
            self.problems += error.problems
            return ()

    def each(self, documents: t.Iterable[Record], read: t.Callable[[Record], T]) -> t.Iterator[T]:
        """What ``read`` gives of each document; those of which it raises FleetError are left out, which goes to
        ``problems``."""
        for document in documents:
            try:
                yield read(document)
            except FleetError as error:
                self.problems += error.problems


def gather_today(
    session: Session,
    member_records: t.Iterable[Record],
    cluster_records: t.Iterable[Record],
    placement_records: t.Iterable[Record],
    look: DriftLook | None = None,
) -> Today:
    """A row for each name of the FleetMembers and MemberClusters, given as they are recorded, with what the records
    hold of placements and runs, and what a ``look`` for drift has found. What is damaged, or cannot be listed, is told
    in ``notes`` and left out; no FleetError of records is raised."""
    found = _Gathered(session.clock())
    clusters = {each.name: each for each in found.each(cluster_records, lambda one: decoded(MemberCluster, one))}
    members = {each.name: each for each in found.each(member_records, lambda one: decoded(FleetMember, one))}
    drift = _count_placements(session.records, placement_records, found, look)
    charts, problems = charts_of_all(session, forecasting=False)
    found.problems += problems
    runs, seen = _in_flight(charts), seen_by_runs(charts)
    rows = [
        member_today(
            clusters.get(name) or MemberCluster(metadata=ObjectMeta(name=name)),
            members.get(name),
            found.now,
            held=found.held_by(name),
            **({"drift": drift.clusters[name]} if name in drift.clusters else {}),
            runs=runs.get(name, ()),
            seen=seen.get(name),
        )
        for name in sorted({*clusters, *members})
    ]
    fleet = fleet_today(rows, drift.whole, drift.rows, run_needs(charts, _left_alone(session.records, charts, found)))
    notes = (*other_records_problems(look, session.origin_place), *_upgraded_since(rows), *found.problems)
    return Today(fleet=fleet, notes=tuple(dict.fromkeys(notes)))


def _count_placements(
    records: Records, placement_records: t.Iterable[Record], found: _Gathered, look: DriftLook | None
) -> FleetDrift:
    """Counts in ``found``, by cluster, who holds what, what fails and what is late there; gives what is known of
    drift."""
    placements = list(found.each(placement_records, placement_of))
    bindings: dict[str, list[ClusterResourceBinding]] = {}
    for name, binding in found.each(found.listed(lambda: all_bindings(records)), _binding):
        bindings.setdefault(name, []).append(binding)
    applied: dict[Place, datetime | None] = {}
    recorded: list[DriftRow] = []
    for placement in placements:
        name, status = str(placement.key), placement.status
        there = applied_at(bindings.get(name, ()), status)
        for cluster, at in there.items():
            applied[name, cluster] = at
            found.held.setdefault(cluster, set()).add(name)
        by = "a staged run" if placement.spec.strategy.type == EXTERNAL else "an apply"
        for cluster in clusters_still_holding(bindings.get(name, ())) - there.keys():
            found.held.setdefault(cluster, set()).add(name)
            found.leaving.setdefault(cluster, {})[name] = by
        for cluster, why in failing(status).items():
            found.failing.setdefault(cluster, {})[name] = why
        for cluster, why in late(status).items():
            found.late.setdefault(cluster, {})[name] = why
        recorded += drift_rows(name, status)
    return drift_known(recorded, applied, look)


def _binding(document: Record) -> tuple[str, ClusterResourceBinding]:
    """The name of the placement that it is of, and the binding. FleetError for a damaged one."""
    return str(PlacementKey.of_parent(document)), binding_of(document)


def _upgraded_since(rows: t.Iterable[MemberToday]) -> t.Iterator[Problem]:
    """One note on all clusters that an update run has upgraded after they were read; none without such."""
    names = [each.name for each in rows if each.state == TO_READ]
    if names:
        was = "it was" if len(names) == 1 else "they were"
        text = f"upgraded since {was} read, so that versions and images here are older"
        yield Problem("upgraded-since", f"{listed(names)}: {text}", hint="gitops.fleet.facts reads them anew")


def _left_alone(records: Records, charts: t.Iterable[RunChart], found: _Gathered) -> dict[tuple[str, str], datetime]:
    """Runs, by kind and name, whose lease is there and alive no more, each with when it was renewed last."""
    ended = {each.name: each.renewed for each in found.leases(records) if not is_alive(each, found.now)}
    names = {(each.kind, each.name): _LEASES[each.kind].format(each.of or each.name) for each in charts}
    return {run: ended[name] for run, name in names.items() if name in ended}


def _in_flight(charts: t.Iterable[RunChart]) -> dict[str, list[str]]:
    """By cluster, the runs (``kind name``) that are not over and do something there just now; clusters without any are
    left out."""
    by_cluster: dict[str, list[str]] = {}
    for chart in charts:
        if not chart.over:
            for cluster in dict.fromkeys(_clusters(chart)):
                by_cluster.setdefault(cluster, []).append(f"{chart.kind} {chart.name}")
    return by_cluster


def _clusters(chart: RunChart) -> t.Iterator[str]:
    """Clusters of members that are being upgraded and of nodes in flight; one may come several times."""
    for row in chart.bars:
        if row.what == MEMBER and row.status.state == RUNNING:
            yield row.name
        elif row.what == NODE and row.status.state in IN_FLIGHT:
            yield row.name.partition("/")[0]
