# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A fleet of real API servers in the hands of a test: what is written down, what runs, what the servers saw of it."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import PART_OF_LABEL
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.facts import read_fleet
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import Joined, MemberSpec, join
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients, recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.look import ApplyOptions, RolloutOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import (
    PlacementRequest,
    Report,
    run,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import LocalOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records

Document = dict[str, t.Any]
MERGE = "application/merge-patch+json"
OURS = "/api/v1/namespaces/gitops-fleet"
PARENTS = f"{OURS}/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/gitops-fleet/leases"
WRITES = ("create", "update", "patch", "delete", "deletecollection")
# What a cluster does by itself.
OF_CLUSTERS = ("kwok/", "kube-controller-manager/", "kube-scheduler/")
ASKING = ("selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews")

# An apply that waits for nobody: what a rollout waits for is in its report.
NOT_WAITING = ApplyOptions(rollout=RolloutOptions(max_idle=timedelta(0)))

_marks = itertools.count()


@dataclass
class Server:
    """One local cluster and its audit log; ``client`` is its administrator."""

    made: LocalOutcome
    client: KubeClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = KubeClient(connection_from_kubeconfig(self.made.kubeconfig))

    @property
    def folder(self) -> Path:
        return Path(self.made.after.folder)

    def get(self, path: str) -> Document | None:
        try:
            return self.client.get(path)
        except ApiError as error:
            assert error.code == "not-found", error
            return None

    def patch(self, path: str, body: Document, manager: str = "somebody") -> Document:
        return self.client.request("PATCH", path, body, {"fieldManager": manager}, MERGE)

    def data(self, path: str) -> Document | None:
        """The data of a ConfigMap; None if it is not there."""
        found = self.get(path)
        return None if found is None else found.get("data") or {}

    @contextlib.contextmanager
    def writing(self, but: t.Container[str] = ()) -> Iterator[list[str]]:
        """Fills, at its end, the list with every write request seen meanwhile: ``patch configmaps ns/name``."""
        seen: list[str] = []
        start = self._position()
        yield seen
        end = self._position()
        for line in self._logged(start)[: end - start].splitlines():
            event = json.loads(line)
            about = event.get("objectRef") or {}
            itself = str(event.get("userAgent", "")).startswith(OF_CLUSTERS)
            ours = not itself and not str(event["user"].get("username", "")).startswith("system:apiserver")
            if event["verb"] in WRITES and ours and about.get("resource") not in (*ASKING, *but):
                seen.append(f"{event['verb']} {about.get('resource')} {about.get('namespace')}/{about.get('name')}")

    def events(self) -> list[Document]:
        """Every request up to now, as the audit log has it."""
        return [json.loads(line) for line in self._logged(0)[: self._position()].splitlines()]

    def _position(self) -> int:
        """Bytes of the log up to a request of our own: those before it are then there too."""
        mark = f"mark={next(_marks)}-{time.monotonic_ns()}"
        size = Path(self.made.after.audit_log).stat().st_size
        self.client.get("/api/v1/namespaces/default", {"mark": mark.removeprefix("mark=")})
        end = time.monotonic() + 120
        while time.monotonic() < end:
            before, found, after = self._logged(size).partition(mark.encode())
            if found and b"\n" in after:
                return size + len(before) + len(found) + after.index(b"\n") + 1
            time.sleep(0.01)
        raise AssertionError("the request did not appear in the audit log")

    def _logged(self, start: int) -> bytes:
        with open(self.made.after.audit_log, "rb") as log:
            log.seek(start)
            return log.read()

    def empty(self) -> None:
        """No ApplySet, no lease; our namespace not stuck in its deletion: profile ``api`` has nobody to finish that."""
        for path in (PARENTS, LEASES):
            self.client.request("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1"})
        self.finish_namespaces()

    def forget_records(self) -> None:
        """No record on this hub, and no lease that a test left behind."""
        for kind in (*KINDS.values(), None):
            for found in self.client.get(kind.path() if kind else LEASES)["items"]:
                metadata = found["metadata"]
                name = metadata["name"]
                one = kind.path(metadata.get("namespace", ""), name) if kind else f"{LEASES}/{name}"
                if metadata.get("finalizers"):
                    self.patch(one, {"metadata": {"finalizers": None}})
                try:
                    self.client.delete(one)
                except ApiError as error:
                    assert error.code == "not-found", error

    def finish_namespaces(self) -> None:
        for found in self.client.get("/api/v1/namespaces")["items"]:
            if found["metadata"].get("deletionTimestamp"):
                document = {**found, "apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": []}}
                self.client.put(f"/api/v1/namespaces/{found['metadata']['name']}/finalize", document)


