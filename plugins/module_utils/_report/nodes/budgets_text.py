# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Budgets of pools of nodes as text: how many nodes may be disrupted now, until when, why, and a table of the week by
half hours, with windows and freezes."""

from __future__ import annotations

import typing as t
from datetime import timedelta, tzinfo
from itertools import groupby

from ..._core.disruption.budgets.budgets import UNLIMITED
from ..._core.disruption.budgets.closing import ahead_words
from ..._core.disruption.budgets.timeline import Opening
from ..._core.disruption.members.budget_answers import PoolAnswer, fleet_week, half_hours
from ..._core.disruption.members.pools import ROTATION
from ..._core.values.instants import write_day, write_local
from ..._core.values.listed import number_of
from ..text import folded, table

ALL, MOST_OPENINGS = "all", 3
CLOSED, FREE, MANY, PAST, BY_FLEET = ".", "*", "#", " ", "-"
LEGEND = f"lowest limit of each half hour: {CLOSED} none, 1-9, {MANY} ten or more, {FREE} no limit"
FLEET_LEGEND = f"{BY_FLEET} closed by the fleet: node_rotation waits; Karpenter knows nothing of that"
Group = tuple[PoolAnswer, str]


def budgets_text(answers: t.Sequence[PoolAnswer], zone: tzinfo, week: bool) -> list[str]:
    """A part for each pool, by the clock of ``zone``: how many nodes may be disrupted now, until when, why, what
    blocks, and what windows and freezes close; with ``week`` a table of the week. ``answers`` of a pool have to stand
    together. A sentence where there are none."""
    lines: list[str] = []
    for _key, found in groupby(answers, key=lambda each: (each.pool.member, each.pool.kind, each.pool.name)):
        lines += _pool_lines(list(found), zone, week)
    return lines or ["no pool with budgets was found; a NodeRotation makes one of its nodes"]


def _pool_lines(answers: list[PoolAnswer], zone: tzinfo, week: bool) -> list[str]:
    """The part of one pool, as of ``budgets_text``, for its ``answers``, one for each reason; there is at least one."""
    pool = answers[0].pool
    lines = folded(f"{pool.member}: {pool.kind} {pool.name}, {number_of(pool.census.total, 'node', 'counts', 'count')}")
    groups = _alike(answers)
    lines += table(("REASON", "NOW", "UNTIL", "WHY"), [_row(each, reason, zone) for each, reason in groups])
    for each, reason in groups:
        for text in each.blocks:
            lines += folded(f"{reason}: {text}", "    ")
        if each.closed_now or (each.allowed == 0 and each.week.changes[0].limit <= 0):
            lines += folded(f"{reason}: {_openings_text(each.openings, zone)}", "    ")
    excluded = [f"{name} {why}" for name, why in pool.census.excluded.items()]
    if excluded:
        lines += folded(f"not counted: {', '.join(excluded)}", "    ")
    for text in answers[0].held:
        lines += folded(f"node_rotation waits: {text}", "    ")
    if week:
        for each, reason in groups:
            lines += _week_lines(each, reason, zone)
    for text in _closed(answers[0], zone):
        lines += folded(text, "    ")
    return lines


def _closed(each: PoolAnswer, zone: tzinfo) -> list[str]:
    """What closes the week besides budgets: each freeze with when it does, ``or later`` where that is beyond the week,
    and once that windows do; nothing if nothing does."""
    if not each.closures:
        return []
    told = {
        closed.why: f": {write_local(closed.start, zone)} to {write_local(closed.end, zone)}"
        + " or later" * (closed.end >= each.week.end)
        if closed.why.startswith("freeze ")
        else ""
        for closed in each.closures
    }
    return [f"the fleet closes it: {why}{when}" for why, when in told.items()]


def _alike(answers: list[PoolAnswer]) -> list[Group]:
    """Pairs of an answer and the reasons that it is for, parted by commas: those of which everything that is told is
    the same, the whole week too, are together; ``all`` if these are several and there are no others."""
    out: list[tuple[PoolAnswer, list[str]]] = []
    for each in answers:
        known = next((names for one, names in out if _told(one) == _told(each)), None)
        if known is None:
            out.append((each, [each.reason]))
        else:
            known.append(each.reason)
    if len(out) == 1 and len(answers) > 1:
        return [(out[0][0], ALL)]
    return [(each, ", ".join(names)) for each, names in out]


def _told(each: PoolAnswer) -> tuple[t.Any, ...]:
    """What two answers are compared by."""
    return each.week, each.allowed, each.change, each.blocks, each.allowance.text


def _row(each: PoolAnswer, reason: str, zone: tzinfo) -> tuple[str, str, str, str]:
    """The cells of one answer: how many now, until when and how many then, and the arithmetic. A pool of a NodeRotation
    that the fleet closes now is ``closed`` until the next opening."""
    if each.pool.kind == ROTATION and each.closed_now:
        opens = next(iter(each.openings), None)
        then = f"{write_local(opens.start, zone)}, then {_limit(opens.highest)}" if opens else "for seven days or more"
        return reason, "closed", then, each.allowance.text
    now = "no limit" if each.allowed is None else str(each.allowed)
    change = each.change
    until = f"no change in {ahead_words(each.pool.budgets)}"
    if change:
        until = f"{write_local(change.at, zone)}, then {_limit(change.limit)}"
    return reason, now, until, each.allowance.text


def _limit(value: int) -> str:
    """The limit as text, 0 for less, or ``no limit``."""
    return "no limit" if value == UNLIMITED else str(max(value, 0))


def _openings_text(openings: t.Sequence[Opening], zone: tzinfo) -> str:
    """The first ``MOST_OPENINGS`` openings of the coming seven days, each with the highest limit in it, or that there
    is none."""
    told = [
        f"{write_local(each.start, zone)} to {write_local(each.end, zone)} ({_limit(each.highest)})"
        for each in openings[:MOST_OPENINGS]
    ]
    return f"next openings: {', '.join(told)}" if told else "no opening in the coming seven days"


def _week_lines(each: PoolAnswer, reason: str, zone: tzinfo) -> list[str]:
    """The table of the week: a head, a line for each day with a sign for each half hour by the clock of ``zone``, and
    the legend. A day with nothing to show is left out."""
    first = each.week.start.astimezone(zone).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    hours = "".join(f"{hour:<4}" for hour in range(0, 24, 2))
    free = fleet_week(each)
    lines = [f"  {reason}, {write_local(each.week.start, zone).rsplit(' ', 1)[-1]}", f"             {hours}".rstrip()]
    for number in range(8):
        day = first + timedelta(days=number)
        limits = zip(half_hours(each.week, zone, day), half_hours(free, zone, day), strict=True)
        cells = "".join(_cell(limit, fleet) for limit, fleet in limits)
        if cells.strip():
            lines.append(f"  {write_day(day)}  {cells}".rstrip())
    return [*lines, f"  {LEGEND}", *([f"  {FLEET_LEGEND}"] if each.closures else [])]


def _cell(limit: int | None, fleet: int | None) -> str:
    """The sign of one half hour: a space where there is no limit to tell (None), ``-`` where the fleet closes it, else
    as in the legend."""
    if limit is None:
        return PAST
    if fleet == 0:
        return BY_FLEET
    if limit == UNLIMITED:
        return FREE
    return CLOSED if limit <= 0 else str(limit) if limit < 10 else MANY
