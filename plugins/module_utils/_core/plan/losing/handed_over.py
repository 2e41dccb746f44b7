# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Objects that are released and not deleted: what leaves one placement for another one of the same run, where that is
to hold it (``handed-over``); and on a cluster that is the hub where objects were selected, as they are their authors'
own there (``originals-stay``).

In KubeFleet all of them are deleted, and what they held with them.
"""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...errors import Problem
from ...objects.identity import ObjectKey
from ...resources.applyset import applyset_id
from ...schema.codec import encode
from ...values.canonical import digest_of
from ...values.listed import listed, number_of
from ..brakes import Brake
from ..digest import plan_digest
from ..document import LOST, NO_MOVES, ClusterPlan, Moves, PlacementPlan

HANDED_OVER, ORIGINALS_STAY = FINDINGS = ("handed-over", "originals-stay")
NAMED = 5

# Names of placements by cluster and object: who is to hold it, and all that it leaves.
_Takers = dict[tuple[str, ObjectKey], str]
_Givers = dict[tuple[str, ObjectKey], list[str]]
# The brakes of a plan with other rows.
Braked = t.Callable[[PlacementPlan, t.Sequence[ClusterPlan]], tuple[Brake, ...]]


def handed_over(
    plans: t.Sequence[PlacementPlan], braked: Braked, hubs: t.Mapping[str, t.Container[str]] | None = None
) -> list[PlacementPlan]:
    """The plans of one run, in their order: what one of them would delete, or release, on a cluster where another is to
    hold it (the first of several), is released there, and may be taken over from it, whoever is carried out first.
    ``hubs`` are, by placement, clusters on which its objects were selected: all that leaves these is released. Where
    that turns a deletion into a release, the plan gets a finding ``handed-over`` for each placement that takes,
    ``originals-stay`` for each hub, a new digest, and brakes as ``braked`` asks them anew over its new rows (what that
    raises goes through); where all of it was to be released anyway, ``moves`` alone."""
    leaving: _Givers = {}
    for plan in plans if len(plans) > 1 else ():
        for row in plan.clusters:
            for each in row.leaving:
                leaving.setdefault((row.cluster, each.key), []).append(plan.name)
    takers, hubs = _takers(plans, leaving), hubs or {}
    if not takers and not any(hubs.values()):
        return list(plans)
    return [_with_moves(each, hubs.get(each.name, ()), takers, leaving, braked) for each in plans]


def _takers(plans: t.Iterable[PlacementPlan], leaving: _Givers) -> _Takers:
    """Who is to hold what leaves another placement; one that only reports holds nothing."""
    clusters = {cluster for cluster, _key in leaving}
    found: _Takers = {}
    for plan in plans:
        for row in plan.clusters if not plan.reports_only else ():
            if row.change == LOST or row.cluster not in clusters:
                continue
            for each in plan.objects_on(row.cluster):
                place = (row.cluster, each.id.key)
                if any(giver != plan.name for giver in leaving.get(place, ())):
                    found.setdefault(place, plan.name)
    return found


def _with_moves(
    plan: PlacementPlan, hubs: t.Container[str], takers: _Takers, leaving: _Givers, braked: Braked
) -> PlacementPlan:
    """The plan, with what it hands over and takes over; digest and brakes are those of its new rows."""
    made = {row.cluster: _moves(plan, row, row.cluster in hubs, takers, leaving) for row in plan.clusters}
    rows = tuple(_released(row, made[row.cluster].handed) for row in plan.clusters)
    plan = replace(plan, moves={name: each for name, each in made.items() if each != NO_MOVES})
    if rows == plan.clusters:
        return plan
    brakes = braked(plan, rows)
    digest = plan_digest(
        plan.name,
        digest_of(encode(plan.placement.spec)),
        plan.deleting,
        rows,
        plan.objects,
        brakes,
        plan.renderings,
        empty_first=plan.empty_first,
    )
    findings = (*(each for each in plan.findings if each.code not in FINDINGS), *_told(plan, rows, takers))
    return replace(plan, clusters=rows, brakes=brakes, digest=digest, findings=findings)


def _moves(plan: PlacementPlan, row: ClusterPlan, is_hub: bool, takers: _Takers, leaving: _Givers) -> Moves:
    """What is handed over from the row's cluster, and whom it may take objects over from."""
    originals = is_hub or (row.cluster in plan.moves and plan.moves[row.cluster].originals)
    places = ((each.key, takers.get((row.cluster, each.key), plan.name)) for each in row.leaving)
    takes = {}
    for each in plan.objects_on(row.cluster) if row.change != LOST else ():
        place = (row.cluster, each.id.key)
        if takers.get(place) == plan.name:
            takes[each.id.key] = frozenset(map(applyset_id, leaving[place]))
    handed = frozenset(key for key, taker in places if originals or taker != plan.name)
    return Moves(handed=handed, takes=takes, originals=originals)


def _released(row: ClusterPlan, handed: t.Container[ObjectKey]) -> ClusterPlan:
    """The row, in which what is handed over is among ``release``."""
    moved = [each for each in (*row.prune, *row.leftover) if each.key in handed]
    if not moved:
        return row
    return replace(
        row,
        prune=tuple(each for each in row.prune if each.key not in handed),
        leftover=tuple(each for each in row.leftover if each.key not in handed),
        release=(*row.release, *moved),
    )


def _told(plan: PlacementPlan, rows: t.Iterable[ClusterPlan], takers: _Takers) -> t.Iterator[Problem]:
    """A finding for each placement that something is handed over to, and for each hub where something stays."""
    found: dict[str, dict[str, set[str]]] = {}
    for row in rows:
        for each in row.release:
            if takers.get((row.cluster, each.key), plan.name) != plan.name:
                found.setdefault(takers[row.cluster, each.key], {}).setdefault(str(each), set()).add(row.cluster)
    for taker, objects in sorted(found.items()):
        clusters = set[str]().union(*objects.values())
        text = (
            f"{number_of(len(objects), 'object', 'goes', 'go')} over to placement {taker} on"
            f" {number_of(len(clusters), 'cluster')}, released here and not deleted: {listed(sorted(objects), NAMED)}"
        )
        yield Problem(HANDED_OVER, text)
    for row in (each for each in rows if each.release and plan.moves.get(each.cluster, NO_MOVES).originals):
        text = (
            f"{row.cluster} is the hub: what was selected there are the originals, which are released and not deleted"
        )
        yield Problem(ORIGINALS_STAY, text)
