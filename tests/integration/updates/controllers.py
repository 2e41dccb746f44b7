# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controllers of Cluster API as the driver sees them: they bring a topology to its version as the book of Cluster API
describes it, on the published CustomResourceDefinitions. The control plane is a real local cluster, Machines are
objects alone."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.cluster_api import (
    API,
    DEFERRED,
    OF_CLUSTER,
    POOLS,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster, crds
from update_fleet import OLD, Document, until

MODULE = Path(__file__).with_name("cluster_api")
KINDS = ("clusters", "machinedeployments", "machinepools", "machines")
LABEL = POOLS[0].label
SINCE = "2026-01-01T00:00:00Z"


def definitions() -> list[Path]:
    """Those of the pinned module, which Go keeps in its cache."""
    command = ["go", "mod", "download", "-json", "sigs.k8s.io/cluster-api"]
    done = subprocess.run(command, cwd=MODULE, capture_output=True, text=True, check=True)
    bases = Path(json.loads(done.stdout)["Dir"], "config", "crd", "bases")
    return [bases / f"cluster.x-k8s.io_{kind}.yaml" for kind in KINDS]


class Controllers:
    """A managed Cluster with pools ``blue`` and ``green``, and who looks after it. ``log`` has what was brought to
    which version, in order."""

    def __init__(self, client: KubeClient, kubeconfig: Path, name: str, root: Path) -> None:
        self.client, self.kubeconfig, self.name, self.root = client, kubeconfig, name, root
        self.log: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)
        names = crds.apply_definitions(client, definitions())
        until(lambda: not crds.not_served(client, names))
        until(lambda: client.send("GET", self.path("clusters"), expect=(404,)).status == 200)
        deployments = [{"class": "workers", "name": each, "replicas": 2} for each in ("blue", "green")]
        topology = {"classRef": {"name": "own"}, "version": OLD, "workers": {"machineDeployments": deployments}}
        self.make("Cluster", name, {"topology": topology})
        for pool in ("blue", "green"):
            labels = {OF_CLUSTER: name, LABEL: pool}
            self.make("MachineDeployment", f"{name}-{pool}", self._deployment(labels), labels)
            for number in range(2):
                self.make("Machine", f"{name}-{pool}-{number}", self._machine(), labels)
        self.settle(self.read("clusters", name), "True", "ReconcileSucceeded")

    def __enter__(self) -> Controllers:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    def path(self, resource: str, name: str = "") -> str:
        return f"{API}/namespaces/default/{resource}" + (f"/{name}" if name else "")

    def read(self, resource: str, name: str) -> Document:
        return self.client.get(self.path(resource, name))

    def make(self, kind: str, name: str, spec: Document, labels: Document | None = None) -> None:
        metadata = {"name": name, "labels": labels or {}}
        body = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}
        self.client.post(self.path(f"{kind.lower()}s"), body)

    def write(self, resource: str, name: str, change: Document, status: bool = False) -> Document:
        path = self.path(resource, name) + ("/status" if status else "")
        return self.client.request("PATCH", path, change, None, "application/merge-patch+json")

    def versions(self, pool: str) -> list[str]:
        return [self.read("machines", f"{self.name}-{pool}-{number}")["spec"]["version"] for number in range(2)]

    def deferred(self) -> list[str]:
        pools = self.read("clusters", self.name)["spec"]["topology"]["workers"]["machineDeployments"]
        return [each["name"] for each in pools if DEFERRED in (each.get("metadata") or {}).get("annotations", {})]

    def _machine(self) -> Document:
        reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": "x"}
        return {
            "clusterName": self.name,
            "version": OLD,
            "bootstrap": {"dataSecretName": "x"},
            "infrastructureRef": reference,
        }

    def _deployment(self, labels: Document) -> Document:
        template = {"metadata": {"labels": labels}, "spec": self._machine()}
        return {
            "clusterName": self.name,
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": template,
        }

    def _work(self) -> None:
        while not self._stop.wait(0.1):
            self._reconcile(self.read("clusters", self.name))

    def _reconcile(self, found: Document) -> None:
        version = found["spec"]["topology"]["version"]
        behind = [pool for pool in ("blue", "green") if set(self.versions(pool)) != {version}]
        put_off = self.deferred()
        if f"control plane {version}" not in self.log and version != OLD:
            self.settle(found, "False", "ClusterUpgrading")
            cluster.upgraded(self.name, version.removeprefix("v"), self.root)
            self.log.append(f"control plane {version}")
        for pool in behind:
            if pool not in put_off:
                self.settle(found, "False", "ClusterUpgrading")
                self._roll_out(pool, version)
                put_off = self.deferred()
        left = [pool for pool in behind if pool in put_off]
        reason = "MachineDeploymentsUpgradeDeferred" if left else "ReconcileSucceeded"
        self.settle(found, "False" if left else "True", reason)

    def _roll_out(self, pool: str, version: str) -> None:
        name = f"{self.name}-{pool}"
        changed = self.write("machinedeployments", name, {"spec": {"template": {"spec": {"version": version}}}})
        status = {"observedGeneration": changed["metadata"]["generation"], "replicas": 2}
        self.write("machinedeployments", name, {"status": {**status, "upToDateReplicas": 0, "readyReplicas": 2}}, True)
        for number in range(2):
            self.write("machines", f"{name}-{number}", {"spec": {"version": version}})
            ready = {"upToDateReplicas": number + 1, "readyReplicas": 2}
            self.write("machinedeployments", name, {"status": {**status, **ready}}, True)
        self.log.append(f"{pool} {version}")

    def settle(self, found: Document, status: str, reason: str) -> None:
        """It has seen the Cluster as it was read."""
        seen = {"observedGeneration": found["metadata"]["generation"], "lastTransitionTime": SINCE, "message": ""}
        condition = {"type": "TopologyReconciled", "status": status, "reason": reason, **seen}
        self.write("clusters", self.name, {"status": {"conditions": [condition]}}, True)
