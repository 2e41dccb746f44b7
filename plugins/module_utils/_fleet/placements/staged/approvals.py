# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Approval requests (ClusterApprovalRequest) of staged update runs in the records: listed, made, approved
(``gate-not-open``, ``self-approval``, ``gate-unproven``), judged by what the run does, accepted, or deleted where they
count for nothing; who has approved."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime

from ...._core.errors import FleetError
from ...._core.objects.staged.approval import APPROVED, ClusterApprovalRequest
from ...._core.objects.staged.key import RunKey
from ...._core.objects.staged.strategy import APPROVAL as TASK
from ...._core.objects.staged.update_run import ClusterStagedUpdateRun, StageTaskStatus
from ...._core.rollout.conditions import TRUE, set_condition, status_is
from ...._core.rollout.staged.approving import (
    ApprovalTerms,
    approver_of,
    given_approval,
    signature,
    signed_by,
    staged_makers,
    why_not_counted,
)
from ...._core.rollout.staged.decide import is_over
from ...._core.rollout.staged.standing import message_of
from ...._core.rollout.staged.world import RequestApproval, accepted, approval_request
from ...._core.schema.codec import encode
from ...._core.schema.meta import find_condition
from ...._core.updates.terms import Terms
from ...._core.values.approved_digest import refuse_another
from ...._store.kinds import record_name
from ...._store.records import Lease, Record, Records, replace_unless_moved
from ...recorded import DAMAGED
from ...session import Session
from ...updates.approval_policy import OF_STAGED_RUNS, vouched_since
from ...updates.gate_completion import Approver
from .typed_records import recorded_request

# On a request: the run, and what it does, that an approval of it stands for.
RUN_UID, RUN_DIGEST = "gitops.fleet/run-uid", "gitops.fleet/run-digest"
BEFORE, AFTER = "Before", "After"
_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class PlacedRequest:
    """An approval of a run and where it stands: ``Before`` or ``After`` (``timing``) which stage, whether it was asked
    for (``reached``), and whether the run has taken it (``accepted``); ``name`` is that of its request, with the
    namespace."""

    name: str
    stage: str
    timing: str
    reached: bool
    accepted: bool

    @property
    def position(self) -> str:
        """Such as ``before prod``."""
        return f"{self.timing.lower()} {self.stage}"


@dataclass(frozen=True, kw_only=True)
class UncountedRequest:
    """A request that counts for nothing, and ``why``; ``name`` is that of its record, ``digest`` the run's, ``stage``
    empty where it cannot be read. ``approved``: somebody had approved it and no run has taken that, or it cannot be
    read; ``by`` is who signed, empty for nobody."""

    name: str
    stage: str
    digest: str
    why: str
    approved: bool
    by: str

    @property
    def line(self) -> str:
        """In a sentence."""
        return f"approval request {self.name} counts for nothing: {self.why}"


@dataclass(frozen=True, kw_only=True)
class GivenApproval:
    """What became of an approval. ``state`` is ``Completed``, as that of a gate; ``digest`` is the run's; ``by`` is who
    gave it, empty where that is not known; ``changed``: this call gave it, or would with ``write``. ``verified``: the
    hub vouches for the name; ``own``: the approver made or started the run; both are False where it was given before.
    ``uncounted`` is why it does not count by the terms that the run keeps, as far as these tell, ``useless`` that a
    newer run has superseded this one; both are empty if not."""

    request: PlacedRequest
    state: str
    by: str
    digest: str
    changed: bool
    verified: bool = False
    own: bool = False
    uncounted: str = ""
    useless: str = ""


def requests_of(run: ClusterStagedUpdateRun) -> t.Iterator[PlacedRequest]:
    """Every approval of the run in the order in which they are reached; none before its stages are recorded."""
    for stage in run.status.stages_status:
        for timing, tasks in ((BEFORE, stage.before_stage_task_status), (AFTER, stage.after_stage_task_status)):
            yield from (_placed(run.key, each, stage.stage_name, timing) for each in tasks if each.type == TASK)


