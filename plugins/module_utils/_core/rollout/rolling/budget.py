# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Numbers of a rolling update (KubeFleet ``RollingUpdateConfig``): ``maxUnavailable`` and ``maxSurge`` as numbers
(``not-a-count``), how many clusters are to hold it (``number-of-clusters-missing``), the waiting period
``unavailablePeriodSeconds``, and how a decision counted."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import timedelta

from ...errors import FleetError, Problem
from ...objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...objects.placements.policy import PICK_FIXED, PICK_N, PlacementPolicy
from ...objects.placements.rollout_strategy import RollingUpdate
from ...schema.prop import MAX_INT32
from ...values.int_or_percent import scaled

ROLLING_UPDATE = "spec.strategy.rollingUpdate"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a rolling update as numbers of clusters; ``target`` is how many are to hold the placement."""

    target: int
    max_unavailable: int
    max_surge: int

    @property
    def floor(self) -> int:
        """How many clusters stay ready, at least; may be negative."""
        return self.target - self.max_unavailable


@dataclass(frozen=True, kw_only=True)
class Calculation:
    """How the numbers of one decision came about. ``ready`` of the bindings that are Bound or Unscheduled are ready,
    ``can_be_ready`` have neither failed nor reported a difference, and ``can_be_unavailable`` of the ready ones are on
    their way out. Candidates want a change; updates that take nothing away count as failed ones, not among
    ``update_candidates``. The limits and ``max_to_remove``, ``max_to_add`` (either may be negative) are None where
    nothing wants a change. ``min_wait`` is the shortest time after which time alone can change something, at most the
    waiting period, which it also is if only an event can; zero when all are ready."""

    target: int
    ready: int
    can_be_ready: int
    can_be_unavailable: int
    bind_candidates: int
    remove_candidates: int
    update_candidates: int
    failed_update_candidates: int
    min_wait: timedelta
    max_unavailable: int | None = None
    max_surge: int | None = None
    max_to_remove: int | None = None
    max_to_add: int | None = None

    def as_dict(self) -> dict[str, t.Any]:
        """The numbers that are not None, under the names of the fields, and ``min_wait_seconds``, cut to whole ones."""
        row = {key: value for key, value in vars(self).items() if value is not None and key != "min_wait"}
        return row | {"min_wait_seconds": int(self.min_wait.total_seconds())}


def limits(placement: ClusterResourcePlacement, picked: int, *, upstream: bool) -> Limits:
    """The limits (maxUnavailable, maxSurge) as numbers for a placement of which ``picked`` bindings are Scheduled or
    Bound. Percentages round up; a negative number counts as 0, but for ``upstream``. FleetError ``not-a-count`` for
    what is neither, which upstream takes for 0, and as of ``target_count``."""
    rolling = rolling_update(placement)
    target = target_count(placement, picked)
    problems: list[Problem] = []
    numbers = []
    for name, value in (("maxUnavailable", rolling.max_unavailable), ("maxSurge", rolling.max_surge)):
        try:
            number = scaled(value, target, round_up=True)
            numbers.append(number if upstream else max(0, number))
        except ValueError as error:
            numbers.append(0)
            problems.append(Problem("not-a-count", str(error), f"{_where(placement)} {ROLLING_UPDATE}.{name}"))
    if problems and not upstream:
        raise FleetError.of(problems)
    return Limits(target=target, max_unavailable=numbers[0], max_surge=numbers[1])


def target_count(placement: ClusterResourcePlacement, picked: int) -> int:
    """How many clusters are to hold the placement in the end: as many as PickFixed has names, found or not, doubles
    too; what PickN asks for; else all that were ``picked``. FleetError ``number-of-clusters-missing`` for PickN without
    a number."""
    policy = placement.spec.policy or PlacementPolicy()
    if policy.placement_type == PICK_FIXED:
        return len(policy.cluster_names)
    if policy.placement_type != PICK_N:
        return picked
    if policy.number_of_clusters is None:
        where = f"{_where(placement)} spec.policy.numberOfClusters"
        raise FleetError("number-of-clusters-missing", "PickN has no numberOfClusters; none is guessed", where)
    return policy.number_of_clusters


def rolling_update(placement: ClusterResourcePlacement) -> RollingUpdate:
    """The placement's ``spec.strategy.rollingUpdate``, or upstream's defaults."""
    return placement.spec.strategy.rolling_update or RollingUpdate()


def unavailable_period(placement: ClusterResourcePlacement) -> timedelta:
    """The waiting period ``unavailablePeriodSeconds`` of the placement, from 0 to 2^31 - 1 seconds."""
    seconds = rolling_update(placement).unavailable_period_seconds
    return timedelta(seconds=min(max(seconds, 0), MAX_INT32))


def _where(placement: ClusterResourcePlacement) -> str:
    """Kind and key of the placement, as problems have them."""
    return f"{placement.kind}/{placement.key}"
