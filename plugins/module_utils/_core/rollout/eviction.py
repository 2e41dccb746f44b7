# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The verdict on an eviction (KubeFleet ClusterResourcePlacementEviction) under a disruption budget
(``maxUnavailable``, ``minAvailable``): whether, why (``pick-fixed``, ``no-binding``, ``nothing-placed``, ``no-budget``,
``misconfigured-budget``, ``placement-failed``), the arithmetic, and whether it was tried already."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ..errors import FleetError
from ..objects.placements.binding import (
    BOUND,
    PREVIOUS_STATE,
    UNSCHEDULED,
    ClusterResourceBinding,
)
from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..objects.placements.disruption_budget import ClusterResourcePlacementDisruptionBudget
from ..objects.placements.disruption_rules import check_budget_for
from ..objects.placements.eviction import EXECUTED, VALID, ClusterResourcePlacementEviction
from ..objects.placements.policy import PICK_FIXED, PlacementPolicy
from ..objects.placements.rollout_strategy import ApplyStrategy
from ..schema.meta import find_condition
from ..values.int_or_percent import scaled
from ..values.listed import number_of
from .conditions import (
    FALSE,
    TRUE,
    set_condition,
    status_is,
)
from .readiness import AVAILABLE, failed_condition, reports_difference
from .rolling.budget import target_count

REASON = "ClusterResourcePlacementEviction"
Bindings = t.Sequence[ClusterResourceBinding]


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """A budget with its numbers: of ``total`` bindings ``available`` are available, and ``allowed`` more may go; under
    maxUnavailable the total has those that are missing too, but for upstream. ``limit`` is maxUnavailable, or else
    minAvailable, as a number; 0 where neither is set."""

    available: int
    total: int
    allowed: int
    limit: int


@dataclass(frozen=True, kw_only=True)
class EvictionVerdict:
    """``yes``: the eviction can be judged, or is permitted. ``why`` is a code: ``valid``, ``budget``, or a key of
    ``INVALID`` or ``OUTCOMES``; ``message`` says it to people. ``arithmetic`` is there where a budget decided."""

    yes: bool
    why: str
    message: str
    arithmetic: Arithmetic | None = None


@dataclass(frozen=True, kw_only=True)
class Evicted:
    """The eviction with its conditions, and the binding to delete, in the version that was judged; None also where that
    is being deleted already. ``valid`` and ``executed`` are this attempt's verdicts; both are None for an eviction that
    is over already, ``executed`` also for an invalid one."""

    eviction: ClusterResourcePlacementEviction
    deleted: ClusterResourceBinding | None = None
    valid: EvictionVerdict | None = None
    executed: EvictionVerdict | None = None


INVALID = {
    "placement-not-found": "there is no such placement",
    "placement-deleting": "the placement is being deleted",
    "pick-fixed": "a PickFixed placement leaves a cluster when its name is taken off the list",
    "no-binding": "the placement does not hold the cluster",
    "multiple-bindings": "more than one binding of the placement holds the cluster",
}
OUTCOMES = {
    "left-meanwhile": (True, "the placement has left the cluster since the eviction was begun"),
    "already-deleting": (True, "the cluster is losing the placement already"),
    "nothing-placed": (False, "nothing has been placed on the cluster yet"),
    "placement-failed": (True, "the placement has failed on the cluster, so that nothing available is lost"),
    "no-budget": (True, "no disruption budget guards the placement"),
    "misconfigured-budget": (
        False,
        "a budget for PickAll needs minAvailable as a number: there is no count that a percentage could be taken of",
    ),
}

ONLY_REPORTED = "differences are only reported on the cluster, so that nothing available is lost"


