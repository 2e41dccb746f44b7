# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``FleetMember`` of ``gitops.fleet``: how a member is reached (kubeconfig, context, ``secretRef``, ``inCluster``) and
run (group, driver, provider), and what was read from it (version, node pools, certificates); same name as its
``MemberCluster``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import Condition, ObjectMeta
from ...schema.prop import prop
from ..api_groups import FLEET_API
from ..updates.forms import GUID, GUID_FORM, name_prop
from .fleet_maintenance import ClusterMaintenance
from .forms import (
    context_prop,
    kubeconfig_prop,
    namespace_prop,
    object_name_prop,
    secret_key_prop,
    words_prop,
)

DRIVERS = ("local", "cluster_api", "command", "role")
CONNECTION_RULES = (
    (
        "[has(self.kubeconfig) && self.kubeconfig != '', has(self.secretRef), self.inCluster].filter(s, s).size() == 1",
        "exactly one of kubeconfig, secretRef and inCluster: true is wanted",
    ),
    (
        "!self.inCluster || !has(self.context) || self.context == ''",
        "a context is chosen in a kubeconfig, and there is none inside the cluster",
    ),
)


@dataclass(frozen=True, kw_only=True)
class SecretRef:
    """A Secret on the hub that holds a kubeconfig."""

    name: str = object_name_prop("Name of the Secret.")
    namespace: str = namespace_prop("Namespace of the Secret.")
    key: str = secret_key_prop("Key of the kubeconfig in the Secret's data.", default="kubeconfig")


@dataclass(frozen=True, kw_only=True)
class ClusterConnection:
    """Exactly one of a kubeconfig file (with an optional context), a Secret on the hub, or ``inCluster``."""

    kubeconfig: str = kubeconfig_prop("Path of a kubeconfig file; ~ and variables such as $HOME are expanded.")
    context: str = context_prop("Context in that kubeconfig; its current context if empty.")
    secret_ref: SecretRef | None = prop("Secret on the hub that holds a kubeconfig.", default=None)
    in_cluster: bool = prop("Use the service account of the pod that runs this.", default=False)


@dataclass(frozen=True, kw_only=True)
class FleetMemberSpec:
    connection: ClusterConnection = prop("How the member's API server is reached.", rules=CONNECTION_RULES)
    group: str = name_prop("Update group of the member.", default="")
    location: str = words_prop("Where the member runs, in words of the user.")
    driver: str = prop("How the member itself is upgraded.", default="", enum=DRIVERS)
    maintenance: str = object_name_prop("Name of the FleetMaintenance that holds its windows.", default="")
    provider: str = words_prop("Platform that it runs on, as in the provider of a ReleaseCatalog.")
    long_term_support: bool = prop("It has long-term support of its platform.", default=False)
    cluster_uid: str = prop(
        "UID of the cluster's namespace kube-system, recorded when it joins: no other cluster has it.",
        default="",
        json="clusterUID",
        pattern=GUID,
        form=GUID_FORM,
    )


@dataclass(frozen=True, kw_only=True)
class PoolImage:
    image: str = prop("Operating system image.")
    count: int = prop("Number of nodes that have it.", minimum=0)


@dataclass(frozen=True, kw_only=True)
class NodePoolStatus:
    name: str = prop("Name of the pool.")
    count: int = prop("Number of nodes.", minimum=0)
    version: str = prop("Kubelet version, the oldest of the pool.", default="")
    image: str = prop(
        "Operating system image, the oldest of the pool; empty if its nodes have images of several families.",
        default="",
    )
    images: tuple[PoolImage, ...] = prop(
        "Images of its nodes, where they do not all have the same, as within a rotation.", default=()
    )
    mode: str = prop("What the pool is for, such as system or user, where its nodes tell.", default="")


@dataclass(frozen=True, kw_only=True)
class CertificateEnds:
    """When certificates end; None where there is none, or it was not checked."""

    server: datetime | None = prop("End of the serving certificate of the API server.", default=None)
    client: datetime | None = prop("End of the client certificate in the kubeconfig.", default=None)


@dataclass(frozen=True, kw_only=True)
class FleetMemberStatus:
    version: str = prop("Kubernetes version of the API server.", default="")
    node_pools: tuple[NodePoolStatus, ...] = prop("Node pools by name.", default=())
    operation: str = prop("Operation in flight on the member.", default="")
    maintenance: ClusterMaintenance | None = prop("Windows that live on the cluster itself.", default=None)
    certificates: CertificateEnds | None = prop("Until when its certificates are valid.", default=None)
    last_read: datetime | None = prop("Instant of the last successful read.", default=None)
    conditions: tuple[Condition, ...] = prop("Reachable.", default=())


@dataclass(frozen=True, kw_only=True)
class FleetMember:
    api_version: str = prop("API version.", default=FLEET_API)
    kind: str = prop("Kind.", default="FleetMember")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: FleetMemberSpec = prop("How the member is reached and run.")
    status: FleetMemberStatus = prop("What was read from the member.", default=FleetMemberStatus())

    @property
    def name(self) -> str:
        return self.metadata.name
