# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Readiness of a binding's cluster by the binding's conditions (KubeFleet): whether it is ready, or from when on
(``unavailablePeriodSeconds``), has failed, reports a difference, or is known not to be available."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..objects.placements.binding import ClusterResourceBinding
from ..schema.meta import Condition
from ..windows.clocks import shifted
from .conditions import (
    FALSE,
    TRUE,
    current,
    status_is,
)

APPLIED, AVAILABLE, DIFF_REPORTED, ROLLOUT_STARTED = "Applied", "Available", "DiffReported", "RolloutStarted"
CAN_FAIL = ("Overridden", "WorkSynchronized", APPLIED, AVAILABLE)

# Upstream compares with the reasons of placements, but writes others on bindings.
PLACEMENT_PENDING = frozenset(
    {"OverriddenPending", "WorkNotSynchronizedYet", "ApplyPending", "ResourceNotAvailableYet"}
)
PENDING = PLACEMENT_PENDING | {"ApplyInProgress", "NotAllWorkAreAvailable"}

UPSTREAM_NOT_TRACKABLE = frozenset({"NotAllWorkAreAvailabilityTrackable", "WorkNotTrackable"})
NOT_TRACKABLE = UPSTREAM_NOT_TRACKABLE | {"SomeManifestsAreNotAvailabilityTrackable"}


@dataclass(frozen=True)
class BindingReadiness:
    """``at`` is when time alone will make a cluster ready that is not; None if only an event can, or it is ready."""

    ready: bool
    at: datetime | None = None


def readiness(
    binding: ClusterResourceBinding, period: timedelta, now: datetime, *, applied_only: bool, upstream: bool
) -> BindingReadiness:
    """Whether the cluster of a binding is ready: it has reported its difference, or its objects are available. Where
    the availability of an object cannot be known, ``period`` must have passed since that was found, which counts as
    long ago where the condition has no time. With ``applied_only``, a rule of ours, it is also enough that all is
    applied and ``period`` has passed since. Upstream wants the period to be exceeded (``at`` is when it is reached),
    and does not wait where some objects can be judged."""
    generation, conditions = binding.metadata.generation, binding.status.conditions
    if status_is(conditions, DIFF_REPORTED, generation, TRUE):
        return BindingReadiness(True)
    since: list[Condition] = []
    available = current(conditions, AVAILABLE, generation)
    if available and available.status == TRUE:
        if available.reason not in (UPSTREAM_NOT_TRACKABLE if upstream else NOT_TRACKABLE):
            return BindingReadiness(True)
        since.append(available)
    applied = current(conditions, APPLIED, generation)
    if applied_only and applied and applied.status == TRUE:
        since.append(applied)
    ways = [_after(each, period, now, upstream) for each in since]
    if any(each.ready for each in ways):
        return BindingReadiness(True)
    return BindingReadiness(False, min((each.at for each in ways if each.at), default=None))


def failed_condition(binding: ClusterResourceBinding, *, upstream: bool) -> Condition | None:
    """The first condition (of Overridden, WorkSynchronized, Applied, Available) by which the binding's present
    generation has failed on its cluster; None without one. For ``upstream`` clusters in the middle of it have failed
    too."""
    pending = PLACEMENT_PENDING if upstream else PENDING
    for kind in CAN_FAIL:
        found = current(binding.status.conditions, kind, binding.metadata.generation)
        if found and found.status == FALSE and found.reason not in pending:
            return found
    return None


def reports_difference(binding: ClusterResourceBinding) -> bool:
    """Whether the binding has a DiffReported condition of its present generation, of whatever status."""
    return current(binding.status.conditions, DIFF_REPORTED, binding.metadata.generation) is not None


def known_unavailable(binding: ClusterResourceBinding) -> bool:
    """Whether Available is False for the present generation of a binding."""
    return status_is(binding.status.conditions, AVAILABLE, binding.metadata.generation, FALSE)


def _after(since: Condition, period: timedelta, now: datetime, upstream: bool) -> BindingReadiness:
    """Readiness once ``period`` has passed since the condition's transition; ready at once if it has no time. For
    upstream ``period`` must be exceeded."""
    begun = since.last_transition_time
    if begun is None:
        return BindingReadiness(True)
    elapsed = now - begun
    done = elapsed > period if upstream else elapsed >= period
    return BindingReadiness(True) if done else BindingReadiness(False, shifted(begun, period))
