# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placements that members hold from other records than ours: which of them a recovery may take over (``former``,
``mixed-fleets``), which are lost, and under which names of snapshots."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from ...._core.errors import FleetError, Problem
from ...._core.objects.placements.key import PlacementKey
from ...._core.resources.applyset import ApplySet
from ...._core.resources.snapshots import (
    next_index,
    policy_snapshot_name,
    resource_snapshot_name,
    snapshot_index,
)
from ...._store.records import Records
from ..recorded import Document, binding_of, is_recovering

# No member is believed that more snapshots were made: those to come have to be countable too.
LAST = 100_000_000

Held = t.Mapping[str, t.Mapping[str, ApplySet]]
"""By placement and cluster."""


@dataclass(frozen=True, kw_only=True)
class Ours:
    """What our records know of a placement: its ``uid`` and ``version`` (both empty without a record), whether a
    recovery of it was ``begun``, whether there are bindings at all (``bound``), and whether one of them ``holds``
    something."""

    uid: str = ""
    version: str = ""
    begun: bool = False
    bound: bool = False
    holds: bool = False


def known_of(records: Records, name: str) -> Ours:
    """What the records know of the placement. FleetError ``record-damaged``, and others of the records."""
    key = PlacementKey.of(name)
    document: Document | None = records.get(key.kinds.placement, name)
    bindings = records.list(key.kinds.binding, key.labels, key.namespace)
    return Ours(
        uid=str(document["metadata"]["uid"]) if document else "",
        version=str(document["metadata"]["resourceVersion"]) if document else "",
        begun=is_recovering(document),
        bound=bool(bindings),
        holds=any(binding_of(each).held_snapshot for each in bindings),
    )


def is_lost(ours: Ours, by_cluster: t.Mapping[str, ApplySet]) -> bool:
    """Whether members hold the placement as our records do not know it: these were lost, or it was other records'.
    ``by_cluster`` is what members hold of it, something at least."""
    return ours.begun or not ours.bound or any(each.uid != ours.uid for each in by_cluster.values())


def refuse_mixed(held: Held, ours: t.Mapping[str, Ours], former: t.Collection[str]) -> None:
    """FleetError ``mixed-fleets``: members that hold a placement of one name from two records are not taken together
    unless ``former`` says so, for one of the two may belong to another fleet; what an earlier recovery has taken over
    is ours. ``ours`` has each placement of ``held``."""
    problems = []
    for name, by_cluster in sorted(held.items()):
        mine, uids = ours[name], {each.uid for each in by_cluster.values()}
        foreign = uids - {mine.uid} - set(former)
        both = foreign and not mine.begun and (mine.holds or mine.uid in uids)
        if len(foreign) > 1 or both:
            message = f"members hold placements of this name from different records (uid {', '.join(sorted(foreign))})"
            hint = "if these were records of this fleet that are given up: former with these uids"
            problems.append(Problem("mixed-fleets", message, name, hint))
    if problems:
        raise FleetError.of(problems)


def named_apart(placement: str, sets: t.Mapping[str, ApplySet], policy_hash: str) -> dict[str, ApplySet]:
    """The ApplySets by cluster, with names of snapshots under which only one thing is known, and each resource content
    under one name; the same names where some of the sets have theirs already. Where two records had a policy of one
    name, that with today's ``policy_hash`` gets one after all others. A name that the placement could not have given
    counts as that of the first."""
    sets = {cluster: _with_own_names(placement, each) for cluster, each in sets.items()}
    resources = _apart(
        {(each.resource_snapshot, each.resource_hash) for each in sets.values()},
        lambda index: resource_snapshot_name(placement, index),
    )
    policy = _policy_apart(placement, sets.values(), policy_hash)
    return {
        cluster: replace(
            each,
            resource_snapshot=resources[each.resource_hash],
            policy_snapshot=policy if policy and each.policy_hash == policy_hash else each.policy_snapshot,
        )
        for cluster, each in sets.items()
    }


def _policy_apart(placement: str, sets: t.Collection[ApplySet], policy_hash: str) -> str:
    """The one name of today's policy: the latest that it has, if that is after all others, or a new one where another
    has one of its names; empty where each may keep its own."""
    today = {each.policy_snapshot for each in sets if each.policy_hash == policy_hash}
    others = {each.policy_snapshot for each in sets if each.policy_hash != policy_hash}
    latest = max(today, key=snapshot_index, default="")
    after = next_index(map(snapshot_index, others))
    if today and snapshot_index(latest) >= after:
        return latest
    return policy_snapshot_name(placement, after) if today & others else ""


def _with_own_names(placement: str, each: ApplySet) -> ApplySet:
    """The ApplySet with names of snapshots that the placement could have given."""
    return replace(
        each,
        policy_snapshot=_own_name(each.policy_snapshot, partial(policy_snapshot_name, placement)),
        resource_snapshot=_own_name(each.resource_snapshot, partial(resource_snapshot_name, placement)),
    )


def _own_name(name: str, made: t.Callable[[int], str]) -> str:
    """The name if ``made`` gives it for an index up to LAST, else the first that it gives."""
    index = snapshot_index(name)
    return name if 0 <= index <= LAST and name == made(index) else made(0)


def _apart(pairs: t.Collection[tuple[str, str]], made: t.Callable[[int], str]) -> dict[str, str]:
    """A name for each hash: the latest that it has, or the next free one where that means something else already."""
    latest = {digest: index for index, digest in sorted((snapshot_index(name), digest) for name, digest in pairs)}
    taken, names = set(latest.values()), dict[str, str]()
    for digest, index in sorted(latest.items(), key=lambda item: (item[1], item[0])):
        free = index if made(index) not in names.values() else next(n for n in count(index + 1) if n not in taken)
        taken.add(free)
        names[digest] = made(free)
    return names
