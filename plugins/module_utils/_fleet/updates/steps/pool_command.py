# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One node pool upgraded by the driver of its member (``command`` or ``cluster_api``), begun here or only looked for,
and whether it has its version and image afterwards."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ...._core.updates.releases.node_images import Cluster, Pool
from ...._core.updates.releases.targets import UpgradeStep
from ...._core.updates.releases.versions import reached
from ...._core.values.node_image import image_order
from ...._core.values.update_states import COMPLETED
from ...conductor.operation import (
    Attempt,
    Ended,
    Event,
    FailureReason,
    Operation,
    Pace,
    Said,
)
from ...drivers.command import PLATFORM
from ...drivers.contract import UNKNOWN, Driver, Observation, OperationProgress, Work
from ...drivers.host import is_intent, machine
from .pool_rotation import PoolEnd, PoolTask, pool_step_name


@dataclass
class PoolSubject:
    """A pool as what an operation acts on, by the member's ``driver``, and the goal of that: what ``step`` brings.
    ``cluster`` as in ``WholeParts``; ``last`` is the pool as it was seen last, None if it was not, or is gone."""

    driver: Driver
    cluster: t.Callable[[str, Observation], Cluster]
    step: UpgradeStep
    last: Pool | None = None

    def observe(self, member: str) -> Observation:
        """Looks at the member by its driver, and keeps the pool as ``last``; ``version`` is what the pool has, in
        words. FleetError of the driver, and of ``cluster``."""
        seen = self.driver.observe(member)
        pools = self.cluster(member, seen).pools
        self.last = next((each for each in pools if each.name == self.step.pool), None)
        words = " with ".join(filter(None, (self.last.version, self.last.image))) if self.last else "not there any more"
        return Observation(version=words)

    def begin(self, work: Work) -> str:
        """Begins the work by the driver; the reference to find it again. Errors of the driver."""
        return self.driver.begin(work)

    def poll(self, work: Work) -> OperationProgress:
        """How the work stands, as the driver tells, with its errors."""
        return self.driver.poll(work)

    def reached(self, _version: str, _target: str) -> bool:
        """Whether the pool, as it was seen last, is where the step brings it; so is one that is gone, and not one whose
        version or image, if the step brings one, is not known. ValueError if it has a version that is none."""
        step, pool = self.step, self.last
        if pool is None:
            return True
        new = not step.version or (bool(pool.version) and reached(pool.version, step.version))
        return new and (not step.image or (bool(pool.image) and image_order(pool.image) >= image_order(step.image)))

    def nothing_to_do(self, _version: str, _target: str) -> FailureReason | None:
        """Always None: it was looked at before."""

    def step_refused(self, _version: str, _target: str) -> FailureReason | None:
        """Always None: its place in the order was judged before."""


def commanded(subject: PoolSubject, task: PoolTask, pace: Pace, here: t.Callable[[], str]) -> PoolEnd:
    """Carries the step of the task out, to its end: ``failure`` is empty if the pool has its version and image, or is
    gone; paused if the member is busy, does not answer now, or is held back. It is begun only if the attempt was begun
    on this machine, or meant to be, with this folder of operations; else it is looked for. ``here`` is
    ``intent_reference`` of ``drivers.host``. FleetError as of that, of ``Operation.run``, and of ``Driver.poll``;
    ValueError as of ``PoolSubject.reached``, Closed as of ``Attempt``."""
    step, work = task.step, task.work
    of_platform = work.reference.startswith(PLATFORM)
    ours = _is_seen_here(task) if of_platform else _is_ours(work.reference, here)
    one = replace(
        work,
        operation=pool_step_name(work.operation, step),
        # What its platform calls the upgrade of the control plane tells nothing of a pool.
        reference=here() if ours else "" if of_platform else work.reference,
        target=step.version,
        pool=step.pool,
        image=task.image,
        pool_step=True,
    )

    def tell(event: Event) -> None:
        """Tells people what the operation says; of the rest nothing is told."""
        if isinstance(event, Said):
            task.say(event.message)

    attempt = Attempt(
        driver=subject,
        work=one,
        goal=subject,
        pace=pace,
        tell=tell,
        clock=task.clock,
        pause=task.pause,
        held_back=task.held_back,
    )
    ended = Operation(attempt).run(resumed=True)
    if isinstance(ended, Ended):
        return PoolEnd(failure="" if ended.result == COMPLETED else ended.message or ended.reason)
    return PoolEnd(paused=ended.message, blocked=ended if ended.anew else None)


def _is_ours(reference: str, here: t.Callable[[], str]) -> bool:
    """Whether that is a process of this machine, or the intent of one in this very folder of operations: in another
    one pools may have been begun that are not seen from here. FleetError of ``here``."""
    return reference.startswith(machine()) and (not is_intent(reference) or reference == here())


def _is_seen_here(task: PoolTask) -> bool:
    """Whether the attempt was begun where we would see it, though its platform has given it a name by now: pools of it
    were begun there, or nowhere. FleetError as of ``Driver.poll``."""
    return task.driver.poll(replace(task.work, reference="", pool_step=True)).state != UNKNOWN
