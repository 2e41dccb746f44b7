# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Carrying placements out on a thousand simulated members, with facts that were recorded just before.

The rows named after the benchmark are processor seconds of our process; the simulation is another process on the same
machine, so that seconds of the clock are those of both.
"""

from __future__ import annotations

import subprocess
import sys
import typing as t

from joined_fleet import Asked, JoinedFleet, joined_fleet
from measured_verb import PROCESS, Options, percentile

OBJECTS = "Namespace, ConfigMap, Deployment"
CURVE = (1, 10, 50, 200)
WORKERS = (1, 2)
POINT_LIMIT = 900.0
Row = tuple[str, float, str, str]


def bench_apply_100of1000() -> t.Iterator[Row]:
    with joined_fleet() as fleet:
        options = fleet.place(1)
        runs = [_first(fleet, options) for _time in range(10)]
        fleet.fresh()
        whole = fleet.apply_by_playbook(options)
    setup = f"1 placement of 3 objects ({OBJECTS}) to 100; {fleet.setup}, facts just recorded; {PROCESS}"
    yield from _rows("apply_100of1000", setup, runs)
    seconds = f"{whole.took.wall:.1f} s"
    yield "apply_100of1000_playbook", whole.took.cpu, "CPU-s", f"the same by ansible-playbook, {seconds}, all processes"
    with joined_fleet(tls=True, lean=False) as fleet:
        runs = [_first(fleet, fleet.place(1)) for _time in range(3)]
    yield from _rows("apply_100of1000_tls", f"as in real fleets: {fleet.setup}", runs)


def bench_apply_unchanged_1000() -> t.Iterator[Row]:
    with joined_fleet() as fleet:
        options = fleet.place(1)
        _first(fleet, options)
        fleet.run("placement", options)  # Deployments have become available since, which is recorded once
        runs = [fleet.run("placement", options) for _time in range(5)]
    for each in runs:
        assert not each.took.result["changed"] and not each.counts.verbs.get("apply"), each
    yield from _rows("apply_unchanged_1000", f"the same again, nothing to do; {fleet.setup}; {PROCESS}", runs)


def bench_apply_50x100() -> t.Iterator[Row]:
    with joined_fleet() as fleet:
        options = fleet.place(50)
        offline = {**options, "state": "planned", "facts": fleet.facts}
        planned = [fleet.run("placement", offline) for _time in range(3)]
        fleet.fresh()
        applied = fleet.run("placement", options)
        again = fleet.run("placement", options)
    assert not planned[0].counts.requests and applied.took.result["members"] == 5_000, applied
    setup = f"50 placements of 3 objects ({OBJECTS}) to 100 each; {fleet.setup}"
    yield from _rows("apply_50x100_plan", f"{setup}; planned offline from a facts snapshot; {PROCESS}", planned)
    yield from _rows("apply_50x100", f"{setup}, facts just recorded; {PROCESS}", [applied])
    yield from _rows("apply_50x100_again", "the same a second time, when Deployments have become available", [again])


def bench_apply_50x100_workers() -> t.Iterator[Row]:
    """The members' program needs processors, too: on two of them the ratio cannot come to a half."""
    found: dict[int, float] = {}
    for workers in WORKERS:
        with joined_fleet() as fleet:
            options = {**fleet.place(50), "workers": workers}
            fleet.fresh()
            took = fleet.run("placement", options).took
            assert took.result["members"] == 5_000, took
            found[workers] = took.wall
            setup = f"50 placements of 3 objects to 100 each, {took.cpu:.1f} CPU-s in all processes; {fleet.setup}"
        yield f"apply_50x100_workers_{workers}", took.wall, "s", setup
        what = "most that was resident in the process that decides" if workers > 1 else "most that was resident"
        yield f"apply_50x100_workers_{workers}_memory", took.peak_mb, "MB", what
    yield (
        "apply_50x100_workers",
        found[WORKERS[1]] / found[WORKERS[0]],
        "times",
        "seconds with 2 workers, by those with one",
    )


def bench_apply_50x4() -> t.Iterator[Row]:
    """What keeps few threads busy if placements are carried out one after another."""
    with joined_fleet(200, delay_ms=50) as fleet:
        options = fleet.place(50, clusters=4, apart=True)
        fleet.fresh()
        applied = fleet.run("placement", options)
        again = fleet.run("placement", options)
    assert applied.took.result["members"] == 200, applied
    setup = f"50 placements of 3 objects ({OBJECTS}) to 4 members each, none of which is another's; {fleet.setup}"
    yield from _rows("apply_50x4", f"{setup}, facts just recorded; {PROCESS}", [applied])
    yield from _rows("apply_50x4_again", "the same a second time, when Deployments have become available", [again])


def bench_apply_curve() -> t.Iterator[Row]:
    """Ends at the first point that takes too long."""
    found: dict[int, float] = {}
    with joined_fleet() as fleet:
        for count in CURVE:
            options = fleet.place(count)
            fleet.fresh()
            try:
                run = fleet.run("placement", options, limit=POINT_LIMIT)
            except subprocess.TimeoutExpired:
                print(f"apply_curve_{count}: not within {POINT_LIMIT:g} s; the curve ends here", file=sys.stderr)
                break
            found[count] = run.took.cpu
            setup = f"{count} placements of 3 objects to 100 each; {run.took.wall:.1f} s, {run.took.peak_mb:.0f} MB"
            yield f"apply_curve_{count}", run.took.cpu, "CPU-s", f"{setup}; {fleet.setup}"
    first, last = CURVE[1], max(found)
    if last > first:
        setup = f"CPU per placement at {last} placements, by that at {first}; 1 is linear"
        yield "apply_curve", found[last] / last / (found[first] / first), "times", setup


def _first(fleet: JoinedFleet, options: Options) -> Asked:
    fleet.fresh()
    run = fleet.run("placement", options)
    assert run.took.result["changed"] and run.took.result["members"] == 100, run
    assert run.counts.verbs["apply"] >= 400, run.counts
    return run


def _rows(name: str, setup: str, runs: t.Sequence[Asked]) -> t.Iterator[Row]:
    """Medians, the 90th percentile where there are ten, and the most of everything that is counted."""
    times = f" of {len(runs)} runs" if len(runs) > 1 else ""
    last = runs[-1].counts
    yield name, percentile((each.took.cpu for each in runs), 0.5), "CPU-s", f"median{times}; {setup}"
    yield f"{name}_wall", percentile((each.took.wall for each in runs), 0.5), "s", f"median{times}"
    if len(runs) >= 10:
        yield f"{name}_p90", percentile((each.took.wall for each in runs), 0.9), "s", f"90 %{times} took no longer"
    yield f"{name}_memory", max(each.took.peak_mb for each in runs), "MB", "most that was resident"
    if last.requests:
        connections = f"{last.connections - 1:,} connections"  # one is ours, that asks for the counts
        yield f"{name}_requests", last.requests, "", f"{last.by_verb()}; {connections}"
        yield f"{name}_requests_member", last.most, "", "of the member that got most"
