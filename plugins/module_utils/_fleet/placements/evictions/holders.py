# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A look at the clusters that hold a placement, before a disruption budget decides on what an apply saw of them, which
may be long ago (``not-available-now``)."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime

from ...._core.errors import Problem
from ...._core.objects.placements.binding import BOUND, HELD_BEFORE, UNSCHEDULED, ClusterResourceBinding
from ...._core.plan.losing.evicted import holders_plan, with_available_seen
from ...._core.rollout.readiness import AVAILABLE, failed_condition, reports_difference
from ...._core.schema.meta import find_condition
from ...._core.values.instants import SECONDS, write_time
from ...members.members import Clients
from ..look import ApplyOptions, MemberRunners, on_members
from ..recorded import RecordedPlacement


def holders_seen(
    recorded: RecordedPlacement,
    bindings: t.Iterable[ClusterResourceBinding],
    clients: Clients,
    ways: ApplyOptions,
    runners: MemberRunners,
    now: datetime,
) -> tuple[list[ClusterResourceBinding], list[Problem]]:
    """The bindings, in the order given, with what their clusters have by now, and a problem ``not-available-now`` for
    each that was recorded as available and is not, or does not answer. Those not known to hold all of a snapshot come
    back as they are. Nothing is written. FleetError ``no-workers``."""
    given = list(bindings)
    asked = {each.spec.target_cluster: each for each in given if _counts(each)}
    if recorded.placement is None or not asked:
        return given, []
    plan = holders_plan(recorded.placement, recorded.known, asked.values())
    ways = replace(ways, validate=False, shows=False, diagnoses=False)
    outcomes = on_members(plan, recorded.uid, clients, ways, runners=runners)
    seen, found = list[ClusterResourceBinding](), list[Problem]()
    for each in given:
        cluster = each.spec.target_cluster
        if asked.get(cluster) is not each:
            seen.append(each)
            continue
        by_now, why = with_available_seen(each, plan.objects_on(cluster), outcomes[cluster], now)
        seen.append(by_now)
        if why:
            found.append(_told(each, why, plan.name))
    return seen, found


def _counts(binding: ClusterResourceBinding) -> bool:
    """Whether its cluster may have something available: it holds a snapshot wholly, as far as is known, and has not
    failed; nor is it being cleaned, or only reported on."""
    if binding.metadata.deletion_timestamp is not None or HELD_BEFORE in binding.metadata.annotations:
        return False
    holds = binding.spec.state in (BOUND, UNSCHEDULED) and bool(binding.held_snapshot)
    return holds and failed_condition(binding, upstream=False) is None and not reports_difference(binding)


def _told(binding: ClusterResourceBinding, why: str, placement: str) -> Problem:
    """That the cluster does not count as available, though it is recorded so, and since when."""
    said = find_condition(binding.status.conditions, AVAILABLE)
    at = said.last_transition_time if said else None
    since = f", since {write_time(at, SECONDS)}" if at else ""
    text = f"it does not count as available: {why}; the last apply has it recorded as available{since}"
    hint = "mend it, or evacuate it, and apply; then evict again"
    return Problem("not-available-now", text, f"{binding.spec.target_cluster} ({placement})", hint)
