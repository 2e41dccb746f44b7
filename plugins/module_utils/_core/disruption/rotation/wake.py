# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""When a step of a rotation is worth repeating although nothing new was seen (``wake_at``): the next instant at which a
limit, a pause, a window or a budget turns; and whether all that waits is shut in until then."""

from __future__ import annotations

import typing as t
from datetime import datetime

from ..budgets.closing import horizons
from ..budgets.timeline import now_and_next_change
from .input import RotationInput, ScopeLeft
from .state import WAITING, RotationState, limit_end


def next_instant(
    state: RotationState, sight: RotationInput, scopes: t.Iterable[ScopeLeft], ends: t.Iterable[datetime], now: datetime
) -> datetime | None:
    """The earliest instant after ``now`` of all times that run: of nodes in flight, pauses, blocks, windows, budgets
    that hold nodes back (``scopes``), protections of pods (``ends``), the whole; or None. Blocks, windows, budgets and
    pauses count only while nodes wait."""
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
        times += [_change(each, now) for each in scopes if each.left <= 0 and each.scope.covers_any(pools)]
    return min((each for each in times if each is not None and each > now), default=None)


def all_waiting_shut_in(state: RotationState, sight: RotationInput, scopes: t.Sequence[ScopeLeft]) -> bool:
    """Whether every node that waits is behind a closed budget or window of which it is known when it opens, or bears an
    annotation of its own that only who has set it takes away: whatever becomes of pods and PodDisruptionBudgets, none
    can begin before, and ``RotationSteering.next_look`` has no member read again for their sake until then. True if
    none waits; else False if one was not seen, or ``wait`` is said."""
    there = {each.name: each for each in sight.nodes}
    waiting = [each for each in state.nodes if each.phase == WAITING]
    if any(each.name not in there or sight.wait for each in waiting):
        return False
    seen = ((each.pool, there[each.name]) for each in waiting)
    pools = {pool for pool, node in seen if not node.annotated and not _shut_with_end(sight, node.cluster)}
    closed = [each.scope for each in scopes if each.closed and each.opens] if pools else []
    return pools <= {pool for each in closed for pool in each.pools or ()} or any(each.pools is None for each in closed)


def _shut_with_end(sight: RotationInput, cluster: str) -> bool:
    """Whether the cluster's window is closed, and it is known until when."""
    window = sight.windows.get(cluster)
    return window is not None and not window.open and window.until is not None


def _change(one: ScopeLeft, now: datetime) -> datetime | None:
    """When a scope that holds nodes back changes: one that is closed lets some go, another has another limit. None if
    not within ``horizons``."""
    if one.closed:
        return one.opens
    for ahead in horizons(one.scope.budgets):
        _answer, change = now_and_next_change(one.scope.budgets, now, one.answer.total, one.answer.reason, now + ahead)
        if change is not None:
            return change.at
    return None
