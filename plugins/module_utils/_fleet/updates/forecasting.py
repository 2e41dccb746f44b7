# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The forecast and the calendar of an update run, recorded or given, from records and files alone: members as they were
read last, windows, durations (``p50``, ``p90``) learned from runs, ``members_read``; how many ``days`` ahead may be
asked for."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..._core.errors import FleetError
from ..._core.forecast.appointments import Appointment, appointments
from ..._core.forecast.durations import Durations, learned
from ..._core.forecast.forecast import Assumptions, Forecast, forecast
from ..._core.objects.clusters.fleet_member import FleetMember, FleetMemberStatus
from ..._core.objects.updates.update_run import FULL, UpdateRun
from ..._core.updates.record.run_state import run_of
from ..._core.updates.releases.versions import is_version, reached, view_at_version
from ..._core.updates.run import MemberBlocker, Members, MemberView, RunState
from ..._core.values.instants import write_time
from ..._core.values.update_states import OPERATION_IN_PROGRESS, TERMINAL
from ..._store.records import Record, Records
from ..members.members import recorded_members
from .claims import operations_in_flight
from .constraints import StartConstraints
from .sources import UpdateManifests
from .update_run import recorded_runs

MOST_DAYS = 366


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """How an update run goes on (``forecast``), and its calendar (``appointments``). ``durations`` are what upgrades
    are taken to last, learned from ``runs_before`` other runs, and from members of the run that are done (``own``);
    assumed without both. ``read`` is the oldest instant at which one of its members was read last; None if one was not
    read yet, or none is in the fleet."""

    forecast: Forecast
    appointments: tuple[Appointment, ...]
    durations: Durations
    runs_before: int
    own: bool
    read: datetime | None

    def as_dict(self) -> dict[str, t.Any]:
        """The forecast as results have it, and what it stands on: ``durations`` for a member without its own (``p50``
        and ``p90`` in seconds, ``runs`` learned from), ``members_read`` in RFC 3339 or None."""
        usual = self.durations.others
        return self.forecast.as_dict() | {
            "durations": {"p50": _seconds(usual.p50), "p90": _seconds(usual.p90), "runs": self.runs_before},
            "members_read": write_time(self.read) if self.read else None,
        }


@dataclass(frozen=True, kw_only=True)
class FleetSight:
    """What forecasts look at, read once for many runs: FleetMembers as they are recorded (``documents``, and read as
    ``fleet``), the operations ``in_flight`` there, all by name of the member, and ``runs`` to learn from. Windows and
    releases that are ``given`` go before those recorded."""

    records: Records
    documents: t.Mapping[str, Record]
    fleet: t.Mapping[str, FleetMember]
    in_flight: t.Mapping[str, str]
    runs: t.Sequence[UpdateRun]
    given: UpdateManifests = UpdateManifests()

    @classmethod
    def of(cls, records: Records, runs: t.Sequence[UpdateRun], given: UpdateManifests | None = None) -> FleetSight:
        """Reads what is recorded of members; ``runs`` are those to learn from. FleetErrors of the records, such as
        ``record-damaged``."""
        fleet = {name: each.fleet for name, each in recorded_members(records).items()}
        listed = {each["metadata"]["name"]: each for each in records.list("FleetMember")}
        return cls(
            records=records,
            # One that comes or goes between the two is in the fleet the next time, or no more.
            documents={name: each for name, each in listed.items() if name in fleet},
            fleet=fleet,
            in_flight=operations_in_flight(records, listed.values()),
            runs=runs,
            given=given or UpdateManifests(),
        )

    def of_run(self, state: RunState) -> tuple[Record, ...]:
        """The records of those FleetMembers of the run that are in the fleet, in the run's order; nothing is read."""
        return tuple(self.documents[row.name] for row in state.members if row.name in self.documents)

    def views(self, run: UpdateRun, state: RunState, now: datetime) -> dict[str, MemberView]:
        """Those of the run's members that are in the fleet, by name and by their records alone: windows, what holds
        them, at which version they were. FleetError ``record-damaged``, ``duplicate-location``."""
        permits = self.start_constraints(run)
        documents = self.of_run(state)
        views = permits.views(documents, now)
        return {
            name: _seen(views[name], self.fleet[name].status, self.in_flight.get(name, ""), state, run)
            for name in (each["metadata"]["name"] for each in documents)
        }

    def start_constraints(self, run: UpdateRun) -> StartConstraints:
        """Windows, freezes and releases that hold for members of the run."""
        return StartConstraints(self.records, run.spec.managed_cluster_update.upgrade.type, run.target, self.given)

    def durations(self, run: UpdateRun) -> Durations:
        """How long upgrades of the run's type last, learned from it and the other runs; assumed where these tell
        nothing."""
        others = (each for each in self.runs if each.name != run.name)
        return learned([*others, run], run.spec.managed_cluster_update.upgrade.type)

    def forecast(self, run: UpdateRun, state: RunState, views: Members, now: datetime) -> Forecast:
        """How the run goes on from ``now``, by its ``durations``."""
        return forecast(state, views, now, Assumptions(durations=self.durations(run)))


