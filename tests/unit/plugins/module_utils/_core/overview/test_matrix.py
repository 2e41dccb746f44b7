# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is recorded of placements on clusters: what failed there, and what was only not available yet."""

from __future__ import annotations

from datetime import UTC, datetime

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    PerClusterPlacementStatus,
    PlacementStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.matrix import (
    failing,
    late,
    standing_by_cluster,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


def on(cluster: str, kind: str, message: str, status: str = "False", at: datetime | None = AT):
    conditions = (Condition(type=kind, status=status, message=message, last_transition_time=at),)
    return PerClusterPlacementStatus(cluster_name=cluster, conditions=conditions)


def test_what_was_not_available_yet_has_not_failed():
    """An apply that does not wait sees no more, and nobody may have looked since."""
    status = PlacementStatus(placement_statuses=(
        on("a", "Available", "not available yet: 1 of 3 objects"),
        on("b", "Applied", "1 of 3 could not be applied"),
        on("c", "Available", "", at=None),
        on("d", "RolloutStarted", "its turn comes later"),
        on("e", "Available", "all 3 objects are available", "True"),
    ))  # fmt: skip
    assert failing(status) == {"b": "not Applied: 1 of 3 could not be applied"}
    assert late(status) == {
        "a": "was not available yet at 2026-03-02T09:00:00Z: 1 of 3 objects",
        "c": "was not available yet",
    }
    found = standing_by_cluster(status)
    assert found["a"] == (
        "not known to be Available",
        "not available yet: 1 of 3 objects, seen at 2026-03-02T09:00:00Z",
    )
    assert found["b"] == ("not Applied", "1 of 3 could not be applied") and "e" not in found
