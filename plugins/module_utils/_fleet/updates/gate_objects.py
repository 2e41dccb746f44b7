# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Gate objects of a run while it is conducted: made for each gate that opened, approvals and refusals on them judged,
those that do not count deleted, passed gates proven (``gate-unproven``), ``gate-refused``; all gates of a run with
their places; the run with answers that nobody has taken up yet."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..._core.errors import FleetError, Problem
from ..._core.objects.api_groups import FLEET_API
from ..._core.objects.updates.gate import Gate, UpdateRunGateTarget
from ..._core.objects.updates.update_run import UpdateRun
from ..._core.schema.codec import encode
from ..._core.updates.approvals import (
    ApprovalContext,
    as_answered,
    judged_approval,
    refusal_words,
    row_by_its_gate,
    unproven,
    why_another_gate,
)
from ..._core.updates.gates import placed_gates
from ..._core.updates.integrity import recorded_digest
from ..._core.updates.record.run_state import run_of
from ..._core.updates.record.summary import UNVERIFIED
from ..._core.updates.run import Approval, GateRow, RunState
from ..._core.updates.terms import Terms
from ..._core.values.clock_skew import is_due_again
from ..._core.values.instants import write_time
from ..._core.values.update_states import COMPLETED, NOT_STARTED, PENDING
from ..._store.records import Lease, Record, Records, replace_unless_moved
from ..recorded import DAMAGED, recorded

KIND = "Gate"
RUN_LABEL = "gitops.fleet/update-run"
_ATTEMPTS = 5
# How long the hub is taken to vouch as it did, for what is only shown.
_VOUCHED_FOR = timedelta(seconds=30)


@dataclass(frozen=True)
class PlacedGate:
    """A gate of a run and where it stands: ``timing`` is Before or After, ``group`` is empty for a stage's own."""

    stage: str
    group: str
    timing: str
    gate: GateRow

    @property
    def position(self) -> str:
        """Such as ``before canary/eu``; ``after canary`` for one of the stage's own."""
        return f"{self.timing.lower()} {self.stage}{'/' + self.group if self.group else ''}"


@dataclass(frozen=True, kw_only=True)
class UncountedGate:
    """A Gate that counts for nothing. ``words`` tell that, of an approval with who gave it; ``why`` has the cause
    alone. ``by`` is who approved it, empty where nobody is named or it cannot be read; None: nobody has."""

    placed: PlacedGate
    words: str
    why: str
    by: str | None = None

    @property
    def line(self) -> str:
        """In a sentence, with which gate it is."""
        return f"gate {self.placed.gate.name} {self.placed.position}: {self.words}"


def gates_of(run: RunState) -> t.Iterator[PlacedGate]:
    """Every gate of the run, with its place, by stage, in the order of ``placed_gates``."""
    for stage in run.stages:
        for group, timing, gates in placed_gates(stage):
            yield from (PlacedGate(stage.name, group, timing, each) for each in gates)