@dataclass
class Fleet:
    """Records in one place, members among ``servers``, and manifests in files below ``folder``.

    Names are new for every test, so that what one test leaves on the servers is foreign to the next.
    """

    number: int
    folder: Path
    options: Document
    hub: Server | None
    servers: t.Mapping[str, Server]
    holder: str = "runner-1"
    later: timedelta = timedelta(0)
    said: list[str] = field(default_factory=list)
    opened: list[Records] = field(default_factory=list)

    def __post_init__(self) -> None:
        for each in ("placements", "resources", "kubeconfigs"):
            (self.folder / each).mkdir(parents=True)
        self.records = self.open()

    @property
    def name(self) -> str:
        return f"web{self.number}"

    @property
    def namespace(self) -> str:
        return f"shop{self.number}"

    @property
    def now(self) -> datetime:
        return datetime.now(UTC).replace(microsecond=0) + self.later

    def open(self) -> Records:
        records = open_records(self.options, {}, lambda: self.now)
        self.opened.append(records)
        return records

    def another(self, holder: str = "runner-of-others") -> Fleet:
        """Another fleet over the same servers, with records of its own in a file, and names of its own."""
        folder = self.folder / f"another-{len(self.opened)}"
        folder.mkdir()
        options = {"type": "sqlite", "path": str(folder / "records.db")}
        made = Fleet(self.number + 5000, folder, options, None, self.servers, holder=holder, opened=self.opened)
        made.resources(made.configmap())
        return made

    # What people write.

    def namespaced(self, *names: str) -> str:
        return "/".join([f"/api/v1/namespaces/{self.namespace}", *names])

    def configmap(self, name: str = "settings", **data: str) -> Document:
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {"color": "blue"}}

    def deployment(self, image: str, replicas: int = 3) -> Document:
        """``web``, of which nobody makes pods where no controller runs: its status is what a test writes."""
        labels = {"app": "web"}
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": image}]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
        metadata = {"name": "web", "namespace": self.namespace}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}

    def available(self, *names: str, replicas: int = 3) -> None:
        """The Deployment's status on these members says that so many replicas of the present version are available."""
        path = f"/apis/apps/v1/namespaces/{self.namespace}/deployments/web"
        for name in names:
            found = self.servers[name].client.get(path)
            wanted = found["spec"]["replicas"]
            counts = {
                "replicas": wanted,
                "updatedReplicas": wanted,
                "readyReplicas": replicas,
                "availableReplicas": replicas,
            }
            late = {"unavailableReplicas": wanted - replicas} if replicas < wanted else {}
            status = {"observedGeneration": found["metadata"]["generation"], **counts, **late}
            self.servers[name].client.put(f"{path}/status", {**found, "status": status})

    def image(self, name: str) -> str:
        """That of the Deployment on a member; empty if it is not there."""
        found = self.servers[name].get(f"/apis/apps/v1/namespaces/{self.namespace}/deployments/web")
        return found["spec"]["template"]["spec"]["containers"][0]["image"] if found else ""

    def resources(self, *objects: Document, namespace: bool = True) -> None:
        """The namespace, unless told otherwise, and the objects; what was written before is gone."""
        first = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}] if namespace else []
        text = "\n---\n".join(json.dumps(each) for each in (*first, *objects))
        (self.folder / "resources" / "all.yml").write_text(text, encoding="utf-8")

    def placement(
        self,
        policy: Document | None = None,
        strategy: Document | None = None,
        name: str = "",
        rolling: Document | None = None,
    ) -> Document:
        """``strategy`` is the apply strategy, ``rolling`` the budgets of the rolling update."""
        selector = {"group": "", "version": "v1", "kind": "Namespace", "name": self.namespace}
        spec: Document = {"resourceSelectors": [selector]}
        if policy:
            spec["policy"] = policy
        if strategy or rolling:
            parts = {"applyStrategy": strategy, "rollingUpdate": rolling}
            spec["strategy"] = {"type": "RollingUpdate", **{key: each for key, each in parts.items() if each}}
        return {
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
            "kind": "ClusterResourcePlacement",
            "metadata": {"name": name or self.name},
            "spec": spec,
        }

    def place(
        self,
        policy: Document | None = None,
        strategy: Document | None = None,
        name: str = "",
        rolling: Document | None = None,
    ) -> None:
        """Writes the placement's file; PickAll if no policy is given."""
        document = self.placement(policy, strategy, name, rolling)
        file = self.folder / "placements" / f"{name or self.name}.yml"
        file.write_text(json.dumps(document), encoding="utf-8")

    def unplace(self) -> None:
        (self.folder / "placements" / f"{self.name}.yml").unlink()

    # What people run.

    def session(self, records: Records | None = None, **parts: t.Any) -> Session:
        """As a verb opens it, on the records of this fleet if no others are given."""
        usual = {"hub": self.hub_client, "holder": self.holder, "clock": lambda: self.now, "say": self.said.append}
        return Session(**{"records": records or self.records, **usual, **parts})

    def join(self, *names: str, labels: t.Mapping[str, str] | None = None, write: bool = True) -> Joined:
        wishes = [
            MemberSpec(name=name, connection={"kubeconfig": str(self.kubeconfig(name))}, labels=labels)
            for name in names
        ]
        return join(self.session(), wishes, write=write)

    def kubeconfig(self, name: str) -> Path:
        """The member's kubeconfig, a file of this fleet's own."""
        path = self.folder / "kubeconfigs" / name
        if not path.exists():
            path.write_text(Path(self.servers[name].made.kubeconfig).read_text(encoding="utf-8"), encoding="utf-8")
        return path

    def log_in(self, name: str, kubeconfig: Path) -> None:
        """The member is from now on used with another account."""
        self.kubeconfig(name).write_text(kubeconfig.read_text(encoding="utf-8"), encoding="utf-8")

    def cut(self, *names: str) -> None:
        """The members' servers cannot be reached any more: nothing listens on port 1."""
        for name in names:
            path = self.kubeconfig(name)
            document = json.loads(path.read_text(encoding="utf-8"))
            document["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
            path.write_text(json.dumps(document), encoding="utf-8")

    def mend(self, *names: str) -> None:
        for name in names:
            self.kubeconfig(name).unlink()
            self.kubeconfig(name)

    def asked(self, **changes: t.Any) -> PlacementRequest:
        files = {"src": (str(self.folder / "placements"),), "resources": (str(self.folder / "resources"),)}
        if changes.get("absent") or changes.get("definition") or changes.get("roll_back"):
            del files["src"]
        return PlacementRequest(**{**files, "timeout": 2.0, "ways": NOT_WAITING, **changes})

    def run(
        self,
        records: Records | None = None,
        holder: str = "",
        environ: t.Mapping[str, str] | None = None,
        **changes: t.Any,
    ) -> Report:
        parts = {"holder": holder or self.holder, "environ": environ or dict(os.environ)}
        return run(self.session(records, **parts), self.asked(**changes))

    def look(self, **changes: t.Any) -> Report:
        return self.run(**changes)

    def apply(self, **changes: t.Any) -> Report:
        return self.run(write=True, **changes)

    def killed(self, point: str, roll_back: str = "") -> None:
        """An apply, or the roll back of a placement, in a process that kills itself at that point; see
        ``killed_run.py``."""
        command = self._command(point=point, roll_back=roll_back)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr

    def started(self) -> subprocess.Popen[bytes]:
        """An apply in a process that stays until its members are available, or is killed by whoever started it."""
        return subprocess.Popen(self._command(point="", patience=300))

    def _command(self, **how: t.Any) -> list[str]:
        files = {"src": [str(self.folder / "placements")], "resources": [str(self.folder / "resources")]}
        told = {"roll_back": "", "patience": 0, **how, "options": self.options, "holder": self.holder, **files}
        return [sys.executable, str(Path(__file__).with_name("killed_run.py")), json.dumps(told)]

    def end(self, **changes: t.Any) -> Report:
        return self.apply(absent=True, names=(self.name,), **changes)

    def facts(self) -> FactsSnapshot:
        """What the members say now."""
        members = recorded_members(self.records)
        with Clients(members={name: each.fleet for name, each in members.items()}, hub=self.hub_client) as clients:
            return read_fleet(members, clients, self.now, pods=False).snapshot

    # What is there afterwards.

    @property
    def hub_client(self) -> KubeClient | None:
        return self.hub.client if self.hub else None

    @property
    def user(self) -> str:
        """Who we are: as the hub sees it, which lets nobody sign in another name."""
        return "kubernetes-admin" if self.hub else "ann"

    def record(self) -> Document | None:
        return self.records.get("ClusterResourcePlacement", self.name)

    def holders(self) -> list[str]:
        """Members on which the placed ConfigMap ``settings`` is ours."""
        return [name for name in self.servers if self.is_ours(name, self.namespaced("configmaps", "settings"))]

    def is_ours(self, name: str, path: str) -> bool:
        found = self.servers[name].get(path)
        return found is not None and PART_OF_LABEL in (found["metadata"].get("labels") or {})

    def reasons(self) -> list[str]:
        return [each.reason for each in self.records.events("ClusterResourcePlacement", self.name)]

    @contextlib.contextmanager
    def writing(self, but: t.Container[str] = ()) -> Iterator[list[str]]:
        """Every write request that any member, or the hub with the records, saw meanwhile."""
        servers = {**self.servers, **({"hub": self.hub} if self.hub else {})}
        seen: list[str] = []
        with contextlib.ExitStack() as stack:
            lists = {name: stack.enter_context(each.writing(but)) for name, each in servers.items()}
            yield seen
        seen += [f"{name}: {each}" for name, found in lists.items() for each in found]


def conditions(status: t.Any) -> dict[str, str]:
    """Status by type of a placement's conditions, without the prefix."""
    return {each.type.removeprefix("ClusterResourcePlacement"): each.status for each in status.conditions}


def changes(report: Report, placement: str) -> dict[str, str]:
    """What the plan does with each cluster: gained, kept, lost."""
    plan = next(each for each in report.plan.plans if each.name == placement)
    return {each.cluster: each.change for each in plan.clusters}


def codes(report: Report) -> set[str]:
    return {each.code for each in report.problems}
