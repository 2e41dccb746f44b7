# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet on real API servers that is to be upgraded: its members, its records on a hub, and what is left behind."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import CLUSTER_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import MADE_BY
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import Pace
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.hub import install
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import IDENTITY, MemberSpec, join
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import present as present_time
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.approval_policy import (
    OF_STAGED_RUNS,
    OF_UPDATES,
    path_of,
    shipped,
    vouched_since,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.conducting import (
    ConductOptions,
    RunVerdict,
    carry_on,
    verdict,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_completion import user
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.run_record import read_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import version
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.credentials import connection_from_kubeconfig
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel
from ansible_collections.gitops.fleet.plugins.module_utils._local import cluster, processes, upgrades
from ansible_collections.gitops.fleet.plugins.module_utils._local.outcome import LocalOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import NodesSpec
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from small_fleet import Server

Document = dict[str, t.Any]
OLD, NEW = "v1.35.4", "v1.36.3"
TARGET = NEW.removeprefix("v")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/gitops-fleet/leases"
MERGE = "application/merge-patch+json"
API = "gitops.fleet/v1alpha1"
# Members that are files: what stands in one is the version, and an upgrade is a line more in another.
_OBSERVE = 'cat "$1/$2"'
# An upgrade that takes until a test lets it end (``let_go``).
HELD = 'echo "$2" >> "$1/begun.log"; until [ -e "$1/go" ]; do sleep 0.1; done; echo "v$3" > "$1/$2"'
_BEGIN = 'echo "$2" >> "$1/begun.log"; sleep "$4"; echo "v$3" > "$1/$2"'


def sequence(*stages: t.Mapping[str, t.Any] | tuple[str, ...], at_once: int = 1) -> Document:
    """Stages as they are written; a tuple of members' groups is short for a stage of these groups."""
    made = []
    for number, stage in enumerate(stages, 1):
        if isinstance(stage, tuple):
            groups = [{"name": name, "maxConcurrency": str(at_once)} for name in stage]
            stage = {"name": f"stage-{number}", "groups": groups}
        made.append(dict(stage))
    return {"stages": made}


@dataclass
class UpdateFleet:
    """Records on the hub, emptied before; members that a test makes are gone after it."""

    folder: Path
    hub: LocalOutcome
    clusters: t.Any
    number: int
    made: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    outcomes: dict[str, LocalOutcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.client = KubeClient(connection_from_kubeconfig(self.hub.kubeconfig))
        self.options = {"type": "hub", "kubeconfig": str(self.hub.kubeconfig)}
        self.records = self.open()
        self.run_name = f"run{self.number}"
        for each in ("updates", "files"):
            (self.folder / each).mkdir()

    @property
    def operations(self) -> Path:
        return self.folder / "operations"

    def open(self) -> Records:
        return open_records(self.options, {}, lambda: datetime.now(UTC))

    def session(self, **parts: t.Any) -> Session:
        """As a verb opens it."""
        usual = {"records": self.records, "hub": self.client, "holder": "tests", "say": self.said.append}
        return Session(**{**usual, **parts})

    # Members.

    def members(
        self, *groups: str, version: str = "1.35", driver: str = "local", nodes: tuple[NodesSpec, ...] = ()
    ) -> list[str]:
        """Joins a real local cluster for each name of a group, and gives their names; with ``nodes``, these are kept
        ready and replaced, and requests are in its audit log."""
        names = [f"u{self.number}-{letter}" for letter, _group in zip("abcdefgh", groups, strict=False)]
        more = {"profile": "fleet", "nodes": nodes, "audit": True} if nodes else {}
        made = in_parallel({name: self._maker(name, version, more) for name in names}, threads=2)
        self.made += names
        wishes = []
        for name, group in zip(names, groups, strict=True):
            outcome = made[name]
            assert isinstance(outcome, LocalOutcome), outcome
            self.outcomes[name] = outcome
            wishes.append(self._wish(name, outcome.kubeconfig, group, driver))
        join(self.session(), wishes, write=True)
        return names

    def file_members(self, **versions: str) -> None:
        """Members that are files, all in group ``all``: driver ``command``, as ``file_driver`` has it. They have no API
        server, so they are recorded without being reached."""
        for name, found in versions.items():
            (self.folder / "files" / name).write_text(found + "\n")
            kubeconfig = json.loads(Path(self.hub.kubeconfig).read_text())
            kubeconfig["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
            path = self.folder / "files" / f"{name}.kubeconfig"
            path.write_text(json.dumps(kubeconfig))
            spec = {"connection": {"kubeconfig": str(path)}, "group": "all", "driver": "command"}
            self.records.create({"apiVersion": CLUSTER_API, "kind": "MemberCluster", "metadata": {"name": name},
                                 "spec": {"identity": IDENTITY}})  # fmt: skip
            self.records.create({"apiVersion": API, "kind": "FleetMember", "metadata": {"name": name}, "spec": spec})

    def file_driver(self, seconds: float = 0, begin: str = _BEGIN) -> Document:
        files = str(self.folder / "files")
        return {
            "observe": ["sh", "-c", _OBSERVE, "observe", files, "{member}"],
            "begin": ["sh", "-c", begin, "begin", files, "{member}", "{target}", str(seconds)],
        }

    def let_go(self) -> None:
        """Upgrades that are held end."""
        (self.folder / "files" / "go").touch()

    @contextlib.contextmanager
    def let_go_once(self, reached: t.Callable[[], bool]) -> t.Iterator[None]:
        """Upgrades that are held end when ``reached`` says so, while this process is busy, and with the block."""
        left = threading.Event()

        def release() -> None:
            until(lambda: left.is_set() or reached())
            self.let_go()

        waiting = threading.Thread(target=release)
        waiting.start()
        try:
            yield
        finally:
            left.set()
            waiting.join()

    def file_upgrades(self) -> list[str]:
        """Members that are files, as often as their upgrade was begun."""
        log = self.folder / "files" / "begun.log"
        return log.read_text().split() if log.exists() else []

    def _maker(self, name: str, minor: str, more: Document) -> t.Callable[[], LocalOutcome]:
        return lambda: t.cast(LocalOutcome, self.clusters(name, version=minor, **more))

    def _wish(self, name: str, kubeconfig: t.Any, group: str, driver: str) -> MemberSpec:
        fields = {"group": group, "driver": driver}
        return MemberSpec(name=name, connection={"kubeconfig": str(kubeconfig)}, labels={}, fields=fields)

    def server(self, member: str) -> Server:
        """With its audit log, for members with nodes."""
        return Server(self.outcomes[member])

    def version(self, member: str) -> str:
        """What the member itself says."""
        with KubeClient(connection_from_kubeconfig(self.clusters.root / member / "kubeconfig")) as client:
            return version(client)

    def upgrades(self) -> dict[str, int]:
        """How often each member of this test was upgraded, as its driver logged it."""
        log = self.clusters.root / upgrades.LOG
        found = [json.loads(line)["member"] for line in log.read_text().splitlines()] if log.exists() else []
        return {name: found.count(name) for name in self.made if name in found}

    # The run.

    def run(
        self, strategy: Document | None = None, target: str = TARGET, kind: str = "ControlPlaneOnly", **spec: t.Any
    ) -> Document:
        """``images`` is the selection of node images."""
        update: Document = {"upgrade": {"type": kind, **({"kubernetesVersion": target} if target else {})}}
        if images := spec.pop("images", None):
            update["nodeImageSelection"] = images
        spec = {"managedClusterUpdate": update, **({"strategy": strategy} if strategy else {}), **spec}
        return {"apiVersion": API, "kind": "UpdateRun", "metadata": {"name": self.run_name}, "spec": spec}

    def write(self, strategy: Document | None = None, **spec: t.Any) -> None:
        """The run's manifest, as a file below ``updates``."""
        (self.folder / "updates" / "run.json").write_text(json.dumps(self.run(strategy, **spec)))

    def drivers(self, **more: t.Any) -> Document:
        return {"local": {"root": str(self.clusters.root)}, **more}

    def variables(self, **more: t.Any) -> Document:
        """For playbooks."""
        return {
            "records": self.options,
            "updates": str(self.folder / "updates"),
            "operations": str(self.operations),
            "events": str(self.folder / "events.jsonl"),
            "drivers": self.drivers(),
            **more,
        }

    def conduct(
        self,
        run: Document | None = None,
        drivers: Document | None = None,
        clock: t.Callable[[], datetime] = present_time,
        **wish: t.Any,
    ) -> RunVerdict:
        """In this process; what it came to. Without a definition the recorded run."""
        wish = {"pace": Pace(interval=0.2, settle=20), "timeout": 2.0, "operations": str(self.operations), **wish}
        given = update_manifests([], [run] if run else [], strict=False)
        session = self.session(clock=clock)
        who = user(session)
        made = define_run(self.records, self.run_name, given, write=True, who=who).run
        wanted = ConductOptions(drivers=drivers or self.drivers(), **wish)
        ending = carry_on(session, made, wanted, who)
        return verdict(ending)

    def recorded(self) -> UpdateRun:
        return read_run(self.records, self.run_name)

    def row(self, member: str) -> t.Any:
        return next(each for each in self.rows() if each.name == member)

    def rows(self) -> list[t.Any]:
        stages = self.recorded().status.stages
        return [member for stage in stages for group in stage.groups for member in group.members]

    def states(self) -> dict[str, str]:
        return {each.name: each.status.state for each in self.rows()}

    def events(self) -> list[Document]:
        path = self.folder / "events.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def patch(self, path: str, body: Document) -> Document:
        """As ``kubectl patch --type merge`` does."""
        return self.client.request("PATCH", path, body, {"fieldManager": "kubectl-patch"}, MERGE)

    def expire_leases(self) -> None:
        """What a conductor held that was killed long ago."""
        for found in self.client.get(LEASES)["items"]:
            long_ago = {"spec": {"renewTime": "2020-01-01T00:00:00.000000Z"}}
            self.patch(f"{LEASES}/{found['metadata']['name']}", long_ago)

    @contextlib.contextmanager
    def without_policies(self) -> t.Iterator[None]:
        """The hub does not hold names meanwhile, as one that was installed long ago. API servers notice soon after."""
        for each in shipped():
            self.client.delete(path_of(each))
        until(self._takes_any_name, 60, 0.1)
        with self.policies_as_shipped():
            yield

    @contextlib.contextmanager
    def policies_as_shipped(self) -> t.Iterator[None]:
        """The hub holds names by our policies when it is left, whatever was done to them."""
        try:
            yield
        finally:
            install(self.client, write=True)
            until(lambda: not self._takes_any_name(), 60, 0.1)
            # What is made in the second in which the policies were made could be older than they are.
            until(lambda: datetime.now(UTC) >= self._vouched_since() + timedelta(seconds=1), 60, 0.1)

    def _vouched_since(self) -> datetime:
        """For names in runs of either kind."""
        found = [vouched_since(self.client, names) for names in (OF_UPDATES, OF_STAGED_RUNS)]
        return max(t.cast(list[datetime], found))

    def _takes_any_name(self) -> bool:
        probe = self.run()
        probe["metadata"] |= {"name": "probe", "annotations": {MADE_BY: "somebody"}}
        query = {"dryRun": "All"}
        try:
            self.client.request("POST", f"/apis/{API}/updateruns", probe, query)
        except ApiError as error:
            assert error.code == "forbidden", error
            return False
        return True

    def gates(self) -> list[Document]:
        return list(self.client.get(f"/apis/{API}/gates")["items"])

    # What is left.

    def folders(self) -> list[Path]:
        """Of operations, in the order of their names."""
        return sorted(self.operations.glob("[!.]*"))

    def leftovers(self) -> list[tuple[str, ...]]:
        """Commands of processes that belong to an operation of this test."""
        found = [one for folder in self.folders() for one in processes.processes_marked(str(folder))]
        return [processes.process_arguments(one) for one in found]

    def end(self) -> None:
        for folder in self.folders():
            processes.stop(processes.processes_marked(str(folder)), grace=5)
        root = self.clusters.root
        ended = cluster.work_on_clusters({name: partial(cluster.absent, name, root) for name in self.made}, at_once=4)
        self.records.close()
        self.client.close()
        assert not ended.errors, ended.errors


def until(holds: t.Callable[[], t.Any], seconds: float = 300, pause: float = 0.005) -> t.Any:
    """What ``holds`` gives as soon as that is something. The time is for machines that have much else to do."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, "it does not come"
        time.sleep(pause)
    return found


def empty(client: KubeClient, paths: t.Iterable[str]) -> None:
    """Deletes everything in these lists."""
    for path in paths:
        for found in client.get(path)["items"]:
            metadata, (base, _slash, plural) = found["metadata"], path.rpartition("/")
            inside = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
            one = f"{base.removesuffix(inside)}{inside}/{plural}/{metadata['name']}"
            if metadata.get("finalizers"):
                client.request("PATCH", one, {"metadata": {"finalizers": None}}, {"fieldManager": "tests"}, MERGE)
            try:
                client.delete(one)
            except ApiError as error:
                assert error.code == "not-found", error
