# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Approving or refusing a gate of an update run: which gate is meant (``no-such-gate``, ``ambiguous-gate``), whether it
is open (``gate-not-open``, ``gate-passed``), who does it (``self-approval``), when, why (``no-reason``), and for which
digest of the run."""

from __future__ import annotations

import shlex
import typing as t
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..._core.errors import FleetError
from ..._core.objects.updates.gate import Gate, GateApproval
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.updates.approvals import (
    ApprovalContext,
    RefusedApproval,
    judged_approval,
    named_makers,
    why_another_gate,
)
from ..._core.updates.record.run_state import run_of
from ..._core.updates.run import Approval, RunState
from ..._core.updates.terms import Terms
from ..._core.values.approved_digest import refuse_another
from ..._core.values.instants import write_time
from ..._core.values.update_states import (
    COMPLETED,
    NOT_STARTED,
    PENDING,
    SKIPPED,
)
from ..._store.records import Record, Records, replace_unless_moved
from ..audit.actor import user
from ..recorded import recorded
from ..session import Session
from .approval_policy import vouched_since
from .claims import KIND as RUN
from .gate_objects import (
    KIND,
    PlacedGate,
    gate_target,
    gates_of,
)
from .run_record import read_run

REFUSED = "Refused"
_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class Which:
    """The gate that is meant: by its id, or by where it stands (``timing``: Before or After) and what it is called. All
    that is not empty has to match; of several that match the only open one is meant."""

    id: str = ""
    stage: str = ""
    group: str = ""
    timing: str = ""
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Approver:
    """Who approves or refuses. The hub vouches for the name in Gates, or requests of staged runs, that were made after
    ``since``; None: in none."""

    name: str
    since: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Completed:
    """What became of the gate: ``state`` is Completed, Refused, or Skipped if it was before. ``changed`` is whether
    this call did it, or would with ``write``; ``verified`` whether then the hub vouches for the name, ``own`` whether
    then who approves or refuses made or started the run; where it was so before both are False. ``digest`` is that of
    the run, ``by`` who approved or refused. ``uncounted`` is why an approval that the run has not taken up does not
    count by the terms that it keeps, else empty."""

    gate: PlacedGate
    state: str
    run: str
    digest: str
    by: str
    changed: bool
    verified: bool = False
    own: bool = False
    uncounted: str = ""


def approver(session: Session) -> Approver:
    """Who we are as one who approves, and since when the hub vouches for names. FleetError as of ``user``, ApiError as
    of ``vouched_since``."""
    return Approver(name=user(session), since=vouched_since(session.hub))


def terms_of(*, self_approval: bool, verified: bool, expires: int | None) -> Terms:
    """What approvals have to be; ``expires`` is in seconds, None or 0 for never."""
    return Terms(
        self_approval=self_approval,
        verified=verified,
        expires=timedelta(seconds=expires) if expires else None,
    )


def complete_gates(
    session: Session,
    run: str,
    which: Which,
    who: Approver,
    digest: str,
    reason: str,
    *,
    write: bool,
    self_approval: bool = True,
) -> Completed:
    """Approves the gate, for the run with the digest that it has now. One that was completed before, or skipped with
    what it guards, is left as it is; a refusal counts no more. ``digest`` is the one that the run must have; an empty
    one fits any run. The ``reason`` is kept in the Gate. Without ``self_approval`` who made or started the run is
    refused, by the names that the run has, vouched for or not. Without ``write`` nothing is recorded.

    FleetError: ``no-such-run``, ``no-such-gate``, ``ambiguous-gate``, ``gate-not-open``, ``digest-mismatch``,
    ``self-approval``, ``record-damaged``; ``record-altered`` and ``gate-unproven`` if somebody else wrote the run or
    its Gate; ``conflict`` if others write that at every attempt.
    """
    records = session.records
    found, placed = _meant(records, run, which, digest)
    done = Completed(
        gate=placed, state=COMPLETED, run=run, digest=found.status.digest, by=placed.gate.by, changed=False
    )
    if placed.gate.state in (COMPLETED, SKIPPED):
        return replace(done, state=placed.gate.state)
    _refuse_unopened(placed, run)
    own = who.name in named_makers(found)
    if own and not self_approval:
        hint = "let somebody else approve it"
        raise FleetError("self-approval", f"{who.name} made or started the run", f"{RUN}/{run}", hint)
    for _attempt in range(_ATTEMPTS):
        (gate, document), now = _opened(records, found, placed), session.clock()
        court, target = ApprovalContext(run=found, since=who.since), gate_target(run, placed)
        if gate.status.state == COMPLETED:
            by = gate.status.approval.by if gate.status.approval else ""
            return replace(done, by=by, uncounted=_uncounted(judged_approval(gate, target, court, now)))
        verified = court.vouches(gate.metadata.creation_timestamp)
        if not write or _write_approval(records, document, who.name, verified, found.status.digest, reason, now):
            given = GateApproval(by=who.name, at=now, digest=found.status.digest)
            gate = replace(gate, status=replace(gate.status, state=COMPLETED, approval=given))
            uncounted = _uncounted(judged_approval(gate, target, court, now))
            return replace(done, by=who.name, changed=True, verified=verified, own=own, uncounted=uncounted)
    raise FleetError("conflict", "the gate is being written all the time", placed.gate.id, "try again")


def refuse(
    session: Session, run: str, which: Which, who: Approver, digest: str, reason: str, *, write: bool
) -> Completed:
    """Refuses to open the gate: whoever conducts the run stops it there. A refusal stands until the gate is approved;
    one that stands is left as it is, and ``by`` is who refused then. ``digest`` as of ``complete_gates``. Without
    ``write`` nothing is recorded.

    FleetError: those of ``complete_gates`` but ``self-approval``; ``no-reason`` for a blank ``reason``, ``gate-passed``
    where it was approved, whether that counts or not, or skipped before."""
    if not reason.strip():
        raise FleetError("no-reason", "a refusal says why", f"{RUN}/{run}", "give reason")
    records = session.records
    found, placed = _meant(records, run, which, digest)
    if placed.gate.state in (COMPLETED, SKIPPED):
        raise _passed(placed, placed.gate.state, run)
    _refuse_unopened(placed, run)
    done = Completed(gate=placed, state=REFUSED, run=run, digest=found.status.digest, by=who.name, changed=False)
    for _attempt in range(_ATTEMPTS):
        gate, document = _opened(records, found, placed)
        if gate.status.state == COMPLETED:
            raise _passed(placed, COMPLETED, run)
        if gate.status.refusal is not None:
            return replace(done, by=gate.status.refusal.by)
        created = gate.metadata.creation_timestamp
        verified = who.since is not None and created is not None and created > who.since
        given = _signed(who.name, verified, found.status.digest, reason, session.clock())
        status = {**(document.get("status") or {}), "state": gate.status.state, "refusal": given}
        if not write or replace_unless_moved(records, {**document, "status": status}) is not None:
            return replace(done, changed=True, verified=verified, own=who.name in named_makers(found))
    raise FleetError("conflict", "the gate is being written all the time", placed.gate.id, "try again")


def _uncounted(judged: Approval | RefusedApproval) -> str:
    """Why the approval does not count; empty if it does."""
    return judged.why if isinstance(judged, RefusedApproval) else ""


def _meant(records: Records, run: str, which: Which, digest: str) -> tuple[UpdateRun, PlacedGate]:
    """The recorded run, and the gate of it that is meant. FleetError as of ``read_run`` and ``_find``,
    ``digest-mismatch``."""
    found = read_run(records, run)
    hint = "look at the run again: what it will do is not what was approved"
    refuse_another(digest, found.status.digest, "the run has", run, hint)
    return found, _find(run_of(found), which)


def _passed(placed: PlacedGate, state: str, run: str) -> FleetError:
    """The FleetError ``gate-passed``, given back."""
    hint = f"ansible-playbook gitops.fleet.stop -e {shlex.quote(f'run={run}')} lets nothing new begin"
    return FleetError("gate-passed", f"gate {placed.position} is {state} already", f"{RUN}/{run}", hint)


def _opened(records: Records, run: UpdateRun, placed: PlacedGate) -> tuple[Gate, Record]:
    """The Gate of an open gate, and its record. FleetError ``gate-not-open`` where there is none, ``gate-unproven`` for
    that of another place or digest, ``record-damaged``."""
    hint = "conduct the run once more, it makes the gate known"
    document = records.get(KIND, placed.gate.id)
    if document is None:
        raise FleetError("gate-not-open", f"gate {placed.position} is not known yet", run.name, hint)
    gate = recorded(Gate, document)
    other = why_another_gate(gate, gate_target(run.name, placed), run)
    if other:
        raise FleetError("gate-unproven", f"gate {placed.position}: {other}", f"{KIND}/{gate.name}", hint)
    return gate, document


def _find(run: RunState, which: Which) -> PlacedGate:
    """The one gate that is meant; of several the only open one. FleetError ``no-such-gate``, ``ambiguous-gate``."""
    gates = list(gates_of(run))
    found = [each for each in gates if _matches(each, which)]
    open_ones = [each for each in found if each.gate.state == PENDING]
    if not found:
        raise FleetError("no-such-gate", "the run has no such gate", run.name, f"it has: {_named(gates)}")
    if len(found) > 1 and len(open_ones) != 1:
        raise FleetError(
            "ambiguous-gate", f"{len(found)} gates are meant: {_named(found)}", run.name, "name one by its id"
        )
    return open_ones[0] if len(found) > 1 else found[0]


def _matches(placed: PlacedGate, which: Which) -> bool:
    """Whether the gate has all that is asked for; what is empty asks for nothing."""
    asked = (
        (which.id, placed.gate.id),
        (which.stage, placed.stage),
        (which.group, placed.group),
        (which.timing, placed.timing),
        (which.name, placed.gate.name),
    )
    return all(not wanted or wanted == there for wanted, there in asked)


def _named(gates: t.Sequence[PlacedGate]) -> str:
    """The gates with place, name, id and state, for messages; ``none`` without any."""
    return "; ".join(f"{each.position} {each.gate.name} {each.gate.id} ({each.gate.state})" for each in gates) or "none"


def _refuse_unopened(placed: PlacedGate, run: str) -> None:
    """FleetError ``gate-not-open`` for a gate that the run has not come to."""
    if placed.gate.state == NOT_STARTED:
        hint = "a gate opens when the run comes to it, and can be approved from then on"
        raise FleetError("gate-not-open", f"gate {placed.position} is not reached yet", run, hint)


def _write_approval(
    records: Records, document: Record, who: str, verified: bool, digest: str, reason: str, now: datetime
) -> bool:
    """Writes the approval to the Gate; False if somebody else has written that since."""
    approval = _signed(who, verified, digest, reason, now)
    status = {**(document.get("status") or {}), "state": COMPLETED, "approval": approval}
    return replace_unless_moved(records, {**document, "status": status}) is not None


def _signed(who: str, verified: bool, digest: str, reason: str, now: datetime) -> Record:
    """An approval or refusal as a Gate's status has it; an empty ``reason`` is left out."""
    given: Record = {"by": who, "verified": verified, "at": write_time(now), "digest": digest}
    return {**given, "reason": reason} if reason else given
