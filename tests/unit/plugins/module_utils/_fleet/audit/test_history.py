# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The history out of records: entries, what other records tell where there is none, and the journal."""

from __future__ import annotations

import contextlib
import sqlite3
import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.audit.audit_entry import (
    GATE_APPROVED,
    GATE_REFUSED,
    STAGE_APPROVED,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.history import (
    GOING_ON,
    JOURNAL,
    NOT_ENDED,
    RECORD,
    HistoryRow,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.approving import NOBODY, signature
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit import evidence
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.evidence import Deed
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.history import HistoryRequest, fleet_history
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.leases import holder_name
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.approvals import RUN_DIGEST
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Record
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 11, 25, 20, tzinfo=UTC)
DIGEST = f"sha256:{'ab' * 32}"
GATE = "3f0a8c52-6a4e-5b0d-9c1e-0123456789ab"
APPROVED = {"by": "ann", "at": "2026-11-25T19:00:00Z", "reason": "ticket 7", "digest": DIGEST}


class Closed(SqliteRecords):
    """May read entries and nothing that says more."""

    def list(self, kind: str, *args: t.Any, **more: t.Any) -> tuple[Record, ...]:
        if kind != "AuditEntry":
            raise FleetError("forbidden", f"cannot list {kind}", "hub")
        return super().list(kind, *args, **more)


@pytest.fixture(params=[SqliteRecords])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> t.Iterator[Session]:
    records = request.param(tmp_path / "records.db", lambda: NOW)
    yield Session(records=records, hub=None, holder="runner-1", clock=lambda: NOW, environ={"USER": "ann"})
    records.close()


def gate(session: Session, **status: t.Any) -> None:
    place = {"name": "1-31", "stage": "prod", "timing": "Before"}
    session.records.create(
        {
            "apiVersion": "gitops.fleet/v1alpha1",
            "kind": "Gate",
            "metadata": {"name": GATE},
            "spec": {"gateType": "Approval", "target": {"updateRunProperties": place}, "digest": DIGEST},
            "status": status,
        }
    )


def request(session: Session, message: str) -> None:
    said = {"type": "Approved", "status": "True", "reason": "x", "message": message}
    session.records.create(
        {
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
            "kind": "ClusterApprovalRequest",
            "metadata": {"name": "web-before-prod", "annotations": {RUN_DIGEST: DIGEST}},
            "spec": {"parentStageRollout": "web", "targetStage": "prod"},
            "status": {"conditions": [{**said, "lastTransitionTime": "2026-11-25T19:00:00Z"}]},
        }
    )


def rows(session: Session, **asked: t.Any) -> tuple[HistoryRow, ...]:
    found = fleet_history(session, HistoryRequest(**asked))
    assert not found.problems
    return found.rows


def test_without_anything_recorded_there_is_nothing_to_tell(session: Session) -> None:
    assert rows(session) == ()


def test_an_approval_without_an_entry_is_told_by_its_gate(session: Session) -> None:
    gate(session, state="Completed", approval=APPROVED)
    (row,) = rows(session)
    assert (row.action, row.by, row.reason, row.source) == (GATE_APPROVED, "ann", "ticket 7", RECORD)
    assert (row.kind, row.name, row.approved_digest) == ("UpdateRun", "1-31", DIGEST)


def test_a_refusal_stays_told_when_an_approval_came_after_it(session: Session) -> None:
    refused = {**APPROVED, "by": "bob", "at": "2026-11-25T18:00:00Z", "reason": "not today"}
    gate(session, state="Completed", approval=APPROVED, refusal=refused)
    assert [(each.action, each.by, each.reason) for each in rows(session)] == [
        (GATE_REFUSED, "bob", "not today"),
        (GATE_APPROVED, "ann", "ticket 7"),
    ]


def test_the_entry_of_an_approval_takes_the_place_of_what_its_gate_tells(session: Session) -> None:
    gate(session, state="Completed", approval=APPROVED)
    deed = Deed(action=GATE_APPROVED, kind="UpdateRun", name="1-31", reason="ticket 7", message=f"gate {GATE}, before")
    evidence.testify(session, deed)
    assert [each.source for each in rows(session)] == ["entry"]


@pytest.mark.parametrize(
    ("message", "by", "reason"),
    [(signature("anna", DIGEST, "fine"), "anna", "fine"), ("by hand", NOBODY, "")],
)
def test_an_approval_of_a_staged_run_is_of_whoever_signed_it(
    session: Session, message: str, by: str, reason: str
) -> None:
    request(session, message)
    (row,) = rows(session)
    assert (row.action, row.by, row.reason) == (STAGE_APPROVED, by, reason)
    assert row.approved_digest == (DIGEST if by == "anna" else "")


def test_who_has_a_lease_is_still_at_it(session: Session) -> None:
    evidence.Testimony(session, Deed(action="Evicted")).begin()
    assert rows(session)[0].outcome == NOT_ENDED
    session.records.acquire("placement/web", "runner-1", 60)
    assert rows(session)[0].outcome == GOING_ON


def test_who_was_killed_on_this_machine_is_not_at_it_though_the_lease_lasts(session: Session) -> None:
    """By the same rule as ``status`` tells that nobody conducts a run."""
    killed = f"{holder_name({})}0"  # no process of this number began at that time
    evidence.Testimony(replace(session, holder=killed), Deed(action="Evicted")).begin()
    session.records.acquire("placement/web", killed, 60)
    assert rows(session)[0].outcome == NOT_ENDED


def test_the_journal_is_told_of_the_objects_that_are_told_of_and_in_their_time(session: Session) -> None:
    evidence.testify(session, Deed(action="Joined", kind="MemberCluster", name="m1"))
    for name, at in (("m1", NOW), ("m1", NOW - timedelta(days=2)), ("m2", NOW)):
        session.records.event("MemberCluster", name, "Normal", "Evacuated", f"of {name}", at)
    told = [each for each in rows(session, journal=True, since="1d") if each.source == JOURNAL]
    assert [(each.name, each.at, each.message) for each in told] == [("m1", NOW, "of m1")]
    assert not [each for each in rows(session) if each.source == JOURNAL]


def test_the_journal_is_told_of_an_object_that_no_entry_tells_of(session: Session) -> None:
    session.records.event("MemberCluster", "m1", "Normal", "Evacuated", "of m1", NOW)
    assert [each.message for each in rows(session, journal=True, about="MemberCluster/m1")] == ["of m1"]
    assert not rows(session, journal=True, about="m1")


def test_a_damaged_record_is_named_and_hides_no_other(session: Session) -> None:
    evidence.testify(session, Deed(action="Joined", kind="MemberCluster", name="m1"))
    for kind, name in (("AuditEntry", "damaged-entry"), ("Gate", "damaged-gate")):
        document = {"apiVersion": "gitops.fleet/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": {"at": 5}}
        session.records.create(document)
    asked = {"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterApprovalRequest"}
    session.records.create({**asked, "metadata": {"name": "damaged-request"}, "spec": {"targetStage": "web"}})
    with contextlib.closing(sqlite3.connect(session.records.place)) as file, file:
        file.execute("""UPDATE records SET document = replace(document, '"web"', '["web"]')""")
    found = fleet_history(session, HistoryRequest())
    assert [each.action for each in found.rows] == ["Joined"]
    for name in ("damaged-entry", "damaged-gate", "damaged-request"):
        assert any(name in str(each) for each in found.problems)


@pytest.mark.parametrize("session", [Closed], indirect=True)
def test_what_the_account_may_not_read_is_told_and_the_rest_is_there(session: Session) -> None:
    evidence.testify(session, Deed(action="Joined", kind="MemberCluster", name="m1"))
    found = fleet_history(session, HistoryRequest())
    assert [each.action for each in found.rows] == ["Joined"]
    assert {each.code for each in found.problems} == {"forbidden"}


@pytest.mark.parametrize("option", ["since", "until"])
def test_a_time_that_is_none_is_refused(session: Session, option: str) -> None:
    with pytest.raises(FleetError) as refused:
        fleet_history(session, HistoryRequest(**{option: "lately"}))
    assert refused.value.problems[0].where == option


def test_an_end_before_the_beginning_is_no_quiet_time(session: Session) -> None:
    with pytest.raises(FleetError) as refused:
        fleet_history(session, HistoryRequest(since="2026-11-25", until="2026-11-24"))
    assert (refused.value.code, refused.value.where) == ("bad-option", "until")
    assert fleet_history(session, HistoryRequest(since="2026-11-25", until="2026-11-25")).rows == ()
