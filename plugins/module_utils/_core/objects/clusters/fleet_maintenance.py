# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``FleetMaintenance`` of ``gitops.fleet``: maintenance windows with their schedules (when members may be upgraded),
freezes (when nothing may), and fleet budgets (how many at once).

Windows have the grammar of AKS planned maintenance. ``timeZone``, freezes and budgets are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ..api_groups import FLEET_API
from ..updates.forms import name_prop, start_time_prop
from ..updates.strategy import DAYS, MemberSelector
from .maintenance_forms import (
    BUDGETS_RULES,
    CLOCK_RULES,
    CONFIGURATIONS,
    FREEZES_RULES,
    MAX_BUDGETS,
    MAX_FREEZES,
    MAX_SPANS,
    MAX_WINDOWS,
    SCHEDULE_RULES,
    SPAN_RULES,
    WINDOWS_RULES,
    amount_prop,
    configuration_prop,
    date_prop,
    offset_prop,
    time_zone_prop,
)

WEEK_INDEXES = ("First", "Second", "Third", "Fourth", "Last")


@dataclass(frozen=True, kw_only=True)
class DailySchedule:
    interval_days: int = prop("Every so many days.", minimum=1, maximum=7)


@dataclass(frozen=True, kw_only=True)
class WeeklySchedule:
    interval_weeks: int = prop("Every so many weeks.", minimum=1, maximum=4)
    day_of_week: str = prop("Day of the week.", enum=DAYS)


@dataclass(frozen=True, kw_only=True)
class AbsoluteMonthlySchedule:
    """A month that has no such day has no window."""

    interval_months: int = prop("Every so many months.", minimum=1, maximum=6)
    day_of_month: int = prop("Day of the month.", minimum=1, maximum=31)


@dataclass(frozen=True, kw_only=True)
class RelativeMonthlySchedule:
    interval_months: int = prop("Every so many months.", minimum=1, maximum=6)
    week_index: str = prop("Which of the month's days of that name.", enum=WEEK_INDEXES)
    day_of_week: str = prop("Day of the week.", enum=DAYS)


@dataclass(frozen=True, kw_only=True)
class MaintenanceSchedule:
    """Exactly one of the four."""

    daily: DailySchedule | None = prop("Every so many days.", default=None)
    weekly: WeeklySchedule | None = prop("On a day of the week.", default=None)
    absolute_monthly: AbsoluteMonthlySchedule | None = prop("On a day of the month.", default=None)
    relative_monthly: RelativeMonthlySchedule | None = prop("On the nth such day of the month.", default=None)


@dataclass(frozen=True, kw_only=True)
class DateSpan:
    """Whole local days, both ends included."""

    start: str = date_prop("First day.")
    end: str = date_prop("Last day.")


@dataclass(frozen=True, kw_only=True)
class MaintenanceWindow:
    """Occurrences of a schedule, each ``durationHours`` of elapsed time long from ``startTime`` on. The clock is
    ``timeZone`` or ``utcOffset``, else UTC."""

    schedule: MaintenanceSchedule = prop("On which days.", rules=SCHEDULE_RULES)
    duration_hours: int = prop("Length of each occurrence.", minimum=4, maximum=24)
    start_time: str = start_time_prop()
    utc_offset: str = offset_prop()
    time_zone: str = time_zone_prop()
    start_date: str = date_prop("First day; intervals count from it. The day of creation if absent.", default="")
    not_allowed_dates: tuple[DateSpan, ...] = prop(
        "Days that are cut out.", default=(), max_items=MAX_SPANS, rules=SPAN_RULES
    )


@dataclass(frozen=True, kw_only=True)
class TimeInWeek:
    """Hours of a weekday, in UTC: slot 1 is open from 01:00 to 02:00."""

    day: str = prop("Day of the week.", enum=DAYS)
    hour_slots: tuple[int, ...] = prop("Hours of the day in UTC.", minimum=0, maximum=23, min_items=1, max_items=24)


