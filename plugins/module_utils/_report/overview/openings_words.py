# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Openings in words: the next one, what freezes close of others, daily ones in one row (``every day 21:00 to 03:00``),
and how they move between before and after."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta, tzinfo

from ..._core.overview.openings import (
    CLOSED,
    HELD,
    IS_OPEN,
    UNKNOWN,
    ClosedSpan,
    ClusterOpenings,
    OpenSpan,
    Permission,
    permission_changed,
)
from ..._core.values.instants import write_local
from ..._core.values.listed import listed, number_of
from ..text import folded, table_rows

SHOWN, FREEZES, DAILY, OTHERS = 40, 3, 3, 3
DAY = timedelta(days=1)


def opening_text(each: Permission) -> str:
    """When it opens next, in UTC, such as ``Sat 2026-11-28 21:00``; else in words: ``now``, ``not known``,
    ``none in 13 months``, or ``when that is over`` for one that is held and opens again."""
    if each.state == IS_OPEN:
        return "now"
    if each.state == UNKNOWN:
        return "not known"
    if each.next is None:
        return "none in 13 months"
    if each.state == HELD:
        return "when that is over"
    return minute_text(each.next.start)


def closing_text(each: Permission) -> str:
    """When what is open now, or opens next, closes, in UTC, or that no end is known; ``-`` where nothing opens."""
    if each.next is None:
        return "-"
    return minute_text(each.next.end) if each.next.end else "no end is known"


def minute_text(at: datetime) -> str:
    """The instant in UTC, to the minute and without the zone: ``Sat 2026-11-28 21:00``."""
    return write_local(at, UTC).removesuffix(" UTC")


def others_counted(names: t.Sequence[str]) -> list[str]:
    """An indented line that counts and names those after the first, such as
    ``and 5 more with the same answer: b, c, d and 2 more``; none for one name."""
    if len(names) < 2:
        return []
    return folded(f"and {len(names) - 1} more with the same answer: {listed(names[1:], OTHERS)}", "    ")


def against_words(each: Permission) -> list[str]:
    """What is against it now, or permits it, in sentences, that of a freeze with the openings of windows that it closes
    in the days that were asked for; then what other freezes close."""
    found: dict[str, list[ClosedSpan]] = {}
    for one in each.closed:
        found.setdefault(one.freeze, []).append(one)
    lines = []
    for why in each.why:
        holds = next((freeze for freeze in found if why.startswith(f"{freeze}, until ")), None)
        # Without windows a freeze closes nothing but what it says itself.
        taken = [one for one in found.pop(holds, ()) if one.of.end is not None] if holds else []
        lines.append(f"{why}; {_closed('it', taken, each.clock)}" if taken else why)
    lines += [_closed(freeze, spans, each.clock) for freeze, spans in list(found.items())[:FREEZES]]
    more = len(found) - FREEZES
    return [*lines, *[f"{number_of(more, 'more freeze', 'closes', 'close')} openings"] * (more > 0)]


def _closed(freeze: str, spans: t.Sequence[ClosedSpan], clock: tzinfo) -> str:
    """What one freeze closes, by the clock: a single opening, wholly, in its first part or from when on; of several how
    many, when the first and the last begin, and whether all are closed wholly."""
    first, *more = spans
    part, whole = first.span, first.of
    start = write_local(whole.start, clock)
    if more:
        some = "" if all(each.whole for each in spans) else ", wholly or in part,"
        last = write_local(more[-1].of.start, clock)
        return f"{len(spans)} openings from {start} to {last} are closed{some} by {freeze}"
    until = write_local(part.end, clock) if part.end and part.end != whole.end else ""
    if part.start > whole.start:
        return f"closed from {write_local(part.start, clock)} {f'until {until}' if until else 'on'} by {freeze}"
    return f"an opening {start} is closed{f' until {until}' if until else ''} by {freeze}"


def span_rows(spans: t.Sequence[OpenSpan], clock: tzinfo) -> list[str]:
    """A row for each opening, by the clock of the windows; ``DAILY`` or more of the same hours on days that follow each
    other share one."""
    rows: list[str] = []
    alike: list[OpenSpan] = []
    for each in spans:
        if alike and not _next_day(alike[-1], each, clock):
            rows += _rows(alike, clock)
            alike = []
        alike.append(each)
    return rows + _rows(alike, clock)


