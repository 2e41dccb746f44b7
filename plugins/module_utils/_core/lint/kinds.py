# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""KubeFleet's kinds that the linter only knows by name, and does not check."""

from __future__ import annotations

from ..objects.api_groups import CLUSTER_GROUP, PLACEMENT_GROUP

UNCHECKED = {
    PLACEMENT_GROUP: frozenset(
        (
            "AppliedWork",
            "ClusterResourceOverrideSnapshot",
            "ResourceOverrideSnapshot",
            "Work",
        )
    ),
    CLUSTER_GROUP: frozenset(("InternalMemberCluster",)),
}
