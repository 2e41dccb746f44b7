# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The overview of a fleet for its report (clusters, placements, runs, pools, drift), from its records or from facts and
manifests alone; what has changed since an earlier report (``changes``, ``report-invalid``). Asks no member and writes
nothing."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ..._core.cluster.facts.snapshot import FactsSnapshot
from ..._core.errors import FleetError, Problem
from ..._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement, PlacementStatus
from ..._core.overview.clusters import ClusterRow, cluster_row
from ..._core.overview.document import Overview
from ..._core.overview.drift import (
    DriftLook,
    FleetDrift,
    applied_at,
    drift_known,
    drift_rows,
)
from ..._core.overview.drift_look import other_records_problems
from ..._core.overview.matrix import PlacementColumn, decided_column, undecided_column
from ..._core.overview.runs import in_order
from ..._core.overview.since import changes, checked_report
from ..._core.plan.compose import RecordedState, policy_snapshot_of
from ..._core.plan.document import PlacementPlan
from ..._core.scheduling.index import FleetIndex
from ..._core.scheduling.unreadable import schedule_keeping_unread
from ..._core.scheduling.what_if.what_if import Differences
from ..files import json_file
from ..members.members import Member, recorded_members
from ..placements.explaining import Ground, Question, ground_of, suppositions
from ..placements.placement import PlacementRequest, run
from ..placements.recorded import all_placements, statuses_of
from ..session import Session
from .pools import pool_calendars
from .runs import charts_of_all


@dataclass(frozen=True, kw_only=True)
class OverviewRequest:
    """``src`` are files with placements, in place of the recorded ones, ``resources`` those with what they place; with
    both they are planned too. ``facts`` stand for those recorded. ``pools`` are files with NodePools, ``supposed`` is
    as of ``read_overlay``. With ``forecast`` runs that are not over are forecast. ``look`` is what a look for drift
    found."""

    title: str = "Fleet"
    src: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    facts: FactsSnapshot | None = None
    pools: tuple[str, ...] = ()
    supposed: t.Mapping[str, t.Any] | None = None
    forecast: bool = True
    look: DriftLook | None = None


def gather(session: Session, asked: OverviewRequest) -> Overview:
    """The whole overview. What cannot be read of a run, or decided of a placement, is told in its place. FleetError as
    of ``recorded_members``, ``ground_of``, ``statuses_of``, ``run``, ``pool_calendars`` and ``suppositions``."""
    now = session.clock()
    members = recorded_members(session.records)
    ground = ground_of(session, Question(name="", src=asked.src, facts=asked.facts))
    statuses = statuses_of(all_placements(session.records))
    plans, told = _plans(session, asked, ground.index)
    charts, damaged = charts_of_all(session, asked.forecast)
    pools, unread = pool_calendars(session.records, asked.pools, asked.resources, members, asked.facts, now)
    if not ground.index.clusters:
        told = (*told, _nobody(session.records.place))
    elsewhere = other_records_problems(asked.look, session.origin_place)
    return Overview(
        title=asked.title,
        made_at=now,
        facts_at=ground.index.now,
        place=session.records.place,
        clusters=tuple(_clusters(ground.index, members, asked.facts, now)),
        placements=tuple(_columns(ground, statuses, plans)),
        runs=in_order(charts),
        pools=pools,
        drift=_drift(ground, statuses, asked.look),
        supposed=_supposed(session, asked),
        notes=tuple(dict.fromkeys((*ground.told, *told, *damaged, *unread, *elsewhere))),
    )


def _nobody(place: str) -> Problem:
    """That there is no cluster to report of in these records, as in those of another folder or fleet."""
    hint = "gitops.fleet.join records some; those elsewhere, as on a hub, are named by records"
    return Problem("no-members-recorded", "no cluster is recorded, so that this is a report of nothing", place, hint)


def with_changes(document: dict[str, t.Any], earlier: str) -> dict[str, t.Any]:
    """A copy of an overview's document in which ``since`` is when the report in the file ``earlier`` was made, and
    ``changes`` has a row for each change since. FleetError ``report-missing``, ``report-invalid``, and those of
    ``checked_report``."""
    hint = "the first report of a fleet is made without the option since"
    old = checked_report(json_file(earlier, "report-missing", "report-invalid", hint), earlier)
    found = [each.as_dict() for each in changes(old, document)]
    return {**document, "since": str(old["madeAt"]), "changes": found}


def _clusters(
    index: FleetIndex, members: t.Mapping[str, Member], facts: FactsSnapshot | None, now: datetime
) -> t.Iterator[ClusterRow]:
    """A row for each cluster of the index, in its order, with why facts of it could not be read."""
    failed = facts.failed if facts else {}
    for cluster in index.clusters:
        member = members.get(cluster.name)
        yield cluster_row(cluster, member.fleet if member else None, failed.get(cluster.name), now=now)


def _columns(
    ground: Ground, statuses: t.Mapping[str, PlacementStatus], plans: t.Mapping[str, PlacementPlan]
) -> t.Iterator[PlacementColumn]:
    """A column for each known placement, by name; one that is being deleted, or cannot be decided, says so instead."""
    for name, (placement, known) in sorted(ground.known.items()):
        status = statuses.get(name)
        if placement.metadata.deletion_timestamp is not None:
            ending = Problem("deleted", "the placement is being deleted", name)
            yield undecided_column(placement, ground.index.size, [ending], status)
            continue
        try:
            yield _decided(placement, known, ground.index, plans.get(name), status)
        except FleetError as error:
            yield undecided_column(placement, ground.index.size, error.problems, status)


def _decided(
    placement: ClusterResourcePlacement,
    known: RecordedState,
    index: FleetIndex,
    plan: PlacementPlan | None,
    status: PlacementStatus | None,
) -> PlacementColumn:
    """The column of a placement as it would be scheduled now. FleetError where that cannot be decided."""
    snapshot, _new = policy_snapshot_of(placement, known.policy_snapshot)
    return decided_column(schedule_keeping_unread(placement, snapshot, index, known.bindings).scheduled, plan, status)


def _plans(
    session: Session, asked: OverviewRequest, index: FleetIndex
) -> tuple[dict[str, PlacementPlan], tuple[Problem, ...]]:
    """What an apply would do, by name of the placement, and its findings; nothing where placements or resources are not
    given. FleetError as of ``run``."""
    if not asked.src or not asked.resources:
        return {}, ()
    facts = asked.facts or FactsSnapshot(captured_at=index.now, members=index.clusters)
    request = PlacementRequest(src=asked.src, resources=asked.resources, facts=facts, look=False)
    plan = run(session, request).plan
    return {each.name: each for each in plan.plans}, plan.findings


def _supposed(session: Session, asked: OverviewRequest) -> tuple[Differences, ...] | None:
    """What each supposition would change; None where nothing is supposed. FleetError as of ``suppositions``."""
    if asked.supposed is None:
        return None
    found, _told = suppositions(session, Question(name="", src=asked.src, facts=asked.facts), asked.supposed)
    return tuple(each.differences for each in found)


def _drift(ground: Ground, statuses: t.Mapping[str, PlacementStatus], look: DriftLook | None) -> FleetDrift:
    """What is known of drift: as placements record it, and as the look has found it."""
    recorded = (row for name, status in sorted(statuses.items()) for row in drift_rows(name, status))
    applied = {
        (name, cluster): at
        for name, (_placement, known) in ground.known.items()
        for cluster, at in applied_at(known.bindings, statuses.get(name, PlacementStatus())).items()
    }
    return drift_known(recorded, applied, look)
