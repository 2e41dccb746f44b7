# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of the fleet as documents, in upstream's words."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import (
    CLUSTER_API,
    FLEET_API,
    PLACEMENT_API,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_class import AKS_NODE_CLASS
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import (
    API_VERSION as NODE_POOL_API,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import KIND as NODE_POOL
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import IDENTITY

NODE_CLASS_API = "karpenter.azure.com/v1beta1"
Document = dict[str, t.Any]


def member_cluster(name: str, labels: t.Mapping[str, str]) -> Document:
    """A MemberCluster of KubeFleet, with the identity that joining gives."""
    metadata = {"name": name, **({"labels": dict(labels)} if labels else {})}
    return {"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": metadata, "spec": {"identity": IDENTITY}}


def fleet_member(name: str, kubeconfig: t.Any, context: t.Any, group: str, driver: str, location: str) -> Document:
    """A FleetMember; what is empty is left out. ``kubeconfig`` (a path) and ``context`` may be known only when the
    cluster is made."""
    connection = {"kubeconfig": kubeconfig, **({"context": context} if context else {})}
    more = {key: value for key, value in (("group", group), ("driver", driver), ("location", location)) if value}
    spec = {"connection": connection, **more}
    return {"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec}


def placement(name: str, spec: t.Mapping[str, t.Any]) -> Document:
    """A ClusterResourcePlacement of KubeFleet with this spec."""
    return _named(PLACEMENT_API, "ClusterResourcePlacement", name, spec)


def update_strategy(name: str, spec: t.Mapping[str, t.Any]) -> Document:
    """An UpdateStrategy with this spec."""
    return _named(FLEET_API, "UpdateStrategy", name, spec)


def node_pool(name: str, spec: t.Mapping[str, t.Any]) -> Document:
    """A NodePool of Karpenter with this spec."""
    return _named(NODE_POOL_API, NODE_POOL, name, spec)


def node_class(name: str, spec: t.Mapping[str, t.Any]) -> Document:
    """A node class of Karpenter for Azure (AKSNodeClass) with this spec: the one whose subnets are known here."""
    return _named(NODE_CLASS_API, AKS_NODE_CLASS, name, spec)


def _named(api_version: str, kind: str, name: str, spec: t.Mapping[str, t.Any]) -> Document:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}
