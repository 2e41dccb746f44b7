# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Deployments and PodDisruptionBudgets on a cluster with simulated nodes, in a namespace of their own."""

from __future__ import annotations

import itertools
import time
import typing as t

from karpenter_members import NODES, put
from small_fleet import Document, Server

_numbers = itertools.count(1)


class Workload:
    """What it makes goes at its end."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.namespace = f"load{next(_numbers)}"
        self._wanted: dict[str, int] = {}
        put(
            server,
            "/api/v1/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}},
        )
        self._until(lambda: server.get(f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default") is not None)

    def deployment(
        self, name: str, replicas: int, together: bool = False, annotations: t.Mapping[str, str] | None = None
    ) -> str:
        """One of pods that are spread over nodes, or all on one."""
        self._wanted[name] = replicas
        term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": "kubernetes.io/hostname"}
        kind = "podAffinity" if together else "podAntiAffinity"
        affinity: Document = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if not together:
            term = {"weight": 100, "podAffinityTerm": term}
            affinity = {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
        spec = {
            "affinity": affinity,
            "nodeSelector": {"pool": "blue"},
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "10m"}}}],
        }
        metadata = {"labels": {"app": name}, "annotations": dict(annotations or {})}
        document = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": metadata, "spec": spec},
            },
        }
        put(self.server, f"/apis/apps/v1/namespaces/{self.namespace}/deployments", document)
        return name

    def pod(self, name: str, node: str, annotations: t.Mapping[str, str]) -> None:
        """One that nobody makes again, on that node whatever the scheduler thinks."""
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}, "annotations": dict(annotations)},
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "c", "image": "none"}],
            },
        }
        put(self.server, f"/api/v1/namespaces/{self.namespace}/pods", document)

    def pdb(self, name: str, **limit: t.Any) -> None:
        """Over the Deployment of that name; there once the controller has counted its pods."""
        document = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"selector": {"matchLabels": {"app": name}}, **limit},
        }
        path = f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"
        put(self.server, path, document)
        self._until(
            lambda: (
                (self.server.get(f"{path}/{name}") or {}).get("status", {}).get("currentHealthy") == self._wanted[name]
            )
        )

    def pdb_gone(self, name: str) -> None:
        self.server.client.delete(f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets/{name}")

    def pods(self, name: str = "") -> list[Document]:
        query = {"labelSelector": f"app={name}"} if name else None
        items = self.server.client.get(f"/api/v1/namespaces/{self.namespace}/pods", query)["items"]
        return [each for each in items if not each["metadata"].get("deletionTimestamp")]

    def nodes_of(self, name: str) -> list[str]:
        return [each["spec"].get("nodeName", "") for each in self.pods(name)]

    def settled(self) -> None:
        """Every pod of every Deployment runs, on some node."""
        self._until(lambda: all(self._runs(name, count) for name, count in self._wanted.items()))

    def nowhere_else(self, node: str) -> None:
        """No pod of ours may come to another node than this one."""
        for name in self._names():
            if name != node:
                self.server.patch(f"{NODES}/{name}", {"metadata": {"labels": {"pool": "closed"}}})

    def everywhere(self) -> None:
        for name in self._names():
            self.server.patch(f"{NODES}/{name}", {"metadata": {"labels": {"pool": "blue"}}})

    def end(self) -> None:
        """Whatever holds a node goes at once: a namespace takes its time, and the next test has the same nodes."""
        for path in (
            "apis/policy/v1/namespaces/{}/poddisruptionbudgets",
            "apis/apps/v1/namespaces/{}/deployments",
            "api/v1/namespaces/{}/pods",
        ):
            self.server.client.delete(f"/{path.format(self.namespace)}")
        self._until(lambda: not self.pods())
        self.server.client.delete(f"/api/v1/namespaces/{self.namespace}")

    def _names(self) -> list[str]:
        items = self.server.client.get(NODES)["items"]
        return [each["metadata"]["name"] for each in items if each["metadata"]["name"].startswith("n1-blue")]

    def _runs(self, name: str, count: int) -> bool:
        pods = self.pods(name)
        return len(pods) == count and all(each["status"].get("phase") == "Running" for each in pods)

    def _until(self, holds: t.Callable[[], bool]) -> None:
        end = time.monotonic() + 180
        while not holds():
            assert time.monotonic() < end, f"the workload of {self.namespace} did not come so far in time"
            time.sleep(0.1)
