# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A member without a network: documents by path, as an API server of version 1.36 gave them, and a client for them."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import (
    ApplySet,
    InventoryEntry,
    applyset_id,
    parent_manifest,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._kube.answers import Answer
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection

Document = dict[str, t.Any]


class Answering(KubeClient):
    """Answers with ``documents`` by path; text that is no JSON comes as it is. Everything else is not there."""

    def __init__(self, documents: t.Mapping[str, t.Any]) -> None:
        super().__init__(Connection("https://a:6443", name="m1"), sleep=lambda _seconds: None)
        self.documents = documents

    def send(self, method: str, path: str, *_arguments: t.Any, **_named: t.Any) -> Answer:
        if path not in self.documents:
            raise ApiError("not-found", f"{path} is not there", self.server_name, status=404)
        found = self.documents[path]
        if isinstance(found, str):
            return Answer(200, "text/plain", found.encode())
        return Answer(200, "application/json", json.dumps(found).encode())


class OneClient(Clients):
    """The client of every member is the same one; m1 was asked which cluster it is, and bears no windows."""

    def __init__(self, client: Answering) -> None:
        super().__init__(members={})
        self.identities.maintenance["m1"] = ""
        self._one = client

    def get(self, name: str) -> Answering:
        return self._one


WEB = ObjectId("", "v1", "ConfigMap", "shop", "settings")
APP = ObjectId("apps", "v1", "Deployment", "shop", "web")
DOOR = ObjectId("", "v1", "Service", "shop", "web")
CUSTOM = ObjectId("example.org", "v1", "Web", "shop", "a")
HELD = (WEB, APP, DOOR, CUSTOM)
SET = ApplySet(placement="web", uid="u-1", inventory=tuple(InventoryEntry(id=each, hash="h") for each in HELD))


def _metadata(each: ObjectId, **more: t.Any) -> Document:
    owned = {"f:data": {"f:color": {}}, "f:spec": {"f:ports": {'k:{"port":80}': {".": {}, "f:port": {}}}}}
    managed = {"manager": "gitops-fleet", "operation": "Apply", "apiVersion": each.api_version, "fieldsV1": owned}
    labels = {"applyset.kubernetes.io/part-of": applyset_id("web")}
    named = {"name": each.name, "namespace": each.namespace, "uid": "u-2", "resourceVersion": "7", "generation": 1}
    return {**named, "labels": labels, "managedFields": [managed], **more}


def live(each: ObjectId, **fields: t.Any) -> Document:
    return {"apiVersion": each.api_version, "kind": each.kind, "metadata": _metadata(each), **fields}


def objects() -> dict[str, Document]:
    """What a placement with four objects has on a member, its parent with it."""
    parent = parent_manifest(SET)
    named = {**parent["metadata"], "uid": "u-3", "resourceVersion": "8"}
    available = {"observedGeneration": 1, "availableReplicas": 1, "updatedReplicas": 1, "replicas": 1}
    settings = live(WEB, data={"color": "blue"})
    return {
        "/api/v1/namespaces/gitops-fleet/configmaps/web": {**parent, "metadata": named},
        "/api/v1/configmaps": listing("ConfigMap", [settings]),
        "/api/v1/namespaces/shop/configmaps/settings": settings,
        "/apis/apps/v1/namespaces/shop/deployments/web": live(APP, spec={"replicas": 1}, status=available),
        "/api/v1/namespaces/shop/services/web": live(
            DOOR,
            spec={"type": "LoadBalancer", "ports": [{"port": 80}]},
            status={"loadBalancer": {"ingress": [{"ip": "1"}]}},
        ),
        "/apis": {"kind": "APIGroupDiscoveryList", "items": [GROUP]},
        "/apis/example.org/v1/namespaces/shop/webs/a": live(CUSTOM, spec={"a": [{"name": "x"}]}),
    }


def desired() -> list[Document]:
    """What is wanted there, in which all of it differs a little."""
    ports = [{"port": 80, "targetPort": 8080}]
    wanted = (
        (WEB, {"data": {"color": "red"}}),
        (APP, {"spec": {"replicas": 2}}),
        (DOOR, {"spec": {"type": "LoadBalancer", "ports": ports}}),
        (CUSTOM, {"spec": {"a": [{"name": "x", "b": 1}]}}),
    )
    named = [{"name": each.name, "namespace": each.namespace} for each, _fields in wanted]
    return [
        {"apiVersion": each.api_version, "kind": each.kind, "metadata": metadata, **fields}
        for (each, fields), metadata in zip(wanted, named, strict=True)
    ]


GROUP = {
    "metadata": {"name": "example.org"},
    "versions": [
        {
            "version": "v1",
            "freshness": "Current",
            "resources": [
                {
                    "resource": "webs",
                    "responseKind": {"group": "example.org", "version": "v1", "kind": "Web"},
                    "scope": "Namespaced",
                    "verbs": ["get", "list", "patch"],
                }
            ],
        }
    ],
}


def listing(kind: str, items: list[Document]) -> Document:
    return {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": items}


NODE = {
    "metadata": {
        "name": "n1",
        "uid": "u-4",
        "creationTimestamp": "2026-01-15T12:00:00Z",
        "labels": {"gitops.fleet/pool": "big", "node.kubernetes.io/instance-type": "m7"},
        "annotations": {"gitops.fleet/simulated-age": "30d"},
    },
    "spec": {"unschedulable": False},
    "status": {
        "capacity": {"cpu": "4", "memory": "8Gi"},
        "allocatable": {"cpu": "3900m", "memory": "7Gi"},
        "nodeInfo": {"kubeletVersion": "v1.36.3", "osImage": "Linux"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
POD = {
    "metadata": {"name": "p1", "namespace": "shop", "uid": "u-5"},
    "spec": {
        "initContainers": [{"name": "a", "restartPolicy": "Always", "resources": {"requests": {"cpu": "10m"}}}],
        "containers": [{"name": "b", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}],
        "overhead": {"cpu": "5m"},
    },
}


def state() -> dict[str, t.Any]:
    """What a member says of itself."""
    return {
        "/readyz": "ok",
        "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.3"},
        "/api/v1/nodes": listing("Node", [NODE]),
        "/api/v1/pods": listing("Pod", [POD]),
    }
