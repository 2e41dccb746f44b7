# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Facts of a thousand simulated members, each 50 ms away."""

from __future__ import annotations

import typing as t

from joined_fleet import joined_fleet
from measured_verb import PROCESS, percentile

ROUND_TRIP_MS = 50
WORKERS = (1, 2)
Row = tuple[str, float, str, str]


def bench_facts_1000() -> t.Iterator[Row]:
    yield from _facts("facts_1000", pods=False, tls=False, lean=True)
    yield from _facts("facts_1000_tls", pods=False, tls=True, lean=False)


def bench_facts_pods_1000() -> t.Iterator[Row]:
    yield from _facts("facts_pods_1000", pods=True, tls=False, lean=True)
    yield from _facts("facts_pods_1000_tls", pods=True, tls=True, lean=False)


def bench_facts_pods_1000_workers() -> t.Iterator[Row]:
    """The members' program needs processors, too: on two of them the ratio cannot come to a half."""
    found: dict[int, float] = {}
    with joined_fleet(delay_ms=ROUND_TRIP_MS) as fleet:
        for workers in WORKERS:
            options = {"pods": True, "workers": workers, "record": False, "dest": fleet.facts}
            runs = [fleet.run("fleet_facts", options).took for _time in range(3)]
            assert all(each.result["read"] == 1_000 for each in runs), runs
            found[workers] = percentile((each.wall for each in runs), 0.5)
            cpu = percentile((each.cpu for each in runs), 0.5)
            setup = f"median of 3 runs, {cpu:.1f} CPU-s in all processes; nodes and pods read; {fleet.setup}"
            yield f"facts_pods_1000_workers_{workers}", found[workers], "s", setup
    setup = f"seconds with {WORKERS[1]} workers, by those with one"
    yield "facts_pods_1000_workers", found[WORKERS[1]] / found[WORKERS[0]], "times", setup


def _facts(name: str, pods: bool, tls: bool, lean: bool) -> t.Iterator[Row]:
    with joined_fleet(delay_ms=ROUND_TRIP_MS, tls=tls, lean=lean) as fleet:
        run = fleet.run("fleet_facts", {"pods": pods, "dest": fleet.facts})
    assert run.took.result["read"] == 1_000, run
    what = "nodes and pods read" if pods else "nodes read"
    yield name, run.took.cpu, "CPU-s", f"{what}, recorded, written to a file; {fleet.setup}; {PROCESS}"
    yield f"{name}_wall", run.took.wall, "s", f"{ROUND_TRIP_MS} ms round trip, 32 threads"
    yield f"{name}_memory", run.took.peak_mb, "MB", "most that was resident"
    megabytes = f"{run.counts.bytes_out / 1e6:.0f} MB sent"
    yield f"{name}_requests", run.counts.requests, "", f"{run.counts.by_verb()}; {megabytes}"
