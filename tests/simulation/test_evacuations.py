# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random evacuations by the real conductor over made-up members: killed at any write, answers lost, members that do not
answer, new homes that never become available. At no instant is a cluster emptied before its new home has what it holds,
and each course comes to its end. How many: a third of ROLLOUTS in the environment, 100 without it."""

from __future__ import annotations

import random
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.evacuation import with_mark
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    INSTEAD_OF,
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState, WantedPlacement
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import LOST, PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import PRUNE, MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import Ending
from ansible_collections.gitops.fleet.tests.simulation.test_rollouts import (
    COURSES,
    NEVER,
    WEB,
    Course,
    Document,
    Member,
)
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import Died
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made


class Evacuation(Course):
    """One placement that some of its clusters are evacuated of; ``silent`` ones answer nobody."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        draw = self.world.draw
        names = [f"c{number}" for number in range(draw.randint(2, 9))]
        self.world.members = {name: Member() for name in names}
        number = draw.randint(1, len(names))
        self.policy: Document = draw.choice(
            [
                *[{"placementType": "PickN", "numberOfClusters": number}] * 3,
                {"placementType": "PickAll"},
                {"placementType": "PickFixed", "clusterNames": names[:number]},
            ]
        )
        self.rolling["maxSurge"] = draw.choice([1, 2, "25%", "100%"])
        self.rolling["maxUnavailable"] = draw.choice([1, 2, "25%", "100%"])
        self.evacuated: set[str] = set()
        self.silent: set[str] = set()
        self.losing: set[str] = set()
        self.empty_first, self.fulfilled = False, True

    def plan(self, version: str) -> PlacementPlan:
        strategy = {"type": "RollingUpdate", "rollingUpdate": self.rolling}
        spec = {"policy": self.policy, "strategy": strategy}
        wanting = decode(ClusterResourcePlacement, {"metadata": {"name": "web", "generation": 1}, "spec": spec})
        bindings = [decode(ClusterResourceBinding, each) for _name, each in sorted(self.shelf.documents.items())]
        snapshots = [f"web-{number}-snapshot" for number in range(self.index + 1)]
        known = RecordedState(
            bindings=tuple(bindings),
            resource_snapshot=snapshots[-1] if snapshots else "",
            resource_index=self.index,
            resource_hash=self.hash,
            contents=dict.fromkeys(snapshots, (WEB.id,)),
        )
        objects = (made.rendered(made.EXTRA, version),)
        wish = WantedPlacement(placement=wanting, objects=objects, empty_first=self.empty_first)
        plan = made.plan(wish, made.facts(*map(self.cluster, self.world.members)), known)
        if plan.resource_snapshot_new:
            self.index, self.hash = self.index + 1, plan.resource_hash
        self.losing = {each.cluster for each in plan.clusters if each.change == LOST}
        self.fulfilled = plan.fulfilled and bool(plan.picked)
        return plan

    def cluster(self, name: str) -> MemberCluster:
        heard = {"heard": made.SILENT} if name in self.silent else {}
        return with_mark(made.cluster(name, **heard), name in self.evacuated)

    def answer(self, name: str, version: str, write: bool) -> MemberOutcome:
        if name in self.silent:
            return MemberOutcome(cluster=name, error=Problem("unreachable", "no answer", name))
        if name not in self.losing:
            return super().answer(name, version, write)
        world, held = self.world, bool(self.world.members[name].holds)
        fault = world.draw.random() if write else 1.0
        if fault < 0.05:
            return MemberOutcome(cluster=name, error=Problem("unreachable", "cut off", name))
        if write and held:
            world.write()
            self.check_home(name)
            world.members[name] = Member()
            world.write()
            if fault < 0.15:
                return MemberOutcome(cluster=name, error=Problem("timeout", "its answer was lost", name))
        steps = (MemberStep(id=WEB.id, action=PRUNE),) if held else ()
        return MemberOutcome(cluster=name, done=write, steps=steps, availability={}, lacks={})

    def home_of(self, name: str) -> str:
        marks = {
            each["metadata"].get("annotations", {}).get(INSTEAD_OF): each["spec"]["targetCluster"]
            for each in self.shelf.documents.values()
        }
        return marks.get(name, "")

    def check_home(self, name: str) -> None:
        """What anybody could see on the members in the instant in which one is emptied."""
        if self.empty_first:
            return
        home, others = self.home_of(name), self.world.members.keys() - {name}
        assert not home or self.world.available(home), f"{name} is emptied before {home} has it"
        assert not self.picked or any(map(self.world.available, others)), f"with {name} it is nowhere"

    def in_turn(self, version: str, attempts: int = 12) -> Ending[t.Any]:
        """Processes one after the other, of which the later ones live; the ending of the last."""
        ending = None
        for attempt in range(attempts):
            mortal = attempt < attempts / 2 and self.world.draw.random() < 0.6
            self.world.lives = self.world.draw.randint(0, 12) if mortal else -1
            try:
                ending = self.conducted(version)
            except Died:
                continue
            finally:
                self.world.now += made_later(self.world.draw)
            assert ending.why == "settled" or ending.state.report.waits, "it waits, and names nobody"
            if ending.why == "settled" and not mortal and not any(each.wants for each in ending.state.report.waits):
                break
        assert ending is not None
        return ending

    @property
    def picked(self) -> set[str]:
        return {each["spec"]["targetCluster"] for each in self.shelf.documents.values()} - self.losing

    @property
    def holders(self) -> set[str]:
        return {name for name, each in self.world.members.items() if each.holds}


