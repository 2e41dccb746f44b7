# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What runs need that are not over (``needs``): somebody who looks at a failure (``failed``, ``stuck``) or at
``blocked`` nodes, an ``approval``, a ``conductor`` who carries it on, or time, until clusters are reached, a ``window``
opens, a ``pause`` ends or nodes may go."""

from __future__ import annotations

import types
import typing as t
from dataclasses import dataclass
from datetime import datetime

from ..disruption.rotation.state import IN_FLIGHT, WAITING
from ..rollout.staged.standing import STUCK
from ..values.instants import SECONDS, write_time
from ..values.update_states import (
    FAILED,
    NOT_STARTED,
    PENDING,
    RUNNING,
    STOPPED,
    STOPPING,
    UNREACHABLE,
    WINDOW_CLOSED,
)
from .runs import GATE, MEMBER, NODE, ROTATION, WAIT, Bar, RunChart

# What a person has to look at stands first.
(
    HAS_FAILED,
    IS_STUCK,
    FOR_APPROVAL,
    FOR_CONDUCTOR,
    IS_APPROVED,
    IS_BLOCKED,
    FOR_MEMBERS,
    FOR_WINDOW,
    FOR_NODES,
    PAUSES,
) = NEEDS = (
    "failed",
    "stuck",
    "approval",
    "conductor",
    "approved",
    "blocked",
    "unreachable",
    "window",
    "nodes",
    "pause",
)
_BY_STATE = {FAILED: HAS_FAILED, STUCK: IS_STUCK}
NOBODY: t.Mapping[tuple[str, str], datetime] = types.MappingProxyType({})
_AT_REST = (NOT_STARTED, STOPPING, STOPPED)


@dataclass(frozen=True, kw_only=True)
class RunNeed:
    """A run, of one of ``runs.KINDS``, and which of ``NEEDS`` it has; for a conductor ``since`` is since when nobody
    seems to conduct it, else None. ``overridden`` as of ``RunChart``."""

    kind: str
    name: str
    needs: str
    since: datetime | None = None
    overridden: bool = False

    def as_dict(self) -> dict[str, str]:
        """As results have it: the fields but ``overridden``, ``since`` in RFC 3339 to the second, left out where it is
        None."""
        since = {"since": write_time(self.since, SECONDS)} if self.since else {}
        return {"kind": self.kind, "name": self.name, "needs": self.needs, **since}


def run_needs(charts: t.Iterable[RunChart], left: t.Mapping[tuple[str, str], datetime] = NOBODY) -> tuple[RunNeed, ...]:
    """Those of the runs that need something, in their order, each with one need: the first that it has of failed or
    stuck, approval, conductor, approved, unreachable, window and pause, and a waiting rotation then blocked or nodes.
    The others have not begun, go on, stop, are stopped, or are over. A conductor is asked for while anything is under
    way, and what stands behind it only else. ``left`` has runs, by kind and name, that nobody seems to conduct, and
    since when."""
    found = []
    for each in charts:
        since = left.get((each.kind, each.name))
        needs = "" if each.over else _need(each, since is not None)
        if needs:
            since = since if needs == FOR_CONDUCTOR else None
            found.append(RunNeed(kind=each.kind, name=each.name, needs=needs, since=since, overridden=each.overridden))
    return tuple(found)


def _need(chart: RunChart, left: bool) -> str:
    """Which of NEEDS the run has, empty for none. In this order: it has failed or is stuck; none if it has not begun,
    stops or is stopped; a gate waits for approval; if something is under way a conductor if it is ``left``, else none;
    a gate is approved, a member waits because it is not reached, or for its window, a gate or a wait for time; of a
    rotation that waits as of ``_of_rotation``."""
    if chart.state in _BY_STATE:
        return _BY_STATE[chart.state]
    if chart.state in _AT_REST:
        return ""
    open_gates = [each for each in chart.bars if each.what == GATE and each.status.state == PENDING]
    if any(each.due is None and not each.approved for each in open_gates):
        return FOR_APPROVAL
    if any(map(_is_under_way, chart.bars)):
        return FOR_CONDUCTOR if left else ""
    if any(each.approved for each in open_gates):
        return IS_APPROVED
    waits = {each.why.partition(":")[0] for each in chart.bars if each.what == MEMBER and each.status.state == PENDING}
    if UNREACHABLE in waits:
        return FOR_MEMBERS
    if WINDOW_CLOSED in waits:
        return FOR_WINDOW
    if open_gates or any(each.what == WAIT and each.status.state in (PENDING, RUNNING) for each in chart.bars):
        return PAUSES
    return _of_rotation(chart) if chart.kind == ROTATION and chart.state == "Waiting" else ""


def _of_rotation(chart: RunChart) -> str:
    """``blocked`` if nodes wait, and all that do are blocked by themselves; else ``nodes``: what holds them back (a
    window, a budget, a member not read) is not recorded."""
    waiting = [each.blocked for each in chart.bars if each.what == NODE and each.status.state == WAITING]
    return IS_BLOCKED if waiting and all(waiting) else FOR_NODES


def _is_under_way(line: Bar) -> bool:
    """Whether the bar is a member that is being updated or a node in flight."""
    return line.status.state == RUNNING if line.what == MEMBER else line.what == NODE and line.status.state in IN_FLIGHT
