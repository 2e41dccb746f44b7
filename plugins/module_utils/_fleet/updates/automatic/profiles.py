# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Auto-upgrade profiles (AutoUpgradeProfile): recorded, deleted, and evaluated against catalogues and members as they
were read last; runs made of what is new and started, ``reasons`` why there are none, runs for ``levelling``, remarks
``run-beside`` and ``no-window``."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ...._core.errors import FleetError, Problem
from ...._core.objects.audit.audit_entry import PROFILE_MADE_RUN
from ...._core.objects.clusters.fleet_member import FleetMember
from ...._core.objects.updates.auto_upgrade_profile import AutoUpgradeProfile
from ...._core.objects.updates.update_run import FULL, UpdateRun
from ...._core.schema.codec import encode
from ...._core.updates.profiles.auto_upgrade import (
    DISABLED,
    Evaluation,
    Reason,
    evaluate,
    reason_to_mend,
    run_for_review,
    status_after,
)
from ...._core.updates.profiles.levelling import ProposedRun, levelling
from ...._core.updates.releases.node_images import Cluster, cluster_of
from ...._core.updates.releases.releases import Releases
from ...._core.updates.strategy import Candidate, resolve
from ...._core.values.listed import listed
from ...._core.values.update_states import MINOR_GAP, OUT_OF_SUPPORT, TERMINAL
from ...._store.records import Lease, Records, replace_unless_moved
from ...audit.evidence import Deed, testify
from ...given import Named, record_specs
from ...leases import acquire
from ...recorded import recorded
from ...session import Session
from ..constraints import StartConstraints
from ..defining import candidates_on_record, define_run, run_strategy
from ..sources import UpdateManifests
from ..update_run import recorded_runs, start_run
from .catalogue import known_releases

KIND, LEASE = "AutoUpgradeProfile", "turn/auto-upgrade"
LEASE_SECONDS = 120
_NAMED = 10
_PROBE = "00000000-0000-0000-0000-000000000000"
_FIXED = ("update_strategy_id", "node_image_selection")


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """What came of one profile (``found``: its evaluation): ``made`` and ``started`` say whether its run was so now.
    ``steps`` are runs, not made, that would bring members level which the profile leaves behind (too many minors, or
    out of support); ``notes`` are the remarks ``run-beside`` and ``no-window``."""

    found: Evaluation
    made: bool = False
    started: bool = False
    steps: tuple[ProposedRun, ...] = ()
    notes: tuple[Problem, ...] = ()

    @property
    def run(self) -> str:
        """The run that is there now for what the profile aims at, or would be; empty for none."""
        return self.found.run.name if self.found.run else self.found.existing

    def as_dict(self) -> dict[str, t.Any]:
        """What came of it for results: ``name``, ``type``, ``target``, ``images``, ``run``, ``made``, ``started``,
        ``behind`` (members), ``reasons``, ``levelling`` and ``notes``; texts are empty where there is nothing."""
        found, target = self.found, self.found.target
        return {
            "name": found.profile,
            "type": target.type if target else "",
            "target": target.version if target else "",
            "images": dict(target.images) if target else {},
            "run": self.run,
            "made": self.made,
            "started": self.started,
            "behind": list(found.behind),
            "reasons": [{"code": each.code, "message": each.message, "member": each.member} for each in found.reasons],
            "levelling": [{"version": each.version, "members": list(each.members)} for each in self.steps],
            "notes": [each.as_dict() for each in self.notes],
        }


@dataclass(frozen=True, kw_only=True)
class ProfilesReport:
    """What came of profiles, in the order of their names; ``changed``: a run was made or started, or would be. ``held``
    says who evaluates meanwhile, empty for nobody: nothing was done then, or nothing after ``profiles``."""

    profiles: tuple[Evaluated, ...] = ()
    changed: bool = False
    held: str = ""

    @property
    def failures(self) -> tuple[Problem, ...]:
        """The first thing of each profile that is for people to mend, if there is one."""
        found = ((each.found.profile, reason_to_mend(each.found)) for each in self.profiles)
        return tuple(Problem(why.code, why.message, f"{KIND}/{name}") for name, why in found if why is not None)