def open_requests(run: ClusterStagedUpdateRun) -> list[PlacedRequest]:
    """The approvals that the run waits for: reached, and not accepted yet, be they given or not; none of a run that is
    over."""
    return [] if is_over(run) else [each for each in requests_of(run) if each.reached and not each.accepted]


def approver_in(key: RunKey, document: Record) -> str:
    """Who has approved the request in this record, by the signature in its condition Approved, whatever its status;
    empty if there is none for the digest that the request bears, or it cannot be read. ``key`` is that of the request,
    or of its run."""
    try:
        request = recorded_request(key, document)
    except FleetError:
        return ""
    approval = find_condition(request.status.conditions, APPROVED)
    return signed_by(approval.message, request.metadata.annotations.get(RUN_DIGEST, "")) if approval else ""


def approvers_of(records: Records, run: ClusterStagedUpdateRun) -> dict[str, str]:
    """Who has given approvals of the run, by the names of their requests without namespace; no entry where that is not
    known. FleetError of the records."""
    found: dict[str, str] = {}
    for each in requests_of(run):
        document = records.get(run.key.kinds.approval, each.name) if each.reached else None
        by = approver_in(run.key, document) if document is not None else ""
        if by:
            found[RunKey.of(each.name).name] = by
    return found


def request_approval(
    records: Records, run: ClusterStagedUpdateRun, digest: str, act: RequestApproval, lease: Lease
) -> None:
    """Makes the object that people approve, unless one of that name is there: whose that is will be seen. FleetError
    ``lease-lost`` and others of the records."""
    document, key = encode(approval_request(run, act)), run.key
    marks = {RUN_UID: run.metadata.uid, RUN_DIGEST: digest}
    metadata = {**key.metadata(act.name), "labels": document["metadata"]["labels"], "annotations": marks}
    if records.get(key.kinds.approval, key.record(act.name)) is None:
        records.create({**document, "metadata": metadata}, lease)


def accept_approval(records: Records, key: RunKey, name: str, now: datetime, lease: Lease) -> None:
    """Says on the request that the run has taken the approval, unless somebody writes it at this moment, or it is gone.
    FleetError ``record-damaged``, ``lease-lost``, and others of the records."""
    document = records.get(key.kinds.approval, key.record(name))
    if document is not None:
        told = accepted(recorded_request(key, document), now)
        replace_unless_moved(records, {**document, "status": encode(told.status)}, lease)


Judge = t.Callable[[ClusterApprovalRequest], str]
"""Why the approval that a request has been given does not count; empty if it does, or if there is none."""


def judge_of(session: Session, run: ClusterStagedUpdateRun, digest: str, terms: Terms) -> Judge:
    """A judge by these terms and those that the run keeps, for its ``digest``. It asks the hub only where what that
    vouches for is wanted and there is an approval: ApiError if it does not answer."""

    def judge(request: ClusterApprovalRequest) -> str:
        """As of ``Judge``."""
        if given_approval(request) is None:
            return ""
        court = ApprovalTerms(run=run, digest=digest, given=terms)
        since = vouched_since(session.hub, OF_STAGED_RUNS) if court.terms.proof else None
        return why_not_counted(request, replace(court, since=since), session.clock())

    return judge


def told_approval(session: Session, run: ClusterStagedUpdateRun, digest: str, request: ClusterApprovalRequest) -> str:
    """Who gave the approval that the run takes, such as ``before prod: approved by anna``; with its stage alone where
    the ``request`` is none of the run's. ApiError as of ``vouched_since``."""
    court = ApprovalTerms(run=run, digest=digest, since=vouched_since(session.hub, OF_STAGED_RUNS))
    name = run.key.record(request.name)
    where = next((each.position for each in requests_of(run) if each.name == name), request.spec.target_stage)
    return f"{where}: approved by {approver_of(request, court)}"


