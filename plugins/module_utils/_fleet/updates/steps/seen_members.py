# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members of a run as they are seen before it begins, with version and node pools of that moment, for its plan."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._core.errors import FleetError
from ...._core.objects.clusters.fleet_member import FleetMember, NodePoolStatus
from ...._kube.parallel import in_parallel
from ...drivers.contract import Driver, Observation
from ...members.members import Clients

SeenMembers = t.Mapping[str, FleetMember]
# The node pools of a member that was just observed, as of ``pools_seen``; FleetError where they cannot be read.
Pools = t.Callable[[str, Observation], tuple[NodePoolStatus, ...]]


def as_seen(member: FleetMember, version: str, pools: tuple[NodePoolStatus, ...]) -> FleetMember:
    """A recorded member with the version and the node pools that were seen just now."""
    return replace(member, status=replace(member.status, version=version, node_pools=pools))


def seen_members(drivers: t.Mapping[str, Driver], clients: Clients, pools: Pools, threads: int) -> SeenMembers:
    """Each member, by name, with the version that its driver tells and the ``pools`` of that moment, or the recorded
    ones where these cannot be read; who does not answer is left out. ``drivers`` are of members that ``clients`` have.
    FleetError ``no-workers``."""
    work = {name: _look(clients.members[name], driver, pools) for name, driver in drivers.items()}
    answers = in_parallel(work, threads=threads)
    return {name: answer for name, answer in answers.items() if isinstance(answer, FleetMember)}


def _look(member: FleetMember, driver: Driver, pools: Pools) -> t.Callable[[], FleetMember]:
    """What looks at one member for ``seen_members``."""

    def look() -> FleetMember:
        """The member as it is seen now; FleetError if it does not answer."""
        seen = driver.observe(member.name)
        try:
            return as_seen(member, seen.version, pools(member.name, seen))
        except FleetError:
            return as_seen(member, seen.version, member.status.node_pools)

    return look
