# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The API groups of KubeFleet's kinds and ours that are read here, and the version of each that is stored."""

from __future__ import annotations

CLUSTER_GROUP = "cluster.kubernetes-fleet.io"
PLACEMENT_GROUP = "placement.kubernetes-fleet.io"
FLEET_GROUP = "gitops.fleet"
# v1 is served beside it where the group is upstream's, with the same schema.
UPSTREAM_STORED, UPSTREAM_VERSIONS = "v1beta1", ("v1", "v1beta1")
# KubeFleet serves it for some kinds; what is written for it is read as what is stored.
UPSTREAM_OLDER = "v1alpha1"
FLEET_STORED = "v1alpha1"
CLUSTER_API = f"{CLUSTER_GROUP}/{UPSTREAM_STORED}"
PLACEMENT_API = f"{PLACEMENT_GROUP}/{UPSTREAM_STORED}"
FLEET_API = f"{FLEET_GROUP}/{FLEET_STORED}"
