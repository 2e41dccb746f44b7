# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a list of budgets permits over a span of time in pools of any size but 0: for each reason, when nothing is
permitted (``closed``, ``never_permits``), when nothing limits (``unlimited``, ``never_limits``), and which budgets
decide."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ...objects.karpenter.node_pool import REASONS, Budget
from ...windows.spans import Spans, merged
from .budgets import BudgetRule, is_zero, never_above, rule_of
from .timeline import Active, activity


@dataclass(frozen=True)
class ReasonFacts:
    """Spans in aware UTC, in order and apart: ``closed``, no node may go in pools of any size; ``unlimited``, no limit.
    ``deciding`` are the places, from 0, of the budgets that limit at some time while no other is as low in pools of any
    size; of equal ones, and of those that cannot be evaluated, the first."""

    reason: str
    closed: Spans
    unlimited: Spans
    deciding: frozenset[int]
    start: datetime
    end: datetime

    @property
    def never_permits(self) -> bool:
        """Whether all from ``start`` to ``end``, which is later, is closed."""
        return self.closed == ((self.start, self.end),)

    @property
    def never_limits(self) -> bool:
        """Whether all from ``start`` to ``end``, which is later, is unlimited."""
        return self.unlimited == ((self.start, self.end),)


def reason_facts(budgets: t.Sequence[Budget], start: datetime, end: datetime) -> tuple[ReasonFacts, ...]:
    """The facts of each reason (Empty, Drifted, Underutilized, in this order) between two aware instants. An empty list
    is unlimited all the time; budgets that cannot be read close."""
    rules = tuple([rule_of(each) for each in budgets])
    begin, until = start.astimezone(UTC), end.astimezone(UTC)
    steps = list(activity(rules, begin.replace(tzinfo=None), until.replace(tzinfo=None)))
    known: dict[tuple[bool, ...], ReasonFacts] = {}
    found = []
    for reason in REASONS:
        covering = tuple([each.covers(reason) for each in budgets])
        if covering not in known:
            known[covering] = _facts(rules, steps, reason, begin, until)
        found.append(replace(known[covering], reason=reason))
    return tuple(found)


def _facts(
    rules: tuple[BudgetRule, ...], steps: list[tuple[datetime, Active]], reason: str, start: datetime, end: datetime
) -> ReasonFacts:
    """The facts of one reason in [start, end), aware UTC, from what ``activity`` tells of the same span in naive
    UTC."""
    closed, unlimited, deciding = [], [], set()
    judged: dict[Active, tuple[bool, list[int]]] = {}
    ends = [at.replace(tzinfo=UTC) for at, _active in steps[1:]] + [end]
    for (at, active), until in zip(steps, ends, strict=False):  # no steps, and still one end, if no time is between
        if active not in judged:
            judged[active] = _judge(rules, active, reason)
        zero, limiting = judged[active]
        span = (at.replace(tzinfo=UTC), until)
        if zero:
            closed.append(span)
        if not limiting:
            unlimited.append(span)
        deciding |= {place for place in limiting if not _needless(rules, limiting, place)}
    return ReasonFacts(reason, tuple(merged(closed)), tuple(merged(unlimited)), frozenset(deciding), start, end)


def _judge(rules: tuple[BudgetRule, ...], active: Active, reason: str) -> tuple[bool, list[int]]:
    """Whether nothing is permitted in pools of any size, and the places of the budgets that take part: the first that
    cannot be evaluated, which closes the pool whatever its amount, or without such those that are active and cover the
    reason."""
    rows = list(enumerate(zip(rules, active, strict=True)))
    broken = [place for place, (rule, on) in rows if rule.error(on)]
    taking_part = broken[:1] or [place for place, (rule, on) in rows if on and rule.budget.covers(reason)]
    return bool(broken) or any(is_zero(rules[place].amount) for place in taking_part), taking_part


def _needless(rules: tuple[BudgetRule, ...], limiting: list[int], place: int) -> bool:
    """Whether another of the budgets at the places ``limiting`` is as low in pools of any size; of two that are equal
    the later one is needless."""
    mine = rules[place].amount
    for other in limiting:
        as_low = other != place and never_above(rules[other].amount, mine)
        if as_low and (other < place or not never_above(mine, rules[other].amount)):
            return True
    return False
