# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The mark of a cluster whose placements go elsewhere: the taint ``gitops.fleet/evacuated`` of its MemberCluster,
against which no toleration helps; set, and taken off when it is readmitted.

Upstream knows no taint that makes holders leave (its only effect is NoSchedule, and holders stay); to KubeFleet's own
scheduler the mark is a taint as any other.
"""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...schema.codec import decode
from .member_cluster import MemberCluster, MemberClusterSpec, Taint

# As the key of the taint; on a binding it says that its cluster lost the placement for that.
EVACUATED = "gitops.fleet/evacuated"
MARK = Taint(key=EVACUATED, effect="NoSchedule")


def is_evacuated(cluster: MemberCluster) -> bool:
    """Whether a taint of the MemberCluster has the key of the mark of an evacuation, of whatever value and effect:
    placements are to leave it, and none may come."""
    return any(each.key == EVACUATED for each in cluster.taints)


def with_mark(cluster: MemberCluster, evacuated: bool) -> MemberCluster:
    """The MemberCluster with the mark of an evacuation behind its other taints, or, unless it is to be ``evacuated``,
    without any taint of that key; the same object if that is so already."""
    if is_evacuated(cluster) == evacuated:
        return cluster
    kept = tuple(each for each in cluster.taints if each.key != EVACUATED)
    spec = cluster.spec or decode(MemberClusterSpec, {})
    return replace(cluster, spec=replace(spec, taints=(*kept, MARK) if evacuated else kept))


def with_evacuation_marks(
    clusters: t.Iterable[MemberCluster], evacuated: t.Container[str], readmitted: t.Container[str]
) -> tuple[MemberCluster, ...]:
    """All clusters in their order, those named in ``evacuated`` with the mark, those named in ``readmitted`` alone
    without it, the others as they are."""
    return tuple(
        with_mark(each, each.name in evacuated) if each.name in evacuated or each.name in readmitted else each
        for each in clusters
    )
