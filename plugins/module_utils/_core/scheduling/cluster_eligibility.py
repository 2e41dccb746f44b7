# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Filter ``ClusterEligibility`` (KubeFleet scheduler): which faults keep a cluster from being picked, such as
``leaving``, ``evacuated``, ``record-missing``, ``agent-not-online``, ``agent-not-joined``, ``heartbeat-missing``,
``heartbeat-too-old``, ``health-unknown``, ``unhealthy-too-long``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..objects.clusters.evacuation import is_evacuated
from ..objects.clusters.member_cluster import MemberCluster
from ..objects.clusters.missing_record import RECORD_MISSING, lacks_record
from ..schema.meta import Condition, find_condition
from .index import FleetIndex
from .reasons import ClusterBlocker

NAME = "ClusterEligibility"
HEARTBEAT_LIMIT = timedelta(minutes=5)
HEALTH_LIMIT = timedelta(minutes=5)


@dataclass(frozen=True)
class ClusterEligibility:
    """The filter over a fleet, at the instant of its index."""

    index: FleetIndex
    name: t.ClassVar[str] = NAME

    @property
    def passing(self) -> int:
        """The eligible clusters, as a bit set by position."""
        return eligible(self.index)

    def refusal(self, position: int) -> ClusterBlocker | None:
        """The first fault of the cluster at a position; None if it has none."""
        return first_fault(self.index.clusters[position], self.index.now)

    def blockers(self, position: int) -> t.Iterator[ClusterBlocker]:
        """All faults of the cluster at a position, in upstream's order."""
        return faults(self.index.clusters[position], self.index.now)


def eligible(index: FleetIndex) -> int:
    """The clusters without ``faults`` at the index's instant, as a bit set by position; worked out once for an
    index."""
    return index.where_cached(NAME, lambda cluster: first_fault(cluster, index.now) is None)


def first_fault(cluster: MemberCluster, now: datetime) -> ClusterBlocker | None:
    """The first of the ``faults`` of a cluster at ``now``, aware; None if it has none."""
    return next(faults(cluster, now), None)


def faults(cluster: MemberCluster, now: datetime) -> t.Iterator[ClusterBlocker]:
    """All that makes a cluster not eligible at ``now``, aware, in upstream's order: ``leaving``; ``evacuated`` and
    ``record-missing``, which are rules of ours; ``agent-not-online`` where no member agent has reported, which ends the
    list; ``heartbeat-missing`` or ``heartbeat-too-old`` (over 5 minutes); ``agent-not-joined``; ``health-unknown``,
    ``unhealthy`` (nobody knows since when) or ``unhealthy-too-long`` (over 5 minutes)."""
    if cluster.metadata.deletion_timestamp is not None:
        yield ClusterBlocker(NAME, "leaving")
    if is_evacuated(cluster):
        yield ClusterBlocker(NAME, "evacuated")
    if lacks_record(cluster):
        yield ClusterBlocker(NAME, RECORD_MISSING)
    agent = next((each for each in cluster.status.agent_status if each.type == "MemberAgent"), None)
    if agent is None:
        yield ClusterBlocker(NAME, "agent-not-online")
        return
    heartbeat = agent.last_received_heartbeat
    if heartbeat is None:
        yield ClusterBlocker(NAME, "heartbeat-missing")
    elif now - heartbeat > HEARTBEAT_LIMIT:
        yield _too_long("heartbeat-too-old", now - heartbeat, HEARTBEAT_LIMIT)
    joined = find_condition(agent.conditions, "Joined")
    if joined is None or joined.status != "True":
        yield ClusterBlocker(NAME, "agent-not-joined")
    yield from _unhealthy(find_condition(agent.conditions, "Healthy"), now)


def _unhealthy(healthy: Condition | None, now: datetime) -> t.Iterator[ClusterBlocker]:
    """The one fault of a health that is not known, or has not been True for over 5 minutes, or since nobody knows
    when."""
    if healthy is None:
        yield ClusterBlocker(NAME, "health-unknown")
    elif healthy.status != "True":
        since = healthy.last_transition_time
        if since is None:
            yield ClusterBlocker(NAME, "unhealthy")
        elif now - since > HEALTH_LIMIT:
            yield _too_long("unhealthy-too-long", now - since, HEALTH_LIMIT)


def _too_long(code: str, span: timedelta, limit: timedelta) -> ClusterBlocker:
    """The fault, with the span in minutes, two decimals, and the limit in whole ones."""
    minutes, most = span.total_seconds() / 60, int(limit.total_seconds() // 60)
    return ClusterBlocker(NAME, code, {"minutes": round(minutes, 2), "limitMinutes": most})
