# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the soak works on: real members, records in one place, manifests, and what must be true of them after all."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from conducting import Conducting, Plays, children
from small_fleet import OURS, PARENTS, Document, Server

HERE = Path(__file__).parent
PLACEMENT, NAMESPACE, FOREIGN = "web", "shop", "foreign"
CONFIGMAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
PART_OF = "applyset.kubernetes.io/part-of"
# What a run says when the one before it is still there, or has just ended: it is started again.
PASSING = ("lease-held", "member-held", "records-busy", "records-moved", "conflict")
PATIENCE = 180.0
# Who died with its records lost is waited for as long as the Lease on the member says.
HELD = 1000.0


@dataclass
class World:
    """``content`` is what every member is to hold: data of ConfigMaps by name. ``away`` have left, ``at`` is the
    version that members were last brought to."""

    folder: Path
    records: Document
    servers: t.Mapping[str, Server]
    plays: Plays
    hub: Server | None = None
    content: dict[str, str] = field(default_factory=dict)
    away: set[str] = field(default_factory=set)
    at: int = 0
    runs: int = 0
    foreign: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("placements", "resources", "updates"):
            (self.folder / name).mkdir(parents=True)
        selector = {"group": "", "version": "v1", "kind": "Namespace", "name": NAMESPACE}
        self._write("placements/web.json", "placement.kubernetes-fleet.io/v1beta1", "ClusterResourcePlacement",
                    {"name": PLACEMENT}, spec={"resourceSelectors": [selector]})  # fmt: skip
        for server in self.servers.values():
            _seeded(server)
        self.foreign = {name: self._foreign(server) for name, server in self.servers.items()}

    # What people write.

    def write(self, content: t.Mapping[str, str]) -> None:
        self.content = dict(content)
        for old in (self.folder / "resources").iterdir():
            old.unlink()
        self._write("resources/namespace.json", "v1", "Namespace", {"name": NAMESPACE})
        for name, value in content.items():
            self._write(f"resources/{name}.json", "v1", "ConfigMap", {"name": name, "namespace": NAMESPACE},
                        data={"value": value})  # fmt: skip

    def write_run(self) -> str:
        """A run of all members to the next version; its name."""
        self.at += 1
        self.runs += 1
        name = f"run-{self.runs}"
        for old in (self.folder / "updates").iterdir():
            old.unlink()
        upgrade = {"type": "ControlPlaneOnly", "kubernetesVersion": f"1.36.{self.at}"}
        stages = [{"name": each, "groups": [{"name": each, "maxConcurrency": "2"}]} for each in ("first", "second")]
        self._write("updates/run.json", "gitops.fleet/v1alpha1", "UpdateRun", {"name": name},
                    spec={"managedClusterUpdate": {"upgrade": upgrade}, "strategy": {"stages": stages}})  # fmt: skip
        return name

    def _write(self, place: str, api_version: str, kind: str, metadata: Document, **more: t.Any) -> None:
        document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}
        (self.folder / place).write_text(json.dumps(document), encoding="utf-8")

    # What people run.

    @property
    def here(self) -> list[str]:
        return [name for name in self.servers if name not in self.away]

    def variables(self, **more: t.Any) -> Document:
        return {
            "records": self.records,
            "placements": str(self.folder / "placements"),
            "resources": str(self.folder / "resources"),
            "max_object_removals": "100%",
            "updates": str(self.folder / "updates"),
            "operations": str(self.folder / "operations"),
            "drivers": {"command": self._driver()},
            **more,
        }

    def joining(self, *names: str) -> Document:
        members = [
            {
                "name": name,
                "kubeconfig": str(self.servers[name].made.kubeconfig),
                "group": "first" if number == 0 else "second",
                "driver": "command",
            }
            for number, name in enumerate(self.servers)
            if name in names
        ]
        return self.variables(members=members)

    def _driver(self) -> Document:
        script = [sys.executable, str(HERE / "member_platform.py")]
        kubeconfig = str(Path(next(iter(self.servers.values())).made.kubeconfig).parents[1] / "{member}" / "kubeconfig")
        return {
            "observe": [*script, "observe", kubeconfig],
            "begin": [*script, "begin", kubeconfig, "{target}", str(self.begun), "{operation}"],
        }

    @property
    def begun(self) -> Path:
        return self.folder / "begun.log"

    def done(self, playbook: str, variables: Document) -> Conducting:
        """Run until it succeeds, as long as it is only told to wait for one that was before it."""
        end = time.monotonic() + PATIENCE
        while True:
            played = self.plays(playbook, **variables)
            if played.process.returncode == 0 and '"outcome": "waiting"' not in played.output:
                assert "Traceback" not in played.output, played.output
                return played
            held = any(code in played.output for code in PASSING) or '"outcome": "waiting"' in played.output
            longer = HELD - PATIENCE if "member-held" in played.output else 0.0
            assert held and time.monotonic() < end + longer, played.output
            time.sleep(0.5)

    def killed(self, playbook: str, variables: Document, share: float, whom: str, seconds: float) -> bool:
        """SIGKILL after a share of the seconds that it usually works; whether it was still there to be killed."""
        started = self.plays.start(playbook, **variables)
        workers: list[int] = []
        end = time.monotonic() + PATIENCE
        while not workers and started.process.poll() is None and time.monotonic() < end:
            workers = children(started.pid)
            time.sleep(0.005)
        time.sleep(share * seconds)  # the instant itself is the test
        pids = {"parent": [started.pid], "worker": workers, "all": [*workers, started.pid]}[whom]
        alive = started.process.poll() is None
        started.kill(signal.SIGKILL, *pids)
        started.ended(PATIENCE)
        return alive

    # What must be true.

    def check_content(self) -> None:
        """Every member holds exactly what is wanted, and nothing of others was touched."""
        for name in self.here:
            found = {
                each["metadata"]["name"]: each["data"]["value"]
                for each in self.servers[name].client.get(CONFIGMAPS)["items"]
                if PART_OF in (each["metadata"].get("labels") or {})
            }
            assert found == self.content, (name, found, self.content)
            inventory = json.loads(self.servers[name].data(f"{PARENTS}/{PLACEMENT}")["inventory"])  # type: ignore[index]
            held = {row[4]: row[5] for row in inventory if row[2] == "ConfigMap"}
            assert held.keys() == self.content.keys() and all(held.values()), (name, held)
        self.check_foreign()

    def check_foreign(self) -> None:
        for name, server in self.servers.items():
            assert self._foreign(server) == self.foreign[name], name

    def check_left(self, name: str, removed: bool) -> None:
        """What was placed on a member that has left is gone, or stays without our marks."""
        found = [each for each in self.servers[name].client.get(CONFIGMAPS)["items"] if "value" in each["data"]]
        assert not any(PART_OF in (each["metadata"].get("labels") or {}) for each in found), found
        assert removed != bool(found), (removed, found)
        parents = self.servers[name].get(PARENTS) or {"items": []}
        assert not [each for each in parents["items"] if each["metadata"]["name"] == PLACEMENT], name
        self.check_foreign()

    def check_begun(self) -> None:
        """Each operation was begun once, and every member is where the run brought it."""
        operations = self.begun.read_text().split() if self.begun.exists() else []
        assert len(operations) == len(set(operations)), operations
        assert len(operations) == self.at * len(self.servers), (self.at, operations)
        for name, server in self.servers.items():
            assert server.data(_PLATFORM) == {"version": f"v1.36.{self.at}"}, name

    def check_idempotent(self) -> None:
        """Once more, and nothing is written anywhere."""
        servers = {**self.servers, **({"hub": self.hub} if self.hub else {})}
        before = {name: _writes(server) for name, server in servers.items()}
        played = self.done("gitops.fleet.apply", self.variables())
        assert played.changed == 0, played.output
        assert {name: _writes(server) for name, server in servers.items()} == before, played.output

    def _foreign(self, server: Server) -> dict[str, str]:
        """Every object of others by its path, with its version."""
        found = {}
        for path in (f"/api/v1/namespaces/{FOREIGN}/configmaps", CONFIGMAPS, f"{OURS}/configmaps"):
            for each in (server.get(path) or {"items": []})["items"]:
                if each["metadata"]["name"].startswith("somebody"):
                    found[f"{path}/{each['metadata']['name']}"] = each["metadata"]["resourceVersion"]
        assert len(found) == 9, found
        return found

    def forget_records(self) -> None:
        """As if the disk, or the hub, had been lost."""
        if self.hub is None:
            os.unlink(self.records["path"])
            return
        for path in HUB_KINDS:
            for each in self.hub.client.get(path)["items"]:
                one = f"{path}/{each['metadata']['name']}"
                if each["metadata"].get("finalizers"):
                    self.hub.patch(one, {"metadata": {"finalizers": None}})
                _gone(self.hub, one)


