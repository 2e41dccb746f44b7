# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What disrupting its node means for a pod: whether ``karpenter.sh/do-not-disrupt`` (``true`` or a duration) protects
it and until when, whether a drain leaves it, or evicts it now (Karpenter, ``pkg/utils/pod``)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..values.duration import as_timedelta, parse_duration
from ..values.instants import later
from .pod import DISRUPTED, DO_NOT_DISRUPT, Pod, tolerates


@dataclass(frozen=True)
class Protection:
    """Whether ``karpenter.sh/do-not-disrupt`` protects a pod, until when, or when that ended (None: without end, not
    known before the pod has started, or it never held), and, as ``problem``, why a text protects nothing."""

    holds: bool
    until: datetime | None = None
    problem: str = ""


UNPROTECTED = Protection(False)


def protection(pod: Pod, now: datetime) -> Protection:
    """What ``karpenter.sh/do-not-disrupt`` says at an aware instant: ``true`` protects without end, a positive duration
    such as ``1h`` from the pod's start on, 36,500 days at most, and before it starts; other texts protect nothing, and
    are the ``problem``."""
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
    until = later(pod.started_at, min(as_timedelta(length), timedelta(days=36500)))
    return Protection(until is None or now < until, until)


def protected(pod: Pod, now: datetime) -> bool:
    """Whether ``karpenter.sh/do-not-disrupt`` forbids to disrupt the pod at ``now``, an aware instant."""
    return DO_NOT_DISRUPT in pod.annotations and protection(pod, now).holds


def disruptable(pod: Pod, now: datetime) -> bool:
    """Whether a node may be disrupted with the pod on it: it is not active, or not ``protected``. PodDisruptionBudgets
    are not asked."""
    return not (pod.active and protected(pod, now))


def drainable(pod: Pod) -> bool:
    """Whether a drain has anything to do with it: mirror pods and those that tolerate Karpenter's taint
    ``karpenter.sh/disrupted`` stay. Whether it has ended is not asked."""
    return not (pod.mirror or tolerates(pod, DISRUPTED))


def evictable(pod: Pod, now: datetime) -> bool:
    """Whether a drain would evict it now, so that PodDisruptionBudgets are asked: it is active, ``drainable``, and not
    protected."""
    return pod.active and drainable(pod) and not protected(pod, now)
