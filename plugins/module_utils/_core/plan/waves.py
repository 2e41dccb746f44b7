# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The waves in which a plan is carried out by the limits of a rolling update; and by them: no cluster has it for a
while (``moves-with-a-gap``), the limits never let a cluster change (``held-by-limits``), silent ones count as available
(``counted-as-recorded``), a first apply reaches all at once."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..errors import Problem
from ..objects.placements.binding import HELD_BEFORE, UNSCHEDULED
from ..resources.snapshots import snapshot_index
from ..rollout.conditions import TRUE
from ..rollout.readiness import AVAILABLE
from ..rollout.rolling.budget import ROLLING_UPDATE, limits, rolling_update
from ..scheduling.picking.new_homes import replaced_cluster_of
from ..schema.meta import find_condition
from ..values.instants import SECONDS, write_time
from ..values.listed import listed, number_of
from .document import (
    EVACUATED,
    GAINED,
    KEPT,
    LEFT_BEHIND,
    LOST,
    ClusterPlan,
    PlacementPlan,
)

GAP = "moves-with-a-gap"
HELD = "held-by-limits"
COUNTED = "counted-as-recorded"
Wave = tuple[str, ...]
# Causes of a loss by which no wave takes anything away.
_NOT_BEGUN = ("left-the-fleet", LEFT_BEHIND)


def waves(plan: PlacementPlan) -> tuple[Wave, ...]:
    """Names of the clusters that change, by wave; at most one wave of a placement that ends, none where nothing
    changes, or staged runs alone change it. In none are clusters that the limits never let change, that have left the
    fleet, and evacuated ones that could not be read; others that could not are among them, as they change once they
    answer.

    As in the rolling update, clusters that lose the placement and then those that change spend what may be unavailable,
    in the order of their bindings; clusters that gain it spend the surge. Evacuated clusters wait for those that take
    their places. FleetError as of ``limits``.
    """
    rows = [each for each in plan.clusters if each.cause not in _NOT_BEGUN]
    kept = sum(1 for each in rows if each.change == KEPT)
    changed = _by_binding(plan, (each for each in rows if not each.stays))
    leaving = [each.cluster for each in changed if each.change == LOST]
    changing = [each.cluster for each in changed if each.change == KEPT]
    coming = [each.cluster for each in changed if each.change == GAINED]
    if plan.deleting:
        return (tuple(leaving),) if leaving else ()
    if not changed or plan.is_by_staged_runs:
        return ()
    limit = limits(plan.placement, kept + len(coming), upstream=False)
    spending, holding = [*leaving, *changing], kept + len(leaving)
    gone = set(leaving)
    emptied = _EmptiedHomes.of(plan, changed, limit.target - kept - len(coming))
    available = {each.cluster for each in rows if each.change == KEPT}.difference(changing)
    found: list[Wave] = []
    while spending or coming:
        # Where nothing has to stay available, what is to go goes at once.
        kept_back = emptied.kept_back(spending, available)
        room = max(0, holding - limit.floor)
        free = max(0, limit.target + limit.max_surge - holding)
        wave = [name for name in spending if name not in kept_back][:room]
        begun = set(wave)
        spending = [name for name in spending if name not in begun]
        new, coming = coming[:free], coming[free:]
        if not wave and not new:
            break
        available |= begun.union(new) - gone
        holding += len(new) - sum(1 for name in wave if name in gone)
        found.append((*wave, *new))
    return tuple(found)


@dataclass(frozen=True)
class _EmptiedHomes:
    """Evacuated clusters in the order of their bindings, of which ``homes`` names those that take their places, and how
    many of the others stay because the placement is ``short`` of clusters; as ``kept_for_homes`` decides."""

    names: tuple[str, ...]
    homes: t.Mapping[str, str]
    short: int

    @classmethod
    def of(cls, plan: PlacementPlan, rows: t.Iterable[ClusterPlan], short: int) -> _EmptiedHomes:
        """The evacuated clusters of ``rows``; none with ``empty_first``, or where no binding is left that is not
        Unscheduled."""
        names = () if plan.empty_first else tuple(each.cluster for each in rows if each.cause == EVACUATED)
        live = [each for each in plan.bindings if each.spec.state != UNSCHEDULED] if names else []
        homes = {replaced_cluster_of(each): each.spec.target_cluster for each in live}
        return cls(names if live else (), {at: homes[at] for at in names if at in homes}, max(0, short))

    def kept_back(self, waiting: t.Collection[str], available: t.Collection[str]) -> t.Collection[str]:
        """Those of ``waiting`` that are not emptied yet: whose new home is not ``available``, and of those without one
        the last, as many as are ``short``; if that is nobody and nothing is available, the last of those without
        one."""
        left = [name for name in self.names if name in waiting]
        kept = [name for name in left if name in self.homes and self.homes[name] not in available]
        without = [name for name in left if name not in self.homes]
        most = max(0, len(without) - self.short)
        kept += without[most:]
        return kept if kept or available else [*kept, *without[:most][-1:]]


def clusters_reached_at_once(plan: PlacementPlan) -> int:
    """How many clusters a placement that was never applied reaches in its only wave, at least two: as in KubeFleet, a
    first rollout has nothing to keep available. 0 if there are other waves or fewer clusters, a snapshot of it is
    recorded already, it is being deleted, or staged runs carry it. FleetError as of ``waves``."""
    first = plan.resource_snapshot_new and snapshot_index(plan.resource_snapshot) == 0
    if not first or plan.deleting or plan.is_by_staged_runs:
        return 0
    found = waves(plan)
    return len(found[0]) if len(found) == 1 and len(found[0]) > 1 else 0


