# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Approval requests of staged update runs: asked for by the run, answered by people, bound to what the run does."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...._core.errors import FleetError
from ...._core.objects.staged.approval import APPROVED, RUN_LABEL, ClusterApprovalRequest
from ...._core.objects.staged.strategy import APPROVAL as TASK
from ...._core.objects.staged.update_run import ClusterStagedUpdateRun, StageTaskStatus
from ...._core.rollout.conditions import TRUE, set_condition, status_is
from ...._core.rollout.staged.world import RequestApproval, accepted, approval_request
from ...._core.schema.codec import encode
from ...._core.schema.meta import find_condition
from ...._core.updates.approvals import MADE_BY
from ...._core.values.approved_digest import approves, lack
from ...._store.records import Lease, Record, Records, replaced
from ...recorded import DAMAGED, recorded
from .run_record import APPROVAL, KIND

# On a request: the run, and what it does, that an approval of it stands for.
RUN_UID, RUN_DIGEST = "gitops.fleet/run-uid", "gitops.fleet/run-digest"
BEFORE, AFTER = "Before", "After"
_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class PlacedRequest:
    """An approval of a run and where it stands."""

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
class GivenApproval:
    """What became of an approval; ``own`` whether the approver made the run."""

    request: PlacedRequest
    state: str
    by: str
    digest: str
    changed: bool
    own: bool = False


def requests_of(run: ClusterStagedUpdateRun) -> t.Iterator[PlacedRequest]:
    """Every approval of the run in the order in which they are reached."""
    for stage in run.status.stages_status:
        for timing, tasks in ((BEFORE, stage.before_stage_task_status), (AFTER, stage.after_stage_task_status)):
            yield from (_placed(each, stage.stage_name, timing) for each in tasks if each.type == TASK)


def open_requests(run: ClusterStagedUpdateRun) -> list[PlacedRequest]:
    """Those that somebody has to approve now."""
    return [each for each in requests_of(run) if each.reached and not each.accepted]


def request_approval(
    records: Records, run: ClusterStagedUpdateRun, digest: str, act: RequestApproval, lease: Lease
) -> None:
    """Makes the object that people approve. One that is there by that name stays: whose it is will be seen."""
    document = encode(approval_request(run, act))
    labels = document["metadata"]["labels"]
    marks = {RUN_UID: run.metadata.uid, RUN_DIGEST: digest}
    if records.get(APPROVAL, act.name) is None:
        records.create({**document, "metadata": {"name": act.name, "labels": labels, "annotations": marks}}, lease)


def accept_approval(records: Records, name: str, now: datetime, lease: Lease) -> None:
    """Says on the request that the run has taken the approval; not where somebody writes it at this moment."""
    document = records.get(APPROVAL, name)
    if document is not None:
        told = accepted(recorded(ClusterApprovalRequest, document), now)
        replaced(records, {**document, "status": encode(told.status)}, lease)


def seen_requests(
    records: Records, run: ClusterStagedUpdateRun, digest: str, tell: t.Callable[[str], None], *, write: bool
) -> tuple[ClusterApprovalRequest, ...]:
    """The requests as they count. One that was made for another run of this name, or for other work, counts for nothing
    and is deleted where this is to ``write``, so that it is asked for anew; so is one that cannot be read."""
    documents = {each["metadata"]["name"]: each for each in records.list(APPROVAL, {RUN_LABEL: run.name})}
    for each in open_requests(run):
        found = None if each.name in documents else records.get(APPROVAL, each.name)
        if found is not None:
            documents[each.name] = found
    out = []
    for name, document in sorted(documents.items()):
        try:
            request = recorded(ClusterApprovalRequest, document)
        except FleetError as error:
            if error.code != DAMAGED:
                raise
            why = f"it cannot be read: {error.message}"
        else:
            why = _strange(request, run, digest)
            if not why:
                out.append(request)
                continue
        if write:
            tell(f"approval request {name} counts for nothing: {why}")
            records.delete(APPROVAL, name)
    return tuple(out)


