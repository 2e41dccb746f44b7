# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Node pools in an upgrade: which drivers upgrade them (``upgrade-type-not-supported``), what is to do, which images
they get (``image-of-no-pool``), whose kubelets hold a control plane back (``kubelet-skew``), pools of a member as seen
now; whether a run goes by steps."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ..._core.cluster.facts.member import pools_of
from ..._core.errors import FleetError, Problem
from ..._core.objects.clusters.fleet_member import FleetMember, NodePoolStatus
from ..._core.objects.updates.run_status import NodeImageSelectionStatus
from ..._core.objects.updates.update_run import CONSISTENT, CONTROL_PLANE_ONLY, UpdateRun
from ..._core.updates.integrity import DIGEST
from ..._core.updates.record.digest import run_digest
from ..._core.updates.record.run_state import run_of
from ..._core.updates.releases.node_images import Cluster, cluster_of, images_without_pool
from ..._core.updates.releases.releases import Releases
from ..._core.updates.releases.targets import UpgradeTarget, fixed_images, target_of, upgrade_work
from ..._core.updates.releases.versions import kubelet_skew_blocker
from ..._core.updates.run import MemberBlocker, MemberView
from ..._core.values.listed import listed
from ..._core.values.update_states import PRECONDITION_FAILED
from ..._store.records import Records
from ..drivers.choosing import ROLE
from ..drivers.command import CommandDriver
from ..drivers.contract import Driver, Observation
from ..members.facts import nodes_of
from ..members.members import Clients, recorded_members
from ..recorded import recorded
from .constraints import StartConstraints
from .sources import UpdateManifests
from .steps.seen_members import as_seen

_NAMED = 10


def refuse_pools_without_driver(
    records: Records, run: UpdateRun, drivers: t.Mapping[str, Driver] | None = None
) -> None:
    """FleetError ``upgrade-type-not-supported``, with the unfinished members that have node pools, or were never read,
    and whose driver does not upgrade pools: a role, or commands without ``begin_pool``, which is known once there are
    ``drivers``. Nothing for a run that upgrades no pools. ``record-damaged``."""
    kind = run.spec.managed_cluster_update.upgrade.type
    if kind == CONTROL_PLANE_ONLY:
        return
    names = run_of(run).unfinished
    members = [each.fleet for name, each in recorded_members(records).items() if name in names]
    unable = [each for each in members if not _does_pools(each, (drivers or {}).get(each.name))]
    pooled = [each.name for each in unable if each.status.node_pools]
    unread = [each.name for each in unable if each.status.last_read is None]
    if pooled or unread:
        told = [f"with node pools: {listed(pooled, _NAMED)}"] if pooled else []
        told += [f"never read: {listed(unread, _NAMED)}"] if unread else []
        message = f"their driver does not upgrade node pools, as type {kind} asks; {'; '.join(told)}"
        hint = f"use {CONTROL_PLANE_ONLY}, or begin_pool of driver command"
        hint += ", or read them (gitops.fleet.fleet_facts)" if unread else ""
        where = f"UpdateRun/{run.name} spec.managedClusterUpdate.upgrade.type"
        raise FleetError("upgrade-type-not-supported", message, where, hint)


def upgrades_node_pools(run: UpdateRun) -> bool:
    """Whether node pools are upgraded: with the control plane, or their images alone."""
    return run.spec.managed_cluster_update.upgrade.type != CONTROL_PLANE_ONLY


def by_steps(run: UpdateRun) -> bool:
    """Whether members are upgraded step by step: pools, after control planes or by themselves, or one minor after
    another."""
    return upgrades_node_pools(run) or run.spec.managed_cluster_update.upgrade.chain


def _does_pools(member: FleetMember, driver: Driver | None) -> bool:
    """Whether pools of the member are upgraded by its driver, as far as that is known without one."""
    if isinstance(driver, CommandDriver):
        return bool(driver.pool_argv)
    return member.spec.driver != ROLE


@dataclass(frozen=True)
class WholeJudge:
    """Says what a member has to do for ``target`` in a run that goes by steps (``by_steps``). ``known`` gives what
    platforms offer now, ``member`` the FleetMember of a name, or None."""

    target: UpgradeTarget
    known: t.Callable[[], Releases]
    member: t.Callable[[str], FleetMember | None]

    def __call__(
        self, view: MemberView, version: str, pools: tuple[NodePoolStatus, ...], now: datetime, /
    ) -> MemberView:
        """The view with what is to do by ``upgrade_work``: skip, fail (also for what is no version), obstacles;
        unchanged for who is no FleetMember. What ``known`` raises comes through."""
        member = self.member(view.name)
        if member is None:
            return view
        try:
            todo = upgrade_work(cluster_as(member, version, pools), self.target, self.known(), now)
        except ValueError as error:
            return replace(view, fail=MemberBlocker(reason=PRECONDITION_FAILED, message=str(error)))
        new = tuple(each for each in todo.obstacles if each not in view.obstacles)
        return replace(view, skip=todo.skip, fail=todo.fail, obstacles=(*view.obstacles, *new))


def images_of(records: Records, run: UpdateRun, known: Releases, now: datetime) -> NodeImageSelectionStatus | None:
    """The images that pools get where they are the same for all members (Consistent, Custom), as they would be fixed
    ``now``, by the members as they were read last. None where the run fixes none, as of ``fixed_images``. FleetError
    ``record-damaged``."""
    return fixed_images(run, _clusters_of(records, run), known, now)


