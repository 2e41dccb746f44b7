# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterResourcePlacementEviction``: one attempt to take a placement off one cluster (KubeFleet)."""

from __future__ import annotations

from dataclasses import dataclass

from ...schema.meta import Condition, ObjectMeta
from ...schema.prop import prop
from ..api_groups import PLACEMENT_API

VALID, EXECUTED = "Valid", "Executed"
REFERENCE_LENGTH = 255
SPEC_RULES = (("self == oldSelf", "the spec of an eviction cannot be changed; make a new one"),)


@dataclass(frozen=True, kw_only=True)
class EvictionSpec:
    placement_name: str = prop("Name of the placement.", max_length=REFERENCE_LENGTH)
    cluster_name: str = prop("Name of the cluster that it leaves.", max_length=REFERENCE_LENGTH)


@dataclass(frozen=True, kw_only=True)
class EvictionStatus:
    conditions: tuple[Condition, ...] = prop("Valid, Executed.", default=())


@dataclass(frozen=True, kw_only=True)
class ClusterResourcePlacementEviction:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterResourcePlacementEviction")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: EvictionSpec = prop("What leaves which cluster.", rules=SPEC_RULES)
    status: EvictionStatus = prop("What became of it; an eviction is tried once.", default=EvictionStatus())

    @property
    def name(self) -> str:
        return self.metadata.name