@dataclass
class GateKeeper:
    """The Gates of one run while it is conducted, by the ``terms`` of who does. ``since`` says from when on the hub
    vouches for names (``ApprovalContext``); ``tell`` takes a line for people about each Gate that does not count, and
    each refusal, ``uncounted`` such a Gate."""

    records: Records
    since: t.Callable[[], datetime | None] = lambda: None
    terms: Terms = Terms()
    tell: t.Callable[[str], None] = lambda _text: None
    uncounted: t.Callable[[UncountedGate], None] = lambda _gate: None
    _shown: dict[str, str] = field(default_factory=dict)
    _proven: set[tuple[str, str]] = field(default_factory=set)
    _vouched: tuple[datetime, datetime | None] | None = None

    def prove(self, run: UpdateRun, state: RunState, now: datetime) -> None:
        """FleetError ``gate-unproven`` for the first gate that the run counts as passed and that nobody who counts has
        completed, or whose Gate cannot be read; others of the records, and what ``since`` raises. What was proven is
        not looked at again."""
        for placed in gates_of(state):
            gate = placed.gate
            if gate.state != COMPLETED or (gate.id, gate.by) in self._proven:
                continue
            try:
                why = unproven(gate, self._object(gate.id), gate_target(run.name, placed), self._court(run), now)
            except FleetError as error:
                if error.code != DAMAGED:
                    raise
                why = f"its Gate cannot be read: {error.message}"
            if why:
                message = f"the run says that gate {gate.name} {placed.position} was passed, and {why}"
                hint = "see who may write updateruns/status, and who deleted the Gate; make a new run"
                raise FleetError("gate-unproven", message, f"UpdateRun/{run.name}", hint)
            self._proven.add((gate.id, gate.by))

    def judge_open_gates(
        self, run: UpdateRun, state: RunState, now: datetime
    ) -> tuple[tuple[Approval, ...], dict[str, GateRow]]:
        """The approvals that count, in the order of ``gates_of``, and all open gates by id, as of ``row_by_its_gate``.

        A Gate with an approval that does not count, that stands elsewhere, or that cannot be read, is deleted: the gate
        opens again, and somebody else can approve it. People are told of that, and of refusals. FleetError ``conflict``
        if others write a Gate at every attempt, others of the records, and what ``since`` raises.
        """
        rows: dict[str, GateRow] = {}
        found: list[Approval] = []
        for placed in gates_of(state):
            if placed.gate.state != PENDING:
                continue
            gate, given = self._counting(run, placed, now)
            found += [given] if given else []
            row = row_by_its_gate(
                placed.gate, gate, self._shown_court(run, now) if gate and gate.status.refusal else None
            )
            if row.refused and row.refused != placed.gate.refused:
                self.tell(f"gate {placed.gate.name} {placed.position} was refused by {row.refused}")
            rows[placed.gate.id] = row
        return tuple(found), rows

    def publish(self, run: UpdateRun, state: RunState, lease: Lease) -> None:
        """Makes the Gate objects say what the run says: makes one for each gate that is open, and writes the state of
        those that have closed, but not over an approval; what was shown last is not written again, and a gate that was
        skipped unopened gets no Gate. FleetError ``lease-lost``, others of the records."""
        for placed in gates_of(state):
            gate = placed.gate
            if gate.state == self._shown.get(gate.id, NOT_STARTED):
                continue
            _publish(self.records, run, placed, lease)
            self._shown[gate.id] = gate.state

    def _counting(self, run: UpdateRun, placed: PlacedGate, now: datetime) -> tuple[Gate | None, Approval | None]:
        """The object of an open gate and its approval that counts; None for what there is not. One that does not count
        is deleted as it was judged, which is told: what has come to it since is looked at again. FleetError
        ``conflict`` if that goes on, and as of ``seen``."""
        for left in reversed(range(_ATTEMPTS)):
            document = self.records.get(KIND, placed.gate.id)
            if document is None:
                self._shown.pop(placed.gate.id, None)  # somebody deleted it: it opens again, and is shown anew
                break
            judged = self._judged(run, placed, document, now)
            if not isinstance(judged, UncountedGate):
                return judged
            try:
                self.records.delete(KIND, placed.gate.id, document["metadata"]["resourceVersion"])
            except FleetError as error:
                if error.code != "conflict" or not left:
                    raise
                continue
            self.tell(judged.line)
            self.uncounted(judged)
            self._shown.pop(placed.gate.id, None)
            break
        return None, None

    def _judged(
        self, run: UpdateRun, placed: PlacedGate, document: Record, now: datetime
    ) -> tuple[Gate, Approval | None] | UncountedGate:
        """The Gate and its approval, None for one that nobody has given; or why the Gate does not count. What ``since``
        raises comes through."""
        try:
            gate = recorded(Gate, document)
        except FleetError as error:
            if error.code != DAMAGED:
                raise
            why = f"its Gate cannot be read: {error.message}"
            return UncountedGate(placed=placed, words=why, why=why, by="")
        place = gate_target(run.name, placed)
        if gate.status.state != COMPLETED:
            why = why_another_gate(gate, place, run)
            return UncountedGate(placed=placed, words=why, why=why) if why else (gate, None)
        given = judged_approval(gate, place, self._court(run), now)
        if isinstance(given, Approval):
            return gate, given
        by = gate.status.approval.by if gate.status.approval else ""
        words = f"the approval of {by or UNVERIFIED} does not count: {given.why}"
        return UncountedGate(placed=placed, words=words, why=given.why, by=by)

    def _court(self, run: UpdateRun) -> ApprovalContext:
        """What approvals are judged by; the hub is asked since when it vouches, by ``since``, whose errors come
        through."""
        return ApprovalContext(run=run, given=self.terms, since=self.since())

    def _shown_court(self, run: UpdateRun, now: datetime) -> ApprovalContext:
        """As ``_court``, errors too, for what decides nothing: since when the hub vouches is asked every 30 s only."""
        if self._vouched is None or is_due_again(self._vouched[0], _VOUCHED_FOR, now):
            self._vouched = (now, self.since())
        return ApprovalContext(run=run, given=self.terms, since=self._vouched[1])

    def _object(self, name: str) -> Gate | None:
        """The Gate of this name, None if there is none. FleetError ``record-damaged``."""
        document = self.records.get(KIND, name)
        return recorded(Gate, document) if document is not None else None


