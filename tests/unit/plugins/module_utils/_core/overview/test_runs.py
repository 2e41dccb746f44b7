# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Update runs over time: what their bars say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import (
    UpdateRunGateStatus,
    UpdateRunStatus,
    UpdateStageStatus,
    UpdateStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.run_needs import run_needs
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.runs import GATE, run_chart
from ansible_collections.gitops.fleet.tests.data.update_parts import update_run

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_a_gate_with_a_time_that_was_refused_does_not_open_by_the_clock_and_needs_a_person() -> None:
    run = read(update_run({"type": "Full", "kubernetesVersion": "1.28.3"})).object
    assert isinstance(run, UpdateRun)
    for refused, due, needs in (("", NOW + timedelta(hours=3), "pause"), ("bob: not today", None, "approval")):
        gate = UpdateRunGateStatus(
            display_name="go",
            gate_id="g",
            status=UpdateStatus(state="Pending"),
            type="ScheduledStart",
            due=NOW + timedelta(hours=3),
            refused=refused,
        )
        waits = UpdateStatus(state="Pending")
        stage = UpdateStageStatus(
            name="prod", status=waits, before_gates=(gate,), max_concurrency="1", max_allowed_failures="0"
        )
        status = UpdateRunStatus(status=UpdateStatus(state="Pending"), stages=(stage,))
        chart = run_chart(replace(run, status=status), NOW)
        (bar,) = (each for each in chart.bars if each.what == GATE)
        assert bar.due == due and [each.needs for each in run_needs([chart])] == [needs]
