# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether an instant is in a window (test ``within_window``): one with a ``schedule`` and a ``duration``, a maintenance
window (``startTime``, ``durationHours``) or its configuration (``timeInWeek``), those of a FleetMaintenance with its
freezes, by what they govern."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from datetime import datetime, timedelta

from ..._core.errors import FleetError, Problem
from ..._core.objects.api_groups import FLEET_API
from ..._core.objects.clusters.fleet_maintenance import FleetMaintenance
from ..._core.objects.clusters.maintenance_forms import KUBERNETES, NODE_IMAGE
from ..._core.objects.reading import judge
from ..._core.objects.updates.update_run import FULL, NODE_IMAGE_ONLY
from ..._core.updates.timing.maintenance import MaintainedMember, calendar
from ..._core.windows.clocks import shifted
from ..._core.windows.fleet_windows import read_window
from ..._core.windows.maintenance import window_openings
from .given import objects, one_of
from .present import given_instant

GOVERNED: t.Mapping[str, str] = {KUBERNETES: FULL, NODE_IMAGE: NODE_IMAGE_ONLY}
A_MOMENT, A_MINUTE = timedelta(microseconds=1), timedelta(minutes=1)
BUDGET_ONLY = ("nodes", "reasons")
PLACE = "spec.windows[0].maintenanceWindow"


def within_window(at: t.Any, windows: t.Any, governs: str = KUBERNETES) -> bool:
    """Whether an instant, or ``now``, is in any of the windows; the end of one is not in it.

    A window has ``schedule`` and ``duration`` as budgets have them, with ``timeZone`` and ``nth`` if wanted; or it is a
    maintenance window (``schedule.weekly`` and the like, ``startTime``, ``durationHours``), alone or in its named
    configuration; or a FleetMaintenance: its windows for the work ``governs``, ``kubernetes`` or ``nodeImage`` (without
    such a window it is any time), and its freezes. FleetError ``bad-argument`` without any window, for another
    ``governs`` and for another object of ours, ``invalid-time``, or with all problems of the first window that cannot
    be read, although the instant is in another.
    """
    now = given_instant(at, "input")
    kind = GOVERNED[one_of(governs, tuple(GOVERNED), "governs")]
    given = objects(windows, "windows")
    if not given:
        raise FleetError("bad-argument", "there is no window", "windows", "without windows any instant would do")
    inside = [_within(now, each, f"windows[{index}]", kind) for index, each in enumerate(given)]
    return any(inside)


def _within(now: datetime, window: Mapping[str, t.Any], place: str, kind: str) -> bool:
    """Whether the instant is in this window; ``kind`` is the update that a FleetMaintenance has to let through.
    FleetError as of ``within_window``."""
    if "apiVersion" in window or "kind" in window:
        found = _maintenance(window, place, "")
        spans = calendar((found,)).startable_spans(
            MaintainedMember(name=found.name, maintenance=found.name), kind, now, now + A_MOMENT
        )
        return spans is None or _inside(spans, now)
    if "maintenanceWindow" in window or "timeInWeek" in window:
        return _configured(window, now, place, "spec.windows[0]")
    if "startTime" in window or "durationHours" in window or isinstance(window.get("schedule"), Mapping):
        return _configured({"name": KUBERNETES, "maintenanceWindow": window}, now, place, PLACE)
    plain = {key: value for key, value in window.items() if key not in BUDGET_ONLY}
    return _inside(read_window(plain, place).spans(now, shifted(now, A_MINUTE)), now)


def _configured(configuration: Mapping[str, t.Any], now: datetime, place: str, inside: str) -> bool:
    """Whether the instant is in a maintenance window's configuration, read as that of a FleetMaintenance; ``inside`` is
    cut off the paths of its problems. FleetError as of ``_maintenance``."""
    document = {
        "apiVersion": FLEET_API,
        "kind": "FleetMaintenance",
        "metadata": {"name": "window"},
        "spec": {"windows": [configuration]},
    }
    (read,) = _maintenance(document, place, inside).spec.windows
    return _inside(window_openings(read, now, now + A_MOMENT), now)


def _inside(spans: t.Iterable[tuple[datetime, datetime]], now: datetime) -> bool:
    """Whether a span has the instant; the end of a span is not in it."""
    return any(begin <= now < end for begin, end in spans)


def _maintenance(document: Mapping[str, t.Any], place: str, inside: str) -> FleetMaintenance:
    """The FleetMaintenance; ``inside`` is cut off the paths of its problems, and ``place`` stands before them.
    FleetError with all of them, ``unknown-kind`` among them, ``bad-argument`` for another kind of ours."""
    judged = judge(document)
    if judged.object is None:
        raise FleetError.of(
            Problem(each.code, each.message, f"{place} {each.path.removeprefix(inside).lstrip('.')}".strip(), each.hint)
            for each in judged.problems
        )
    if not isinstance(judged.object, FleetMaintenance):
        raise FleetError("bad-argument", f"a window or a FleetMaintenance is wanted, not a {judged.object.kind}", place)
    return judged.object
