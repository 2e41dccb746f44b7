# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A pod as decisions about nodes see it: whether it needs room elsewhere (reschedulable), waits for a node that is to
be made (provisionable), has ended, is a DaemonSet's or a mirror pod, tolerates a taint (Karpenter,
``pkg/utils/pod``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..objects.clusters.member_cluster import Taint
from ..objects.clusters.tolerations import covers
from ..objects.placements.policy import Toleration
from ..schema.meta import EMPTY
from ..values.node_selector import NodeSelector, NodeSelectorTerm
from .eviction_cost import DELETION_COST, PodCost
from .pod_manifest import PodAffinityTerm, PodSpread

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DISRUPTED = Taint(key="karpenter.sh/disrupted", effect="NoSchedule")
DAEMON_SET, STATEFUL_SET, MIRROR = ("apps/v1", "DaemonSet"), ("apps/v1", "StatefulSet"), ("v1", "Node")
ENDED = ("Succeeded", "Failed")
# Protocol, port, and the address where it is not all of them.
HostPort = t.Union[tuple[str, int], tuple[str, int, str]]  # noqa: UP007  # pylint takes the other form for an error
CRITICAL = ("system-cluster-critical", "system-node-critical")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pod:
    """``requests`` are in 10^-9 of each resource's unit and include the pod itself as 1 of ``pods``.

    ``owners`` are pairs of apiVersion and kind. ``ready`` is the status of its condition, empty where it is missing.
    ``preferred_terms``, ``preferred_affinity`` and ``preferred_anti_affinity`` are pairs of a weight and a wish, and
    ``spread`` has wishes too. ``unschedulable``: the scheduler has found no node for it; ``nominated``: the node on
    which others make room for it. ``bound_volumes``: it mounts claims, whose disks may be tied to a zone. ``unjudged``
    names what only the scheduler can place. ``deleting_at`` is the instant at which its deletion is to end.
    """

    name: str
    namespace: str = "default"
    uid: str = ""
    created_at: datetime | None = None
    node: str = ""
    labels: t.Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    annotations: t.Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    owners: tuple[tuple[str, str], ...] = ()
    phase: str = "Running"
    ready: str = "True"
    started_at: datetime | None = None
    deleting_at: datetime | None = None
    priority: int | None = None
    priority_class: str = ""
    grace_seconds: int = 30
    requests: t.Mapping[str, int] = field(default_factory=lambda: EMPTY, hash=False)
    node_selector: t.Mapping[str, str] = field(default_factory=lambda: EMPTY, hash=False)
    node_affinity: NodeSelector | None = None
    preferred_terms: tuple[tuple[int, NodeSelectorTerm], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[PodSpread, ...] = ()
    affinity: tuple[PodAffinityTerm, ...] = ()
    anti_affinity: tuple[PodAffinityTerm, ...] = ()
    preferred_affinity: tuple[tuple[int, PodAffinityTerm], ...] = ()
    preferred_anti_affinity: tuple[tuple[int, PodAffinityTerm], ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    bound_volumes: bool = False
    unjudged: str = ""
    unschedulable: bool = False
    nominated: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def ended(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.phase in ENDED

    @property
    def active(self) -> bool:
        """Whether it has neither ended nor is being deleted."""
        return self.deleting_at is None and self.phase not in ENDED

    @property
    def daemon(self) -> bool:
        """Whether a DaemonSet owns it."""
        return DAEMON_SET in self.owners

    @property
    def mirror(self) -> bool:
        """Whether it is the API's picture of a static pod, which lives and ends with its node."""
        return MIRROR in self.owners

    @property
    def cost(self) -> PodCost:
        """What its cost depends on, for ``eviction_cost``."""
        return PodCost(
            deletion_cost=self.annotations.get(DELETION_COST), priority=self.priority, daemon_set=self.daemon
        )


def reschedulable(pod: Pod) -> bool:
    """Whether it will need room elsewhere: pods of StatefulSets also while they are deleted, even after they have
    failed, because their successors come only then; others while they are active; those of DaemonSets and mirror pods
    never."""
    needed = pod.active or (pod.deleting_at is not None and STATEFUL_SET in pod.owners)
    return needed and not (pod.daemon or pod.mirror)


def provisionable(pod: Pod) -> bool:
    """Whether it waits for a node that is to be made: the scheduler has found none, it is on none, nobody makes room
    for it, and it is neither a DaemonSet's nor a mirror pod. Whether it has ended is not asked, as upstream."""
    waits = pod.unschedulable and not pod.node and not pod.nominated
    return waits and not (pod.daemon or pod.mirror)


def tolerates(pod: Pod, taint: Taint) -> bool:
    """Whether any of its tolerations covers the taint (``covers``), one that only prefers other nodes
    (PreferNoSchedule) too."""
    return any(covers(each, taint) for each in pod.tolerations)