def seen_requests(
    records: Records,
    run: ClusterStagedUpdateRun,
    digest: str,
    judge: Judge,
    tell: t.Callable[[UncountedRequest], None] | None = None,
) -> tuple[ClusterApprovalRequest, ...]:
    """The requests that count, by name. Others are deleted, so that approvals are asked for anew: made for another run
    of this name, or for other work, not readable, or with an approval that does not count by ``judge``, which is not
    asked of what the run has taken. ``tell`` is told of each before it is deleted; without it none is. One that
    somebody writes meanwhile is left to the next look. FleetError of the records, and what ``judge`` raises."""
    key = run.key
    kind = key.kinds.approval
    documents = {record_name(each): each for each in records.list(kind, key.labels, key.namespace)}
    for each in open_requests(run):
        found = None if each.name in documents else records.get(kind, each.name)
        if found is not None:
            documents[each.name] = found
    taken = {each.name for each in requests_of(run) if each.accepted}
    out = []
    for name, document in sorted(documents.items()):
        request = None
        try:
            request = recorded_request(key, document)
        except FleetError as error:
            if error.code != DAMAGED:
                raise
            why = f"it cannot be read: {error.message}"
        else:
            why = _strange(request, run, digest) or ("" if name in taken else judge(request))
            if not why:
                out.append(request)
                continue
        if tell is not None:
            tell(_uncounted(key, name, document, request, digest, why))
            try:
                records.delete(kind, name, document["metadata"]["resourceVersion"])
            except FleetError as error:
                if error.code != "conflict":
                    raise
    return tuple(out)


def _uncounted(
    key: RunKey, name: str, document: Record, request: ClusterApprovalRequest | None, digest: str, why: str
) -> UncountedRequest:
    """What is to be told of a request that counts for nothing; ``request`` is None where it cannot be read."""
    return UncountedRequest(
        name=name,
        stage=request.spec.target_stage if request else "",
        digest=digest,
        why=why,
        approved=request is None or given_approval(request) is not None,
        by=approver_in(key, document),
    )


def _strange(request: ClusterApprovalRequest, run: ClusterStagedUpdateRun, digest: str) -> str:
    """Why the request is not of this run; empty if it is, or if it names another run, which is for the run to judge.
    Without a ``digest`` what the run does is not compared."""
    marks = request.metadata.annotations
    if request.spec.parent_stage_rollout != run.name:
        return ""
    if marks.get(RUN_UID) != run.metadata.uid:
        return "it was made for an earlier run of this name"
    return "" if not digest or marks.get(RUN_DIGEST) == digest else "what the run does is not what it was made for"


