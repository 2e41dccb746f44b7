# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Update runs as they are defined, also to retry what one left (``name-taken``): sequence, members and images fixed and
recorded under a digest, not started; ``run-started``, ``digest-mismatch``, ``no-members``, ``no-such-strategy``,
``profile-beside``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ..._core.errors import FleetError, Problem
from ..._core.objects.api_groups import FLEET_API
from ..._core.objects.reading import read
from ..._core.objects.updates.run_status import UpdateRunStatus
from ..._core.objects.updates.strategy import UpdateRunStrategy, UpdateStrategy
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.schema.codec import encode
from ..._core.updates.approvals import MADE_BY
from ..._core.updates.integrity import DIGEST, DIGEST_FORM, STRATEGY, problems_of
from ..._core.updates.record.digest import FORM, run_digest, strategy_digest
from ..._core.updates.record.run_state import run_of, status_of
from ..._core.updates.retry import follow_up, retry_name
from ..._core.updates.run import RunState
from ..._core.updates.skipping import with_skips_of
from ..._core.updates.status import derive
from ..._core.updates.strategy import NAMED, Candidate, Resolved, candidates_of_run, resolve
from ..._core.values.approved_digest import refuse_another
from ..._core.values.listed import listed
from ..._core.values.update_states import NEW
from ..._store.records import Record, Records
from ..given import record_specs
from ..members.members import strangers_remark
from ..recorded import recorded
from .claims import KIND
from .pools import images_of_no_pool, refuse_pools_without_driver, with_chosen, with_images
from .run_record import proven, proven_run, read_run, run_document
from .sources import UpdateManifests


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A run after a command, or as it would be; ``changed``: that makes, or would make, its record new or another;
    ``notes`` are worth a word."""

    run: UpdateRun
    changed: bool
    notes: tuple[Problem, ...] = ()


def define_run(
    records: Records,
    name: str,
    given: UpdateManifests,
    write: bool,
    approved: str = "",
    who: str = "",
    now: datetime | None = None,
) -> Outcome:
    """The run as it is defined, or as it is recorded where ``given`` does not have it, with its sequence and members
    fixed, and what was skipped of it (``with_skips_of``). With ``write`` it is recorded, if that makes it another (else
    it is not ``changed``), and before it the given strategies. One that was started stands as it is.

    ``approved`` is the digest that it must have, if not empty. ``who`` is recorded as its maker if its spec is new or
    another. Images of selection Consistent are chosen ``now`` (None: the present), and stand in the digest.

    FleetError: ``no-such-run``, ``no-such-strategy``, ``run-started`` (its definition has changed since),
    ``digest-mismatch``, ``upgrade-type-not-supported``, ``record-damaged``, ``duplicate-location``, those of
    ``proven``, and of ``resolve``; with ``write`` those of ``read``, and ``conflict`` or ``already-exists`` if others
    write, after which strategies, or the run without its sequence, may be recorded: the next call completes that.
    """
    defined, stored = given.runs.get(name), records.get(KIND, name)
    if defined is None and stored is None:
        run_document(records, name)
    before = recorded(UpdateRun, stored) if stored else None
    wanted = defined or before
    if wanted is None:
        raise AssertionError("one of both was found")
    if before is not None and before.status.phase != NEW:
        if defined is not None and encode(defined.spec) != encode(before.spec):
            hint = "runs are edited only before their start; make a new one under another name"
            raise FleetError("run-started", "the run was started and its definition has changed since", name, hint)
        before = proven_run(before)
        _check_digest(before, approved)
        return Outcome(run=before, changed=False, notes=(*given.findings, *_not_evaluated(given)))
    named = run_strategy(records, wanted.spec.strategy_name, f"{KIND}/{name}", given)
    strategy = named or wanted.spec.strategy
    uid = before.metadata.uid if before else ""
    everybody = candidates_on_record(records)
    taking = candidates_of_run(everybody, wanted.spec.members)
    resolved = resolve(strategy, taking, uid or "00000000-0000-0000-0000-000000000000")
    now = now or datetime.now(UTC)
    skips = run_of(before) if before is not None else None
    run = with_images(records, _prepared(wanted, before, strategy, resolved, skips, now), given, now)
    refuse_pools_without_driver(records, run)
    _check_digest(run, approved)
    notes = (
        *given.findings,
        *_not_evaluated(given),
        *(Problem(each.code, each.message, f"{KIND}/{name} {each.path}") for each in resolved.warnings),
        *strangers_remark(wanted.spec.members, {each.name for each in everybody}, f"{KIND}/{name}"),
        *images_of_no_pool(records, run),
    )
    if before is not None and _same(before, run):
        return Outcome(run=proven_run(before), changed=False, notes=notes)
    if write:
        run = _record_run(records, run, stored, strategy, given, who, now)
    return Outcome(run=run, changed=True, notes=notes)


def refuse_for_nobody(run: UpdateRun) -> None:
    """FleetError ``no-members`` for a run that is yet to begin and has no member: it would end at once as Skipped,
    which counts as success."""
    if run.status.phase != NEW or run.status.members:
        return
    left = run.status.uncovered_members
    said = f"in no group of it: {listed(left, NAMED)}" if left else "no member is recorded"
    hint = "join members by gitops.fleet.join with a group that the strategy names, or mend the strategy"
    where = f"{KIND}/{run.name}"
    raise FleetError(
        "no-members", f"the run would upgrade nobody; {said}", where, hint if left else "join members first"
    )


def _not_evaluated(given: UpdateManifests) -> t.Iterator[Problem]:
    """A remark ``profile-beside`` for each profile that lies beside the run: whoever put it there may wait for what it
    would make."""
    hint = "ansible-playbook gitops.fleet.tick, or state evaluated of gitops.fleet.auto_upgrade_profile"
    for name in given.profiles:
        words = f"AutoUpgradeProfile {name} is not evaluated by this verb, and makes no run here"
        yield Problem("profile-beside", words, f"AutoUpgradeProfile/{name}", hint)


def follow_up_run(
    records: Records, name: str, write: bool, approved: str = "", who: str = "", now: datetime | None = None
) -> Outcome:
    """The follow-up run for the failed and skipped members of a finished run, called ``name`` (``follow_up``), by
    ``define_run``: made, or laid out anew where it was not started, and not started; one that was started is given as
    it is, not ``changed``. ``write``, ``approved``, ``who`` and ``now`` as of ``define_run``.

    FleetError: those of ``read_run``, ``follow_up`` and ``define_run``, and ``name-taken`` where the name is that of
    another run.
    """
    before = read_run(records, name)
    wanted = follow_up(before, retry_name(before))
    taken = records.get(KIND, wanted.name)
    if taken is not None and not _repeats(recorded(UpdateRun, taken), before):
        hint = f"delete {wanted.name}, or make the run by hand with spec.retryOf and spec.members"
        raise FleetError("name-taken", f"there is another run {wanted.name}", f"{KIND}/{name}", hint)
    return define_run(records, wanted.name, UpdateManifests(runs={wanted.name: wanted}), write, approved, who, now)


def _repeats(run: UpdateRun, before: UpdateRun) -> bool:
    """Whether that is the other one's retry, and not that of an earlier run of its name, which was deleted."""
    made, first = run.metadata.creation_timestamp, before.metadata.creation_timestamp
    return run.spec.retry_of == before.name and not (made and first and made < first)


