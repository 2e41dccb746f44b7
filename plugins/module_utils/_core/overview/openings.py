# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When a member may be touched (``when``): whether work may begin on it now (``open``, ``closed``, ``held``,
``unknown``), what is against it, and when it may next; what freezes close, whether that moves, and entries of a
calendar.

Nothing is decided here: that is what update runs go by when a member's turn comes (``updates/timing``). Windows and
freezes hold for upgrades and for the disruption of nodes; placements know neither, and leave evacuated members.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ..forecast.appointments import ANY_TIME, FREEZE, OPEN, TAKEN, Appointment, taken_words
from ..objects.updates.update_run import CONTROL_PLANE_ONLY, NODE_IMAGE_ONLY
from ..updates.timing.maintenance import MemberTimes
from ..updates.timing.member_order import NEVER, changes_at, closed_until
from ..updates.timing.obstacles import obstacle
from ..values.instants import write_local, write_time
from ..values.update_states import WINDOW_CLOSED
from ..windows.spans import meeting
from ..windows.taken import taken_spans

UPGRADE, NODES = "upgrade", "nodes"
RUN_TYPES: t.Mapping[str, str] = {UPGRADE: CONTROL_PLANE_ONLY, NODES: NODE_IMAGE_ONLY}
"""By the work, the type of run whose windows hold for it."""
IS_OPEN, CLOSED, HELD, UNKNOWN = "open", "closed", "held", "unknown"


@dataclass(frozen=True, order=True)
class OpenSpan:
    """From ``start`` on work may begin; ``end`` None: nothing is known to end that."""

    start: datetime
    end: datetime | None

    def as_dict(self, clock: tzinfo) -> dict[str, str | None]:
        """As results have it: ``start`` and ``end`` in RFC 3339, and as ``local_start`` and ``local_end`` by ``clock``,
        for people; None for no end."""
        return {
            "start": write_time(self.start),
            "end": write_time(self.end) if self.end else None,
            "local_start": write_local(self.start, clock),
            "local_end": write_local(self.end, clock) if self.end else None,
        }


@dataclass(frozen=True, kw_only=True)
class ClosedSpan:
    """What a freeze closes of an opening (``of``) that windows have; ``freeze`` is it in words, several joined."""

    span: OpenSpan
    of: OpenSpan
    freeze: str

    @property
    def whole(self) -> bool:
        """Whether nothing is left of the opening."""
        return self.span == self.of

    def as_dict(self, clock: tzinfo) -> dict[str, t.Any]:
        """As results have it: the closed span as of ``OpenSpan``, with ``whole`` and ``freeze``."""
        return {**self.span.as_dict(clock), "whole": self.whole, "freeze": self.freeze}


@dataclass(frozen=True, kw_only=True)
class Permission:
    """One kind of work on one member. ``state`` is open, closed, held or unknown; ``why`` says what is against it now,
    or what permits it; ``clock`` is the one for people. ``next`` is the opening that is now by windows and freezes,
    also where the work is held, or the next one; None if none is known. ``openings`` meet the days asked for;
    ``closed`` is what freezes close from now to the end of these days, or to that of ``next`` if it is later."""

    state: str
    why: tuple[str, ...]
    next: OpenSpan | None
    openings: tuple[OpenSpan, ...]
    clock: tzinfo
    closed: tuple[ClosedSpan, ...] = ()

    @property
    def open(self) -> bool:
        """Whether it may begin now."""
        return self.state == IS_OPEN

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields, ``open``, and ``time_zone``, the name of the clock."""
        return {
            "open": self.open,
            "state": self.state,
            "why": list(self.why),
            "next": self.next.as_dict(self.clock) if self.next else None,
            "openings": [each.as_dict(self.clock) for each in self.openings],
            "closed": [each.as_dict(self.clock) for each in self.closed],
            "time_zone": str(self.clock),
        }


@dataclass(frozen=True, kw_only=True)
class ClusterOpenings:
    """A member of the fleet, with its ``permissions`` by the work (UPGRADE, NODES). ``operation`` is the upgrade in
    flight there, empty for none; ``read`` is when its own windows were read last, None where not known."""

    name: str
    permissions: t.Mapping[str, Permission]
    evacuated: bool = False
    operation: str = ""
    read: datetime | None = None

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: a key for each kind of work, and ``placements`` in the place of ``evacuated``: ``open``
        unless it is evacuated, and ``why``."""
        away = ["it is evacuated: placements leave it, and none come"] if self.evacuated else []
        return {
            "name": self.name,
            **{work: each.as_dict() for work, each in self.permissions.items()},
            "placements": {"open": not self.evacuated, "why": away},
            "operation": self.operation,
            "read": write_time(self.read) if self.read else None,
        }


def permission(times: MemberTimes, now: datetime, until: datetime) -> Permission:
    """Whether the work may begin on the member at ``now``, and its openings that meet the span from then to ``until``;
    windows that reach further are told whole. UNKNOWN, and without openings, where its windows are not known; CLOSED
    where windows or freezes close it, HELD where something else alone is against it."""
    view = times.view
    blocker, opens = obstacle(view, now), closed_until(view, now)
    held = tuple(each.message for each in view.obstacles if each.until is None)
    unknown = any(each.reason == WINDOW_CLOSED and each.until is None for each in view.obstacles)
    if unknown:
        return Permission(state=UNKNOWN, why=held, next=None, openings=(), clock=times.clock)
    if blocker is None:
        state, why = IS_OPEN, _permits(times)
    else:
        state, why = (HELD if opens is None else CLOSED), (*_shut(times, now), *_apart(times, opens), *held)
    soon = _next(times, now, opens)
    return Permission(
        state=state,
        why=why,
        next=soon,
        openings=_spans(times, now, until),
        clock=times.clock,
        closed=tuple(_closed(times, now, max(until, soon.end or soon.start) if soon else until)),
    )


