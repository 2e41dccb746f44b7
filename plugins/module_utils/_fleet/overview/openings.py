# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When members may be touched, by the records alone: windows, freezes, upgrades in flight, entries of a calendar,
budgets of pools; what other FleetMaintenances than the recorded ones would change in that
(``no-maintenance-given``)."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..._core.disruption.members.budget_answers import PoolAnswer, budget_answers
from ..._core.errors import FleetError, Problem
from ..._core.forecast.appointments import Appointment
from ..._core.objects.karpenter.node_pool import REASONS
from ..._core.overview.openings import (
    RUN_TYPES,
    UPGRADE,
    ClusterOpenings,
    calendar_entries,
    permission,
)
from ..._core.updates.timing.maintenance import MemberTimes
from ..._core.values.instants import parse_time
from ..._store.records import Record, Records
from ..given import record_specs
from ..members.evacuation import evacuated_names
from ..members.members import no_members, refuse_strangers
from ..nodes.reading import members_in_file, nodes_file
from ..nodes.sources import NodeManifests, with_recorded
from ..session import Session
from ..updates.claims import operations_in_flight
from ..updates.constraints import StartConstraints
from ..updates.forecasting import refuse_days, with_operation_in_flight
from ..updates.sources import UpdateManifests

CLUSTER, MAINTENANCE = "MemberCluster", "FleetMaintenance"
_Times = dict[str, dict[str, MemberTimes]]


@dataclass(frozen=True, kw_only=True)
class OpeningsQuestion:
    """``names`` of members, all if empty; ``days`` that are looked ahead; what is ``supposed`` stands for what is
    recorded under the same name. ``snapshot`` is a file with nodes, for the budgets of their pools."""

    names: tuple[str, ...] = ()
    days: int = 30
    supposed: UpdateManifests | None = None
    snapshot: str = ""


@dataclass(frozen=True, kw_only=True)
class OpeningsReport:
    """When members may be touched, from ``now`` on for ``days``: ``clusters`` are the members that are asked for, in
    the order of their names; ``before`` the same by what is recorded, empty where nothing else is supposed. ``pools``
    are what budgets permit, without a snapshot none. ``unrecorded``: a FleetMaintenance that is supposed is not
    recorded like that. ``appointments`` are the entries of a calendar, by the work."""

    now: datetime
    days: int
    clusters: tuple[ClusterOpenings, ...]
    before: tuple[ClusterOpenings, ...] = ()
    unrecorded: bool = False
    appointments: t.Mapping[str, tuple[Appointment, ...]]
    pools: tuple[PoolAnswer, ...] = ()
    findings: tuple[Problem, ...] = ()


def openings_report(session: Session, asked: OpeningsQuestion) -> OpeningsReport:
    """When the members may be touched, by the records. FleetError ``bad-option``, ``no-members``, ``no-such-member``,
    ``no-maintenance-given``, ``record-damaged``, ``duplicate-location``, others of the records; with a snapshot those
    of ``nodes_file``."""
    refuse_days(asked.days)
    supposed = asked.supposed
    if supposed is not None and not (supposed.maintenance or supposed.gone):
        raise nothing_given()
    now, records = session.clock(), session.records
    until = now + timedelta(days=asked.days)
    members = _members(records, asked.names)
    in_flight = operations_in_flight(records, members.values())
    gone = frozenset(evacuated_names(records.list(CLUSTER)))
    times = _times(records, members, in_flight, _as_recorded(records, supposed or UpdateManifests(), now), now)
    before = _times(records, members, in_flight, UpdateManifests(), now) if supposed else {}

    def told(found: _Times) -> tuple[ClusterOpenings, ...]:
        """A row for each member that is asked for, with when each work is permitted by these times."""
        return tuple(
            ClusterOpenings(
                name=name,
                permissions={work: permission(each[name], now, until) for work, each in found.items()},
                evacuated=name in gone,
                operation=in_flight.get(name, ""),
                read=_read(document),
            )
            for name, document in members.items()
        )

    return OpeningsReport(
        now=now,
        days=asked.days,
        clusters=told(times),
        before=told(before) if before else (),
        unrecorded=supposed is not None and record_specs(records, supposed.maintenance.values(), write=False),
        appointments=calendar_entries(times, now, until),
        pools=_pools(session, asked, now) if asked.snapshot else (),
        findings=supposed.findings if supposed else (),
    )


