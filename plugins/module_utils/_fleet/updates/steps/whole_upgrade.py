# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One attempt at a whole member: its control plane and its node pools, step by step, each after a new look at it; an
operation for each minor of a chain; when it is paused, blocked, failed as lost, or at its target.

What is done already, by an earlier attempt or by somebody else, is seen and not done again. In a chain each minor on
the way is an operation of its own, named after the attempt and the minor; the last one, to the target, has the name of
the attempt.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ...._core.errors import FleetError
from ...._core.objects.updates.update_run import NODE_IMAGE_ONLY
from ...._core.updates.releases.node_images import Cluster, node_images
from ...._core.updates.releases.releases import Releases
from ...._core.updates.releases.targets import CONTROL_PLANE, UpgradeStep, UpgradeTarget, UpgradeWork, upgrade_work
from ...._core.values import update_states as states
from ...._core.values.kube_version import KubeVersion
from ...conductor.loop import PASSING
from ...conductor.operation import (
    Attempt,
    Blocked,
    Ended,
    Last,
    Operation,
    Teller,
)
from ...drivers.contract import Observation, Work
from ...drivers.host import is_intent
from .pool_rotation import LEFT, NOT_A_MEMBER, UNREAD, PoolEnd, PoolTask

# Upgrades a pool to its end, or until it has to wait, in the thread of its attempt; what was begun before is taken up.
# FleetError if it cannot, Closed when nobody follows any more.
PoolUpgrader = t.Callable[[PoolTask], PoolEnd]


def nothing_left(_task: PoolTask) -> PoolEnd:
    """The end at once: only rotations leave something."""
    return PoolEnd()


@dataclass(frozen=True, kw_only=True)
class WholeParts:
    """What upgrades of whole members in one run are made of. ``cluster`` tells what a member is by now, after its
    driver has observed it; ``known`` is what places offer, ``here`` as of ``conduct_run``. ``pool`` upgrades a node
    pool, ``left`` ends what attempts have begun on the member's pools and left."""

    target: UpgradeTarget
    cluster: t.Callable[[str, Observation], Cluster]
    known: t.Callable[[], Releases]
    pool: PoolUpgrader
    left: PoolUpgrader = nothing_left
    now: t.Callable[[], datetime]
    here: t.Callable[[], str]

    def follow(self, attempt: Attempt) -> WholeUpgrade:
        """What follows this attempt, for an executor; nothing is begun yet."""
        return WholeUpgrade(self, attempt)


