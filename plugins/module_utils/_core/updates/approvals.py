# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Approvals and refusals at the gates of an update run, judged by their Gate objects: digest, self-approval, proven
names, expiry; whether a gate that was passed is proven; the run as people see it, with answers not taken up yet.

Names are verified on a hub that refuses gates which name somebody else, and has done so for the whole life of the gate.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..foreign import in_line
from ..objects.updates.gate import Gate, UpdateRunGateTarget
from ..objects.updates.update_run import UpdateRun
from ..values.clock_skew import CLOCK_SKEW, is_ahead
from ..values.instants import write_time
from ..values.update_states import COMPLETED, NOT_STARTED, PENDING
from .gates import next_occurrence, with_gates_changed
from .integrity import recorded_digest
from .record.run_state import run_of, status_of
from .record.summary import UNVERIFIED, completed_by
from .run import Approval, GateRow
from .status import derive
from .terms import Terms, kept_terms, stricter

MADE_BY = "gitops.fleet/made-by"


@dataclass(frozen=True, kw_only=True)
class ApprovalContext:
    """What approvals of one update run are judged by. ``given`` are terms asked beside those that the run keeps. The
    hub vouches for names in objects made after ``since``; None: for no name."""

    run: UpdateRun
    given: Terms = Terms()
    since: datetime | None = None

    @property
    def terms(self) -> Terms:
        """The given terms and those that the run keeps, joined by ``stricter``."""
        return stricter(self.given, kept_terms(self.run.metadata.annotations))

    def vouches(self, created: datetime | None) -> bool:
        """Whether the hub vouches for names in an object that was ``created`` then, as of ``is_vouched_for``."""
        return is_vouched_for(created, self.since)

    @property
    def makers(self) -> frozenset[str]:
        """Who made and who started the run; empty if one of them is not named, or the hub does not vouch for the
        run."""
        return proven_makers(named_makers(self.run), self.vouches(self.run.metadata.creation_timestamp))


def is_vouched_for(created: datetime | None, since: datetime | None) -> bool:
    """Whether a hub that refuses false names ``since`` then vouches for those in an object ``created`` then: whether
    that was later. False if either is not known (None)."""
    return since is not None and created is not None and created > since


def expiry_words(at: datetime | None, expires: timedelta | None, now: datetime) -> str:
    """Why an approval given ``at`` then is not used: it is older than ``expires``, of an unknown time (None), or more
    than five minutes ahead of ``now``; empty if it is used, or nothing ``expires`` (None)."""
    if expires is None:
        return ""
    given = f"given at {write_time(at)}" if at else "given at an unknown time"
    if at is None or now - at > expires:
        return f"it was {given}, and expires after {expires.total_seconds():.0f} s"
    return f"it was {given}, which is yet to come, and approvals expire here" if is_ahead(at, now) else ""


def named_makers(run: UpdateRun) -> tuple[str, str]:
    """Who made and who started the run, in this order; an empty name where it does not say."""
    return run.metadata.annotations.get(MADE_BY, ""), run.status.started_by


def proven_makers(names: tuple[str, str], vouched: bool) -> frozenset[str]:
    """The ``names`` of who made and who started a run; empty if one of them is empty, or nothing vouches for the
    run."""
    return frozenset(names if vouched and all(names) else ())


def self_approval_words(by: str, makers: t.Collection[str]) -> str:
    """Why an approval of ``by`` does not count where self-approval is not allowed: nothing proves the ``makers`` (as of
    ``proven_makers``), or ``by`` is one of them. Empty if it counts; whether ``by`` is empty is for the caller to
    see."""
    if not makers:
        return "nothing proves who made and who started the run, and self-approval is not allowed"
    return f"{by} made or started the run, and self-approval is not allowed" if by in makers else ""


@dataclass(frozen=True)
class RefusedApproval:
    """An approval that does not count, and why."""

    why: str


def judged_approval(
    gate: Gate, place: UpdateRunGateTarget, court: ApprovalContext, now: datetime, used: bool = False
) -> Approval | RefusedApproval:
    """The approval of a Gate, or why it does not count: its ``place`` in the run, the digests (an approval without one
    passes), who gave it and when are judged by the ``court``, in this order. That the Gate is Completed is for the
    caller to see. One that was ``used`` before does not expire. In one that counts ``by`` is ``unverified`` where the
    Gate names nobody, and ``at`` is ``now`` where it says no time."""
    digest, approval = recorded_digest(court.run), gate.status.approval
    other = why_another_gate(gate, place, court.run)
    if other:
        return RefusedApproval(other)
    if approval and approval.digest and approval.digest != digest:
        return RefusedApproval(f"it is for digest {approval.digest}, and the run has {digest}")
    by = approval.by if approval else ""
    verified = bool(by) and court.vouches(gate.metadata.creation_timestamp)
    if court.terms.proof and not verified:
        return RefusedApproval(f"nothing proves that it is of {by or 'anybody'}")
    own = "" if court.terms.self_approval else self_approval_words(by, court.makers)
    if own:
        return RefusedApproval(own)
    at = approval.at if approval else None
    expired = "" if used else expiry_words(at, court.terms.expires, now)
    if expired:
        return RefusedApproval(expired)
    return Approval(gate=gate.name, by=by or UNVERIFIED, at=at or now, verified=verified)


