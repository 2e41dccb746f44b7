# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Budgets that let no node go now (limit 0): which of them, at what hours, in words, when they let some go again, and
how far ahead that is looked for."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

from ...objects.karpenter.node_pool import Budget
from ...values.instants import write_local
from ...values.listed import listed
from .budgets import Allowed, BudgetRule, rule_of
from .timeline import timeline

# First nearby, because a year of some budgets is long to write down.
NEARBY, A_YEAR = timedelta(days=9), timedelta(days=366)
# Budgets that open and close every few minutes, many of them, are not looked at for a year: a step would take minutes.
MOST_SPANS = 20_000
A_DAY, THIS_WEEK = timedelta(days=1), timedelta(days=6)
EVERY = ("*", "?")
NAMED = 3


def opens_at(budgets: t.Sequence[Budget], now: datetime, nodes: int, reason: str) -> datetime | None:
    """The first instant from ``now`` on, both aware, at which the limit of ``nodes`` counted nodes for a reason is
    above 0; None if it is not within ``horizons``."""
    for ahead in horizons(budgets):
        changes = timeline(budgets, now, now + ahead, nodes, reason).changes
        found = next((each.at for each in changes if each.limit > 0), None)
        if found is not None:
            return found
    return None


def horizons(budgets: t.Iterable[Budget]) -> tuple[timedelta, timedelta]:
    """How far to look ahead at first (9 days), and then at most: 366 days, or fewer, but at least 9, where the budgets,
    each taken to open every day, open more than ``MOST_SPANS`` times in it; ``@every`` and unreadable schedules not
    counted."""
    windows = (rule_of(each).window for each in budgets)
    a_day = sum(len(each.day) for each in windows if each is not None)
    return NEARBY, max(NEARBY, min(A_YEAR, timedelta(days=MOST_SPANS // max(a_day, 1))))


def ahead_words(budgets: t.Iterable[Budget]) -> str:
    """The longer of ``horizons`` of budgets, for people: ``a year``, or ``13 days`` where that is shorter."""
    longest = horizons(budgets)[1]
    return "a year" if longest == A_YEAR else f"{longest.days} days"


def closed_words(answer: Allowed, opens: datetime | None, now: datetime) -> str:
    """Which budgets let none go, of an answer with a limit of 0 or less, the first three and how many more, and until
    when, in UTC: ``budget 2 (0 nodes, 21:00-04:00 UTC) until Fri 04:00 UTC``, or without ``opens`` ``for a year or
    more`` (as of ``ahead_words``). One that is alone in the list has no number."""
    rows = answer.budgets
    alone = len(rows) == 1
    found = []
    for place in answer.binding:
        row, rule = rows[place], answer.rules[place]
        why = ", ".join(filter(None, (row.error or row.arithmetic, _hours(rule))))
        found.append(f"its budget ({why})" if alone else f"budget {place + 1} ({why})")
    until = f"until {_short(opens, now)}" if opens else f"for {ahead_words(each.budget for each in rows)} or more"
    return f"{listed(found, NAMED)} {until}"


def _short(instant: datetime, now: datetime) -> str:
    """An aware instant in UTC, ``Fri 04:00 UTC``; with its date from six days after ``now`` on."""
    day, date, clock, zone = write_local(instant, UTC).split(" ")
    return " ".join((day, clock, zone) if instant - now < THIS_WEEK else (day, date, clock, zone))


def _hours(rule: BudgetRule) -> str:
    """When a budget holds: ``1-5 21:00-04:00 UTC`` if it begins once a day, for less than a day, and only days of the
    week are chosen; else its schedule ``for`` its duration. Empty if always, or if that cannot be read."""
    if rule.window is None:
        return ""
    schedule, spans = rule.budget.schedule or "", rule.window.day
    parts = schedule.split()
    if len(spans) == 1 and len(parts) == len("mhdmw") and parts[2] in EVERY and parts[3] in EVERY:
        begin, end = spans[0]
        if end - begin < A_DAY:
            days = "" if parts[4] in EVERY else f"{parts[4]} "
            return f"{days}{_clock(begin)}-{_clock(end)} UTC"
    return f"{schedule} for {rule.budget.duration}"


def _clock(span: timedelta) -> str:
    """A distance from midnight as a clock shows it, ``04:00``; whole days and seconds are dropped."""
    hours, minutes = divmod(int(span.total_seconds()) // 60 % (24 * 60), 60)
    return f"{hours:02}:{minutes:02}"