def permission_changed(before: Permission, after: Permission) -> bool:
    """Whether the state of a permission, its next opening or its openings are other ones after than before; another
    reason (``why``), or another ``closed``, is no change."""
    return (before.state, before.next, before.openings) != (after.state, after.next, after.openings)


def calendar_entries(
    found: t.Mapping[str, t.Mapping[str, MemberTimes]], now: datetime, until: datetime
) -> dict[str, tuple[Appointment, ...]]:
    """By the work (UPGRADE, NODES) the entries of a calendar, for members by name: openings, freezes and what these
    close of windows that meet the span from ``now`` to ``until``, one for all members that share it, by start, then
    kind and words; none for what is always open."""
    return {work: tuple(_entries(members, now, until)) for work, members in found.items()}


def _entries(members: t.Mapping[str, MemberTimes], now: datetime, until: datetime) -> t.Iterator[Appointment]:
    """The entries for one kind of work; see ``calendar_entries``."""
    shared: dict[tuple[datetime, str, str, datetime | None], list[str]] = {}
    for name, times in members.items():
        words = "window" if times.sides else ANY_TIME
        for each in permission(times, now, until).openings:
            if each == OpenSpan(now, None):  # always: nothing to put into a calendar
                continue
            shared.setdefault((each.start, OPEN, words, each.end), []).append(name)
        for taken in _closed(times, now, until) if times.sides else ():
            shared.setdefault((taken.span.start, TAKEN, taken_words(taken.freeze), taken.span.end), []).append(name)
        for freeze in times.freezes:
            if freeze.span[0] < until and freeze.span[1] > now:
                shared.setdefault((freeze.span[0], FREEZE, freeze.words, freeze.span[1]), []).append(name)
    for (start, kind, what, end), names in sorted(shared.items(), key=lambda each: (*each[0][:3], each[1])):
        yield Appointment(kind=kind, what=what, start=start, end=end, members=tuple(names))


def _permits(times: MemberTimes) -> tuple[str, ...]:
    """What permits the work now, in one sentence: the windows, or that none holds for it."""
    if times.sides:
        return (f"in the windows of {' and of '.join(each.words for each in times.sides)}",)
    return ("no window holds for it, and no freeze now" if times.freezes else "neither window nor freeze holds for it",)


def _shut(times: MemberTimes, now: datetime) -> t.Iterator[str]:
    """In sentences, each freeze that holds now and until when, then, in one, the windows that are closed."""
    for each in times.freezes:
        if each.span[0] <= now < each.span[1]:
            yield f"{each.words}, until {write_local(each.span[1], each.clock)}"
    closed = [each.words for each in times.sides if not each.open]
    if closed:
        yield f"outside the windows of {' and of '.join(closed)}"


def _apart(times: MemberTimes, opens: datetime | None) -> t.Iterator[str]:
    """A sentence on what to look at where nothing is known to open though several have windows; else nothing. ``opens``
    as of ``closed_until``."""
    if opens == NEVER and len(times.sides) > 1:
        yield "both have to be open at once, and that is not known to come"


def _next(times: MemberTimes, now: datetime, opens: datetime | None) -> OpenSpan | None:
    """The opening that is now, which is told from ``now`` on, or the next one; None if none is known. ``opens`` as of
    ``closed_until``."""
    if opens == NEVER:
        return None
    start = now if opens is None else opens
    return OpenSpan(start, _end(times, changes_at(times.view, start)))


def _spans(times: MemberTimes, now: datetime, until: datetime) -> tuple[OpenSpan, ...]:
    """The openings that meet the time from ``now`` to ``until``, in order; one without an end where nothing ever
    closes."""
    if times.view.windows is None:
        return (OpenSpan(now, None),)
    met = meeting(times.view.windows, now, until)
    # Without windows it is open since nobody knows when.
    return tuple(OpenSpan(start if times.sides else max(start, now), _end(times, end)) for start, end in met)


def _closed(times: MemberTimes, now: datetime, until: datetime) -> t.Iterator[ClosedSpan]:
    """What freezes take of what windows have from ``now`` to ``until``, as of ``taken_spans``."""
    permitted = ((now, max(until, times.horizon)),) if times.permitted is None else times.permitted
    freezes = ((each.words, each.span) for each in times.freezes)
    for each in taken_spans(permitted, freezes, now, until):
        part, whole = (OpenSpan(start, _end(times, end)) for start, end in (each.span, each.of))
        yield ClosedSpan(span=part, of=whole, freeze=" and ".join(each.freezes))


def _end(times: MemberTimes, end: datetime | None) -> datetime | None:
    """The end; None for one at or behind the horizon, since what lasts as long as is looked ahead is not known to
    end."""
    return None if end is None or end >= times.horizon else end
