# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which clusters the next apply would pick after an eviction, in words (``next_pick``), perhaps the evicted one
again."""

from __future__ import annotations

import typing as t

from ...._core.errors import FleetError
from ...._core.objects.placements.binding import ClusterResourceBinding
from ...._core.plan.compose import policy_snapshot_of
from ...._core.scheduling.index import FleetIndex
from ...._core.scheduling.unreadable import schedule_keeping_unread
from ...members.members import Member
from ...session import Session
from ..explaining import recorded_index
from ..recorded import RecordedPlacement

Bindings = t.Sequence[ClusterResourceBinding]


def next_pick_words(
    session: Session, members: t.Mapping[str, Member], recorded: RecordedPlacement, bindings: Bindings, cluster: str
) -> str:
    """The clusters that the next apply would pick, in words, by what is recorded of the fleet; the evicted ``cluster``
    alone if it is among them. ``bindings`` are those that are left. Where it would pick none, but facts of a member are
    not recorded, that ``cluster`` may be picked again; where the placement cannot be scheduled, why."""
    fleet = tuple(each.cluster for each in members.values())
    before = {each.spec.target_cluster for each in bindings}
    try:
        picked = _holders(recorded, recorded_index(fleet, session), bindings) - before
    except FleetError as error:
        return f"the next apply would pick none before this is mended: {error}"
    away = "a taint on it, or another label, keeps it away"
    if cluster in picked:
        return f"the next apply would pick {cluster} again; {away}"
    if picked:
        return f"the next apply would pick {', '.join(sorted(picked))}"
    if not all(each.status.agent_status for each in fleet):
        return f"the next apply may pick {cluster} again, of which no facts are recorded; {away}"
    return "the next apply would pick no other one"


def _holders(recorded: RecordedPlacement, index: FleetIndex, bindings: Bindings) -> set[str]:
    """The clusters that would hold the placement if it were scheduled now. FleetError as of ``schedule``."""
    if recorded.placement is None:
        raise AssertionError("only of a placement that is there")
    snapshot, _new = policy_snapshot_of(recorded.placement, recorded.known.policy_snapshot)
    return set(schedule_keeping_unread(recorded.placement, snapshot, index, tuple(bindings)).scheduled.staying)
