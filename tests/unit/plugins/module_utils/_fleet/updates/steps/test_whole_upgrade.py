# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whole upgrades step by step, over a member that is a few words in memory: nothing twice, nothing left out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import FULL, NODE_IMAGE_ONLY
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases import versions
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.node_images import Cluster, Pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.releases import (
    Image,
    LocationReleases,
    Release,
    Releases,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import (
    UpgradeTarget,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.kube_version import KubeVersion
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.update_states import (
    COMPLETED,
    FAILED,
    OPERATION_LOST,
    SKIPPED,
    UNREACHABLE,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.operation import (
    Attempt,
    Blocked,
    Ended,
    Last,
    Pace,
    Paused,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import (
    NOT_BEGUN,
    SUCCEEDED,
    UNKNOWN,
    Observation,
    OperationProgress,
    Work,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.host import machine
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.pool_rotation import (
    NOT_A_MEMBER,
    PoolEnd,
    PoolTask,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.whole_upgrade import WholeParts

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)
OLD, NEW = "v1.35.4", "v1.36.3"
LOST_AFTER = 30
BLUE = Pool(name="blue", version=OLD, family="Linux", image="1.0")
GREEN = replace(BLUE, name="green")
WORK = Work(operation="run.m.1", run="run", member="m", upgrade_type=FULL, target="1.36.3", reference="here")
FROZEN = Blocked(operation="run.m.1", reason="WindowClosed", message="freeze sales", anew=True)


def offered(*images: str) -> Releases:
    place = LocationReleases(
        location="*",
        told_by="tests",
        versions=tuple(Release(text=each, version=KubeVersion.parse(each)) for each in ("1.35.4", "1.36.3")),
        images={"Linux": tuple(Image(family="Linux", version=each) for each in images)},
    )
    return Releases({("", "*"): place})


@dataclass
class Member:
    """A driver and a pool upgrader in one. ``refuses`` are pools that fail, ``waits`` those that have to wait;
    ``unread`` is how often no nodes can be read, and ``why``; ``silent`` how often the records do not tell what places
    offer, once ``silent_after`` steps are taken; after ``leaves_after`` steps it leaves the fleet."""

    cluster: Cluster = field(default_factory=lambda: Cluster(name="m", version=OLD, pools=(BLUE, GREEN)))
    known: Releases = field(default_factory=lambda: offered("1.0"))
    selection: str = "Latest"
    images: dict[str, str] = field(default_factory=dict)
    begun: bool = False
    foreign: bool = False
    away: int = 0
    refuses: set[str] = field(default_factory=set)
    waits: set[str] = field(default_factory=set)
    unread: int = 0
    why: str = "members-unread"
    silent: int = 0
    silent_after: int = 0
    does_nothing: bool = False
    automatic: bool = False
    left: PoolEnd = PoolEnd()
    asked_for_left: int = 0
    leaves_after: int = 99
    held: Blocked | None = None
    log: list[str] = field(default_factory=list)
    seconds: float = 0

    def observe(self, _member: str) -> Observation:
        if self.away:
            self.away -= 1
            raise FleetError("unreachable", "no answer", "m")
        return Observation(version=self.cluster.version)

    def begin(self, work: Work) -> str:
        self.begun = True
        self.log.append(f"control plane {work.target}")
        self.cluster = replace(self.cluster, version=f"v{work.target}")
        return "process"

    def poll(self, _work: Work) -> OperationProgress:
        if self.foreign:
            return OperationProgress(state=UNKNOWN)
        return OperationProgress(state=SUCCEEDED if self.begun else NOT_BEGUN)

    def seen(self, _name: str, seen: Observation) -> Cluster:
        if len(self.log) >= self.leaves_after:
            raise FleetError(NOT_A_MEMBER, "it has left the fleet", "m")
        return replace(self.cluster, version=seen.version)

    def pool(self, task: PoolTask) -> PoolEnd:
        step, image = task.step, task.image
        if self.unread:
            self.unread -= 1
            raise FleetError(self.why, "etcd is away", "m")
        self.log.append(" ".join(filter(None, (step.pool, step.version, image))))
        if step.pool in self.refuses:
            return PoolEnd(failure="a node was blocked")
        if step.pool in self.waits:
            return PoolEnd(paused="its budget allows none", until=NOW)
        pools = [
            replace(each, version=f"v{step.version.removeprefix('v')}" if step.version else each.version,
                    image=step.image or each.image)
            if each.name == step.pool and not self.does_nothing else each
            for each in self.cluster.pools
        ]  # fmt: skip
        self.cluster = replace(self.cluster, pools=tuple(pools))
        return PoolEnd()

    def offers(self) -> Releases:
        if self.silent and len(self.log) >= self.silent_after:
            self.silent -= 1
            raise FleetError(self.why, "etcd is away", "hub")
        return self.known

    def ends(self, _task: PoolTask) -> PoolEnd:
        self.asked_for_left += 1
        if self.unread:
            self.unread -= 1
            raise FleetError(self.why, "etcd is away", "m")
        return self.left

    def upgrade(
        self, kind: str = FULL, resumed: bool = False, only_follow: bool = False, reference: str = WORK.reference
    ) -> Last:
        target = UpgradeTarget(
            type=kind,
            version="1.36.3" if kind == FULL else "",
            selection=self.selection,
            images=self.images,
            automatic=self.automatic,
        )
        parts = WholeParts(
            target=target,
            cluster=self.seen,
            known=self.offers,
            pool=self.pool,
            left=self.ends,
            now=lambda: NOW,
            here=lambda: "here",
        )
        work = replace(WORK, upgrade_type=kind, target=target.version, reference=reference)
        attempt = Attempt(
            driver=self,
            work=work,
            goal=versions,
            pace=Pace(lost_after=LOST_AFTER),
            tell=lambda _event: None,
            clock=self._clock,
            pause=self._pause,
            held_back=lambda: self.held,
        )
        return parts.follow(attempt).run(resumed, only_follow)

    def _clock(self) -> float:
        return self.seconds

    def _pause(self, seconds: float) -> None:
        self.seconds += seconds


def ended(last: Last) -> Ended:
    assert isinstance(last, Ended), last
    return last


def test_the_control_plane_first_then_one_pool_after_another() -> None:
    """D3-22, D3-25."""
    member = Member(known=offered("1.0", "2.0"))
    last = ended(member.upgrade())
    assert member.log == ["control plane 1.36.3", "blue 1.36.3 Linux-2.0", "green 1.36.3 Linux-2.0"]
    assert (last.result, last.version_before, last.version_after) == (COMPLETED, OLD, NEW)


def test_nodes_that_cannot_be_read_just_now_are_read_again_but_not_for_ever() -> None:
    """F5: its API server answered a moment ago. Others of the driver's errors end the attempt at once."""
    member = Member(unread=3)
    assert ended(member.upgrade()).result == COMPLETED
    assert member.log == ["control plane 1.36.3", "blue 1.36.3", "green 1.36.3"]
    forever = Member(unread=1000)
    with pytest.raises(FleetError, match="etcd is away"):
        forever.upgrade()
    assert forever.seconds >= 30 and forever.unread > 900


@pytest.mark.parametrize("why", ["unreachable", "server-error", "records-busy"])
def test_records_that_do_not_answer_for_a_moment_fail_no_pool(why: str) -> None:
    member = Member(unread=3, why=why)
    assert ended(member.upgrade()).result == COMPLETED
    forever = Member(unread=1000, why=why)
    with pytest.raises(FleetError, match="etcd is away"):
        forever.upgrade()
    with pytest.raises(FleetError, match="etcd is away"):
        Member(unread=1, why="record-damaged").upgrade()


@pytest.mark.parametrize("why", ["unreachable", "server-error", "record-damaged"])
def test_an_upgrade_between_two_steps_does_not_fail_for_records_that_do_not_answer(why: str) -> None:
    """What places offer is asked anew before each step: a hub that is started anew at that moment ends no upgrade."""
    member = Member(silent=3, silent_after=1, why=why)
    assert ended(member.upgrade()).result == COMPLETED
    assert member.log == ["control plane 1.36.3", "blue 1.36.3", "green 1.36.3"] and not member.silent
    last = Member(silent=1, why=why).upgrade()
    assert isinstance(last, Blocked) and (last.reason, "etcd is away" in last.message) == (UNREACHABLE, True)
    assert ended(Member(silent=1000, silent_after=1, why=why).upgrade()).reason == OPERATION_LOST


def test_images_alone_leave_versions_alone() -> None:
    """D3-24."""
    member = Member(known=offered("1.0", "2.0"))
    last = ended(member.upgrade(NODE_IMAGE_ONLY))
    assert member.log == ["blue Linux-2.0", "green Linux-2.0"] and last.result == COMPLETED
    assert last.parts_after == ("Linux-2.0",)
    assert member.cluster.version == OLD and {each.version for each in member.cluster.pools} == {OLD}


def test_custom_names_what_moves_and_the_rest_is_told() -> None:
    member = Member(known=offered("1.0", "1.5", "2.0"), selection="Custom", images={"Linux": "1.5"})
    member.cluster = replace(member.cluster, pools=(BLUE, replace(GREEN, family="Windows", image="9")))
    last = ended(member.upgrade(NODE_IMAGE_ONLY))
    assert member.log == ["blue Linux-1.5"] and "green: no image of its family is named" in last.message


def test_what_was_left_in_hand_is_ended_before_the_attempt_is() -> None:
    """Killed between the replacement of the last node and its record: pools look done, and the rotation is not."""
    member = Member()
    assert ended(member.upgrade()).result == COMPLETED
    assert ended(member.upgrade(resumed=True)).result == COMPLETED and member.asked_for_left == 2
    member.left = PoolEnd(paused="a node drains", until=NOW)
    last = member.upgrade(resumed=True)
    assert isinstance(last, Paused) and (last.until, last.message) == (NOW, "nodes in hand wait: a node drains")
    member.upgrade(resumed=True, only_follow=True)
    assert member.asked_for_left == 3, "who only follows begins nothing"


def test_what_was_left_is_looked_for_again_as_long_as_it_cannot_be_read() -> None:
    member = Member()
    assert ended(member.upgrade()).result == COMPLETED
    member.unread = 5
    assert ended(member.upgrade(resumed=True)).result == COMPLETED and member.asked_for_left == 7


def test_the_next_attempt_goes_on_with_the_step_that_failed() -> None:
    member = Member(refuses={"green"})
    last = ended(member.upgrade())
    assert (last.result, last.message) == (FAILED, "pool green: a node was blocked")
    assert last.parts_after == ("Linux-1.0",), "what there was at the end"
    member.refuses.clear()
    member.begun = False
    member.log.clear()
    assert ended(member.upgrade()).result == COMPLETED
    assert member.log == ["green 1.36.3"]


def test_who_takes_it_up_repeats_nothing() -> None:
    """F5: killed in the midst of the second pool; somebody else has upgraded the first one meanwhile."""
    member = Member(begun=True)
    done = replace(BLUE, version=NEW)
    member.cluster = Cluster(name="m", version=NEW, pools=(done, GREEN))
    assert ended(member.upgrade(resumed=True)).result == COMPLETED
    assert member.log == ["green 1.36.3"]


def test_an_intent_that_was_not_carried_out_is_begun_in_order() -> None:
    """A pool whose kubelets are too old for the target comes up before the control plane, also when it is resumed."""
    member = Member()
    member.cluster = replace(member.cluster, pools=(replace(BLUE, version="v1.32.9"),))
    assert ended(member.upgrade(resumed=True)).result == COMPLETED
    assert member.log == [f"blue {OLD}", "control plane 1.36.3", "blue 1.36.3"]


def test_everything_is_there_already() -> None:
    member = Member(cluster=Cluster(name="m", version=NEW, pools=(replace(BLUE, version=NEW),)))
    last = ended(member.upgrade())
    assert (last.result, last.reason, member.log) == (SKIPPED, "AlreadyAtTarget", [])


def test_a_pool_that_waits_is_left_until_later() -> None:
    member = Member(waits={"blue"})
    last = member.upgrade()
    assert isinstance(last, Paused) and last.until == NOW and "pool blue waits: its budget allows none" in last.message
    member.waits.clear()
    assert ended(member.upgrade(resumed=True)).result == COMPLETED
    assert member.log == ["control plane 1.36.3", "blue 1.36.3", "blue 1.36.3", "green 1.36.3"]


def test_a_pool_that_does_not_get_there_has_failed() -> None:
    last = ended(Member(does_nothing=True).upgrade())
    assert last.result == FAILED and "pool blue was upgraded, and is not at its target" in last.message


def test_an_image_that_is_not_to_be_had_is_waited_for() -> None:
    """D3-50."""
    member = Member(selection="Consistent", images={"Linux": "3.0"})
    last = member.upgrade(NODE_IMAGE_ONLY, resumed=True)
    assert isinstance(last, Paused) and last.message.startswith("ImageNotAvailable: Linux-3.0") and not member.log


@pytest.mark.parametrize(("away", "resumed"), [(1, False), (3, True), (99, True)])
def test_a_member_that_does_not_answer(away: int, resumed: bool) -> None:
    """Blocked while nothing was begun; looked at again, not for ever, once something was."""
    member = Member(away=away, cluster=Cluster(name="m", version=NEW, pools=(BLUE,)))
    last = member.upgrade(NODE_IMAGE_ONLY, resumed)
    if not resumed:
        assert isinstance(last, Blocked) and last.reason == UNREACHABLE
    else:
        assert ended(last).result == (COMPLETED if away < 9 else FAILED)


def test_what_is_no_version_is_told_and_is_no_fault_of_ours() -> None:
    last = ended(Member(cluster=Cluster(name="m", version="garbage", pools=(BLUE,))).upgrade())
    assert (last.result, last.reason) == (FAILED, "PreconditionFailed") and "garbage" in last.message


def test_of_a_member_that_leaves_the_fleet_no_other_step_begins() -> None:
    """U15: what was under way is brought to its end, and nobody waits for the member to come back."""
    member = Member(leaves_after=2)
    ended = member.upgrade()
    assert isinstance(ended, Ended) and ended.result == "Failed" and "it has left the fleet" in ended.message
    assert len(member.log) == 2 and member.seconds < LOST_AFTER


def test_an_intent_of_somebody_else_begins_nothing() -> None:
    member = Member(foreign=True, cluster=Cluster(name="m", version=NEW, pools=(BLUE,)))
    last = ended(member.upgrade(resumed=True, only_follow=True))
    assert (last.result, last.reason, member.log) == (FAILED, OPERATION_LOST, [])


@pytest.mark.parametrize("resumed", [False, True])
def test_an_attempt_of_which_nothing_has_begun_is_held_back(resumed: bool) -> None:
    """U12: a freeze came between its turn and its beginning."""
    member = Member(held=FROZEN)
    assert member.upgrade(resumed=resumed, reference=f"{machine()}/1@/operations") == FROZEN and member.log == []


def test_an_attempt_that_has_begun_goes_on_whatever_holds_others_back() -> None:
    member = Member()
    begins = member.begin

    def freezes(work: Work) -> str:
        member.held = FROZEN
        return begins(work)

    member.begin = freezes  # type: ignore[method-assign]
    assert ended(member.upgrade()).result == COMPLETED
    assert member.log == ["control plane 1.36.3", "blue 1.36.3", "green 1.36.3"]


@pytest.mark.parametrize(("reference", "asked"), [("process:here/1:7:x", None), ("process:here/1", FROZEN)])
def test_a_pool_of_an_attempt_that_was_taken_up(reference: str, asked: Blocked | None) -> None:
    """It goes on where the record says that the control plane was begun. Where it says only that it was meant, nobody
    knows, and what its platform has not begun of a pool waits."""
    member, told = Member(begun=True, held=FROZEN), []
    member.cluster = replace(member.cluster, version=NEW)

    def pool(task: PoolTask) -> PoolEnd:
        told.append(task.held_back())
        return PoolEnd(paused="frozen", blocked=told[-1]) if told[-1] else Member.pool(member, task)

    member.pool = pool  # type: ignore[method-assign]
    last = member.upgrade(resumed=True, reference=reference)
    assert told[0] == asked and (last == FROZEN if asked else ended(last).result == COMPLETED)


class Moving(Member):
    """One whose pools come back with nodes of another family."""

    def pool(self, task: PoolTask) -> PoolEnd:
        end = super().pool(task)
        there = self.cluster.pools
        pools = tuple(replace(each, family="Linux2") if each.name == task.step.pool else each for each in there)
        self.cluster = replace(self.cluster, pools=pools)
        return end


def test_a_pool_that_comes_back_with_another_family_does_not_end_the_others_as_done() -> None:
    """There is no image of that family among those of the run; the others still have their old version."""
    member = Moving(selection="Consistent", images={"Linux": "2.0"}, known=offered("1.0", "2.0"))
    last = ended(member.upgrade())
    assert member.cluster.pools[1].version == OLD
    assert (last.result, last.reason) == (FAILED, "ImageMissingForPool")


class RolledBack(Member):
    """One whose control plane is rebuilt two minors behind, once its first pool is done."""

    def pool(self, task: PoolTask) -> PoolEnd:
        end = super().pool(task)
        self.cluster = replace(self.cluster, version="v1.34.9")
        return end


def test_an_attempt_of_a_profile_whose_control_plane_falls_two_minors_behind_has_failed() -> None:
    """A member that is found so before anything is begun is left out."""
    last = ended(RolledBack(automatic=True).upgrade())
    assert (last.result, last.reason, last.version_after) == (FAILED, "MinorGap", "v1.34.9")
    assert last.message.startswith("1.36.3 is 2 minors ahead of v1.34.9")
    behind = Member(automatic=True, cluster=Cluster(name="m", version="v1.34.9", pools=(BLUE,)))
    assert (ended(behind.upgrade()).result, behind.log) == (SKIPPED, [])