def nothing_given() -> FleetError:
    """The error ``no-maintenance-given``, to be raised."""
    hint = "give files and folders with FleetMaintenances"
    return FleetError("no-maintenance-given", "no FleetMaintenance is in what was given", "src", hint)


def _as_recorded(records: Records, supposed: UpdateManifests, now: datetime) -> UpdateManifests:
    """What is supposed, as of the instant at which it was made, from which intervals may be counted: that of what is
    recorded under the name, else ``now``. FleetError of the records."""
    made = {each["metadata"]["name"]: each["metadata"].get("creationTimestamp") for each in records.list(MAINTENANCE)}
    dated = {}
    for name, each in supposed.maintenance.items():
        at = _instant(made.get(name)) or now
        dated[name] = replace(each, metadata=replace(each.metadata, creation_timestamp=at))
    return replace(supposed, maintenance=dated)


def _members(records: Records, names: t.Sequence[str]) -> dict[str, Record]:
    """The records of the members that are asked for, all without ``names``, in the order of their names. FleetError
    ``no-members``, ``no-such-member`` for each name, and of the records."""
    there = {each["metadata"]["name"]: each for each in records.list("FleetMember")}
    if not there:
        raise no_members(records)
    refuse_strangers(sorted(set(names)), there)
    return {name: there[name] for name in sorted(names or there)}


def _times(
    records: Records,
    members: t.Mapping[str, Record],
    in_flight: t.Mapping[str, str],
    supposed: UpdateManifests,
    now: datetime,
) -> _Times:
    """When each may be touched, by the work, then by member. An upgrade in flight holds other upgrades, and no other
    work. FleetError ``record-damaged``, ``duplicate-location``, and others of the records."""
    documents = tuple(members.values())
    found = {
        work: StartConstraints(records, kind, "", supposed).times(documents, now) for work, kind in RUN_TYPES.items()
    }
    found[UPGRADE] = {
        name: replace(each, view=with_operation_in_flight(each.view, in_flight.get(name, "")))
        for name, each in found[UPGRADE].items()
    }
    return found


def _pools(session: Session, asked: OpeningsQuestion, now: datetime) -> tuple[PoolAnswer, ...]:
    """What budgets permit in the pools of those members that are asked for and in the snapshot, a file. FleetError as
    of ``nodes_file``, ``record-damaged``, and others of the records."""
    snapshot = nodes_file(asked.snapshot, now)
    maintenance = asked.supposed.maintenance if asked.supposed else {}
    given = with_recorded(NodeManifests(maintenance=maintenance), session.records)
    unread = {each["metadata"]["name"]: each["metadata"].get("labels") or {} for each in session.records.list(CLUSTER)}
    fleet = {name: labels for name, labels in unread.items() if name in snapshot.failed}
    found = budget_answers(
        members_in_file(snapshot, ()), given.rotations.values(), given.maintenance.values(), now, REASONS, fleet
    )
    return tuple(each for each in found if not asked.names or each.pool.member in asked.names)


def _read(document: Record) -> datetime | None:
    """When the member was read last, None where its record does not tell."""
    status = document.get("status")
    return _instant(status.get("lastRead") if isinstance(status, dict) else None)


def _instant(text: t.Any) -> datetime | None:
    """The instant that a record has as text; None where there is none, or it cannot be read."""
    with contextlib.suppress(ValueError, TypeError):
        return parse_time(text) if text else None
    return None