def record_profiles(records: Records, given: UpdateManifests, write: bool) -> bool:
    """Records, with ``write``, the profiles that are given, with strategies and catalogues; whether any was new or
    another. FleetError ``profile-fixed`` for a field that a profile keeps, ``record-damaged``, and as of
    ``record_specs``."""
    problems = []
    for name, wanted in given.profiles.items():
        stored = records.get(KIND, name)
        before = recorded(AutoUpgradeProfile, stored).spec if stored else wanted.spec
        for field in _FIXED:
            if getattr(before, field) != getattr(wanted.spec, field):
                hint = "delete the profile, or make one of another name; runs that it made stay"
                message = f"{field} of a profile cannot be changed: it was {getattr(before, field)!r}"
                problems.append(Problem("profile-fixed", message, f"{KIND}/{name}", hint))
    if problems:
        raise FleetError.of(problems)
    specs: list[Named] = [*given.strategies.values(), *given.catalogues.values()]
    return record_specs(records, (*specs, *given.profiles.values()), write)


def delete_profile(records: Records, name: str, write: bool) -> bool:
    """Deletes the profile, with ``write``; its runs stay. Whether it was there. FleetErrors of the records."""
    there = records.get(KIND, name) is not None
    if there and write:
        records.delete(KIND, name)
    return there


def evaluate_profiles(
    session: Session, given: UpdateManifests, names: t.Sequence[str], who: str = "", *, write: bool, start: bool
) -> ProfilesReport:
    """Makes the run that each profile of these names, or each, wants now, and starts it with ``start``, as ``who``;
    without ``start`` it is made for review, of a disabled profile too. What is ``given`` goes before what is recorded;
    but with ``write`` no run is made for a profile that is not recorded, or with ``start`` is recorded as disabled.
    Without ``write`` it is only told what would be. With it what came of each is kept in its status, and while somebody
    else evaluates nothing more is done (``held``). A profile whose run cannot be made or started has that among its
    reasons, and stops no other.

    FleetError ``no-such-profile``, ``record-damaged``, those of ``known_releases``, and others of the records; runs
    that were made or started by then stay so.
    """
    if not write:
        planned = tuple(_evaluate_each(session, given, names, start, who, None))
        return ProfilesReport(profiles=planned, changed=any(each.found.run is not None for each in planned))
    try:
        turn = _Turn(session.records, acquire(session.records, LEASE, session.holder, LEASE_SECONDS))
    except FleetError as error:
        if error.code != "lease-held":
            raise
        return ProfilesReport(held=error.message)
    done: list[Evaluated] = []
    try:
        done.extend(_evaluate_each(session, given, names, start, who, turn))
        return _report(done)
    except FleetError as error:
        if error.code != "lease-lost":
            raise
        return _report(done, error.message)
    finally:
        with contextlib.suppress(FleetError):
            session.records.release(turn.lease)


@dataclass
class _Turn:
    """The lease of whoever evaluates, for as long as that takes."""

    records: Records
    lease: Lease

    def keep(self) -> None:
        """To be called before anything is written. FleetError ``lease-lost`` if somebody else evaluates by now, and
        others of the records."""
        self.lease = self.records.renew(self.lease)


def _report(done: t.Sequence[Evaluated], held: str = "") -> ProfilesReport:
    """The report of what was done; ``held`` is who took the turn from us."""
    changed = any(each.made or each.started for each in done)
    return ProfilesReport(profiles=tuple(done), changed=changed, held=held)


def _evaluate_each(
    session: Session,
    given: UpdateManifests,
    names: t.Sequence[str],
    start: bool,
    who: str,
    turn: _Turn | None,
) -> t.Iterator[Evaluated]:
    """What comes of each profile, one by one, in the order of their names; without a ``turn`` nothing is written. The
    status of one is written when the next is asked for: to be gone through to the end. FleetError as of
    ``evaluate_profiles``, and ``lease-lost``."""
    records, now = session.records, session.clock()
    known = known_releases(records, given)
    members = [recorded(FleetMember, each) for each in records.list("FleetMember")]
    taking, fleet = candidates_on_record(records), {each.name: cluster_of(each) for each in members}
    done: list[Evaluated] = []
    for profile in _wanted(records, given, names):
        runs = recorded_runs(records, ())[0]
        found = _found(profile, known, records, given, taking, fleet, runs, now, start)
        if turn and found.run is not None:
            found = _still_wanted(records, found, start)
        others = _under_way(runs, () if turn else done)
        one = _with_steps_and_notes(records, given, found, fleet, known, others, now)
        if found.run is not None:
            one = _made(session, given, one, found.run, who, turn)
        if turn and not (one.made or one.started):
            turn.keep()
        done.append(one)
        yield one
        if turn:
            turn.keep()
            _remember(records, profile, one.found, now)


