# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What can be done after a run over placements, to go on or back, put together from its report, the records and files:
with the staged run, recorded or written, that comes next."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._core.errors import FleetError
from ...._core.objects.staged.key import RUN_KINDS
from ...._core.plan.document import PlacementPlan
from ...._core.plan.going_on.ways_on import WaysOn, left_to_a_run, ways_on
from ...._core.resources.snapshots import snapshot_index
from ...._core.rollout.staged.next_run import KnownRuns, NextRun, next_run
from ...._store.records import Records
from ..placement import Report
from ..staged.sources import staged_manifests
from ..staged.world import recorded_runs


def ways_after(report: Report, records: Records, src: t.Sequence[str] = ()) -> WaysOn:
    """The ways on and back after the run, as of ``ways_on``, with staged runs that are recorded, or in the files
    ``src``; none where the run was not to write. Where files or records cannot be read no staged run is named."""
    if not report.written:
        return WaysOn()
    found = ways_on(report.plan.plans, report.outcomes, {name: each.rows for name, each in report.waits.items()})
    return replace(found, runs=_runs(left_to_a_run(report.plan.plans), records, src)) if found.staged else found


def _runs(plans: t.Sequence[PlacementPlan], records: Records, src: t.Sequence[str]) -> tuple[NextRun, ...]:
    """The run for each of the plans, in their order, where one is known; none if files or records cannot be read, for
    all of it is done by then."""
    try:
        given = staged_manifests(src)
        recorded = {str(each.key): each for kinds in RUN_KINDS for each in recorded_runs(records, kinds)}
    except FleetError:
        return ()
    known = KnownRuns(written=given.runs, recorded=recorded, strategies=tuple(given.strategies))
    found = (next_run(each.key, snapshot_index(each.resource_snapshot), known) for each in plans)
    return tuple(each for each in found if each)