def candidates_on_record(records: Records) -> tuple[Candidate, ...]:
    """The members of the fleet in the order of their names, with what groups and selectors look at (labels of None
    where there is no MemberCluster: no selector takes it). FleetErrors of the records."""
    labels = {each["metadata"]["name"]: each["metadata"].get("labels") or {} for each in records.list("MemberCluster")}
    return tuple(
        Candidate(
            name=each["metadata"]["name"],
            group=(each.get("spec") or {}).get("group") or "",
            labels=labels.get(each["metadata"]["name"]),
        )
        for each in records.list("FleetMember")
    )


def run_strategy(records: Records, name: str, where: str, given: UpdateManifests) -> UpdateRunStrategy | None:
    """The sequence of that name, given or else recorded; None for an empty name. ``where`` tells in the error who names
    it. FleetError ``no-such-strategy``, ``record-damaged``."""
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
    wanted: UpdateRun,
    before: UpdateRun | None,
    strategy: UpdateRunStrategy | None,
    resolved: Resolved,
    skips: RunState | None,
    now: datetime,
) -> UpdateRun:
    """The run with its tree, digest and annotations, not started; what the user has skipped of it in ``skips`` stays
    so."""
    run = replace(wanted, metadata=before.metadata if before else wanted.metadata)
    state = RunState(
        name=run.name,
        uid=run.metadata.uid,
        stages=resolved.stages,
        unreachable_timeout=timedelta(seconds=run.spec.unreachable_timeout_seconds),
    )
    state = with_skips_of(state, skips, now) if skips is not None else state
    digest = run_digest(run.spec, resolved.stages)
    base = UpdateRunStatus(
        strategy=strategy,
        target_version=run.target,
        digest=digest,
        epoch=before.status.epoch if before else 0,
        uncovered_members=resolved.uncovered,
        observed_generation=run.metadata.generation,
    )
    given = {**wanted.metadata.annotations, **run.metadata.annotations}
    held = {DIGEST: digest, DIGEST_FORM: FORM, **({STRATEGY: strategy_digest(strategy)} if strategy else {})}
    annotations = {**{key: each for key, each in given.items() if key != STRATEGY}, **held}
    metadata = replace(run.metadata, annotations=annotations)
    return replace(run, metadata=metadata, status=status_of(state, derive(state), base))


