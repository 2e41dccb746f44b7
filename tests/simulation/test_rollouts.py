# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random rollouts by the real conductor over made-up members: killed at any write, answers lost, versions that never
become available. At no instant more clusters lack the placement than its budget permits, and each course comes to its
end. How many: ROLLOUTS in the environment, 300 without it."""

from __future__ import annotations

import json
import os
import random
import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState, WantedPlacement
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import UNCHANGED, UPDATE, MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import (
    APPLY_FAILED,
    MemberOutcome,
    ObjectFailure,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.availability import AVAILABLE, NOT_YET
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.rolling.budget import limits
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor import loop
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import Conductor, Ending, RunLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.binding_journal import BindingJournal
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.rollout import RolloutSteering
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.rollout_words import RolloutTelling
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import Died
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made

COURSES = int(os.environ.get("ROLLOUTS", "300"))
NEVER = timedelta(days=365)
WEB = made.rendered(made.EXTRA)
Document = dict[str, t.Any]


@dataclass
class Member:
    """What a made-up cluster holds, and from when on that is available."""

    holds: str = ""
    ready_at: datetime = made.NOW


@dataclass
class World:
    """``lives`` are how many more writes the present process makes; -1 for as many as it likes."""

    draw: random.Random
    members: dict[str, Member]
    now: datetime = made.NOW
    lives: int = -1
    most_unavailable: int | None = None
    late: dict[tuple[str, str], timedelta] = field(default_factory=dict)

    def write(self) -> None:
        """A write of this process, to the records or a member, may be the last thing that it does."""
        if self.lives == 0:
            raise Died
        self.lives -= 1

    def available(self, name: str) -> bool:
        member = self.members[name]
        return bool(member.holds) and self.now >= member.ready_at

    def put(self, name: str, version: str) -> None:
        if self.members[name].holds != version:
            wait = self.late.get((name, version), timedelta(seconds=self.draw.choice([0, 1, 5, 40])))
            self.members[name] = Member(version, self.now + wait)
        self.check()

    def check(self) -> None:
        """The budget, as anybody could measure it on the members."""
        lacking = [name for name in self.members if not self.available(name)]
        assert self.most_unavailable is None or len(lacking) <= self.most_unavailable, lacking


@dataclass
class Shelf:
    """Bindings as records keep them."""

    world: World
    documents: dict[str, Document] = field(default_factory=dict)

    def create(self, record: Document, _lease: object) -> Document:
        assert record["metadata"]["name"] not in self.documents
        return self._kept(record, 1)

    def replace(self, record: Document, _lease: object) -> Document:
        old = self.documents[record["metadata"]["name"]]
        return self._kept(record, old["metadata"]["generation"] + (old["spec"] != record["spec"]))

    def delete(self, _kind: str, name: str, **_more: object) -> None:
        self.world.write()
        self.documents.pop(name, None)

    def _kept(self, record: Document, generation: int) -> Document:
        self.world.write()
        fresh = json.loads(json.dumps(record))
        fresh["metadata"]["generation"] = generation
        self.documents[fresh["metadata"]["name"]] = fresh
        return json.loads(json.dumps(fresh))


class Course:
    """One placement over the same clusters, version after version."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        names = [f"c{number}" for number in range(draw.randint(1, 7))]
        self.world = World(draw, {name: Member() for name in names})
        self.shelf = Shelf(self.world)
        self.rolling = {
            "maxUnavailable": draw.choice([1, 1, 2, "25%", "50%"]),
            "maxSurge": draw.choice([0, 1, "25%"]),
            "unavailablePeriodSeconds": draw.choice([0, 30]),
        }
        self.index, self.hash = -1, ""
        self.said: list[str] = []
        self.unreachable = 0

    def plan(self, version: str) -> PlacementPlan:
        strategy = {"type": "RollingUpdate", "rollingUpdate": self.rolling}
        wanting = decode(
            ClusterResourcePlacement, {"metadata": {"name": "web", "generation": 1}, "spec": {"strategy": strategy}}
        )
        bindings = [decode(ClusterResourceBinding, each) for _name, each in sorted(self.shelf.documents.items())]
        snapshots = [f"web-{number}-snapshot" for number in range(self.index + 1)]
        known = RecordedState(
            bindings=tuple(bindings),
            resource_snapshot=snapshots[-1] if snapshots else "",
            resource_index=self.index,
            resource_hash=self.hash,
            contents=dict.fromkeys(snapshots, (WEB.id,)),
        )
        wish = WantedPlacement(placement=wanting, objects=(made.rendered(made.EXTRA, version),))
        plan = made.plan(wish, made.facts(*self.world.members), known)
        if plan.resource_snapshot_new:
            self.index, self.hash = self.index + 1, plan.resource_hash
        return plan

    def conducted(self, version: str) -> Ending[t.Any]:
        """One process, from its plan to its end. Died if it was killed."""
        plan = self.plan(version)

        def reach(clusters: t.Container[str], write: bool) -> dict[str, MemberOutcome]:
            self.records(write)
            return {name: self.answer(name, version, write) for name in self.world.members if name in clusters}

        known = {each["spec"]["targetCluster"] for each in self.shelf.documents.values()}
        looked = {name: self.answer(name, version, False) for name in known}
        steering = RolloutSteering(plan, reach, looked, self.said.append, str, self.world.now)
        lease = t.cast(t.Any, SimpleNamespace(epoch=1))
        journal = BindingJournal(t.cast(t.Any, self.shelf), lease, lambda: None, plan, dict(self.shelf.documents))
        journal.note(lambda state: steering.taken_up(state, self.world.now))
        telling = RolloutTelling("web", "", lambda _line: None, steering.lines)
        limit = RunLimits(holder="me", max_idle=timedelta(minutes=3))
        conductor = Conductor(journal, steering, lambda: self.world.now, telling, limit)
        for _turn in range(2_000):
            ending = conductor.step()
            if ending is not None:
                return ending
            if steering.idle:
                self.world.now += timedelta(seconds=1)
            else:
                conductor.wait(0)
        raise AssertionError("the rollout neither ends nor waits")

    def records(self, write: bool) -> None:
        """As whoever begins a wave reads them."""
        if write and self.unreachable:
            self.unreachable -= 1
            self.world.now += timedelta(seconds=10)
            raise FleetError("unreachable", "connection refused", "hub")

    def answer(self, name: str, version: str, write: bool) -> MemberOutcome:
        world, held = self.world, self.world.members[name].holds
        fault = world.draw.random() if write else 1.0
        if fault < 0.05:
            return MemberOutcome(cluster=name, error=Problem("unreachable", "cut off", name))
        failed: tuple[ObjectFailure, ...] = ()
        if write and fault < 0.1:
            failed = (ObjectFailure(id=WEB.id, reason=APPLY_FAILED, message="refused"),)
        elif write and held != version:
            world.write()
            world.put(name, version)
            world.write()
            if fault < 0.15:
                return MemberOutcome(cluster=name, error=Problem("timeout", "its answer was lost", name))
        step = MemberStep(id=WEB.id, action=UNCHANGED if held == version else UPDATE)
        judged = {WEB.id: AVAILABLE if world.available(name) else NOT_YET} if world.members[name].holds else {}
        return MemberOutcome(cluster=name, done=write, steps=(step,), failures=failed, availability=judged, lacks={})

    def until_settled(self, version: str, broken: bool) -> None:
        for attempt in range(40):
            mortal = attempt < 12 and self.world.draw.random() < 0.6
            self.world.lives = self.world.draw.randint(0, 12) if mortal else -1
            try:
                ending = self.conducted(version)
            except Died:
                ending = None
            self.world.now += timedelta(seconds=self.world.draw.choice([0, 2, 300]))
            self.world.check()
            if ending is None:
                continue
            assert ending.why == "settled" or ending.state.report.waits, "it waits, and names nobody"
            # What failed on a member is told as such, and the next run tries it again.
            if broken or all(each.holds == version for each in self.world.members.values()):
                return
        raise AssertionError(f"{version} does not come to its end")


