# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterResourcePlacementDisruptionBudget``: how many clusters of a placement evictions leave alone (KubeFleet)."""

from __future__ import annotations

from dataclasses import dataclass

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ..api_groups import PLACEMENT_API

SPEC_RULES = (("!has(self.maxUnavailable) || !has(self.minAvailable)", "keep one of maxUnavailable and minAvailable"),)


@dataclass(frozen=True, kw_only=True)
class DisruptionBudgetSpec:
    """At most one of the two, each a number of clusters or a percentage as text; with neither, every eviction is
    refused."""

    max_unavailable: int | str | None = prop("Clusters that may be unavailable, number or percentage.", default=None)
    min_available: int | str | None = prop("Clusters that stay available, number or percentage.", default=None)


@dataclass(frozen=True, kw_only=True)
class ClusterResourcePlacementDisruptionBudget:
    """Guards the placement of the same name."""

    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterResourcePlacementDisruptionBudget")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: DisruptionBudgetSpec = prop("The budget.", rules=SPEC_RULES)

    @property
    def name(self) -> str:
        return self.metadata.name
