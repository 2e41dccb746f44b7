# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Windows with a time zone compiled to Karpenter budgets, which know UTC only: right for a while, and until when
(``valid_until``, a ``warning`` that the clocks change, ``not-weekly``)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..errors import FleetError
from ..objects.karpenter.node_pool import Budget
from ..values.duration import duration_text
from ..values.instants import write_time
from .clocks import LAST, next_clock_change, offset, shifted
from .fleet_windows import AHEAD, TWO_DAYS, OurWindow, open_spans, within_windows
from .spans import clipped, joined
from .week import MINUTE, MONDAY, WEEK, Spans, as_budgets, rest_of, weekly_spans

A_WEEK = timedelta(weeks=1)
NEVER = "0"


@dataclass(frozen=True)
class Compiled:
    """A window as budgets in UTC, right from when they were made until ``valid_until``, an aware instant; None: for a
    year at least. ``warning`` tells when to compile it again; empty for None."""

    budgets: tuple[Budget, ...]
    valid_until: datetime | None
    warning: str


def as_utc_budgets(window: OurWindow, nodes: str, now: datetime) -> Compiled:
    """Budgets that permit ``nodes`` inside a window and nothing outside, right for the zone's offset from UTC at
    ``now``, an aware instant. Where the clocks changed a moment ago, what was opened by the old ones keeps its end:
    until that is over, the budgets only say whether the window is open at ``now``, and are valid until that changes.
    FleetError ``not-weekly`` if the window is not the same every week."""
    budget = Budget(nodes, window.written, duration_text(window.duration // MINUTE))
    week = None if window.nth else weekly_spans([budget])
    if week is None:
        hint = "leave out nth, days of the month and months"
        raise FleetError("not-weekly", f"the window {window.text} is not the same every week", hint=hint)
    ahead = offset(window.zone, now) // MINUTE
    moved = tuple(sorted(((begin - ahead) % WEEK, (begin - ahead) % WEEK + end - begin) for begin, end in week))
    change = next_clock_change(window.zone, now, AHEAD)
    settled = min(shifted(now, window.duration + TWO_DAYS), change or LAST)
    answer = within_windows((window,), (), now)
    until: datetime | None = change
    how = "change at {}; compile again then"
    budgets: tuple[Budget, ...] = (Budget(nodes),)
    if list(open_spans((window,), (), now, settled)) != _spans(moved, now, settled):
        until, how = answer.until or settled, "changed a moment ago; compile again at {}"
        budgets = budgets if answer.open else (*budgets, Budget(NEVER))
    elif week != ((0, WEEK),):
        budgets = (*budgets, *as_budgets(rest_of(moved), NEVER))
    elif answer.until is None:
        until = None
    warning = f"the clocks of {window.zone.key} {how.format(write_time(until))}" if until else ""
    return Compiled(budgets, until, warning)


def _spans(week: Spans, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """What a week in UTC, again and again, has in [start, end)."""
    monday = MONDAY.replace(tzinfo=UTC)
    first, last = (start - monday) // A_WEEK - 1, (end - monday) // A_WEEK
    found = (
        (shifted(monday, each * A_WEEK + begin * MINUTE), shifted(monday, each * A_WEEK + until * MINUTE))
        for each in range(first, last + 1)
        for begin, until in week
    )
    return clipped(joined(found), start, end)
