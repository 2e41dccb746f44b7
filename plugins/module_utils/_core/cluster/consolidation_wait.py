# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How long a node waits before it may be consolidated, since when, and whether that is over (``never``,
``not-initialized``, ``waiting``, ``eligible``; Karpenter, ``consolidateAfter``, ``lastPodEventTime``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..objects.karpenter.node_pool import NodePool
from ..values.duration import as_timedelta, parse_or_never
from ..values.instants import later, write_time
from .state_node import StateNode


@dataclass(frozen=True)
class Eligibility:
    """``holds``: the wait is over. ``code`` is never, not-initialized, waiting or eligible. ``since`` is where the
    waiting time began, ``at`` when it ends; None where there is no such instant."""

    holds: bool
    code: str
    text: str
    since: datetime | None = None
    at: datetime | None = None

    def as_dict(self) -> dict[str, t.Any]:
        """``holds``, ``code``, ``text``, ``since`` and ``at``; instants are texts, or None."""
        times = {"since": self.since, "at": self.at}
        return {"holds": self.holds, "code": self.code, "text": self.text} | {
            name: write_time(at) if at else None for name, at in times.items()
        }


def consolidation_eligibility(pool: NodePool, node: StateNode, now: datetime) -> Eligibility:
    """Whether ``consolidateAfter`` has passed at an aware instant, its very end included, and since when it runs. With
    0s it has passed on any initialized node. ValueError if that is no duration."""
    wait = consolidate_after(pool)
    if wait is None:
        return Eligibility(False, "never", f"consolidateAfter of pool {pool.name} is Never")
    since = waiting_since(node)
    if since is None:
        return Eligibility(False, "not-initialized", f"node {node.name} isn't initialized")
    at = later(since, wait)
    written = pool.disruption.consolidate_after
    told = f"the last pod change was at {write_time(since)}, and consolidateAfter is {written}"
    if at is None:
        return Eligibility(False, "waiting", f"not eligible in this calendar: {told}", since)
    if not wait or now >= at:
        return Eligibility(True, "eligible", told, since, at)
    left = int(-(-(at - now) // timedelta(seconds=1)))
    return Eligibility(False, "waiting", f"eligible in {left} s: {told}", since, at)


def waiting_since(node: StateNode) -> datetime | None:
    """Since when a node waits to be consolidated: its last pod event, else its initialization. None where neither is
    told, and for a node that has no NodeClaim whose condition ``Initialized`` is True."""
    if node.claim is None:
        return None
    condition = node.claim.condition("Initialized")
    if condition is None or condition.status != "True":
        return None
    return node.claim.status.last_pod_event_time or condition.last_transition_time


def consolidate_after(pool: NodePool) -> timedelta | None:
    """The pool's ``consolidateAfter``; None if it is ``Never``. ValueError for a text that is no duration."""
    nanoseconds = parse_or_never(pool.disruption.consolidate_after)
    return None if nanoseconds is None else as_timedelta(nanoseconds)
