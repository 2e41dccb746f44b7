# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Auto-upgrade profiles: which runs they make and start now, by the state of the fleet and not by the news of a release
(``UpToDate``, ``RunExists``, ``VersionUnknown``, ``Disabled``); names of runs, status of the profile
(``lastTriggerStatus``).

What Azure Fleet does once, when a release appears, is here asked again each time, so that a profile that was disabled,
or made late, catches up.
"""

from __future__ import annotations

import re
import typing as t
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime

from ...errors import FleetError
from ...objects.updates.auto_upgrade_profile import (
    TRIGGER_FAILED,
    TRIGGER_SUCCEEDED,
    AutoUpgradeProfile,
    AutoUpgradeProfileStatus,
)
from ...objects.updates.forms import NAME_LENGTH
from ...objects.updates.run_status import MemberUpdateStatus, UpdateError
from ...objects.updates.update_run import (
    CUSTOM,
    NODE_IMAGE_ONLY,
    ManagedClusterUpdate,
    ManagedClusterUpgradeSpec,
    NodeImageSelection,
    NodeImageVersion,
    UpdateRun,
    UpdateRunSpec,
)
from ...schema.meta import ObjectMeta
from ...schema.metadata_rules import name_with_ending
from ...values.canonical import digest_of
from ...values.listed import listed
from ...values.update_states import (
    ALREADY_AT_TARGET,
    COMPLETED,
    FAILED,
    IMAGE_MISSING_FOR_POOL,
    MEMBER_GONE,
    MINOR_GAP,
    NEW,
    OUT_OF_SUPPORT,
    SKIPPED,
    SYSTEM,
    UNREACHABLE,
)
from ..facts import DONE
from ..record.run_state import run_of
from ..releases.node_images import Cluster
from ..releases.releases import Releases
from ..releases.targets import UpgradeTarget, UpgradeWork, upgrade_work
from ..releases.versions import is_version, reached
from ..status import derive
from .channels import goal

DISABLED, UP_TO_DATE, RUN_EXISTS, NO_RELEASE = "Disabled", "UpToDate", "RunExists", "NoSuchRelease"
UNKNOWN_VERSION = "VersionUnknown"
# A run that left a member out for one of these has not taken it up: the next evaluation judges anew.
LEFT_OUT_FOR = (MINOR_GAP, OUT_OF_SUPPORT)
# So it does with one that was out of reach, or had no image for a pool, once it was read again.
UNTIL_READ = (UNREACHABLE, MEMBER_GONE, IMAGE_MISSING_FOR_POOL)
# But one that answers whoever reads facts, and no run so often, or seems to have its images, is for people: runs would
# have no end.
TRIES = 3
COUNTED = (UNREACHABLE, IMAGE_MISSING_FOR_POOL)
DIGEST_LENGTH = 6
TO_START = "gitops.fleet/to-be-started"
"""The annotation of a run that its profile starts: until that was done, the next evaluation does it."""
_NOT_FAILED = (DISABLED, UP_TO_DATE, RUN_EXISTS, UNKNOWN_VERSION, IMAGE_MISSING_FOR_POOL, *LEFT_OUT_FOR)
# What passes by itself: a catalogue that has no such release yet, and other runners.
_PASSES = (NO_RELEASE, "lease-held", "lease-lost", "member-busy", "conflict")
_TOLD, _LONGEST = 10, 300
_NUMBER = re.compile(r"-([1-9][0-9]*)$")


@dataclass(frozen=True)
class Reason:
    """Why there is no run, or why a member is not moved by it; ``member`` is empty for a reason of the whole profile.
    ``code`` is ``Disabled``, ``UpToDate``, ``RunExists``, ``NoSuchRelease``, ``VersionUnknown``, that of a skip
    (``MinorGap``, ``OutOfSupport``, ``ImageMissingForPool``), or of an error."""

    code: str
    message: str
    member: str = ""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What a profile comes to. ``target`` is None where none was found or looked for. ``run`` is to be created unless
    it is there, and started if ``start``; ``existing`` is there already, and left as it is. ``behind`` are the members
    that are behind, those of a new ``run`` alone where one is to be made; ``reasons`` tell of others, and why there is
    no run."""

    profile: str
    target: UpgradeTarget | None = None
    run: UpdateRun | None = None
    start: bool = False
    existing: str = ""
    behind: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()


