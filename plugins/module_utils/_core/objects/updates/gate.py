# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``Gate`` of ``gitops.fleet``: where an update run waits for a person or for the clock (Azure Fleet's gates), to which
digest that is bound, and who approved or refused it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ...values.update_states import (
    AFTER,
    BEFORE,
    COMPLETED,
    PENDING,
    SKIPPED,
)
from ..api_groups import FLEET_API
from .forms import (
    GATE_SPEC_RULES,
    GATE_STATUS_RULES,
    digest_prop,
    display_name_prop,
    name_prop,
    start_time_prop,
    utc_offset_prop,
)
from .strategy import DAYS, GATE_TYPES

GATE_STATES = (PENDING, SKIPPED, COMPLETED)


@dataclass(frozen=True, kw_only=True)
class UpdateRunGateTarget:
    """Where in which run the gate stands; a gate of the stage itself has no group."""

    name: str = name_prop("Name of the run.")
    stage: str = name_prop("Name of the stage.", default="")
    group: str = name_prop("Name of the group, for a gate of a group.", default="")
    timing: str = prop("Before or after stage or group.", enum=(BEFORE, AFTER))


@dataclass(frozen=True, kw_only=True)
class GateTarget:
    id: str = prop("Identity of the run.", default="", max_length=1024)
    update_run_properties: UpdateRunGateTarget = prop("Place of the gate.")


@dataclass(frozen=True, kw_only=True)
class ScheduledStartProperties:
    start_day: str = prop("Day of the week.", enum=DAYS)
    start_time: str = start_time_prop()
    utc_offset: str = utc_offset_prop()
    absolute_start_time: datetime | None = prop("The instant at which it completes itself.", default=None)


@dataclass(frozen=True, kw_only=True)
class GateSpec:
    display_name: str = display_name_prop()
    gate_type: str = prop("Who opens the gate: a person, or the clock.", enum=GATE_TYPES)
    target: GateTarget = prop("What waits at the gate.")
    scheduled_start_properties: ScheduledStartProperties | None = prop("When it completes itself.", default=None)
    digest: str = digest_prop("Digest of what the run will do; an approval is bound to it.")


@dataclass(frozen=True, kw_only=True)
class GateApproval:
    """Who completed the gate. ``digest`` is that of the run as the approver saw it."""

    by: str = prop("Who completed it.")
    verified: bool = prop("Whether that is proven.", default=False)
    at: datetime | None = prop("When.", default=None)
    reason: str = prop("Why, in the approver's words.", default="")
    digest: str = digest_prop("Digest that was approved.")


@dataclass(frozen=True, kw_only=True)
class GateRefusal:
    """Who refused to open the gate: the run stops there. An approval that comes later opens it all the same."""

    by: str = prop("Who refused.")
    verified: bool = prop("Whether that is proven.", default=False)
    at: datetime | None = prop("When.", default=None)
    reason: str = prop("Why, in the words of who refused.")
    digest: str = digest_prop("Digest that was refused.")


@dataclass(frozen=True, kw_only=True)
class GateStatus:
    state: str = prop("State of the gate.", default=PENDING, enum=GATE_STATES)
    approval: GateApproval | None = prop("Who completed it.", default=None)
    refusal: GateRefusal | None = prop("Who refused to.", default=None)


@dataclass(frozen=True, kw_only=True)
class Gate:
    api_version: str = prop("API version.", default=FLEET_API)
    kind: str = prop("Kind.", default="Gate")
    metadata: ObjectMeta = prop("Object metadata; its name is a lower-case GUID.")
    spec: GateSpec = prop("Place and kind of the gate.", rules=GATE_SPEC_RULES)
    status: GateStatus = prop("Whether it is open.", default=GateStatus(), rules=GATE_STATUS_RULES)

    @property
    def name(self) -> str:
        return self.metadata.name
