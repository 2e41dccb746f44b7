# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Filter ``NamespaceAffinity`` (KubeFleet scheduler): a ResourcePlacement lands only where its namespace exists
(``namespace-missing``) or may exist, and not before members have told theirs (``namespaces-unknown``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..objects.clusters.member_cluster import MemberCluster
from ..schema.meta import find_condition
from .index import FleetIndex
from .reasons import ClusterBlocker

NAME = "NamespaceAffinity"
# A member reports no more than this many namespaces, so a longer list says nothing of the missing ones.
TRACKED_NAMESPACES = 200


@dataclass(frozen=True)
class NamespaceAffinity:
    """The filter over a fleet. ``namespace`` is empty for a cluster-scoped placement, which may go anywhere."""

    index: FleetIndex
    namespace: str
    upstream: bool
    name: t.ClassVar[str] = NAME

    @property
    def passing(self) -> int:
        """The clusters where the placement can be, as a bit set by position."""
        if not self.namespace:
            return self.index.everyone
        return self.index.where_cached((NAME, self.namespace, self.upstream), self._holds)

    def refusal(self, position: int) -> ClusterBlocker | None:
        """Why the placement cannot be on the cluster at a position; None if it can."""
        if not self.namespace:
            return None
        return namespace_refusal(self.index.clusters[position], self.namespace, upstream=self.upstream)

    def _holds(self, cluster: MemberCluster) -> bool:
        """Whether the placement can be on the cluster."""
        return namespace_refusal(cluster, self.namespace, upstream=self.upstream) is None

    def blockers(self, position: int) -> t.Iterator[ClusterBlocker]:
        """The refusal of the cluster at a position, if there is one."""
        refusal = self.refusal(position)
        if refusal:
            yield refusal


def namespace_refusal(cluster: MemberCluster, namespace: str, *, upstream: bool) -> ClusterBlocker | None:
    """Why a namespaced placement cannot be on the cluster: ``namespace-missing``, or ``namespaces-unknown`` where it
    collects namespaces and has told none yet; None if it can be. Members that do not collect them (no condition
    ``NamespaceCollectionSucceeded``) pass. Where as many are told as KubeFleet reports at most, one that is not among
    them passes; with ``upstream`` it is missing."""
    if find_condition(cluster.status.conditions, "NamespaceCollectionSucceeded") is None:
        return None
    known = cluster.status.namespaces
    if known is None:
        return ClusterBlocker(NAME, "namespaces-unknown", {"namespace": namespace})
    if namespace in known or (not upstream and len(known) >= TRACKED_NAMESPACES):
        return None
    return ClusterBlocker(NAME, "namespace-missing", {"namespace": namespace})
