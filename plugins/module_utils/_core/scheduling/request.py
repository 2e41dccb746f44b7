# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What one scheduling of a placement is asked for (KubeFleet scheduler): placement, policy snapshot and fleet; required
and preferred terms and spread constraints read out of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..objects.placements.policy import (
    ClusterAffinity,
    ClusterSelectorTerm,
    PlacementPolicy,
    PreferredClusterSelector,
    TopologySpreadConstraint,
)
from ..objects.placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from .index import FleetIndex

NO_AFFINITY = ClusterAffinity()


@dataclass(frozen=True)
class SchedulingRequest:
    """``snapshot`` is the policy snapshot by whose name bindings are current. ``upstream`` asks for KubeFleet's
    decision with every quirk that is mended otherwise."""

    placement: ClusterResourcePlacement
    snapshot: ClusterSchedulingPolicySnapshot
    index: FleetIndex
    upstream: bool = False

    @cached_property
    def policy(self) -> PlacementPolicy:
        """The policy of the placement, not of the snapshot; PickAll where it has none."""
        return self.placement.spec.policy or PlacementPolicy()

    @property
    def namespace(self) -> str:
        """The namespace of a ResourcePlacement, empty for a cluster-scoped placement."""
        return self.placement.namespace

    @property
    def required(self) -> tuple[ClusterSelectorTerm, ...]:
        """The required terms, alternatives; empty if every cluster will do."""
        required = self._affinity.required
        return required.cluster_selector_terms if required else ()

    @property
    def preferred(self) -> tuple[PreferredClusterSelector, ...]:
        """The preferred terms, in their order."""
        return self._affinity.preferred

    @property
    def constraints(self) -> tuple[TopologySpreadConstraint, ...]:
        """The topology spread constraints, in their order."""
        return self.policy.topology_spread_constraints

    @property
    def _affinity(self) -> ClusterAffinity:
        """The cluster affinity of the policy; an empty one where it has none."""
        affinity = self.policy.affinity
        return (affinity.cluster_affinity if affinity else None) or NO_AFFINITY