def evaluate(
    profile: AutoUpgradeProfile,
    known: Releases,
    members: t.Sequence[Cluster],
    runs: t.Sequence[UpdateRun],
    now: datetime,
) -> Evaluation:
    """The run to create and start now, or why there is none; a disabled profile makes none. One that was made and whose
    start did not come about is given again. ``members`` are those that the profile's strategy takes, ``runs`` all that
    are recorded. A FleetError of ``goal`` becomes the reason ``NoSuchRelease``, its ValueError is raised."""
    if profile.spec.disabled:
        return Evaluation(profile=profile.name, reasons=(Reason(DISABLED, "the profile is disabled"),))
    return _evaluated(profile, known, members, runs, now, start=True)


def run_for_review(
    profile: AutoUpgradeProfile,
    known: Releases,
    members: t.Sequence[Cluster],
    runs: t.Sequence[UpdateRun],
    now: datetime,
) -> Evaluation:
    """The run to create for review, not started; the name of the latest that exists if there is one, finished or not;
    or why there is none. Disabled profiles do it too. Parameters and errors as of ``evaluate``."""
    return _evaluated(profile, known, members, runs, now, start=False)


def run_name(profile: AutoUpgradeProfile, target: UpgradeTarget) -> str:
    """The name of the run that a profile makes for a goal, in 50 characters at most: the same for the same goal, out of
    the profile (long names that are cut may come to the same), the version, and a digest of goal and strategy. Images
    count where they are the goal: beside a version newer ones make no other run."""
    images = {} if target.version else dict(target.images)
    upgrade = [profile.spec.update_strategy_id, target.type, target.version, target.selection, images]
    upgrade += ["longTermSupport"] if target.long_term_support else []
    digest = digest_of({"upgrade": upgrade})[:DIGEST_LENGTH]
    word = target.version.replace(".", "-") or "images"
    return name_with_ending(profile.name, f"-{word}-{digest}", NAME_LENGTH)


def status_after(profile: AutoUpgradeProfile, found: Evaluation, now: datetime) -> AutoUpgradeProfileStatus:
    """The status to record after an evaluation was carried out: failed for the first reason that is a failure, or else
    succeeded if there is a run to make or start. Without either only the message is new, and what was triggered last
    stays."""
    told = listed([_told(each) for each in found.reasons], _TOLD, "; ")
    versions: tuple[str, ...] = ()
    failed = next((each for each in found.reasons if each.code not in _NOT_FAILED), None)
    if failed is not None:
        error, status = UpdateError(code=failed.code, message=failed.message), TRIGGER_FAILED
    elif found.run is None or found.target is None:
        return replace(profile.status, last_trigger_message=told)
    else:
        error, status, versions = None, TRIGGER_SUCCEEDED, _versions(found.target)
    return AutoUpgradeProfileStatus(
        last_triggered_at=now,
        last_trigger_status=status,
        last_trigger_error=error,
        last_trigger_upgrade_versions=versions,
        last_trigger_message=f"run {found.run.name}" if found.run else told,
    )


def reason_to_mend(found: Evaluation) -> Reason | None:
    """The first reason why the profile's run is not made or not started that is for people to mend. None without one,
    as where no run is wanted or members are left out, and for what passes by itself (a release that is not out yet,
    other runners)."""
    return next((each for each in found.reasons if each.code not in (*_NOT_FAILED, *_PASSES)), None)


