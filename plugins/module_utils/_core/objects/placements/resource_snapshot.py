# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterResourceSnapshot`` and ``ResourceSnapshot``: the resources of a placement as they were at one index
(KubeFleet)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...schema.meta import Condition, ObjectMeta
from ...schema.prop import prop
from ..api_groups import PLACEMENT_API


@dataclass(frozen=True, kw_only=True)
class ResourceSnapshotSpec:
    selected_resources: tuple[t.Mapping[str, t.Any], ...] = prop("Manifests, Secret contents sealed.", raw=True)


@dataclass(frozen=True, kw_only=True)
class ResourceSnapshotStatus:
    conditions: tuple[Condition, ...] = prop("Not used.", default=())


@dataclass(frozen=True, kw_only=True)
class ClusterResourceSnapshot:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterResourceSnapshot")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: ResourceSnapshotSpec = prop("The resources.")
    status: ResourceSnapshotStatus = prop("Not used.", default=ResourceSnapshotStatus())

    @property
    def name(self) -> str:
        return self.metadata.name


@dataclass(frozen=True, kw_only=True)
class ResourceSnapshot(ClusterResourceSnapshot):
    """The same of a ResourcePlacement, in its namespace."""

    kind: str = prop("Kind.", default="ResourceSnapshot")
