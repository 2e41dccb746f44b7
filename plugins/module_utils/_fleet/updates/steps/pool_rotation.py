# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One node pool of one member upgraded by a rotation of the nodes that are behind, within budgets and windows;
rotations that attempts left carried to their ends; which nodes are behind, names of steps; ``members-unread``.

The rotation is recorded as long as it goes on, under a name that follows from the attempt: whoever takes the attempt up
again finds it there, and no node is replaced twice.
"""

from __future__ import annotations

import hashlib
import re
import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property

from ...._core.cluster.facts.node import POOL_LABELS, image_of, pool_label_key
from ...._core.cluster.state_node import Node
from ...._core.disruption.members.member_nodes import MemberNodes
from ...._core.disruption.members.rotation_sight import RotationGround
from ...._core.disruption.rotation.decide import begin
from ...._core.disruption.rotation.state import ROTATED, RotationState
from ...._core.errors import FleetError
from ...._core.objects.clusters.node_rotation import DueNodes, NodeRotation, NodeRotationSpec, RotatedNodes
from ...._core.objects.updates.update_run import PoolUpgrade, UpdateRun
from ...._core.schema.meta import ObjectMeta
from ...._core.updates.releases.targets import UpgradeStep
from ...._core.updates.releases.versions import reached
from ...._core.values.listed import listed
from ...._core.values.node_image import image_order, split_image
from ...._store.records import Record
from ...conductor.loop import LEASE_SECONDS, RunLimits
from ...conductor.operation import Blocked, Clock, Closed, Pause
from ...drivers.contract import Driver, Work
from ...members.members import Clients, Member
from ...nodes.replacing import driver_problems
from ...nodes.rotating import RotationWish, conduct_recorded_rotation
from ...nodes.rotation_ground import RecordedFleet, RotationAround, unknown_ground
from ...nodes.rotation_record import has_begun, record_begun, rotation_state
from ...nodes.rotation_steering import members_not_wholly_read
from ...nodes.rotation_words import folding, waits_lines
from ...nodes.sources import KIND
from ...recorded import DAMAGED, recorded
from ...session import Session

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_NAMED = 5
_OF_OTHERS = ("lease-held", "lease-lost")
UNREAD = "members-unread"
NOT_A_MEMBER = "not-a-member"
# The step of a task that only ends what was left.
LEFT = UpgradeStep(what="")


@dataclass(frozen=True, kw_only=True)
class PoolEnd:
    """How the work on a pool ended. ``failure``: nodes or the command failed, in words; ``paused``, in words: it goes
    on later, at ``until`` if that is known, or nothing was begun and it is held back (``blocked``). Without both the
    pool is as it should be."""

    failure: str = ""
    paused: str = ""
    until: datetime | None = None
    blocked: Blocked | None = None


@dataclass(frozen=True, kw_only=True)
class PoolTask:
    """One pool to upgrade, as ``step`` of the attempt at ``work``. ``image`` is the full name of the one it gets, empty
    where images stay; the rest is as of ``conductor.operation.Attempt``."""

    driver: Driver
    work: Work
    step: UpgradeStep
    image: str
    say: t.Callable[[str], None]
    pause: Pause
    clock: Clock
    held_back: t.Callable[[], Blocked | None] = lambda: None


@dataclass(frozen=True, kw_only=True)
class PoolRotations:
    """Upgrades of node pools by rotation, for one run and from many threads. ``holder`` is the same for every conductor
    of the run. ``members`` are those of the fleet when the run was taken up; ``max_idle`` as of ``RunLimits``."""

    session: Session
    run: UpdateRun
    clients: Clients
    members: t.Mapping[str, Member]
    holder: str
    max_idle: timedelta
    wish: RotationWish = field(default_factory=RotationWish)
    # Operations that have left nothing: what was left before was carried to its end, and no rotation of theirs waits.
    _left_nothing: set[str] = field(default_factory=set, compare=False)

    def upgrade(self, task: PoolTask) -> PoolEnd:
        """Rotates the nodes of the step's pool that are behind, until all are replaced or given up, or it has to wait;
        ``finish`` comes before the first pool of an attempt, and after one that had to wait. The record of the rotation
        goes once it is over. FleetError ``members-unread``, ``not-a-member``, and as of ``driver_problems``, ``begin``
        of the rotation's decider and ``record_begun`` where it has not begun; as of ``conduct_recorded_rotation``,
        ``record-damaged``, others of the records. Closed when nobody follows any more."""
        ground, operation = self._ground(task.work, task.step, task.image), task.work.operation
        known = operation in self._left_nothing
        self._left_nothing.discard(operation)
        left = PoolEnd() if known else self.finish(task, but=ground.rotation.name)
        if left.paused:
            return left
        around = self._around(ground, task.work.member)
        if isinstance(around, PoolEnd):
            return around
        stored = self.session.records.get(KIND, ground.rotation.name)
        rotation = recorded(NodeRotation, stored) if stored is not None else ground.rotation
        if not has_begun(rotation):
            rotation = self._begun(around, task.work, task.step, stored)
        end = self._carry_on(task, replace(around, at_first=replace(around.at_first, rotation=rotation)))
        if not end.paused:
            self._left_nothing.add(operation)
        return end

    def finish(self, task: PoolTask, but: str = "") -> PoolEnd:
        """Carries to their ends the rotations, but that of the name ``but``, that attempts of the run on this member
        have recorded and left: a conductor that was killed may have left one whose pool seems to be done. ``paused``
        where one has to wait, and the others with it; nodes that were not replaced are no ``failure``. The step of the
        ``task`` does not count. FleetError as of ``conduct_recorded_rotation``, ``record-damaged``, and others of the
        records; Closed when nobody follows any more."""
        attempts = task.work.operation.rpartition(".")[0]
        for document in self.session.records.list(KIND):
            name = str(document["metadata"]["name"])
            if name == but or not name.startswith(f"{attempts}."):
                continue
            rotation = recorded(NodeRotation, document)
            if rotation.spec.members != (task.work.member,) or not has_begun(rotation):
                continue
            ground = replace(self._ground(task.work, task.step, task.image), rotation=rotation)
            around = self._around(ground, task.work.member)
            end = around if isinstance(around, PoolEnd) else self._carry_on(task, around)
            if end.paused:
                return end
        return PoolEnd()

    def _carry_on(self, task: PoolTask, around: RotationAround) -> PoolEnd:
        """Carries the rotation on until it is over, and deletes its record then, or until it has to wait, as while
        somebody else carries it on. FleetError as of ``conduct_recorded_rotation``, but for that, and of the records;
        Closed when nobody follows any more."""
        rotation = around.at_first.rotation
        state, paused = rotation_state(rotation), PoolEnd()
        if not state.over:
            session = replace(self.session, say=pool_line_teller(task, rotation.name))
            limits = RunLimits(holder=self.holder, max_idle=self.max_idle, interrupted=lambda: _closed(task.pause))
            try:
                ending, steering = conduct_recorded_rotation(session, around, self.wish, limits)
            except FleetError as error:
                if error.code not in _OF_OTHERS:
                    raise
                return PoolEnd(paused=error.message, until=session.clock() + timedelta(seconds=LEASE_SECONDS))
            task.pause(0)
            state = ending.state
            lines = (_brief(each, task.work.member, rotation.name) for each in waits_lines(steering.waits, short=True))
            words = "; ".join(lines)
            paused = PoolEnd(paused=words or ending.why, until=ending.resume_at)
        if not state.over:
            return paused
        if state.nodes:
            self.session.records.delete(KIND, rotation.name)
        return PoolEnd(failure=_left(state))

    def _ground(self, work: Work, step: UpgradeStep, image: str) -> RotationGround:
        """The rotation of the step, not recorded, without what the records say that holds it back."""
        wanted = self.run.spec.node_pools or PoolUpgrade()
        rotation = NodeRotation(
            metadata=ObjectMeta(name=pool_step_name(work.operation, step)),
            spec=NodeRotationSpec(
                members=(work.member,),
                due=DueNodes(version_other_than=step.version, image_other_than=image),
                budgets=wanted.budgets,
                pace=wanted.pace,
            ),
        )
        return RotationGround(rotation=rotation, windows=self.run.spec.managed_cluster_update.upgrade.type)

    @cached_property
    def _fleet(self) -> RecordedFleet:
        """What the records say, listed for all pools of the run together."""
        return RecordedFleet(self.session.records)

    def _around(self, ground: RotationGround, member: str) -> RotationAround | PoolEnd:
        """A rotation of nodes of the member, with what the records say by now; while they are damaged it has to wait.
        The member is one as long as the pool is under way, also if it leaves the fleet, so that no node stays cordoned.
        Other FleetErrors of the records are raised."""
        there = {member: self.members[member]} if member in self.members else {}
        stay = frozenset(there)
        around = RotationAround(ground, there, self.clients, self.wish.reading, self._fleet, stay=stay)
        try:
            return replace(around, at_first=around.ground(self.session.clock()))
        except FleetError as error:
            if error.code != DAMAGED:
                raise
            return PoolEnd(paused=unknown_ground(error))

    def _begun(self, around: RotationAround, work: Work, step: UpgradeStep, stored: Record | None) -> NodeRotation:
        """The rotation recorded over what is ``stored``, with the nodes that are behind now; as it is, not recorded, if
        none is. FleetError ``members-unread`` if the member's nodes cannot be read now, ``not-a-member`` if it joined
        since the run was taken up, the problems of ``driver_problems``, and as of ``read_members``, ``begin`` of the
        rotation's decider and ``record_begun``."""
        if work.member not in self.members:
            hint = "it joined while the run was conducted; conduct it again"
            raise FleetError(NOT_A_MEMBER, "the cluster was no member when the run was taken up", work.member, hint)
        ground, now = around.at_first, self.session.clock()
        snapshot = around.look(now, None)
        unknown = members_not_wholly_read(snapshot)
        if work.member in unknown:
            raise FleetError(UNREAD, unknown[work.member], work.member, "which nodes are due is not known")
        there = [each for each in snapshot.members if each.name not in unknown]
        mine = next(each for each in there if each.name == work.member)
        due = nodes_behind(mine, step)
        if not due:
            return ground.rotation
        names, spec = [f"{mine.name}/{node.name}" for node in due], ground.rotation.spec
        spec = replace(spec, nodes=RotatedNodes(by_label=_selector(step.pool, pool_label_key(due[0].labels))))
        rotation = replace(ground.rotation, spec=spec)
        problems = list(driver_problems(there, names, rotation, self.wish.replacement))
        if problems:
            raise FleetError.of(problems)
        state = begin(names, replace(ground, rotation=rotation).step_input(there, now), spec.pace, now)
        return record_begun(self.session.records, rotation, state, f"UpdateRun {self.run.name}", stored)


