# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""F18, F19: Gates of a run while it is conducted, over records in a file."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import MADE_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.commands import start
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.decide import decide
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.integrity import DIGEST
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import (
    GateRow,
    MemberView,
    OpenGate,
    RunState,
    Schedule,
    UpdateSeen,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import Terms, as_annotations
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates import gate_completion
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_objects import (
    GateKeeper,
    UncountedGate,
    gates_of,
    refusals,
    with_answers,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease, Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import UID, changed, laid
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.test_integrity import object_of

NOW = datetime(2026, 8, 21, 12, tzinfo=UTC)
DIGEST_A = f"sha256:{'a' * 64}"
GATE = GateRow(name="board", id="3f0a8c52-6a4e-5b0d-9c1e-0123456789ab", state="Pending", opened=NOW)


class HastyRecords(SqliteRecords):
    """Just before the first ``times`` deletions somebody writes ``status`` to the record; ``before_replace`` is called
    once, before the next replacement."""

    status: t.ClassVar[Record] = {}
    times = 0
    before_replace: t.Callable[[], object] | None = None

    def replace(self, record: Record, lease: Lease | None = None) -> Record:
        before, self.before_replace = self.before_replace, None
        if before:
            before()
        return super().replace(record, lease)

    def delete(self, kind: str, name: str, *args: t.Any, **more: t.Any) -> None:
        stored = self.get(kind, name)
        if self.times and stored is not None:
            self.times -= 1
            metadata = {**stored["metadata"], "annotations": {"left": str(self.times)}}
            self.replace({**stored, "metadata": metadata, "status": self.status})
        super().delete(kind, name, *args, **more)


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[HastyRecords]:
    opened = HastyRecords(tmp_path / "records.db", lambda: NOW)
    yield opened
    opened.close()


def run_and_state() -> tuple[UpdateRun, RunState]:
    state = changed(laid("s{g:a}"), "s", before_gates=(GATE,), reached=True)
    metadata = ObjectMeta(name="r", uid=UID, annotations={DIGEST: DIGEST_A})
    return replace(object_of(state, DIGEST_A), metadata=metadata), state


def shown(records: SqliteRecords, digest: str = DIGEST_A, status: Record | None = None, **spec: t.Any) -> None:
    place = {"name": "r", "stage": "s", "timing": "Before"}
    records.create(
        {
            "apiVersion": "gitops.fleet/v1alpha1",
            "kind": "Gate",
            "metadata": {"name": GATE.id},
            "spec": {"gateType": "Approval", "target": {"updateRunProperties": place}, "digest": digest, **spec},
            "status": status or {"state": "Pending"},
        }
    )


def approved(digest: str) -> Record:
    return {"state": "Completed", "approval": {"by": "anna", "at": "2026-08-21T11:59:00Z", "digest": digest}}


def test_an_approval_that_does_not_count_takes_its_gate_with_it(records: HastyRecords) -> None:
    told: list[str] = []
    shown(records, status=approved(f"sha256:{'b' * 64}"))
    approvals, rows = GateKeeper(records, tell=told.append).judge_open_gates(*run_and_state(), NOW)
    assert approvals == () and rows[GATE.id].state == "NotStarted" and records.get("Gate", GATE.id) is None
    assert len(told) == 1 and "does not count" in told[0]


@pytest.mark.parametrize(
    ("status", "by"),
    [(approved(f"sha256:{'b' * 64}"), "anna"), ({"state": "Completed"}, ""), ({"state": "What"}, ""), ({}, None)],
)
def test_evidence_is_of_approvals_that_do_not_count(records: HastyRecords, status: Record, by: str | None) -> None:
    """F19: who gave it, if that is named, and why; a Gate that nobody has approved leaves none."""
    found: list[UncountedGate] = []
    shown(records, f"sha256:{'b' * 64}", status or {"state": "Pending"})
    GateKeeper(records, uncounted=found.append).judge_open_gates(*run_and_state(), NOW)
    (gate,) = found
    assert gate.by == by and gate.placed.gate.id == GATE.id
    assert ("cannot be read" if status.get("state") == "What" else "digest") in gate.why


def test_an_approval_that_comes_in_between_is_not_lost(records: HastyRecords) -> None:
    """The Gate is deleted in the version that was judged."""
    told: list[str] = []
    shown(records, status=approved(f"sha256:{'b' * 64}"))
    records.times, HastyRecords.status = 1, approved(DIGEST_A)
    approvals, rows = GateKeeper(records, tell=told.append).judge_open_gates(*run_and_state(), NOW)
    assert [each.by for each in approvals] == ["anna"] and rows[GATE.id].state == "Pending" and told == []


def test_one_that_is_written_all_the_time_is_no_endless_loop(records: HastyRecords) -> None:
    shown(records, f"sha256:{'b' * 64}")
    records.times, HastyRecords.status = 100, {"state": "Pending"}
    with pytest.raises(FleetError) as refused:
        GateKeeper(records).judge_open_gates(*run_and_state(), NOW)
    assert refused.value.code == "conflict" and records.get("Gate", GATE.id) is not None


def test_the_hub_is_not_asked_every_second_for_what_it_vouches(records: HastyRecords) -> None:
    """For what is shown, that is; an approval is judged by what holds now."""
    asked: list[int] = []

    def since() -> datetime:
        asked.append(1)
        return NOW - timedelta(hours=1)

    keeper = GateKeeper(records, since)
    shown(records, status={"state": "Pending"})
    for seconds in range(20):
        keeper.judge_open_gates(*run_and_state(), NOW + timedelta(seconds=seconds))
    assert asked == [], "a gate that nobody has touched names nobody"
    stored = records.get("Gate", GATE.id)
    assert stored is not None
    refusal = {"by": "bert", "at": "2026-08-21T11:59:00Z", "reason": "not now", "digest": DIGEST_A}
    stored = records.replace({**stored, "status": {"state": "Pending", "refusal": refusal}})
    for seconds in range(20):
        _approvals, rows = keeper.judge_open_gates(*run_and_state(), NOW + timedelta(seconds=seconds))
        assert rows[GATE.id].refused == "bert: not now"
    assert len(asked) == 1
    records.replace({**stored, "status": approved(DIGEST_A)})
    for _time in range(3):
        (given,) = keeper.judge_open_gates(*run_and_state(), NOW)[0]
        assert given.verified
    assert len(asked) == 4


@pytest.mark.parametrize("vouches", [False, True])
def test_what_was_approved_since_is_shown_and_nothing_is_written(records: HastyRecords, vouches: bool) -> None:
    run, _state = run_and_state()
    shown(records, status=approved(DIGEST_A))
    before = records.get("Gate", GATE.id)
    told = with_answers(records, run, lambda: NOW - timedelta(hours=1) if vouches else None, NOW)
    (gate,) = told.status.stages[0].before_gates
    assert (gate.status.state, gate.by, gate.verified) == ("Pending", "anna", vouches)
    assert records.get("Gate", GATE.id) == before


@pytest.mark.parametrize(
    "status",
    [
        {"state": "Pending"},
        approved(f"sha256:{'b' * 64}"),
        {"state": "Completed", "approval": "anna"},
        "nonsense",
        None,
    ],
    ids=["nobody did", "for another digest", "damaged", "no status", "no object"],
)
def test_what_does_not_count_is_not_shown_as_approved(records: HastyRecords, status: t.Any) -> None:
    run, _state = run_and_state()
    if status is not None:
        shown(records, status=status)
    stage = run.status.stages[0]
    forged = replace(stage, before_gates=(replace(stage.before_gates[0], by="mallory"),))
    for each in (run, replace(run, status=replace(run.status, stages=(forged,)))):
        (gate,) = with_answers(records, each, lambda: None, NOW).status.stages[0].before_gates
        assert gate.by == ""


def keeping(run: UpdateRun, terms: Terms) -> UpdateRun:
    annotations = {**run.metadata.annotations, **as_annotations(terms)}
    return replace(run, metadata=replace(run.metadata, annotations=annotations))


def test_whoever_conducts_without_terms_judges_by_those_that_the_run_keeps(records: HastyRecords) -> None:
    """F18. It is not shown as approved before, either."""
    told: list[str] = []
    run, state = run_and_state()
    kept = keeping(run, Terms(self_approval=False))
    shown(records, status=approved(DIGEST_A))
    assert with_answers(records, run, lambda: None, NOW).status.stages[0].before_gates[0].by == "anna"
    assert with_answers(records, kept, lambda: None, NOW).status.stages[0].before_gates[0].by == ""
    approvals, _rows = GateKeeper(records, tell=told.append).judge_open_gates(kept, state, NOW)
    assert approvals == () and "nothing proves that it is of anna" in told[0]


@pytest.mark.parametrize("write", [True, False])
def test_an_approver_is_told_that_it_does_not_count(
    records: HastyRecords, monkeypatch: pytest.MonkeyPatch, write: bool
) -> None:
    """F18. By the terms that the run keeps; before it is given, and of one that was given already."""
    run, state = run_and_state()
    since = NOW - timedelta(hours=1)
    session = Session(records=records, holder="tests", clock=lambda: NOW)

    def answer(kept: UpdateRun, name: str) -> str:
        monkeypatch.setattr(gate_completion, "_meant", lambda *_asked: (kept, next(gates_of(state))))
        done = gate_completion.complete_gates(
            session, "r", gate_completion.Which(), gate_completion.Approver(name=name, since=since), "", "", write=write
        )
        return done.uncounted

    shown(records)
    made = replace(run.metadata, annotations={**run.metadata.annotations, MADE_BY: "anna"}, creation_timestamp=NOW)
    own = replace(run, metadata=made, status=replace(run.status, started_by="carl", digest=DIGEST_A))
    four_eyes = keeping(own, Terms(self_approval=False))
    if not write:
        assert answer(own, "anna") == answer(four_eyes, "bert") == ""
    for _time in range(2):
        assert answer(four_eyes, "anna") == "anna made or started the run, and self-approval is not allowed"


def test_what_was_refused_since_is_shown(records: HastyRecords) -> None:
    refusal = {"by": "bert", "at": "2026-08-21T11:59:00Z", "reason": "not now", "digest": DIGEST_A}
    shown(records, status={"state": "Pending", "refusal": refusal})
    told = with_answers(records, run_and_state()[0], lambda: None, NOW)
    assert told.status.stages[0].before_gates[0].refused == "bert, unverified: not now"


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"digest": f"sha256:{'b' * 64}"},
        {"target": {"updateRunProperties": {"name": "other", "stage": "s", "timing": "Before"}}},
    ],
    ids=["another digest", "another run"],
)
def test_a_refusal_of_a_gate_that_stands_elsewhere_refuses_nothing_here(
    records: HastyRecords, elsewhere: dict[str, t.Any]
) -> None:
    """F18. Whoever conducts the run takes that Gate away; nobody could approve it to start the run."""
    refusal = {"by": "bert", "at": "2026-08-21T11:59:00Z", "reason": "not now", "digest": DIGEST_A}
    run, status = run_and_state()[0], {"state": "Pending", "refusal": refusal}
    shown(records, status=status)
    assert [each.code for each in refusals(records, run)] == ["gate-refused"]
    records.delete("Gate", GATE.id)
    shown(records, status=status, **elsewhere)
    assert list(refusals(records, run)) == [] and with_answers(records, run, lambda: None, NOW) is run