def _wanted(records: Records, given: UpdateManifests, names: t.Sequence[str]) -> list[AutoUpgradeProfile]:
    """Recorded and given profiles of these names, or all, by name; the given spec goes before the recorded one.
    FleetError ``no-such-profile``, ``record-damaged``."""
    there = {each["metadata"]["name"]: recorded(AutoUpgradeProfile, each) for each in records.list(KIND)}
    there = {**there, **{name: each for name, each in given.profiles.items() if name not in there}}
    for name, each in given.profiles.items():
        there[name] = replace(there[name], spec=each.spec)
    missing = [name for name in names if name not in there]
    if missing:
        hint = f"profiles that are recorded in {records.place}: {', '.join(sorted(there)) or 'none'}"
        raise FleetError("no-such-profile", f"there is no AutoUpgradeProfile {', '.join(missing)}", "names", hint)
    return [each for name, each in sorted(there.items()) if not names or name in names]


def _found(
    profile: AutoUpgradeProfile,
    known: Releases,
    records: Records,
    given: UpdateManifests,
    taking: t.Sequence[Candidate],
    fleet: t.Mapping[str, Cluster],
    runs: t.Sequence[UpdateRun],
    now: datetime,
    start: bool,
) -> Evaluation:
    """The evaluation of a profile, by ``evaluate`` with ``start``, else by ``run_for_review``; of members alone that
    its sequence takes: others would be behind for ever, run after run. What is wrong with its sequence is its reasons,
    and keeps no other profile from its evaluation."""
    try:
        strategy = run_strategy(records, profile.spec.strategy_name, f"{KIND}/{profile.name}", given)
        stages = resolve(strategy, taking, _PROBE).stages
    except FleetError as error:
        return Evaluation(profile=profile.name, reasons=_reasons(error))
    names = [row.name for stage in stages for group in stage.groups for row in group.members]
    clusters = [fleet[name] for name in names if name in fleet]
    decide = evaluate if start else run_for_review
    return decide(profile, known, clusters, runs, now)


def _still_wanted(records: Records, found: Evaluation, start: bool) -> Evaluation:
    """Without its run if the profile was deleted while others were evaluated, or, with ``start``, disabled. FleetError
    ``record-damaged``."""
    stored = records.get(KIND, found.profile)
    gone = "deleted" if stored is None else "disabled"
    if stored is not None and not (start and recorded(AutoUpgradeProfile, stored).spec.disabled):
        return found
    return replace(found, run=None, start=False, reasons=(*found.reasons, Reason(DISABLED, f"it was just {gone}")))


def _with_steps_and_notes(
    records: Records,
    given: UpdateManifests,
    found: Evaluation,
    fleet: t.Mapping[str, Cluster],
    known: Releases,
    others: t.Mapping[str, tuple[str, t.Collection[str]]],
    now: datetime,
) -> Evaluated:
    """The evaluation with the steps that would bring members level which it leaves behind, none where these cannot be
    found, and with its notes. FleetError as of ``_unwindowed``."""
    gaps = [each.member for each in found.reasons if each.code in (MINOR_GAP, OUT_OF_SUPPORT)]
    steps: tuple[ProposedRun, ...] = ()
    if gaps and found.target and found.target.version:
        with contextlib.suppress(FleetError, ValueError):
            steps = levelling([fleet[name] for name in gaps], found.target.version, known, now)
    notes = (*_beside(found, others), *_unwindowed(records, given, found, now))
    return Evaluated(found=found, steps=steps, notes=notes)


