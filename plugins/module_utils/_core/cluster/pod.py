# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A pod as decisions about nodes see it, and what it means for its node (Karpenter, ``pkg/utils/pod``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..objects.clusters.member_cluster import Taint
from ..objects.clusters.tolerations import covers
from ..objects.placements.policy import Toleration
from ..schema.meta import EMPTY
from ..values.duration import as_timedelta, parse_duration
from ..values.node_selector import NodeSelector
from .eviction_cost import DELETION_COST, PodCost
from .pod_manifest import PodAffinityTerm, PodSpread

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DISRUPTED = Taint(key="karpenter.sh/disrupted", effect="NoSchedule")
DAEMON_SET, STATEFUL_SET, MIRROR = ("apps/v1", "DaemonSet"), ("apps/v1", "StatefulSet"), ("v1", "Node")
ENDED = ("Succeeded", "Failed")
CRITICAL = ("system-cluster-critical", "system-node-critical")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pod:
    """``requests`` are in 10^-9 of each resource's unit and include the pod itself as 1 of ``pods``.

    ``owners`` are pairs of apiVersion and kind. ``ready`` is the status of its condition, empty where it is missing.
    ``bound_volumes``: it mounts claims, whose disks may be tied to a zone. ``unjudged`` names what only the scheduler
    can place. ``deleting_at`` is its deletionTimestamp, the instant at which deletion is to end.
    """

    name: str
    namespace: str = "default"
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
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[PodSpread, ...] = ()
    affinity: tuple[PodAffinityTerm, ...] = ()
    anti_affinity: tuple[PodAffinityTerm, ...] = ()
    host_ports: tuple[tuple[str, int], ...] = ()
    bound_volumes: bool = False
    unjudged: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    @property
    def active(self) -> bool:
        return self.deleting_at is None and self.phase not in ENDED

    @property
    def daemon(self) -> bool:
        return DAEMON_SET in self.owners

    @property
    def mirror(self) -> bool:
        """The API's picture of a static pod, which lives and ends with its node."""
        return MIRROR in self.owners

    @property
    def cost(self) -> PodCost:
        return PodCost(
            deletion_cost=self.annotations.get(DELETION_COST), priority=self.priority, daemon_set=self.daemon
        )


@dataclass(frozen=True)
class Protection:
    """What do-not-disrupt says of a pod: whether it holds, until when (None: without end), and what is unreadable."""

    holds: bool
    until: datetime | None = None
    problem: str = ""


UNPROTECTED = Protection(False)


def protection(pod: Pod, now: datetime) -> Protection:
    """The annotation ``true``, or a duration from the pod's start; other texts protect nothing.

    A pod that has not started is protected by any duration.
    """
    written = pod.annotations.get(DO_NOT_DISRUPT)
    if written is None:
        return UNPROTECTED
    if written == "true":
        return Protection(True)
    try:
        length = parse_duration(written)
    except ValueError:
        length = 0
    if length <= 0:
        return Protection(
            False, problem=f"{DO_NOT_DISRUPT}: {written!r:.40} is neither 'true' nor a positive duration such as '1h'"
        )
    if pod.started_at is None:
        return Protection(True)
    until = pod.started_at + min(as_timedelta(length), timedelta(days=36500))
    return Protection(now < until, until)


def protected(pod: Pod, now: datetime) -> bool:
    """Whether its annotation forbids to disrupt it at ``now``: for ever, or until a time that it names."""
    return DO_NOT_DISRUPT in pod.annotations and protection(pod, now).holds


def disruptable(pod: Pod, now: datetime) -> bool:
    """Whether a node may be disrupted with it on it: it is not active, or nothing protects it."""
    return not (pod.active and protected(pod, now))


def drainable(pod: Pod) -> bool:
    """Whether a drain has anything to do with it: mirror pods and those that tolerate the taint stay."""
    return not (pod.mirror or tolerates(pod, DISRUPTED))


def evictable(pod: Pod, now: datetime) -> bool:
    """Only such pods are held against PodDisruptionBudgets."""
    return pod.active and drainable(pod) and not protected(pod, now)


def reschedulable(pod: Pod) -> bool:
    """Whether it will need room elsewhere: pods of StatefulSets also while they end, others while they are active."""
    needed = pod.active or (pod.phase not in ENDED and STATEFUL_SET in pod.owners)
    return needed and not (pod.daemon or pod.mirror)


def tolerates(pod: Pod, taint: Taint) -> bool:
    """Whether any of its tolerations covers the taint."""
    return any(covers(each, taint) for each in pod.tolerations)


@dataclass(frozen=True)
class Standing:
    """What becomes of a pod when its node goes: a code and a sentence."""

    code: str
    text: str


def standing(pod: Pod, now: datetime) -> Standing:
    """What becomes of it when its node is drained at ``now``, as a code with a sentence."""
    if pod.ended:
        return Standing("ended", f"pod {pod.key} has ended and holds nothing up")
    if pod.mirror:
        return Standing("static", f"pod {pod.key} is a static pod: it ends with its node and moves nowhere")
    if pod.daemon:
        return Standing("daemon", f"pod {pod.key} belongs to a DaemonSet and moves nowhere")
    if tolerates(pod, DISRUPTED):
        return Standing("tolerates", f"pod {pod.key} tolerates the taint {DISRUPTED.key} and is not drained")
    if pod.deleting_at is not None:
        return Standing("ending", f"pod {pod.key} is being deleted already")
    if protected(pod, now):
        return Standing("protected", f"pod {pod.key} is protected by {DO_NOT_DISRUPT}")
    return Standing("moves", f"pod {pod.key} moves elsewhere")