def judged_eviction(
    eviction: ClusterResourcePlacementEviction,
    placement: ClusterResourcePlacement | None,
    bindings: Bindings,
    budget: ClusterResourcePlacementDisruptionBudget | None,
    now: datetime,
    *,
    upstream: bool = False,
) -> Evicted:
    """The eviction once it is judged, and the binding that is to be deleted, if any; ``bindings`` are all of the
    placement. It is tried once: one that is over comes back as it is, and one that was begun has been executed where
    its binding is gone, but is invalid where its placement is gone, ends by now or has become PickFixed.

    Where the budget has to decide, FleetError ``not-a-count`` for its limit, ``number-of-clusters-missing`` for PickN
    without a number. Upstream takes what is no count for 0, has a wider idea of a failed placement, and takes one that
    was begun for invalid (``no-binding``) where its binding is gone.
    """
    if is_over(eviction):
        return Evicted(eviction=eviction)
    here = [each for each in bindings if each.spec.target_cluster == eviction.spec.cluster_name]
    valid = EvictionVerdict(yes=True, why="valid", message="the eviction can be judged")
    problem = _invalid(eviction, placement, here)
    begun = status_is(eviction.status.conditions, VALID, eviction.metadata.generation, TRUE)
    if problem == "no-binding" and begun and not upstream:
        executed = _verdict("left-meanwhile")
        row = (TRUE, f"{REASON}Executed", executed.message)
        return Evicted(eviction=_with(eviction, EXECUTED, row, now), valid=valid, executed=executed)
    if problem or placement is None:
        verdict = EvictionVerdict(yes=False, why=problem, message=INVALID[problem])
        row = (FALSE, f"{REASON}Invalid", verdict.message)
        return Evicted(eviction=_with(eviction, VALID, row, now), valid=verdict)
    marked = _with(eviction, VALID, (TRUE, f"{REASON}Valid", valid.message), now)
    executed = eviction_verdict(placement, here[0], bindings, budget, upstream=upstream)
    row = (TRUE, f"{REASON}Executed", executed.message) if executed.yes else _not_executed(executed)
    deleted = here[0] if executed.yes and here[0].metadata.deletion_timestamp is None else None
    return Evicted(eviction=_with(marked, EXECUTED, row, now), deleted=deleted, valid=valid, executed=executed)


def is_over(eviction: ClusterResourcePlacementEviction) -> bool:
    """Whether an eviction was tried already: found invalid at this generation, or with ``Executed`` of whatever status
    at any."""
    conditions = eviction.status.conditions
    invalid = status_is(conditions, VALID, eviction.metadata.generation, FALSE)
    return invalid or find_condition(conditions, EXECUTED) is not None


def eviction_verdict(
    placement: ClusterResourcePlacement,
    binding: ClusterResourceBinding,
    bindings: Bindings,
    budget: ClusterResourcePlacementDisruptionBudget | None,
    *,
    upstream: bool = False,
) -> EvictionVerdict:
    """Whether ``binding`` may go, which must be among ``bindings``. The first of these decides: ``already-deleting``
    (yes), ``nothing-placed`` (no), ``placement-failed`` (yes; also where differences are only reported), ``no-budget``
    (yes; also with one of another name than the placement's), ``misconfigured-budget`` (no), ``budget`` (by
    ``arithmetic``). FleetError as of ``judged_eviction``."""
    if binding.metadata.deletion_timestamp is not None:
        return _verdict("already-deleting")
    if not _is_placed(binding):
        return _verdict("nothing-placed")
    if failed_condition(binding, upstream=upstream):
        return _verdict("placement-failed")
    if _only_reports(binding, upstream):
        return replace(_verdict("placement-failed"), message=ONLY_REPORTED)
    if budget is None or budget.name != placement.name:
        return _verdict("no-budget")
    if any(check_budget_for(budget, placement)):
        return _verdict("misconfigured-budget")
    numbers = arithmetic(placement, bindings, budget, upstream=upstream)
    verb, missing = "is" if numbers.available == 1 else "are", numbers.total - len(bindings)
    words = f"{numbers.available:,} of {number_of(numbers.total, 'binding')} {verb} available"
    words += f" and {missing:,} {'is' if missing == 1 else 'are'} missing" if missing else ""
    words += f", so that {numbers.allowed} may go"
    return EvictionVerdict(yes=numbers.allowed > 0, why="budget", message=words, arithmetic=numbers)


