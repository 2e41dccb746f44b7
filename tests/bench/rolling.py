# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rolling updates: one decision. Nothing is read from a cluster and nothing is stored.

All clusters hold the old content and are available, a tenth of them is in the middle of the change, so that the
decision finds nobody to begin and a reason for everybody: the dearest one.
"""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding, WantedContent
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.decide import (
    RolloutSeen,
    RolloutState,
    decide,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
OLD, NEW = "web-0-snapshot", "web-1-snapshot"
SIZES = (10, 100, 1_000, 10_000)
Row = tuple[str, float, str, str]


def held(number: int) -> RolloutBinding:
    late = number % 10 == 0
    available = {"type": "Available", "status": "False" if late else "True", "observedGeneration": 1}
    available |= {"reason": "NotAllWorkAreAvailable" if late else "AllWorkAreAvailable"}
    name = f"member-{number:05d}"
    manifest = {
        "metadata": {"name": f"web-{name}", "generation": 1},
        "spec": {"state": "Bound", "targetCluster": name, "resourceSnapshotName": NEW if late else OLD},
        "status": {"conditions": [{**available, "lastTransitionTime": "2026-01-15T11:00:00Z"}]},
    }
    return RolloutBinding(binding=decode(ClusterResourceBinding, manifest))


def seen() -> RolloutSeen:
    rolling = {"maxUnavailable": "10%", "maxSurge": 0}
    spec = {"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    placement = decode(ClusterResourcePlacement, {"metadata": {"name": "web", "generation": 1}, "spec": spec})
    return RolloutSeen(placement=placement, wanted=WantedContent(resource_snapshot=NEW, overrides={}))


def bench_rollout_1000_step() -> list[Row]:
    return [_step(1_000)]


def bench_rollout() -> list[Row]:
    return [_step(size) for size in SIZES if size != 1_000]


def _step(size: int) -> Row:
    state, sight = RolloutState(bindings=tuple(map(held, range(size)))), seen()
    first = decide(state, sight, NOW)
    assert not [each for each in first.acts if each.action == "update"]
    times = []
    for _again in range(5):
        begun = time.perf_counter()
        decide(first.state, sight, NOW)
        times.append(time.perf_counter() - begun)
    setup = f"{size:,} clusters, a tenth of them changing, all others wait for them"
    return f"rollout_{size}_step", statistics.median(times) * 1_000, "ms", setup
