# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Simulated members: their upgrades go on while nobody watches, and each real one is counted."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import NodePoolStatus
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    FAILED,
    IN_PROGRESS,
    NOT_BEGUN,
    SUCCEEDED,
    UNKNOWN,
    Observation,
    OperationProgress,
    Work,
)
from ansible_collections.gitops.fleet.tests.simulation.node_pools import (
    NODES,
    PoolChange,
    SimulatedPool,
    Spans,
    change_of,
)

OLD, NEW = "v1.35.4", "v1.36.3"
NAMED, LOCAL = "named", "local"
"""Who can look for an operation: everybody by its name, or only whoever is on the machine that began it."""


@dataclass(frozen=True)
class Upgrade:
    """A real one, as the member lived it."""

    operation: str
    machine: str
    begun: datetime
    ends: datetime
    well: bool


@dataclass
class Member:
    """``plan`` says of each upgrade in turn how many seconds it takes, and whether it ends well; the last one holds for
    all further ones. ``away`` are intervals in which nothing of it answers, ``closed`` such in which no node may be
    replaced, ``held`` such in which a pod does not go. ``rotates``: its pools are upgraded by whoever conducts, not by
    its platform."""

    name: str
    group: str
    version: str = OLD
    plan: tuple[tuple[int, bool], ...] = ((6, True),)
    kind: str = NAMED
    tells: bool = False
    away: Spans = ()
    pools: tuple[SimulatedPool, ...] = ()
    rotates: bool = False
    closed: Spans = ()
    held: Spans = ()
    upgrades: list[Upgrade] = field(default_factory=list)
    pool_changes: list[PoolChange] = field(default_factory=list)

    def version_at(self, now: datetime) -> str:
        return NEW if any(each.well and each.ends <= now for each in self.upgrades) else self.version

    def under_way(self, now: datetime) -> str:
        return next((each.operation for each in self._made if each.ends > now), "")

    def found(self, operation: str) -> Upgrade | PoolChange | None:
        return next((each for each in self._made if each.operation == operation), None)

    @property
    def _made(self) -> tuple[Upgrade | PoolChange, ...]:
        return (*self.upgrades, *self.pool_changes)

    def planned(self) -> tuple[int, bool]:
        """Of the next upgrade, of whatever."""
        return self.plan[min(len(self.upgrades) + len(self.pool_changes), len(self.plan) - 1)]

    def pools_at(self, now: datetime) -> tuple[NodePoolStatus, ...]:
        return tuple(each.status(self.pool_changes, now) for each in self.pools)


class Seen(t.Protocol):
    """The process that calls: what it does is seen by the simulation before and after it takes effect."""

    machine: str

    def write(self, what: str, effect: t.Callable[[], t.Any]) -> t.Any: ...


@dataclass(frozen=True)
class SimulatedDriver:
    """The driver of one process. ``check`` is told of every upgrade that really begins."""

    members: t.Mapping[str, Member]
    clock: t.Callable[[], datetime]
    process: Seen
    check: t.Callable[[Work], None]

    def observe(self, member: str) -> Observation:
        found, now = self._reached(member), self.clock()
        busy = found.under_way(now) if found.tells else ""
        return Observation(version=found.version_at(now), busy=busy, pools=found.pools_at(now))

    def begin(self, work: Work) -> str:
        self._reached(work.member)
        return t.cast(str, self.process.write(f"begin {work.member}", lambda: self._begun(work)))

    def poll(self, work: Work) -> OperationProgress:
        found, now = self._reached(work.member), self.clock()
        upgrade = found.found(work.operation)
        if upgrade is None and (found.kind == NAMED or work.reference.startswith(self.process.machine)):
            return OperationProgress(state=NOT_BEGUN)
        if upgrade is None or (found.kind == LOCAL and upgrade.machine != self.process.machine):
            return OperationProgress(state=UNKNOWN)
        reference = _reference(found, upgrade.machine)
        if upgrade.ends > now:
            return OperationProgress(state=IN_PROGRESS, message="half way", reference=reference)
        message = "" if upgrade.well else "it broke"
        return OperationProgress(state=SUCCEEDED if upgrade.well else FAILED, message=message, reference=reference)

    def _begun(self, work: Work) -> str:
        member, now = self.members[work.member], self.clock()
        if member.found(work.operation) is None:
            if member.under_way(now):
                raise FleetError("busy", f"{member.under_way(now)} is under way", work.member)
            self.check(work)
            if work.pool_step:
                change = change_of(work, member, self.process.machine, now, tuple(range(NODES)))
                member.pool_changes.append(change)
            else:
                seconds, well = member.planned()
                ends = now + timedelta(seconds=seconds)
                member.upgrades.append(Upgrade(work.operation, self.process.machine, now, ends, well))
        return _reference(member, self.process.machine)

    def _reached(self, member: str) -> Member:
        found = self.members[member]
        if any(since <= self.clock() < until for since, until in found.away):
            raise FleetError("unreachable", "it does not answer", member)
        return found


def _reference(member: Member, machine: str) -> str:
    return f"{machine}/{member.name}" if member.kind == LOCAL else f"at {member.name}"
