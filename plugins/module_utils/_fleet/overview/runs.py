# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Recorded runs as charts: update runs, those that are not over with a forecast; staged update runs with who approved;
rotations; what is wrong with those left out."""

from __future__ import annotations

import typing as t
from datetime import datetime
from functools import partial

from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.node_rotation import NodeRotation
from ..._core.objects.placements.key import PlacementKey
from ..._core.objects.staged.key import RUN_KINDS, RunKey, RunKinds
from ..._core.objects.staged.update_run import ClusterStagedUpdateRun
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.overview.rotations import rotation_chart
from ..._core.overview.runs import RunChart, run_chart
from ..._core.overview.staged_runs import staged_chart
from ..._core.schema.meta import ObjectMeta
from ..._core.updates.record.run_state import run_of
from ..._core.values.update_states import TERMINAL
from ..._store.kinds import record_name
from ..._store.records import Records
from ..nodes.rotation_record import rotation_state
from ..nodes.sources import KIND as ROTATION_KIND
from ..placements.staged.approvals import approver_in
from ..placements.staged.typed_records import recorded_run
from ..recorded import recorded
from ..session import Session
from ..updates.approval_policy import vouched_since
from ..updates.forecasting import FleetSight
from ..updates.gate_objects import with_answers
from ..updates.update_run import recorded_runs


def charts_of_all(session: Session, forecasting: bool) -> tuple[tuple[RunChart, ...], tuple[Problem, ...]]:
    """Charts of update runs, then of staged update runs, then of rotations, as of the functions below, and all that is
    wrong; a kind that cannot be listed is left out."""
    charts: list[RunChart] = []
    told: list[Problem] = []
    for read in (
        lambda: run_charts(session, forecasting),
        lambda: staged_charts(session.records),
        lambda: rotation_charts(session.records),
    ):
        try:
            found, problems = read()
        except FleetError as error:
            told += error.problems
        else:
            charts += found
            told += problems
    return tuple(charts), tuple(told)


def run_charts(session: Session, forecasting: bool) -> tuple[tuple[RunChart, ...], tuple[Problem, ...]]:
    """Charts of update runs, the newest first, those of which it is not known when they were made before all; with
    ``forecasting`` each that is not over with its forecast. And what is wrong with runs that are left out, or shown
    without members and forecast. Gates that were answered since their run was conducted say so. FleetError where runs
    cannot be listed."""
    runs, problems = recorded_runs(session.records, ())
    told, charts, now = list(problems), [], session.clock()
    sight: FleetSight | None = None
    try:
        sight = FleetSight.of(session.records, runs) if runs else None
    except FleetError as error:
        told += error.problems
    for run in sorted(runs, key=lambda each: each.metadata.creation_timestamp or now, reverse=True):
        shown = with_answers(session.records, run, partial(vouched_since, session.hub), now)
        try:
            charts.append(_chart(sight, shown, now, forecasting) if sight else run_chart(shown, now))
        except FleetError as error:
            told += error.problems
            charts.append(run_chart(shown, now))
    return tuple(charts), tuple(dict.fromkeys(told))


def staged_charts(records: Records) -> tuple[tuple[RunChart, ...], tuple[Problem, ...]]:
    """Charts of staged update runs, the newest first, those of which it is not known when they were made last; and what
    is wrong with those that are left out. A kind whose runs or requests cannot be listed is left out."""
    told: list[Problem] = []
    found = []
    for kinds in RUN_KINDS:
        try:
            documents = records.list(kinds.run)
            approvers = _approvers(records, kinds) if documents else {}
        except FleetError as error:
            told += error.problems
            continue
        runs: list[ClusterStagedUpdateRun] = []
        for document in documents:
            try:
                runs.append(recorded_run(RunKey.of(record_name(document)), document))
            except FleetError as error:
                told += error.problems
        beside: dict[PlacementKey, list[ClusterStagedUpdateRun]] = {}
        for each in runs:
            beside.setdefault(each.placement_key, []).append(each)
        found += [
            (each.metadata, staged_chart(each, approvers.get(each.key.namespace, {}), beside[each.placement_key]))
            for each in runs
        ]
    return _newest_first(found), tuple(told)


def rotation_charts(records: Records) -> tuple[tuple[RunChart, ...], tuple[Problem, ...]]:
    """Charts of rotations of nodes, the newest first, those of which it is not known when they were made last; and what
    is wrong with those that are left out. FleetError where they cannot be listed."""
    told: list[Problem] = []
    found = []
    for document in records.list(ROTATION_KIND):
        try:
            rotation = recorded(NodeRotation, document)
            found.append((rotation.metadata, rotation_chart(rotation, rotation_state(rotation))))
        except FleetError as error:
            told += error.problems
    return _newest_first(found), tuple(told)


def _newest_first(found: t.Sequence[tuple[ObjectMeta, RunChart]]) -> tuple[RunChart, ...]:
    """The charts, that of the run which was made last first; those of which that is not told come last."""
    made = sorted(found, key=lambda each: str(each[0].creation_timestamp or ""), reverse=True)
    return tuple(chart for _metadata, chart in made)


def _approvers(records: Records, kinds: RunKinds) -> dict[str, dict[str, str]]:
    """Who has approved, by the namespace and the name of the request; one that cannot be read names nobody. FleetError
    where requests cannot be listed."""
    found: dict[str, dict[str, str]] = {}
    for document in records.list(kinds.approval):
        key = RunKey.of(record_name(document))
        by = approver_in(key, document)
        if by:
            found.setdefault(key.namespace, {})[key.name] = by
    return found


def _chart(sight: FleetSight, run: UpdateRun, now: datetime, forecasting: bool) -> RunChart:
    """The chart of a run ``with_answers``; if wanted, and the run is not over, with the forecast of
    ``update_run_info``. FleetError where that, or what members are, cannot be worked out."""
    state = run_of(run)
    views = sight.views(run, state, now)
    if not forecasting or run.status.status.state in TERMINAL:
        return run_chart(run, now, members=views)
    return run_chart(run, now, sight.forecast(run, state, views, now), views)
