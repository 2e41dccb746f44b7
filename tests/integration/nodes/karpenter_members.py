# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Karpenter's kinds on a server without Karpenter: definitions that take any object, pools, and nodes with claims."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from small_fleet import Document, Server

GROUP, API = "karpenter.sh", "karpenter.sh/v1"
NAMES = {"NodePool": "nodepools", "NodeClaim": "nodeclaims"}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NODES, POOLS, CLAIMS = "/api/v1/nodes", f"/apis/{API}/nodepools", f"/apis/{API}/nodeclaims"


def definition(kind: str, plural: str) -> Document:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    version = {
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": "Cluster", "versions": [version]},
    }


def install(server: Server) -> None:
    for kind, plural in NAMES.items():
        put(server, CRDS, definition(kind, plural))
    end = time.monotonic() + 120
    while any(server.client.send("GET", f"/apis/{API}/{each}", expect=(404,)).status != 200 for each in NAMES.values()):
        assert time.monotonic() < end, "the kinds are not served in time"
        time.sleep(0.1)


def put(server: Server, path: str, document: Document) -> Document:
    """Makes the object unless it is there."""
    try:
        return server.client.post(path, document)
    except ApiError as error:
        assert error.code == "already-exists", error
        return t.cast(Document, server.get(f"{path}/{document['metadata']['name']}"))


def pool(server: Server, name: str, budgets: t.Any, **disruption: t.Any) -> Document:
    spec = {"disruption": {"consolidateAfter": "0s", "budgets": budgets, **disruption}, "template": {"spec": {}}}
    return put(server, POOLS, {"apiVersion": API, "kind": "NodePool", "metadata": {"name": name}, "spec": spec})


def claimed(
    server: Server, name: str, pool_name: str, leaving: bool = False, kind: str = "", cpu: str = ""
) -> Document:
    """A node with its NodeClaim, as Karpenter leaves them; ``leaving``: its NodeClaim is being deleted. With ``kind``
    it is of that instance type, with so many CPUs, and was initialized long ago."""
    labels = {"karpenter.sh/nodepool": pool_name, "karpenter.sh/initialized": "true"}
    node: Document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    status: Document = {"nodeName": name}
    if kind:
        labels |= {
            "karpenter.sh/registered": "true",
            "karpenter.sh/capacity-type": "on-demand",
            "node.kubernetes.io/instance-type": kind,
            "topology.kubernetes.io/zone": "a",
            "kubernetes.io/hostname": name,
        }
        amounts = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
        node["status"] = {"capacity": amounts, "allocatable": amounts}
        told = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status["conditions"] = [{"type": each, **told} for each in ("Launched", "Registered", "Initialized")]
    made = put(server, NODES, node)
    metadata = {"name": name, "labels": labels, "finalizers": ["karpenter.sh/termination"]}
    put(server, CLAIMS, {"apiVersion": API, "kind": "NodeClaim", "metadata": metadata, "spec": {}})
    server.patch(f"{CLAIMS}/{name}/status", {"status": status})
    if leaving:
        server.client.delete(f"{CLAIMS}/{name}")
    return made


def gone(server: Server, path: str) -> None:
    """Deletes it if it is there, whatever its finalizers."""
    if server.get(path) is not None:
        server.patch(path, {"metadata": {"finalizers": None}})
    try:
        server.client.delete(path)
    except ApiError as error:
        assert error.code == "not-found", error