def _publish(records: Records, run: UpdateRun, placed: PlacedGate, lease: Lease) -> None:
    """Makes the Gate of an open gate, or writes the state of the run's into the one that is there, but not over an
    approval; again where somebody else writes it in between, but not for ever. Nothing if somebody else makes it at
    this moment. FleetError ``lease-lost``, and others of the records."""
    for _attempt in range(_ATTEMPTS):
        stored = records.get(KIND, placed.gate.id)
        if stored is None:
            if placed.gate.state == PENDING:  # one that was skipped before it opened has nothing to show
                _create(records, _document(run, placed), lease)
            return
        status = stored.get("status") or {}
        if status.get("state") in (placed.gate.state, COMPLETED):
            return
        shown = {**stored, "status": {**status, "state": placed.gate.state}}
        if replace_unless_moved(records, shown, lease) is not None:
            return


def _create(records: Records, gate: Record, lease: Lease) -> None:
    """Makes the Gate, unless somebody else has just made it. FleetError ``lease-lost``, and others of the records."""
    try:
        records.create(gate, lease)
    except FleetError as error:
        if error.code != "already-exists":
            raise


def refusals(records: Records, run: UpdateRun) -> t.Iterator[Problem]:
    """A problem ``gate-refused``, in the order of ``gates_of``, for each open gate of the run whose Gate was refused,
    and nobody has approved since, whether that counts or not. FleetError ``record-damaged``, as it is iterated over."""
    for placed in gates_of(run_of(run)):
        document = records.get(KIND, placed.gate.id) if placed.gate.state == PENDING else None
        gate = recorded(Gate, document) if document is not None else None
        words = refusal_words(gate) if gate and not why_another_gate(gate, gate_target(run.name, placed), run) else ""
        if words:
            words = placed.gate.refused or words
            hint = "approve it (gitops.fleet.approve), or delete the run"
            message = f"gate {placed.gate.name} {placed.position} was refused by {words}"
            yield Problem("gate-refused", message, f"UpdateRun/{run.name}", hint)


def with_answers(records: Records, run: UpdateRun, since: t.Callable[[], datetime | None], now: datetime) -> UpdateRun:
    """The run as people are to see it, nothing written: open gates whose Gate was approved or refused since it was
    conducted say so. Approvals are judged by the terms that the run keeps, and left out if they do not count; so are
    Gates that stand elsewhere, or for which records or ``since`` (as of ``GateKeeper``) raise FleetError."""
    answers: dict[str, Approval | str] = {}
    for placed in gates_of(run_of(run)):
        with contextlib.suppress(FleetError):
            document = records.get(KIND, placed.gate.id) if placed.gate.state == PENDING else None
            gate = recorded(Gate, document) if document is not None else None
            if gate is None or not (gate.status.state == COMPLETED or gate.status.refusal):
                continue
            place = gate_target(run.name, placed)
            if why_another_gate(gate, place, run):
                continue
            court = ApprovalContext(run=run, since=since())
            given = judged_approval(gate, place, court, now)
            if gate.status.state == PENDING:
                answers[placed.gate.id] = refusal_words(gate, court)
            elif isinstance(given, Approval):
                answers[placed.gate.id] = given
    return as_answered(run, answers)


def gate_target(run: str, placed: PlacedGate) -> UpdateRunGateTarget:
    """The place of the gate, as its object names it."""
    return UpdateRunGateTarget(name=run, stage=placed.stage, group=placed.group, timing=placed.timing)


def _document(run: UpdateRun, placed: PlacedGate) -> Record:
    """The Gate that is to be made for an open gate; what is empty is left out of its spec, and so is the instant of a
    schedule that has none."""
    gate = placed.gate
    spec: Record = {
        "displayName": gate.name,
        "gateType": "ScheduledStart" if gate.schedule else "Approval",
        "target": {
            "id": f"updateruns/{run.name}",
            "updateRunProperties": encode(gate_target(run.name, placed)),
        },
        "digest": recorded_digest(run),
    }
    if gate.schedule:
        spec["scheduledStartProperties"] = {
            "startDay": gate.schedule.day,
            "startTime": gate.schedule.time,
            "utcOffset": gate.schedule.utc_offset,
        }
        if gate.due:
            spec["scheduledStartProperties"]["absoluteStartTime"] = write_time(gate.due)
    return {
        "apiVersion": FLEET_API,
        "kind": KIND,
        "metadata": {"name": gate.id, "labels": {RUN_LABEL: run.name}},
        "spec": {key: value for key, value in spec.items() if value},
        "status": {"state": PENDING},
    }
