# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Commands on update runs: started (``minor-skipped``, ``member-busy``), stopped, parts skipped (``bad-target``),
deleted (``run-in-flight``); terms that are kept; all that are recorded, those that a retry or newer run stands for, and
a run as results have it."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import groupby

from ..._core.disruption.rotation.input import cluster_in_name
from ..._core.errors import FleetError, Problem
from ..._core.objects.audit.audit_entry import RUN_SKIPPED, RUN_STARTED, RUN_STOPPED
from ..._core.objects.updates.run_status import NodeImageSelectionStatus, UpdateRunStatus
from ..._core.objects.updates.update_run import REFUSE_ON_CONFLICT, UpdateRun
from ..._core.schema.codec import encode
from ..._core.updates import commands
from ..._core.updates.dispatch import operation_prefix
from ..._core.updates.record.run_state import run_of, status_of
from ..._core.updates.record.trimming import trimmed
from ..._core.updates.releases.versions import step_refused
from ..._core.updates.retry import is_left_behind, made_good_by, superseded_by
from ..._core.updates.run import RunState
from ..._core.updates.status import derive
from ..._core.updates.terms import Terms
from ..._core.values.listed import listed
from ..._core.values.update_states import (
    FAILED,
    MEMBER,
    NEW,
    RUNNING,
    TARGET_TYPES,
    TERMINAL,
)
from ..._store.records import Lease, Record, Records, replace_unless_moved
from .. import kept_terms
from ..audit.update_runs import testify_command
from ..keeping import Keeper
from ..nodes.other_rotations import nodes_in_hand
from ..nodes.sources import KIND as ROTATION
from ..recorded import recorded
from ..session import Session
from .approval_policy import vouched_since
from .claims import KIND, operations_in_flight
from .constraints import StartConstraints
from .defining import Outcome, define_run
from .gate_objects import KIND as GATE
from .gate_objects import RUN_LABEL, GateKeeper, refusals
from .pools import images_of, skew_problems
from .run_record import proven, read_run, run_document
from .sources import UpdateManifests

_ATTEMPTS = 10
DELETION_SECONDS = 60


def start_run(session: Session, run: UpdateRun, versions: t.Mapping[str, str], write: bool, who: str = "") -> Outcome:
    """The run started, or started again, with evidence; as it is, and unchecked, if it is on its way. At the first
    start ``who`` is recorded, and the images that are the same for all members are fixed. Without ``write`` nothing is
    recorded.

    ``versions`` are those of members as far as they are known: one that would have to skip a minor refuses the start,
    unless a profile made the run, or it goes minor by minor. FleetError ``minor-skipped``, ``kubelet-skew``,
    ``member-busy``, ``gate-refused``, ``conflict-state``, ``record-damaged``, ``duplicate-location``, as of
    ``read_run`` if others write meanwhile, and ``conflict`` if they always do. ValueError for no version in
    ``versions``.
    """
    state = run_of(run)
    if state.phase != NEW and not state.stop_requested and derive(state).state in ("Running", "Pending"):
        return Outcome(run=run, changed=False)
    far = [] if run.spec.auto_upgrade_profile_id or not run.target else _too_far(run, state, versions)
    now, kind = session.clock(), run.spec.managed_cluster_update.upgrade.type
    known = StartConstraints(session.records, kind, run.target).releases()
    skewed = skew_problems(session.records, run, known, now)
    problems = [*far, *skewed, *_held(session.records, run, state, now), *refusals(session.records, run)]
    if problems:
        raise FleetError.of(problems)
    images = run.status.node_image_selection
    if images is None and state.phase == NEW:
        images = images_of(session.records, run, known, now)
    done = _commanded(session.records, run, lambda at: commands.start(at, now), write, who, images)
    return testify_command(session, RUN_STARTED, done, write=write)


def restart_run(session: Session, run: UpdateRun, write: bool, who: str = "") -> Outcome:
    """As ``start_run``, with no versions known, for a run that was started before; one that never was is left as it
    is."""
    if run.status.phase == NEW:
        return Outcome(run=run, changed=False)
    return start_run(session, run, {}, write, who)


