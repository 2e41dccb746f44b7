# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded facts of members that are young enough to decide on (``max_facts_age``), and facts of the others read
anew."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime, timedelta

from ..._core.cluster.facts.member import AGENT
from ..._core.cluster.facts.snapshot import FactsSnapshot
from ..._core.errors import FleetError
from ..._core.objects.clusters.member_cluster import MemberCluster
from ..._core.schema.meta import find_condition
from ..._core.values.clock_skew import CLOCK_SKEW
from .facts import read_fleet
from .members import Clients, Member


def members_with_young_facts(
    members: t.Mapping[str, Member], now: datetime, age: timedelta, pods: bool
) -> frozenset[str]:
    """Names of members that need not be read again: they were healthy when they were last read, and their health and
    resources (with ``pods`` what these request, too) were read at most ``age`` before ``now``, and after it only by as
    much as clocks may differ."""
    oldest = {name: _oldest(each.cluster, pods) for name, each in members.items()}
    return frozenset(name for name, at in oldest.items() if at is not None and now - age <= at <= now + CLOCK_SKEW)


def recorded_or_read_facts(
    members: t.Mapping[str, Member],
    recorded: t.Container[str],
    clients: Clients,
    now: datetime,
    *,
    pods: bool,
    namespaces: bool = False,
) -> FactsSnapshot:
    """The facts of all members, in the order of names: for those in ``recorded`` what the records hold, for others as
    of ``read_fleet``. Nodes and certificates are there only of those read now. The snapshot counts as captured when the
    oldest of the recorded facts were read, else ``now``. FleetError with the first problem of each member if none is
    recorded and none can be read; ``no-workers``."""
    unknown = {name: each for name, each in members.items() if name not in recorded}
    reading = read_fleet(unknown, clients, now, pods=pods, namespaces=namespaces)
    if members and len(reading.failed) == len(members):
        raise FleetError.of([replace(error.problems[0], where=name) for name, error in reading.failed.items()])
    kept = tuple(each.cluster for name, each in members.items() if name in recorded)
    at = min((read_at for each in kept if (read_at := _oldest(each, pods)) is not None), default=now)
    snapshot = reading.snapshot
    return replace(snapshot, captured_at=min(at, now), members=_by_name(*snapshot.members, *kept))


def _by_name(*clusters: MemberCluster) -> tuple[MemberCluster, ...]:
    """In the order of their names."""
    return tuple(sorted(clusters, key=lambda each: each.name))


def _oldest(cluster: MemberCluster, pods: bool) -> datetime | None:
    """When the oldest part of what is known of the cluster was read; None where a part is not known, or it was not
    well: such a one is asked again."""
    usage = cluster.status.resource_usage
    agent = next((each for each in cluster.status.agent_status if each.type == AGENT), None)
    healthy = find_condition(agent.conditions, "Healthy") if agent else None
    if usage is None or (pods and not usage.available) or healthy is None or healthy.status != "True":
        return None
    heartbeat = agent.last_received_heartbeat if agent else None
    return min(heartbeat, usage.observation_time) if heartbeat and usage.observation_time else None
