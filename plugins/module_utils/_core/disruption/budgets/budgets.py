# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How many of so many nodes budgets let go for one reason at one instant (``limit``, ``binding``, ``arithmetic``, why):
budgets and their ``nodes`` read, amounts compared (Karpenter, ``NodePool.GetAllowedDisruptionsByReason``).

Budgets only ever lower the limit: the smallest value among those that are active and cover the reason. A budget that
cannot be evaluated closes the pool for every reason, also for those that it does not cover.
"""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from ...objects.karpenter.node_pool import Budget
from ...values.int_or_percent import int64
from ...values.listed import number_of
from ...windows.budget_schedule import Window, window

# The largest 32-bit integer, which is how upstream writes "no limit".
UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Amount:
    """``nodes`` of a budget: a number, or a percentage of the pool, which is rounded up."""

    number: int
    percent: bool

    def count_of(self, total: int) -> int:
        """How many of ``total`` nodes that is: a percentage, rounded up, or the number itself, negative or above
        ``total`` too."""
        # 64-bit floats as upstream; exact while percentage x total stays below 2^53.
        return math.ceil(float(self.number) * float(total) / 100) if self.percent else self.number


@dataclass(frozen=True, slots=True)
class BudgetRule:
    """A budget, read. ``window`` None means always, or, with a ``schedule_problem``, that schedule or duration cannot
    be read; ``amount`` is None where ``nodes`` cannot. The problems say why, or are empty."""

    budget: Budget
    window: Window | None
    amount: Amount | None
    schedule_problem: str = ""
    nodes_problem: str = ""

    def active(self, now: datetime) -> bool | None:
        """Whether it is active at a naive instant in UTC, always without schedule and duration; None if these cannot be
        read."""
        if self.window is not None:
            return self.window.active(now)
        return None if self.schedule_problem else True

    def value(self, active: bool | None, total: int) -> int:
        """How many of ``total`` nodes may go by this budget alone: ``UNLIMITED`` where it is not active, 0 where it
        cannot be evaluated, negative where its amount is."""
        if active:
            return 0 if self.amount is None else self.amount.count_of(total)
        return 0 if active is None else UNLIMITED

    def error(self, active: bool | None) -> str:
        """Why it cannot be evaluated, in words, or empty. An unreadable ``nodes`` matters only while the budget is
        active."""
        return self.schedule_problem or (self.nodes_problem if active else "")


@dataclass(frozen=True)
class BudgetAnswer:
    """What one budget says, and why. ``active`` is None if its schedule cannot be read; ``value`` is as of
    ``BudgetRule.value``. ``error`` says why it cannot be evaluated, ``arithmetic`` how the value came about, or are
    empty; ``why`` says whether and why it counts for the reason."""

    budget: Budget
    active: bool | None
    value: int
    error: str
    why: str
    arithmetic: str

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields, ``budget`` as in a manifest; ``value`` is None for no limit."""
        return {
            "budget": self.budget.as_dict(),
            "active": self.active,
            "value": budget_limit_or_none(self.value),
            "why": self.why,
            "arithmetic": self.arithmetic,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Allowed:
    """The answer for one reason and ``total`` nodes that count. ``limit`` is before nodes are subtracted that are being
    disrupted already: ``UNLIMITED`` where nothing limits, 0 with ``error`` (some budget cannot be evaluated), negative
    where a budget's amount is. ``active`` is as of ``BudgetRule.active``, for each of ``rules``."""

    reason: str
    total: int
    limit: int
    error: bool
    rules: tuple[BudgetRule, ...]
    active: tuple[bool | None, ...]

    @property
    def budgets(self) -> tuple[BudgetAnswer, ...]:
        """What each budget says and why, in the order of the list."""
        return tuple(
            _answer(rule, on, self.total, self.reason) for rule, on in zip(self.rules, self.active, strict=True)
        )

    @property
    def binding(self) -> tuple[int, ...]:
        """The places, from 0 and in order, of the active budgets that set the limit, several on a tie. If some cannot
        be evaluated, just these, whatever their reasons."""
        rows = list(enumerate(zip(self.rules, self.active, strict=True)))
        if self.error:
            return tuple(index for index, (rule, on) in rows if rule.error(on))
        return tuple(
            index
            for index, (rule, on) in rows
            if on and rule.budget.covers(self.reason) and rule.value(on, self.total) == self.limit != UNLIMITED
        )

    def remaining_after(self, disrupting: int) -> int:
        """What remains of the limit while that many nodes are being disrupted, never below 0; a number near
        ``UNLIMITED`` where nothing limits."""
        return max(self.limit - disrupting, 0)

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it: the fields without ``rules`` and ``active``, with ``binding`` and ``budgets``; ``limit``
        is None for no limit."""
        return {
            "reason": self.reason,
            "total": self.total,
            "limit": budget_limit_or_none(self.limit),
            "error": self.error,
            "binding": list(self.binding),
            "budgets": [each.as_dict() for each in self.budgets],
        }


def allowed(budgets: t.Sequence[Budget], now: datetime, nodes: int, reason: str) -> Allowed:
    """How many of ``nodes`` counted nodes may be disrupted at an aware instant for a reason, as of ``decide``, those
    not subtracted that are disrupted already."""
    utc = now.astimezone(UTC).replace(tzinfo=None)
    rules = tuple([rule_of(each) for each in budgets])
    return decide(rules, tuple([each.active(utc) for each in rules]), nodes, reason)


def decide(rules: tuple[BudgetRule, ...], active: tuple[bool | None, ...], nodes: int, reason: str) -> Allowed:
    """How many of ``nodes`` counted nodes may be disrupted for a reason, where it is known which budgets are active
    (None: the schedule cannot be read). A budget that cannot be evaluated closes for every reason: the limit is 0, with
    ``error``. ``UNLIMITED`` if none is active for the reason. ValueError if there are not as many of ``active`` as of
    ``rules``."""
    limit, error = UNLIMITED, False
    for rule, on in zip(rules, active, strict=True):
        if on is None or (on and rule.amount is None):
            limit, error = 0, True
        elif on and not error and rule.budget.covers(reason):
            limit = min(limit, rule.value(on, nodes))
    return Allowed(reason, nodes, limit, error, rules, active)


@lru_cache(maxsize=4096)
def rule_of(budget: Budget) -> BudgetRule:
    """A budget with its amount and its window, kept for the next time it is asked for; what cannot be read is told in
    it."""
    amount = read_amount(budget.nodes)
    problem = "" if amount else f"{budget.nodes!r:.40} is neither a number nor a percentage"
    try:
        return BudgetRule(budget, window(budget), amount, "", problem)
    except ValueError as error:
        return BudgetRule(budget, None, amount, str(error), problem)


def read_amount(text: str) -> Amount | None:
    """``nodes`` of a budget as upstream evaluates it, negative ones too; None if it cannot be read. Numbers are read in
    64 bits, and those without ``%`` then cut to 32: 3000000000 comes out negative."""
    number = int64(text.removesuffix("%"))
    if number is None:
        return None
    return Amount(number, True) if text.endswith("%") else Amount((number + 2**31) % 2**32 - 2**31, False)


def never_above(one: Amount | None, other: Amount | None) -> bool:
    """Whether one amount of nodes of a budget is at most the other in pools of any size but 0; one that cannot be read
    (None) is 0. Between a number and a percentage True is certain, and False is not."""
    one, other = one or Amount(0, False), other or Amount(0, False)
    if one.percent == other.percent:
        return one.number <= other.number
    if one.percent:
        return one.number <= 0 <= other.number
    return other.number >= 0 and one.number <= (1 if other.number > 0 else 0)


def is_zero(amount: Amount | None) -> bool:
    """Whether an amount of nodes of a budget is 0 or less in pools of any size; one that cannot be read (None) is 0."""
    return amount is None or amount.number <= 0


def budget_limit_or_none(value: int) -> int | None:
    """The limit of budgets as results have it: None for ``UNLIMITED``."""
    return None if value == UNLIMITED else value


def _answer(rule: BudgetRule, active: bool | None, total: int, reason: str) -> BudgetAnswer:
    """What one budget says of ``total`` nodes, and why it counts, or not, for a reason."""
    value, error = rule.value(active, total), rule.error(active)
    return BudgetAnswer(rule.budget, active, value, error, _why(rule, active, reason), _arithmetic(rule, active, total))


def _why(rule: BudgetRule, active: bool | None, reason: str) -> str:
    """Why the budget counts, or not, for a reason, in words; never empty."""
    if rule.error(active):
        return "cannot be evaluated, which closes the pool for every reason"
    if not active:
        return "not active now"
    if not rule.budget.covers(reason):
        return f"not for the reason {reason}"
    if rule.window is None:
        return "always active"
    return "active now" if rule.window.fires else "its schedule never fires, which counts as always active"


def _arithmetic(rule: BudgetRule, active: bool | None, total: int) -> str:
    """How the value came about: ``5% of 10 nodes is 0.5, rounded up to 1``, or ``3 nodes``; empty if the budget is not
    active or its ``nodes`` cannot be read."""
    if not active or rule.amount is None:
        return ""
    number, value = rule.amount.number, rule.value(active, total)
    if not rule.amount.percent:
        written = rule.budget.nodes
        return number_of(value, "node") if int64(written) == value else f"{written} nodes, which is {value} in 32 bits"
    exact = f"{number * total / 100:g}"
    return f"{number}% of {number_of(total, 'node')} is {exact}" + (
        f", rounded up to {value}" if exact != str(value) else ""
    )