def outlooks(
    records: Records,
    runs: t.Iterable[UpdateRun],
    now: datetime,
    days: int,
    given: UpdateManifests | None = None,
) -> dict[str, Outlook]:
    """The outlook, by name, of those ``runs`` that have not ended, in their order, learned from all recorded ones. An
    approved gate that is open is passed at ``now`` in runs ``with_answers``. ``given`` are windows and releases that
    may not be recorded yet. FleetError as of ``refuse_days``, ``FleetSight.of`` and ``outlook``."""
    refuse_days(days)
    going = [each for each in runs if each.status.status.state not in TERMINAL]
    if not going:
        return {}
    sight = FleetSight.of(records, recorded_runs(records, ())[0], given)
    return {each.name: outlook(sight, each, now, days) for each in going}


def refuse_days(days: int) -> None:
    """FleetError ``bad-option`` unless the days to look ahead are 1 to ``MOST_DAYS``."""
    if not 1 <= days <= MOST_DAYS:
        raise FleetError("bad-option", f"{days} is not a number of days from 1 to {MOST_DAYS}", "days")


def outlook(sight: FleetSight, run: UpdateRun, now: datetime, days: int) -> Outlook:
    """How the run goes on, and its calendar for ``days`` from ``now`` on, by the records alone: no member is contacted.
    FleetError ``record-damaged``, ``duplicate-location``."""
    state, kind = run_of(run), run.spec.managed_cluster_update.upgrade.type
    views, documents = sight.views(run, state, now), sight.of_run(state)
    found, until = sight.forecast(run, state, views, now), now + timedelta(days=days)
    permits = sight.start_constraints(run)
    freezes = permits.freezes(documents)
    frozen = [each for each in documents if freezes[each["metadata"]["name"]]]
    return Outlook(
        forecast=found,
        appointments=appointments(
            state, views, freezes, found, now, until, permits.permitted(frozen, now) if frozen else {}
        ),
        durations=sight.durations(run),
        runs_before=sum(bool(learned([each], kind).members) for each in sight.runs if each.name != run.name),
        own=bool(learned([run], kind).members),
        read=_oldest([sight.fleet[name].status.last_read for name in views]),
    )


def _seen(view: MemberView, member: FleetMemberStatus, other: str, state: RunState, run: UpdateRun) -> MemberView:
    """A member as its record tells: at which version it and, if they are upgraded too, its pools were, and busy if it
    bears another operation (``other``) than this run's."""
    upgrade = run.spec.managed_cluster_update.upgrade
    if member.version and run.target:
        view = view_at_version(
            view, member.version, run.target, automatic=bool(run.spec.auto_upgrade_profile_id), chain=upgrade.chain
        )
        kubelets = [each.version for each in member.node_pools if is_version(each.version)]
        if view.skip and upgrade.type == FULL and not all(reached(each, run.target) for each in kubelets):
            view = replace(view, skip=None)
    return view if any(row.operation == other for row in state.members) else with_operation_in_flight(view, other)


def with_operation_in_flight(view: MemberView, operation: str) -> MemberView:
    """The view, with the obstacle OperationInProgress if an ``operation`` (empty: none) of another run is in flight
    there."""
    if not operation:
        return view
    blocker = MemberBlocker(reason=OPERATION_IN_PROGRESS, message=f"{operation} is in flight")
    return replace(view, obstacles=(*view.obstacles, blocker))


def _oldest(read: t.Sequence[datetime | None]) -> datetime | None:
    """The oldest instant; None without any, or if one is not known."""
    known = [each for each in read if each is not None]
    return min(known) if known and len(known) == len(read) else None


def _seconds(length: timedelta) -> int:
    """Its length in whole seconds, rounded."""
    return round(length.total_seconds())
