# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A pool of a run as a rotation of its nodes, where its member is none any more, or was none yet."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    NodeProgress,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.machine import Blocker, HeldBack
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.node_rotation import NodeRotation
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import NODE_POOL, UpgradeStep
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.command import CommandDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients, Member
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import rotating, rotation_ground
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_record import (
    record_begun,
    rotation_document,
    rotation_state,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_words import RotationTelling
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.recorded import recorded
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.pool_rotation import (
    LEFT,
    PoolEnd,
    PoolRotations,
    PoolTask,
    pool_line_teller,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import maintenance
from ansible_collections.gitops.fleet.tests.data.update_parts import update_run
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.nodes.conducted_rotation import Fleet

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)


def a_task(folder: Path, member: str, say: t.Callable[[str], None]) -> PoolTask:
    clients = Clients({})
    return PoolTask(
        driver=CommandDriver(clients=clients, operations=folder, environ={}, cwd=folder, begin_argv=("true",)),
        work=Work(operation=f"r-0.{member}.1", run="r", member=member, upgrade_type="Full", target="1.34.2"),
        step=UpgradeStep(what=NODE_POOL, pool="work", version="1.34.2"),
        image="",
        say=say,
        pause=lambda _seconds: None,
        clock=lambda: 0.0,
    )


def test_a_pool_tells_of_its_nodes_without_the_names_of_run_and_rotation(tmp_path: Path) -> None:
    """Told by the member they fit 80 columns."""
    said: list[str] = []
    name = "to-1-36-58af6094.prod-eu-1.1.work.2d9c467f"
    task = a_task(tmp_path, "prod-eu-1", lambda text: said.append(f"  prod-eu-1 {text}"))
    why = Blocker("budget", f"NodeRotation {name} on prod-eu-1: full")
    held = (HeldBack("prod-eu-1/prod-eu-1-work-2-3311e", (why,)),)
    telling = RotationTelling(name, pool_line_teller(task, name), lambda *_each: None, lambda: held)
    old = NodeProgress(name="prod-eu-1/prod-eu-1-work-1-8b742", phase="Draining", attempts=1)
    telling.stored(RotationState(nodes=(old,)), NOW)
    gone = replace(old, phase="Rotated", code="rotated", text="had 1", replacement="prod-eu-1/prod-eu-1-work-1-c2217")
    telling.stored(RotationState(nodes=(gone,)), NOW)
    telling.waiting(RotationState(), None, NOW)
    assert said == [
        "  prod-eu-1 pool work: prod-eu-1-work-1-8b742 draining",
        "  prod-eu-1 pool work: prod-eu-1-work-1-8b742 replaced by prod-eu-1-work-1-c2217",
        "  prod-eu-1 pool work: prod-eu-1-work-2-3311e waits:",
        "  prod-eu-1 pool work:   full",
    ]
    assert max(map(len, said)) <= 80


@pytest.fixture
def rotations(tmp_path: Path) -> t.Iterator[PoolRotations]:
    """Those of a run whose only member cannot be reached."""
    records = SqliteRecords(tmp_path / "records.db", lambda: datetime.now(UTC))
    session = Session(records=records, holder="tests", clock=lambda: datetime.now(UTC))
    run = read(update_run()).object
    assert isinstance(run, UpdateRun)
    cluster = MemberCluster(metadata=ObjectMeta(name="east"))
    east = Member(cluster=cluster, fleet=decode(FleetMember, {"metadata": {"name": "east"}}))
    yield PoolRotations(
        session=session, run=run, clients=Clients({}), members={"east": east}, holder="run/r", max_idle=timedelta(0)
    )
    records.close()


def test_a_member_that_was_none_when_the_run_was_taken_up(rotations: PoolRotations, tmp_path: Path) -> None:
    task = a_task(tmp_path, "late", lambda _text: None)
    with pytest.raises(FleetError) as refused:
        rotations.upgrade(task)
    assert (refused.value.code, refused.value.where) == ("not-a-member", "late")


def test_a_node_that_is_given_up_and_not_yet_let_go_keeps_the_rotation(
    rotations: PoolRotations, tmp_path: Path
) -> None:
    """Whoever follows the attempt next uncordons it first; what cannot be reached now is tried again later."""
    task = a_task(tmp_path, "east", lambda _text: None)
    rotation = rotations._ground(task.work, task.step, "").rotation
    cordoned = NodeProgress(name="east/a", uid="u", phase="GivenUp", attempts=1, release="it was not drained in time")
    records = rotations.session.records
    record_begun(records, rotation, RotationState(nodes=(cordoned,)), "UpdateRun r", None)
    end = rotations.upgrade(task)
    assert end.paused and not end.failure
    kept = rotation_state(recorded(NodeRotation, rotation_document(records, rotation.name)))
    assert kept.in_hand and kept.done


def test_what_an_earlier_attempt_has_left_is_carried_first(rotations: PoolRotations, tmp_path: Path) -> None:
    """Killed between the replacement of a node and its record: nobody would hear of it again, and the node would count
    as in hand for ever. Rotations of other runs and of other members are theirs."""
    task = a_task(tmp_path, "east", lambda _text: None)
    records = rotations.session.records
    for operation in ("r-0.east.1", "r-1.east.1", "r-0.west.1"):
        work = replace(task.work, operation=operation, member=operation.split(".")[1])
        rotation = rotations._ground(work, task.step, "").rotation
        nodes = (NodeProgress(name=f"{work.member}/a", uid="u", phase="Rotated", attempts=1),)
        record_begun(records, rotation, RotationState(nodes=nodes, known=("east/a",)), "UpdateRun r", None)
    again = replace(task, work=replace(task.work, operation="r-0.east.2"), step=LEFT)
    assert rotations.finish(again) == PoolEnd()
    left = [each["metadata"]["name"] for each in records.list("NodeRotation")]
    assert sorted(name.rpartition(".work.")[0] for name in left) == ["r-0.west.1", "r-1.east.1"]


def test_what_was_left_is_looked_for_once_and_not_before_each_pool_of_an_attempt(
    rotations: PoolRotations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[PoolTask] = []
    finish = PoolRotations.finish
    monkeypatch.setattr(
        PoolRotations, "finish", lambda self, task, but="": looked.append(task) or finish(self, task, but)
    )

    def upgraded(pool: str, **node: t.Any) -> tuple[PoolEnd, int]:
        """The end of the pool, with its rotation as somebody has recorded it, and how often it was looked by then."""
        task = a_task(tmp_path, "east", lambda _text: None)
        task = replace(task, step=replace(task.step, pool=pool))
        rotation = rotations._ground(task.work, task.step, "").rotation
        nodes = (NodeProgress(name=f"east/{pool}", uid="u", attempts=1, **node),)
        record_begun(rotations.session.records, rotation, RotationState(nodes=nodes), "UpdateRun r", None)
        return rotations.upgrade(task), len(looked)

    assert upgraded("one", phase="Rotated") == (PoolEnd(), 1)
    assert upgraded("two", phase="Rotated") == (PoolEnd(), 1)
    waits, _looks = upgraded("three", phase="GivenUp", release="it was not drained in time")
    assert waits.paused and len(looked) == 1
    held, looks = upgraded("four", phase="Rotated")
    assert held.paused and looks == 2, "the one that waits is found before another pool begins"


def test_what_was_left_and_has_to_wait_holds_the_pool_back(rotations: PoolRotations, tmp_path: Path) -> None:
    task = a_task(tmp_path, "east", lambda _text: None)
    rotation = rotations._ground(task.work, task.step, "").rotation
    cordoned = NodeProgress(name="east/a", uid="u", phase="GivenUp", attempts=1, release="it was not drained in time")
    record_begun(rotations.session.records, rotation, RotationState(nodes=(cordoned,)), "UpdateRun r", None)
    again = replace(task, work=replace(task.work, operation="r-0.east.2"))
    assert rotations.upgrade(again).paused


class Pool:
    """A pool under way: node ``a`` drains, and ``b`` waits. After three seconds ``happens``, and after twenty the node
    that was begun last has gone."""

    def __init__(
        self, rotations: PoolRotations, folder: Path, patch: pytest.MonkeyPatch, happens: t.Callable[[], t.Any]
    ) -> None:
        self.fleet = Fleet(east="ab")
        self.rotations = replace(rotations, session=replace(rotations.session, clock=self.fleet.clock))
        self.task = a_task(folder, "east", lambda _text: None)
        patch.setattr(rotation_ground, "read_members", lambda names, _clients, _wish, now: self.fleet.look(now, names))
        patch.setattr(rotating, "NodeWorkers", lambda *_given: self.fleet)
        begun = self.fleet.time
        wait = self.fleet.wait

        def waited(seconds: float) -> None:
            wait(seconds)
            gone = (self.fleet.time - begun).total_seconds()
            if gone == 3:
                happens()
            if gone % 20 == 0 and self.fleet.nodes["east"]:
                self.fleet.nodes["east"].pop(0)

        patch.setattr(self.fleet, "wait", waited)
        rotation = rotations._ground(self.task.work, self.task.step, "").rotation
        spec = replace(rotation.spec, pace=replace(rotation.spec.pace, replacement="none", node_timeout=600))
        nodes = (
            NodeProgress(name="east/a", uid="u-a", pool="east/-", phase="Draining", attempts=1, since=begun),
            NodeProgress(name="east/b", uid="u-b", pool="east/-", since=begun),
        )
        state = RotationState(settings=spec.pace, nodes=nodes, known=("east/a", "east/b"))
        record_begun(rotations.session.records, replace(rotation, spec=spec), state, "UpdateRun r", None)

    def upgraded(self) -> PoolEnd:
        return self.rotations.upgrade(self.task)


def test_a_pool_under_way_keeps_to_a_freeze_that_is_laid_meanwhile(
    rotations: PoolRotations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node that drains goes, and the next one waits."""
    frozen = maintenance(freezes=[{"name": "emergency", "start": "2026-03-01", "end": "2026-04-30"}])
    pool = Pool(rotations, tmp_path, monkeypatch, lambda: rotations.session.records.create(frozen))
    end = pool.upgraded()
    assert "freeze emergency" in end.paused and len(pool.fleet.begun) == 1
    assert pool.fleet.begun == ["east/a.1.drain"] and pool.fleet.nodes["east"] == ["b"]


def test_a_pool_under_way_is_brought_to_its_end_where_its_member_leaves_meanwhile(
    rotations: PoolRotations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of its nodes are, so that none stays cordoned."""
    records = rotations.session.records
    member = {"apiVersion": "gitops.fleet/v1alpha1", "kind": "FleetMember", "metadata": {"name": "east"}}
    records.create({**member, "spec": {"connection": {"kubeconfig": "x"}}})
    pool = Pool(rotations, tmp_path, monkeypatch, lambda: records.delete("FleetMember", "east"))
    assert pool.upgraded() == PoolEnd()
    assert pool.fleet.begun == ["east/a.1.drain", "east/b.1.drain"]


def test_a_pool_waits_where_it_is_not_known_what_holds_it_back(rotations: PoolRotations, tmp_path: Path) -> None:
    """A record that somebody has damaged may be a freeze, and fails no member."""
    records = rotations.session.records
    made = records.create(maintenance())
    records.replace({**made, "spec": {"freezes": "all"}})
    end = rotations.upgrade(a_task(tmp_path, "east", lambda _text: None))
    assert "FleetMaintenance/standard" in end.paused and not end.failure


def test_a_pool_waits_while_somebody_else_carries_its_rotation_on(rotations: PoolRotations, tmp_path: Path) -> None:
    """As a person may by hand while nobody conducts the run: nothing is wrong with the pool."""
    task = a_task(tmp_path, "east", lambda _text: None)
    rotation = rotations._ground(task.work, task.step, "").rotation
    draining = NodeProgress(name="east/a", uid="u", phase="Draining", attempts=1)
    records = rotations.session.records
    record_begun(records, rotation, RotationState(nodes=(draining,)), "UpdateRun r", None)
    records.acquire(f"rotation/{rotation.name}", "anna@host", 60)
    end = rotations.upgrade(task)
    assert "anna@host" in end.paused and end.until and not end.failure
