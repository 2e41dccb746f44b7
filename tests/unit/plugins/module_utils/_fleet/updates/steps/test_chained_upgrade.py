# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members that go to their target minor by minor (U20), over a driver that keeps its operations as ``detached`` does:
by name, on one machine, and none of them twice. A conductor is killed wherever it pauses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import (
    CONTROL_PLANE_ONLY,
    FULL,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases import versions
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.node_images import Cluster, Pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.releases import (
    LocationReleases,
    Release,
    Releases,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import UpgradeTarget
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.kube_version import KubeVersion
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    COMPLETED,
    FAILED,
    OPERATION_LOST,
    UPGRADE_FAILED,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.operation import (
    Attempt,
    Begun,
    Closed,
    Ended,
    Event,
    Last,
    Pace,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import FAILED as HAS_FAILED
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    IN_PROGRESS,
    NOT_BEGUN,
    SUCCEEDED,
    UNKNOWN,
    Observation,
    OperationProgress,
    Work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.pool_rotation import PoolEnd, PoolTask
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.whole_upgrade import (
    WholeParts,
    hops_in_flight,
    operation_to,
)

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)
HERE = "process:here/1@operations"
FIRST, TARGET = "v1.33.2", "1.36.3"
POLLS = 3
WORK = Work(operation="run.m.1", run="run", member="m", upgrade_type=CONTROL_PLANE_ONLY, target=TARGET, reference=HERE)
HOPS = ["run.m.1.v1-34 1.34.9", "run.m.1.v1-35 1.35.4", "run.m.1 1.36.3"]
KNOWN = Releases({
    ("", "*"): LocationReleases(
        location="*",
        told_by="tests",
        versions=tuple(Release(text=each, version=KubeVersion.parse(each)) for each in ("1.34.9", "1.35.4", TARGET)),
    )
})  # fmt: skip


@dataclass
class Process:
    """Of an operation: it is ready when it was polled so often, and its API server is new a poll before."""

    target: str
    number: int
    left: int = POLLS

    @property
    def reference(self) -> str:
        return f"process:here:{self.number}"


@dataclass
class Machine:
    """``log`` is what was begun, ``told`` what the attempt recorded; ``fails`` are operations that end badly; ``dies``
    is after how many pauses the conductor is killed; ``away`` how many looks get no answer; ``platform``: operations
    get a name of their own there, which is recorded."""

    version: str = FIRST
    pools: tuple[Pool, ...] = ()
    fails: set[str] = field(default_factory=set)
    dies: int = -1
    away: int = 0
    processes: dict[str, Process] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    told: list[Event] = field(default_factory=list)
    seconds: float = 0

    def observe(self, _member: str) -> Observation:
        if self.away:
            self.away -= 1
            raise FleetError("unreachable", "no answer", "m")
        return Observation(version=self.version)

    def begin(self, work: Work) -> str:
        assert not any(each.left for name, each in self.processes.items() if name != work.operation), "two at once"
        if work.operation not in self.processes:
            self.log.append(f"{work.operation} {work.target}")
            self.processes[work.operation] = Process(work.target, len(self.log))
        return self.processes[work.operation].reference

    def poll(self, work: Work) -> OperationProgress:
        found = self.processes.get(work.operation)
        if found is None:
            return OperationProgress(state=NOT_BEGUN if work.reference == HERE else UNKNOWN)
        if work.reference not in ("", HERE, found.reference):
            return OperationProgress(state=UNKNOWN, message="begun by another process")
        self.goes_on(found)
        if found.left:
            return OperationProgress(state=IN_PROGRESS)
        return OperationProgress(state=HAS_FAILED if work.operation in self.fails else SUCCEEDED)

    def goes_on(self, process: Process) -> None:
        process.left = max(0, process.left - 1)
        if process.left <= 1:
            self.version = f"v{process.target}"

    def ends_all(self) -> None:
        """While nobody conducts."""
        for each in self.processes.values():
            while each.left:
                self.goes_on(each)

    def pool(self, task: PoolTask) -> PoolEnd:
        self.log.append(f"{task.step.pool} {task.step.version}")
        self.pools = tuple(
            replace(each, version=f"v{task.step.version.removeprefix('v')}") if each.name == task.step.pool else each
            for each in self.pools
        )
        return PoolEnd()

    def upgrade(
        self, resumed: bool = False, only_follow: bool = False, kind: str = CONTROL_PLANE_ONLY, **work: str
    ) -> Last:
        parts = WholeParts(
            target=UpgradeTarget(type=kind, version=TARGET, chain=True),
            cluster=lambda name, seen: Cluster(name=name, version=seen.version, pools=self.pools),
            known=lambda: KNOWN,
            pool=self.pool,
            now=lambda: NOW,
            here=lambda: HERE,
        )
        attempt = Attempt(
            driver=self,
            work=replace(WORK, upgrade_type=kind, **work),  # type: ignore[arg-type]
            goal=versions,
            pace=Pace(lost_after=30, settle=30),
            tell=self.told.append,
            clock=lambda: self.seconds,
            pause=self._pause,
        )
        return parts.follow(attempt).run(resumed, only_follow)

    def _pause(self, seconds: float) -> None:
        if self.dies == 0:
            raise Closed
        self.dies -= 1
        self.seconds += seconds

    @property
    def references(self) -> list[str]:
        """What may be recorded: what was told may not have come so far."""
        return [HERE, *(each.reference for each in self.told if isinstance(each, Begun))]


def ended(last: Last) -> Ended:
    assert isinstance(last, Ended), last
    return last


def test_u20_each_minor_is_an_operation_and_the_attempt_is_told_of_as_one() -> None:
    machine = Machine()
    last = ended(machine.upgrade())
    assert machine.log == HOPS
    assert (last.operation, last.result, last.version_before, last.version_after) == (
        "run.m.1", COMPLETED, FIRST, f"v{TARGET}",
    )  # fmt: skip
    assert {each.operation for each in machine.told} == {"run.m.1"}
    assert {each.version_before for each in machine.told if isinstance(each, Begun)} == {FIRST}


def test_u20_pools_that_would_be_too_old_come_up_on_the_way_and_the_others_at_the_end() -> None:
    machine = Machine(pools=(Pool(name="new", version="v1.33.2"), Pool(name="old", version="v1.31.0")))
    assert ended(machine.upgrade(kind=FULL)).result == COMPLETED
    assert machine.log == [HOPS[0], "old v1.34.9", HOPS[1], HOPS[2], "new 1.36.3", "old 1.36.3"]


@pytest.mark.parametrize("meanwhile", [False, True], ids=["still under way", "ended meanwhile"])
@pytest.mark.parametrize("forgotten", [0, 1], ids=["recorded", "last reference not recorded"])
def test_u20_f5_killed_at_any_pause_nothing_is_begun_twice(meanwhile: bool, forgotten: int) -> None:
    """By whichever reference is recorded: that of the minor before, if the conductor died before it wrote the next."""
    for instant in range(100):
        machine = Machine(dies=instant)
        try:
            machine.upgrade()
        except Closed:
            pass
        else:
            break
        machine.dies = -1
        known = machine.references
        if meanwhile:
            machine.ends_all()
        last = ended(machine.upgrade(resumed=True, reference=known[max(0, len(known) - 1 - forgotten)]))
        assert (last.result, last.version_after) == (COMPLETED, f"v{TARGET}"), (instant, known, last)
        assert machine.log == HOPS, instant
        before = {each.version_before for each in machine.told if isinstance(each, Begun)} | {last.version_before}
        assert before <= {FIRST, ""}, "what it was at before the first minor stands in the record"
        assert machine.seconds < 60, "nothing was waited for that could not be seen"
    assert instant > 3 * POLLS


def test_u20_a_minor_that_fails_leaves_the_member_there_and_the_next_attempt_goes_on_from_it() -> None:
    machine = Machine(fails={"run.m.1.v1-35"})
    last = ended(machine.upgrade())
    assert (last.result, last.reason, last.version_before) == (FAILED, UPGRADE_FAILED, FIRST)
    machine.version = "v1.34.9"
    assert ended(machine.upgrade(operation="run.m.2")).result == COMPLETED
    assert machine.log == [*HOPS[:2], "run.m.2.v1-35 1.35.4", "run.m.2 1.36.3"]


def test_u20_a_minor_whose_driver_has_failed_is_a_failure_even_if_the_version_is_there() -> None:
    machine = Machine(fails={"run.m.1.v1-34"}, dies=4)
    with pytest.raises(Closed):
        machine.upgrade()
    machine.dies = -1
    machine.ends_all()
    last = ended(machine.upgrade(resumed=True, reference=machine.references[-1]))
    assert (last.result, last.reason, last.version_after) == (FAILED, UPGRADE_FAILED, "v1.34.9")
    assert machine.log == HOPS[:1]


@pytest.mark.parametrize("away", [5, 1000])
def test_u20_a_member_that_does_not_answer_is_waited_for_when_it_is_taken_up(away: int) -> None:
    """Which minor it was at is not known before it answers."""
    machine = Machine(dies=5)
    with pytest.raises(Closed):
        machine.upgrade()
    machine.dies, machine.away = -1, away
    last = ended(machine.upgrade(resumed=True, reference=machine.references[-1]))
    if away < 10:
        assert (last.result, machine.log) == (COMPLETED, HOPS)
    else:
        assert (last.result, last.reason, machine.log) == (FAILED, OPERATION_LOST, HOPS[:1])


def test_u20_who_comes_from_elsewhere_watches_and_begins_nothing() -> None:
    """The next minor may be under way where the attempt was begun."""
    machine = Machine(version="v1.34.9")
    last = ended(machine.upgrade(resumed=True, reference="process:elsewhere:7"))
    assert (last.result, last.reason, last.version_after) == (FAILED, OPERATION_LOST, "v1.34.9")
    assert machine.log == []


def test_u20_an_intent_of_somebody_else_begins_nothing() -> None:
    machine = Machine()
    last = ended(machine.upgrade(resumed=True, only_follow=True))
    assert (last.result, last.reason, machine.log) == (FAILED, OPERATION_LOST, [])


def test_u20_what_is_no_version_is_told_when_it_is_taken_up() -> None:
    machine = Machine(version="garbage")
    last = ended(machine.upgrade(resumed=True))
    assert last.result == FAILED and "garbage" in last.message and machine.log == []


def test_u20_operations_have_names_that_are_told_apart_and_the_last_one_that_of_the_attempt() -> None:
    assert operation_to(WORK, "1.36.3") == WORK and operation_to(WORK, "v1.37.0") == WORK
    assert operation_to(WORK, "v1.35.4") == replace(WORK, operation="run.m.1.v1-35", target="v1.35.4")
    last, coming = hops_in_flight(WORK, "v1.34.9")
    assert last and (last.operation, last.target) == ("run.m.1.v1-34", "1.34")
    assert (coming.operation, coming.target) == ("run.m.1.v1-35", "1.35")
    assert hops_in_flight(WORK, "v1.36.0") == (None, WORK)
