# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When the limit that its budgets set a pool changes over a span of time: all instants, the next one, openings between
them (``lowest``, ``highest``), spans that others close; and which budgets are active when."""

from __future__ import annotations

import typing as t
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from operator import xor

from ...objects.karpenter.node_pool import Budget
from ...values.instants import write_time
from ...windows.spans import Span, clipped, joined
from .budgets import (
    Allowed,
    BudgetRule,
    allowed,
    budget_limit_or_none,
    decide,
    rule_of,
)

Active = tuple[bool | None, ...]  # pylint: disable=unsupported-binary-operation  # Python 3.11 can


@dataclass(frozen=True, slots=True)
class LimitChange:
    """From ``at``, in aware UTC, on ``limit`` or ``error`` is another; ``limit`` is ``UNLIMITED`` if nothing limits,
    negative where a budget's number is. ``error``: some budget cannot be evaluated, so that it is 0."""

    at: datetime
    limit: int
    error: bool = False

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields; ``at`` is a text in UTC, ``limit`` None for no limit."""
        return {
            "at": write_time(self.at),
            "limit": budget_limit_or_none(self.limit),
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Opening:
    """A span of aware instants, its end not in it, in which budgets let nodes go: ``lowest`` and ``highest`` are the
    limits in it (``UNLIMITED``: none), before nodes are subtracted that are disrupted already."""

    start: datetime
    end: datetime
    lowest: int
    highest: int

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields; instants are texts in UTC, ``lowest`` and ``highest`` None for no limit."""
        return {
            "start": write_time(self.start),
            "end": write_time(self.end),
            "lowest": budget_limit_or_none(self.lowest),
            "highest": budget_limit_or_none(self.highest),
        }


@dataclass(frozen=True)
class Timeline:
    """The limits over [start, end) in aware UTC, in order; the first change is the limit at the start. There is none if
    ``end`` is not later than ``start``."""

    start: datetime
    end: datetime
    changes: tuple[LimitChange, ...]

    @property
    def openings(self) -> tuple[Opening, ...]:
        """Spans with a limit above 0, in order, those that meet made one."""
        out: list[Opening] = []
        ends = [each.at for each in self.changes[1:]] + [self.end]
        for change, end in zip(self.changes, ends, strict=False):  # without a change there is still the end
            if change.limit <= 0:
                continue
            if out and out[-1].end == change.at:
                last = out.pop()
                lowest, highest = min(last.lowest, change.limit), max(last.highest, change.limit)
                out.append(Opening(last.start, end, lowest, highest))
            else:
                out.append(Opening(change.at, end, change.limit, change.limit))
        return tuple(out)


def timeline(budgets: t.Sequence[Budget], start: datetime, end: datetime, nodes: int, reason: str) -> Timeline:
    """The limits that ``nodes`` counted nodes have for a reason from one aware instant to another."""
    changes: list[LimitChange] = []
    for at, answer in answers_over(budgets, start, end, nodes, reason):
        if not changes or (changes[-1].limit, changes[-1].error) != (answer.limit, answer.error):
            changes.append(LimitChange(at, answer.limit, answer.error))
    return Timeline(start.astimezone(UTC), end.astimezone(UTC), tuple(changes))


def answers_over(
    budgets: t.Sequence[Budget], start: datetime, end: datetime, nodes: int, reason: str
) -> t.Iterator[tuple[datetime, Allowed]]:
    """The limits that ``nodes`` counted nodes have for a reason from one aware instant to another: the first and each
    at which limit, ``error`` or ``binding`` change, in aware UTC, with the whole answer."""
    rules = tuple([rule_of(each) for each in budgets])
    begin, until = (each.astimezone(UTC).replace(tzinfo=None) for each in (start, end))
    decided: dict[int, tuple[Allowed, tuple[t.Any, ...]]] = {}
    last: tuple[t.Any, ...] = ()
    for at, mask in _masks(rules, begin, until):
        if mask not in decided:
            answer = decide(rules, _active(rules, mask), nodes, reason)
            decided[mask] = answer, (answer.limit, answer.error, answer.binding)
        answer, told = decided[mask]
        if told != last:
            last = told
            yield at.replace(tzinfo=UTC), answer


def with_closed_spans(found: Timeline, closed: t.Iterable[Span]) -> Timeline:
    """The same timeline with a limit of 0, and no ``error``, in ``closed``, spans of aware instants in any order, their
    ends not in them."""
    spans = clipped(joined(closed), found.start, found.end)
    instants = sorted({*(each.at for each in found.changes), *(at for span in spans for at in span if at < found.end)})
    changes: list[LimitChange] = []
    for at in instants:
        last = found.changes[bisect_right(found.changes, at, key=_at) - 1]
        limit, error = (0, False) if any(begin <= at < until for begin, until in spans) else (last.limit, last.error)
        if not changes or (changes[-1].limit, changes[-1].error) != (limit, error):
            changes.append(LimitChange(at.astimezone(UTC), limit, error))
    return Timeline(found.start, found.end, tuple(changes))


def now_and_next_change(
    budgets: t.Sequence[Budget], now: datetime, nodes: int, reason: str, horizon: datetime
) -> tuple[Allowed, LimitChange | None]:
    """The answer of budgets for ``nodes`` counted nodes and a reason at ``now``, aware, and the next change of limit or
    ``error`` after it and before the horizon, an aware instant, or None."""
    changes = timeline(budgets, now, horizon, nodes, reason).changes if horizon > now else ()
    return allowed(budgets, now, nodes, reason), changes[1] if len(changes) > 1 else None


def activity(rules: tuple[BudgetRule, ...], start: datetime, end: datetime) -> t.Iterator[tuple[datetime, Active]]:
    """Which budgets are active from when on (as of ``BudgetRule.active``, for each of ``rules``); naive instants in
    UTC, the first ``start``. Two in a row may tell the same."""
    known: dict[int, Active] = {}
    for at, mask in _masks(rules, start, end):
        if mask not in known:
            known[mask] = _active(rules, mask)
        yield at, known[mask]


def _active(rules: tuple[BudgetRule, ...], mask: int) -> Active:
    """Which budgets are active by a bit set as of ``_masks``, in the order of ``rules``; None for one whose schedule
    cannot be read."""
    return tuple(None if rule.schedule_problem else bool(mask >> place & 1) for place, rule in enumerate(rules))


def _masks(rules: tuple[BudgetRule, ...], start: datetime, end: datetime) -> list[tuple[datetime, int]]:
    """From when on which budgets are active, naive instants in UTC, in order, the first ``start``, with a bit set each:
    bit n is the budget at place n, 0 for one whose schedule cannot be read. Empty if ``end`` is not later."""
    if start >= end:
        return []
    turned: dict[datetime, int] = defaultdict(int, {start: 0})
    for place, rule in enumerate(rules):
        bit = 1 << place
        for begin, until in _spans(rule, start, end):
            turned[begin] ^= bit
            turned[until] ^= bit
    turned.pop(end, None)
    instants = sorted(turned)
    return list(zip(instants, accumulate(map(turned.__getitem__, instants), xor), strict=True))


def _at(change: LimitChange) -> datetime:
    return change.at


def _spans(rule: BudgetRule, start: datetime, end: datetime) -> t.Sequence[tuple[datetime, datetime]]:
    """The spans in [start, end) in which a budget is active, naive instants in UTC, in order; none if its schedule
    cannot be read."""
    if rule.schedule_problem:
        return ()
    return [(start, end)] if rule.window is None else rule.window.spans(start, end)