def keep_terms(session: Session, run: UpdateRun, given: Terms) -> UpdateRun:
    """As ``kept_terms.keep_terms``, of an update run. Nothing is recorded, nor raised, where a gate that was passed
    does not meet the new terms, for whoever conducts by them is refused later (``gate-unproven``), nor in a run that
    has ended. FleetError as of ``read_run`` and ``vouched_since``, and ``conflict``."""
    keeper = GateKeeper(session.records, lambda: vouched_since(session.hub), given)

    def may_keep(run: UpdateRun) -> bool:
        """Whether it goes on, and its passed gates would have been passed by the terms."""
        state = run_of(run)
        if derive(state).state in TERMINAL:
            return False
        try:
            keeper.prove(run, state, session.clock())
        except FleetError as error:
            if error.code != "gate-unproven":
                raise
            return False
        return True

    document = partial(run_document, session.records, run.name)
    return kept_terms.keep_terms(session, run.name, run, given, document, proven, may_keep)


def stop_run(session: Session, name: str, write: bool) -> Outcome:
    """The run asked to begin nothing new, with evidence; whoever conducts follows what is in flight to its end. Not
    changed where nothing is left to stop. FleetError as of ``read_run``, ``conflict-state`` for a run that cannot be
    stopped, ``conflict``."""
    done = _commanded(session.records, read_run(session.records, name), commands.stop, write)
    return testify_command(session, RUN_STOPPED, done, write=write)


def skip_targets(
    session: Session, name: str, targets: t.Sequence[commands.SkipTarget], write: bool, reason: str = ""
) -> Outcome:
    """Has members, groups, stages or waits left out for a ``reason`` that is kept, with evidence; all of the targets or
    none. FleetError as of ``read_run`` and ``commands.skip``, ``conflict``."""
    records, now = session.records, session.clock()
    done = _commanded(records, read_run(records, name), lambda at: commands.skip(at, targets, now, reason), write)
    names = [each.name for each in targets if each.type == MEMBER]
    told = listed([f"{each.type}:{each.name}" for each in targets], 20)
    return testify_command(session, RUN_SKIPPED, done, told, names, reason, write=write)


def targets_of(texts: t.Sequence[str], wanted: bool) -> tuple[commands.SkipTarget, ...]:
    """``Type:name`` as targets of a skip, in their order, repeats too. FleetError ``bad-target`` with every wrong one,
    ``nothing-asked`` where some are ``wanted`` and there are none. Whether a run has them is not asked."""
    if wanted and not texts:
        hint = "such as Member:c-1, Group:eu, Stage:prod or AfterStageWait:canary"
        raise FleetError("nothing-asked", "state skipped needs targets", "targets", hint)
    problems, targets = [], []
    for text in texts:
        kind, colon, name = text.partition(":")
        if not colon or not name or ":" in name or kind not in TARGET_TYPES:
            hint = f"Type:name, with a type of {', '.join(TARGET_TYPES)}"
            problems.append(Problem("bad-target", f"{text!r} names nothing that can be skipped", "targets", hint))
        targets.append(commands.SkipTarget(type=kind, name=name))
    if problems:
        raise FleetError.of(problems)
    return tuple(targets)


def run_data(outcome: Outcome) -> dict[str, t.Any]:
    """A run for results: its ``name``, ``state``, ``run_outcome`` and ``digest``, ``uncovered`` members, its whole
    ``status``, and ``notes``."""
    status = outcome.run.status
    return {
        "name": outcome.run.name,
        "state": status.status.state,
        "run_outcome": status.outcome,
        "digest": status.digest,
        "uncovered": list(status.uncovered_members),
        "status": encode(status),
        "notes": [each.as_dict() for each in outcome.notes],
    }


def recorded_runs(records: Records, names: t.Sequence[str]) -> tuple[tuple[UpdateRun, ...], tuple[Problem, ...]]:
    """The named runs, in that order, or without ``names`` all that can be read and proven, in the order of their names,
    and what is wrong with the others. FleetError ``no-such-run``, and those of a named run."""
    if names:
        return tuple(read_run(records, name) for name in names), ()
    runs: list[UpdateRun] = []
    problems: list[Problem] = []
    for document in records.list(KIND):
        try:
            runs.append(proven(document))
        except FleetError as error:
            problems += error.problems
    return tuple(runs), tuple(problems)


def known_beside(records: Records, runs: t.Iterable[UpdateRun]) -> tuple[UpdateRun, ...]:
    """All recorded runs that can be read and proven, if one of ``runs`` has failed or left somebody behind; else none.
    FleetError where runs cannot be listed."""
    behind = any(_has_failed(each) or any(map(is_left_behind, each.status.members)) for each in runs)
    return recorded_runs(records, ())[0] if behind else ()


