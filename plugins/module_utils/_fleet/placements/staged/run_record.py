# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The record of one staged update run: read (``no-such-run``), made or told to run or stop (``run-not-started``), with
who did that, written with another status, its terms kept, deleted (``run-in-flight``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from functools import partial

from ...._core.errors import FleetError, Problem
from ...._core.objects.api_groups import PLACEMENT_API
from ...._core.objects.reading import check_update
from ...._core.objects.staged.key import RUN_KINDS, RunKey
from ...._core.objects.staged.update_run import INITIALIZE, RUN, ClusterStagedUpdateRun
from ...._core.rollout.staged.approving import STARTED_BY
from ...._core.rollout.staged.decide import StagedState, acts_in_flight, is_over
from ...._core.schema.codec import encode
from ...._core.updates.approvals import MADE_BY
from ...._core.updates.terms import Terms
from ...._store.kinds import record_name
from ...._store.records import Lease, Record, Records, replace_unless_moved
from ... import kept_terms
from ...conductor.journal import Book, Journal
from ...recorded import delete_as_read
from ...session import Session
from .sources import StagedManifests
from .typed_records import recorded_run

_ATTEMPTS = 10


class StagedBook:
    """How a run stands in the records while it is conducted. The lease is the placement's; no record of the run has its
    epoch. ``uid`` is that of the run that is meant; empty: whichever has the name."""

    def __init__(self, name: str, epoch: int, uid: str = "") -> None:
        self._key, self._epoch, self.uid = RunKey.of(name), epoch, uid
        self.name, self.kind = name, self._key.kinds.run

    def read(self, document: Record) -> StagedState:
        """The run in the document. FleetError ``record-damaged``."""
        return StagedState(run=recorded_run(self._key, document))

    def written(self, document: Record, state: StagedState, epoch: int) -> Record:
        """The document with the status of this run."""
        return {**document, "status": encode(state.run.status)}

    def remember(self) -> None:
        """Does nothing: this book remembers nothing."""

    def epoch(self) -> int:
        """That of the lease, under which every write is made."""
        return self._epoch

    def gone(self) -> FleetError:
        """The FleetError ``run-deleted``, not raised."""
        message = "the run was deleted while it was carried out; what was given to clusters stays there"
        return FleetError("run-deleted", message, self._key.title)


class HeldJournal(Journal[StagedState]):
    """One whose lease is kept beside it; ``check`` raises once that is lost."""

    def __init__(self, records: Records, book: Book[StagedState], lease: Lease, check: t.Callable[[], None]) -> None:
        self._check = check
        super().__init__(records, book, lease)

    def renew(self) -> None:
        """Only checks the lease. FleetError ``lease-lost``."""
        self._check()


@dataclass(frozen=True, kw_only=True)
class Commanded:
    """A run as it is wanted. ``changed``: its spec is another or it is new, so that it is to be written; ``before`` is
    the recorded one that it was made from, None for a new one."""

    run: ClusterStagedUpdateRun
    changed: bool
    before: ClusterStagedUpdateRun | None

    @property
    def is_new(self) -> bool:
        """Whether it is not recorded yet."""
        return self.before is None


def run_document(records: Records, name: str) -> Record:
    """The record of the run. FleetError ``no-such-run`` with the names of those that the account may list, and others
    of the records."""
    document = records.get(RunKey.of(name).kinds.run, name)
    if document is None:
        there = ", ".join(_names_of_runs(records)) or "none"
        hint = f"runs that are recorded in {records.place}: {there}"
        raise FleetError("no-such-run", "there is no such staged update run", name, hint)
    return document


def read_run(records: Records, name: str) -> ClusterStagedUpdateRun:
    """The recorded run; FleetError as of ``run_document``, ``record-damaged``."""
    return recorded_run(RunKey.of(name), run_document(records, name))


def _names_of_runs(records: Records) -> list[str]:
    """The names of runs of both kinds, sorted in each, as far as the account may list them. FleetError for any other
    reason."""
    found: list[str] = []
    for each in RUN_KINDS:
        try:
            found += sorted(records.names(each.run))
        except FleetError as error:
            if error.code != "forbidden":
                raise
    return found


def wanted_run(records: Records, name: str, given: StagedManifests, state: str = "") -> Commanded:
    """The run as it is to be recorded, with the ``state`` that is asked for, empty for none. What a file says of the
    state counts unless it says Initialize, as a file does that says nothing. A run that has ended keeps its state.
    Nothing is written. FleetError ``no-such-run``, ``record-damaged``, what an update may not change, and others of the
    records."""
    key = RunKey.of(name)
    defined, stored = given.runs.get(name), records.get(key.kinds.run, name)
    if stored is None and defined is not None:
        fresh = replace(defined, metadata=replace(defined.metadata, generation=1))
        return Commanded(run=_with_state(fresh, state), changed=True, before=None)
    before = recorded_run(key, stored or run_document(records, name))
    wanted = before if defined is None else replace(before, spec=_merged(before, defined))
    if is_over(before):
        state = ""
        wanted = replace(wanted, spec=replace(wanted.spec, state=before.spec.state))
    wanted = _with_state(wanted, state)
    problems = check_update(before, wanted, key.title)
    if problems:
        raise FleetError.of(problems)
    generation = before.metadata.generation + (wanted.spec != before.spec)
    wanted = replace(wanted, metadata=replace(wanted.metadata, generation=generation))
    return Commanded(run=wanted, changed=wanted.spec != before.spec, before=before)


def record_run(records: Records, wanted: Commanded, who: str) -> ClusterStagedUpdateRun:
    """Writes the run as it is wanted, if it is ``changed``, and others have not told it the same, without a lease: a
    conductor, if there is one, meets the change and goes on. ``who`` is recorded as its maker if it is new, and as who
    started it if it is told to run for the first time; empty for nobody.

    FleetError ``conflict`` if others have told it something else, made another of its name, or write it at every
    attempt, ``already-exists`` if they made one of the name of a new one, ``no-such-run`` if they deleted it,
    ``record-damaged``, and others of the records.
    """
    run, key, before = wanted.run, wanted.run.key, wanted.before
    if not wanted.changed:
        return run
    spec = {**encode(run.spec), "state": run.spec.state}
    if before is None:
        annotations = {name: each for name, each in run.metadata.annotations.items() if name != STARTED_BY}
        annotations |= {**({MADE_BY: who} if who else {}), **_start(INITIALIZE, run, who)}
        parts = {"labels": dict(run.metadata.labels), "annotations": annotations}
        metadata = {**key.metadata(run.name), **{name: each for name, each in parts.items() if each}}
        made = records.create({"apiVersion": PLACEMENT_API, "kind": key.kinds.run, "metadata": metadata, "spec": spec})
        return recorded_run(key, made)
    for _attempt in range(_ATTEMPTS):
        document = run_document(records, str(key))
        metadata, found = document["metadata"], recorded_run(key, document)
        is_same = found.metadata.uid == before.metadata.uid
        if is_same and found.spec == run.spec:
            return found
        if not is_same or found.spec != before.spec:
            message = "somebody else has commanded it, or made another of its name, since it was read"
            raise FleetError("conflict", message, key.title, "see how it stands, and try again if it is still meant")
        annotations = {**(metadata.get("annotations") or {}), **_start(found.spec.state, run, who)}
        metadata = {**metadata, **({"annotations": annotations} if annotations else {})}
        kept = replace_unless_moved(records, {**document, "metadata": metadata, "spec": spec})
        if kept is not None:
            return recorded_run(key, kept)
    raise FleetError("conflict", "the run is being written all the time", str(key), "try again")


def _start(before: str, run: ClusterStagedUpdateRun, who: str) -> dict[str, str]:
    """The annotation by which ``who`` starts the run, which was in the state ``before``; none where it was started
    already, or is not told to run, and for nobody."""
    return {STARTED_BY: who} if who and before == INITIALIZE and run.spec.state == RUN else {}


def keep_terms(session: Session, run: ClusterStagedUpdateRun, given: Terms) -> ClusterStagedUpdateRun:
    """As ``kept_terms.keep_terms``, of a staged run; one that has ended keeps no more. FleetError ``no-such-run``,
    ``record-damaged``, ``conflict``."""
    key = run.key
    return kept_terms.keep_terms(
        session,
        str(key),
        run,
        given,
        partial(run_document, session.records, str(key)),
        partial(recorded_run, key),
        lambda run: not is_over(run),
    )


def delete_run(records: Records, name: str, *, force: bool, write: bool) -> bool:
    """Deletes the run with its approval requests, if it is to ``write``; whether there is one. Clusters in flight stay
    as they are. Without ``force`` FleetError ``run-in-flight`` where there are any, ``record-damaged`` where the run
    cannot be read, ``conflict`` where it is written meanwhile; and of the records. Deleted requests stay deleted."""
    key = RunKey.of(name)
    document = records.get(key.kinds.run, name)
    if document is None:
        return False
    try:
        flying = [each.cluster for each in acts_in_flight(StagedState(run=recorded_run(key, document)))]
    except FleetError:
        if not force:
            raise
        flying = []
    if flying and not force:
        hint = "stop it and carry it on until it has stopped, or say force: true"
        raise FleetError("run-in-flight", f"clusters are in flight: {', '.join(flying)}", key.title, hint)
    if write:
        for each in records.list(key.kinds.approval, key.labels, key.namespace):
            records.delete(key.kinds.approval, record_name(each))
        delete_as_read(records, key.kinds.run, document, force)
    return True


def _merged(before: ClusterStagedUpdateRun, defined: ClusterStagedUpdateRun) -> t.Any:
    """The spec as a file has it, with the recorded state where the file's is Initialize."""
    state = before.spec.state if defined.spec.state == INITIALIZE else defined.spec.state
    return replace(defined.spec, state=state)


def _with_state(run: ClusterStagedUpdateRun, state: str) -> ClusterStagedUpdateRun:
    """The run with this state; as it is for an empty one."""
    return replace(run, spec=replace(run.spec, state=state)) if state else run


def refuse_stop(run: ClusterStagedUpdateRun) -> None:
    """FleetError ``run-not-started`` for a run whose state is Initialize: it was never told to run, and cannot be told
    to stop."""
    if run.spec.state == INITIALIZE:
        raise FleetError.of(
            [Problem("run-not-started", "it was never started", run.key.title, "state absent takes it away")]
        )
