# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes, pods and budgets of a thousand simulated members, each 50 ms away, for decisions about nodes."""

from __future__ import annotations

import os
import typing as t

from joined_fleet import joined_fleet
from measured_verb import PROCESS
from reading_facts import ROUND_TRIP_MS, Row

# Fewer on a machine that has no time: BENCH_NODES_MEMBERS=100.
MEMBERS = int(os.environ.get("BENCH_NODES_MEMBERS", "1000"))


def bench_nodes_1000() -> t.Iterator[Row]:
    with joined_fleet(MEMBERS, delay_ms=ROUND_TRIP_MS) as fleet:
        run = fleet.run("node_disruption_info", {})
    assert run.took.result["nodes"] == 30 * MEMBERS, run
    what = "nodes, pods and PodDisruptionBudgets read, each node with what holds it told"
    yield "nodes_1000", run.took.cpu, "CPU-s", f"{what}; {fleet.setup}; {PROCESS}"
    yield "nodes_1000_wall", run.took.wall, "s", f"{ROUND_TRIP_MS} ms round trip, 32 threads"
    yield "nodes_1000_memory", run.took.peak_mb, "MB", "most that was resident"
    yield "nodes_1000_requests", run.counts.requests, "", run.counts.by_verb()
