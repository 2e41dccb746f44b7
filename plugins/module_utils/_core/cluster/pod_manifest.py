# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The parts of a core/v1 Pod and PodDisruptionBudget that decisions about nodes read, as manifests have them:
containers, affinity, ``topologySpreadConstraints``, volumes, ports, owners, with defaults."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ..objects.placements.policy import Toleration
from ..schema.meta import EMPTY, Condition
from ..schema.prop import prop
from ..values.selector import LabelSelector

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, kw_only=True)
class OwnerReference:
    api_version: str = prop("Group and version.", default="")
    kind: str = prop("Kind.", default="")
    uid: str = prop("Identity.", default="")
    controller: bool = prop("Whether it manages the object.", default=False)


@dataclass(frozen=True, kw_only=True)
class PodMeta:
    name: str = prop("Name.")
    namespace: str = prop("Namespace.", default="default")
    labels: t.Mapping[str, str] = prop("Labels.", default=EMPTY)
    annotations: t.Mapping[str, str] = prop("Annotations.", default=EMPTY)
    owner_references: tuple[OwnerReference, ...] = prop("Owners.", default=())
    uid: str = prop("Identity.", default="")
    creation_timestamp: datetime | None = prop("When it was made.", default=None)
    deletion_timestamp: datetime | None = prop("When deletion ends.", default=None)


@dataclass(frozen=True, kw_only=True)
class Resources:
    requests: t.Mapping[str, str] = prop("Requests.", default=EMPTY, quantity=True)
    limits: t.Mapping[str, str] = prop("Limits.", default=EMPTY, quantity=True)


@dataclass(frozen=True, kw_only=True)
class Port:
    host_port: int = prop("Port of the node, 0 for none.", default=0)
    protocol: str = prop("Protocol.", default="TCP")
    host_ip: str = prop("Address of the node, empty for all.", json="hostIP", default="")


@dataclass(frozen=True, kw_only=True)
class Container:
    restart_policy: str = prop("Always makes an init container stay.", default="")
    resources: Resources = prop("Resources.", default=Resources())
    ports: tuple[Port, ...] = prop("Ports.", default=())


@dataclass(frozen=True, kw_only=True)
class Expression:
    key: str = prop("Key.")
    operator: str = prop("Operator.")
    values: tuple[str, ...] = prop("Values.", default=())


@dataclass(frozen=True, kw_only=True)
class NodeTerm:
    match_expressions: tuple[Expression, ...] = prop("Over labels.", default=())
    match_fields: tuple[Expression, ...] = prop("Over fields.", default=())


@dataclass(frozen=True, kw_only=True)
class NodeTerms:
    node_selector_terms: tuple[NodeTerm, ...] = prop("Alternatives.", default=())


@dataclass(frozen=True, kw_only=True)
class PreferredNodeTerm:
    weight: int = prop("How much it is wished for.", default=0)
    preference: NodeTerm = prop("What is wished for.", default=NodeTerm())


@dataclass(frozen=True, kw_only=True)
class NodeAffinity:
    required: NodeTerms | None = prop("What must hold.", json=REQUIRED, default=None)
    preferred: tuple[PreferredNodeTerm, ...] = prop("What is wished for.", json=PREFERRED, default=())


@dataclass(frozen=True, kw_only=True)
class PodAffinityTerm:
    label_selector: LabelSelector | None = prop("Which pods.", default=None)
    topology_key: str = prop("Label that makes a domain.")
    namespaces: tuple[str, ...] = prop("Namespaces of those pods.", default=())
    namespace_selector: LabelSelector | None = prop("The same by labels.", default=None)


@dataclass(frozen=True, kw_only=True)
class PreferredPodTerm:
    weight: int = prop("How much it is wished for.", default=0)
    pod_affinity_term: PodAffinityTerm = prop("What is wished for.")


@dataclass(frozen=True, kw_only=True)
class PodTerms:
    required: tuple[PodAffinityTerm, ...] = prop("What must hold.", json=REQUIRED, default=())
    preferred: tuple[PreferredPodTerm, ...] = prop("What is wished for.", json=PREFERRED, default=())


