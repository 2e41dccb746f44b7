# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a binding becomes as its cluster is written, looked at or evacuated (``Evacuated``): conditions and marks of
what it held before; whether it says what the plan wants there."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import datetime

from ..._core.objects.clusters.evacuation import EVACUATED
from ..._core.objects.placements.binding import (
    BOUND,
    HELD_BEFORE,
    LEFT_OUT,
    UNSCHEDULED,
    left_out_mark,
)
from ..._core.plan.document import PlacementPlan
from ..._core.plan.outcome import MemberOutcome
from ..._core.plan.status import binding_status
from ..._core.rollout.conditions import FALSE, set_condition
from ..._core.rollout.content import RolloutBinding
from ..._core.rollout.readiness import APPLIED, AVAILABLE, DIFF_REPORTED
from ..._core.rollout.rolling.decide import RolloutState
from ..._core.schema.meta import Condition
from ..._core.values.clock_skew import is_ahead
from ..keeping import STOPS

# What a binding of the cluster becomes: the same where it is not meant, None where it goes.
BindingChange = t.Callable[[RolloutBinding], t.Optional[RolloutBinding]]  # noqa: UP045  # pylint, see rollout.py


def with_changes(held: RolloutState, changes: t.Mapping[str, t.Sequence[BindingChange]]) -> RolloutState:
    """The bindings after all ``changes``, by cluster and in their order; later ones are not asked of a binding that
    goes."""
    rows: list[RolloutBinding] = []
    for each in held.bindings:
        found: RolloutBinding | None = each
        for change in changes.get(each.cluster, ()):
            found = change(found) if found else None
        rows += [found] if found else []
    return replace(held, bindings=tuple(rows))


def says_wanted(plan: PlacementPlan, each: RolloutBinding) -> bool:
    """Whether the binding is Bound, not being removed, and says the content that the plan wants there, be it written or
    not."""
    return each.state == BOUND and not each.deleting and each.content == plan.content.content_on(each.cluster)


def is_cut_off(outcome: MemberOutcome) -> bool:
    """Whether the end of this run (``interrupted``), or the loss of its leases (``lease-lost``), has cut the outcome
    short."""
    return outcome.error is not None and outcome.error.code in STOPS


def after_write(
    plan: PlacementPlan, each: RolloutBinding, outcome: MemberOutcome, now: datetime, *, anew: bool
) -> RolloutBinding:
    """The binding as it is to be recorded once its cluster was written; ``anew`` as of ``binding_status``. Where all
    steps were tried and no removal has failed, the mark of what the cluster held before goes, and that of what is left
    out is today's."""
    binding, metadata = each.binding, each.binding.metadata
    status = binding_status(plan, each, outcome, now, anew=anew)
    # While something that left is still there, the binding names what it left from: the next plan does so too.
    if outcome.done and outcome.error is None and not outcome.unremoved:
        kept = {name: value for name, value in metadata.annotations.items() if name not in (HELD_BEFORE, LEFT_OUT)}
        metadata = replace(metadata, annotations={**kept, **left_out_mark(plan.left_out_on(each.cluster))})
    return RolloutBinding(binding=replace(binding, metadata=metadata, status=status))


def after_look(plan: PlacementPlan, each: RolloutBinding, outcome: MemberOutcome, now: datetime) -> RolloutBinding:
    """The binding with what was seen of the content that its cluster holds; the same where the look failed and
    something was known already (``Applied``, ``Available`` or ``DiffReported``). Else a transition of ``Applied`` or
    ``Available`` that lies further ahead of ``now`` than clocks may differ becomes ``now``."""
    binding = each.binding
    known = any(one.type in (APPLIED, AVAILABLE, DIFF_REPORTED) for one in binding.status.conditions)
    if outcome.error and known:
        return each
    refused = outcome.failures if says_wanted(plan, each) else ()
    status = binding_status(plan, each, replace(outcome, failures=refused, done=True), now, anew=False)
    conditions = tuple(
        replace(one, last_transition_time=now) if one.type in (APPLIED, AVAILABLE) and _is_ahead(one, now) else one
        for one in status.conditions
    )
    return RolloutBinding(binding=replace(binding, status=replace(binding.status, conditions=conditions)))


def _is_ahead(one: Condition, now: datetime) -> bool:
    """Whether the condition's transition lies later than clocks may differ."""
    return one.last_transition_time is not None and is_ahead(one.last_transition_time, now)


def marked_as_held_before(each: RolloutBinding, before: str) -> RolloutBinding:
    """The binding with a mark of the snapshot that the cluster held before this write (empty: none), in place of an
    earlier mark."""
    metadata = each.binding.metadata
    annotations = {**metadata.annotations, HELD_BEFORE: before}
    return RolloutBinding(binding=replace(each.binding, metadata=replace(metadata, annotations=annotations)))


def marked_unavailable(each: RolloutBinding, now: datetime) -> RolloutBinding:
    """The binding with ``Available`` False, for the reason ``Evacuated``: it keeps no place of the surge, and is
    nothing that must stay."""
    binding = each.binding
    row = (FALSE, "Evacuated", "the cluster is evacuated, and cannot be reached or holds nothing")
    conditions = set_condition(binding.status.conditions, AVAILABLE, row, binding.metadata.generation, now)
    return RolloutBinding(binding=replace(binding, status=replace(binding.status, conditions=conditions)))


def is_emptied(each: RolloutBinding, seen: MemberOutcome | None) -> bool:
    """Whether its cluster is evacuated, loses the placement, and was seen without an error to hold nothing of it; False
    where nobody looked."""
    leaves = each.state == UNSCHEDULED and EVACUATED in each.binding.metadata.annotations
    return leaves and seen is not None and seen.error is None and not seen.steps


def without_removal_mark(each: RolloutBinding) -> RolloutBinding:
    """The binding as one that is not being removed (``deletion_timestamp``): not everything has left its cluster."""
    metadata = replace(each.binding.metadata, deletion_timestamp=None)
    return RolloutBinding(binding=replace(each.binding, metadata=metadata))
