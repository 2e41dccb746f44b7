# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Calendars of NodePools from files (``no-node-pool``): what their budgets permit, with recorded freezes, one for each
number of nodes that clusters have of the pool."""

from __future__ import annotations

import typing as t
from collections import Counter
from datetime import datetime

from ..._core.cluster.facts.snapshot import FactsSnapshot
from ..._core.errors import FleetError, Problem
from ..._core.objects.karpenter.node_pool import KIND
from ..._core.objects.updates.update_run import NODE_IMAGE_ONLY
from ..._core.overview.calendar import PoolCalendar, pool_calendar, with_freezes
from ..._core.updates.timing.maintenance import NamedFreeze
from ..._core.values.listed import listed
from ..._store.manifests import Manifest, read_manifests
from ..._store.records import Records
from ..members.members import Member
from ..nodes.sources import KIND as ROTATION
from ..updates.constraints import StartConstraints


def pool_calendars(
    records: Records,
    src: t.Sequence[str],
    beside: t.Sequence[str],
    members: t.Mapping[str, Member],
    facts: FactsSnapshot | None,
    now: datetime,
) -> tuple[tuple[PoolCalendar, ...], tuple[Problem, ...]]:
    """A calendar for each NodePool of the files and each number of nodes that clusters have of it, the smallest first,
    by the nodes in ``facts`` or else by the members' records; one without a number where no cluster has the pool. And
    what is to be told: that ``src`` has no NodePool, and what is wrong with recorded freezes, which are all left out
    then; ``beside`` may have NodePools too. FleetError with all that is wrong with the files."""
    paths = dict.fromkeys((*src, *beside))
    pools = _pools(read_manifests(paths) if paths else ())
    sizes = _sizes(members, facts) if pools else {}
    start = now.replace(minute=0, second=0, microsecond=0)
    found = []
    for each in pools:
        name = str(each.document["metadata"]["name"])
        known = sorted(sizes.get(name, {}).items())
        found += [pool_calendar(each.document, each.where, start, nodes, clusters) for nodes, clusters in known]
        if not known:
            found.append(pool_calendar(each.document, each.where, start, None))
    freezes, problems = _freezes(records, now) if found else ({}, ())
    return tuple(with_freezes(each, freezes) for each in found), (*_without(src), *problems)


def _pools(manifests: t.Iterable[Manifest]) -> list[Manifest]:
    """Those of kind NodePool."""
    return [each for each in manifests if each.document.get("kind") == KIND]


def _without(src: t.Sequence[str]) -> t.Iterator[Problem]:
    """A problem ``no-node-pool`` if files were given for calendars and hold no NodePool; else nothing. Reads the files:
    FleetError as of ``read_manifests``."""
    given = read_manifests(src) if src else ()
    if not src or _pools(given):
        return
    rotations = any(each.document.get("kind") == ROTATION for each in given)
    message = f"no NodePool is in {'it' if len(src) == 1 else 'them'}, so that there is no calendar"
    beside = "budgets of a NodeRotation are shown by gitops.fleet.budgets with the variable rotations"
    yield Problem("no-node-pool", message, listed(src, 3), beside if rotations else "")


def _freezes(records: Records, now: datetime) -> tuple[t.Mapping[str, t.Sequence[NamedFreeze]], tuple[Problem, ...]]:
    """The freezes of each member; none at all, and what is wrong, where records are damaged or contradict each
    other."""
    try:
        times = StartConstraints(records, NODE_IMAGE_ONLY, "").times(records.list("FleetMember"), now)
    except FleetError as error:
        return {}, tuple(error.problems)
    return {name: each.freezes for name, each in times.items()}, ()


def _sizes(members: t.Mapping[str, Member], facts: FactsSnapshot | None) -> dict[str, dict[int, list[str]]]:
    """The clusters in order of their names, by pool and by its number of nodes: as ``facts`` have nodes, or, where they
    have none at all, as members' records count them. Nodes without a pool do not count."""
    found: dict[str, dict[int, list[str]]] = {}
    if facts is not None and facts.nodes:
        counts = {name: Counter(each.pool for each in nodes if each.pool) for name, nodes in facts.nodes.items()}
    else:
        counts = {
            name: Counter({pool.name: pool.count for pool in each.fleet.status.node_pools})
            for name, each in members.items()
        }
    for cluster, pools in sorted(counts.items()):
        for pool, nodes in pools.items():
            found.setdefault(pool, {}).setdefault(nodes, []).append(cluster)
    return found
