# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which clusters the next apply would pick once an eviction has taken a placement off one, in words."""

from __future__ import annotations

import typing as t

from ...._core.objects.clusters.member_cluster import MemberCluster
from ...._core.objects.placements.binding import ClusterResourceBinding
from ...._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...._core.plan.compose import policy_snapshot_of
from ...._core.scheduling.index import FleetIndex
from ...._core.scheduling.unreadable import decide
from ...session import Session
from ..explaining import recorded_index
from ..recorded import RecordedPlacement


def next_pick(
    session: Session,
    members: t.Sequence[MemberCluster],
    recorded: RecordedPlacement,
    bindings: t.Sequence[ClusterResourceBinding],
    cluster: str,
) -> str:
    """In words which of ``members`` the next apply would pick beside the ``bindings`` that are left, by what is
    recorded of the fleet: the one that was evicted may be picked again, as upstream. Empty without the placement's
    record. FleetError as of ``schedule``."""
    if recorded.placement is None:
        return ""
    index = recorded_index(tuple(members), session)
    before = {each.spec.target_cluster for each in bindings}
    picked = _holders(recorded.placement, recorded, bindings, index) - before
    away = "a taint on it, or another label, keeps it away"
    if cluster in picked:
        return f"the next apply would pick {cluster} again; {away}"
    if picked:
        return f"the next apply would pick {', '.join(sorted(picked))}"
    if not all(each.status.agent_status for each in members):
        return f"the next apply may pick {cluster} again, of which no facts are recorded; {away}"
    return "the next apply would pick no other one"


def _holders(
    wanted: ClusterResourcePlacement,
    recorded: RecordedPlacement,
    bindings: t.Sequence[ClusterResourceBinding],
    index: FleetIndex,
) -> set[str]:
    """The clusters that would hold the placement if it were scheduled now. FleetError as of ``schedule``."""
    snapshot, _new = policy_snapshot_of(wanted, recorded.known.policy_snapshot)
    return set(decide(wanted, snapshot, index, tuple(bindings)).scheduled.staying)
