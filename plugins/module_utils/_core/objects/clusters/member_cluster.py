# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``MemberCluster`` of ``cluster.kubernetes-fleet.io``: one cluster of the fleet, its taints, and what it said of
itself (properties, resources, agents)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import EMPTY, Condition, ObjectMeta
from ...schema.prop import prop
from ..api_groups import CLUSTER_API


@dataclass(frozen=True, kw_only=True)
class Taint:
    key: str = prop("Key of the taint.")
    value: str = prop("Value of the taint.", default="")
    effect: str = prop("Effect on placements that do not tolerate it.", enum=("NoSchedule",))


@dataclass(frozen=True, kw_only=True)
class DeleteOptions:
    validation_mode: str = prop(
        "Whether deletion is refused while exported services exist.", default="Strict", enum=("Strict", "Skip")
    )


@dataclass(frozen=True, kw_only=True)
class AgentIdentity:
    """An RBAC subject."""

    kind: str = prop("Kind of the subject.")
    name: str = prop("Name of the subject.")
    api_group: str = prop("API group of the subject.", default="")
    namespace: str = prop("Namespace of the subject.", default="")


@dataclass(frozen=True, kw_only=True)
class MemberClusterSpec:
    identity: AgentIdentity = prop("Identity under which the member is allowed to write to the hub.")
    heartbeat_period_seconds: int = prop("Seconds between two heartbeats.", default=60, minimum=1, maximum=600)
    taints: tuple[Taint, ...] = prop("Taints that keep placements away.", default=(), max_items=100)
    delete_options: DeleteOptions | None = prop("How leaving is validated.", default=None)


@dataclass(frozen=True, kw_only=True)
class PropertyValue:
    value: str = prop("Value of the property, usually a quantity.")
    observation_time: datetime | None = prop("Instant at which it was read.", default=None)


@dataclass(frozen=True, kw_only=True)
class ResourceUsage:
    capacity: t.Mapping[str, str] = prop("Sum of all nodes' capacity.", default=EMPTY, quantity=True)
    allocatable: t.Mapping[str, str] = prop("Sum of what pods may request.", default=EMPTY, quantity=True)
    available: t.Mapping[str, str] = prop(
        "Allocatable less the requests of scheduled pods.", default=EMPTY, quantity=True
    )
    observation_time: datetime | None = prop("Instant at which it was read.", default=None)


@dataclass(frozen=True, kw_only=True)
class AgentStatus:
    type: str = prop("Which agent: MemberAgent, MultiClusterServiceAgent or ServiceExportImportAgent.")
    conditions: tuple[Condition, ...] = prop("Joined, Healthy.", default=())
    last_received_heartbeat: datetime | None = prop("Instant of the last successful read.", default=None)


@dataclass(frozen=True, kw_only=True)
class MemberClusterStatus:
    conditions: tuple[Condition, ...] = prop("Conditions of the member.", default=())
    properties: t.Mapping[str, PropertyValue] = prop("Properties by name.", default=EMPTY)
    resource_usage: ResourceUsage | None = prop("Capacity, allocatable, available.", default=None)
    namespaces: t.Mapping[str, str] | None = prop("Namespaces of the member and who placed them.", default=None)
    agent_status: tuple[AgentStatus, ...] = prop("What the agents reported.", default=())


@dataclass(frozen=True, kw_only=True)
class MemberCluster:
    api_version: str = prop("API version.", default=CLUSTER_API)
    kind: str = prop("Kind.", default="MemberCluster")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: MemberClusterSpec | None = prop("What people decide about the member.", default=None)
    status: MemberClusterStatus = prop("What was read from the member.", default=MemberClusterStatus())

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints of its spec, in their order; none without a spec."""
        return self.spec.taints if self.spec else ()