@dataclass(frozen=True, kw_only=True)
class PodAffinity:
    node_affinity: NodeAffinity = prop("To nodes.", default=NodeAffinity())
    pod_affinity: PodTerms = prop("To pods.", default=PodTerms())
    pod_anti_affinity: PodTerms = prop("Away from pods.", default=PodTerms())


@dataclass(frozen=True, kw_only=True)
class PodSpread:
    """One of ``topologySpreadConstraints``; ScheduleAnyway is a wish."""

    max_skew: int = prop("Largest difference.", default=1)
    topology_key: str = prop("Label that makes a domain.")
    when_unsatisfiable: str = prop("DoNotSchedule or ScheduleAnyway.", default="DoNotSchedule")
    label_selector: LabelSelector | None = prop("Which pods count.", default=None)
    match_label_keys: tuple[str, ...] = prop("Labels that must equal the pod's.", default=())
    min_domains: int | None = prop("Fewest domains.", default=None)
    node_affinity_policy: str = prop("Whether nodes that the pod does not select are left out.", default="Honor")
    node_taints_policy: str = prop("Whether nodes that the pod does not tolerate are left out.", default="Ignore")


@dataclass(frozen=True, kw_only=True)
class Volume:
    persistent_volume_claim: t.Mapping[str, t.Any] | None = prop("Claim.", default=None, raw=True)
    ephemeral: t.Mapping[str, t.Any] | None = prop("Claim of the pod's own.", default=None, raw=True)


@dataclass(frozen=True, kw_only=True)
class PodSpec:
    node_name: str = prop("Node that it runs on.", default="")
    containers: tuple[Container, ...] = prop("Containers.", default=())
    init_containers: tuple[Container, ...] = prop("Containers that run before.", default=())
    overhead: t.Mapping[str, str] = prop("What the runtime needs.", default=EMPTY, quantity=True)
    resources: Resources = prop("Resources of the pod as a whole.", default=Resources())
    node_selector: t.Mapping[str, str] = prop("Labels that the node must have.", default=EMPTY)
    affinity: PodAffinity = prop("Affinity.", default=PodAffinity())
    tolerations: tuple[Toleration, ...] = prop("Tolerations.", default=())
    topology_spread_constraints: tuple[PodSpread, ...] = prop("Spread.", default=())
    volumes: tuple[Volume, ...] = prop("Volumes.", default=())
    resource_claims: tuple[t.Mapping[str, t.Any], ...] = prop("Devices.", default=(), raw=True)
    priority: int | None = prop("Priority.", default=None)
    priority_class_name: str = prop("Its class.", default="")
    termination_grace_period_seconds: int = prop("Time to end.", default=30)


@dataclass(frozen=True, kw_only=True)
class PodStatus:
    phase: str = prop("Phase.", default="")
    start_time: datetime | None = prop("When the kubelet saw it.", default=None)
    nominated_node_name: str = prop("Node where others make room for it.", default="")
    conditions: tuple[Condition, ...] = prop("Conditions.", default=())


@dataclass(frozen=True, kw_only=True)
class PodManifest:
    metadata: PodMeta = prop("Metadata.")
    spec: PodSpec = prop("Spec.", default=PodSpec())
    status: PodStatus = prop("Status.", default=PodStatus())


@dataclass(frozen=True, kw_only=True)
class PdbSpec:
    selector: LabelSelector | None = prop("Which pods.", default=None)
    min_available: int | str | None = prop("Least that stays.", default=None)
    max_unavailable: int | str | None = prop("Most that goes.", default=None)
    unhealthy_pod_eviction_policy: str = prop("IfHealthyBudget or AlwaysAllow.", default="IfHealthyBudget")


@dataclass(frozen=True, kw_only=True)
class PdbStatus:
    disruptions_allowed: int = prop("How many pods may go now.", default=0)


@dataclass(frozen=True, kw_only=True)
class PdbManifest:
    metadata: PodMeta = prop("Metadata.")
    spec: PdbSpec = prop("Spec.", default=PdbSpec())
    status: PdbStatus = prop("Status.", default=PdbStatus())
