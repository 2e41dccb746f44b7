# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Update runs: made from a definition, started, stopped, skipped, deleted. Carrying them on is the conductor's."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import timedelta

from ..._core.errors import FleetError, Problem
from ..._core.objects.api_groups import FLEET_API
from ..._core.objects.updates.run_status import NodeImageSelectionStatus, UpdateRunStatus
from ..._core.objects.updates.strategy import UpdateRunStrategy, UpdateStrategy
from ..._core.objects.updates.update_run import REFUSE_ON_CONFLICT, UpdateRun
from ..._core.schema.codec import encode
from ..._core.updates import commands
from ..._core.updates.approvals import MADE_BY
from ..._core.updates.integrity import DIGEST, problems_of, recorded_digest
from ..._core.updates.record.digest import run_digest
from ..._core.updates.record.run_state import run_of, status_of
from ..._core.updates.releases.versions import step_refused
from ..._core.updates.retry import follow_up, limited_to, retry_name
from ..._core.updates.run import RunState
from ..._core.updates.status import derive
from ..._core.updates.strategy import Candidate, Resolved, resolve
from ..._core.values.approved_digest import refuse_another
from ..._core.values.update_states import (
    NEW,
    RUNNING,
    TARGET_TYPES,
    TERMINAL,
)
from ..._store.records import Record, Records, replaced
from ..given import keep
from ..recorded import recorded
from ..session import Session
from .claims import KIND, busy
from .constraints import StartConstraints
from .gate_objects import KIND as GATE
from .gate_objects import RUN_LABEL
from .pools import images_of, refuse_type, skew_problems
from .run_record import proven, read_run, run_document
from .sources import UpdateManifests