def why_another_gate(gate: Gate, place: UpdateRunGateTarget, run: UpdateRun) -> str:
    """Why the Gate is not that of this place in this run, as the rest of a sentence; empty if it names the place and
    bears the run's recorded digest."""
    if gate.spec.target.update_run_properties != place:
        return "its Gate stands elsewhere"
    digest = recorded_digest(run)
    return "" if gate.spec.digest == digest else f"its Gate is for digest {gate.spec.digest}, and the run has {digest}"


def unproven(row: GateRow, gate: Gate | None, place: UpdateRunGateTarget, court: ApprovalContext, now: datetime) -> str:
    """Why a gate that the run says is Completed was not, by its Gate object (None: there is none); empty if it was.
    Where the ``row`` names nobody it must be due, by a clock five minutes ahead of ``now``; else the Gate must be
    Completed, by an approval that counts, whatever its age, of whom the ``row`` names. ValueError as of
    ``next_occurrence``."""
    if gate is None:
        return "there is no Gate of it"
    other = why_another_gate(gate, place, court.run)
    if other:
        return other
    if not row.by:
        due = _due(row, gate)
        return "" if due is not None and due <= now + CLOCK_SKEW else "its time has not come"
    if gate.status.state != COMPLETED:
        return f"its Gate is {gate.status.state}"
    found = judged_approval(gate, place, court, now, used=True)
    if isinstance(found, RefusedApproval):
        return f"the approval does not count: {found.why}"
    return "" if found.by == row.by else f"its Gate was approved by {found.by}, not by {row.by}"


def row_by_its_gate(row: GateRow, gate: Gate | None, court: ApprovalContext | None = None) -> GateRow:
    """A row that is Pending, if scheduled due when its Gate says, but not before its schedule has come round, and
    refused as its Gate says; NotStarted where there is no Gate, so that it is opened, and shown, again. A row in
    another state stays. ``court`` as of ``refusal_words``. ValueError as of ``next_occurrence``."""
    if row.state != PENDING:
        return row
    if gate is None:
        return replace(row, state=NOT_STARTED, opened=None, due=None, refused="")
    return replace(row, due=_due(row, gate), refused=refusal_words(gate, court))


def as_answered(run: UpdateRun, answers: t.Mapping[str, Approval | str]) -> UpdateRun:
    """The run as people are to see it, never for records: whoever conducts it takes the answers up. ``answers`` are by
    the id of a gate: an approval, whose giver the gate names though it is Pending still, or the words of a refusal;
    those of gates that are not open are passed over. The same run if none of its gates changes."""

    def answered(row: GateRow) -> GateRow:
        """An open gate with its answer; without one it names nobody who has approved it, and keeps its refusal. Others
        stay."""
        if row.state != PENDING:
            return row
        given = answers.get(row.id)
        if isinstance(given, Approval):
            return replace(row, by=given.by, verified=given.verified, refused="")
        return replace(row, by="", verified=False, refused=given or row.refused)

    state = run_of(run)
    shown = with_gates_changed(state, answered)
    return run if shown is state else replace(run, status=status_of(shown, derive(shown), run.status))


def _due(row: GateRow, gate: Gate) -> datetime | None:
    """When the clock passes it, by its object, and not before its schedule has come round since it was opened: the
    digest of the run covers the schedule, and anybody who may make Gates could have named an earlier instant. None for
    a gate of a person, whatever its object says. ValueError as of ``next_occurrence``."""
    given = gate.spec.scheduled_start_properties
    at = given.absolute_start_time if given else None
    if at is None or row.schedule is None or row.opened is None:
        return at if row.schedule else None
    return max(at, next_occurrence(row.schedule, row.opened))


def refusal_words(gate: Gate, court: ApprovalContext | None = None) -> str:
    """Who refused to open a gate that is Pending, and why; empty if nobody did, and in another state. Names are told to
    be ``unverified`` unless the ``court`` vouches for them: whoever may write the Gate may refuse, since all that comes
    of it is that nothing begins."""
    given = gate.status.refusal
    if given is None or gate.status.state != PENDING:
        return ""
    proven = court is not None and court.vouches(gate.metadata.creation_timestamp)
    return f"{completed_by(in_line(given.by) or UNVERIFIED, proven)}: {in_line(given.reason)}"
