# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""In which order members of a group of an update run are tried, by their maintenance windows; when a closed window
opens, or an open one closes.

Classes and their order are Azure Fleet Manager's (members are prioritised by planned maintenance windows).
"""

from __future__ import annotations

import typing as t
from bisect import bisect_right
from datetime import datetime, timedelta

from ...windows.clocks import LAST
from ...windows.spans import Span
from ..run import MemberView

OPEN, SOON, NONE, CLOSED = 1, 2, 3, 4
NEAR = timedelta(hours=4)
NEVER = LAST

Key = tuple[int, t.Any, str]
"""Comparable: within a class the second element has one type."""


def order_key(view: MemberView, listed: int, now: datetime) -> Key:
    """The key by which members of a group are tried, the least first: open now, by the closing; opens within four
    hours, by the opening; no windows, as listed; closed, by the opening; then by name. ``listed`` is the member's place
    in its group."""
    if view.windows is None:
        return NONE, listed, view.name
    window = _next(view.windows, now)
    if window is None:
        return CLOSED, NEVER, view.name
    opens, closes = window
    if opens <= now:
        return OPEN, closes, view.name
    return (SOON if opens - now <= NEAR else CLOSED), opens, view.name


def closed_until(view: MemberView, now: datetime) -> datetime | None:
    """When the member's next window opens, NEVER if none is known; None if one is open, or it has no windows
    (``windows`` None)."""
    if view.windows is None:
        return None
    window = _next(view.windows, now)
    if window is None:
        return NEVER
    return None if window[0] <= now else window[0]


def changes_at(view: MemberView, now: datetime) -> datetime | None:
    """The next instant at which a window opens or closes; None without one, or if none comes in the time for which the
    view has its windows."""
    window = _next(view.windows or (), now)
    if window is None:
        return None
    return window[1] if window[0] <= now else window[0]


def _next(windows: tuple[Span, ...], now: datetime) -> Span | None:
    """The window that is open, else the next one; None if none comes. ``windows`` are in order and apart."""
    at = bisect_right(windows, now, key=lambda window: window[1])
    return windows[at] if at < len(windows) else None
