# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Karpenter's kinds on a server without Karpenter: definitions that take any object, and a node that one made."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient

KINDS = (
    ("karpenter.sh", "v1", "NodePool", "nodepools"),
    ("karpenter.sh", "v1", "NodeClaim", "nodeclaims"),
    ("karpenter.azure.com", "v1beta1", "AKSNodeClass", "aksnodeclasses"),
)
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLAIMS, POOLS = "/apis/karpenter.sh/v1/nodeclaims", "/apis/karpenter.sh/v1/nodepools"
CLASSES = "/apis/karpenter.azure.com/v1beta1/aksnodeclasses"
VNET = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/"


def install(client: KubeClient) -> None:
    """Waits until they are served."""
    for group, version, kind, plural in KINDS:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        row = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        spec: dict[str, t.Any] = {"group": group, "scope": "Cluster", "versions": [row]}
        spec["names"] = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
        metadata = {"name": f"{plural}.{group}"}
        document = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        client.post(CRDS, {**document, "metadata": metadata, "spec": spec})
    end = time.monotonic() + 300
    for group, version, _kind, plural in KINDS:
        while client.send("GET", f"/apis/{group}/{version}/{plural}", expect=(404,)).status != 200:
            assert time.monotonic() < end, f"{plural} are not served"
            time.sleep(0.2)


def claimed(client: KubeClient, name: str) -> None:
    """A node with its NodeClaim, of pool ``general`` and class ``default``."""
    labels = {"karpenter.sh/nodepool": "general", "karpenter.sh/initialized": "true"}
    client.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
    reference = {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default"}
    claim = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": name, "labels": labels}}
    client.post(CLAIMS, {**claim, "spec": {"nodeClassRef": reference}, "status": {"nodeName": name}})


def uninstall(client: KubeClient) -> None:
    """Their objects go with them; waits until they have."""
    for group, _version, _kind, plural in KINDS:
        client.delete(f"{CRDS}/{plural}.{group}")
    end = time.monotonic() + 300
    for group, _version, _kind, plural in KINDS:
        while client.send("GET", f"{CRDS}/{plural}.{group}", expect=(404,)).status != 404:
            assert time.monotonic() < end, f"{plural} do not go"
            time.sleep(0.2)
