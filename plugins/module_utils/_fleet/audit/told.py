# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What records besides AuditEntries tell of acts: approvals and refusals of gates, approved stages, starts of runs,
snapshots."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..._core.errors import FleetError, Problem
from ..._core.objects.audit.audit_entry import (
    APPLIED,
    DONE,
    GATE_APPROVED,
    GATE_REFUSED,
    ROLLED_BACK,
    RUN_STARTED,
    STAGE_APPROVED,
)
from ..._core.objects.staged.approval import APPROVED
from ..._core.objects.staged.key import RUN_KINDS, RunKey
from ..._core.objects.updates.gate import Gate, GateApproval, GateRefusal
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.overview.history import RECORD, HistoryRow
from ..._core.rollout.staged.approving import NOBODY, signed_by
from ..._core.schema.meta import find_condition
from ..._core.updates.record.run_state import run_of
from ..._core.values.listed import number_of
from ..._core.values.update_states import COMPLETED
from ..._store.kinds import record_name
from ..._store.records import Records
from ..placements.history.kept import kept_snapshots
from ..placements.recorded import all_placements, recorded_placement
from ..placements.staged.approvals import RUN_DIGEST
from ..placements.staged.typed_records import recorded_request
from ..recorded import recorded
from ..session import Session
from ..updates.claims import KIND as RUN
from ..updates.gate_objects import KIND as GATE
from ..updates.gate_objects import gates_of

Told = tuple[HistoryRow, ...]


def told_by_records(session: Session) -> tuple[Told, tuple[Problem, ...]]:
    """Rows of what is recorded besides entries, in no order, and what is wrong with records that are left out, and with
    kinds that cannot be listed."""
    rows: list[HistoryRow] = []
    problems: list[Problem] = []
    for part in (_runs, _gates, _staged, _snapshots):
        try:
            found, wrong = part(session.records)
        except FleetError as error:
            problems += error.problems
            continue
        rows += found
        problems += wrong
    return _once(rows), tuple(dict.fromkeys(problems))


def _once(rows: t.Sequence[HistoryRow]) -> Told:
    """The rows, and of several about one act the last: a gate and its run tell of one approval; the gate, which comes
    later here, has the reason."""
    found: dict[t.Any, HistoryRow] = {}
    for each in rows:
        found[(each.action, each.kind, each.name, each.marks or each.at)] = each
    return tuple(found.values())


def _runs(records: Records) -> tuple[list[HistoryRow], list[Problem]]:
    """Starts of update runs, and approvals of gates that name who gave them, and what is wrong with records that are
    left out. What has no instant is passed over. FleetError where runs cannot be listed."""
    rows, problems = [], list[Problem]()
    for document in records.list(RUN):
        try:
            run = recorded(UpdateRun, document)
            state = run_of(run)
        except FleetError as error:
            problems += error.problems
            continue
        status = run.status
        if status.status.start_time is not None:
            by = status.started_by or NOBODY
            rows.append(_row(RUN_STARTED, status.status.start_time, by, run.name, status.digest))
        for placed in gates_of(state):
            gate = placed.gate
            if gate.state == COMPLETED and gate.by and gate.completed is not None:
                text = f"gate {gate.id}, {placed.position}"
                one = _row(GATE_APPROVED, gate.completed, gate.by, run.name, status.digest, text, (gate.id,))
                rows.append(_approving(one))
    return rows, problems


def _gates(records: Records) -> tuple[list[HistoryRow], list[Problem]]:
    """Approvals and refusals that gates record with an instant, and what is wrong with those that are left out.
    FleetError where they cannot be listed."""
    rows, problems = [], list[Problem]()
    for document in records.list(GATE):
        try:
            gate = recorded(Gate, document)
        except FleetError as error:
            problems += error.problems
            continue
        approval, refusal = gate.status.approval, gate.status.refusal
        if approval is not None and approval.at is not None:
            rows.append(_approving(_of_gate(gate, GATE_APPROVED, approval, approval.at)))
        if refusal is not None and refusal.at is not None:
            rows.append(_of_gate(gate, GATE_REFUSED, refusal, refusal.at))
    return rows, problems