def made_good(runs: t.Iterable[UpdateRun], known: t.Sequence[UpdateRun]) -> dict[str, str]:
    """Of the runs those whose retry, among the ``known`` ones, has left nobody behind, by name, each with the name of
    the last retry, as of ``made_good_by``."""
    behind = [each for each in runs if any(map(is_left_behind, each.status.members))]
    return {each.name: by for each in behind if (by := made_good_by(each, known))}


def superseded(runs: t.Iterable[UpdateRun], known: t.Sequence[UpdateRun]) -> dict[str, UpdateRun]:
    """Of the runs those that have failed and that a newer one of the ``known`` ones stands for, by name, each with that
    one, as of ``superseded_by``."""
    return {each.name: by for each in filter(_has_failed, runs) if (by := superseded_by(each, known))}


def _has_failed(run: UpdateRun) -> bool:
    """Whether it has ended as failed."""
    return run.status.status.state == FAILED


@dataclass(frozen=True, kw_only=True)
class AskedRuns:
    """Runs that somebody wants to look at, recorded or as they would be defined. ``to_be_made`` are names of those that
    no record has as they are here; ``problems`` are what is wrong with those left out, ``notes`` are worth a word."""

    runs: tuple[UpdateRun, ...]
    to_be_made: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


def asked_runs(records: Records, names: t.Sequence[str], given: UpdateManifests, now: datetime) -> AskedRuns:
    """As ``recorded_runs``, but those that are ``given`` are as they would be defined ``now``; without names these
    alone, if there are any.

    FleetError ``no-such-run``, those of a named run, and of ``define_run``.
    """
    wanted = names or sorted(given.runs)
    if not wanted:
        found, problems = recorded_runs(records, ())
        return AskedRuns(runs=found, problems=problems, notes=given.findings)
    runs: list[UpdateRun] = []
    notes = list(given.findings)
    unmade: list[str] = []
    for name in wanted:
        try:
            if name not in given.runs:
                runs.append(read_run(records, name))
                continue
        except FleetError as error:
            raise _nowhere(error, given) if error.code == "no-such-run" else error from None
        made = define_run(records, name, given, write=False, now=now)
        runs.append(made.run)
        unmade += [name] if made.changed else []
        notes += [each for each in made.notes if each not in notes]
    return AskedRuns(runs=tuple(runs), to_be_made=tuple(unmade), notes=tuple(notes))


def _nowhere(error: FleetError, given: UpdateManifests) -> FleetError:
    """The error of a run that is not recorded, and not given either: how it would be."""
    way = "one that is not recorded yet is found in the files that it is given in: src, or updates of the playbook"
    there = f"in what is given: {', '.join(sorted(given.runs))}" if given.runs else way
    return FleetError(error.code, error.message, error.where, f"{error.hint}; {there}")


def delete_run(session: Session, name: str, *, force: bool, write: bool) -> bool:
    """Deletes the run, last, with its gates and the rotations of its node pools; whether there was one to delete.
    ``force`` says that this is meant where upgrades are in flight, which go on unobserved, nodes are in hand, which
    stay cordoned, or the run cannot be read or is being conducted. Marks of its operations on members stay, and count
    for nothing; its leases on members run out. FleetError ``run-in-flight``, ``record-damaged``, ``lease-held``,
    ``lease-lost``. Without ``write`` nothing is deleted, and whether it is being conducted is not asked."""
    records = session.records
    there = _deletable(records, name, force) is not None
    if not there or not write:
        return there
    with contextlib.ExitStack() as stack:
        lease = None
        if not force:  # whoever conducts it stores what is begun under this lease
            keeper = stack.enter_context(Keeper(records, session.holder, lambda: "", DELETION_SECONDS))
            lease = keeper.take(f"run/{name}")
        state = _deletable(records, name, force)
        if state is not None:
            _delete(records, name, state, lease)
        return state is not None


def _delete(records: Records, name: str, state: RunState, lease: Lease | None) -> None:
    """Deletes the run's gates, the rotations with names of its operations, and last the run, under the lease if there
    is one. FleetError ``lease-lost``, others of the records."""
    for gate in records.list(GATE, {RUN_LABEL: name}):
        records.delete(GATE, gate["metadata"]["name"], lease=lease)
    for rotation in records.names(ROTATION):
        if rotation.startswith(operation_prefix(state)):
            records.delete(ROTATION, rotation, lease=lease)
    records.delete(KIND, name, lease=lease)


