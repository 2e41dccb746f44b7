# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What whole upgrades of members are made of in one run: looks at a member with its pools (``not-a-member``), releases,
and who upgrades which pool, its platform or a rotation of its nodes."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from ...._core.errors import FleetError
from ...._core.objects.clusters.fleet_member import NodePoolStatus
from ...._core.objects.updates.update_run import UpdateRun
from ...._core.updates.releases.node_images import Cluster
from ...._core.updates.releases.targets import target_of
from ...conductor.operation import Pace
from ...drivers.cluster_api import ClusterApiDriver
from ...drivers.command import CommandDriver
from ...drivers.contract import Driver, Observation
from ...members.members import Clients, recorded_members
from ...nodes.reading import ReadingWish
from ...nodes.rotating import RotationWish
from ...session import Session
from ..constraints import StartConstraints
from ..leases import LeasedDriver
from ..pools import cluster_as
from .pool_command import PoolSubject, commanded
from .pool_rotation import NOT_A_MEMBER, PoolEnd, PoolRotations, PoolTask
from .whole_upgrade import WholeParts

# The node pools of a member that was just observed, as of ``pools_seen``; FleetError where they cannot be read.
Pooling = t.Callable[[str, Observation], tuple[NodePoolStatus, ...]]


@dataclass(frozen=True, kw_only=True)
class MemberSteps:
    """What members of one run are upgraded with. ``permits`` tells what platforms offer, ``pools`` a member's pools as
    of ``pools_seen``; ``holder`` is the same for every conductor of the run, ``here`` as of ``conduct_run``; a rotation
    that would wait longer than ``max_idle`` is left until later."""

    session: Session
    run: UpdateRun
    clients: Clients
    permits: StartConstraints
    pools: Pooling
    holder: str
    max_idle: timedelta
    pace: Pace
    here: t.Callable[[], str]

    @cached_property
    def parts(self) -> WholeParts:
        """What upgrades of members are made of, for the executor; fixed images are those of the run as it was
        started."""
        return WholeParts(
            target=target_of(self.run),
            cluster=self._cluster,
            known=self.permits.releases,
            pool=self._pool,
            left=self._end_rotations,
            now=self.session.clock,
            here=self.here,
        )

    @cached_property
    def _rotations(self) -> PoolRotations:
        """Upgrades of pools by rotation, with the members as they are recorded when it is first asked for. FleetError
        ``record-damaged``."""
        return PoolRotations(
            session=self.session,
            run=self.run,
            clients=self.clients,
            members=recorded_members(self.session.records),
            holder=self.holder,
            max_idle=self.max_idle,
            wish=RotationWish(reading=ReadingWish(timeout=self.clients.timeout.connect)),
        )

    def _cluster(self, member: str, seen: Observation) -> Cluster:
        """The member as it was just ``seen``, with its pools. FleetError ``not-a-member`` for who has left or come
        since, and of ``pools``."""
        found = self.clients.members.get(member)
        if found is None or self.session.records.get("FleetMember", member) is None:
            raise FleetError(NOT_A_MEMBER, "the cluster is not a member of the fleet", member, "join it first")
        return cluster_as(found, seen.version, self.pools(member, seen))

    def _end_rotations(self, task: PoolTask) -> PoolEnd:
        """Ends what rotations of this run have left on the member; there are none where its platform upgrades pools.
        FleetError and Closed as of ``PoolRotations.finish`` and ``_rotations``."""
        return PoolEnd() if _by_platform(task.driver) else self._rotations.finish(task)

    def _pool(self, task: PoolTask) -> PoolEnd:
        """Upgrades a pool: by the driver where its platform upgrades pools, or else by a rotation of the pool's nodes.
        Errors as of ``commanded``, or ``PoolRotations.upgrade`` and ``_rotations``."""
        if _by_platform(task.driver):
            return commanded(PoolSubject(task.driver, self._cluster, task.step), task, self.pace, self.here)
        return self._rotations.upgrade(task)


def _by_platform(driver: Driver) -> bool:
    """Whether the platform behind the driver upgrades pools itself."""
    command = driver.driver if isinstance(driver, LeasedDriver) else driver
    return isinstance(command, (CommandDriver, ClusterApiDriver))