@pytest.mark.parametrize("seed", range(0, COURSES, 10))
def test_no_budget_is_exceeded_and_every_course_ends(seed: int) -> None:
    for each in range(seed, seed + 10):
        run_course(each)


def run_course(seed: int) -> None:
    course = Course(seed)
    world = course.world
    course.until_settled("1", broken=False)
    world.now += timedelta(hours=1)
    assert all(map(world.available, world.members))
    target = len(world.members)
    world.most_unavailable = limits(course.plan("1").placement, target, upstream=False).max_unavailable
    for number in range(2, 2 + world.draw.randint(1, 3)):
        broken = world.draw.random() < 0.4
        if broken:
            world.late |= {(name, str(number)): NEVER for name in world.members if world.draw.random() < 0.7}
        course.until_settled(str(number), broken)
    course.until_settled("last", broken=False)
    world.now += timedelta(hours=1)
    assert all(each.holds == "last" for each in world.members.values())
    assert all(map(world.available, world.members))


def test_a_cluster_that_always_refuses_ends_the_wait() -> None:
    """It is tried again meanwhile, and that nothing comes of it is no work."""
    course = Course(0)
    course.world.members = {name: Member() for name in ("c0", "c1", "c2")}
    course.rolling = {"maxUnavailable": 1}
    honest = course.answer

    def answer(name: str, version: str, write: bool) -> MemberOutcome:
        found = replace(honest(name, version, False), done=write)
        if not write or found.steps[0].action == UNCHANGED:
            return found
        if (name, version) == ("c0", "2"):
            refused = ObjectFailure(id=WEB.id, reason=APPLY_FAILED, message="refused")
            return replace(found, failures=(refused,))
        course.world.put(name, version)
        return replace(honest(name, version, False), done=True)

    course.answer = answer  # type: ignore[method-assign]
    course.conducted("1")
    course.world.now += timedelta(hours=1)
    begun = course.world.now
    assert course.conducted("2").why == "waiting"
    assert course.world.now - begun < timedelta(minutes=5)
    assert [each.holds for each in course.world.members.values()] == ["1", "1", "1"]