@dataclass(frozen=True, kw_only=True)
class TimeSpan:
    """A span that is cut out of hours of weekdays; ignored where an end is missing or cannot be read (None)."""

    start: datetime | None = prop("First instant.")
    end: datetime | None = prop("Instant of the end, which is not part of it.")


@dataclass(frozen=True, kw_only=True)
class MaintenanceConfiguration:
    """One window, for the members that its selector has, or for all. It has either a ``maintenanceWindow`` or the older
    form with hours of weekdays, which is for platform windows only."""

    name: str = configuration_prop()
    member_selector: MemberSelector | None = prop("Members that it holds for.", default=None)
    maintenance_window: MaintenanceWindow | None = prop("When it is open.", default=None, rules=CLOCK_RULES)
    time_in_week: tuple[TimeInWeek, ...] = prop("Hours at which it is open.", default=(), min_items=1, max_items=7)
    not_allowed_time: tuple[TimeSpan, ...] = prop(
        "Spans that are cut out.", default=(), max_items=MAX_SPANS, rules=SPAN_RULES
    )

    @property
    def configuration(self) -> str:
        """What the window governs: kubernetes, nodeImage or platform, whichever name is written (AKS' too, in any
        case); empty for any other name."""
        return CONFIGURATIONS.get(self.name.lower(), "")


@dataclass(frozen=True, kw_only=True)
class Freeze:
    """Whole local days, both ends included, on which nothing starts, on any member that the selector has, or on all.
    The clock is ``timeZone`` or ``utcOffset``, else UTC."""

    name: str = name_prop("Name of the freeze.")
    start: str = date_prop("First day.")
    end: str = date_prop("Last day.")
    utc_offset: str = offset_prop()
    time_zone: str = time_zone_prop()
    member_selector: MemberSelector | None = prop("Only members with these labels.", default=None)
    reason: str = prop("Why, in words for people.", default="", max_length=200)


@dataclass(frozen=True, kw_only=True)
class FleetBudget:
    """How much of the fleet is disrupted at once, at most. Percentages are of what the selector has, or of the whole
    fleet without one, rounded up; an amount that is empty limits nothing."""

    name: str = name_prop("Name of the budget.")
    member_selector: MemberSelector | None = prop("Only members with these labels.", default=None)
    members: str = amount_prop("Members that are disrupted at once, number or percentage.")
    nodes: str = amount_prop("Nodes of all those members that are disrupted at once, number or percentage.")


@dataclass(frozen=True, kw_only=True)
class FleetMaintenanceSpec:
    windows: tuple[MaintenanceConfiguration, ...] = prop(
        "When members may be upgraded.", default=(), max_items=MAX_WINDOWS, rules=WINDOWS_RULES
    )
    freezes: tuple[Freeze, ...] = prop(
        "Days on which nothing starts.", default=(), max_items=MAX_FREEZES, rules=FREEZES_RULES
    )
    budgets: tuple[FleetBudget, ...] = prop(
        "Limits over the whole fleet.", default=(), max_items=MAX_BUDGETS, rules=BUDGETS_RULES
    )


@dataclass(frozen=True, kw_only=True)
class ClusterMaintenance:
    """Maintenance windows and freezes that live on a member's cluster itself, as they were read last."""

    source: str = prop("Where on the cluster it was found.")
    windows: tuple[MaintenanceConfiguration, ...] = prop(
        "When it may be upgraded.", default=(), max_items=MAX_WINDOWS, rules=WINDOWS_RULES
    )
    freezes: tuple[Freeze, ...] = prop(
        "Days on which nothing starts.", default=(), max_items=MAX_FREEZES, rules=FREEZES_RULES
    )


@dataclass(frozen=True, kw_only=True)
class FleetMaintenance:
    api_version: str = prop("API version.", default=FLEET_API)
    kind: str = prop("Kind.", default="FleetMaintenance")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: FleetMaintenanceSpec = prop("Windows, freezes and budgets.")

    @property
    def name(self) -> str:
        return self.metadata.name
