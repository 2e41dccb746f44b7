# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded update runs as charts, those that are not over with a forecast."""

from __future__ import annotations

from datetime import datetime

from ..._core.errors import FleetError, Problem
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.overview.runs import RunChart, run_chart
from ..._core.updates.record.run_state import run_of
from ..._core.values.update_states import TERMINAL
from ..session import Session
from ..updates.forecasting import FleetSight
from ..updates.update_run import recorded_runs


def run_charts(session: Session, forecasting: bool) -> tuple[tuple[RunChart, ...], tuple[Problem, ...]]:
    """The newest run first, and what is wrong with those that are left out."""
    runs, problems = recorded_runs(session.records, ())
    told, charts, now = list(problems), [], session.clock()
    sight: FleetSight | None = None
    for run in sorted(runs, key=lambda each: each.metadata.creation_timestamp or now, reverse=True):
        try:
            sight = sight or FleetSight.of(session.records, runs)
            charts.append(_chart(sight, run, now, forecasting))
        except FleetError as error:
            told += error.problems
            charts.append(run_chart(run, now))
    return tuple(charts), tuple(told)


def _chart(sight: FleetSight, run: UpdateRun, now: datetime, forecasting: bool) -> RunChart:
    """The forecast is that of ``update_run_info``."""
    state = run_of(run)
    views = sight.views(run, state, now)
    if not forecasting or run.status.status.state in TERMINAL:
        return run_chart(run, now, members=views)
    return run_chart(run, now, sight.forecast(run, state, views, now), views)