def _same(before: UpdateRun, run: UpdateRun) -> bool:
    """Whether the recorded run says the same, also of members that it leaves out, and its tree was made already, by us,
    and not altered."""
    made = before.status.observed_generation == before.metadata.generation and before.status.stages
    held = (DIGEST, DIGEST_FORM, STRATEGY)
    digests = [[each.metadata.annotations.get(key) for key in held] for each in (before, run)]
    same = encode(before.spec) == encode(run.spec) and digests[0] == digests[1]
    same = same and before.status.uncovered_members == run.status.uncovered_members
    return bool(made) and same and not problems_of(before)


def _record_run(
    records: Records,
    run: UpdateRun,
    stored: Record | None,
    strategy: UpdateRunStrategy | None,
    given: UpdateManifests,
    who: str,
    now: datetime,
) -> UpdateRun:
    """Writes strategies, the run with its digest, and its tree, which needs the run's uid; the run as recorded.
    FleetError, and nothing is written, for a run that no manifest could have: nobody could read it afterwards;
    ``conflict`` or ``already-exists`` if others write, and as of ``resolve`` and ``proven``, after which a part may be
    written."""
    read({"apiVersion": FLEET_API, "kind": KIND, "metadata": {"name": run.name}, "spec": encode(run.spec)}, KIND)
    record_specs(records, given.strategies.values(), write=True)
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
    taking = candidates_of_run(candidates_on_record(records), fresh.spec.members)
    ready = _prepared(fresh, fresh, strategy, resolve(strategy, taking, fresh.metadata.uid), run_of(run), now)
    ready = with_chosen(ready, run.status.node_image_selection)
    metadata = {**stored["metadata"], "annotations": dict(ready.metadata.annotations)}
    return proven(records.replace({**stored, "metadata": metadata, "status": encode(ready.status)}))


def _check_digest(run: UpdateRun, approved: str) -> None:
    """FleetError ``digest-mismatch`` if a digest is given and does not approve that of the run."""
    hint = "members or the definition have changed; look at it again and have the new digest approved"
    refuse_another(approved, run.status.digest, "the run now is", run.name, hint)
