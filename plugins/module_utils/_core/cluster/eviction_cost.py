# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What disrupting a node costs (Karpenter, ``pkg/utils/disruption``): costs of pods (``pod-deletion-cost``, priority)
and nodes, emptiness, what is left of a lifetime (``expireAfter``), and the price divided by the cost, by which nodes
are tried first."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass
from datetime import datetime

from ..values.duration import SECOND
from ..values.go_float import parse_float
from ..values.int_or_percent import INT64

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
LOWEST, PLAIN, HIGHEST = -10.0, 1.0, 10.0
DELETION_COST_UNIT, PRIORITY_UNIT = 2.0**27, 2.0**25


@dataclass(frozen=True, kw_only=True)
class PodCost:
    """What the cost of a pod depends on: the text of its annotation and its priority (None: it has none), whether a
    DaemonSet owns it."""

    deletion_cost: str | None = None
    priority: int | None = None
    daemon_set: bool = False


def eviction_cost(pod: PodCost) -> float:
    """What evicting a pod costs, from -10 to 10: 1, more or less by its annotation
    ``controller.kubernetes.io/pod-deletion-cost`` and its priority. An annotation that is no number is ignored; NaN
    stays NaN."""
    cost = PLAIN
    given = None if pod.deletion_cost is None else parse_float(pod.deletion_cost)
    if given is not None:
        cost += given / DELETION_COST_UNIT
    if pod.priority is not None:
        cost += max(INT64.start, min(INT64.stop, pod.priority)) / PRIORITY_UNIT
    return cost if math.isnan(cost) else max(LOWEST, min(HIGHEST, cost))


def node_cost(pods: t.Iterable[PodCost]) -> float:
    """What disrupting a node costs: 1 and the positive costs of these pods, but for those of DaemonSets."""
    total = 1.0
    for pod in pods:
        cost = 0.0 if pod.daemon_set else eviction_cost(pod)
        total += cost if cost > 0 else 0.0
    return total


def is_cost_of_empty_node(cost: float) -> bool:
    """Whether a node of that cost (as of ``node_cost``) counts as empty: it is 1 at most."""
    return cost <= 1


def savings_ratio(price: float, cost: float) -> float:
    """The price of a node, an hour, divided by what disrupting it costs (1 or more, as of ``node_cost``)."""
    return price / cost


def lifetime_remaining(created: datetime, now: datetime, expire_after: int | None) -> float:
    """The part of a node's life that is left, 0 to 1, for a lifetime (``expire_after``) in nanoseconds, 0 or more; 1
    for None, which is ``Never``. At the very beginning of a lifetime of 0 it is NaN, as upstream."""
    if expire_after is None:
        return 1.0
    lifetime = expire_after / SECOND
    left = lifetime - (now - created).total_seconds()
    if lifetime == 0:
        return math.nan if left == 0 else float(left > 0)
    return max(0.0, min(1.0, left / lifetime))
