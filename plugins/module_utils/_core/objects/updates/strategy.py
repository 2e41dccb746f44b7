# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``UpdateStrategy`` of ``gitops.fleet``: a named sequence of stages and groups, with limits, gates and waits (Azure
Fleet's FleetUpdateStrategy); member selectors."""

from __future__ import annotations

from dataclasses import dataclass

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ..api_groups import FLEET_API
from .forms import (
    AFTER_GATES_RULES,
    CEILING,
    CEILING_RULES,
    GATES_RULES,
    GROUPS_RULES,
    STAGES_RULES,
    concurrency_prop,
    display_name_prop,
    failures_prop,
    group_failures_prop,
    name_prop,
    start_time_prop,
    utc_offset_prop,
)

APPROVAL, SCHEDULED_START = "Approval", "ScheduledStart"
GATE_TYPES = (APPROVAL, SCHEDULED_START)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MAX_STAGES, MAX_GROUPS, MAX_CONCURRENCY, MAX_WAIT_SECONDS, MAX_GATES = 31, 50, CEILING, 2_592_000, 10


@dataclass(frozen=True, kw_only=True)
class ScheduledStartConfiguration:
    start_day: str = prop("Day of the week.", enum=DAYS)
    start_time: str = start_time_prop()
    utc_offset: str = utc_offset_prop()


@dataclass(frozen=True, kw_only=True)
class GateConfiguration:
    display_name: str = display_name_prop()
    type: str = prop("Who opens the gate: a person, or the clock.", enum=GATE_TYPES)
    scheduled_start_configuration: ScheduledStartConfiguration | None = prop(
        "When a ScheduledStart gate completes itself.", default=None
    )


@dataclass(frozen=True, kw_only=True)
class MemberSelector:
    """Members by their labels, as ``kubectl -l`` takes them; an empty text is refused."""

    by_label: str = prop("Kubernetes label selector over the members' labels.", min_length=1, max_length=512)


@dataclass(frozen=True, kw_only=True)
class UpdateGroup:
    """Members of one group of a stage, of those that the selector of the stage has, if any: those whose FleetMember has
    its name as ``group``, or those with these labels if there is a selector."""

    name: str = name_prop("Name of the group.")
    member_selector: MemberSelector | None = prop("Selects by label instead of by name.", default=None)
    max_concurrency: str = concurrency_prop("Members updated at once, number or percentage; 1 if absent.")
    max_allowed_failures: str = group_failures_prop(
        "Failures that are tolerated, number or percentage, or inherit for those of the stage; 0 if absent."
    )
    before_gates: tuple[GateConfiguration, ...] = prop(
        "Gates before the group's members.", default=(), max_items=MAX_GATES, rules=GATES_RULES
    )
    after_gates: tuple[GateConfiguration, ...] = prop(
        "Gates after the group's members.", default=(), max_items=MAX_GATES, rules=AFTER_GATES_RULES
    )


@dataclass(frozen=True, kw_only=True)
class UpdateStage:
    name: str = name_prop("Name of the stage.")
    groups: tuple[UpdateGroup, ...] = prop(
        "Groups, updated side by side.", default=(), min_items=1, max_items=MAX_GROUPS, rules=GROUPS_RULES
    )
    member_selector: MemberSelector | None = prop("Only members with these labels.", default=None)
    after_stage_wait_in_seconds: int = prop(
        "Wait after the stage's members.", default=0, minimum=0, maximum=MAX_WAIT_SECONDS
    )
    max_concurrency: str = concurrency_prop("Members updated at once in the stage; 50 if absent.", CEILING_RULES)
    max_allowed_failures: str = failures_prop("Failures that are tolerated; 0 if absent.")
    before_gates: tuple[GateConfiguration, ...] = prop(
        "Gates before the stage's groups.", default=(), max_items=MAX_GATES, rules=GATES_RULES
    )
    after_gates: tuple[GateConfiguration, ...] = prop(
        "Gates after the stage's groups.", default=(), max_items=MAX_GATES, rules=AFTER_GATES_RULES
    )


@dataclass(frozen=True, kw_only=True)
class UpdateRunStrategy:
    stages: tuple[UpdateStage, ...] = prop(
        "Stages, one after another.", min_items=1, max_items=MAX_STAGES, rules=STAGES_RULES
    )


@dataclass(frozen=True, kw_only=True)
class UpdateStrategySpec:
    strategy: UpdateRunStrategy = prop("The sequence.")


@dataclass(frozen=True, kw_only=True)
class UpdateStrategy:
    api_version: str = prop("API version.", default=FLEET_API)
    kind: str = prop("Kind.", default="UpdateStrategy")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: UpdateStrategySpec = prop("The sequence of stages and groups.")

    @property
    def name(self) -> str:
        return self.metadata.name
