# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of FleetMaintenance over several fields, and of windows and freezes wherever they stand: ``window-source``,
``not-for-this-window``, ``schedule-form``, ``two-clocks``, ``unknown-time-zone``, ``no-such-date``,
``ends-before-start``, ``duplicate-name``, ``budget-of-nothing``, ``start-date-missing``."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence
from datetime import date

from ...schema.finding import Finding
from ...schema.rules import Found
from ...values.schedules.cron import load_zone
from ..updates.strategy_rules import check_member_selector
from .fleet_maintenance import (
    ClusterMaintenance,
    DateSpan,
    FleetBudget,
    FleetMaintenance,
    FleetMaintenanceSpec,
    Freeze,
    MaintenanceConfiguration,
    MaintenanceSchedule,
    MaintenanceWindow,
)
from .maintenance_forms import PLATFORM

_FORMS = ("daily", "weekly", "absoluteMonthly", "relativeMonthly")


def check_fleet_maintenance(obj: FleetMaintenance) -> t.Iterator[Found]:
    """What is wrong with the windows, freezes and budgets of a FleetMaintenance: the problems of
    ``check_windows_and_freezes``, and of budgets ``duplicate-name``, ``invalid-label-selector`` and
    ``budget-of-nothing`` (neither members nor nodes; one of 0 limits something)."""
    yield from check_windows_and_freezes(obj.spec, "spec")
    yield from _check_names(obj.spec.budgets, "spec.budgets")
    for index, budget in enumerate(obj.spec.budgets):
        path = f"spec.budgets[{index}]"
        yield from check_member_selector(budget.member_selector, f"{path}.memberSelector.byLabel")
        if not (budget.members or budget.nodes):
            yield Found("budget-of-nothing", path, "the budget limits neither members nor nodes", "give one of them")


def check_windows_and_freezes(given: FleetMaintenanceSpec | ClusterMaintenance, path: str) -> t.Iterator[Found]:
    """What is wrong with maintenance windows and freezes at ``path``, of a FleetMaintenance or of a cluster itself:
    ``window-source``, ``not-for-this-window``, ``schedule-form``, ``two-clocks``, ``unknown-time-zone``,
    ``no-such-date``, ``ends-before-start``, ``duplicate-name`` (of freezes; windows may share one) and
    ``invalid-label-selector``."""
    for index, window in enumerate(given.windows):
        yield from _check_configuration(window, f"{path}.windows[{index}]")
    yield from _check_names(given.freezes, f"{path}.freezes")
    for index, freeze in enumerate(given.freezes):
        place = f"{path}.freezes[{index}]"
        yield from check_member_selector(freeze.member_selector, f"{place}.memberSelector.byLabel")
        yield from _check_clock(freeze, place)
        yield from _check_span(freeze.start, freeze.end, place)


def warn_fleet_maintenance(obj: FleetMaintenance) -> t.Iterator[Finding]:
    """The finding ``start-date-missing`` for each window of a FleetMaintenance with an interval of more than one day,
    week or month and without ``startDate``, from which it would be counted."""
    for index, each in enumerate(obj.spec.windows):
        window = each.maintenance_window
        if window and not window.start_date and _interval(window.schedule) > 1:
            path = f"spec.windows[{index}].maintenanceWindow.startDate"
            reason = "intervals are counted from the day on which the object was made; say from which they are meant"
            yield Finding("start-date-missing", path, path, "", "", reason)


def _interval(schedule: MaintenanceSchedule) -> int:
    """Every how many days, weeks or months the schedule comes, in the unit of its form; 0 if it has none. Of several
    forms days count before weeks, these before months, and of two monthly ones the larger interval."""
    forms = schedule.daily, schedule.weekly, schedule.absolute_monthly, schedule.relative_monthly
    days, weeks, *months = forms
    return (
        (days.interval_days if days else 0)
        or (weeks.interval_weeks if weeks else 0)
        or max((each.interval_months for each in months if each), default=0)
    )


