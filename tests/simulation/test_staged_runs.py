# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Random staged runs by the real conductor over made-up members: killed at any write, answers lost, versions that never
become available. At no instant more of a stage's clusters are in flight than may be, no stage begins before the former
is done, and each run ends or names whom it waits for. How many: STAGED in the environment, 40 without it."""

from __future__ import annotations

import os
import typing as t
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.binding import (
    ClusterResourceBinding,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.approval import ClusterApprovalRequest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.compose import RecordedState, WantedPlacement
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import LOST, PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.staged import staged_plan
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.content import RolloutBinding
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.decide import StagedState
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.layout import most_in_flight
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.standing import state_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.world import (
    ObservedState,
    RequestApproval,
    accepted,
    approval_request,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor import loop
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import Conductor, Ending, RunLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.binding_journal import BindingJournal
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.binding_news import says_wanted
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.run_record import (
    HeldJournal,
    StagedBook,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.steering import StagedSteering
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.words import StagedTelling
from ansible_collections.gitops.fleet.tests.simulation import test_rollouts as rollouts
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import Died
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.plan import made
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.rollout import staged_made

COURSES = int(os.environ.get("STAGED", "40"))
Document = dict[str, t.Any]


class Shelf(rollouts.Shelf):
    """Bindings and the run, as records keep them. ``refuses`` are how many writes of answers are not taken."""

    refuses: int = 0

    def _kept(self, record: Document, generation: int) -> Document:
        told = (record.get("status") or {}).get("conditions") or () if record["kind"].endswith("Binding") else ()
        if self.refuses and any(each["type"] == "Applied" for each in told):
            self.refuses -= 1
            raise FleetError("unreachable", "connection refused", "hub")
        return super()._kept(record, generation)

    def get(self, _kind: str, name: str) -> Document | None:
        return self.documents.get(name)


class Course(rollouts.Course):
    """One External placement over the same clusters, one run after another, each with other content."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        draw = self.world.draw
        self.shelf: Shelf = Shelf(self.world)
        self.rings = {name: draw.choice("abc") for name in self.world.members}
        self.stages = [
            staged_made.stage(ring, {"ring": ring}, maxConcurrency=draw.choice([1, 2, "50%", "100%"]), **self.tasks())
            for ring in "abc"
        ]
        self.approvals: dict[str, ClusterApprovalRequest] = {}
        self.leaving: frozenset[str] = frozenset()
        self.given: list[tuple[str, str]] = []
        self.fixed: dict[str, ObservedState] = {}
        for name in self.world.members:
            self.bind(name, "Scheduled")

    def tasks(self) -> Document:
        draw, tasks = self.world.draw, Document()
        if draw.random() < 0.3:
            tasks["beforeStageTasks"] = [staged_made.APPROVAL]
        after = [each for each in (staged_made.APPROVAL, staged_made.WAIT) if draw.random() < 0.3]
        return {**tasks, **({"afterStageTasks": after} if after else {})}

    def bind(self, name: str, state: str) -> None:
        """As an apply leaves it."""
        old = self.shelf.documents.get(f"web-{name}", {})
        decision = {"clusterName": name, "selected": True}
        spec = {"targetCluster": name, "schedulingPolicySnapshotName": "web-0", "clusterDecision": decision}
        spec = {**spec, **old.get("spec", {}), "state": state}
        metadata = old.get("metadata") or {"name": f"web-{name}", "generation": 1}
        api = "placement.kubernetes-fleet.io/v1beta1"
        self.shelf.documents[f"web-{name}"] = {
            **old, "apiVersion": api, "kind": "ClusterResourceBinding", "metadata": metadata, "spec": spec
        }  # fmt: skip

    @property
    def staying(self) -> list[str]:
        return [name for name in self.world.members if name not in self.leaving]

    def run_plan(self, version: str) -> PlacementPlan:
        bindings = [
            decode(ClusterResourceBinding, each)
            for name, each in sorted(self.shelf.documents.items())
            if name.startswith("web-")
        ]
        snapshots = [f"web-{number}-snapshot" for number in range(int(version) + 1)]
        known = RecordedState(
            bindings=tuple(bindings),
            policy_snapshot=staged_made.policy_snapshot(),
            contents=dict.fromkeys(snapshots, (rollouts.WEB.id,)),
        )
        wanted = WantedPlacement(placement=staged_made.external(), objects=(made.rendered(made.EXTRA, version),))
        index = made.facts(*self.world.members).index
        policy = staged_made.policy_snapshot()
        return staged_plan(wanted, known, policy, snapshots[-1], index, self.world.now, BrakeLimits())

    def seen(self, version: str, bindings: tuple[RolloutBinding, ...]) -> ObservedState:
        if version not in self.fixed:
            self.fixed[version] = ObservedState(
                placement=staged_made.external(),
                strategy=staged_made.strategy(*self.stages),
                policy_snapshots=(staged_made.policy_snapshot(),),
                resource_snapshots=(staged_made.resources(int(version), latest=True),),
                clusters=tuple(staged_made.cluster(name, ring=ring) for name, ring in self.rings.items()),
            )
        return replace(self.fixed[version], bindings=bindings, approvals=tuple(self.approvals.values()))

    def begin(self, version: str) -> None:
        """Records the run."""
        run = encode(staged_made.run(resourceSnapshotIndex=version, metadata={"name": f"run-{version}"}))
        run = {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterStagedUpdateRun", **run}
        self.shelf.documents[f"run-{version}"] = {**run, "metadata": {"name": f"run-{version}", "generation": 1}}

    def carried(self, version: str) -> tuple[Ending[StagedState], list[str]]:
        """One process, from its plan to its end, and what it says then. Died if it was killed."""
        plan = self.run_plan(version)

        def reach(clusters: t.Container[str], write: bool) -> dict[str, MemberOutcome]:
            self.records(write)
            rows = {each.cluster: each.change for each in plan.clusters}
            found = [name for name in rows if name in clusters]
            return {name: self.told(name, version, write, leaving=rows[name] == LOST) for name in found}

        lease, now = t.cast(t.Any, SimpleNamespace(epoch=1)), self.world.now
        bound = {name: each for name, each in self.shelf.documents.items() if name.startswith("web-")}
        shelf = t.cast(t.Any, self.shelf)
        bindings = BindingJournal(shelf, lease, lambda: None, plan, bound)
        holding = {each.cluster for each in bindings.state.bindings if says_wanted(plan, each)}
        looked = reach(holding, False)

        def see(_state: StagedState, held: tuple[RolloutBinding, ...], _now: t.Any) -> ObservedState:
            return self.seen(version, held)

        steering = StagedSteering(plan, bindings, see, self, reach, looked, str, now)
        journal = HeldJournal(shelf, StagedBook(f"run-{version}", 1), lease, lambda: None)
        steering.take_up(journal.state, now)
        telling = StagedTelling("run", lambda _line: None, steering.lines, lambda _reason, _text: None)
        limits = RunLimits(holder="me", max_idle=timedelta(seconds=50))
        conductor = Conductor(journal, steering, lambda: self.world.now, telling, limits)
        for _turn in range(2_000):
            ending = conductor.step()
            if ending is not None:
                return ending, steering.lines()
            if steering.idle:
                self.world.now += timedelta(seconds=3)
            else:
                conductor.wait(0)
        raise AssertionError("the run neither ends nor waits")

    def told(self, name: str, version: str, write: bool, *, leaving: bool) -> MemberOutcome:
        if leaving:
            self.world.write()
            self.world.members[name].holds = ""
            return MemberOutcome(cluster=name, done=True)
        before = self.world.members[name].holds
        try:
            return self.answer(name, version, write)
        finally:
            if self.world.members[name].holds != before:
                self.given.append((name, version))
                self.check(version)

    def check(self, version: str) -> None:
        """What anybody could measure on the members: nobody begins too early."""
        for number, stage in enumerate(staged_made.strategy(*self.stages).spec.stages):
            mine = [name for name in self.staying if self.rings[name] == stage.name]
            begun = [name for name in mine if self.world.members[name].holds == version]
            flying = [name for name in begun if not self.world.available(name)]
            assert len(flying) <= most_in_flight(stage, len(mine)), (stage.name, flying)
            if begun:
                earlier = {each["name"] for each in self.stages[:number]}
                former = [name for name in self.staying if self.rings[name] in earlier]
                assert all(self.world.members[name].holds == version for name in former), (stage.name, former)
                assert all(map(self.world.available, former)), (stage.name, former)

    def request(self, run: ClusterStagedUpdateRun, act: RequestApproval) -> None:
        self.world.write()
        self.approvals.setdefault(act.name, approval_request(run, act))

    def accept(self, name: str, now: t.Any) -> None:
        self.world.write()
        self.approvals[name] = accepted(self.approvals[name], now)

    def delete(self, name: str) -> None:
        self.approvals.pop(name, None)

    def approve(self) -> None:
        play = staged_made.Play(self.seen("0", ()), staged_made.run())
        play.now = self.world.now
        for name in self.approvals:
            play.approve(name)
        self.approvals = {each.name: each for each in play.world.approvals}

    def until_over(self, version: str, broken: bool) -> str:
        """The state in which the run is left: one that waits for a broken version for ever is given up."""
        self.begin(version)
        for attempt in range(60):
            mortal = attempt < 20 and self.world.draw.random() < 0.6
            self.world.lives = self.world.draw.randint(0, 14) if mortal else -1
            try:
                ending, lines = self.carried(version)
            except Died:
                continue
            finally:
                self.world.lives = -1
                self.world.now += timedelta(seconds=self.world.draw.choice([1, 2, 300]))
            state = state_of(ending.state.run)
            if state == "Succeeded":
                return state
            assert state != "Failed", ending.state.run.status.conditions
            assert lines, "it waits, and names nobody"
            if self.world.draw.random() < 0.7:
                self.approve()
            if broken and attempt > 30:
                return state
        raise AssertionError(f"{version} does not come to its end: {state}, {lines}")


@pytest.mark.parametrize("seed", range(0, COURSES, 10))
def test_no_stage_is_overtaken_and_every_run_ends_or_names_whom_it_waits_for(seed: int) -> None:
    for each in range(seed, seed + 10):
        run_course(each)


def run_course(seed: int) -> None:
    course = Course(seed)
    world = course.world
    for number in range(world.draw.randint(2, 4)):
        version = str(number)
        broken = number > 0 and world.draw.random() < 0.3
        if broken:
            never = {(name, version): rollouts.NEVER for name in course.staying if world.draw.random() < 0.5}
            world.late |= never
        if number > 0 and len(course.staying) > 1 and world.draw.random() < 0.4:
            gone = world.draw.choice(course.staying)
            course.leaving |= {gone}
            course.bind(gone, "Unscheduled")
        state = course.until_over(version, broken)
        world.now += timedelta(hours=1)
        if state == "Succeeded":
            assert all(world.members[name].holds == version for name in course.staying)
            assert all(not world.members[name].holds for name in course.leaving)
            assert sorted(name for name, given in course.given if given == version) == sorted(course.staying)
        else:
            assert broken


def test_killed_at_every_write_the_end_is_the_same() -> None:
    """F5: one course again and again, killed once at each of its writes; no cluster is given anything twice."""
    writes = -1
    for lives in range(200):
        course = Course(3)
        course.rings = {name: "abc"[number % 3] for number, name in enumerate(course.rings)}
        course.stages = [{**each, "beforeStageTasks": [], "afterStageTasks": []} for each in course.stages]
        course.answer = _honest(course)
        course.begin("0")
        course.world.lives = lives
        try:
            course.carried("0")
        except Died:
            pass
        else:
            writes = lives
        course.world.lives = -1
        for _attempt in range(40):
            course.world.now += timedelta(minutes=11)
            ending, _lines = course.carried("0")
            if state_of(ending.state.run) == "Succeeded":
                break
            course.approve()
        assert state_of(ending.state.run) == "Succeeded"
        assert sorted(course.given) == sorted((name, "0") for name in course.world.members)
        if writes >= 0:
            break
    assert writes > 10


@pytest.mark.parametrize("what", ["nothing", "as a wave begins", "as answers are stored"])
def test_records_out_of_reach_for_a_moment_end_nothing_and_lose_no_answer(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """What the members said is in the records in the end, as if nothing had been."""
    monkeypatch.setattr(loop, "POLL", 0.0)
    course = Course(3)
    course.rings = dict.fromkeys(course.rings, "a")
    course.stages = [staged_made.stage("a", {"ring": "a"}, maxConcurrency="100%")]
    course.answer = _honest(course)
    course.begin("0")
    course.unreachable = 2 if what == "as a wave begins" else 0
    course.shelf.refuses = 1 if what == "as answers are stored" else 0
    ending, _lines = course.carried("0")
    assert state_of(ending.state.run) == "Succeeded" and ending.changed
    assert sorted(course.given) == sorted((name, "0") for name in course.world.members)
    for name in course.world.members:
        told = course.shelf.documents[f"web-{name}"]["status"]["conditions"]
        assert {each["type"]: each["status"] for each in told}.get("Available") == "True", (name, told)


def test_all_that_happens_in_a_turn_goes_over_the_bindings_once_or_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for what was answered and once for what begins, however many clusters that is."""
    passes: list[object] = []
    real = BindingJournal.note

    def note(journal: BindingJournal, change: t.Any) -> None:
        passes.append(change)
        real(journal, change)

    monkeypatch.setattr(BindingJournal, "note", note)
    course = Course(3)
    for name in [f"more-{number}" for number in range(30)]:
        course.world.members[name] = rollouts.Member()
        course.bind(name, "Scheduled")
    course.rings = dict.fromkeys(course.world.members, "a")
    course.stages = [staged_made.stage("a", {"ring": "a"}, maxConcurrency="100%")]
    course.answer = _honest(course)
    course.begin("0")
    ending, _lines = course.carried("0")
    assert state_of(ending.state.run) == "Succeeded" and len(passes) < 6


def _honest(course: Course) -> t.Callable[[str, str, bool], MemberOutcome]:
    """Answers that never fail."""
    real = course.answer

    def answer(name: str, version: str, write: bool) -> MemberOutcome:
        course.world.draw = SimpleNamespace(random=lambda: 1.0, choice=lambda rows: rows[0])  # type: ignore[assignment]
        return real(name, version, write)

    return answer
