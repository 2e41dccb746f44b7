# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Approvals of staged update runs: how they are signed in the message of ``Approved``, who gave one, which count, and
why another one does not (no proof, self-approval, expiry); who made and who started a run
(``gitops.fleet/started-by``).

An approval is KubeFleet's condition ``Approved``, which has no field for who gave it. One of ours is signed in its
message; one without a signature is of nobody. A hub that refuses signatures of others vouches for them, as it does for
those of gates.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...objects.staged.approval import APPROVAL_ACCEPTED, APPROVED, ClusterApprovalRequest
from ...objects.staged.update_run import ClusterStagedUpdateRun
from ...schema.meta import Condition, find_condition
from ...updates.approvals import MADE_BY, expiry_words, is_vouched_for, proven_makers, self_approval_words
from ...updates.record.summary import completed_by
from ...updates.terms import Terms, kept_terms, stricter
from ..conditions import TRUE, status_is

# Around the name in the message of an approval. The policy of role hub has the same words, and lets nobody sign who is
# called so that a name would end elsewhere.
_BY, _FOR = "by ", " for sha256:"
NOBODY = "nobody who is named"
STARTED_BY = "gitops.fleet/started-by"
"""The annotation that names who told a run to run for the first time."""


@dataclass(frozen=True, kw_only=True)
class ApprovalTerms:
    """What approvals of one staged update run are judged by. ``digest`` is the run's (``staged_digest``), ``given`` are
    the terms of who carries it on. The hub vouches for names in objects that were made after ``since``; for none if
    that is None."""

    run: ClusterStagedUpdateRun
    digest: str
    given: Terms = Terms()
    since: datetime | None = None

    @property
    def terms(self) -> Terms:
        """The stricter of the given terms and those in the run's annotations, rule by rule."""
        return stricter(self.given, kept_terms(self.run.metadata.annotations))

    def vouches(self, created: datetime | None) -> bool:
        """Whether the hub vouches for names in an object that was made then; False where that is not known."""
        return is_vouched_for(created, self.since)

    @property
    def makers(self) -> frozenset[str]:
        """Who made the run and who started it; empty unless both are named, and the hub vouches for the run."""
        return proven_makers(staged_makers(self.run), self.vouches(self.run.metadata.creation_timestamp))


def staged_makers(run: ClusterStagedUpdateRun) -> tuple[str, str]:
    """Who made the run and who first told it to run, by its annotations, in this order; empty where it does not say."""
    annotations = run.metadata.annotations
    return annotations.get(MADE_BY, ""), annotations.get(STARTED_BY, "")


def signature(by: str, digest: str, reason: str) -> str:
    """The message of an approval: ``by anna for sha256:1f...: looks good``; without a reason it ends with the
    digest."""
    return f"{_BY}{by} for {digest}{f': {reason}' if reason else ''}"


def signed_by(message: str, digest: str) -> str:
    """Who has signed the approval of this digest, by its message; empty where it is not signed, or for another
    digest."""
    by = message.removeprefix(_BY).partition(_FOR)[0]
    signed = signature(by, digest, "")
    return by if message == signed or message.startswith(f"{signed}: ") else ""


def given_approval(request: ClusterApprovalRequest) -> Condition | None:
    """The condition Approved of an approval request, if it is True at the present generation, and no run has taken it
    yet."""
    conditions, generation = request.status.conditions, request.metadata.generation
    if status_is(conditions, APPROVAL_ACCEPTED, generation, TRUE):
        return None
    return find_condition(conditions, APPROVED) if status_is(conditions, APPROVED, generation, TRUE) else None


def why_not_counted(request: ClusterApprovalRequest, court: ApprovalTerms, now: datetime) -> str:
    """The first reason for which the approval of the request, which no run has taken yet, does not count by the court's
    terms: nothing proves who gave it, or who made and started the run, self-approval, expiry (where that is asked, also
    of an unknown instant, or one to come). Empty if it counts, or there is none."""
    approval = given_approval(request)
    if approval is None:
        return ""
    by, terms, at = signed_by(approval.message, court.digest), court.terms, approval.last_transition_time
    if terms.proof and not (by and court.vouches(request.metadata.creation_timestamp)):
        return f"nothing proves that it is of {by or 'anybody'}"
    own = "" if terms.self_approval else self_approval_words(by, court.makers)
    return own or expiry_words(at, terms.expires, now)


def approver_of(request: ClusterApprovalRequest, court: ApprovalTerms) -> str:
    """Who gave the approval that no run has taken yet, in words, with ``unverified`` and ``who made or started the
    run`` where that is so; ``nobody who is named`` without a signature."""
    approval = given_approval(request)
    by = signed_by(approval.message, court.digest) if approval else ""
    if not by:
        return NOBODY
    proven = court.vouches(request.metadata.creation_timestamp)
    return completed_by(by, proven, staged_makers(court.run))
