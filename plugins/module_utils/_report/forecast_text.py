# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The forecast of an update run and its calendar as tables."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

from .._core.forecast.appointments import Appointment
from .._core.forecast.durations import Duration
from .._core.forecast.forecast import BEFORE_IT, ITS_TURN, Forecast, NodeForecast
from .._core.values.instants import write_local, write_time
from .._core.values.listed import listed
from .text import table

SHOWN = 40
NAMED = 5
Row = tuple[str, str, str, str]


def forecast_text(foreseen: Forecast, usual: Duration, runs_before: int) -> list[str]:
    """When the run is done, in a sentence; then run, stages and members, each with what half of all courses keep to,
    and nine of ten at the latest."""
    known = (
        f"learned from {runs_before} earlier run{'s' * (runs_before > 1)}"
        if runs_before
        else "assumed, as no earlier run tells"
    )
    at = f"{write_time(foreseen.changes_at)}: " if foreseen.changes_at else ""
    lines = [
        f"forecast of {foreseen.run.name}: {_answer(foreseen.run)}",
        f"half of all upgrades take at most {_minutes(usual.p50)}, nine of ten {_minutes(usual.p90)}, {known}",
        f"next change: {at}{foreseen.changes_by}",
    ]
    rows, held = [_row(foreseen.run, foreseen.run.name)], []
    for stage in foreseen.stages:
        rows.append(_row(stage, f"  {stage.name}"))
        mine = [each for each in foreseen.members if each.stage == stage.name]
        rows += [_row(each, f"    {each.name}") for each in mine[:SHOWN]]
        if len(mine) > SHOWN:
            rows.append((f"    and {len(mine) - SHOWN} more", "", "", ""))
        held += [(each.name, each.blocker) for each in (stage, *mine[:SHOWN]) if _holds(each)]
    lines += table(("WHAT", "BEGINS", "ENDS", "AT THE LATEST"), rows, "")
    return lines + (table(("WHO", "WAITS FOR"), held, "") if held else [])


def calendar_text(found: t.Sequence[Appointment]) -> list[str]:
    """One line for each entry."""
    rows = [(_minute(each.start), _minute(each.end), each.kind, _told(each)) for each in found]
    return table(("FROM", "UNTIL", "WHAT", "WHO, AND WHY"), rows, "") if rows else ["nothing is in the calendar"]


def _answer(run: NodeForecast) -> str:
    """``done by Sat 2026-12-05 21:18 UTC, at the latest Sat 2026-12-05 21:54 UTC``."""
    if run.end.p50 is None:
        return "it does not end by itself"
    latest = f"at the latest {write_local(run.end.p90, UTC)}" if run.end.p90 else "in bad courses never"
    return f"done by {write_local(run.end.p50, UTC)}, {latest}"


def _row(each: NodeForecast, name: str) -> Row:
    return name, _minute(each.start.p50), _minute(each.end.p50), _minute(each.end.p90)


def _holds(each: NodeForecast) -> bool:
    """Whether it waits for something else than its turn."""
    return bool(each.blocker) and each.reason not in (BEFORE_IT, ITS_TURN)


def _minute(at: datetime | None) -> str:
    return f"{write_time(at)[:16]}Z" if at else "never"


def _told(each: Appointment) -> str:
    named = listed(each.members, NAMED)
    return f"{named}: {each.what}" if named else each.what


def _minutes(length: timedelta) -> str:
    seconds = round(length.total_seconds())
    return f"{seconds // 60} min" if seconds >= 120 else f"{seconds} s"