def nodes_behind(member: MemberNodes, step: UpgradeStep) -> list[Node]:
    """Nodes of the step's pool that have an older version or image than it brings, or one that cannot be told, in the
    member's order. The pool without a name has the nodes without a pool label."""
    mine = (each for each in member.nodes if each.labels.get(pool_label_key(each.labels), "") == step.pool)
    return [each for each in mine if _older(each, step)]


def _closed(pause: Pause) -> str:
    """Why the rotation is to end: nobody follows it any more; empty while somebody does."""
    try:
        pause(0)
    except Closed:
        return "nobody follows it any more"
    return ""


def _older(node: Node, step: UpgradeStep) -> bool:
    """Whether the node's version or image is older than what the step brings, or cannot be told."""
    try:
        old = bool(step.version) and not reached(node.kubelet_version, step.version)
    except ValueError:
        old = True
    _family, version = split_image(image_of(node.labels, node.image))
    return old or (bool(step.image) and image_order(version) < image_order(step.image))


def _selector(pool: str, label: str) -> str:
    """A label selector for the nodes of the pool, by the label that tells it; without a ``label`` for those that have
    none of ``POOL_LABELS``."""
    return f"{label}={pool}" if label else ",".join(f"!{each}" for each in POOL_LABELS)


def pool_step_name(operation: str, step: UpgradeStep) -> str:
    """The name of the operation, or rotation, of one step of an attempt, the same whenever it is taken up: operation,
    pool (if it can be a part of such a name) and eight digits of a digest, joined by dots."""
    digest = hashlib.sha256(f"{step.pool}\n{step.version}\n{step.image}".encode()).hexdigest()[:8]
    pool = step.pool if _NAME.fullmatch(step.pool) else ""
    return ".".join(filter(None, (operation, pool, digest)))


def pool_line_teller(task: PoolTask, rotation: str) -> t.Callable[[str], None]:
    """What says a line of the rotation by the name of its pool, instead of the long name that it is recorded under."""
    before = f"pool {task.step.pool or 'without a name'}:" if task.step != LEFT else "left by an earlier attempt:"
    # Lines of an upgrade are said behind the name of its member.
    say = folding(task.say, before, taken=len(task.work.member) + 3)
    return lambda text: say(f"{before} {_brief(text.removeprefix(f'{rotation}: '), task.work.member, rotation)}")


def _brief(text: str, member: str, rotation: str) -> str:
    """What is told of nodes of the member, without its name, and without that of the rotation."""
    return text.replace(f"NodeRotation {rotation} on {member}: ", "").replace(f"{member}/", "")


def _left(state: RotationState) -> str:
    """Nodes that were not replaced, each with why, five at most; empty if all were."""
    found = [f"{each.name} {each.phase}: {each.text}" for each in state.nodes if each.phase != ROTATED]
    return listed(found, _NAMED, "; ")
