# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One member of a cloud whose command line is a program that stands in for it: it knows the documented commands and
flags alone, and answers in the documented form. No cloud was asked."""

from __future__ import annotations

import json
import os
import sys
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API, FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import Pace
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Driver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.options import OptionPlace, drivers_from
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.conducting import (
    ConductOptions,
    RunVerdict,
    carry_on,
    verdict,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.run_record import read_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import start_run
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

EXAMPLES = Path(__file__).parents[7] / "examples" / "updates"
STAND_INS = Path(__file__).with_name("stand_ins")
CONFIG = ("AZURE_CONFIG_DIR", "AWS_CONFIG_FILE", "CLOUDSDK_CONFIG")
Document = dict[str, t.Any]

AKS: Document = {
    "name": "east",
    "resourceGroup": "rg-east",
    "location": "westeurope",
    "kubernetesVersion": "1.35.4",
    "currentKubernetesVersion": "1.35.4",
    "powerState": {"code": "Running"},
    "provisioningState": "Succeeded",
    "agentPoolProfiles": [
        {
            "name": "nodepool1",
            "count": 3,
            "mode": "System",
            "orchestratorVersion": "1.35.4",
            "currentOrchestratorVersion": "1.35.4",
            "nodeImageVersion": "AKSUbuntu-2204gen2containerd-202601.12.0",
            "provisioningState": "Succeeded",
        }
    ],
}
EKS: Document = {
    "Name": "east",
    "Version": "1.35",
    "Status": "ACTIVE",
    "PlatformVersion": "eks.7",
    "groups": [
        {
            "Name": "workers",
            "Cluster": "east",
            "Status": "ACTIVE",
            "DesiredCapacity": 2,
            "ImageID": "AL2023_x86_64_STANDARD",
            "Version": "1.35",
            "Type": "managed",
            "release": "1.35.3-20260112",
        }
    ],
}
GKE: Document = {
    "name": "east",
    "location": "europe-west1",
    "status": "RUNNING",
    "currentMasterVersion": "1.35.4-gke.1000",
    "nodePools": [
        {
            "name": "default-pool",
            "initialNodeCount": 1,
            "version": "1.35.4-gke.1000",
            "status": "RUNNING",
            "config": {"imageType": "COS_CONTAINERD"},
        }
    ],
}
PACE = {"interval": 0.01, "patience": 60}
SETTINGS: dict[str, Document] = {
    "az_aks": {"resource_group": "rg-{member}", **PACE},
    "eksctl": {"aws": "aws", **PACE},
    "gcloud": {"project": "p", **PACE},
}
CLUSTERS = {"az_aks": AKS, "eksctl": EKS, "gcloud": GKE}
LOCATIONS = {"az_aks": "westeurope", "eksctl": "eu-west-1", "gcloud": "europe-west1"}


IMAGES: Document = {"upgrade": {"type": "NodeImageOnly"}}


def full(version: str) -> Document:
    return {"upgrade": {"type": "Full", "kubernetesVersion": version}}


def control_plane(version: str) -> Document:
    return {"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": version}}


def now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Setup:
    """The member ``east`` of one cloud, whose tool is the stand-in."""

    folder: Path
    definition: str
    more: Document = field(default_factory=dict)
    example: str = ""
    others: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.records = SqliteRecords(self.folder / "records.db", now)
        cluster = json.loads(json.dumps(CLUSTERS[self.definition]))
        self.write({"clusters": {"east": cluster}, "refusals": [], "operations": []})
        (self.folder / "bin").mkdir()
        for each in STAND_INS.glob("*.py"):
            program = self.folder / "bin" / each.stem
            program.write_text(f'#!/bin/sh\nexec {sys.executable} -E -S {each} "$@"\n')
            program.chmod(0o755)
        context = {"name": "x", "context": {"cluster": "x", "user": ""}}
        nowhere = {"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}
        server = {"clusters": [nowhere], "users": [], "contexts": [context], "current-context": "x"}
        (self.folder / "kubeconfig").write_text(json.dumps(server))
        self.keep("MemberCluster", {"identity": {"kind": "User", "name": "u"}}, CLUSTER_API)
        self.keep("FleetMember", self.spec, FLEET_API)
        stored = self.records.get("FleetMember", "east")
        assert stored
        pool = {"name": "read earlier", "count": 1, "version": "v1.35.4"}
        status = {"version": "v1.35.4", "nodePools": [pool], "lastRead": "2026-08-17T11:00:00Z"}
        self.records.replace({**stored, "status": status})

    @property
    def spec(self) -> Document:
        connection = {"kubeconfig": str(self.folder / "kubeconfig")}
        return {"connection": connection, "driver": "command", "group": "blue", "location": LOCATIONS[self.definition]}

    def also(self, **others: str) -> None:
        """Members of other clouds, by name; each is of the provider that its definition is called by."""
        self.others |= others
        for name, definition in {"east": self.definition, **others}.items():
            spec = self.spec | {"location": LOCATIONS[definition], "provider": definition}
            if name == "east":
                stored = self.records.get("FleetMember", name)
                self.records.replace({**(stored or {}), "spec": spec})
                continue
            cloud = self.read()
            known = json.loads(json.dumps(CLUSTERS[definition]).replace("east", name, 1))
            cloud["clusters"][name] = known | ({"resourceGroup": f"rg-{name}"} if definition == "az_aks" else {})
            self.write(cloud)
            self.keep("MemberCluster", {"identity": {"kind": "User", "name": "u"}}, CLUSTER_API, name)
            self.keep("FleetMember", spec, FLEET_API, name)

    def keep(self, kind: str, spec: Document, api: str, name: str = "east") -> None:
        self.records.create({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})

    def read(self) -> Document:
        return t.cast(Document, json.loads((self.folder / "cloud.json").read_text()))

    def write(self, cloud: Document) -> None:
        (self.folder / "cloud.json").write_text(json.dumps(cloud))

    def change(self, **values: t.Any) -> None:
        cloud = self.read()
        cloud["clusters"]["east"] |= values
        self.write(cloud)

    def refuse(self, of: str, text: str, code: int = 1) -> None:
        cloud = self.read()
        cloud["refusals"].append({"of": of, "code": code, "text": text})
        self.write(cloud)

    @property
    def commands(self) -> list[str]:
        """Those that change something."""
        path = self.folder / "commands.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if " upgrade " in line]

    @property
    def environ(self) -> dict[str, str]:
        given = dict.fromkeys(CONFIG, str(self.folder))
        return {"PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "TOKEN": "s3cret", **given}

    @property
    def options(self) -> Document:
        if self.example:
            return t.cast(Document, yaml.safe_load((EXAMPLES / self.example).read_text())["drivers"])
        if self.others:
            used = {self.definition, *self.others.values()}
            by_provider = {each: {"definition": each, "settings": SETTINGS[each]} for each in used}
            return {"command": {"providers": by_provider}}
        settings = {**SETTINGS[self.definition], **self.more}
        return {"command": {"definition": self.definition, "settings": settings}}

    def driver(self) -> Driver:
        metadata = {"apiVersion": FLEET_API, "kind": "FleetMember", "metadata": {"name": "east"}}
        members = {"east": decode(FleetMember, {**metadata, "spec": self.spec})}
        place = OptionPlace(operations=self.folder / "operations", environ=self.environ, cwd=self.folder)
        return drivers_from(self.options, members, Clients(members), place)["east"]

    def conduct(self, **update: t.Any) -> RunVerdict:
        session = Session(records=self.records, holder="tests", clock=now, environ=self.environ)
        spec = {"managedClusterUpdate": update}
        run = {"apiVersion": FLEET_API, "kind": "UpdateRun", "metadata": {"name": "run"}, "spec": spec}
        made = define_run(self.records, "run", update_manifests([], [run], strict=False), write=True).run
        start_run(session, made, {}, True)
        wish = ConductOptions(
            drivers=self.options,
            operations=str(self.folder / "operations"),
            pace=Pace(interval=0.05, settle=60),
            max_idle=timedelta(0),
            timeout=1.0,
        )
        return verdict(carry_on(session, read_run(self.records, "run"), wish))

    def row(self) -> tuple[str, str]:
        (row,) = self.rows().values()
        return row

    def rows(self) -> dict[str, tuple[str, str]]:
        """State of each member, and what is said of it."""
        members = read_run(self.records, "run").status.members
        return {
            row.name: (row.status.state, row.status.error.message if row.status.error else row.message)
            for row in members
        }

    def offer(self, family: str, *versions: str) -> None:
        images = [{"family": family, "os": "Linux", "versions": [{"version": each} for each in versions]}]
        place = {"name": "*", "versions": [{"version": "1.35.4"}, {"version": "1.36.3"}], "images": images}
        self.keep("ReleaseCatalog", {"locations": [place]}, FLEET_API, "own")