def _rows(alike: t.Sequence[OpenSpan], clock: tzinfo) -> list[str]:
    """The rows of openings that are alike, day by day: one for all, or one for each where they are fewer than ``DAILY``
    or have no end."""
    first = alike[0] if alike else None
    if first is None or first.end is None or len(alike) < DAILY:
        return [_row(each, clock) for each in alike]
    day, opens_at = _day_and_hour(first.start, clock)
    last, closes_at = _day_and_hour(alike[-1].start, clock)[0], _day_and_hour(first.end, clock)[1]
    zone = write_local(first.start, clock).split()[-1]
    return [f"every day {opens_at} to {closes_at} {zone}, {day} to {last}"]


def _day_and_hour(at: datetime, clock: tzinfo) -> tuple[str, str]:
    """``Sat 2026-11-28`` and ``21:00``, by the clock."""
    name, day, hour, _zone = write_local(at, clock).split()
    return f"{name} {day}", hour


def _next_day(each: OpenSpan, other: OpenSpan, clock: tzinfo) -> bool:
    """Whether the other one begins 24 hours later, at the same hour of the clock, and lasts as long, and the clock is
    not set between the first's start and the other's end. False where one has no end."""
    if each.end is None or other.end is None or other.end - other.start != each.end - each.start:
        return False
    one, two = each.start.astimezone(clock), other.start.astimezone(clock)
    alike = (one.timetz(), one.utcoffset()) == (two.timetz(), two.utcoffset())
    return alike and other.end.astimezone(clock).utcoffset() == one.utcoffset() and other.start - each.start == DAY


def _row(each: OpenSpan, clock: tzinfo) -> str:
    """``Sat 2026-11-28 21:00 CET to Sun 2026-11-29 03:00 CET``, or ``on`` in place of the end where there is none."""
    until = f"to {write_local(each.end, clock)}" if each.end else "on"
    return f"{write_local(each.start, clock)} {until}"


def moved_lines(
    before: t.Sequence[ClusterOpenings],
    found: t.Sequence[ClusterOpenings],
    work: str,
    heads: tuple[str, str, str],
    most: int = SHOWN,
    hint: str = "; ask for them by name",
) -> list[str]:
    """A table of before and after side by side, of those clusters whose openings for the ``work`` move, the worst
    first: unknown, without any opening, then by how much later the next one is. Clusters that move alike share a row.
    No lines if none moves. Both sequences are of the same clusters, in one order; ValueError if one is longer.
    ``heads`` are the titles of the columns, ``hint`` ends the line that counts clusters beyond ``most`` rows."""
    rows: dict[tuple[str, str], list[str]] = {}
    for old, new in sorted(zip(before, found, strict=True), key=lambda pair: _badness(pair, work)):
        one, other = old.permissions[work], new.permissions[work]
        if permission_changed(one, other):
            rows.setdefault((_short(one, other), _short(other, one)), []).append(old.name)
    if not rows:
        return []
    told = [(names[0], one, other) for (one, other), names in rows.items()]
    lines, *parts = table_rows(heads, told[:most], "")
    for part, names in zip(parts, rows.values(), strict=False):
        lines += [*part, *others_counted(names)]
    left = sum(len(names) for names in list(rows.values())[most:])
    return [
        *lines,
        *[f"{number_of(left, 'more cluster', 'changes', 'change')} in other ways{hint}"] * bool(left),
    ]


def _badness(pair: tuple[ClusterOpenings, ClusterOpenings], work: str) -> tuple[int, timedelta]:
    """To sort a cluster, before and after, by, the worst being the least: 0 unknown after, 1 without an opening after,
    2 with one, 3 with one where none was before; of the 2 then by how much earlier the next one is."""
    old, new = (each.permissions[work] for each in pair)
    if new.state == UNKNOWN:
        return 0, timedelta()
    if new.next is None:
        return 1, timedelta()
    if old.next is None:
        return 3, timedelta()
    return 2, old.next.start - new.next.start


def _short(each: Permission, other: Permission) -> str:
    """Now and next; of two that are the same in that, the first opening that the other one does not have, or, where
    only one of them has such, how many openings there are, with that one. ``unknown`` where that is not known."""
    if each.state == UNKNOWN:
        return UNKNOWN
    lone = next((one for one in each.openings if one not in other.openings), None)
    both = lone is not None and any(one not in each.openings for one in other.openings)
    alike = (each.state, each.next) == (other.state, other.next)
    if alike and lone is not None and both:
        return f"opens {minute_text(lone.start)}"
    if alike:
        return f"{number_of(len(each.openings), 'opening')}{f', one {minute_text(lone.start)}' if lone else ''}"
    if each.state in (IS_OPEN, HELD):
        return f"{each.state}, closes {closing_text(each)}" if each.next and each.next.end else each.state
    return f"opens {opening_text(each)}" if each.next else f"{CLOSED}, {opening_text(each)}"
