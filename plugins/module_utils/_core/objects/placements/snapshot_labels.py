# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""KubeFleet's labels and annotations on snapshots of policies and resources: latest, index, number of clusters,
hash."""

from __future__ import annotations

LATEST = "kubernetes-fleet.io/is-latest-snapshot"
POLICY_INDEX = "kubernetes-fleet.io/policy-index"
NUMBER_OF_CLUSTERS = "kubernetes-fleet.io/number-of-clusters"
RESOURCE_INDEX = "kubernetes-fleet.io/resource-index"
RESOURCE_HASH = "kubernetes-fleet.io/resource-hash"
