# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evidence of what is done to update runs: defined, commanded, conducted, deleted, their gates approved or refused, of
approvals that count for nothing; the commit that manifests were read from."""

from __future__ import annotations

import typing as t

from ..._core.objects.audit.audit_entry import (
    APPROVAL_REFUSED,
    DONE,
    FAILED,
    GATE_APPROVED,
    GATE_REFUSED,
    PARTIAL,
    RUN_CONDUCTED,
    RUN_DEFINED,
    RUN_DELETED,
    WAITING,
)
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.overview.history import approval_words
from ..._core.updates.decide import acts_in_flight
from ..._core.updates.record.run_state import run_of
from ..._core.updates.record.summary import versions_in_words
from ..._core.updates.run import RunState
from ..._core.updates.status import derive
from ..._core.values import update_states
from ..._core.values.listed import listed
from ..._store.revision import source_revision
from ..session import Session
from ..updates.claims import KIND
from ..updates.defining import Outcome
from ..updates.gate_completion import REFUSED, Completed
from ..updates.gate_objects import UncountedGate
from ..updates.progress import RunProgress, counted
from .conducting import AttestedTelling
from .evidence import Deed, Testimony, testify

NAMED = 10


def revision_of(session: Session, src: t.Sequence[str] | None) -> str:
    """The commit of the first of the paths that manifests were read from; empty where none were, or it is not known."""
    return source_revision(src[0], session.environ) if src else ""


def testify_command(
    session: Session,
    action: str,
    outcome: Outcome,
    message: str = "",
    members: t.Sequence[str] = (),
    reason: str = "",
    *,
    write: bool,
) -> Outcome:
    """Gives the outcome of a command back; where it changed the run, and this was to ``write``, writes the entry of
    ``action``; the rest as of ``Deed``."""
    if write and outcome.changed:
        run = outcome.run
        deed = Deed(action=action, kind=KIND, name=run.name, digest=run.status.digest, message=message, members=members,
                    reason=reason)  # fmt: skip
        testify(session, deed)
    return outcome


def testify_definition(
    session: Session, outcome: Outcome, src: t.Sequence[str] | None = None, approved: str = "", *, write: bool
) -> Outcome:
    """Gives the outcome of a definition back; where it changed the run, and this was to ``write``, writes the entry
    RUN_DEFINED with all members of the run; ``src`` as of ``revision_of``, ``approved`` as of ``Deed``."""
    if write and outcome.changed:
        run = outcome.run
        names = [row.name for row in run_of(run).members]
        deed = Deed(
            action=RUN_DEFINED,
            kind=KIND,
            name=run.name,
            members=names,
            digest=run.status.digest,
            approved=approved,
            revision=revision_of(session, src),
            message=f"{run.spec.managed_cluster_update.upgrade.type} to {run.target or 'newer node images'}",
        )
        testify(session, deed)
    return outcome


def testify_deletion(session: Session, name: str, *, gone: bool, write: bool) -> bool:
    """Gives ``gone`` back; where it is true, and this was to ``write``, writes the entry that the run was deleted."""
    if gone and write:
        testify(session, Deed(action=RUN_DELETED, kind=KIND, name=name))
    return gone


def testify_answer(session: Session, done: Completed, reason: str, *, write: bool) -> Completed:
    """Gives back what became of a gate; where this call approved or refused it, and was to ``write``, writes the entry
    of that, which says so where nobody vouches for the name, or it is that of a maker of the run."""
    if write and done.changed:
        gate = done.gate
        doubt = "" if done.verified else "; nobody vouches for the name"
        own = "; who did it made or started the run" if done.own else ""
        deed = Deed(
            action=GATE_REFUSED if done.state == REFUSED else GATE_APPROVED,
            kind=KIND,
            name=done.run,
            digest=done.digest,
            approved="" if done.state == REFUSED else done.digest,
            reason=reason,
            message=f"gate {gate.gate.id}, {gate.position}{doubt}{own}",
        )
        testify(session, deed)
    return done


def testify_uncounted(session: Session, run: UpdateRun, found: UncountedGate) -> None:
    """Writes the entry that the approval of a Gate counts for nothing, and why; none where nobody had approved it."""
    if found.by is not None:
        placed = found.placed
        deed = Deed(
            action=APPROVAL_REFUSED,
            kind=KIND,
            name=run.name,
            digest=run.status.digest,
            reason=found.why,
            message=f"gate {placed.gate.id}, {placed.position}; {approval_words(found.by)}",
        )
        testify(session, deed)


def attested_telling(
    session: Session,
    run: UpdateRun,
    progress: RunProgress,
    approved: str,
    src: t.Sequence[str],
) -> AttestedTelling[RunState]:
    """What the conductor of the run tells, with evidence of it as soon as an upgrade begins, or once the run has
    settled, if that has changed anything; ``src`` as of ``revision_of``, ``approved`` as of ``Deed``."""
    deed = Deed(
        action=RUN_CONDUCTED,
        kind=KIND,
        name=run.name,
        digest=run.status.digest,
        approved=approved,
        revision=revision_of(session, src),
        message=f"{run.spec.managed_cluster_update.upgrade.type} to {run.target or 'newer node images'}",
    )
    return AttestedTelling(progress, Testimony(session, deed), acts_in_flight, _members, _outcome, _versions)


def _members(state: RunState) -> list[str]:
    """Members that are not finished, by name; all members, in the order of the run, where each is."""
    return sorted(state.unfinished) or [row.name for row in state.members]


def _versions(state: RunState) -> dict[str, str]:
    """What is known of versions and images of members, by name in the order of the run; those of which nothing is known
    are left out."""
    found = {row.name: versions_in_words(row) for row in state.members}
    return {name: f"{name}: {words}" for name, words in found.items() if words}


def _outcome(state: RunState) -> tuple[str, str]:
    """FAILED or WAITING (stopped) as the state says; else PARTIAL if members failed, or DONE. And the state in words,
    with at most NAMED of the members that failed."""
    status = derive(state)
    failed = [row.name for row in state.members if row.state == update_states.FAILED]
    message = f"{status.state}: {counted(state)}{f'; failed: {listed(failed, NAMED)}' if failed else ''}"
    if status.state == update_states.FAILED:
        return FAILED, message
    if status.state == update_states.STOPPED:
        return WAITING, message
    return (PARTIAL if failed else DONE), message
