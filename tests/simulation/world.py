# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A fleet with its records on a virtual clock: processes come, conduct, and are killed; people give commands."""

from __future__ import annotations

import copy
import json
import re
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import (
    CONTROL_PLANE_ONLY,
    FULL,
    NODE_IMAGE_ONLY,
    UpdateRun,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.preflight import Judge
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import run_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GroupRow,
    MemberRow,
    RunState,
    StageRow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.kube_version import KubeVersion
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import MEMBER_GONE, NEW, RUNNING
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import RunLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.operation import Operation, OperationMaker
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.leases import holder_name
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.constraints import StartConstraints
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.monitor import (
    ControlPlaneJudge,
    MemberMonitor,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.pools import WholeJudge, upgrades_node_pools
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.progress import RunProgress
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.run_record import proven, run_document
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import (
    UpdateManifests,
    update_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import RunEnding, conduct_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import start_run
from ansible_collections.gitops.fleet.plugins.module_utils._store.hub import HubRecords
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record, Records
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.simulation.members import NEW as TARGET
from ansible_collections.gitops.fleet.tests.simulation.members import OLD, Member, SimulatedDriver
from ansible_collections.gitops.fleet.tests.simulation.memory_hub import MemoryClient, MemoryHub
from ansible_collections.gitops.fleet.tests.simulation.node_pools import (
    FAMILY,
    FIRST_IMAGE,
    LAST_IMAGE,
    lacking,
    whole_parts,
)
from ansible_collections.gitops.fleet.tests.simulation.processes import (
    AFTER,
    BEFORE,
    PACE,
    FiberExecutor,
    Hook,
    Point,
    Process,
    Watched,
    nothing,
    suppressed,
)
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import VirtualTime

API = "gitops.fleet/v1alpha1"
Manifest = dict[str, t.Any]
People = t.Callable[["World"], None]


def nobody(_world: World) -> None:
    """Gives no commands."""


def run_manifest(name: str, *stages: Manifest, kind: str = CONTROL_PLANE_ONLY, **spec: t.Any) -> Manifest:
    version = {} if kind == NODE_IMAGE_ONLY else {"kubernetesVersion": TARGET.removeprefix("v")}
    update = {"upgrade": {"type": kind, **version}}
    if "images" in spec:
        update["nodeImageSelection"] = {"type": spec.pop("images")}
    spec = {"managedClusterUpdate": update, "strategy": {"stages": list(stages)}, **spec}
    return {"apiVersion": API, "kind": "UpdateRun", "metadata": {"name": name}, "spec": spec}


@dataclass
class World:
    """``people`` is called every second and gives commands as it sees fit, by processes of its own.

    ``journal`` holds the lines of JSON that conductors wrote. ``broken`` are rules that were seen broken.
    """

    path: Path
    members: dict[str, Member]
    runs: tuple[Manifest, ...]
    people: People = nobody
    holder: t.Callable[[int], str] = "user@elsewhere:{}".format
    time: VirtualTime = field(default_factory=VirtualTime)
    journal: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    processes: int = 0
    hub: MemoryHub | None = None

    def __post_init__(self) -> None:
        self.records = self._open(None)
        self.given: UpdateManifests = update_manifests((), self.runs, True)
        self._opened = [self.records]
        self._read: tuple[Record, UpdateRun] | None = None
        self.time.spawn(self._watch)

    def join(self, *names: str) -> None:
        for name in names or tuple(self.members):
            member = self.members[name]
            self.records.create({"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster",
                                 "metadata": {"name": name}, "spec": {}})  # fmt: skip
            made = self.records.create({"apiVersion": API, "kind": "FleetMember", "metadata": {"name": name},
                                        "spec": {"group": member.group}})  # fmt: skip
            if member.pools:
                pools = [encode(each) for each in member.pools_at(self.time.now)]
                status = {"version": member.version, "nodePools": pools, "lastRead": "2026-03-02T08:00:00Z"}
                self.records.replace({**made, "status": status})

    def offer(self) -> None:
        """Both versions and both images, everywhere."""
        images = [
            {"family": FAMILY, "os": "Linux", "versions": [{"version": each} for each in (FIRST_IMAGE, LAST_IMAGE)]}
        ]
        versions = [{"version": each.removeprefix("v")} for each in (OLD, TARGET)]
        offered = {"locations": [{"name": "*", "versions": versions, "images": images}]}
        self.records.create({"apiVersion": API, "kind": "ReleaseCatalog", "metadata": {"name": "own"}, "spec": offered})

    def copied(self, path: Path) -> World:
        """The world at this instant, without processes: what is left when all of them are killed."""
        if self.hub is None:
            path.write_bytes(self.path.read_bytes())
        return World(
            path=path,
            members=copy.deepcopy(self.members),
            runs=self.runs,
            people=self.people,
            holder=self.holder,
            time=VirtualTime(self.time.now),
            journal=list(self.journal),
            broken=list(self.broken),
            processes=self.processes,
            hub=self.hub.copied() if self.hub else None,
        )

    def visible(self) -> t.Any:
        """All that a new process could make anything of."""
        kept = repr(self.hub.objects) if self.hub else self.path.read_bytes() if self.path.exists() else b""
        return kept, repr(self.members), self.time.now

    def _open(self, process: Process | None) -> Records:
        """The records as a process sees them, or as people do: of the hub if there is one, else in the file."""
        if self.hub is not None:
            self.hub.clock = self.time.clock
            return HubRecords(MemoryClient(self.hub, process.write if process else at_once), self.time.clock)
        opened = SqliteRecords(self.path, self.time.clock)
        return t.cast(Records, Watched(opened, process)) if process else opened

    def close(self) -> None:
        self.time.close()
        for records in self._opened:
            records.close()

    @property
    def session(self) -> Session:
        """Of people who give commands."""
        return Session(records=self.records, holder="people", clock=self.time.clock, environ={})

    def state(self, run: str = "") -> RunState:
        return run_of(self.run(run))

    def run(self, run: str = "") -> UpdateRun:
        """The recorded run. Most looks find it as it was at the one before, which is not proven again."""
        document = run_document(self.records, run or self.runs[0]["metadata"]["name"])
        if self._read is None or self._read[0] != document:
            self._read = document, proven(document)
        return self._read[1]

    def row(self, member: str, run: str = "") -> MemberRow:
        return next(row for row in rows(self.state(run)) if row.name == member)

    def process(self, hook: Hook = nothing, run: str = "", orders: t.Mapping[str, t.Any] | None = None) -> Process:
        """A new process that conducts the run; it gets its turn when the clock is run."""
        self.processes += 1
        name = run or self.runs[0]["metadata"]["name"]
        process = Process(self.processes, self.time, self.holder(self.processes), self._judged(hook, name))
        process.spawn(lambda: self._conducted(process, name, orders or {}))
        return process

    def conducted(self, hook: Hook = nothing, run: str = "", **orders: t.Any) -> Process:
        """A new process, to its end."""
        process = self.process(hook, run, orders)
        self.finish(process)
        return process

    def finish(self, process: Process) -> None:
        self.time.run(lambda: process.over)

    def _conducted(self, process: Process, run: str, orders: t.Mapping[str, t.Any]) -> None:
        opened = self._open(process)
        self._opened.append(opened)
        try:
            process.result = self._conduct(process, opened, run, orders)
        except FleetError as error:
            process.result = error

    def _conduct(self, process: Process, records: t.Any, name: str, orders: t.Mapping[str, t.Any]) -> RunEnding:
        """What the verb does for state ``completed``."""
        run = define_run(records, name, self.given, write=True).run
        session = Session(records=records, holder=process.holder, clock=self.time.clock, environ={})
        if run.status.phase == NEW:
            run = start_run(session, run, {}, write=True).run
        driver = SimulatedDriver(self.members, self.time.clock, process, self._check)
        drivers = {each["metadata"]["name"]: driver for each in records.list("FleetMember")}
        judge: Judge = ControlPlaneJudge(run.status.target_version)
        follow: OperationMaker = Operation
        if upgrades_node_pools(run):
            parts = whole_parts(run, records, driver, PACE)
            members = {name: each.fleet for name, each in recorded_members(records).items()}
            judge, follow = WholeJudge(target=parts.target, known=parts.known, member=members.get), parts.follow
        sight = MemberMonitor(
            records=records,
            drivers=drivers,
            judge=judge,
            pools=lambda _member, seen: seen.pools or (),
            holder=f"run/{name}/{run.metadata.uid}",
            members=tuple(row.name for row in rows(run_of(run))),
            permits=StartConstraints(records, run.spec.managed_cluster_update.upgrade.type, run.target),
        )
        progress = RunProgress(
            run=run,
            say=process.said.append,
            emit=lambda line: process.write("line", lambda: self.journal.append(json.dumps(line))),
            journal=lambda kind, reason, message: suppressed(
                lambda: records.event("UpdateRun", name, kind, reason, message, self.time.clock())
            ),
            versions=sight.versions,
        )
        given = RunLimits(holder=process.holder, interrupted=lambda: process.told, **orders)
        works = FiberExecutor(drivers, process, follow, lambda work: sight.held_back(work, self.time.now))
        here = process.machine
        return conduct_run(session, name, sight, works, progress, given, lambda: here)

    def _judged(self, hook: Hook, run: str) -> Hook:
        """The hook, and a look at every write of the run: nobody is dispatched after a stop or a breach."""
        before: list[RunState] = []

        def judge(point: Point, process: Process) -> None:
            written = point.what == f"replace UpdateRun/{run}"
            if written and point.side == AFTER:
                self.broken.extend(wrong_dispatches(before.pop(), self.state(run)))
            hook(point, process)
            if written and point.side == BEFORE:
                before[:] = [self.state(run)]

        return judge

    def _check(self, work: Work) -> None:
        """No upgrade begins that the records do not know as one in flight, nor beyond a limit. A member that has left
        the fleet counts no more (D3-22)."""
        state = self.state(work.run)
        row = next(row for row in rows(state) if row.name == work.member)
        known = work.operation.startswith(f"{row.operation}.") if work.pool_step else work.operation == row.operation
        if (row.state != RUNNING or not known) and not self._ends_what_was_begun(row, work):
            self.broken.append(f"{work.operation} began while the records say {row.state} {row.operation}")
        self.broken.extend(self._needless(work))
        limits: list[StageRow | GroupRow] = list(state.stages)
        for limited in (*limits, *(group for stage in state.stages for group in stage.groups)):
            members = rows_of(limited)
            here = [each for each in members if self.records.get("FleetMember", each.name)]
            busy = [each.name for each in here if self.members[each.name].under_way(self.time.now)]
            if row in members and len(busy) >= limited.max_concurrency:
                self.broken.append(f"{work.operation} began beside {busy} in {limited.name}")

    def _ends_what_was_begun(self, row: MemberRow, work: Work) -> bool:
        """A pool that was being replaced when its member left the fleet, with the next node of which it goes on."""
        begun = [each.begun for each in self.members[work.member].pool_changes if each.operation == work.operation]
        left = row.completed if row.reason == MEMBER_GONE else None
        return left is not None and any(each <= left for each in begun)

    def _needless(self, work: Work) -> t.Iterator[str]:
        """What is at its target is not upgraded, nor what the type leaves alone, nor kubelets past their API server."""
        member, now = self.members[work.member], self.time.now
        if not work.pool_step:
            if member.version_at(now) == TARGET or work.upgrade_type == NODE_IMAGE_ONLY:
                yield f"{work.operation} upgrades a control plane for nothing"
            return
        (pool,) = (each for each in member.pools if each.name == work.pool)
        if work.upgrade_type == CONTROL_PLANE_ONLY or not lacking(work, pool, member.pool_changes, now):
            yield f"{work.operation} replaces nodes for nothing"
        beyond = work.target and KubeVersion.parse(work.target) > KubeVersion.parse(member.version_at(now))
        if beyond or (work.target and work.upgrade_type == NODE_IMAGE_ONLY):
            yield f"{work.operation} brings kubelets to {work.target} under {member.version_at(now)}"

    def at_target(self, name: str) -> bool:
        """Whether the member itself has what the first run is for."""
        member, now = self.members[name], self.time.now
        kind = self.runs[0]["spec"]["managedClusterUpdate"]["upgrade"]["type"]
        pools = [node for each in member.pools for node in each.nodes_at(member.pool_changes, now)]
        versions = [member.version_at(now)] if kind != NODE_IMAGE_ONLY else []
        versions += [version for version, _image in pools] if kind == FULL else []
        images = [image for _version, image in pools] if kind != CONTROL_PLANE_ONLY else []
        return set(versions) <= {TARGET} and set(images) <= {LAST_IMAGE}

    def _watch(self) -> None:
        while True:
            self.time.sleep(1)
            self.people(self)


def at_once(_what: str, effect: t.Callable[[], t.Any]) -> t.Any:
    return effect()


def wrong_dispatches(before: RunState, after: RunState) -> list[str]:
    """Members that one write of a conductor dispatched though the run was stopped, or their segment halted."""
    found = []
    for stage, new in zip(before.stages, after.stages, strict=bool(before.stages)):
        for group, fresh in zip(stage.groups, new.groups, strict=True):
            halted = before.stop_requested or stage.breached or group.breached or stage.user_skipped
            pairs = zip(group.members, fresh.members, strict=True)
            begun = [row.name for row, now in pairs if row.state != RUNNING and now.state == RUNNING]
            if begun and (halted or group.user_skipped):
                found.append(f"{begun} dispatched in {stage.name}/{group.name} after it was halted")
    return found


def gone(number: int) -> str:
    """A holder that was a process of this machine and has ended: what it held is free at once."""
    return re.sub(r"[0-9]+$", str(number), holder_name({}))


def rows(state: RunState) -> list[MemberRow]:
    return [row for stage in state.stages for row in rows_of(stage)]


def rows_of(limited: StageRow | GroupRow) -> list[MemberRow]:
    groups = limited.groups if isinstance(limited, StageRow) else (limited,)
    return [row for group in groups for row in group.members]