def arithmetic(
    placement: ClusterResourcePlacement,
    bindings: Bindings,
    budget: ClusterResourcePlacementDisruptionBudget,
    *,
    upstream: bool = False,
) -> Arithmetic:
    """How many more bindings the budget lets go, at least 0, by maxUnavailable if it sets both limits; 0 if it sets
    none. Percentages are of the clusters asked for (of none for PickAll), and round up. Bindings of any state count.
    FleetError as of ``judged_eviction``.

    Under maxUnavailable a cluster that is asked for and has no binding is unavailable, as nothing picks another one
    before the next apply. Upstream's scheduler does at once, so that for it a missing binding does not count.
    """
    total = len(bindings)
    if not upstream and budget.spec.max_unavailable is not None:
        total = max(total, target_count(placement, total))
    available = sum(1 for each in bindings if status_is(each.status.conditions, AVAILABLE, _generation(each), TRUE))
    most, least = budget.spec.max_unavailable, budget.spec.min_available
    limit = allowed = 0
    if most is not None:
        limit = _number(placement, budget, "maxUnavailable", most, upstream)
        allowed = limit - (total - available)
    elif least is not None:
        limit = _number(placement, budget, "minAvailable", least, upstream)
        allowed = available - limit
    return Arithmetic(available=available, total=total, allowed=max(0, allowed), limit=limit)


def _number(
    placement: ClusterResourcePlacement,
    budget: ClusterResourcePlacementDisruptionBudget,
    field: str,
    value: int | str,
    upstream: bool,
) -> int:
    """A limit as a number, percentages as of ``arithmetic``; upstream takes what is no number for 0. FleetError as of
    ``judged_eviction``."""
    try:
        return scaled(value, target_count(placement, 0), round_up=True)
    except ValueError as error:
        if upstream:
            return 0
        raise FleetError("not-a-count", str(error), f"{budget.kind}/{budget.name} spec.{field}") from None


def _invalid(
    eviction: ClusterResourcePlacementEviction, placement: ClusterResourcePlacement | None, here: Bindings
) -> str:
    """The key of ``INVALID`` for what keeps the eviction from being judged; empty for nothing. ``here`` are the
    bindings on its cluster."""
    if placement is None or placement.name != eviction.spec.placement_name:
        return "placement-not-found"
    if placement.metadata.deletion_timestamp is not None:
        return "placement-deleting"
    if (placement.spec.policy or PlacementPolicy()).placement_type == PICK_FIXED:
        return "pick-fixed"
    if not here:
        return "no-binding"
    return "multiple-bindings" if len(here) > 1 else ""


def _is_placed(binding: ClusterResourceBinding) -> bool:
    """Whether the binding is Bound, or Unscheduled and was Bound before."""
    before = binding.metadata.annotations.get(PREVIOUS_STATE)
    return binding.spec.state == BOUND or (binding.spec.state == UNSCHEDULED and before == BOUND)


def _only_reports(binding: ClusterResourceBinding, upstream: bool) -> bool:
    """Whether nothing was put there, because differences are only reported: a current DiffReported under ReportDiff,
    for upstream under any strategy."""
    strategy = binding.spec.apply_strategy or ApplyStrategy()
    return reports_difference(binding) and (upstream or strategy.type == "ReportDiff")


def _verdict(why: str) -> EvictionVerdict:
    """The verdict that ``OUTCOMES`` has for this code; KeyError for another."""
    yes, message = OUTCOMES[why]
    return EvictionVerdict(yes=yes, why=why, message=message)


def _not_executed(verdict: EvictionVerdict) -> tuple[str, str, str]:
    """The condition Executed of an eviction that is refused."""
    return FALSE, f"{REASON}NotExecuted", verdict.message


def _generation(binding: ClusterResourceBinding) -> int:
    """The binding's present generation."""
    return binding.metadata.generation


def _with(
    eviction: ClusterResourcePlacementEviction, kind: str, row: tuple[str, str, str], now: datetime
) -> ClusterResourcePlacementEviction:
    """The eviction with this condition set for its present generation."""
    conditions = set_condition(eviction.status.conditions, kind, row, eviction.metadata.generation, now)
    return replace(eviction, status=replace(eviction.status, conditions=conditions))
