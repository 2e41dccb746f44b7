# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterResourcePlacementStatus``: the status of a placement for those who may look into its namespace only
(KubeFleet)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ..api_groups import PLACEMENT_API
from .cluster_resource_placement import PlacementStatus


@dataclass(frozen=True, kw_only=True)
class ClusterResourcePlacementStatus:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterResourcePlacementStatus")
    metadata: ObjectMeta = prop("Object metadata; the name is that of the placement.")
    source_status: PlacementStatus = prop("The status of the placement.")
    last_updated_time: datetime = prop("When that was written.")

    @property
    def name(self) -> str:
        return self.metadata.name
