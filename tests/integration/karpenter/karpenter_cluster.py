# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A cluster on which a real Karpenter runs: pools, Deployments on their nodes, and what Karpenter tells of itself."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
import typing as t
import urllib.request

from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from small_fleet import Document, Server

API, KWOK = "karpenter.sh/v1", "karpenter.kwok.sh/v1alpha1"
POOLS, CLAIMS = f"/apis/{API}/nodepools", f"/apis/{API}/nodeclaims"
NODES, CLASSES = "/api/v1/nodes", f"/apis/{KWOK}/kwoknodeclasses"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
PDBS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
EVALUATIONS = "karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count"
LAST_METHOD = "single"
REASONS = ("Empty", "Drifted", "Underutilized")


def pool_manifest(name: str, disruption: Document, **labels: str) -> Document:
    """A NodePool whose nodes carry ``pool=<name>`` and these labels."""
    spec = {
        "requirements": [
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
            {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
        ],
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
        "expireAfter": "Never",
    }
    template = {"metadata": {"labels": {"pool": name, **labels}}, "spec": spec}
    return {
        "apiVersion": API,
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template, "disruption": disruption},
    }


class Karpenter(Server):
    """One cluster of profile ``karpenter``. What a test makes here is named for it, and goes at its end."""

    # Pools and what runs on them.

    def pool(self, name: str, budgets: t.Any, annotations: Document | None = None, **disruption: t.Any) -> None:
        """A pool whose nodes carry ``pool=<name>``; nothing but its own pods comes to them."""
        document = pool_manifest(name, {"consolidateAfter": "0s", "budgets": budgets, **disruption})
        document["spec"]["template"]["metadata"]["annotations"] = annotations or {}
        self.client.post(POOLS, document)

    def run(self, name: str, pool: str, replicas: int, apart: bool = True, cpu: str = "100m", **pod: t.Any) -> None:
        """A Deployment on a pool, each pod on a node of its own if ``apart``."""
        labels = {"app": name}
        term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
        container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu, "memory": "100Mi"}}}
        spec: Document = {
            "nodeSelector": {"pool": pool},
            "terminationGracePeriodSeconds": 1,
            "containers": [container],
            **(
                {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
                if apart
                else {}
            ),
            **pod,
        }
        template = {"metadata": {"labels": labels}, "spec": spec}
        wanted = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        metadata = {"name": name, "labels": {"pool": pool}}
        self.client.post(
            DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": wanted}
        )

    def scale(self, name: str, replicas: int) -> None:
        self.patch(f"{DEPLOYMENTS}/{name}", {"spec": {"replicas": replicas}})

    def hold(self, name: str) -> None:
        """A PodDisruptionBudget that lets no pod of the Deployment go."""
        spec = {"selector": {"matchLabels": {"app": name}}, "maxUnavailable": 0}
        self.client.post(
            PDBS,
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec},
        )

    def end_of(self, *pools: str) -> None:
        """Their pods, their nodes and they themselves go, whatever held them."""
        for pool in pools:
            for each in self.listed(DEPLOYMENTS, f"pool={pool}"):
                self.gone(f"{PDBS}/{each['metadata']['name']}")
                self.gone(f"{DEPLOYMENTS}/{each['metadata']['name']}")
            self.gone(f"{POOLS}/{pool}")
        self.until(lambda: not any(self.claims(pool) for pool in pools), "the nodes of its pools did not go")

    def gone(self, path: str) -> None:
        try:
            self.client.delete(path, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"})
        except ApiError as error:
            assert error.code == "not-found", error

    # What is there.

    def listed(self, path: str, selector: str = "") -> list[Document]:
        query = {"labelSelector": selector} if selector else None
        return t.cast(list[Document], self.client.get(path, query)["items"])

    def claims(self, pool: str) -> dict[str, Document]:
        """The pool's NodeClaims by UID."""
        found = self.listed(CLAIMS, f"karpenter.sh/nodepool={pool}")
        return {each["metadata"]["uid"]: each for each in found}

    def pods(self, pool: str) -> list[Document]:
        """The pods of the pool's Deployments that are not on their way out."""
        return [
            each
            for each in self.listed(PODS)
            if each["spec"].get("nodeSelector", {}).get("pool") == pool and "deletionTimestamp" not in each["metadata"]
        ]

    def settled(self, **wanted: int) -> None:
        """By pool: so many nodes of it are initialized, none goes, and every pod of every Deployment runs."""

        def as_wanted() -> bool:
            for pool, count in wanted.items():
                claims = self.claims(pool).values()
                if len(claims) != count or any("deletionTimestamp" in each["metadata"] for each in claims):
                    return False
                if not all(holds(each, "Initialized") for each in claims) or not self.all_run(pool):
                    return False
            return True

        self.until(as_wanted, f"there were not {wanted} nodes with all their pods")

    def all_run(self, pool: str) -> bool:
        wanted = sum(each["spec"]["replicas"] for each in self.listed(DEPLOYMENTS, f"pool={pool}"))
        pods = self.pods(pool)
        return len(pods) == wanted and all(each["status"].get("phase") == "Running" for each in pods)

    def until(self, fulfilled: t.Callable[[], bool], why: str, seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not fulfilled():
            assert time.monotonic() < end, f"{why} in time; its last words:\n{self.log()[-3000:]}"
            time.sleep(0.2)

    @contextlib.contextmanager
    def standing_still(self) -> t.Iterator[None]:
        """While entered, Karpenter does nothing at all; everybody else goes on."""
        process = self.made.after.processes["karpenter"]["pid"]
        os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process, signal.SIGCONT)

    # What Karpenter tells of itself.

    def log(self) -> str:
        return (self.folder / "logs" / "karpenter.log").read_text(encoding="utf-8", errors="replace")

    def told(self, message: str, start: int = 0) -> list[Document]:
        """Lines of its log from an offset on (characters) that say so."""
        rows = [
            json.loads(line) for line in self.log()[start:].splitlines() if line.startswith("{") and line.endswith("}")
        ]
        return [each for each in rows if each.get("message") == message]

    def metrics(self, name: str) -> dict[tuple[str, ...], float]:
        """The samples of a metric by the values of its labels, in order of the labels' names."""
        url = f"http://127.0.0.1:{self.made.after.ports['karpenter']}/metrics"
        with urllib.request.urlopen(url, timeout=60) as answer:
            text = answer.read().decode()
        found: dict[tuple[str, ...], float] = {}
        for line in text.splitlines():
            sample = _SAMPLE.match(line)
            if sample and sample[1] == name:
                labels = dict(_LABEL.findall(sample[2] or ""))
                found[tuple(labels[key] for key in sorted(labels))] = float(sample[3])
        return found

    def passes(self, more: int = 2) -> None:
        """Every method of disruption has looked so often from now on: whatever is there now was seen by the last."""
        start = self.metrics(EVALUATIONS)
        self.until(
            lambda: bool(start) and all(self.metrics(EVALUATIONS)[key] >= seen + more for key, seen in start.items()),
            "Karpenter did not look at its nodes",
        )

    def end_of_pass(self) -> None:
        """The last method of disruption has just looked: the next pass begins some seconds from now, with the first."""
        (start,) = (count for key, count in self.metrics(EVALUATIONS).items() if LAST_METHOD in key)
        self.until(
            lambda: any(count > start for key, count in self.metrics(EVALUATIONS).items() if LAST_METHOD in key),
            "Karpenter did not come to the end of a pass",
        )


def holds(found: Document, condition: str) -> bool:
    """Whether a condition of the object is True."""
    rows = (found.get("status") or {}).get("conditions") or ()
    return any(each["type"] == condition and each["status"] == "True" for each in rows)