def gap_finding(plan: PlacementPlan) -> tuple[Problem, ...]:
    """The finding ``moves-with-a-gap``: the placement goes to other clusters, and by its waves all from which something
    is deleted lose it before one of these has it. Empty where a cluster keeps it, be it unread, where it ends, and
    where staged runs carry it, which clean last. FleetError as of ``waves``."""
    coming = plan.clusters_with(GAINED)
    losing = [each.cluster for each in plan.clusters if each.change == LOST and each.prune]
    if plan.deleting or plan.clusters_with(KEPT) or not (coming and losing):
        return ()
    available = set(losing)
    for wave in waves(plan):
        available.difference_update(set(losing).intersection(wave))
        if not available:
            return (_gap(plan, losing, coming),)
        available.update(set(coming).intersection(wave))
    return ()


def _gap(plan: PlacementPlan, losing: t.Sequence[str], coming: t.Sequence[str]) -> Problem:
    """The finding, with the way out: maxUnavailable 0, or, of clusters that are emptied first, no ``empty_first``."""
    message = f"it leaves {listed(losing)} before it is available on {listed(coming)}; no cluster has it meanwhile"
    if plan.empty_first:
        return Problem(GAP, message, "empty_first", "without empty_first it is available there before it leaves")
    allowed = rolling_update(plan.placement).max_unavailable
    target = limits(plan.placement, len(coming), upstream=False).target
    return Problem(
        GAP,
        f"{message}, which maxUnavailable ({allowed}, of {number_of(target, 'cluster')}) allows",
        ROLLING_UPDATE,
        f"with maxUnavailable 0 and maxSurge 1 or more it is available on {listed(coming)} before it leaves",
    )


def held_by_limits_findings(plan: PlacementPlan) -> tuple[Problem, ...]:
    """The finding ``held-by-limits``: as long as all clusters are available, the limits let nothing change on some, so
    that no apply comes to their turn. Evacuated ones are not named, but those that could take their places are. Empty
    where nothing goes or changes, where a placement ends, and where staged runs carry it. FleetError as of
    ``waves``."""
    rows = [each for each in plan.clusters if each.cause not in _NOT_BEGUN]
    spending = [each for each in rows if each.change == LOST or each.outdated]
    if plan.deleting or plan.is_by_staged_runs or not spending:
        return ()
    staying = sum(each.change != LOST for each in plan.clusters)
    limit = limits(plan.placement, staying, upstream=False)
    if limit.floor < len(rows) and all(each.change == KEPT for each in rows):
        return ()  # nobody comes or goes, so that there is room for one after the other
    begun = {name for wave in waves(plan) for name in wave}
    held = [each.cluster for each in spending if each.cause != EVACUATED and each.cluster not in begun]
    waiting = [each.cluster for each in rows if each.change == GAINED and each.cluster not in begun]
    if not (held or waiting):
        return ()
    target, lacking = number_of(limit.target, "cluster"), limit.target - staying
    why, ways = [], []
    if held:
        why.append(f"{limit.max_unavailable} of {target} may be unavailable at once")
        ways.append("raise maxUnavailable")
    if held and lacking > 0:
        why.append(f"{number_of(lacking, 'cluster', 'is', 'are')} asked for and not found")
        ways.append("ask for no more clusters than there are")
    if waiting:
        why.append(f"{target} and {limit.max_surge} more may hold it at once")
        ways.append("give maxSurge room")
    if waiting and any(each.cause == EVACUATED for each in spending):
        ways.append("empty evacuated clusters first with empty_first")
    names = listed(sorted([*held, *waiting]))
    message = f"its limits let nothing change on {names} while all are available: {', and '.join(why)}"
    return (Problem(HELD, message, ROLLING_UPDATE, ", or ".join(ways)),)


def _by_binding(plan: PlacementPlan, rows: t.Iterable[ClusterPlan]) -> list[ClusterPlan]:
    """The rows in the order of the names of their bindings, by the cluster's name where there is none."""
    found = list(rows)
    names = {each.spec.target_cluster: each.name for each in plan.bindings} if found else {}
    return sorted(found, key=lambda row: names.get(row.cluster, row.cluster))


def counted_as_recorded_findings(plan: PlacementPlan, silent: t.Container[str]) -> tuple[Problem, ...]:
    """A finding ``counted-as-recorded`` for each ``silent`` cluster that keeps the placement and was recorded as
    available last, in the order of the bindings: ``maxUnavailable`` counts it so (KubeFleet's rule). None for one where
    a write was begun and did not end, where nothing is taken away or changed on another cluster, where the placement
    ends, and where staged runs carry it."""
    if plan.deleting or plan.is_by_staged_runs:
        return ()
    changing = [each for each in plan.clusters if each.change == LOST or each.outdated]
    if all(each.cluster in silent or each.cause in _NOT_BEGUN for each in changing):
        return ()
    kept = {each.cluster for each in plan.clusters if each.change == KEPT and each.cluster in silent}
    found = []
    for binding in plan.bindings:
        said = find_condition(binding.status.conditions, AVAILABLE)
        whole = HELD_BEFORE not in binding.metadata.annotations
        if binding.spec.target_cluster in kept and whole and said is not None and said.status == TRUE:
            at = said.last_transition_time
            since = f" since {write_time(at, SECONDS)}" if at else ""
            text = f"it does not answer, and maxUnavailable counts it as it was recorded: available{since}"
            hint = "evacuate it if it is lost; a lower maxUnavailable keeps more of the others"
            found.append(Problem(COUNTED, text, f"{binding.spec.target_cluster} ({plan.name})", hint))
    return tuple(found)
