# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Budgets that do what a faulty list was probably meant to do (an always active 0 only outside its windows, the default
of 10% where nothing limits), each proved by its limits before it is offered; and the windows of a list, in words."""

from __future__ import annotations

from datetime import timedelta

from ...objects.karpenter.node_pool import DEFAULT_NODES, REASONS, Budget
from ...windows.week import (
    MONDAY,
    as_budgets,
    rest_of,
    week_in_words,
    weekly_spans,
)
from .budgets import (
    UNLIMITED,
    BudgetRule,
    decide,
    is_zero,
    never_above,
    rule_of,
)
from .timeline import Active, activity

Budgets = tuple[Budget, ...]
# Sizes of pools in which a rewrite is tried out.
SIZES = (1, 2, 5, 19, 20, 100, 1000)
TRIED = timedelta(weeks=3)


def zero_outside_windows(budgets: Budgets) -> Budgets | None:
    """The list with its always active 0 put outside the windows beside it, which were meant to permit only inside
    themselves: first the windows, or, where all have one amount, one budget of that which is always active; then the 0
    for the rest of the week.

    None without an always active 0, or a window, with a window of 0, if its budgets are for different reasons or its
    windows not the same every week, or if trying the new list out shows other limits. ValueError as of
    ``weekly_spans``.
    """
    zeros = [each for each in budgets if each.schedule is None and is_zero(rule_of(each).amount)]
    windows = tuple(each for each in budgets if each not in zeros)
    week = weekly_spans(windows) if windows and zeros and len({each.reasons for each in budgets}) == 1 else None
    if not week or any(is_zero(rule_of(each).amount) for each in windows):
        return None
    same = {each.nodes for each in windows}
    inside = (Budget(windows[0].nodes, reasons=windows[0].reasons),) if len(same) == 1 else windows
    mended = (*inside, *as_budgets(rest_of(week), zeros[0].nodes, zeros[0].reasons))
    return mended if _proved(mended, windows, outside=0) else None


def default_outside_windows(budgets: Budgets) -> Budgets | None:
    """The list with upstream's default, 10%, added outside its windows, where nothing limits: last, or, where all
    windows are 0, or differ from week to week and permit no more than it, first and always active.

    None for an empty list, if a budget is always active or they are for different reasons, if windows that differ from
    week to week permit more, or if trying the new list out shows other limits. ValueError as of ``weekly_spans``.
    """
    if not budgets or any(each.schedule is None for each in budgets) or len({each.reasons for each in budgets}) != 1:
        return None
    base = Budget(DEFAULT_NODES, reasons=budgets[0].reasons)
    amounts = [rule_of(each).amount for each in budgets]
    week = None if all(map(is_zero, amounts)) else weekly_spans(budgets)
    if week is None:
        return (base, *budgets) if all(never_above(each, rule_of(base).amount) for each in amounts) else None
    mended = (*budgets, *as_budgets(rest_of(week), DEFAULT_NODES, base.reasons))
    return mended if _proved(mended, budgets, outside=None) else None


def windows_in_words(budgets: Budgets) -> str:
    """When any of the scheduled budgets is active, as of ``week_in_words``; "its windows" if one is an ``@every``, or
    not the same every week. ValueError as of ``weekly_spans``."""
    week = weekly_spans(each for each in budgets if each.schedule is not None)
    return "its windows" if week is None else week_in_words(week)


def _proved(mended: Budgets, windows: Budgets, outside: int | None) -> bool:
    """Whether, in three weeks and pools of some sizes, ``mended`` has the limits of ``windows`` where these limit, and
    elsewhere the limit ``outside``, or any limit at all for None."""
    tried, given = tuple(map(rule_of, mended)), tuple(map(rule_of, windows))
    before = MONDAY - timedelta(microseconds=1)
    combinations = {active for _at, active in activity((*tried, *given), MONDAY, MONDAY + TRIED)}
    for active in combinations | {tuple(rule.active(before) for rule in (*tried, *given))}:
        for nodes in SIZES:
            wanted, got = _limit(given, active[len(tried) :], nodes), _limit(tried, active[: len(tried)], nodes)
            if wanted == UNLIMITED:
                if got == UNLIMITED or (outside is not None and got != outside):
                    return False
            elif got != wanted:
                return False
    return True


def _limit(rules: tuple[BudgetRule, ...], active: Active, nodes: int) -> int:
    """The limit of ``nodes`` counted nodes by these rules, one at least, for the first reason of the first of them."""
    return decide(rules, active, nodes, (rules[0].budget.reasons or REASONS)[0]).limit