def approve(
    records: Records,
    run: ClusterStagedUpdateRun,
    digest: str,
    stage: str,
    timing: str,
    who: Approver,
    given: str,
    reason: str,
    now: datetime,
    *,
    write: bool,
    self_approval: bool = True,
) -> GivenApproval:
    """Approves what the run waits for as ``who``, whose name is signed with the ``reason``; without ``write`` only says
    what would be, without ``self_approval`` refuses who made or started the run. One that was approved before is left
    as it is; once the run has taken it, ``by`` is empty, and neither who asks nor the run's end refuses it. An empty
    ``stage`` or ``timing`` matches all. ``given`` is the digest that was looked at, empty for none.

    FleetError ``digest-mismatch``, ``no-such-gate``, ``ambiguous-gate``, ``gate-not-open``, ``self-approval``,
    ``conflict``, ``gate-unproven`` for a request that is not of this run, ``record-damaged``, and others of the
    records.
    """
    key = run.key
    hint = "look at the run again: what it does is not what was approved"
    refuse_another(given, digest, "the run has", str(key), hint)
    placed = _chosen(run, stage, timing)
    own = bool(who.name) and who.name in staged_makers(run)
    done = GivenApproval(request=placed, state="Completed", by="", digest=digest, changed=False)
    if placed.accepted:
        return done
    if is_over(run):
        told = f"the run has ended and takes no approval any more: {message_of(run)}"
        raise FleetError("gate-not-open", told, key.title, "make a new run")
    if own and not self_approval:
        hint = "let somebody else approve it"
        raise FleetError("self-approval", f"{who.name} made or started the run", key.title, hint)
    for _attempt in range(_ATTEMPTS):
        document = records.get(key.kinds.approval, placed.name)
        if document is None:
            hint = "carry the run on once more, it asks for the approval then"
            raise FleetError("gate-not-open", f"the approval {placed.position} is not asked for yet", str(key), hint)
        request = recorded_request(key, document)
        strange = _strange(request, run, digest)
        if strange or request.spec.parent_stage_rollout != run.name or request.spec.target_stage != placed.stage:
            hint = "carry the run on once more, it asks for the approval anew"
            raise FleetError(
                "gate-unproven", strange or "it is of another run", f"{key.kinds.approval}/{placed.name}", hint
            )
        court = ApprovalTerms(run=run, digest=digest, since=who.since)
        if status_is(request.status.conditions, APPROVED, request.metadata.generation, TRUE):
            said = find_condition(request.status.conditions, APPROVED)
            by = signed_by(said.message, digest) if said else ""
            return replace(done, by=by, uncounted=why_not_counted(request, court, now))
        verified = bool(who.name) and court.vouches(request.metadata.creation_timestamp)
        approved = _approved(request, signature(who.name, digest, reason), now)
        if not write or _write_approved(records, document, approved):
            uncounted = why_not_counted(approved, court, now)
            return replace(done, by=who.name, changed=True, verified=verified, own=own, uncounted=uncounted)
    raise FleetError("conflict", "the approval request is being written all the time", placed.name, "try again")


def _approved(request: ClusterApprovalRequest, message: str, now: datetime) -> ClusterApprovalRequest:
    """The request with an approval of this message."""
    row = (TRUE, "ApprovedByGate", message)
    conditions = set_condition(request.status.conditions, APPROVED, row, request.metadata.generation, now)
    return replace(request, status=replace(request.status, conditions=tuple(conditions)))


def _write_approved(records: Records, document: Record, approved: ClusterApprovalRequest) -> bool:
    """Writes the conditions of the request that was approved; False if somebody else has written it since it was read.
    FleetError of the records."""
    conditions = [encode(each) for each in approved.status.conditions]
    status = {**(document.get("status") or {}), "conditions": conditions}
    return replace_unless_moved(records, {**document, "status": status}) is not None


def _chosen(run: ClusterStagedUpdateRun, stage: str, timing: str) -> PlacedRequest:
    """The approval that is meant, the only open one if several match. FleetError ``no-such-gate``, ``ambiguous-gate``,
    ``gate-not-open``."""
    there = list(requests_of(run))
    found = [each for each in there if stage in ("", each.stage) and timing in ("", each.timing)]
    waiting = [each for each in found if each.reached and not each.accepted]
    named = "; ".join(each.position for each in there) or "none"
    if not found:
        raise FleetError("no-such-gate", "the run has no such approval", str(run.key), f"it has: {named}")
    if len(found) > 1 and len(waiting) != 1:
        raise FleetError(
            "ambiguous-gate", f"{len(found)} approvals are meant: {named}", str(run.key), "name stage and timing"
        )
    chosen = waiting[0] if len(found) > 1 else found[0]
    if not chosen.reached:
        hint = "an approval is asked for when the run comes to it"
        raise FleetError("gate-not-open", f"the approval {chosen.position} is not reached yet", str(run.key), hint)
    return chosen


def _placed(key: RunKey, task: StageTaskStatus, stage: str, timing: str) -> PlacedRequest:
    """The approval of one task, and how far it is."""

    def says(kind: str) -> bool:
        """Whether the task's condition of that type is True."""
        found = find_condition(task.conditions, kind)
        return found is not None and found.status == TRUE

    return PlacedRequest(
        name=key.record(task.approval_request_name),
        stage=stage,
        timing=timing,
        reached=says("ApprovalRequestCreated"),
        accepted=says("ApprovalRequestApproved"),
    )
