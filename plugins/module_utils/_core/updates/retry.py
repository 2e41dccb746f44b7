# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A finished update run once more (a retry) for the members that failed or were skipped: its name, versions and images
as they were, whatever is newer by now (``nothing-to-retry``, ``strategy-unproven``); which run made good what one left,
which newer run stands for one that failed.

``Completed`` and ``Skipped`` are final, so this is a new run that names the first one.
"""

from __future__ import annotations

import re
import shlex
import typing as t
from dataclasses import replace

from ..errors import FleetError
from ..objects.updates.forms import NAME_LENGTH
from ..objects.updates.run_status import MemberUpdateStatus
from ..objects.updates.strategy import UpdateRunStrategy
from ..objects.updates.update_run import (
    CONSISTENT,
    CONTROL_PLANE_ONLY,
    CUSTOM,
    FULL,
    NODE_IMAGE_ONLY,
    NodeImageSelection,
    NodeImageVersion,
    UpdateRun,
)
from ..schema.meta import ObjectMeta
from ..schema.metadata_rules import name_with_ending
from ..values.update_states import ACTIVE, ALREADY_AT_TARGET, FAILED, SKIPPED, SYSTEM
from ..windows.clocks import FIRST
from .facts import DONE
from .integrity import has_recorded_strategy
from .record.run_state import run_of
from .releases.versions import reached
from .status import derive
from .terms import as_annotations, kept_terms

_RETRY = re.compile(r"(.+?)-retry(?:-([0-9]{1,9}))?")
LEFT_BEHIND = (FAILED, SKIPPED)


def follow_up(before: UpdateRun, name: str) -> UpdateRun:
    """The follow-up run, neither started nor recorded: the spec of the first with its strategy written out, version and
    Consistent images as they were fixed then, and all its failed and skipped members (those skipped by a user or at the
    target, and those that have left the fleet since, too); of its metadata only the terms of approvals.

    FleetError ``conflict-state`` unless the first is Completed or Skipped (a Stopped or Failed run is started again),
    ``nothing-to-retry`` if no member failed or was skipped, ``strategy-unproven`` if it names its strategy and no
    digest proves the one in its status.
    """
    where, state = f"UpdateRun/{before.name}", derive(run_of(before)).state
    if state not in DONE:
        message = f"a run in state {state} is not finished"
        command = f"ansible-playbook gitops.fleet.update -e {shlex.quote(f'run={before.name}')} -e restart=true"
        hint = f"start it again, or wait for its end: {command}"
        raise FleetError("conflict-state", message, where, hint)
    members = tuple(
        member.name
        for stage in before.status.stages
        for group in stage.groups
        for member in group.members
        if member.status.state in LEFT_BEHIND
    )
    if not members:
        raise FleetError("nothing-to-retry", "no member failed or was skipped", where)
    spec = before.spec
    update = spec.managed_cluster_update
    version = before.status.target_version or update.upgrade.kubernetes_version
    frozen = replace(
        update,
        upgrade=replace(update.upgrade, kubernetes_version="" if update.upgrade.type == NODE_IMAGE_ONLY else version),
        node_image_selection=_images(before),
    )
    return UpdateRun(
        metadata=ObjectMeta(name=name, annotations=as_annotations(kept_terms(before.metadata.annotations))),
        spec=replace(
            spec,
            update_strategy_id="",
            strategy=_strategy(before),
            managed_cluster_update=frozen,
            retry_of=before.name,
            members=members,
        ),
    )


def retry_name(before: UpdateRun) -> str:
    """What the follow-up run is called, in 50 characters at most: that of ``web`` is ``web-retry``, that of this, if it
    has a ``retryOf``, ``web-retry-2`` and so on. Whether there is a run of that name is not looked at."""
    stem, number = before.name, 1
    if before.spec.retry_of and (found := _RETRY.fullmatch(before.name)):
        stem, number = found[1], int(found[2] or 1) + 1
    return name_with_ending(stem, "-retry" if number == 1 else f"-retry-{number}", NAME_LENGTH)


def is_left_behind(member: MemberUpdateStatus) -> bool:
    """Whether the member is yet to be updated after the run: it failed, or the system skipped it, not for being at the
    target already."""
    state = member.status.state
    return state == FAILED or (state == SKIPPED and member.skipped_by == SYSTEM and member.reason != ALREADY_AT_TARGET)


def made_good_by(run: UpdateRun, runs: t.Iterable[UpdateRun]) -> str:
    """Name of the finished retry, or of a retry of that and so on, after which none of those that the run left behind
    is left; empty without one, and if it left nobody behind. ``runs`` are all that are recorded. Of several finished
    retries of one run the one made last counts, then the last by name; one made before what it retries is none."""
    retries: dict[str, list[UpdateRun]] = {}
    for each in runs:
        if each.spec.retry_of and each.status.status.state in DONE:
            retries.setdefault(each.spec.retry_of, []).append(each)
    before, left, known = run, {each.name for each in run.status.members if is_left_behind(each)}, {run.name}
    while left:
        later = [each for each in retries.get(before.name, ()) if each.name not in known and _is_after(each, before)]
        if not later:
            return ""
        before = max(later, key=lambda each: (each.metadata.creation_timestamp or FIRST, each.name))
        known.add(before.name)
        left -= {each.name for each in before.status.members if not is_left_behind(each)}
    return "" if before is run else before.name


def superseded_by(run: UpdateRun, runs: t.Iterable[UpdateRun]) -> UpdateRun | None:
    """The last run by time and name that stands for this one, which has Failed: it was made later and started, whatever
    has become of it, and takes all whom this one would try again at least as far: by the same type of upgrade or a full
    one, to the same version or a newer one (any where this one has none). ``runs`` are all that are recorded. None
    without one, for a run in another state, and where it is not known when it was made."""
    made = run.metadata.creation_timestamp
    if made is None or run.status.status.state != FAILED:
        return None
    left = {each.name for each in run.status.members if each.status.state not in DONE}
    later = [
        (at, each.name, each)
        for each in runs
        if (at := each.metadata.creation_timestamp) and at > made and each.status.phase == ACTIVE
        if left <= {one.name for one in each.status.members} and _goes_as_far(each, run)
    ]
    return max(later, key=lambda each: each[:2])[2] if later else None


def _goes_as_far(run: UpdateRun, other: UpdateRun) -> bool:
    """Whether the run upgrades all that the other does, to the same version or a newer one, or to any where the other
    has none; False where a version cannot be read."""
    kinds = [each.spec.managed_cluster_update.upgrade.type for each in (run, other)]
    if kinds[0] not in (kinds[1], FULL):
        return False
    try:
        return not other.target or reached(run.target, other.target)
    except ValueError:
        return False


def _is_after(run: UpdateRun, before: UpdateRun) -> bool:
    """Whether the run was not made before the other, as far as records tell."""
    made, first = run.metadata.creation_timestamp, before.metadata.creation_timestamp
    return not (made and first and made < first)


def _strategy(before: UpdateRun) -> UpdateRunStrategy | None:
    """The one that is written out in the spec, None without one; else the copy of the named one, which only its digest
    proves. FleetError ``strategy-unproven`` if it does not."""
    if not before.spec.strategy_name:
        return before.spec.strategy
    if before.status.strategy is None or not has_recorded_strategy(before):
        message = "nothing proves that the strategy in its status is the one that it was laid out by"
        hint = "make the run by hand, with spec.retryOf, spec.members and the strategy"
        raise FleetError("strategy-unproven", message, f"UpdateRun/{before.name}", hint)
    return before.status.strategy


def _images(before: UpdateRun) -> NodeImageSelection | None:
    """Images of Consistent, which the digest covers, are named now (Custom); otherwise, and where none were fixed, what
    the spec says stays."""
    given, fixed = before.spec.managed_cluster_update.node_image_selection, before.status.node_image_selection
    nodes = before.spec.managed_cluster_update.upgrade.type != CONTROL_PLANE_ONLY
    if not nodes or before.spec.image_selection != CONSISTENT or fixed is None:
        return given
    names = (each.version for each in fixed.selected_node_image_versions)
    named = tuple(NodeImageVersion(version=each) for each in names)
    return NodeImageSelection(type=CUSTOM, custom_node_image_versions=named) if named else given
