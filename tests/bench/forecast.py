# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The whole forecast of an update run, with its spread.

Ten stages of ten groups, five members of each group at once; a fifth of the members have a daily window.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.forecast.forecast import SAMPLES, forecast
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.strategy import (
    UpdateGroup,
    UpdateRunStrategy,
    UpdateStage,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import MemberView, RunState
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.strategy import Candidate, resolve
from ansible_collections.gitops.fleet.plugins.module_utils._core.windows.spans import Span

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SIZES = (10, 100, 1_000, 10_000)
UID = "7d0c8c1e-54a4-4b5a-9a55-1f8c6f0f9a10"
Row = tuple[str, float, str, str]


def bench_forecast_1000() -> list[Row]:
    return [_forecast(1_000)]


def bench_forecast() -> list[Row]:
    return [_forecast(size) for size in SIZES if size != 1_000]


def laid(size: int) -> tuple[RunState, dict[str, MemberView]]:
    """Members are spread over all groups; windows are one a day for a month."""
    days = [NOW + timedelta(days=day, hours=8) for day in range(-1, 60)]
    nightly: tuple[Span, ...] = tuple((opens, opens + timedelta(hours=6)) for opens in days)
    groups = [f"group-{stage}-{number}" for stage in range(10) for number in range(10)]
    members = [Candidate(name=f"member-{number:05}", group=groups[number * 100 // size]) for number in range(size)]
    stages = tuple(
        UpdateStage(
            name=f"stage-{stage}",
            after_stage_wait_in_seconds=1_800,
            groups=tuple(UpdateGroup(name=f"group-{stage}-{number}", max_concurrency="5") for number in range(10)),
        )
        for stage in range(10)
    )
    run = RunState(name="run", uid=UID, stages=resolve(UpdateRunStrategy(stages=stages), members, UID).stages)
    views = {
        each.name: MemberView(name=each.name, windows=nightly if number % 5 == 0 else None)
        for number, each in enumerate(members)
    }
    return run, views


def _forecast(size: int) -> Row:
    run, views = laid(size)
    begun = time.perf_counter()
    forecast(run, views, NOW)
    taken = time.perf_counter() - begun
    return (
        f"forecast_{size}",
        taken,
        "s",
        f"whole run of {size:,} members in 10 stages, {SAMPLES} courses and the usual",
    )
