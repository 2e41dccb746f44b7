# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Approving what a staged update run waits for, as a verb asks it, with evidence: whether a name is a staged run or an
UpdateRun (``ambiguous-run``), its digest, who approves, whether a newer run makes that useless."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...._core.errors import FleetError
from ...._core.objects.audit.audit_entry import STAGE_APPROVED
from ...._core.objects.staged.key import RUN_KINDS, RunKey
from ...._core.rollout.staged.beside import SUPERSEDED
from ...._core.rollout.staged.decide import StagedState, decide
from ...._core.rollout.staged.digest import staged_digest
from ...._store.records import Records
from ...audit.evidence import Deed, testify
from ...session import Session
from ...updates.approval_policy import OF_STAGED_RUNS, vouched_since
from ...updates.gate_completion import Approver
from .approvals import GivenApproval, approve
from .run_record import read_run
from .sources import StagedManifests
from .world import run_ground

UPDATE_RUN = "UpdateRun"
STAGED = tuple(each.run for each in RUN_KINDS)


@dataclass(frozen=True, kw_only=True)
class WishedApproval:
    """Which approval of the ``run`` is given: of which ``stage``, ``timing`` ``Before`` or ``After`` it, empty for any;
    ``digest`` is that of the run as it was looked at, empty for none; without ``self_approval`` whoever made or started
    the run may not give it."""

    run: str
    stage: str = ""
    timing: str = ""
    digest: str = ""
    reason: str = ""
    self_approval: bool = True


def is_staged(records: Records, run: str, kind: str) -> bool:
    """Whether the run is a staged one; False where none of the name is there. A ``kind`` that is not empty decides
    alone, and nothing is read. Runs of a kind that the account may not read count as not there. FleetError
    ``ambiguous-run``, ``forbidden`` where it may read neither kind, ``bad-option`` where no run of the kind can be
    called so, and others of the records."""
    own = RunKey.of(run).kinds.run
    if kind and kind != own and kind in STAGED:
        hint = "a StagedUpdateRun is called namespace/name, a ClusterStagedUpdateRun has no namespace"
        raise FleetError("bad-option", f"no {kind} is called so", run, hint)
    if kind:
        return kind == own
    there, forbidden = [], []
    for each in (UPDATE_RUN, own):
        try:
            if records.get(each, run) is not None:
                there.append(each)
        except FleetError as error:
            if error.code != "forbidden":
                raise
            forbidden.append(error)
    if len(forbidden) > 1:
        raise forbidden[0]
    if len(there) > 1:
        raise FleetError("ambiguous-run", f"there are two runs of this name: {', '.join(there)}", run, "say its kind")
    return there == [own]


def give_approval(session: Session, asked: WishedApproval, who: str, *, write: bool) -> GivenApproval:
    """Gives the approval as ``who``, with evidence; without ``write`` it only says what would be. ``useless`` says so
    where a newer run stands in its way. FleetError as of ``read_run``, ``run_ground``, ``vouched_since`` and
    ``approve``; ``forbidden`` by a hub that sees somebody else than ``who``."""
    run = read_run(session.records, asked.run)
    ground = run_ground(session.records, run, StagedManifests())
    digest = staged_digest(run, ground.hash_of(run.status.resource_snapshot_index_used))
    done = approve(
        session.records,
        run,
        digest,
        asked.stage,
        asked.timing,
        Approver(name=who, since=vouched_since(session.hub, OF_STAGED_RUNS)),
        asked.digest,
        asked.reason,
        session.clock(),
        write=write,
        self_approval=asked.self_approval,
    )
    failure = decide(StagedState(run=run), ground.seen(ground.bindings), session.clock()).state.failure
    done = replace(done, useless=failure.message if failure and failure.code == SUPERSEDED else "")
    return _attested(session, run.key, done, asked.reason, write)


def _attested(session: Session, key: RunKey, done: GivenApproval, reason: str, write: bool) -> GivenApproval:
    """The approval as it is, testified if it was given and written now."""
    if write and done.changed:
        request = done.request
        doubt = "" if done.verified else "; nobody vouches for the name"
        own = "; who did it made or started the run" if done.own else ""
        deed = Deed(
            action=STAGE_APPROVED,
            kind=key.kinds.run,
            name=str(key),
            digest=done.digest,
            approved=done.digest,
            reason=reason,
            message=f"request {request.name}, {request.position}{doubt}{own}",
        )
        testify(session, deed)
    return done
