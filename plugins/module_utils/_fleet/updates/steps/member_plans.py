# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a run would do to each member (steps, skip, fail, obstacles), by the members as they are seen, or as they were
read last; which have no maintenance window, and whose operating system will not update by itself any more."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from ...._core.objects.clusters.fleet_member import FleetMember
from ...._core.objects.updates.update_run import UpdateRun
from ...._core.updates.record.run_state import run_of
from ...._core.updates.releases.node_images import cluster_of
from ...._core.updates.releases.targets import (
    CONTROL_PLANE,
    UpgradeStep,
    UpgradeTarget,
    UpgradeWork,
    target_of,
    upgrade_work,
)
from ...._core.updates.run import MemberBlocker, MemberView
from ...._core.values.update_states import NEW, PRECONDITION_FAILED
from ...drivers.options import stops_unattended_updates
from ...members.members import recorded_members
from ...session import Session
from ..constraints import StartConstraints
from ..monitor import ControlPlaneJudge
from ..pools import by_steps, images_of
from ..sources import UpdateManifests
from .seen_members import SeenMembers


@dataclass(frozen=True, kw_only=True)
class MemberPlans:
    """What is to do for ``target`` (``works``), by name of the member, in the order of names. Sorted names:
    ``without_window`` have no maintenance window, ``unattended_stopped`` do not update their operating system by
    themselves any more once their driver was there."""

    target: UpgradeTarget
    works: t.Mapping[str, UpgradeWork] = field(default_factory=dict)
    without_window: tuple[str, ...] = ()
    unattended_stopped: tuple[str, ...] = ()


def member_plans(
    session: Session,
    run: UpdateRun,
    given: UpdateManifests,
    drivers: t.Mapping[str, t.Any],
    seen: SeenMembers = MappingProxyType({}),
) -> MemberPlans | None:
    """What would be done to the members that have not ended, as they were ``seen`` just now, the others as they were
    read last. Where control planes alone are upgraded, in one step each, members that were not seen are left out, and
    it is None where none was. A run that was not started has the images that would be fixed now. ``drivers`` are
    options of drivers, by name; what is ``given`` goes before what is recorded. Members are not asked. FleetError
    ``record-damaged``, ``duplicate-location``, ``bad-option``."""
    records, now, names = session.records, session.clock(), run_of(run).unfinished
    alone = not by_steps(run)
    if alone:
        names = names & seen.keys()
    if alone and not names:
        return None
    permits = StartConstraints(records, run.spec.managed_cluster_update.upgrade.type, run.target, given)
    known = permits.releases()
    if run.status.phase == NEW and run.status.node_image_selection is None:
        images = images_of(records, run, known, now)
        run = replace(run, status=replace(run.status, node_image_selection=images))
    target, works, stopped = target_of(run), {}, []
    for name, member in recorded_members(records).items():
        if name in names:
            if stops_unattended_updates(drivers, member.fleet):
                stopped.append(name)
            if alone:
                works[name] = _of_control_plane(run, seen[name], now)
                continue
            try:
                works[name] = upgrade_work(cluster_of(seen.get(name, member.fleet)), target, known, now)
            except ValueError as error:
                never = name not in seen and member.fleet.status.last_read is None
                why = f"{error}; it was never read" if never else str(error)
                works[name] = UpgradeWork(fail=MemberBlocker(reason=PRECONDITION_FAILED, message=why))
    return MemberPlans(
        target=target,
        works=works,
        without_window=permits.without_window(names, now),
        unattended_stopped=tuple(sorted(stopped)),
    )


def _of_control_plane(run: UpdateRun, member: FleetMember, now: datetime) -> UpgradeWork:
    """What is to do where the control plane is upgraded in one step, as the run judges it when it comes to it."""
    status, judge = member.status, ControlPlaneJudge(run.target, bool(run.spec.auto_upgrade_profile_id))
    view = judge(MemberView(name=member.name), status.version, status.node_pools, now)
    step = UpgradeStep(what=CONTROL_PLANE, version=run.target, from_version=status.version)
    return UpgradeWork(steps=() if view.skip or view.fail else (step,), skip=view.skip, fail=view.fail)