HUB_KINDS = tuple(
    f"/apis/{group}/{plural}"
    for group, plurals in {
        "cluster.kubernetes-fleet.io/v1beta1": ("memberclusters",),
        "gitops.fleet/v1alpha1": ("fleetmembers", "updateruns", "gates"),
        "placement.kubernetes-fleet.io/v1beta1": (
            "clusterresourceplacements",
            "clusterresourcebindings",
            "clusterresourcesnapshots",
            "clusterschedulingpolicysnapshots",
        ),
    }.items()
    for plural in plurals
)
_PLATFORM = "/api/v1/namespaces/default/configmaps/platform"


def _seeded(server: Server) -> None:
    """The platform's version, and objects of others: in a namespace of theirs, beside what is placed, beside ours."""
    for namespace in (FOREIGN, NAMESPACE, "gitops-fleet"):
        _made(server, "/api/v1/namespaces", {"metadata": {"name": namespace}})
        for number in range(3):
            document = {"metadata": {"name": f"somebody-{number}"}, "data": {"kept": "yes"}}
            _made(server, f"/api/v1/namespaces/{namespace}/configmaps", document)
    _gone(server, _PLATFORM)
    document = {"metadata": {"name": "platform"}, "data": {"version": "v1.36.0"}}
    _made(server, "/api/v1/namespaces/default/configmaps", document)


def _made(server: Server, path: str, document: Document) -> None:
    try:
        server.client.post(path, document)
    except ApiError as error:
        assert error.code == "already-exists", error


def _gone(server: Server, path: str) -> None:
    try:
        server.client.delete(path)
    except ApiError as error:
        assert error.code == "not-found", error


def _writes(server: Server) -> int:
    """Requests by people and by us that changed something since the server began."""
    count = 0
    for line in Path(server.made.after.audit_log).read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        changing = event["verb"] in ("create", "update", "patch", "delete", "deletecollection")
        own = str(event["user"].get("username", "")).startswith("system:apiserver")
        reviews = "selfsubject" in event["requestURI"]
        count += changing and not own and not reviews
    return count
