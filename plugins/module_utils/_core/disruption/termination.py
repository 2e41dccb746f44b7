# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How a node is drained (Karpenter, ``node/termination``): which pods are evicted, deleted or waited for in a step, in
tiers, and by force near its deadline (``terminationGracePeriod``, ``karpenter.sh/nodeclaim-termination-timestamp``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..cluster.pod import CRITICAL, Pod
from ..cluster.pod_disruption import drainable, protected
from ..objects.karpenter.node_claim import NodeClaim
from ..values.duration import as_timedelta, parse_duration
from ..values.instants import later, parse_time, write_time
from ..values.listed import number_of

DEADLINE = "karpenter.sh/nodeclaim-termination-timestamp"
EVICT, DELETE, WAIT = "evict", "delete", "wait"
# A pod that should have ended so long ago is stuck, and nobody waits for it.
STUCK = timedelta(minutes=1)


@dataclass(frozen=True)
class Removal:
    """What is to be done with a pod (``namespace/name``) now: ``evict``, ``delete`` or ``wait``. ``grace_seconds`` is
    for deletions, 1 at least; None else."""

    pod: str
    action: str
    grace_seconds: int | None = None


@dataclass(frozen=True)
class Drain:
    """``removals`` of one step; ``deadline`` is when the drain ends by force, an aware instant; None: never."""

    removals: tuple[Removal, ...]
    deadline: datetime | None

    @property
    def done(self) -> bool:
        """Whether no pod is left to wait for."""
        return not self.removals

    @property
    def text(self) -> str:
        """In a sentence: how many pods are left, until when, and which are only waited for."""
        limit = f"until {write_time(self.deadline)}" if self.deadline else "no deadline"
        held = ", ".join(each.pod for each in self.removals if each.action == WAIT)
        return f"{number_of(len(self.removals), 'pod')} left, {limit}" + (f"; waits for {held}" if held else "")


def deadline(claim: NodeClaim) -> datetime | None:
    """When the drain ends by force, an aware instant: the NodeClaim's annotation, if it can be read, else deletion plus
    the grace period; None where either of these is missing, or no calendar has it. ValueError if the period cannot be
    read."""
    written = claim.metadata.annotations.get(DEADLINE)
    if written:
        try:
            return parse_time(written)
        except ValueError:
            pass  # as if it had not been written yet
    asked = claim.metadata.deletion_timestamp
    if asked is None or not claim.spec.termination_grace_period:
        return None
    return later(asked, as_timedelta(parse_duration(claim.spec.termination_grace_period)))


def drain_step(pods: t.Iterable[Pod], until: datetime | None, now: datetime) -> Drain:
    """What is to be done with a node's pods at an aware instant, in the order of their keys; no PodDisruptionBudget is
    asked. Pods past their time are deleted, those of the first tier that has any are evicted unless they are protected
    or ending, others wait. Tiers are plain pods, plain daemons, critical pods, critical daemons. Left out are pods that
    have ended, should have been gone for more than a minute, or that a drain leaves where they are.

    A pod is past its time once less is left until ``until`` than it asks for, one that is ending if it would end later.
    """
    left = sorted((each for each in pods if _waited_for(each, now)), key=lambda one: one.key)
    first = min((_tier(each) for each in left), default=0)
    removals = []
    for pod in left:
        if until is not None and _is_past_grace(pod, until, now):
            removals.append(Removal(pod.key, DELETE, max(int((until - now).total_seconds()), 1)))
        else:
            removals.append(Removal(pod.key, _in_turn(pod, first, now)))
    return Drain(tuple(removals), until)


def _in_turn(pod: Pod, first: int, now: datetime) -> str:
    """What is done with a pod that is not past its time: it is evicted in the tier ``first`` unless it is protected,
    else waited for, as is one that is ending."""
    waits = pod.deleting_at is not None or protected(pod, now) or _tier(pod) > first
    return WAIT if waits else EVICT


def _waited_for(pod: Pod, now: datetime) -> bool:
    """Whether the drain waits for the pod: it is drainable, has not ended, and is not stuck, that is, should not have
    been gone for more than a minute."""
    stuck = pod.deleting_at is not None and now - pod.deleting_at > STUCK
    return drainable(pod) and not pod.ended and not stuck


def _tier(pod: Pod) -> int:
    """0 to 3: plain pods, plain daemons, critical pods, critical daemons."""
    return 2 * (pod.priority_class in CRITICAL) + pod.daemon


def _is_past_grace(pod: Pod, until: datetime, now: datetime) -> bool:
    """Whether less than the pod's grace period is left until the deadline, or it is ending and would do so after
    that."""
    if pod.deleting_at is not None:
        return pod.deleting_at > until
    return (until - now).total_seconds() < pod.grace_seconds
