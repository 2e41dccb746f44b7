# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What another FleetMaintenance of the same name changes: which windows, freezes and budgets come, go, or become other
ones, in words with old and new value."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..objects.clusters.fleet_maintenance import (
    DateSpan,
    FleetBudget,
    FleetMaintenanceSpec,
    Freeze,
    MaintenanceConfiguration,
    MaintenanceSchedule,
)
from ..objects.updates.strategy import MemberSelector
from ..values.instants import write_time

COMES, GOES, CHANGES = "+", "-", "~"
MARKS: t.Mapping[str, str] = {COMES: "comes", GOES: "goes", CHANGES: "changes"}
Words = dict[str, str]
P = t.TypeVar("P")


@dataclass(frozen=True, kw_only=True)
class PartChange:
    """A window, freeze or budget (``what``, with its name) that comes, goes or changes (``mark``: ``+``, ``-``, ``~``);
    ``words`` are what it says, or what is other about it."""

    mark: str
    what: str
    words: str

    @property
    def sentence(self) -> str:
        """``freeze sales changes (days 2026-12-01 -> 2026-12-02)``; without parentheses where there are no words."""
        return f"{self.what} {MARKS[self.mark]}{f' ({self.words})' if self.words else ''}"

    def as_dict(self) -> dict[str, str]:
        """As results have it, ``mark`` as ``change`` (comes, goes, changes)."""
        return {"change": MARKS[self.mark], "what": self.what, "words": self.words}


@dataclass(frozen=True, kw_only=True)
class MaintenanceChange:
    """A FleetMaintenance that comes, goes or changes, with its parts that do."""

    name: str
    mark: str
    parts: tuple[PartChange, ...]

    @property
    def words(self) -> str:
        """The sentences of the parts with commas between them; empty without parts. They have old and new value, so
        that a freeze that was moved can be read years later with both its dates."""
        return ", ".join(each.sentence for each in self.parts)

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it, ``mark`` as ``change`` (comes, goes, changes)."""
        return {"name": self.name, "change": MARKS[self.mark], "parts": [each.as_dict() for each in self.parts]}


def maintenance_change(
    name: str, before: FleetMaintenanceSpec | None, after: FleetMaintenanceSpec | None
) -> MaintenanceChange:
    """What becomes other in the FleetMaintenance of that ``name``, windows first, then freezes and budgets, of each
    those that come or change in the order of ``after``, then those that go. ``before`` None: it comes, else ``after``
    None: it goes. It has no parts where only their order is other, or how often one stands there."""
    old, new = before or FleetMaintenanceSpec(), after or FleetMaintenanceSpec()
    parts = (
        *_parts(old.windows, new.windows, "window", _window_key, _window),
        *_parts(old.freezes, new.freezes, "freeze", lambda each: each.name, _freeze),
        *_parts(old.budgets, new.budgets, "budget", lambda each: each.name, _budget),
    )
    return MaintenanceChange(
        name=name, mark=COMES if before is None else GOES if after is None else CHANGES, parts=parts
    )


def _parts(
    before: t.Sequence[P],
    after: t.Sequence[P],
    what: str,
    key: t.Callable[[P], t.Hashable],
    words: t.Callable[[P], Words],
) -> t.Iterator[PartChange]:
    """The parts that are in one of the two alone: as ``after`` has them those that come, or change the first one of
    ``before`` with their key that is left (windows may share one), then those that go. ``what`` is the kind for their
    names, ``words`` tell a part."""
    gone = [each for each in before if each not in after]
    for new in (each for each in after if each not in before):
        old = next((each for each in gone if key(each) == key(new)), None)
        named = f"{what} {getattr(new, 'name', '')}"
        if old is None:
            yield PartChange(mark=COMES, what=named, words=_said(words(new)))
        else:
            gone.remove(old)
            yield PartChange(mark=CHANGES, what=named, words=difference(words(old), words(new)))
    for old in gone:
        yield PartChange(mark=GOES, what=f"{what} {getattr(old, 'name', '')}", words=_said(words(old)))


def _said(words: Words) -> str:
    """All that is said, ``name words`` parted by commas; what is empty is left out."""
    return ", ".join(f"{name} {each}" for name, each in words.items() if each)


def difference(old: Words, new: Words) -> str:
    """What the two say otherwise: ``name old -> new``, parted by commas, ``none`` for what is empty; empty if they say
    the same."""
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name, "") != new.get(name, "")]
    return ", ".join(f"{name} {old.get(name) or 'none'} -> {new.get(name) or 'none'}" for name in names)


def _window_key(each: MaintenanceConfiguration) -> tuple[str, str]:
    """Name and members of a window: what makes it the same one."""
    return each.name, _members(each.member_selector)


def _window(each: MaintenanceConfiguration) -> Words:
    """What a window says, by name: a schedule with its clock, or hours of the week in UTC; empty texts for what it does
    not say."""
    given = each.maintenance_window
    if given is None:
        hours = " ".join(f"{one.day} {','.join(map(str, one.hour_slots))}" for one in each.time_in_week)
        cut = " ".join(
            f"{write_time(one.start)}/{write_time(one.end)}" for one in each.not_allowed_time if one.start and one.end
        )
        return {"hours (UTC)": hours, "without": cut, "members": _members(each.member_selector)}
    return {
        "open": _schedule(given.schedule),
        "at": given.start_time,
        "clock": given.time_zone or given.utc_offset or "UTC",
        "hours": str(given.duration_hours),
        "from": given.start_date,
        "without": " ".join(map(_days, given.not_allowed_dates)),
        "members": _members(each.member_selector),
    }


def _schedule(given: MaintenanceSchedule) -> str:
    """How often the window opens: ``every 2 weeks on Monday``; empty without a schedule."""
    if given.daily:
        return _every(given.daily.interval_days, "day")
    if given.weekly:
        return f"{_every(given.weekly.interval_weeks, 'week')} on {given.weekly.day_of_week}"
    if given.absolute_monthly:
        monthly = given.absolute_monthly
        return f"{_every(monthly.interval_months, 'month')} on day {monthly.day_of_month}"
    if given.relative_monthly:
        relative = given.relative_monthly
        return f"{_every(relative.interval_months, 'month')} on the {relative.week_index} {relative.day_of_week}"
    return ""


def _every(count: int, unit: str) -> str:
    """``every week`` for 1, ``every 2 weeks`` for others."""
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"


def _freeze(each: Freeze) -> Words:
    """What a freeze says, by name; empty texts for what it does not say."""
    return {
        "days": _days(each),
        "clock": each.time_zone or each.utc_offset or "UTC",
        "members": _members(each.member_selector),
        "reason": each.reason,
    }


def _budget(each: FleetBudget) -> Words:
    """What a budget says, by name; empty texts for what it does not say."""
    of = _members(each.member_selector)
    return {"disrupted members": each.members, "disrupted nodes": each.nodes, "members": of}


def _days(each: DateSpan | Freeze) -> str:
    """One day, or the first and the last: ``2026-12-20 to 2027-01-02``."""
    return each.start if each.start == each.end else f"{each.start} to {each.end}"


def _members(selector: MemberSelector | None) -> str:
    """The label selector as text; empty without one, which is for all members."""
    return selector.by_label if selector else ""
