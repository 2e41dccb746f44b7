# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""F18, F19: which approvals count, by what is asked of them and what the hub vouches for."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.gate import (
    Gate,
    GateApproval,
    GateRefusal,
    GateSpec,
    GateStatus,
    GateTarget,
    ScheduledStartProperties,
    UpdateRunGateTarget,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.run_status import UpdateRunStatus
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import (
    MADE_BY,
    ApprovalContext,
    RefusedApproval,
    judged_approval,
    refusal_words,
    row_by_its_gate,
    unproven,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.integrity import DIGEST
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import Approval, GateRow, Schedule
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import Terms
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.clock_skew import CLOCK_SKEW
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import laid
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.test_integrity import object_of

NOW = datetime(2026, 8, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DIGEST_A, DIGEST_B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
PLACE = UpdateRunGateTarget(name="r", stage="s", timing="Before")
INSTALLED = NOW - 10 * HOUR


def gate(by: str = "anna", at: datetime | None = NOW - HOUR, created: datetime | None = NOW - 5 * HOUR, **more: t.Any):
    approval = None if by is None else GateApproval(by=by, at=at, digest=DIGEST_A, **more)
    spec = GateSpec(gate_type="Approval", target=GateTarget(update_run_properties=PLACE), digest=DIGEST_A)
    status = GateStatus(state="Completed", approval=approval)
    return Gate(metadata=ObjectMeta(name="id", creation_timestamp=created), spec=spec, status=status)


def court(since: datetime | None = INSTALLED, made: str = "ci", begun: str = "ci", **terms: t.Any) -> ApprovalContext:
    run = object_of(laid("s{g:a}"), DIGEST_A)
    metadata = ObjectMeta(
        name="r", creation_timestamp=NOW - 6 * HOUR, annotations={DIGEST: DIGEST_A, **({MADE_BY: made} if made else {})}
    )
    run = replace(run, metadata=metadata, status=UpdateRunStatus(started_by=begun))
    return ApprovalContext(run=run, given=Terms(**terms), since=since)


def why(found: Gate, before: ApprovalContext, **more: t.Any) -> str:
    given = judged_approval(found, PLACE, before, NOW, **more)
    return given.why if isinstance(given, RefusedApproval) else ""


def test_one_that_counts_says_who_and_when():
    assert judged_approval(gate(), PLACE, court(), NOW) == Approval(gate="id", by="anna", at=NOW - HOUR, verified=True)


@pytest.mark.parametrize(
    "since, created",
    [(None, NOW), (INSTALLED, INSTALLED), (INSTALLED, INSTALLED - HOUR), (INSTALLED, None)],
    ids=["no policies", "made in the same second", "made before them", "made nobody knows when"],
)
def test_names_are_verified_for_gates_that_were_made_under_the_policies(since: t.Any, created: t.Any):
    given = judged_approval(gate(created=created, verified=True), PLACE, court(since), NOW)
    assert isinstance(given, Approval) and not given.verified
    assert "nothing proves that it is of anna" in why(gate(created=created), court(since, verified=True))
    assert "nothing proves" in why(gate(created=created), court(since, self_approval=False))


def test_whoever_wrote_no_name_is_nobody():
    given = judged_approval(gate(by=None), PLACE, court(), NOW)  # type: ignore[arg-type]
    assert given == Approval(gate="id", by="unverified", at=NOW, verified=False)
    assert "nothing proves that it is of anybody" in why(gate(by=None), court(verified=True))  # type: ignore[arg-type]


@pytest.mark.parametrize("made, begun", [("anna", "ci"), ("ci", "anna"), ("anna", "anna")])
def test_four_eyes(made: str, begun: str):
    assert "anna made or started the run" in why(gate(), court(made=made, begun=begun, self_approval=False))
    assert why(gate(by="bert"), court(made=made, begun=begun, self_approval=False)) == ""
    assert why(gate(), court(made=made, begun=begun)) == "", "where it is allowed"


@pytest.mark.parametrize("made, begun", [("", "ci"), ("ci", "")])
def test_four_eyes_want_to_know_whose_the_others_are(made: str, begun: str):
    assert "nothing proves who made" in why(gate(), court(made=made, begun=begun, self_approval=False))


def test_a_run_that_is_older_than_the_policies_proves_nobody():
    old = court(since=NOW - 5.5 * HOUR, self_approval=False)
    assert "nothing proves who made" in why(gate(), old)


@pytest.mark.parametrize(
    "at, counts",
    [
        *((NOW - HOUR, True), (NOW - HOUR - timedelta(seconds=1), False), (None, False)),
        # A clock may be ahead; who writes a year ahead would have an approval for ever.
        *((NOW + CLOCK_SKEW, True), (NOW + CLOCK_SKEW + timedelta(seconds=1), False)),
    ],
)
def test_an_approval_expires_unless_it_was_used(at: t.Any, counts: bool):
    assert (why(gate(at=at), court(expires=HOUR)) == "") is counts
    assert why(gate(at=at), court(expires=HOUR), used=True) == ""
    assert why(gate(at=at), court()) == ""


def test_an_approval_is_for_a_digest():
    other = replace(gate(), status=GateStatus(state="Completed", approval=GateApproval(by="anna", digest=DIGEST_B)))
    assert f"it is for digest {DIGEST_B}, and the run has {DIGEST_A}" in why(other, court())
    another = replace(gate(), spec=replace(gate().spec, digest=DIGEST_B))
    assert "its Gate is for digest" in why(another, court())


@pytest.mark.parametrize("place", [{"name": "q"}, {"stage": "t"}, {"group": "g"}, {"timing": "After"}])
def test_an_approval_is_for_a_place(place: dict[str, str]):
    target = GateTarget(update_run_properties=replace(PLACE, **place))
    assert why(replace(gate(), spec=replace(gate().spec, target=target)), court()) == "its Gate stands elsewhere"


PASSED = GateRow(name="board", id="id", state="Completed", by="anna", completed=NOW)


def test_what_the_run_says_is_proven_by_the_gate():
    assert unproven(PASSED, gate(), PLACE, court(), NOW) == ""
    assert "no Gate" in unproven(PASSED, None, PLACE, court(), NOW)
    assert "approved by anna, not by eve" in unproven(replace(PASSED, by="eve"), gate(), PLACE, court(), NOW)
    waiting = replace(gate(), status=GateStatus())
    assert "its Gate is Pending" in unproven(PASSED, waiting, PLACE, court(), NOW)
    assert "does not count" in unproven(PASSED, gate(), PLACE, court(None, verified=True), NOW)


@pytest.mark.parametrize(
    "due, proven", [(NOW, True), (NOW + timedelta(seconds=5), True), (NOW + HOUR, False), (None, False)]
)
def test_the_clock_passes_what_is_due(due: t.Any, proven: bool):
    """By the object of the gate, whose spec nobody can change; not by what the run says of it."""
    clock = ScheduledStartProperties(
        start_day="Monday", start_time="09:00", utc_offset="+00:00", absolute_start_time=due
    )
    timed = replace(gate(), spec=replace(gate().spec, scheduled_start_properties=clock), status=GateStatus())
    schedule = Schedule(day="Monday", time="09:00", utc_offset="+00:00")
    row = replace(PASSED, by="", schedule=schedule, due=NOW - HOUR)
    assert (unproven(row, timed, PLACE, court(), NOW) == "") is proven
    assert unproven(row, gate(), PLACE, court(), NOW) != "", "a gate for people has no time"
    of_people = replace(row, schedule=None)
    for terms in ({}, {"verified": True, "self_approval": False}):
        words = unproven(of_people, timed, PLACE, court(**terms), NOW)
        assert words == "its time has not come", "whatever its object says: the digest covers the schedule"


def test_an_open_gate_is_as_its_object_has_it():
    schedule = Schedule(day="Friday", time="12:30", utc_offset="+00:00")
    row = GateRow(name="board", id="id", schedule=schedule, state="Pending", opened=NOW, due=NOW - HOUR)
    clock = ScheduledStartProperties(
        start_day="Friday", start_time="12:30", utc_offset="+00:00", absolute_start_time=NOW + HOUR
    )
    timed = replace(gate(), spec=replace(gate().spec, scheduled_start_properties=clock))
    assert row_by_its_gate(row, timed).due == NOW + HOUR
    assert row_by_its_gate(row, gate()).due is None
    unseen = row_by_its_gate(row, None)
    assert (unseen.state, unseen.opened, unseen.due) == ("NotStarted", None, None)
    assert row_by_its_gate(PASSED, None) is PASSED


def test_an_instant_before_the_schedule_has_come_round_is_not_taken_from_a_gate():
    """Whoever may make Gates can put one with a past instant in its place; the schedule is in the digest of the run."""
    schedule = Schedule(day="Monday", time="09:00", utc_offset="+00:00")
    row = GateRow(name="board", id="id", schedule=schedule, state="Pending", opened=NOW)
    clock = ScheduledStartProperties(
        start_day="Monday", start_time="09:00", utc_offset="+00:00", absolute_start_time=NOW - HOUR
    )
    forged = replace(gate(), spec=replace(gate().spec, scheduled_start_properties=clock), status=GateStatus())
    due = row_by_its_gate(row, forged).due
    assert due is not None and due > NOW and (due.weekday(), due.hour) == (0, 9)
    passed = replace(PASSED, by="", schedule=schedule, opened=NOW)
    assert unproven(passed, forged, PLACE, court(), NOW) == "its time has not come"
    assert unproven(passed, forged, PLACE, court(), due) == ""


def test_a_refusal_names_who_and_why_as_far_as_that_is_proven():
    given = GateStatus(refusal=GateRefusal(by="bert", at=NOW, reason="too\nslow", digest=DIGEST_A))
    open_one = replace(gate(), status=given)
    assert refusal_words(open_one, court()) == "bert: too slow"
    assert refusal_words(open_one) == "bert, unverified: too slow"
    assert refusal_words(replace(open_one, status=replace(given, state="Completed"))) == "", "approved since"
    assert refusal_words(replace(open_one, status=GateStatus())) == ""