def _deletable(records: Records, name: str, force: bool) -> RunState | None:
    """The run's state, None where there is no run. FleetError as of ``_refuse_in_flight``, and ``record-damaged``,
    unless ``force``, which makes an empty state of a run that cannot be read."""
    document = records.get(KIND, name)
    if document is None:
        return None
    try:
        state = run_of(recorded(UpdateRun, document))
    except FleetError:
        if not force:
            raise
        state = RunState(name=name, uid=document["metadata"]["uid"], stages=())
    if not force:
        _refuse_in_flight(records, name, state)
    return state


def _refuse_in_flight(records: Records, name: str, state: RunState) -> None:
    """FleetError ``run-in-flight`` where upgrades are, or where rotations of the run have nodes in hand of members
    whose upgrades have ended; ``record-damaged`` of a rotation of the run."""
    problems = []
    flying = [row.name for row in state.members if row.state == RUNNING]
    if flying:
        hint = "stop it and conduct it to its end, or say force: true; the upgrades go on unobserved then"
        problems.append(Problem("run-in-flight", f"upgrades are in flight: {', '.join(flying)}", name, hint))
    left = [
        each for each in nodes_in_hand(records, operation_prefix(state)) if cluster_in_name(each.name) not in flying
    ]
    for rotation, nodes in groupby(left, key=lambda each: each.rotation):
        text = f"rotation {rotation} has nodes in hand: {listed([each.name for each in nodes], 5)}"
        hint = f"carry rotation {rotation} on, or stop it, until that has ended, or say force: true;"
        hint += " nodes that are cordoned stay so then"
        problems.append(Problem("run-in-flight", text, name, hint))
    if problems:
        raise FleetError.of(problems)


def _commanded(
    records: Records,
    run: UpdateRun,
    change: t.Callable[[RunState], RunState],
    write: bool,
    who: str = "",
    images: NodeImageSelectionStatus | None = None,
) -> Outcome:
    """The run after a command, recorded with ``write``; ``who`` and ``images`` are for its first start. It takes no
    lease: the conductor, if there is one, meets the change and goes on. FleetError of the command, as of ``read_run``,
    and ``conflict`` if others write it at every attempt."""
    for _attempt in range(_ATTEMPTS):
        state = run_of(run)
        after = change(state)
        if after == state:
            return Outcome(run=run, changed=False)
        status = status_of(after, derive(after), run.status)
        if state.phase == NEW and after.phase != NEW:
            status = replace(status, started_by=who, node_image_selection=images)
        if not write:
            return Outcome(run=replace(run, status=status), changed=True)
        kept = replace_unless_moved(records, {**run_document(records, run.name), **_versioned(records, run, status)})
        if kept is not None:
            return Outcome(run=proven(kept), changed=True)
        run = read_run(records, run.name)
    raise FleetError("conflict", "the run is being written all the time", run.name, "try again")


def _versioned(records: Records, run: UpdateRun, status: UpdateRunStatus) -> Record:
    """Status, as of ``trimmed``, and metadata for the record, to be written only over what the status was made from.
    FleetError ``no-such-run``."""
    document = run_document(records, run.name)
    return {
        "status": trimmed(status)[1],
        "metadata": {**document["metadata"], "resourceVersion": run.metadata.resource_version},
    }


def _too_far(run: UpdateRun, state: RunState, versions: t.Mapping[str, str]) -> list[Problem]:
    """A problem ``minor-skipped`` for each unfinished member whose version is known and too far from the target.
    ValueError for a version that is none."""
    chain, found = run.spec.managed_cluster_update.upgrade.chain, []
    for row in state.members:
        if row.state in TERMINAL or row.name not in versions:
            continue
        refused = step_refused(versions[row.name], run.target, chain)
        if refused:
            hint = "bring it up one minor at a time (upgrade.chain: true, or runs of its own), or skip it"
            found.append(Problem("minor-skipped", refused.message, row.name, hint))
    return found


def _held(records: Records, run: UpdateRun, state: RunState, now: datetime) -> list[Problem]:
    """A problem ``member-busy`` for each member that a start would begin and another run works on, if the run is to be
    refused for them. FleetErrors of the records."""
    if run.spec.on_conflict != REFUSE_ON_CONFLICT or derive(state).state not in commands.STARTABLE:
        return []
    names = commands.start(state, now).unfinished
    members = (each for each in records.list("FleetMember") if each["metadata"]["name"] in names)
    return [
        Problem("member-busy", f"{operation} is in flight", name)
        for name, operation in operations_in_flight(records, members).items()
        if not operation.startswith(operation_prefix(state))
    ]