def _evaluated(
    profile: AutoUpgradeProfile,
    known: Releases,
    members: t.Sequence[Cluster],
    runs: t.Sequence[UpdateRun],
    now: datetime,
    start: bool,
) -> Evaluation:
    """What the profile comes to. ``start``: the run is to be started, and one that goes on, or has had all members that
    are behind, stands in its way; else any run for the goal that was made does. ValueError as of ``goal``."""
    if not members:
        return Evaluation(profile=profile.name, reasons=(Reason(UP_TO_DATE, "it takes no member of the fleet"),))
    try:
        target = goal(profile.spec, members, known, now)
    except FleetError as error:
        return Evaluation(profile=profile.name, reasons=(Reason(NO_RELEASE, error.message),))
    behind, reasons = _behind(members, target, known, now)
    base = Evaluation(profile=profile.name, target=target, behind=behind, reasons=reasons)
    name = run_name(profile, target)
    numbered = _made(name, runs)
    made = list(numbered.values())
    if made and not start:
        return replace(base, existing=made[-1].name)
    if not behind:
        return replace(base, reasons=(*reasons, Reason(UP_TO_DATE, "no member that can be moved is behind")))
    states = {each.name: derive(run_of(each)).state for each in made}
    going = [each for each in made if states[each.name] not in DONE]
    if going and start and _to_start(going[-1]):
        return replace(base, run=_as_made(going[-1]), start=True)
    if going:
        words = f"run {going[-1].name} is {states[going[-1].name]}"
        return replace(base, existing=going[-1].name, reasons=(*reasons, Reason(RUN_EXISTS, words)))
    rows = [row for run in made for row in run.status.members]
    taken_up = _taken_up(rows, members, target)
    left = tuple(each for each in behind if each not in taken_up)
    if not left:
        there = target.version and all(_is_at(each, target.version) for each in members if each.name in behind)
        advice = _advice(behind, taken_up, rows, bool(there))
        words = f"run {made[-1].name} has had all members that are behind; {advice}"
        return replace(base, existing=made[-1].name, reasons=(*reasons, Reason(RUN_EXISTS, words)))
    run = _run(profile, target, _numbered(name, max(numbered, default=0) + 1))
    if made:
        run = replace(run, spec=replace(run.spec, members=left))
    if start:
        run = replace(run, metadata=replace(run.metadata, annotations={TO_START: profile.name}))
    return replace(base, run=run, start=start, behind=left)


def _behind(
    members: t.Sequence[Cluster], target: UpgradeTarget, known: Releases, now: datetime
) -> tuple[tuple[str, ...], tuple[Reason, ...]]:
    """Members that the run would move, or fail at, and why it would not move others (version unknown, too far, out of
    support, no image for a pool); those at the target are not worth a word."""
    found, reasons = [], []
    for each in members:
        asked = _work(each, target, known, now)
        if asked is None:
            reasons.append(Reason(UNKNOWN_VERSION, "its version is not known", each.name))
        elif asked.skip is None:
            found.append(each.name)
        elif asked.skip.reason != ALREADY_AT_TARGET:
            reasons.append(Reason(asked.skip.reason, asked.skip.message, each.name))
    return tuple(found), tuple(reasons)


def _work(member: Cluster, target: UpgradeTarget, known: Releases, now: datetime) -> UpgradeWork | None:
    """What the member would have to do; None for a version that cannot be read."""
    try:
        return upgrade_work(member, target, known, now)
    except ValueError:
        return None


def _made(name: str, runs: t.Sequence[UpdateRun]) -> dict[int, UpdateRun]:
    """The runs for a goal (``name``) by number from 1, in the order in which they were made; some may have been
    deleted."""
    found = {}
    for run in runs:
        ending = _NUMBER.search(run.name)
        for number in (1, int(ending[1]) if ending else 1):
            if run.name == _numbered(name, number):
                found[number] = run
    return dict(sorted(found.items()))


def _numbered(name: str, number: int) -> str:
    """The name of that run for the goal: ``name`` itself for the first, else with ``-2`` and so on, cut to fit."""
    return name_with_ending(name, f"-{number}", NAME_LENGTH) if number > 1 else name


def _to_start(run: UpdateRun) -> bool:
    """Whether whoever made the run was to start it, and did not live to do so. One that was made to be looked at is
    started by a person."""
    return run.status.phase == NEW and TO_START in run.metadata.annotations


def _as_made(run: UpdateRun) -> UpdateRun:
    """The run as its profile has made it: name, spec, and the mark that it is to be started."""
    annotations = {TO_START: run.metadata.annotations[TO_START]}
    return UpdateRun(metadata=ObjectMeta(name=run.name, annotations=annotations), spec=run.spec)


def _taken_up(
    rows: t.Sequence[MemberUpdateStatus], members: t.Iterable[Cluster], target: UpgradeTarget
) -> dict[str, str]:
    """By name, the members that a run for the goal has taken up, with their state in the last that has: it has them
    still, or let them end for a reason that holds. One that was brought to the target and is behind it now, as one that
    was rebuilt, is judged anew once, and one that was out of reach, or had no image, up to ``TRIES`` times: where runs
    and what is read of it differ that would have no end."""
    read = {each.name: each.read for each in members}
    asked = [each for each in members if target.version and is_version(each.version)]
    behind = {each.name for each in asked if not reached(each.version, target.version)}
    passed = Counter(row.name for row in rows if _at_target(row))
    again = {name for name, times in passed.items() if name in behind and times == 1}
    lost = _out_of_reach(rows)
    return {
        row.name: row.status.state
        for row in rows
        if row.name in lost or _is_theirs(row, read.get(row.name), row.name in again)
    }