def _clusters_of(records: Records, run: UpdateRun) -> list[Cluster]:
    """The run's members that are in the fleet, as they are recorded. FleetError ``record-damaged``."""
    names = {row.name for row in run_of(run).members}
    return [cluster_of(each.fleet) for name, each in recorded_members(records).items() if name in names]


def images_of_no_pool(records: Records, run: UpdateRun) -> tuple[Problem, ...]:
    """A warning ``image-of-no-pool``, in the order of the run, for each image that it names and no pool of its members
    can get, as they were read last. FleetError ``record-damaged``."""
    selection = run.spec.managed_cluster_update.node_image_selection
    named = [each.version for each in selection.custom_node_image_versions] if selection else []
    if not named:
        return ()
    unused, families = images_without_pool(named, _clusters_of(records, run))
    where = f"UpdateRun/{run.name} spec.managedClusterUpdate.nodeImageSelection"
    hint = (
        f"pools of its members have images of {listed(families, _NAMED)}; those without a named image stay as they are"
    )
    return tuple(
        Problem("image-of-no-pool", f"no node pool of its members has images of the family of {each}", where, hint)
        for each in unused
    )


def with_images(records: Records, run: UpdateRun, given: UpdateManifests, now: datetime) -> UpdateRun:
    """The run, which has its stages, with the images of selection Consistent (``images_of``) and the digest that goes
    with them; with another selection as it is. FleetError ``record-damaged``, ``duplicate-location``."""
    if run.spec.image_selection != CONSISTENT:
        return run
    kind = run.spec.managed_cluster_update.upgrade.type
    known = StartConstraints(records, kind, run.target, given).releases()
    return with_chosen(run, images_of(records, run, known, now))


def with_chosen(run: UpdateRun, images: NodeImageSelectionStatus | None) -> UpdateRun:
    """The run with these images (None: none) and the digest that goes with them."""
    digest = run_digest(run.spec, run_of(run).stages, images)
    metadata = replace(run.metadata, annotations={**run.metadata.annotations, DIGEST: digest})
    return replace(run, metadata=metadata, status=replace(run.status, digest=digest, node_image_selection=images))


def cluster_as(member: FleetMember, version: str, pools: tuple[NodePoolStatus, ...]) -> Cluster:
    """The member as what an upgrade works on, with this ``version`` and these ``pools`` in place of the recorded
    ones."""
    return cluster_of(as_seen(member, version, pools))


def skew_problems(records: Records, run: UpdateRun, known: Releases, now: datetime) -> list[Problem]:
    """A problem ``kubelet-skew``, by name, for each unfinished member whose kubelets, as they were read last, would be
    too old for the target. None in a run without a version, or that a profile made, nor for members that cannot be
    read. FleetErrors of the records."""
    if run.spec.auto_upgrade_profile_id or not run.target:
        return []
    names = run_of(run).unfinished
    found = []
    for document in records.list("FleetMember"):
        name = document["metadata"]["name"]
        if name not in names:
            continue
        try:
            refused = _skewed(recorded(FleetMember, document), run, known, now)
        except FleetError:
            # Told of by whoever opens its connection; its nodes are asked themselves when its turn comes.
            continue
        if refused:
            hint = "upgrade its nodes first, or skip it; read it again if that is done (gitops.fleet.fleet_facts)"
            found.append(Problem("kubelet-skew", refused.message, name, hint))
    return found


def _skewed(member: FleetMember, run: UpdateRun, known: Releases, now: datetime) -> MemberBlocker | None:
    """Why kubelets of the member, as recorded, hold its control plane back; None if they do not. A whole upgrade brings
    pools up before its control plane goes too far from them, if that is enough. ValueError for a target that is no
    version."""
    kubelets = {each.name: each.version for each in member.status.node_pools}
    refused = kubelet_skew_blocker(kubelets, run.target)
    if refused is None or run.spec.managed_cluster_update.upgrade.type == CONTROL_PLANE_ONLY:
        return refused
    try:
        return upgrade_work(cluster_of(member), target_of(run), known, now).fail
    except ValueError:
        return refused


def pools_seen(
    clients: Clients, drivers: t.Mapping[str, Driver], whole: bool
) -> t.Callable[[str, Observation], tuple[NodePoolStatus, ...]]:
    """Gives a function for the pools of a member that was just observed: as its driver tells, or by its nodes, or as
    they were read last. The latter holds of a member that a command of its driver observes, but for a ``whole`` upgrade
    by a command for pools; and where nodes cannot be asked, unless the upgrade is ``whole``: then the function raises
    FleetError."""

    def recorded_ones(name: str) -> tuple[NodePoolStatus, ...]:
        """The pools as they were read last; none of who is no member."""
        member = clients.members.get(name)
        return member.status.node_pools if member else ()

    def ask(name: str, seen: Observation) -> tuple[NodePoolStatus, ...]:
        """The pools of a member that was just observed. FleetError as of ``pools_seen``."""
        driver = drivers.get(name)
        if seen.pools is not None:
            return seen.pools
        if isinstance(driver, CommandDriver) and driver.observe_argv and not (whole and driver.pool_argv):
            return recorded_ones(name)
        try:
            return pools_of(nodes_of(clients.get(name)))
        except FleetError:
            if whole:
                raise
            return recorded_ones(name)

    return ask
