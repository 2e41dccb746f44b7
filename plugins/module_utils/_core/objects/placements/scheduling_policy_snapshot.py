# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterSchedulingPolicySnapshot`` and ``SchedulingPolicySnapshot``: a policy as it was when clusters were picked,
and the decisions (KubeFleet)."""

from __future__ import annotations

from dataclasses import dataclass

from ...schema.meta import Condition, ObjectMeta
from ...schema.prop import prop
from ..api_groups import PLACEMENT_API
from .binding import ClusterDecision
from .policy import PlacementPolicy


@dataclass(frozen=True, kw_only=True)
class PolicySnapshotSpec:
    policy: PlacementPolicy | None = prop("The policy without numberOfClusters.", default=None)
    policy_hash: str = prop("Hash of that policy; ours is SHA-256 in hex.")


@dataclass(frozen=True, kw_only=True)
class PolicySnapshotStatus:
    observed_crp_generation: int = prop("Generation of the placement.", default=0, json="observedCRPGeneration")
    conditions: tuple[Condition, ...] = prop("Scheduled.", default=())
    target_clusters: tuple[ClusterDecision, ...] = prop("Decisions.", default=(), max_items=1000)


@dataclass(frozen=True, kw_only=True)
class ClusterSchedulingPolicySnapshot:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterSchedulingPolicySnapshot")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: PolicySnapshotSpec = prop("The policy.")
    status: PolicySnapshotStatus = prop("The decisions.", default=PolicySnapshotStatus())

    @property
    def name(self) -> str:
        return self.metadata.name


@dataclass(frozen=True, kw_only=True)
class SchedulingPolicySnapshot(ClusterSchedulingPolicySnapshot):
    """The same of a ResourcePlacement, in its namespace."""

    kind: str = prop("Kind.", default="SchedulingPolicySnapshot")
