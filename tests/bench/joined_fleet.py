# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Simulated members that have joined a fleet, and verbs that are run on it and measured.

Members join by the verb itself, and their facts are recorded by the verb itself; what a run needs anew is then copied.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import time
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from measured_verb import TIME_LIMIT, Measured, Options, run_playbook, run_verb
from member_fleet import NAMESPACES, Counts, Members, members

REGIONS, ENVIRONMENTS = ("east", "west", "north", "south", "central"), ("prod", "stage", "dev")
OURS = "gitops-fleet"
# Recorded facts may be used for ten minutes; long before that they are read again.
FACTS_AGE = 240.0


@dataclass(frozen=True)
class Asked:
    """One run of a verb and what it asked of the members."""

    took: Measured
    counts: Counts


@dataclass
class JoinedFleet:
    """``folder`` holds the kubeconfig, the records, and the files of placements and resources."""

    members: Members
    folder: Path
    setup: str
    recorded: float = field(default=0.0, init=False)

    @property
    def facts(self) -> str:
        """The snapshot that was written when facts were recorded last."""
        return str(self.folder / "facts.json")

    @property
    def _records(self) -> Options:
        return {"type": "sqlite", "path": str(self.folder / "records" / "fleet.db"), "durable": True}

    def join(self) -> Asked:
        kubeconfig = str(self.folder / "kubeconfig")
        rows = [
            {"name": name, "context": name, "kubeconfig": kubeconfig, "labels": labels(number)}
            for number, name in enumerate(self.members.names)
        ]
        joined = self.run("member_cluster", {"members": rows})
        assert joined.took.result["joined"] == len(rows), joined.took.result
        return joined

    def record_facts(self) -> None:
        self.run("fleet_facts", {"pods": False, "dest": self.facts})
        shutil.rmtree(self.folder / "fresh", ignore_errors=True)
        shutil.copytree(self.folder / "records", self.folder / "fresh")
        self.recorded = time.monotonic()

    def fresh(self) -> None:
        """Members as at first, records as they were when facts had just been recorded."""
        self.members.reset()
        shutil.rmtree(self.folder / "records", ignore_errors=True)
        shutil.copytree(self.folder / "fresh", self.folder / "records")
        if time.monotonic() - self.recorded > FACTS_AGE:
            self.record_facts()

    def place(self, count: int, clusters: int = 100, apart: bool = False) -> Options:
        """Files of placements, each with a Namespace, a ConfigMap and a Deployment; the options that name them. Placed
        ``apart``, no two share a cluster."""
        for number in range(count):
            name = f"app-{number:04d}"
            names = self.members.names[number * clusters : (number + 1) * clusters]
            fixed = {"placementType": "PickFixed", "clusterNames": list(names)}
            made = manifest_of(name, fixed) if apart else placement(name, number, clusters)
            write(self.folder / "placements" / f"{name}.yml", [made])
            write(self.folder / "resources" / f"{name}.yml", resources(name))
        return {"src": [str(self.folder / "placements")], "resources": [str(self.folder / "resources")]}

    def run(self, verb: str, options: Options, profile: str = "", limit: float = TIME_LIMIT) -> Asked:
        self.members.count_anew()
        took = run_verb(verb, {"records": self._records, **options}, profile, limit)
        return Asked(took, self.members.counts())

    def apply_by_playbook(self, options: Options) -> Asked:
        self.members.count_anew()
        variables = {"placements": options["src"], "resources": options["resources"], "records": self._records}
        return Asked(run_playbook("apply", variables), self.members.counts())


@contextlib.contextmanager
def joined_fleet(
    count: int = 1000, delay_ms: int = 0, tls: bool = False, certificates: bool = False, lean: bool = True
) -> Iterator[JoinedFleet]:
    """Members with 30 nodes and 300 pods each that joined, and that this fleet has worked on before: its namespace is
    there. ``lean`` nodes and pods hold only what schedulers look at, others as much as those of kubelets do."""
    names = (*NAMESPACES, OURS)
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        members(count, delay_ms=delay_ms, tls=tls, namespaces=names, lean=lean) as found,
    ):
        shown = "client certificates" if certificates else "tokens"
        setup = f"{count:,} simulated members of 30 {'lean' if lean else 'full'} nodes and 300 pods, "
        setup += f"TLS and {shown}" if tls else "plain HTTP"
        setup += f", {delay_ms} ms round trip" if delay_ms else ", loopback"
        setup += f", one kubeconfig of {count:,} contexts, records in SQLite"
        fleet = JoinedFleet(found, Path(folder), setup)
        (fleet.folder / "records").mkdir()
        found.kubeconfig(fleet.folder / "kubeconfig", certificates)
        fleet.join()
        fleet.record_facts()
        yield fleet


def labels(number: int) -> dict[str, str]:
    return {"region": REGIONS[number % len(REGIONS)], "env": ENVIRONMENTS[number % len(ENVIRONMENTS)]}


def placement(name: str, number: int, clusters: int) -> Options:
    """To so many clusters, first of all those of one region and of production; regions differ by number."""

    def preferred(weight: int, **wanted: str) -> Options:
        return {"weight": weight, "preference": {"labelSelector": {"matchLabels": wanted}}}

    affinity = [preferred(50, region=REGIONS[number % len(REGIONS)]), preferred(20, env=ENVIRONMENTS[0])]
    policy = {
        "placementType": "PickN",
        "numberOfClusters": clusters,
        "affinity": {"clusterAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": affinity}},
    }
    return manifest_of(name, policy)


def manifest_of(name: str, policy: Options) -> Options:
    """A placement of the namespace of its own name."""
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": name}
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": name},
        "spec": {"resourceSelectors": [selector], "policy": policy},
    }


def resources(name: str) -> list[Options]:
    app = {"app.kubernetes.io/name": name}
    container = {
        "name": "web",
        "image": "registry.example/web:v1.2.3",
        "ports": [{"containerPort": 8080}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "envFrom": [{"configMapRef": {"name": "settings"}}],
    }
    template = {"metadata": {"labels": app}, "spec": {"containers": [container]}}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": app}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "settings", "namespace": name},
            "data": {"LOG_LEVEL": "info", "COLOR": "blue", "FEATURES": "search,checkout,reviews"},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": name, "labels": app},
            "spec": {"replicas": 3, "selector": {"matchLabels": app}, "template": template},
        },
    ]


def write(path: Path, documents: t.Sequence[Options]) -> None:
    """A file of manifests; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---\n".join(json.dumps(each, indent=1) + "\n" for each in documents), encoding="utf-8")
