# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""F18, F19: whose approval of a staged run it is, and whether it counts."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.approval import (
    ApprovalRequestSpec,
    ApprovalRequestStatus,
    ClusterApprovalRequest,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import (
    ClusterStagedUpdateRun,
    StagedUpdateRunSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.approving import (
    NOBODY,
    STARTED_BY,
    ApprovalTerms,
    approver_of,
    signature,
    signed_by,
    why_not_counted,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import Condition, ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.approvals import MADE_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.terms import Terms

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SINCE, MADE = NOW - timedelta(days=2), NOW - timedelta(days=1)
DIGEST, OTHER = f"sha256:{1:064x}", f"sha256:{2:064x}"
ANY, VERIFIED, FOUR_EYES = Terms(), Terms(verified=True), Terms(self_approval=False)


def request(message: str, *, created: datetime = MADE, at: datetime = NOW, **more: t.Any) -> ClusterApprovalRequest:
    said = Condition(type="Approved", status="True", message=message, observed_generation=1, last_transition_time=at)
    said = Condition(**{**said.__dict__, **more})
    return ClusterApprovalRequest(
        metadata=ObjectMeta(name="web-before-prod", generation=1, creation_timestamp=created),
        spec=ApprovalRequestSpec(parent_stage_rollout="web", target_stage="prod"),
        status=ApprovalRequestStatus(conditions=(said,)),
    )


def court(
    terms: Terms = ANY, maker: str = "mia", since: datetime | None = SINCE, starter: str = "stan"
) -> ApprovalTerms:
    named = {MADE_BY: maker, STARTED_BY: starter}
    annotations = {key: name for key, name in named.items() if name}
    metadata = ObjectMeta(name="web", creation_timestamp=MADE, annotations=annotations)
    spec = StagedUpdateRunSpec(placement_name="web", staged_rollout_strategy_name="rings")
    return ApprovalTerms(
        run=ClusterStagedUpdateRun(metadata=metadata, spec=spec), digest=DIGEST, given=terms, since=since
    )


@pytest.mark.parametrize(
    ("message", "by"),
    [
        (signature("anna", DIGEST, ""), "anna"),
        (signature("Anna Smith", DIGEST, "fine: for sha256:0"), "Anna Smith"),
        (signature("anna", OTHER, ""), ""),
        (f"by boss for {OTHER} for {DIGEST}", ""),
        (f"by anna for {DIGEST}0", ""),
        (f"by anna for {DIGEST} or so", ""),
        ("by hand", ""),
        ("", ""),
    ],
)
def test_only_a_whole_signature_names_somebody(message: str, by: str) -> None:
    assert signed_by(message, DIGEST) == by


@pytest.mark.parametrize("terms", [ANY, VERIFIED, FOUR_EYES, Terms(expires=timedelta(hours=1))])
def test_a_signed_one_that_the_hub_vouches_for_counts(terms: Terms) -> None:
    asked = request(signature("anna", DIGEST, "fine"))
    assert why_not_counted(asked, court(terms), NOW) == ""
    assert approver_of(asked, court(terms)) == "anna"


@pytest.mark.parametrize(
    ("asked", "judged", "why"),
    [
        (request("by hand"), court(VERIFIED), "nothing proves that it is of anybody"),
        (request(signature("anna", OTHER, "")), court(VERIFIED), "of anybody"),
        (request(signature("anna", DIGEST, "")), court(VERIFIED, since=None), "nothing proves that it is of anna"),
        (request(signature("anna", DIGEST, ""), created=SINCE), court(VERIFIED), "nothing proves that it is of anna"),
        (request(signature("mia", DIGEST, "")), court(FOUR_EYES), "mia made or started the run"),
        (request(signature("stan", DIGEST, "")), court(FOUR_EYES), "stan made or started the run"),
        (request(signature("anna", DIGEST, "")), court(FOUR_EYES, maker=""), "nothing proves who made and who started"),
        (request(signature("anna", DIGEST, "")), court(FOUR_EYES, starter=""), "nothing proves who made and who start"),
        (
            request(signature("anna", DIGEST, ""), at=NOW - timedelta(hours=2)),
            court(Terms(expires=timedelta(hours=1))),
            "expires after 3600 s",
        ),
        (
            request(signature("anna", DIGEST, ""), at=NOW + timedelta(hours=2)),
            court(Terms(expires=timedelta(hours=1))),
            "yet to come",
        ),
    ],
)
def test_what_does_not_count(asked: ClusterApprovalRequest, judged: ApprovalTerms, why: str) -> None:
    assert why in why_not_counted(asked, judged, NOW)
    assert why_not_counted(asked, court(), NOW) == "", "unless somebody asks for it"


def test_what_is_no_approval_is_not_judged() -> None:
    for more in ({"status": "False"}, {"observed_generation": 0}, {"type": "ApprovalAccepted"}):
        assert why_not_counted(request("by hand", **more), court(VERIFIED), NOW) == ""


def test_people_are_told_whose_it_is() -> None:
    assert approver_of(request("fine"), court()) == NOBODY
    for own in ("mia", "stan"):
        assert approver_of(request(signature(own, DIGEST, "")), court()) == f"{own}, who made or started the run"
    unproven = approver_of(request(signature("anna", DIGEST, "")), court(since=None))
    assert unproven == "anna, unverified"
