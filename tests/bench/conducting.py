# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A conductor in a process of its own is killed with SIGKILL in the middle of a run, and another one goes on.

Members are simulated in a folder, so that their upgrades outlive every conductor: an upgrade is a file, begun when it
was made. Each look at a member takes 50 ms. Records lie in a SQLite file on the disk of the temporary folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import typing as t
from datetime import UTC, datetime
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".cache" / "collections"))

from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.record.run_state import run_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases import versions
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import NEW
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.executor import Executor, Pace
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import RunLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    IN_PROGRESS,
    NOT_BEGUN,
    SUCCEEDED,
    Observation,
    OperationProgress,
    Work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import intent_reference
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.leases import holder_name
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.defining import define_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.monitor import (
    ControlPlaneJudge,
    MemberMonitor,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.progress import RunProgress
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.sources import update_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steering import conduct_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.update_run import start_run
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

SIZE, SLOTS = 1_000, 50
ROUND_TRIP, SECONDS = 0.05, 1.0
OLD, TARGET = "v1.35.4", "1.36.3"
API = "gitops.fleet/v1alpha1"
GROUP = {"name": "all", "maxConcurrency": str(SLOTS)}
RUN = {
    "apiVersion": API,
    "kind": "UpdateRun",
    "metadata": {"name": "run"},
    "spec": {
        "managedClusterUpdate": {"upgrade": {"type": "ControlPlaneOnly", "kubernetesVersion": TARGET}},
        "strategy": {"stages": [{"name": "all", "maxConcurrency": str(SLOTS), "groups": [GROUP]}]},
    },
}
Row = tuple[str, float, str, str]


class FolderDriver:
    """An upgrade is an empty file with the name of its operation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def observe(self, member: str) -> Observation:
        time.sleep(ROUND_TRIP)
        files = list(self.folder.glob(f"upgrades/*.{member}.*"))
        return Observation(version=f"v{TARGET}" if any(map(_over, files)) else OLD)

    def begin(self, work: Work) -> str:
        (self.folder / "upgrades" / work.operation).touch(exist_ok=False)
        return f"at {work.member}"

    def poll(self, work: Work) -> OperationProgress:
        time.sleep(ROUND_TRIP)
        file = self.folder / "upgrades" / work.operation
        if not file.exists():
            return OperationProgress(state=NOT_BEGUN)
        return OperationProgress(state=SUCCEEDED if _over(file) else IN_PROGRESS, reference=f"at {work.member}")


def _over(file: Path) -> bool:
    return time.time() - file.stat().st_mtime >= SECONDS


def main(folder: Path) -> None:
    """Conducts the run to its end."""
    records = SqliteRecords(folder / "records.db", _now)
    session = Session(records=records, holder=holder_name(os.environ), clock=_now)
    run = define_run(records, "run", update_manifests((), (RUN,), True), write=True).run
    if run.status.phase == NEW:
        run = start_run(session, run, {}, write=True).run
    members = tuple(row.name for stage in run_of(run).stages for group in stage.groups for row in group.members)
    drivers = dict.fromkeys(members, FolderDriver(folder))
    sight = MemberMonitor(
        records=records,
        drivers=drivers,
        judge=ControlPlaneJudge(TARGET),
        holder=f"run/run/{run.metadata.uid}",
        members=members,
    )
    told = RunProgress(
        run=run,
        say=_nothing,
        emit=_nothing,
        journal=lambda kind, reason, message: records.event("UpdateRun", "run", kind, reason, message, _now()),
        versions=sight.versions,
    )
    works = Executor(drivers, versions, Pace(interval=0.5))
    limits = RunLimits(holder=session.holder)
    conduct_run(session, "run", sight, works, told, limits, lambda: intent_reference(folder / "operations"))


def bench_resume_1000() -> list[Row]:
    """Killed when half of the members were begun."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "upgrades").mkdir()
        _fleet(folder)
        first = _conductor(folder)
        _wait_for(lambda: len(_begun(folder)) >= SIZE // 2, 300)
        first.kill()
        killed = time.time()
        first.wait()
        before = _begun(folder)
        second = _conductor(folder)
        _wait_for(lambda: len(_begun(folder)) > len(before), 60)
        fresh = _begun(folder) - before
        taken = min((folder / "upgrades" / each).stat().st_mtime for each in fresh) - killed
        assert second.wait(300) == 0
        members = [each.split(".")[1] for each in _begun(folder)]
        assert len(members) == len(set(members)) == SIZE, f"{len(members)} upgrades of {len(set(members))} members"
    setup = f"SIGKILL to the next upgrade of a new process, {SIZE:,} members, half done, {SLOTS} at once"
    return [("resume_1000", taken, "s", setup)]


def _fleet(folder: Path) -> None:
    records = SqliteRecords(folder / "records.db", _now)
    for number in range(SIZE):
        metadata = {"name": f"member-{number:04d}"}
        records.create({"apiVersion": API, "kind": "FleetMember", "metadata": metadata, "spec": {"group": "all"}})
    records.close()


def _conductor(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, str(folder)])


def _begun(folder: Path) -> set[str]:
    return set(os.listdir(folder / "upgrades"))


def _wait_for(what: t.Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"not within {seconds:g} s"
        time.sleep(0.01)


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _nothing(_text: object) -> None:
    return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
