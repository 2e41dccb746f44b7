# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What each binding of a rolling update is (ready, failed, leaving, picked) and wants (bind, update, remove), and which
may hold something on their cluster: KubeFleet's classes of bindings."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...objects.placements.binding import BOUND, SCHEDULED, UNSCHEDULED
from ...schema.meta import Condition
from ..content import RolloutBinding, WantedContent
from ..readiness import (
    BindingReadiness,
    failed_condition,
    known_unavailable,
    readiness,
    reports_difference,
)

BIND, UPDATE, REMOVE = "bind", "update", "remove"


@dataclass(frozen=True)
class ReadinessTerms:
    """How bindings are judged. ``period`` is the waiting period; ``out_of_reach`` are the clusters on which nothing is
    begun now, each with the reason."""

    period: timedelta
    now: datetime
    applied_only: bool
    upstream: bool
    out_of_reach: t.Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RolloutCandidate:
    """One binding (``held``) of a rolling update. ``wants`` is bind, update or remove, empty if it wants nothing.
    ``free``: the change takes nothing away that is available, so that no budget holds it back; for upstream only an
    update of a failed cluster does that. ``failure`` is the condition by which it has failed, if it has;
    ``can_be_ready``: it has neither failed nor reported a difference."""

    held: RolloutBinding
    readiness: BindingReadiness
    failure: Condition | None
    can_be_ready: bool
    wants: str
    free: bool = False

    @property
    def ready(self) -> bool:
        """Whether its cluster is ready now, as of ``readiness``; a Scheduled one never is."""
        return self.readiness.ready

    @property
    def leaving(self) -> bool:
        """Whether it is being deleted and may still hold something."""
        return self.held.deleting and self.held.state in (BOUND, UNSCHEDULED)

    @property
    def picked(self) -> bool:
        """Whether it is Scheduled or Bound, being deleted or not."""
        return self.held.state in (SCHEDULED, BOUND)


def rollout_candidate(held: RolloutBinding, wanted: WantedContent, look: ReadinessTerms) -> RolloutCandidate:
    """What the binding is and wants under KubeFleet's rules: a Scheduled one to be bound, a Bound one to be updated if
    its content is another, an Unscheduled one to be removed; any other, and one that is being deleted, nothing, though
    upstream binds a Scheduled one all the same."""
    if held.state not in (BOUND, UNSCHEDULED):
        wants = BIND if held.state == SCHEDULED and (look.upstream or not held.deleting) else ""
        return RolloutCandidate(
            held=held, readiness=BindingReadiness(False), failure=None, can_be_ready=False, wants=wants
        )
    binding = held.binding
    failure = failed_condition(binding, upstream=look.upstream)
    wants = _wants(held, wanted)
    return RolloutCandidate(
        held=held,
        readiness=readiness(binding, look.period, look.now, applied_only=look.applied_only, upstream=look.upstream),
        failure=failure,
        can_be_ready=failure is None and not reports_difference(binding),
        wants=wants,
        free=failure is not None and wants == UPDATE if look.upstream else _cannot_get_worse(held, failure),
    )


def may_hold(all_judged: t.Iterable[RolloutCandidate]) -> list[RolloutCandidate]:
    """The bindings that may hold something on their cluster: Bound and Unscheduled ones, in their order."""
    return [each for each in all_judged if each.held.state in (BOUND, UNSCHEDULED)]


def _cannot_get_worse(held: RolloutBinding, failure: Condition | None) -> bool:
    """Whether nothing can get worse: it failed, is not available, or nothing was ever put there."""
    return failure is not None or known_unavailable(held.binding) or not held.content.resource_snapshot


def _wants(held: RolloutBinding, wanted: WantedContent) -> str:
    """What a Bound or Unscheduled binding wants: update, remove, or empty for nothing, as for one that is being
    deleted."""
    if held.deleting:
        return ""
    if held.state == UNSCHEDULED:
        return REMOVE
    return UPDATE if held.content != wanted.content_on(held.cluster) else ""
