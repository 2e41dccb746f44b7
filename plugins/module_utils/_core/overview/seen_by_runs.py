# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What update runs have seen of members since these were read: that they upgraded one, did not reach it and skipped it,
or wait for it; and when facts of a member were read last."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ..cluster.facts.member import AGENT
from ..objects.clusters.fleet_member import FleetMember
from ..objects.clusters.member_cluster import MemberCluster
from ..schema.meta import find_condition
from ..values.instants import SECONDS, write_time
from ..values.update_states import COMPLETED, PENDING, RUNNING, SKIPPED, UNREACHABLE
from .runs import MEMBER, UPDATE_RUN, Bar, RunChart


@dataclass(frozen=True, kw_only=True)
class SeenByRun:
    """What the update run ``run`` saw of a member at ``at``: it had ``upgraded`` it, or could not reach it. ``waits``:
    it has not reached it since then, and still waits for it."""

    run: str
    at: datetime
    upgraded: bool
    waits: bool = False

    @property
    def sentence(self) -> str:
        """What is to be said of the member."""
        at = write_time(self.at, SECONDS)
        if self.upgraded:
            return f"not read since run {self.run} upgraded it at {at}"
        if self.waits:
            return f"run {self.run} waits for it, and has not reached it since {at}"
        return f"run {self.run} did not reach it, and skipped it at {at}"


def seen_by_runs(charts: t.Iterable[RunChart]) -> dict[str, SeenByRun]:
    """By member, what the update run saw that was there last, the first of the charts where instants are equal; members
    that none has upgraded or missed are left out. Only a run that is Pending or Running waits for a member."""
    found: dict[str, SeenByRun] = {}
    for chart in charts:
        for line in chart.bars if chart.kind == UPDATE_RUN else ():
            seen = _seen(chart.name, line)
            if seen and seen.waits and chart.state not in (PENDING, RUNNING):
                continue
            if seen and (line.name not in found or found[line.name].at < seen.at):
                found[line.name] = seen
    return found


def last_tried_at(cluster: MemberCluster, member: FleetMember | None) -> datetime | None:
    """The last instant at which facts of the cluster were read, or could not be, as far as that is recorded: of reads
    that failed one after another only the first. None where neither is recorded."""
    agent = next((each for each in cluster.status.agent_status if each.type == AGENT), None)
    told = [
        find_condition(agent.conditions, "Healthy") if agent else None,
        find_condition(member.status.conditions, "Reachable") if member else None,
    ]
    instants = [each.last_transition_time for each in told if each] + [agent.last_received_heartbeat if agent else None]
    return max((each for each in instants if each), default=None)


def _seen(run: str, line: Bar) -> SeenByRun | None:
    """What the bar of a member tells; None for any other bar, and for a member that is neither upgraded nor missed."""
    state, missed = line.status.state, line.why.partition(":")[0] == UNREACHABLE
    waits = state == PENDING and missed
    at = line.since if waits else line.status.completed_time
    if line.what != MEMBER or at is None or not (waits or state == COMPLETED or (state == SKIPPED and missed)):
        return None
    return SeenByRun(run=run, at=at, upgraded=state == COMPLETED, waits=waits)
