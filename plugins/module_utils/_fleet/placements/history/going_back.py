# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What can be done after a run over placements, by what it reports."""

from __future__ import annotations

from ...._core.plan.going_on.ways_on import WaysOn, ways_on
from ..placement import Report


def ways_after(report: Report) -> WaysOn:
    """The ways on and back after the run, as of ``ways_on``; none where the run was not to write."""
    if not report.written:
        return WaysOn()
    return ways_on(report.plan.plans, report.outcomes, {name: each.rows for name, each in report.waits.items()})