def _strange(request: ClusterApprovalRequest, run: ClusterStagedUpdateRun, digest: str) -> str:
    """Why the request is not of this run; empty if it is, or if it names another run, which is for the run to judge."""
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
    who: str,
    given: str,
    reason: str,
    write: bool,
    now: datetime,
    self_approval: bool = True,
) -> GivenApproval:
    """Approves what the run waits for; one that was approved before is left as it is. ``given`` is the digest that was
    looked at, empty for none.

    FleetError: ``digest-mismatch``, ``no-such-gate``, ``ambiguous-gate``, ``gate-not-open``, ``self-approval``,
    ``gate-unproven`` for a request that is not of this run.
    """
    if given and not approves(given, digest):
        hint = "look at the run again: what it does is not what was approved"
        raise FleetError("digest-mismatch", f"approved was {given}, the run has {digest}{lack(given)}", run.name, hint)
    placed = _chosen(run, stage, timing)
    own = bool(who) and who == run.metadata.annotations.get(MADE_BY)
    done = GivenApproval(request=placed, state="Completed", by="", digest=digest, changed=False)
    if placed.accepted:
        return done
    if own and not self_approval:
        raise FleetError("self-approval", f"{who} made the run", f"{KIND}/{run.name}", "let somebody else approve it")
    for _attempt in range(_ATTEMPTS):
        document = records.get(APPROVAL, placed.name)
        if document is None:
            hint = "carry the run on once more, it asks for the approval then"
            raise FleetError("gate-not-open", f"the approval {placed.position} is not asked for yet", run.name, hint)
        request = recorded(ClusterApprovalRequest, document)
        strange = _strange(request, run, digest)
        if strange or request.spec.parent_stage_rollout != run.name or request.spec.target_stage != placed.stage:
            hint = "carry the run on once more, it asks for the approval anew"
            raise FleetError("gate-unproven", strange or "it is of another run", f"{APPROVAL}/{placed.name}", hint)
        if status_is(request.status.conditions, APPROVED, request.metadata.generation, TRUE):
            said = find_condition(request.status.conditions, APPROVED)
            return _by(done, said.message if said else "")
        if not write or _written(records, document, request, who, digest, reason, now):
            return GivenApproval(request=placed, state="Completed", by=who, digest=digest, changed=True, own=own)
    raise FleetError("conflict", "the approval request is being written all the time", placed.name, "try again")


def _by(done: GivenApproval, message: str) -> GivenApproval:
    by = message.removeprefix("by ").partition(" for ")[0] if message.startswith("by ") else ""
    return GivenApproval(request=done.request, state=done.state, by=by, digest=done.digest, changed=False)


def _written(
    records: Records,
    document: Record,
    request: ClusterApprovalRequest,
    who: str,
    digest: str,
    reason: str,
    now: datetime,
) -> bool:
    message = f"by {who} for {digest}{f': {reason}' if reason else ''}"
    row = (TRUE, "ApprovedByGate", message)
    conditions = set_condition(request.status.conditions, APPROVED, row, request.metadata.generation, now)
    status = {**(document.get("status") or {}), "conditions": [encode(each) for each in conditions]}
    return replaced(records, {**document, "status": status}) is not None


def _chosen(run: ClusterStagedUpdateRun, stage: str, timing: str) -> PlacedRequest:
    there = list(requests_of(run))
    found = [each for each in there if stage in ("", each.stage) and timing in ("", each.timing)]
    waiting = [each for each in found if each.reached and not each.accepted]
    named = "; ".join(each.position for each in there) or "none"
    if not found:
        raise FleetError("no-such-gate", "the run has no such approval", run.name, f"it has: {named}")
    if len(found) > 1 and len(waiting) != 1:
        raise FleetError(
            "ambiguous-gate", f"{len(found)} approvals are meant: {named}", run.name, "name stage and timing"
        )
    chosen = waiting[0] if len(found) > 1 else found[0]
    if not chosen.reached:
        hint = "an approval is asked for when the run comes to it"
        raise FleetError("gate-not-open", f"the approval {chosen.position} is not reached yet", run.name, hint)
    return chosen


def _placed(task: StageTaskStatus, stage: str, timing: str) -> PlacedRequest:
    def says(kind: str) -> bool:
        found = find_condition(task.conditions, kind)
        return found is not None and found.status == TRUE

    return PlacedRequest(
        name=task.approval_request_name,
        stage=stage,
        timing=timing,
        reached=says("ApprovalRequestCreated"),
        accepted=says("ApprovalRequestApproved"),
    )
