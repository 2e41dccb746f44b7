# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``NodeClaim`` of karpenter.sh/v1, as far as decisions about disruption read it; members have it, we never install it.

Manifests become these by ``schema.codec.decode``.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import (
    EMPTY,
    Condition,
    ObjectMeta,
    find_condition,
)
from ...schema.prop import prop
from ..clusters.member_cluster import Taint


@dataclass(frozen=True, kw_only=True)
class NodeClassReference:
    group: str = prop("API group of the node class.", default="")
    kind: str = prop("Kind of the node class.", default="")
    name: str = prop("Name of the node class.", default="")


@dataclass(frozen=True, kw_only=True)
class NodeClaimSpec:
    node_class_ref: NodeClassReference = prop("Class that the machine is made from.", default=NodeClassReference())
    taints: tuple[Taint, ...] = prop("Taints of the node.", default=())
    startup_taints: tuple[Taint, ...] = prop("Taints that something else takes off.", default=())
    expire_after: str = prop("Lifetime from creation, or Never.", default="720h")
    termination_grace_period: str = prop("How long a drain may take; empty means without end.", default="")


@dataclass(frozen=True, kw_only=True)
class NodeClaimStatus:
    node_name: str = prop("Name of the Node.", default="")
    provider_id: str = prop("Identity of the machine.", json="providerID", default="")
    image_id: str = prop("Image that the machine was made from.", json="imageID", default="")
    capacity: t.Mapping[str, str] = prop("All that the machine has.", default=EMPTY, quantity=True)
    allocatable: t.Mapping[str, str] = prop("What pods may ask for.", default=EMPTY, quantity=True)
    last_pod_event_time: datetime | None = prop("Instant at which a pod came or left last.", default=None)
    conditions: tuple[Condition, ...] = prop("Conditions.", default=())


@dataclass(frozen=True, kw_only=True)
class NodeClaim:
    metadata: ObjectMeta = prop("Metadata.")
    spec: NodeClaimSpec = prop("What was asked for.", default=NodeClaimSpec())
    status: NodeClaimStatus = prop("What was found.", default=NodeClaimStatus())

    @property
    def name(self) -> str:
        return self.metadata.name

    def condition(self, kind: str) -> Condition | None:
        """The first condition of that type; None without one."""
        return find_condition(self.status.conditions, kind)

    def is_condition_true(self, kind: str) -> bool:
        """Whether the first condition of that type is there and True; False for Unknown too."""
        found = self.condition(kind)
        return found is not None and found.status == "True"
