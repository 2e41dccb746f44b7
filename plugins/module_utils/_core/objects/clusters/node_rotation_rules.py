# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of NodeRotation: a name that means somebody else (``reserved-name``), label selectors of members and nodes,
schedule and duration of budgets (``half-a-window``, ``unreadable-schedule``)."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ...schema.rules import Found
from ...values.schedules.cron import CronSchedule, parse_utc
from ...values.selector_text import parse_selector
from ..updates.strategy_rules import check_member_selector
from .node_rotation import BY_HAND, NodeRotation, RotationBudget

_LONG_AGO = datetime(2000, 1, 1)


def check_node_rotation(obj: NodeRotation) -> t.Iterator[Found]:
    """What is wrong with a NodeRotation: ``reserved-name`` (``by-hand``), ``invalid-label-selector`` of members and of
    nodes, and of each budget ``half-a-window`` and ``unreadable-schedule``, also for one that never comes."""
    if obj.name == BY_HAND:
        message = f"on nodes {BY_HAND} means that a person drains them, and the rotation would take those for its own"
        yield Found("reserved-name", "metadata.name", message, "give it another name, such as by-age")
    yield from check_member_selector(obj.spec.member_selector, "spec.memberSelector.byLabel")
    if obj.spec.nodes is not None:
        try:
            parse_selector(obj.spec.nodes.by_label)
        except ValueError as error:
            hint = "write it as for kubectl -l, such as pool=blue,zone in (a,b)"
            yield Found("invalid-label-selector", "spec.nodes.byLabel", str(error), hint)
    for index, budget in enumerate(obj.spec.budgets):
        yield from _check_budget(budget, f"spec.budgets[{index}]")


def _check_budget(budget: RotationBudget, path: str) -> t.Iterator[Found]:
    """``half-a-window`` if a budget has one of schedule and duration without the other; ``unreadable-schedule`` for a
    schedule that cannot be read or never comes."""
    if bool(budget.schedule) != bool(budget.duration):
        missing = "duration" if budget.schedule else "schedule"
        message = f"schedule and duration stand together; {missing} is missing"
        yield Found("half-a-window", path, message, "give both, or neither for a budget that always holds")
    if not budget.schedule:
        return
    try:
        parsed = parse_utc(budget.schedule)
    except ValueError as error:
        yield Found(
            "unreadable-schedule", f"{path}.schedule", str(error), "five cron fields in UTC, such as 0 9 * * 1-5"
        )
        return
    if isinstance(parsed, CronSchedule) and parsed.next_utc(_LONG_AGO) is None:
        message = f"{budget.schedule!r} never comes, which would count as always"
        yield Found("unreadable-schedule", f"{path}.schedule", message, "name a day that there is")