def made_later(draw: random.Random) -> t.Any:
    return (made.NOW.replace(second=draw.choice([0, 2])) - made.NOW) * draw.choice([1, 20])


# In 1545 nobody knows who of those that are evacuated has what they hold.
@pytest.mark.parametrize("seed", (*range(0, COURSES // 3, 10), 1540))
def test_no_cluster_is_emptied_too_early_and_every_course_ends(seed: int) -> None:
    for each in range(seed, seed + 10):
        run_course(each)


def run_course(seed: int) -> None:
    course = Evacuation(seed)
    world = course.world
    course.in_turn("1")
    world.now += NEVER / 365
    held = course.holders
    names = sorted(world.members)
    course.evacuated = set(world.draw.sample(names, world.draw.randint(1, len(names))))
    course.silent = {name for name in course.evacuated if world.draw.random() < 0.2}
    version = world.draw.choice(["1", "1", "2"])
    broken = world.draw.random() < 0.3
    if broken:
        world.late |= {(name, version): NEVER for name in names if name not in held and world.draw.random() < 0.7}
    ending = course.in_turn(version, 16)
    silent, meant = course.silent & held, course.evacuated & held - course.silent
    assert silent <= course.holders, "nobody who does not answer is asked"
    waits = {each.cluster: each.reason for each in ending.state.report.waits if each.wants == "remove"}
    for name in meant & course.holders:
        told = waits[name]
        nowhere = broken or not course.fulfilled
        assert told == "no-new-home" or (nowhere and told in ("new-home", "max-unavailable")), (name, told)
    course.empty_first = True
    last = course.in_turn(version)
    rest = {each.cluster: each.reason for each in last.state.report.waits if each.wants == "remove"}
    assert {rest[name] for name in meant & course.holders} <= {"max-unavailable"}


def test_a_cluster_that_somebody_emptied_who_died_is_not_taken_for_one_that_has_it() -> None:
    course = Evacuation(0)
    course.world.members = {name: Member() for name in ("c0", "c1", "c2")}
    course.policy = {"placementType": "PickAll"}
    course.rolling = {"maxUnavailable": "100%"}
    course.in_turn("1")
    course.world.now += NEVER / 365
    course.in_turn("1")
    assert course.holders == {"c0", "c1", "c2"}
    course.world.members["c2"] = Member()
    course.evacuated = {"c1", "c2"}
    course.world.late["c0", "2"] = NEVER
    course.conducted("2")
    assert "c1" in course.holders


def test_a_new_home_that_never_comes_is_waited_for_and_named() -> None:
    course = Evacuation(0)
    course.world.members = {name: Member() for name in ("c0", "c1", "c2")}
    course.policy = {"placementType": "PickN", "numberOfClusters": 2}
    course.rolling = {}
    course.in_turn("1")
    course.world.now += NEVER / 365
    (new,) = course.world.members.keys() - course.holders
    (old, *_others) = sorted(course.holders)
    course.world.late[new, "1"] = NEVER
    course.evacuated = {old}
    begun = course.world.now
    ending = course.conducted("1")
    assert ending.why == "waiting" and old in course.holders and course.home_of(old) == new
    assert course.world.now - begun < NEVER / 365 / 24, "a run has its end"
    assert {each.cluster: each.blockers for each in ending.state.report.waits if each.wants} == {old: (new,)}
    course.empty_first = True
    course.conducted("1")
    assert old not in course.holders
