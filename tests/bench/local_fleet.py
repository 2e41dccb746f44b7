# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How long local clusters take, and what they hold in memory."""

from __future__ import annotations

import tempfile
import time
import typing as t
from functools import partial
from pathlib import Path

MEGABYTE = 1_000_000


def bench_local_fleet_4() -> t.Iterator[tuple[str, float, str, str]]:
    """Four clusters of profile fleet, made from nothing but binaries until every node is ready; then unchanged."""
    from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster
    from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec, NodesSpec

    specs = [ClusterSpec(f"bench-{number}", profile="fleet", nodes=(NodesSpec(3),)) for number in range(1, 5)]
    setup = "4 clusters of profile fleet, Kubernetes 1.36, 3 simulated nodes each, 2 started at a time, binaries built"
    cluster.prepare(specs, say=print)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        root = Path(folder)
        work = {spec.name: partial(cluster.present, spec, root) for spec in specs}
        try:
            yield "local_fleet_4", _seconds(work), "s", setup
            own, shared = (sum(amounts) / MEGABYTE for amounts in zip(*_memory(specs, root), strict=True))
            yield "local_fleet_4_resident", own, "MB", f"{setup}; resident memory of all processes added up"
            yield "local_fleet_4_shared", shared, "MB", f"{setup}; pages that processes share counted once"
            yield "local_fleet_4_unchanged", _seconds(work), "s", f"{setup}; asked for a second time"
        finally:
            ended = cluster.work_on_clusters(
                {spec.name: partial(cluster.absent, spec.name, root) for spec in specs}, at_once=4
            )
            assert not ended.errors, ended.errors


def _seconds(work: t.Mapping[str, t.Callable[[], t.Any]]) -> float:
    from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster

    began = time.monotonic()
    done = cluster.work_on_clusters(work)
    seconds = time.monotonic() - began
    assert not done.errors, done.errors
    return seconds


def _memory(specs: t.Iterable[t.Any], root: Path) -> list[tuple[int, int]]:
    from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster

    return [cluster.memory(root, spec.name) for spec in specs]
