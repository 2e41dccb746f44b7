# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When a step of a rotation is worth repeating although nothing new was seen: the next instant at which a limit, a
pause, a window or a budget turns."""

from __future__ import annotations

import typing as t
from datetime import datetime, timedelta

from ..budgets.timeline import next_change
from .input import RotationInput, ScopeLeft
from .state import WAITING, RotationState, limit_end

# First nearby, because a year of some budgets is long to write down.
HORIZONS = (timedelta(days=9), timedelta(days=366))


def next_instant(
    state: RotationState, sight: RotationInput, scopes: t.Iterable[ScopeLeft], ends: t.Iterable[datetime], now: datetime
) -> datetime | None:
    """The earliest instant after ``now`` of all times that run: stages, pauses, blocks, windows, budgets that hold
    nodes back, protections of pods (``ends``), the whole. None if none runs."""
    settings = state.settings
    times: list[datetime | None] = [limit_end(state.started_at, settings.time_limit), *ends]
    times += [limit_end(each.since, settings.node_timeout) for each in state.nodes if each.in_flight]
    waiting = [each for each in state.nodes if each.phase == WAITING]
    if waiting:
        times += [each.not_before for each in waiting]
        times += [each.blocked_until(settings.blocked_timeout) for each in waiting]
        times += [each.until for each in sight.windows.values()]
        times.append(limit_end(state.wave.ended_at, settings.soak))
        pools = {each.pool for each in waiting}
        times += [_change(each, now) for each in scopes if each.left <= 0 and any(map(each.scope.covers, pools))]
    return min((each for each in times if each is not None and each > now), default=None)


def _change(one: ScopeLeft, now: datetime) -> datetime | None:
    for ahead in HORIZONS:
        _answer, change = next_change(one.scope.budgets, now, one.answer.total, one.answer.reason, now + ahead)
        if change is not None:
            return change.at
    return None
