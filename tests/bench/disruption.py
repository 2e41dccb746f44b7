# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Disruption budgets: one answer, and the timelines of a fleet's pools over a year."""

from __future__ import annotations

import statistics
import time
import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.budgets import allowed
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.timeline import timeline
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import Budget

NOW = datetime(2026, 1, 15, 12, 34, 56, tzinfo=UTC)
YEAR = timedelta(days=365)
POOLS, NODES, REASON = 1_000, 40, "Drifted"
Row = tuple[str, float, str, str]


def pool(number: int) -> tuple[Budget, ...]:
    """Five budgets, four with windows at times of the pool's own, so that nothing is shared between pools."""
    minute, hour = number % 60, number % 24
    return (
        Budget("10%"),
        Budget("0", f"{minute} {hour} * * 1-5", "8h"),
        Budget("5", f"{minute} */6 * * *", "90m"),
        Budget("0", f"{minute} {hour} {number % 28 + 1} * *", "24h"),
        Budget("1", f"{minute} 3 * * sat,sun", "12h", ("Drifted", "Underutilized")),
    )


def bench_allowed_one() -> list[Row]:
    budgets, calls = pool(7), 1_000

    def ask() -> None:
        for _time in range(calls):
            allowed(budgets, NOW, NODES, REASON)

    setup = "5 budgets, 4 with windows, arithmetic attached; budgets read before"
    return [("allowed_one", _median(ask, 9) / calls * 1e6, "us", setup)]


def bench_timeline_year() -> list[Row]:
    pools = [pool(number) for number in range(POOLS)]
    begun = time.perf_counter()
    changes = sum(len(timeline(budgets, NOW, NOW + YEAR, NODES, REASON).changes) for budgets in pools)
    taken = time.perf_counter() - begun
    setup = f"12 months x {POOLS:,} pools x 5 budgets, no two pools alike, {changes:,} changes found"
    return [("timeline_year", taken, "s", setup)]


def _median(work: t.Callable[[], object], times: int) -> float:
    """Seconds of the median run, after one that fills the caches."""
    work()
    runs = []
    for _time in range(times):
        start = time.perf_counter()
        work()
        runs.append(time.perf_counter() - start)
    return statistics.median(runs)
