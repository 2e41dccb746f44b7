# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evacuated clusters keep what they hold until that is available in its new home: which of them wait, and why
(``new-home``, ``no-new-home``, ``no-room-for-new-home``); upstream evacuates nothing."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...objects.clusters.evacuation import EVACUATED
from ...scheduling.picking.new_homes import replaced_cluster_of
from .candidates import BIND, REMOVE, RolloutCandidate

NEW_HOME, NO_NEW_HOME, NO_ROOM = "new-home", "no-new-home", "no-room-for-new-home"
LIFTED = "empty_first: true"


@dataclass(frozen=True)
class HomeWait:
    """Why an evacuated cluster keeps what it holds: a reason (``new-home``, ``no-new-home``, ``no-room-for-new-home``)
    with a sentence, and, of ``new-home``, the clusters that it waits for (``blockers``)."""

    reason: str
    message: str
    blockers: tuple[str, ...] = ()


def kept_for_homes(
    rows: t.Sequence[RolloutCandidate], target: int, out_of_reach: t.Container[str], *, no_room: bool
) -> dict[str, HomeWait]:
    """By name of the binding, the evacuated clusters that are not emptied yet. Each waits until the cluster that was
    picked in its place is ready and wants no change. Of those without such a one as many stay as the placement lacks of
    ``target`` (ready ones before others, of these the last in ``rows``), the others until another cluster has it: the
    last that is known to be ready, or else all, for any may have it. A cluster out of reach is not among them, and has
    it for none of them, whatever is recorded of it. ``no_room``: no cluster begins now, and maxSurge 0 makes no room
    for one. Empty if no cluster is picked at all."""
    leaving = [each for each in rows if _is_evacuated(each) and each.held.cluster not in out_of_reach]
    picked = [each for each in rows if each.picked and not each.held.deleting]
    if not leaving or not picked:
        return {}
    homes = {replaced_cluster_of(each.held.binding): each for each in picked}
    found: dict[str, HomeWait] = {}
    without: list[RolloutCandidate] = []
    for each in leaving:
        home = homes.get(each.held.cluster)
        if home is None:
            without.append(each)
        elif home.held.cluster in out_of_reach or not _has_it(home):
            found[each.held.name] = _waits_for(home, no_room)
    without.sort(key=lambda each: each.ready)
    most = max(0, len(without) - max(0, target - len(picked)))
    going, staying = without[:most], without[most:]
    short = f"no other cluster can take what it holds, {len(picked)} of {target} are found; {LIFTED} empties it now"
    found |= {each.held.name: HomeWait(NO_NEW_HOME, short) for each in staying}
    if going and not any(_supports(each, found) for each in rows if each.held.cluster not in out_of_reach):
        names = tuple(sorted(each.held.cluster for each in picked))
        last = going[-1:] if going[-1].ready else going
        found |= {each.held.name: HomeWait(NEW_HOME, "no other cluster has it yet", names) for each in last}
    return found


def _is_evacuated(each: RolloutCandidate) -> bool:
    """Whether it is to be taken off an evacuated cluster that may hold something of it."""
    marked = EVACUATED in each.held.binding.metadata.annotations
    return each.wants == REMOVE and marked and bool(each.held.content.resource_snapshot)


def _has_it(each: RolloutCandidate) -> bool:
    """Whether the cluster is ready and wants no change."""
    return each.ready and not each.wants


def _supports(each: RolloutCandidate, kept: t.Container[str]) -> bool:
    """Whether the placement is available there, now and after this step."""
    return each.ready and not each.leaving and (not each.wants or each.held.name in kept)


def _waits_for(home: RolloutCandidate, no_room: bool) -> HomeWait:
    """The wait for a new home: ``no-room-for-new-home`` if it is yet to be bound and there is none, else
    ``new-home``."""
    name = home.held.cluster
    if home.wants == BIND and no_room:
        message = f"maxSurge 0 leaves no room for {name} beside it: give it some, or empty it first with {LIFTED}"
        return HomeWait(NO_ROOM, message)
    return HomeWait(NEW_HOME, f"its new home {name} does not have it yet", (name,))