_ATTEMPTS = 10


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A run after a command, or as it would be; ``notes`` are worth a word."""

    run: UpdateRun
    changed: bool
    notes: tuple[Problem, ...] = ()


def define_run(
    records: Records, name: str, given: UpdateManifests, write: bool, approved: str = "", who: str = ""
) -> Outcome:
    """The run as it is defined, or as it is recorded where ``given`` does not have it, with its sequence and members
    fixed; with ``write`` it is recorded, and the given strategies too. One that was started stands as it is.

    ``approved`` is the digest that it must have, if not empty. ``who`` is recorded as its maker if its spec is new or
    another.

    FleetError: ``no-such-run``, ``no-such-strategy``, ``run-started`` (its definition has changed since),
    ``digest-mismatch``, ``upgrade-type-not-supported``, those of ``proven``, and those of ``resolve``.
    """
    defined, stored = given.runs.get(name), records.get(KIND, name)
    if defined is None and stored is None:
        run_document(records, name)
    before = recorded(UpdateRun, stored) if stored else None
    wanted = defined or before
    if wanted is None:
        raise AssertionError("one of both was found")
    if before is not None and stored is not None and before.status.phase != NEW:
        if defined is not None and encode(defined.spec) != encode(before.spec):
            hint = "runs are edited only before their start; make a new one under another name"
            raise FleetError("run-started", "the run was started and its definition has changed since", name, hint)
        before = proven(stored)
        _check_digest(before, approved)
        return Outcome(run=before, changed=False, notes=(*given.findings, *_not_evaluated(given)))
    named = run_strategy(records, wanted.spec.strategy_name, f"{KIND}/{name}", given)
    strategy = named or wanted.spec.strategy
    uid = before.metadata.uid if before else ""
    taking = limited_to(candidates(records), wanted.spec.members)
    resolved = resolve(strategy, taking, uid or "00000000-0000-0000-0000-000000000000")
    run = _prepared(wanted, before, strategy, resolved)
    refuse_type(records, run)
    _check_digest(run, approved)
    notes = (
        *given.findings,
        *_not_evaluated(given),
        *(Problem(each.code, each.message, f"{KIND}/{name} {each.path}") for each in resolved.warnings),
    )
    if before is not None and stored is not None and _same(before, run):
        return Outcome(run=proven(stored), changed=False, notes=notes)
    if write:
        run = _kept(records, run, stored, strategy, given, who)
    return Outcome(run=run, changed=True, notes=notes)


def _not_evaluated(given: UpdateManifests) -> t.Iterator[Problem]:
    """Profiles that lie beside the run: whoever put them there may wait for what they would make."""
    hint = "ansible-playbook gitops.fleet.tick, or state evaluated of gitops.fleet.auto_upgrade_profile"
    for name in given.profiles:
        words = f"AutoUpgradeProfile {name} is not evaluated by this verb, and makes no run here"
        yield Problem("profile-beside", words, f"AutoUpgradeProfile/{name}", hint)


def retried(records: Records, name: str, write: bool, approved: str = "", who: str = "") -> Outcome:
    """The run that repeats what a finished one left behind, made as ``define_run`` does and not started; the same
    each time it is asked for.

    FleetError: those of ``follow_up`` and of ``define_run``, and ``name-taken``.
    """
    before = read_run(records, name)
    wanted = follow_up(before, retry_name(before))
    taken = records.get(KIND, wanted.name)
    if taken is not None and recorded(UpdateRun, taken).spec.retry_of != before.name:
        hint = f"delete {wanted.name}, or make the run by hand with spec.retryOf and spec.members"
        raise FleetError("name-taken", f"there is another run {wanted.name}", f"{KIND}/{name}", hint)
    return define_run(records, wanted.name, UpdateManifests(runs={wanted.name: wanted}), write, approved, who)


def candidates(records: Records) -> tuple[Candidate, ...]:
    """The members of the fleet by name, with what groups and selectors look at."""
    labels = {each["metadata"]["name"]: each["metadata"].get("labels") or {} for each in records.list("MemberCluster")}
    return tuple(
        Candidate(
            name=each["metadata"]["name"],
            group=each["spec"].get("group", ""),
            labels=labels.get(each["metadata"]["name"], {}),
        )
        for each in records.list("FleetMember")
    )


def started(session: Session, run: UpdateRun, versions: t.Mapping[str, str], write: bool, who: str = "") -> Outcome:
    """The run started, or started again. Nothing changes if it is on its way. ``who`` is recorded at the first start.

    ``versions`` are those of members as far as they are known: one that would have to skip a minor refuses the start,
    unless a profile made the run, which leaves it out.
    """
    state = run_of(run)
    if state.phase != NEW and not state.stop_requested and derive(state).state in ("Running", "Pending"):
        return Outcome(run=run, changed=False)
    far = [] if run.spec.auto_upgrade_profile_id or not run.target else _too_far(state, run.target, versions)
    now, kind = session.clock(), run.spec.managed_cluster_update.upgrade.type
    known = StartConstraints(session.records, kind, run.target).releases()
    skewed = skew_problems(session.records, run, known, now)
    problems = [*far, *skewed, *_held(session.records, run, state)]
    if problems:
        raise FleetError.of(problems)
    images = images_of(session.records, run, known, now) if state.phase == NEW else None
    return _commanded(session.records, run, lambda at: commands.start(at, now), write, who, images)


def stopped(session: Session, name: str, write: bool) -> Outcome:
    """Nothing new begins; what is in flight is followed to its end."""
    records, now = session.records, session.clock()
    return _commanded(records, read_run(records, name), lambda at: commands.stop(at, now), write)


def skipped(session: Session, name: str, targets: t.Sequence[commands.SkipTarget], write: bool) -> Outcome:
    """Members, groups, stages or waits are left out; all of the targets or none."""
    records, now = session.records, session.clock()
    return _commanded(records, read_run(records, name), lambda at: commands.skip(at, targets, now), write)


def targets_of(texts: t.Sequence[str], wanted: bool) -> tuple[commands.SkipTarget, ...]:
    """``Type:name`` as targets of a skip. FleetError ``bad-target`` with every wrong one, ``nothing-asked``."""
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


def as_data(outcome: Outcome) -> dict[str, t.Any]:
    """A run for results."""
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
    """The named runs, or all of them, by name; what is wrong with those that are left out.

    FleetError ``no-such-run``, and those of a named run.
    """
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


def absent(records: Records, name: str, force: bool, write: bool) -> bool:
    """Deletes the run with its gates; whether there was one to delete. What is in flight goes on unobserved, which
    ``force`` has to say is meant; so has it of a run that cannot be read.

    FleetError ``run-in-flight``, ``record-damaged``. Without ``write`` nothing is deleted.
    """
    document = records.get(KIND, name)
    if document is None:
        return False
    try:
        state = run_of(recorded(UpdateRun, document))
    except FleetError:
        if not force:
            raise
        state = RunState(name=name, uid="", stages=())
    rows = state.members
    flying = [row.name for row in rows if row.state == RUNNING]
    if flying and not force:
        hint = "stop it and conduct it to its end, or say force: true; the upgrades go on unobserved then"
        raise FleetError("run-in-flight", f"upgrades are in flight: {', '.join(flying)}", name, hint)
    if write:
        for gate in records.list(GATE, {RUN_LABEL: name}):
            records.delete(GATE, gate["metadata"]["name"])
        records.delete(KIND, name)
    return True


def _commanded(
    records: Records,
    run: UpdateRun,
    change: t.Callable[[RunState], RunState],
    write: bool,
    who: str = "",
    images: NodeImageSelectionStatus | None = None,
) -> Outcome:
    """The run after a command; ``who`` and ``images`` are for its first start.
    It takes no lease: the conductor, if there is one, meets the change and goes on."""
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
        kept = replaced(records, {**run_document(records, run.name), **_versioned(records, run, status)})
        if kept is not None:
            return Outcome(run=proven(kept), changed=True)
        run = read_run(records, run.name)
    raise FleetError("conflict", "the run is being written all the time", run.name, "try again")


def _versioned(records: Records, run: UpdateRun, status: t.Any) -> Record:
    """The status, to be written only over what it was made from."""
    document = run_document(records, run.name)
    return {
        "status": encode(status),
        "metadata": {**document["metadata"], "resourceVersion": run.metadata.resource_version},
    }


def run_strategy(records: Records, name: str, where: str, given: UpdateManifests) -> UpdateRunStrategy | None:
    """The sequence of that name, given or recorded; None for no name. FleetError ``no-such-strategy``."""
    if not name:
        return None
    if name in given.strategies:
        return given.strategies[name].spec.strategy
    document = records.get("UpdateStrategy", name)
    if document is None:
        there = sorted({*given.strategies, *(each["metadata"]["name"] for each in records.list("UpdateStrategy"))})
        hint = f"known, here and in {records.place}: {', '.join(there) or 'none'}"
        raise FleetError("no-such-strategy", f"there is no UpdateStrategy {name}", where, hint)
    return recorded(UpdateStrategy, document).spec.strategy


def _prepared(
    wanted: UpdateRun, before: UpdateRun | None, strategy: UpdateRunStrategy | None, resolved: Resolved
) -> UpdateRun:
    """The run with its tree, not started."""
    run = replace(wanted, metadata=before.metadata if before else wanted.metadata)
    state = RunState(
        name=run.name,
        uid=run.metadata.uid,
        stages=resolved.stages,
        unreachable_timeout=timedelta(seconds=run.spec.unreachable_timeout_seconds),
    )
    digest = run_digest(run.spec, resolved.stages)
    base = UpdateRunStatus(
        strategy=strategy,
        target_version=run.target,
        digest=digest,
        epoch=before.status.epoch if before else 0,
        uncovered_members=resolved.uncovered,
        observed_generation=run.metadata.generation,
    )
    annotations = {**wanted.metadata.annotations, **run.metadata.annotations, DIGEST: digest}
    metadata = replace(run.metadata, annotations=annotations)
    return replace(run, metadata=metadata, status=status_of(state, derive(state), base))


def _same(before: UpdateRun, run: UpdateRun) -> bool:
    """Whether the recorded run says the same, and its tree was made already, by us."""
    made = before.status.observed_generation == before.metadata.generation and before.status.stages
    same = encode(before.spec) == encode(run.spec) and recorded_digest(before) == recorded_digest(run)
    return bool(made) and same and not problems_of(before)


def _kept(
    records: Records,
    run: UpdateRun,
    stored: Record | None,
    strategy: UpdateRunStrategy | None,
    given: UpdateManifests,
    who: str,
) -> UpdateRun:
    """Writes strategies, the run with its digest, and its tree, which needs the run's uid."""
    keep(records, given.strategies.values(), write=True)
    body = {"apiVersion": FLEET_API, "kind": KIND, "spec": encode(run.spec)}
    annotations = dict(run.metadata.annotations)
    if stored is None or stored.get("spec") != body["spec"]:
        annotations = {key: each for key, each in annotations.items() if key != MADE_BY}
        annotations |= {MADE_BY: who} if who else {}
    named = {"labels": dict(run.metadata.labels), "annotations": annotations}
    if stored is None:
        metadata = {"name": run.name, **named}
        stored = records.create({**body, "metadata": {key: value for key, value in metadata.items() if value}})
    else:
        stored = records.replace({**stored, **body, "metadata": {**stored["metadata"], **named}})
    fresh = recorded(UpdateRun, {key: each for key, each in stored.items() if key != "status"})
    taking = limited_to(candidates(records), fresh.spec.members)
    ready = _prepared(fresh, fresh, strategy, resolve(strategy, taking, fresh.metadata.uid))
    metadata = {**stored["metadata"], "annotations": dict(ready.metadata.annotations)}
    return proven(records.replace({**stored, "metadata": metadata, "status": encode(ready.status)}))


def _check_digest(run: UpdateRun, approved: str) -> None:
    hint = "members or the definition have changed; look at it again and have the new digest approved"
    refuse_another(approved, run.status.digest, "the run now is", run.name, hint)


def _too_far(state: RunState, target: str, versions: t.Mapping[str, str]) -> list[Problem]:
    found = []
    for row in state.members:
        if row.state in TERMINAL or row.name not in versions:
            continue
        refused = step_refused(versions[row.name], target)
        if refused:
            hint = "bring it up one minor at a time by runs of its own, or skip it"
            found.append(Problem("minor-skipped", refused.message, row.name, hint))
    return found


def _held(records: Records, run: UpdateRun, state: RunState) -> list[Problem]:
    """Members that another run works on, if the run is to be refused for them."""
    if run.spec.on_conflict != REFUSE_ON_CONFLICT:
        return []
    names = {row.name for row in state.members}
    found = []
    for document in records.list("FleetMember"):
        operation = busy(records, document) if document["metadata"]["name"] in names else ""
        if operation and not operation.startswith(f"{run.name}-{run.metadata.uid[:8]}."):
            found.append(Problem("member-busy", f"{operation} is in flight", document["metadata"]["name"]))
    return found