def _of_gate(gate: Gate, action: str, given: GateApproval | GateRefusal, at: t.Any) -> HistoryRow:
    """A row about the gate's run, by NOBODY where it is not said who; the reason is kept."""
    place = gate.spec.target.update_run_properties
    position = f"{place.timing.lower()} {f'group {place.group}' if place.group else f'stage {place.stage}'}"
    text = f"gate {gate.name}, {position}"
    return _row(action, at, given.by or NOBODY, place.name, given.digest, text, (gate.name,), given.reason)


def _staged(records: Records) -> tuple[list[HistoryRow], list[Problem]]:
    """Stages of staged update runs that were approved, and what is wrong with requests that are left out; by NOBODY,
    and without a reason, where nobody has signed. FleetError where they cannot be listed."""
    rows, problems = [], list[Problem]()
    for kinds in RUN_KINDS:
        for document in records.list(kinds.approval):
            name = record_name(document)
            namespace = name.rpartition("/")[0]
            spec = document.get("spec")
            run = str(spec.get("parentStageRollout") or "") if isinstance(spec, dict) else ""
            key = RunKey.of(f"{namespace}/{run}" if namespace else run)
            try:
                request = recorded_request(key, document)
            except FleetError as error:
                problems += error.problems
                continue
            said = find_condition(request.status.conditions, APPROVED)
            if said is None or said.status != "True" or said.last_transition_time is None:
                continue
            digest = request.metadata.annotations.get(RUN_DIGEST, "")
            by = signed_by(said.message, digest)
            row = HistoryRow(
                at=said.last_transition_time,
                by=by or NOBODY,
                action=STAGE_APPROVED,
                kind=kinds.run,
                name=str(key),
                digest=digest,
                approved_digest=digest if by else "",
                reason=said.message.partition(f"{digest}: ")[2] if by else "",
                outcome=DONE,
                message=f"request {name}, stage {request.spec.target_stage}",
                source=RECORD,
                marks=(name,),
            )
            rows.append(row)
    return rows, problems


def _snapshots(records: Records) -> tuple[list[HistoryRow], list[Problem]]:
    """Contents of placements that are kept, as applied or rolled back by NOBODY when they were made, if that is known;
    and what is wrong with placements that are left out. FleetError where placements cannot be listed."""
    rows, problems = [], list[Problem]()
    for document in all_placements(records):
        try:
            known = recorded_placement(records, record_name(document))
            kept = kept_snapshots(known)
        except FleetError as error:
            problems += error.problems
            continue
        for each in kept:
            if each.created is None:
                continue
            row = HistoryRow(
                at=each.created,
                by=NOBODY,
                action=ROLLED_BACK if each.rolled_back else APPLIED,
                kind=str(document["kind"]),
                name=record_name(document),
                revision=each.revision,
                outcome=DONE,
                message=f"content {each.name} was recorded: {number_of(len(each.manifests), 'object')}",
                source=RECORD,
                marks=(each.name,),
            )
            rows.append(row)
    return rows, problems


def _row(
    action: str,
    at: t.Any,
    by: str,
    run: str,
    digest: str,
    message: str = "",
    marks: tuple[str, ...] = (),
    reason: str = "",
) -> HistoryRow:
    """A row about an update run, DONE, out of a record."""
    return HistoryRow(
        at=at,
        by=by,
        action=action,
        kind=RUN,
        name=run,
        digest=digest,
        reason=reason,
        outcome=DONE,
        message=message,
        source=RECORD,
        marks=marks,
    )


def _approving(row: HistoryRow) -> HistoryRow:
    """The row with its digest as the one that was approved."""
    return replace(row, approved_digest=row.digest)