def test_records_out_of_reach_as_a_wave_begins_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was to be written is written once they answer, and told once."""
    monkeypatch.setattr(loop, "POLL", 0.0)
    course = Course(0)
    course.world.members = {name: Member() for name in ("c0", "c1", "c2")}
    course.rolling = {"maxUnavailable": 1}
    course.conducted("1")
    course.world.now += timedelta(hours=1)
    course.said.clear()
    course.unreachable = 3
    assert course.conducted("2").why == "settled"
    assert [each.holds for each in course.world.members.values()] == ["2", "2", "2"]
    waves = [each for each in course.said if "wave" in each]
    assert waves == [f"web: wave {number}: c{number - 1}" for number in (1, 2, 3)]


def test_records_out_of_reach_for_longer_than_a_lease_lasts_end_the_rollout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "POLL", 0.0)
    course = Course(0)
    course.unreachable = 100
    begun = course.world.now
    with pytest.raises(FleetError) as ended:
        course.conducted("1")
    assert ended.value.code == "unreachable"
    assert timedelta(seconds=loop.LEASE_SECONDS) <= course.world.now - begun < timedelta(seconds=2 * loop.LEASE_SECONDS)


def test_the_answers_of_a_wave_are_one_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each goes over all bindings: one for each answer would take a minute for ten thousand clusters."""
    counts: list[tuple[int, int]] = []
    real = RolloutSteering.drain_events

    def drain_events(steering: RolloutSteering, state: t.Any, now: datetime) -> t.Iterator[t.Any]:
        answers, changes = len(steering._news), list(real(steering, state, now))
        counts.append((answers, len(changes)))
        yield from changes

    monkeypatch.setattr(RolloutSteering, "drain_events", drain_events)
    course = Course(0)
    course.world.members = {f"c{number}": Member() for number in range(9)}
    course.rolling = {"maxUnavailable": "100%"}
    course.conducted("1")
    assert max(answers for answers, _changes in counts) == 9 and max(changes for _answers, changes in counts) == 1