def _under_way(runs: t.Sequence[UpdateRun], planned: t.Sequence[Evaluated]) -> dict[str, tuple[str, t.Collection[str]]]:
    """Runs that have not ended, and those that would be there, by name: their states, and the members that they still
    have."""
    found: dict[str, tuple[str, t.Collection[str]]] = {
        each.name: (
            each.status.status.state,
            {row.name for row in each.status.members if row.status.state not in TERMINAL},
        )
        for each in runs
        if each.status.status.state not in TERMINAL
    }
    return found | {each.run: ("to be made", each.found.behind) for each in planned if each.found.run}


def _beside(found: Evaluation, others: t.Mapping[str, tuple[str, t.Collection[str]]]) -> t.Iterator[Problem]:
    """A remark ``run-beside`` for each other run that has members of this one: they wait for one another there. Nothing
    where there is no run to make."""
    for name, (state, members) in others.items():
        both = sorted(set(found.behind).intersection(members))
        if both and found.run is not None and name != found.run.name:
            words = f"run {name} ({state}) has {listed(both, _NAMED)}, too; there one of both runs waits for the other"
            yield Problem("run-beside", words, f"{KIND}/{found.profile}")


def _unwindowed(records: Records, given: UpdateManifests, found: Evaluation, now: datetime) -> t.Iterator[Problem]:
    """A remark ``no-window`` if members will be upgraded as soon as their turn comes, at any time of day; nothing where
    no run is to be started. FleetError as of ``StartConstraints``."""
    if found.run is None or not found.start:
        return
    permits = StartConstraints(records, found.target.type if found.target else FULL, found.run.target, given)
    bare = permits.without_window(found.behind, now)
    if bare:
        words = f"without a maintenance window, so upgraded as soon as their turn comes: {listed(bare, _NAMED)}"
        yield Problem("no-window", words, f"{KIND}/{found.profile}", "give them a FleetMaintenance")


def _made(
    session: Session, given: UpdateManifests, one: Evaluated, run: UpdateRun, who: str, turn: _Turn | None
) -> Evaluated:
    """With the run recorded, and started if that is wanted, and both told in audit and journal; a run that could not be
    carried out is not made, which is a reason. One that cannot be started now is started by the next evaluation.
    Without a ``turn`` it is only tried. FleetError ``lease-lost``."""
    wanted = replace(given, runs={run.name: run})
    if turn:
        turn.keep()
    try:
        made = define_run(session.records, run.name, wanted, turn is not None, "", who, session.clock())
    except FleetError as error:
        reasons = (*one.found.reasons, *_reasons(error))
        return replace(one, found=replace(one.found, run=None, reasons=reasons), notes=())
    if turn is None:
        return one
    if made.changed:
        deed = Deed(
            action=PROFILE_MADE_RUN,
            kind=KIND,
            name=one.found.profile,
            members=one.found.behind,
            digest=made.run.status.digest,
            message=f"UpdateRun/{run.name} to {run.target or 'newer node images'}",
        )
        testify(session, deed)
    begun, found = False, one.found
    try:
        turn.keep()
        begun = start_run(session, made.run, {}, True, who).changed if found.start else False
    except FleetError as error:
        found = replace(found, reasons=(*found.reasons, *_reasons(error)))
    done = " and ".join(word for word, was in (("made", made.changed), ("started", begun)) if was)
    if done:
        words = f"run {run.name} was {done} for {listed(found.behind, _NAMED)}"
        session.journal(KIND, found.profile, "RunMade", words)
    return replace(one, found=found, made=made.changed, started=begun)


def _reasons(error: FleetError) -> tuple[Reason, ...]:
    """The problems of an error as reasons."""
    return tuple(Reason(each.code, each.message) for each in error.problems)


def _remember(records: Records, profile: AutoUpgradeProfile, found: Evaluation, now: datetime) -> None:
    """Writes the profile's status, if it is recorded and nobody writes it at this moment; an evaluation that says the
    same as the last one writes nothing. FleetError ``record-damaged``, and others of the records."""
    stored = records.get(KIND, profile.name)
    if stored is None:
        return
    before = recorded(AutoUpgradeProfile, stored).status
    status = status_after(replace(profile, status=before), found, now)
    if replace(status, last_triggered_at=before.last_triggered_at) != before:
        replace_unless_moved(records, {**stored, "status": encode(status)})
