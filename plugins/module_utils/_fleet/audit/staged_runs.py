# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Evidence of what is done to staged update runs: defined, started, stopped, carried on, deleted; of approvals that
count for nothing."""

from __future__ import annotations

import typing as t

from ..._core.objects.audit.audit_entry import (
    APPROVAL_REFUSED,
    DONE,
    FAILED,
    RUN_CONDUCTED,
    RUN_DEFINED,
    RUN_DELETED,
    RUN_STARTED,
    RUN_STOPPED,
    WAITING,
)
from ..._core.objects.staged.key import RunKey
from ..._core.objects.staged.update_run import RUN, STOP, ClusterStagedUpdateRun, ClusterUpdatingStatus
from ..._core.overview.history import approval_words
from ..._core.rollout.staged.decide import StagedState, acts_in_flight
from ..._core.rollout.staged.standing import FAILED as STAGED_FAILED
from ..._core.rollout.staged.standing import SUCCEEDED, cluster_state, message_for_people, state_of
from ..placements.staged.approvals import UncountedRequest
from ..placements.staged.words import StagedTelling
from ..session import Session
from .conducting import AttestedTelling
from .evidence import Deed, Testimony, testify

_TOLD = {RUN: RUN_STARTED, STOP: RUN_STOPPED}


def deed_of_command(run: ClusterStagedUpdateRun, new: bool, approved: str) -> Deed:
    """The deed of recording the run, to be testified: RUN_DEFINED if it is ``new`` or told neither to run nor to stop,
    else RUN_STARTED or RUN_STOPPED. ``approved`` as of ``Deed``."""
    return Deed(
        action=RUN_DEFINED if new else _TOLD.get(run.spec.state, RUN_DEFINED),
        kind=run.key.kinds.run,
        name=str(run.key),
        approved=approved,
        message=f"{_brought(run)}; state {run.spec.state}",
    )


def testify_deletion(session: Session, name: str, *, gone: bool, write: bool) -> bool:
    """Gives ``gone`` back; where it is true, and this was to ``write``, writes the entry that the run was deleted."""
    if gone and write:
        testify(session, Deed(action=RUN_DELETED, kind=RunKey.of(name).kinds.run, name=name))
    return gone


def testify_uncounted(session: Session, run: ClusterStagedUpdateRun, found: UncountedRequest) -> None:
    """Writes the entry that the approval of a request counts for nothing, and why; none where nobody had approved
    it."""
    if found.approved:
        stage = f", stage {found.stage}" if found.stage else ""
        deed = Deed(
            action=APPROVAL_REFUSED,
            kind=run.key.kinds.run,
            name=str(run.key),
            digest=found.digest,
            reason=found.why,
            message=f"request {found.name}{stage}; {approval_words(found.by)}",
        )
        testify(session, deed)


def attested_telling(
    session: Session, telling: StagedTelling, run: ClusterStagedUpdateRun, digest: str, approved: str, revision: str
) -> AttestedTelling[StagedState]:
    """What the conductor of the run tells, with evidence of it as soon as a cluster begins, or once the run has
    settled, if that has changed anything; at its end with the clusters whose turn it was. ``digest``, ``approved`` and
    ``revision`` as of ``Deed``."""
    deed = Deed(
        action=RUN_CONDUCTED,
        kind=run.key.kinds.run,
        name=str(run.key),
        digest=digest,
        approved=approved,
        revision=revision,
        message=_brought(run),
    )
    testimony = Testimony(session, deed)
    return AttestedTelling(telling, testimony, acts_in_flight, _members, _outcome, done_on=_turned)


def _brought(run: ClusterStagedUpdateRun) -> str:
    """Of which placement it brings what: the index of the snapshot that it has taken, or is to take; which one is the
    latest is known once it has begun."""
    index = run.status.resource_snapshot_index_used or run.spec.resource_snapshot_index
    return f"of placement {run.placement_key}; {f'snapshot {index}' if index else 'the latest snapshot'}"


def _members(state: StagedState) -> list[str]:
    """The clusters of all stages, in the order of the run, and those that leave, which are written, too."""
    return [each.cluster_name for each in _clusters(state)]


def _turned(before: StagedState, state: StagedState) -> list[str]:
    """The clusters, in the same order, whose turn it was since ``before``: it began or ended, or goes on."""
    flying = {each.cluster for each in acts_in_flight(state)}
    known = {each.cluster_name: cluster_state(each.conditions) for each in _clusters(before)}
    now = {each.cluster_name: cluster_state(each.conditions) for each in _clusters(state)}
    return [name for name, word in now.items() if name in flying or word != known.get(name, "")]


def _clusters(state: StagedState) -> t.Iterator[ClusterUpdatingStatus]:
    """Those of all stages, in the order of the run, then those that leave."""
    status = state.run.status
    for stage in (*status.stages_status, *filter(None, [status.deletion_stage_status])):
        yield from stage.clusters


def _outcome(state: StagedState) -> tuple[str, str]:
    """DONE, FAILED, or WAITING for a run that is neither; and its state with a message."""
    run = state.run
    word = state_of(run)
    outcome = {SUCCEEDED: DONE, STAGED_FAILED: FAILED}.get(word, WAITING)
    return outcome, f"{word}: {message_for_people(run)}"
