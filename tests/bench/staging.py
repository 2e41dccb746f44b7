# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Staged update runs on a thousand simulated members: three stages by label, nothing to be approved.

Placements are recorded before; a run is measured from its definition to its end, when every cluster has the content and
its Deployments are available.
"""

from __future__ import annotations

import time
import typing as t
from concurrent.futures import ThreadPoolExecutor

from joined_fleet import ENVIRONMENTS, Asked, JoinedFleet, joined_fleet, manifest_of, resources, write
from measured_verb import PROCESS, Options, percentile

KUBEFLEET = "placement.kubernetes-fleet.io/v1beta1"
RUNS = 5
# Processes at a time: a run waits for its members most of the time, and each has 16 threads of its own.
SIDE_BY_SIDE = 8
Row = tuple[str, float, str, str]


def bench_staged_100() -> t.Iterator[Row]:
    with joined_fleet() as fleet:
        runs = []
        for _time in range(RUNS):
            fleet.fresh()
            (options,) = _placed(fleet, 1)
            runs.append(_whole(fleet, options))
    setup = f"1 run of 3 stages to 100 clusters; {fleet.setup}; {PROCESS}"
    last = runs[-1].counts
    yield "staged_100", percentile((each.took.cpu for each in runs), 0.5), "CPU-s", f"median of {RUNS}; {setup}"
    yield "staged_100_p90", percentile((each.took.wall for each in runs), 0.9), "s", f"90 % of {RUNS} took no longer"
    yield "staged_100_memory", max(each.took.peak_mb for each in runs), "MB", "most that was resident"
    yield "staged_100_requests", last.requests, "", last.by_verb()
    yield "staged_100_requests_member", last.most, "", "of the member that got most"


def bench_staged_100x100() -> t.Iterator[Row]:
    with joined_fleet() as fleet:
        fleet.fresh()
        given = _placed(fleet, 100)
        began = time.perf_counter()
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            runs = list(pool.map(lambda options: _whole(fleet, options), given))
        wall = time.perf_counter() - began
    setup = f"100 runs, {SIDE_BY_SIDE} processes at a time, each of 3 stages to 100 clusters; {fleet.setup}"
    yield "staged_100x100", wall, "s", f"from the first to the end of the last, starts of Python included; {setup}"
    yield "staged_100x100_one_p90", percentile((each.took.wall for each in runs), 0.9), "s", "90 % took no longer"
    yield "staged_100x100_cpu", sum(each.took.cpu for each in runs), "CPU-s", PROCESS


def _placed(fleet: JoinedFleet, count: int) -> list[Options]:
    """So many placements that are recorded and written nowhere; the options of a run for each."""
    given: list[Options] = []
    stages = [
        {"name": each, "labelSelector": {"matchLabels": {"env": each}}, "maxConcurrency": "100%"}
        for each in ENVIRONMENTS
    ]
    rings = {
        "apiVersion": KUBEFLEET,
        "kind": "ClusterStagedUpdateStrategy",
        "metadata": {"name": "rings"},
        "spec": {"stages": stages},
    }
    for number in range(count):
        name = f"app-{number:04d}"
        names = [fleet.members.names[(number * 7 + each) % len(fleet.members.names)] for each in range(100)]
        made = manifest_of(name, {"placementType": "PickFixed", "clusterNames": names})
        made["spec"]["strategy"] = {"type": "External"}
        write(fleet.folder / "placements" / f"{name}.yml", [made])
        write(fleet.folder / "resources" / f"{name}.yml", resources(name))
        spec = {"placementName": name, "stagedRolloutStrategyName": "rings"}
        run = {"apiVersion": KUBEFLEET, "kind": "ClusterStagedUpdateRun", "metadata": {"name": name}, "spec": spec}
        given.append({"state": "conducted", "name": name, "definition": [rings, run]})
    options = {"src": [str(fleet.folder / "placements")], "resources": [str(fleet.folder / "resources")]}
    fleet.run("placement", options)
    return given


def _whole(fleet: JoinedFleet, options: Options) -> Asked:
    run = fleet.run("staged_update_run", options)
    assert run.took.result["fleet"]["outcome"] == "done", run.took.result
    return run
