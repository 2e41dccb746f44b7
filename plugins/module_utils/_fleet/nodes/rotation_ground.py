# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a rotation goes by while it is conducted, read from the records again and again: maintenance, members in the
fleet by now, and who lets one leave it; and what the members' clusters hold."""

from __future__ import annotations

import threading
import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..._core.disruption.members.nodes_snapshot import NodesSnapshot
from ..._core.disruption.members.rotation_sight import RotationGround
from ..._core.errors import FleetError
from ..._core.objects.clusters.fleet_maintenance import FleetMaintenance
from ..._core.schema.meta import EMPTY
from ..._core.values.clock_skew import is_due_again
from ..._store.records import Records
from ..conductor.loop import PASSING
from ..leases import leaving_members
from ..members.members import LIST_AFTER, Clients, Member, recorded_members
from .reading import ReadingWish, read_members
from .sources import recorded_maintenance


def unknown_ground(error: FleetError) -> str:
    """Why nothing may begin while the records cannot be read, in words."""
    return f"which windows, freezes and budgets hold is not known: {'; '.join(map(str, error.problems))}"


@dataclass(frozen=True)
class FleetSeen:
    """What the records said when they were listed last: FleetMaintenance objects, and all members, each by name."""

    maintenance: t.Mapping[str, FleetMaintenance]
    members: t.Mapping[str, Member]


class RecordedFleet:
    """Lists maintenance and members when it is asked, once in LIST_AFTER for all that share it. Safe to use from
    threads."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self._found: FleetSeen | FleetError | None = None
        self._read: datetime | None = None
        self._lock = threading.Lock()

    def seen(self, now: datetime) -> FleetSeen:
        """As the records were within LIST_AFTER before ``now``, aware. FleetError ``record-damaged``, which stands as
        long, and others of the records; after one of PASSING they are asked again at once."""
        with self._lock:
            if self._found is None or is_due_again(self._read, LIST_AFTER, now):
                self._found = None
                self._found = self._listed()
                self._read = now
            found = self._found
        if isinstance(found, FleetError):
            raise FleetError.of(found.problems)
        return found

    def _listed(self) -> FleetSeen | FleetError:
        """What the records say now, or why that is not known. FleetErrors of PASSING are raised."""
        try:
            return FleetSeen(recorded_maintenance(self.records), recorded_members(self.records))
        except FleetError as error:
            if error.code in PASSING:
                raise
            return error


class Around(t.Protocol):
    """What a rotation that is conducted looks at, besides what its members hold."""

    @property
    def at_first(self) -> RotationGround:
        """The rotation, and what holds it back, as it was when this was made."""

    def ground(self, now: datetime) -> RotationGround:
        """The same as it is by now, by records at most LIST_AFTER old. FleetErrors of the records."""

    def clock_ahead(self) -> timedelta:
        """How far the servers' clocks are ahead of ours, as far as they were seen."""

    def leaving(self) -> t.Mapping[str, str]:
        """Who lets a member leave the fleet just now, by its name; empty if nobody does. FleetErrors of the records."""


@dataclass
class RotationAround:
    """One rotation over a fleet, for one thread. ``members`` are those whose nodes are read for it; one stays among
    them while it is in the fleet, whatever its labels say by then, and those in ``stay`` in any case. What is ``given``
    stands for recorded FleetMaintenance of the same names."""

    at_first: RotationGround
    members: t.Mapping[str, Member]
    clients: Clients
    reading: ReadingWish
    fleet: RecordedFleet
    given: t.Mapping[str, FleetMaintenance] = field(default_factory=lambda: EMPTY)
    stay: frozenset[str] = frozenset()

    def ground(self, now: datetime) -> RotationGround:
        """As of ``Around``; brings ``members`` up to date, and makes those who have joined known to the clients."""
        seen = self.fleet.seen(now)
        members = {name: each for name, each in self.members.items() if name in self.stay} | {**seen.members}
        maintenance = {**seen.maintenance, **self.given}
        labels = {name: dict(each.cluster.metadata.labels) for name, each in members.items()}
        ground = replace(self.at_first, maintenance=tuple(maintenance.values()), fleet=labels)
        self.members = {
            name: each
            for name, each in members.items()
            if ground.over_fleet or name in self.members or ground.takes(name, labels[name])
        }
        self.clients.welcome({name: each.fleet for name, each in self.members.items()})
        return ground

    def look(self, now: datetime, names: t.Collection[str] | None) -> NodesSnapshot:
        """What the members of these names hold, all for None; names of others are passed over. FleetError
        ``no-workers``."""
        wanted = self.members if names is None else {each: self.members[each] for each in names if each in self.members}
        return read_members(wanted, self.clients, self.reading, now)

    def clock_ahead(self) -> timedelta:
        """As of ``Clients.clock_ahead``."""
        return self.clients.clock_ahead()

    def leaving(self) -> t.Mapping[str, str]:
        """As of ``leaving_members``."""
        return leaving_members(self.fleet.records)