class WholeUpgrade:
    """One attempt at a whole member, to be run once (``conductor.operation.Followed``). ``begun``: something of it was
    begun, here or, if it was taken up, before."""

    def __init__(self, parts: WholeParts, attempt: Attempt) -> None:
        self._parts, self._attempt = parts, replace(attempt, held_back=self._held_back)
        self._may_wait = attempt.held_back
        self._driver, self._work, self._pace = attempt.driver, attempt.work, attempt.pace
        self._clock, self._pause = attempt.clock, attempt.pause
        self._teller = Teller(attempt.work.operation, attempt.tell)
        self.begun = False
        self._unread_since: float | None = None
        self._done: set[UpgradeStep] = set()
        self._operations: list[Operation] = []
        self._on_its_way = False

    @property
    def version_before(self) -> str:
        """The member's version when its upgrade began; empty for an attempt that was taken up, whose record has it."""
        return self._teller.version_before

    def run(self, resumed: bool, only_follow: bool = False) -> Last:
        """Carries the attempt to its end, or to where nothing but time helps (Paused). Blocked if nothing of it was
        begun and the member does not answer, is busy or held back, or the records do not tell what places offer, and
        where a later step of the control plane does not begin as of ``Operation.run``. ``resumed`` as of
        ``Executor.begin``; with ``only_follow`` nothing is begun. FleetError as of ``Operation.run``, of upgrading a
        pool, and what ``here`` raises; ValueError as of ``Operation.run``; Closed when nobody follows any more."""
        self._pause(0)
        self.begun = self._teller.recorded = resumed
        if resumed and self._work.upgrade_type != NODE_IMAGE_ONLY:
            found = self._take_up(only_follow)
            if found is not None:
                return found
            seen = any(each.begun for each in self._operations)
            self._on_its_way = seen and not is_intent(self._attempt.work.reference)
        while True:
            found = self._next(only_follow)
            if found is not None:
                return found

    def _take_up(self, only_follow: bool) -> Last | None:
        """Follows the operation that may be in flight on the control plane, to its end; how the attempt ends, if it
        does, else None. FleetError of ``here``; ValueError and Closed as of ``Operation.run``."""
        if not self._parts.target.chain:
            return _unless_well(self._operation(self._work).take_up(only_follow))
        seen = self._look()
        if isinstance(seen, FleetError):
            return self._out_of_sight(seen)
        try:
            last, coming = hops_in_flight(self._work, seen[1].version)
        except ValueError:
            return None
        if last is not None and self._operation(replace(last, reference="")).is_seen():
            # What is recorded may still be the reference of that one: whatever came after it was begun here, too.
            self._work = replace(self._work, reference=self._parts.here())
            last, coming = (replace(each, reference=self._work.reference) for each in (last, coming))
            found = _unless_well(self._operation(last).take_up(only_follow))
            if found is not None:
                return found
        return _unless_well(self._operation(coming).take_up(only_follow))

    def _operation(self, work: Work) -> Operation:
        """A part of this attempt, that is told of as the attempt."""
        self._operations.append(Operation(replace(self._attempt, work=work), self._teller))
        return self._operations[-1]

    def _held_back(self) -> Blocked | None:
        """As of ``Attempt``; nothing any more once a step was begun here, or is known to have been: it goes on then."""
        return None if self._on_its_way else self._may_wait()

    def _next(self, only_follow: bool) -> Last | None:
        """One step, after a new look; how the attempt ends, if it does, else None. Errors as of ``run``."""
        seen = self._look()
        if isinstance(seen, FleetError):
            return self._out_of_sight(seen)
        observed, cluster, known = seen
        if observed.busy and observed.busy != self._work.operation and not self.begun:
            return self._teller.blocked(states.OPERATION_IN_PROGRESS, f"{observed.busy} is under way there")
        try:
            todo = upgrade_work(cluster, self._parts.target, known, self._parts.now())
        except ValueError as error:
            reason = states.UPGRADE_FAILED if self.begun else states.PRECONDITION_FAILED
            return self._ended(cluster, states.FAILED, reason, str(error))
        over = self._end_without_step(todo, cluster, only_follow)
        return over or self._step(todo.steps[0], cluster)

    def _end_without_step(self, todo: UpgradeWork, cluster: Cluster, only_follow: bool) -> Last | None:
        """The end, if there is nothing more to do, it cannot be done, or it has to wait; None if there is a step to
        take. Before there is nothing more to do of one that has begun, what attempts have left is ended, but not where
        it fails or waits; errors as of ``_pooled``."""
        if todo.fail:
            return self._ended(cluster, states.FAILED, todo.fail.reason, todo.fail.message)
        if todo.skip or not (todo.steps or todo.obstacles):
            if self.begun:
                left = PoolEnd() if only_follow else None
                while left is None:
                    left = self._pooled(self._parts.left, LEFT, "")
                if left.paused:
                    return self._teller.paused(left.until, f"nodes in hand wait: {left.paused}")
                if todo.skip and todo.undone:
                    return self._ended(cluster, states.FAILED, todo.skip.reason, todo.skip.message)
                return self._ended(cluster, states.COMPLETED, "", "; ".join(todo.left_out))
            why = todo.skip
            return self._ended(cluster, states.SKIPPED, why.reason if why else "", why.message if why else "")
        if only_follow:
            message = "the operation cannot be seen from here, and steps of it are left"
            return self._ended(cluster, states.FAILED, states.OPERATION_LOST, message)
        if todo.obstacles:
            first = todo.obstacles[0]
            return self._teller.paused(first.until, f"{first.reason}: {first.message}")
        if todo.steps[0] in self._done:
            message = f"{_named(todo.steps[0])} was upgraded, and is not at its target"
            return self._ended(cluster, states.FAILED, states.UPGRADE_FAILED, message)
        return None

    def _ended(self, cluster: Cluster, result: str, reason: str, message: str) -> Ended:
        """The end, with the member's version and the images of its pools."""
        found = self._teller.ended(result, reason, message, cluster.version)
        return replace(found, parts_after=node_images(cluster))

    def _step(self, step: UpgradeStep, cluster: Cluster) -> Last | None:
        """Takes the step; how the attempt ends, if it does, else None. What cannot be read for a while is looked at
        again. Errors as of ``run``."""
        self._done.add(step)
        if step.what == CONTROL_PLANE:
            control = self._operation(operation_to(self._work, step.version))
            ended = control.run(resumed=False)
            self.begun = self.begun or control.begun
            self._on_its_way = self._on_its_way or control.begun
            return _unless_well(ended)
        family = next(each.family for each in cluster.pools if each.name == step.pool)
        image = f"{family}-{step.image}" if step.image else ""
        self.begun = True
        self._teller.say(f"{_named(step)}: {', '.join(filter(None, (step.version, image)))}")
        end = self._pooled(self._parts.pool, step, image)
        if end is None:
            self._done.discard(step)
            return None
        self._pause(0)
        if end.paused:
            return end.blocked or self._teller.paused(end.until, f"{_named(step)} waits: {end.paused}")
        self._on_its_way = True
        if end.failure:
            message = f"{_named(step)}: {end.failure}"
            return self._ended(cluster, states.FAILED, states.UPGRADE_FAILED, message)
        return None

    def _pooled(self, work: PoolUpgrader, step: UpgradeStep, image: str) -> PoolEnd | None:
        """The end of the work on pools; None, after a pause, where nodes or the records cannot be read for a while.
        FleetError of the work; Closed when nobody follows any more."""
        task = PoolTask(
            driver=self._driver,
            work=self._work,
            step=step,
            image=image,
            say=self._teller.say,
            pause=self._pause,
            clock=self._clock,
            held_back=self._held_back,
        )
        try:
            end = work(task)
        except FleetError as error:
            if error.code not in (UNREAD, *PASSING) or self._given_up():
                raise
            self._teller.say(f"it is looked at again: {error}")
            self._pause(self._pace.interval)
            return None
        self._unread_since = None
        return end

    def _given_up(self) -> bool:
        """Whether the nodes of a pool, or the records, could not be read for so long that nobody waits any more: for
        ``lost_after`` seconds since this was first asked."""
        if self._unread_since is None:
            self._unread_since = self._clock()
        return self._clock() >= self._unread_since + self._pace.lost_after

    def _look(self) -> tuple[Observation, Cluster, Releases] | FleetError:
        """What is there, and what places offer; FleetError, given back, if that cannot be read. An attempt that has
        begun is not given up for a member, or records, that do not answer at once (``lost_after`` seconds), but for a
        member that has left the fleet. Closed when nobody follows any more."""
        end = self._clock() + (self._pace.lost_after if self.begun else 0)
        while True:
            try:
                seen = self._driver.observe(self._work.member)
                return seen, self._parts.cluster(self._work.member, seen), self._parts.known()
            except FleetError as error:
                if error.code == NOT_A_MEMBER or self._clock() >= end:
                    return error
                self._teller.say(f"it is looked at again: {error}")
            self._pause(self._pace.interval)

    def _out_of_sight(self, error: FleetError) -> Last:
        """The end where what is there cannot be read: Blocked, or Failed as lost if it was begun."""
        if not self.begun:
            return self._teller.blocked(states.UNREACHABLE, str(error))
        return self._teller.ended(states.FAILED, states.OPERATION_LOST, str(error), "")


