# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Node pools of simulated members: each node that is really replaced is counted. A pool is upgraded by its platform, as
an operation that goes on while nobody watches, or node by node by whoever conducts."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import NodePoolStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.node_images import Cluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import target_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.kube_version import KubeVersion
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Observation, Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.constraints import StartConstraints
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.pools import cluster_as
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.pool_command import (
    PoolSubject,
    commanded,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.pool_rotation import (
    PoolEnd,
    PoolTask,
    pool_step_name,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.whole_upgrade import WholeParts
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Records
from ansible_collections.gitops.fleet.tests.simulation.virtual_time import BEGINNING

FAMILY, FIRST_IMAGE, LAST_IMAGE = "Linux", "1", "2"
NODES = 2
TRIES_AGAIN = 1
PATIENCE, COMES_BACK = 120, timedelta(seconds=2)
"""For how many seconds a conductor waits for a pod, and when it thinks of looking again."""
Spans = tuple[tuple[datetime, datetime], ...]


@dataclass(frozen=True)
class PoolChange:
    """Nodes of a pool that are replaced together, as the member lived it. What is empty stays as it is."""

    operation: str
    machine: str
    begun: datetime
    ends: datetime
    well: bool
    pool: str
    nodes: tuple[int, ...]
    version: str
    image: str


@dataclass(frozen=True)
class SimulatedPool:
    """As it was in the beginning."""

    name: str
    version: str
    image: str = FIRST_IMAGE

    def nodes_at(self, changes: t.Iterable[PoolChange], now: datetime) -> list[tuple[str, str]]:
        """Version and image of each node."""
        found = [(self.version, self.image)] * NODES
        for each in changes:
            if each.pool == self.name and each.well and each.ends <= now:
                for node in each.nodes:
                    version, image = found[node]
                    found[node] = each.version or version, each.image or image
        return found

    def status(self, changes: t.Iterable[PoolChange], now: datetime) -> NodePoolStatus:
        found = self.nodes_at(changes, now)
        lowest = min((version for version, _image in found), key=KubeVersion.parse)
        image = min(image for _version, image in found)
        return NodePoolStatus(name=self.name, count=NODES, version=lowest, image=f"{FAMILY}-{image}")


class Pooled(t.Protocol):
    """A member, as ``members.Member``."""

    pools: tuple[SimulatedPool, ...]
    pool_changes: list[PoolChange]
    closed: Spans
    held: Spans

    def under_way(self, now: datetime) -> str: ...

    def planned(self) -> tuple[int, bool]: ...


class Driven(t.Protocol):
    """The driver of one process, as ``members.SimulatedDriver``; its members can be reached or not."""

    members: t.Mapping[str, t.Any]
    clock: t.Callable[[], datetime]
    process: t.Any
    check: t.Callable[[Work], None]

    def observe(self, member: str) -> Observation: ...


def change_of(work: Work, member: Pooled, machine: str, now: datetime, nodes: tuple[int, ...]) -> PoolChange:
    """The next one by the plan of the member."""
    seconds, well = member.planned()
    image = work.image.removeprefix(f"{FAMILY}-")
    version = f"v{work.target.removeprefix('v')}" if work.target else ""
    ends = now + timedelta(seconds=seconds)
    return PoolChange(work.operation, machine, now, ends, well, work.pool, nodes, version, image)


def lacking(work: Work, pool: SimulatedPool, changes: t.Iterable[PoolChange], now: datetime) -> list[int]:
    """Nodes that are not where the work brings them."""
    image = work.image.removeprefix(f"{FAMILY}-")
    version = f"v{work.target.removeprefix('v')}" if work.target else ""
    found = enumerate(pool.nodes_at(changes, now))
    return [number for number, (has, image_is) in found if (version and has != version) or (image and image_is < image)]


def whole_parts(run: UpdateRun, records: Records, driver: Driven, pace: t.Any) -> WholeParts:
    """What a conductor makes of a run that upgrades pools, over simulated members."""
    permits = StartConstraints(records, run.spec.managed_cluster_update.upgrade.type, run.target)

    def cluster(member: str, seen: Observation) -> Cluster:
        found = recorded_members(records).get(member)
        if found is None:
            raise FleetError("not-a-member", "the cluster is not a member of the fleet", member)
        return cluster_as(found.fleet, seen.version, seen.pools or ())

    def here() -> str:
        return driver.process.machine

    def pool(task: PoolTask) -> PoolEnd:
        if driver.members[task.work.member].rotates:
            return rotated(driver, task)
        return commanded(PoolSubject(t.cast(t.Any, driver), cluster, task.step), task, pace, here)

    return WholeParts(
        target=target_of(run), cluster=cluster, known=permits.releases, pool=pool, now=driver.clock, here=here
    )


def rotated(driver: Driven, task: PoolTask) -> PoolEnd:
    """One node after another, as the budget of the member allows; taken up again by the name of the step."""
    step, member = task.step, driver.members[task.work.member]
    name = pool_step_name(task.work.operation, step)
    work = replace(task.work, operation=name, target=step.version, pool=step.pool, image=task.image, pool_step=True)
    pool = next(each for each in member.pools if each.name == step.pool)
    for node in range(NODES):
        while member.under_way(driver.clock()):
            task.pause(TRIES_AGAIN)
        driver.observe(work.member)
        until = next((end for since, end in member.closed if since <= driver.clock() < end), BEGINNING)
        if until > driver.clock():
            return PoolEnd(paused="its budget allows none", until=until)
        for _second in range(PATIENCE):
            if not _held(member, driver.clock()):
                break
            task.pause(TRIES_AGAIN)
        else:
            return PoolEnd(paused="a pod does not go", until=driver.clock() + COMES_BACK)
        if node in lacking(work, pool, member.pool_changes, driver.clock()):
            if not _begun_before(member, name, node):
                driver.process.write(f"node {work.member}/{work.pool}/{node}", partial(_replace, driver, work, node))
            while member.under_way(driver.clock()):
                task.pause(TRIES_AGAIN)
            if node in lacking(work, pool, member.pool_changes, driver.clock()):
                return PoolEnd(failure=f"node {node} was blocked")
    return PoolEnd()


def _held(member: Pooled, now: datetime) -> bool:
    return any(since <= now < end for since, end in member.held)


def _begun_before(member: Pooled, name: str, node: int) -> bool:
    return any((each.operation, each.nodes) == (name, (node,)) for each in member.pool_changes)


def _replace(driver: Driven, work: Work, node: int) -> None:
    member, now = driver.members[work.member], driver.clock()
    driver.check(work)
    member.pool_changes.append(change_of(work, member, driver.process.machine, now, (node,)))