def _advice(
    behind: t.Sequence[str], taken_up: t.Mapping[str, str], rows: t.Sequence[MemberUpdateStatus], at_version: bool
) -> str:
    """What a person does about members that are behind though a run was theirs, by what the last of the ``rows`` says
    of each; ``at_version``: by images alone."""
    lost = sorted(_out_of_reach(rows).intersection(behind))
    if lost:
        names = listed(lost, _TOLD)
        return (
            f"no run reached {names} in {TRIES} tries: see how it is upgraded, then try those again that were skipped"
        )
    if FAILED in map(taken_up.get, behind):
        return "try those again that failed"
    last = {row.name: row for row in rows if row.name in behind}
    skipped = (row for row in last.values() if row.status.state == SKIPPED and not _at_target(row))
    out = sorted(row.name for row in skipped if _left_out_for(row) not in UNTIL_READ)
    if out:
        return f"see why {listed(out, _TOLD)} was skipped there, then try those again"
    newer = "only their images are behind now, which a profile of channel NodeImage brings"
    return newer if at_version else "read the members again"


def _is_at(member: Cluster, version: str) -> bool:
    """Whether control plane and node pools of the member are known to be at the version."""
    return all(
        is_version(each) and reached(each, version) for each in (member.version, *(p.version for p in member.pools))
    )


def _out_of_reach(rows: t.Iterable[MemberUpdateStatus]) -> frozenset[str]:
    """Members that so many runs have left out as out of reach, or without an image, that no other is made for them."""
    times = Counter(row.name for row in rows if _left_out_for(row) in COUNTED)
    return frozenset(name for name, count in times.items() if count >= TRIES)


def _is_theirs(row: MemberUpdateStatus, seen: datetime | None, again: bool) -> bool:
    """Whether the run has the member still, or let it end for a reason that holds; ``seen`` is when the member was read
    last (None: not since), ``again`` whether one that was at the target is judged anew if it was read since."""
    why = _left_out_for(row)
    if why in LEFT_OUT_FOR:
        return False
    anew = why in UNTIL_READ or (again and _at_target(row))
    ended = row.status.completed_time
    return not (anew and seen and ended and seen > ended)


def _at_target(row: MemberUpdateStatus) -> bool:
    """Whether the run brought the member to the target, or found it there."""
    return row.status.state == COMPLETED or _left_out_for(row) == ALREADY_AT_TARGET


def _left_out_for(row: MemberUpdateStatus) -> str:
    """Why the run itself left the member out; empty where it did not."""
    return row.reason if row.status.state == SKIPPED and row.skipped_by == SYSTEM else ""


def _run(profile: AutoUpgradeProfile, target: UpgradeTarget, name: str) -> UpdateRun:
    """The run for the target, of that name, with the profile's strategy; images are named in it for Custom alone."""
    named = tuple(NodeImageVersion(version=each) for each in _image_names(target)) if target.selection == CUSTOM else ()
    return UpdateRun(
        metadata=ObjectMeta(name=name),
        spec=UpdateRunSpec(
            update_strategy_id=profile.spec.update_strategy_id,
            auto_upgrade_profile_id=profile.name,
            long_term_support=target.long_term_support,
            managed_cluster_update=ManagedClusterUpdate(
                upgrade=ManagedClusterUpgradeSpec(type=target.type, kubernetes_version=target.version),
                node_image_selection=NodeImageSelection(type=target.selection, custom_node_image_versions=named),
            ),
        ),
    )


def _image_names(target: UpgradeTarget) -> tuple[str, ...]:
    """Images by their full names, by family."""
    return tuple(f"{family}-{version}" for family, version in sorted(target.images.items()))


def _versions(target: UpgradeTarget) -> tuple[str, ...]:
    """What the run goes to: its images, where it is for these alone, else its version."""
    return _image_names(target) if target.type == NODE_IMAGE_ONLY else (target.version,)


def _told(reason: Reason) -> str:
    """The reason in words, with the member's name before it; cut behind 300 characters."""
    words = f"{reason.member}: {reason.message}" if reason.member else reason.message
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