def operation_to(work: Work, version: str) -> Work:
    """The operation of the attempt that brings the control plane to the version: the attempt's own for the minor of its
    target, or above. ValueError for what is no version."""
    at, target = KubeVersion.parse(version), KubeVersion.parse(work.target)
    if (at.major, at.minor) >= (target.major, target.minor):
        return work
    return replace(work, operation=f"{work.operation}.v{at.major}-{at.minor}", target=version)


def hops_in_flight(work: Work, version: str) -> tuple[Work | None, Work]:
    """Which operations of a chained attempt may be in flight on a control plane that is seen at the version: the one to
    its minor, if that is not the last of all, and the next one, each to any patch of its minor. ValueError for what is
    no version."""
    at = KubeVersion.parse(version)
    here, after = (operation_to(work, f"{at.major}.{minor}") for minor in (at.minor, at.minor + 1))
    return (None if here == work else here), after


def _unless_well(ended: Last | None) -> Last | None:
    """The end of an operation, unless the attempt goes on after it."""
    return None if ended is None or _is_at_target(ended) else ended


def _is_at_target(ended: Last) -> bool:
    """Whether the control plane is at its target: upgraded, or there already."""
    if not isinstance(ended, Ended):
        return False
    return ended.result == states.COMPLETED or (
        ended.result == states.SKIPPED and ended.reason == states.ALREADY_AT_TARGET
    )


def _named(step: UpgradeStep) -> str:
    """What the step upgrades, in words."""
    return "the control plane" if step.what == CONTROL_PLANE else f"pool {step.pool or 'without a name'}"
