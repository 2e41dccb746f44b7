# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""F19: an approval that does not count leaves evidence of that, beside the evidence that it was given."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.audit.audit_entry import (
    APPROVAL_REFUSED,
    GATE_APPROVED,
    STAGE_APPROVED,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.key import RunKey
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.strategy import APPROVAL as TASK
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import (
    ClusterStagedUpdateRun,
    StagedUpdateRunSpec,
    StageTaskStatus,
    StageUpdatingStatus,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.overview.history import DOES_NOT_COUNT, HistoryRow
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.approving import signature
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition, ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import MADE_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import GateRow
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import Terms, as_annotations
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit import evidence, staged_runs, update_runs
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.evidence import Deed
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.history import HistoryRequest, fleet_history
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.approvals import (
    RUN_DIGEST,
    RUN_UID,
    approve,
    judge_of,
    seen_requests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_completion import Approver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_objects import PlacedGate, UncountedGate
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import laid
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.test_integrity import object_of

NOW = datetime(2026, 11, 25, 20, tzinfo=UTC)
DIGEST = f"sha256:{'ab' * 32}"
FOUR_EYES = Terms(self_approval=False)
RUN = ClusterStagedUpdateRun(
    metadata=ObjectMeta(name="web", uid="u-1", annotations={MADE_BY: "ann"}),
    spec=StagedUpdateRunSpec(placement_name="web", staged_rollout_strategy_name="rings"),
)


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield Session(records=records, hub=None, holder="r", clock=lambda: NOW, environ={"USER": "runner"})
    records.close()


def of_ann(session: Session) -> Session:
    """Of one who approves, a minute before."""
    clock = {"clock": lambda: NOW - timedelta(minutes=1)}
    return Session(records=session.records, hub=None, holder="a", environ={"USER": "ann"}, **clock)


def request(session: Session, *conditions: dict[str, t.Any], uid: str = "u-1") -> None:
    metadata = {
        "name": "web-before-prod",
        "labels": RunKey.of("web").labels,
        "annotations": {RUN_DIGEST: DIGEST, RUN_UID: uid},
    }
    session.records.create(
        {
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
            "kind": "ClusterApprovalRequest",
            "metadata": metadata,
            "spec": {"parentStageRollout": "web", "targetStage": "prod"},
            "status": {"conditions": list(conditions)},
        }
    )


def said(kind: str, message: str) -> dict[str, t.Any]:
    words = {"type": kind, "status": "True", "reason": "x", "message": message, "observedGeneration": 1}
    return {**words, "lastTransitionTime": "2026-11-25T19:00:00Z"}


ASKED = Condition(
    type="ApprovalRequestCreated", status="True", reason="x", last_transition_time=NOW, observed_generation=1
)
APPROVED = said("Approved", signature("ann", DIGEST, "ticket 7"))


def looked(session: Session, terms: Terms) -> list[str]:
    """As whoever conducts the run looks at its requests; what is told of them."""
    told: list[str] = []

    def tell(found: t.Any) -> None:
        told.append(found.line)
        staged_runs.testify_uncounted(session, RUN, found)

    seen_requests(session.records, RUN, DIGEST, judge_of(session, RUN, DIGEST, terms), tell)
    return told


def history(session: Session) -> tuple[HistoryRow, ...]:
    return fleet_history(session, HistoryRequest()).rows


def test_an_approval_of_a_staged_run_that_does_not_count_is_told_as_such(session: Session) -> None:
    request(session, APPROVED)
    deed = Deed(action=STAGE_APPROVED, kind="ClusterStagedUpdateRun", name="web", approved=DIGEST, reason="ticket 7",
                message="request web-before-prod, before prod; who did it made or started the run")  # fmt: skip
    evidence.testify(of_ann(session), deed)
    (line,) = looked(session, FOUR_EYES)
    given, refused = history(session)
    assert (given.action, given.by, given.outcome, given.reason) == (STAGE_APPROVED, "ann", DOES_NOT_COUNT, "ticket 7")
    assert "nothing proves that it is of ann" in line
    assert given.message.endswith("; found so by runner at 2026-11-25T20:00:00Z: nothing proves that it is of ann")
    assert (refused.action, refused.by, refused.digest) == (APPROVAL_REFUSED, "runner", DIGEST)
    assert refused.message == "request web-before-prod, stage prod; approval of ann"


def test_so_is_one_by_the_terms_that_the_run_keeps(session: Session) -> None:
    """F18. Whoever carries it on gives none; whoever approves is told, also of what was given already."""
    request(session)
    stage = StageUpdatingStatus(
        stage_name="prod",
        clusters=(),
        before_stage_task_status=(
            StageTaskStatus(type=TASK, approval_request_name="web-before-prod", conditions=(ASKED,)),
        ),
    )
    run = replace(RUN, status=replace(RUN.status, stages_status=(stage,)))
    kept = replace(run, metadata=replace(RUN.metadata, annotations={MADE_BY: "ann", **as_annotations(FOUR_EYES)}))
    for each, write, why in (
        (run, False, ""),
        (kept, True, "nothing proves that it is of ann"),
        (kept, True, "nothing"),
    ):
        done = approve(session.records, each, DIGEST, "", "", Approver(name="ann"), "", "", NOW, write=write)
        assert done.uncounted.startswith(why) and bool(done.uncounted) == bool(why)
    assert seen_requests(session.records, run, DIGEST, judge_of(session, run, DIGEST, Terms()))
    assert seen_requests(session.records, kept, DIGEST, judge_of(session, kept, DIGEST, Terms())) == ()


def test_one_that_the_run_has_taken_is_not_judged_again(session: Session) -> None:
    """Whoever took it was killed before the request said so; terms that are stricter by now take nothing back."""
    request(session, APPROVED)
    taken = replace(ASKED, type="ApprovalRequestApproved")
    task = StageTaskStatus(type=TASK, approval_request_name="web-before-prod", conditions=(ASKED, taken))
    stage = StageUpdatingStatus(stage_name="prod", clusters=(), before_stage_task_status=(task,))
    run = replace(RUN, status=replace(RUN.status, stages_status=(stage,)))
    judge = judge_of(session, run, DIGEST, FOUR_EYES)
    told: list[t.Any] = []
    (kept,) = seen_requests(session.records, run, DIGEST, judge, told.append)
    assert judge(kept) and told == [] and kept.name == "web-before-prod"


def test_so_is_one_that_was_given_to_an_earlier_run_of_the_name_and_not_by_our_verb(session: Session) -> None:
    request(session, said("Approved", "looks fine"), uid="u-0")
    looked(session, Terms())
    (refused,) = history(session)
    assert refused.message.endswith("; approval of nobody who is named")
    assert refused.reason == "it was made for an earlier run of this name"


@pytest.mark.parametrize("conditions", [(), (APPROVED, said("ApprovalAccepted", "taken"))])
def test_what_nobody_approved_or_a_run_has_taken_leaves_no_evidence(
    session: Session, conditions: tuple[dict[str, t.Any], ...]
) -> None:
    request(session, *conditions, uid="u-0")
    assert looked(session, Terms()) and history(session) == ()


def test_a_look_that_tells_nobody_deletes_nothing(session: Session) -> None:
    request(session, APPROVED)
    assert seen_requests(session.records, RUN, DIGEST, judge_of(session, RUN, DIGEST, FOUR_EYES)) == ()
    assert session.records.get("ClusterApprovalRequest", "web-before-prod") is not None


def test_a_request_that_is_answered_anew_while_its_approval_is_judged_is_looked_at_again(session: Session) -> None:
    request(session, APPROVED)
    told: list[str] = []

    def answered(found: t.Any) -> None:
        told.append(found.line)
        document = session.records.get("ClusterApprovalRequest", "web-before-prod")
        if document and len(told) == 1:
            answer = said("Approved", signature("zoe", DIGEST, "ticket 7"))
            session.records.replace({**document, "status": {"conditions": [answer]}})

    for left in (True, False):
        judge = judge_of(session, RUN, DIGEST, FOUR_EYES)
        assert seen_requests(session.records, RUN, DIGEST, judge, answered) == ()
        assert bool(session.records.get("ClusterApprovalRequest", "web-before-prod")) is left
    assert "it is of ann" in told[0] and "it is of zoe" in told[1]


@pytest.mark.parametrize(("by", "count"), [("ann", 2), ("", 2), (None, 1)])
def test_an_approval_of_a_gate_that_does_not_count_is_told_as_such(
    session: Session, by: str | None, count: int
) -> None:
    run = object_of(laid("s{g:a}"), DIGEST)
    gate = GateRow(name="board", id="3f0a8c52-6a4e-5b0d-9c1e-0123456789ab", state="Pending", opened=NOW)
    place = PlacedGate("prod", "", "Before", gate)
    deed = Deed(action=GATE_APPROVED, kind="UpdateRun", name=run.name, message=f"gate {gate.id}, before prod")
    evidence.testify(of_ann(session), deed)
    update_runs.testify_uncounted(session, run, UncountedGate(placed=place, words="no", why="ann made the run", by=by))
    found = history(session)
    assert len(found) == count
    assert (found[0].outcome == DOES_NOT_COUNT) is (by is not None)