def _check_configuration(each: MaintenanceConfiguration, path: str) -> t.Iterator[Found]:
    """What is wrong with one window and its member selector, as of ``check_windows_and_freezes``."""
    yield from check_member_selector(each.member_selector, f"{path}.memberSelector.byLabel")
    window, platform = each.maintenance_window, each.configuration == PLATFORM
    if (window is None) == (not each.time_in_week):
        yield Found("window-source", path, "one of maintenanceWindow and timeInWeek is wanted")
    if each.not_allowed_time and not each.time_in_week:
        hint = "days are left out of a maintenanceWindow by its notAllowedDates"
        yield Found("not-for-this-window", f"{path}.notAllowedTime", "it stands beside timeInWeek only", hint)
    if each.time_in_week and each.name and not platform:
        message = f"{each.name} has no hours of weekdays"
        yield Found("not-for-this-window", f"{path}.timeInWeek", message, "write a maintenanceWindow")
    for index, span in enumerate(each.not_allowed_time):
        if span.start and span.end and span.end < span.start:
            message = "this span ends before it begins"
            yield Found("ends-before-start", f"{path}.notAllowedTime[{index}].end", message)
    if window:
        yield from _check_window(window, platform, f"{path}.maintenanceWindow")


def _check_window(window: MaintenanceWindow, platform: bool, path: str) -> t.Iterator[Found]:
    """What is wrong with a ``maintenanceWindow``: not exactly one form of schedule (``schedule-form``), one that is not
    weekly for ``platform`` (``not-for-this-window``), its clock, its dates."""
    schedule = window.schedule
    given = (schedule.daily, schedule.weekly, schedule.absolute_monthly, schedule.relative_monthly)
    if sum(each is not None for each in given) != 1:
        yield Found("schedule-form", f"{path}.schedule", f"exactly one of {', '.join(_FORMS)} is wanted")
    elif platform and schedule.weekly is None:
        yield Found("not-for-this-window", f"{path}.schedule", "platform (default) has weekly windows only")
    yield from _check_clock(window, path)
    yield from _check_date(window.start_date, f"{path}.startDate")
    for index, span in enumerate(window.not_allowed_dates):
        yield from _check_days(span, f"{path}.notAllowedDates[{index}]")


def _check_clock(each: MaintenanceWindow | Freeze, path: str) -> t.Iterator[Found]:
    """``two-clocks`` if there are an offset and a zone; ``unknown-time-zone`` for a zone that there is not."""
    if each.utc_offset and each.time_zone:
        yield Found("two-clocks", f"{path}.timeZone", "utcOffset and timeZone exclude each other", "keep one of them")
    if each.time_zone:
        try:
            load_zone(each.time_zone)
        except ValueError as error:
            yield Found("unknown-time-zone", f"{path}.timeZone", str(error), "write it like Europe/Vienna")


def _check_days(span: DateSpan, path: str) -> t.Iterator[Found]:
    """As of ``_check_span``, for whole days."""
    yield from _check_span(span.start, span.end, path)


def _check_span(start: str, end: str, path: str) -> t.Iterator[Found]:
    """``no-such-date`` for either end, and ``ends-before-start``; an empty end is left to the schema."""
    wrong = [*_check_date(start, f"{path}.start"), *_check_date(end, f"{path}.end")]
    yield from wrong
    if start and end and end < start:
        yield Found("ends-before-start", f"{path}.end", f"{end} is before {start}")


def _check_date(text: str, path: str) -> t.Iterator[Found]:
    """``no-such-date`` for a text that is no date; nothing for an empty one."""
    try:
        if text:
            date.fromisoformat(text)
    except ValueError:
        yield Found("no-such-date", path, f"there is no {text}")


def _check_names(items: Sequence[Freeze | FleetBudget], path: str) -> t.Iterator[Found]:
    """``duplicate-name`` for each item with the name of an earlier one; empty names are left out."""
    seen: dict[str, int] = {}
    for index, each in enumerate(items):
        if each.name and seen.setdefault(each.name, index) != index:
            message = f"number {seen[each.name]} is called {each.name!r} too"
            yield Found("duplicate-name", f"{path}[{index}].name", message)