def test_a_gate_that_is_skipped_is_shown_so_although_somebody_refuses_it_in_that_moment(records: HastyRecords) -> None:
    """Else it would be shown as waiting for ever: no later turn writes it once more."""
    shown(records)
    run, state = run_and_state()
    skipped = changed(state, "s", before_gates=(replace(GATE, state="Skipped"),))
    stored = records.get("Gate", GATE.id) or {}
    refusal = {"by": "ben", "at": "2026-08-21T11:59:00Z", "reason": "not today", "digest": DIGEST_A}
    refused = {**stored, "status": {"state": "Pending", "refusal": refusal}}
    records.before_replace = lambda: records.replace(refused)
    GateKeeper(records).publish(run, skipped, records.acquire("run/r", "me", 60))
    status = (records.get("Gate", GATE.id) or {})["status"]
    assert (status["state"], status["refusal"]) == ("Skipped", refusal)


def test_a_gate_that_somebody_makes_in_between_is_theirs(
    records: HastyRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked for and not there, and there when it is to be made."""
    shown(records)
    monkeypatch.setattr(records, "get", lambda *_asked: None)
    run, state = run_and_state()
    lease = records.acquire("run/r", "runner-1", 60)
    GateKeeper(records).publish(run, state, lease)
    monkeypatch.undo()
    assert (records.get("Gate", GATE.id) or {})["status"] == {"state": "Pending"}


@pytest.mark.parametrize("schedule", [None, Schedule(day="Saturday", time="09:00", utc_offset="+02:00")])
def test_a_gate_that_somebody_deletes_is_shown_again(records: HastyRecords, schedule: Schedule | None) -> None:
    """By the conductor at work, in the same turn and once; when it opens by itself does not move by that."""
    run, _state = run_and_state()
    unopened = replace(GATE, state="NotStarted", opened=None, schedule=schedule)
    state = start(changed(laid("s{g:a}"), "s", before_gates=(unopened,)), NOW)
    keeper, lease = GateKeeper(records), records.acquire("run/r", "runner-1", 60)
    opened, dues = [], set()
    for second in range(8):
        now = NOW + timedelta(seconds=second)
        approvals, gates = keeper.judge_open_gates(run, state, now)
        seen = UpdateSeen(members={"a": MemberView(name="a")}, approvals=approvals, gates=gates)
        decided = decide(state, seen, now)
        opened += [second for each in decided.acts if isinstance(each, OpenGate)]
        state = decided.state
        keeper.publish(run, state, lease)
        assert records.get("Gate", GATE.id) is not None
        dues.add(state.stages[0].before_gates[0].due)
        if second == 3:
            records.delete("Gate", GATE.id)
    assert opened == [0, 4] and len(dues) == 1
