# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of a staged run: approvals before what begins by them, and who waits for one without its names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.rollout.staged.decide import StagedState
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.loop import RunLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.words import (
    StagedTelling,
    run_lines,
)
from ansible_collections.gitops.fleet.plugins.module_utils._report.staged_text import staged_text

AT = "2026-01-15T12:00:00Z"
NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def condition(kind: str) -> dict[str, Any]:
    return {"type": kind, "status": "True", "reason": "Done", "message": "", "lastTransitionTime": AT}


def run(*, approved: bool, begun: bool = False, timing: str = "before") -> ClusterStagedUpdateRun:
    kinds = ["ApprovalRequestCreated", *(["ApprovalRequestApproved"] if approved else [])]
    task = {"type": "Approval", "approvalRequestName": "one-eu", "conditions": [condition(each) for each in kinds]}
    clusters = [{"clusterName": "eu-1", "conditions": [condition("Started")] if begun else []}]
    stage = {"stageName": "eu", "clusters": clusters, "conditions": [], f"{timing}StageTaskStatus": [task]}
    spec = {"placementName": "web", "stagedRolloutStrategyName": "rings"}
    document = {"metadata": {"name": "one"}, "spec": spec, "status": {"stagesStatus": [stage]}}
    return decode(ClusterStagedUpdateRun, document)


def test_an_approval_is_told_once_and_before_what_begins_by_it() -> None:
    said: list[str] = []
    telling = StagedTelling("one", said.append, list, lambda _reason, _text: None, said.append)
    telling.begin(StagedState(run=run(approved=False)), NOW)
    begun = StagedState(run=run(approved=True, begun=True))
    telling.stored(begun, NOW)
    telling.stored(begun, NOW)
    assert said == ["one-eu", "one: stage eu: eu-1 begun"]


def test_an_approval_of_which_the_hub_could_not_be_told_is_taken_again() -> None:
    """Or its request would stay open there for good."""
    asked: list[str] = []

    def take(name: str) -> None:
        asked.append(name)
        if len(asked) == 1:
            raise FleetError("unreachable", "no answer")

    telling = StagedTelling("one", lambda _line: None, list, lambda _reason, _told: None, take)
    telling.begin(StagedState(run=run(approved=False)), NOW)
    begun = StagedState(run=run(approved=True, begun=True))
    with pytest.raises(FleetError):
        telling.stored(begun, NOW)
    telling.stored(begun, NOW)
    telling.stored(begun, NOW)
    assert len(asked) == 2


def test_for_how_long_a_run_stays_is_told_once_and_not_at_its_end() -> None:
    said: list[str] = []
    waits, stays = ["stage eu waits for an approval"], RunLimits(holder="one").stays
    telling = StagedTelling("one", said.append, lambda: waits, lambda _reason, _text: None, stays=stays)
    state = StagedState(run=run(approved=False))
    telling.waiting(state, None, NOW)
    waits = ["stage us waits for an approval"]
    telling.waiting(state, None, NOW)
    telling.end(state, "waiting", NOW)
    first, stay, second = said
    assert (first, second) == ("one: stage eu waits for an approval", "one: stage us waits for an approval")
    assert stay.startswith("one: stays up to 120 s")
    other = StagedTelling("one", said.append, lambda: waits, lambda _reason, _text: None, stays=stays)
    other.end(state, "waiting", NOW)
    assert len(said) == 4


def test_who_waits_for_an_approval_is_told_without_its_names() -> None:
    assert run_lines(run(approved=False), (), {}) == ["stage eu waits for an approval"]
    assert run_lines(run(approved=False, timing="after"), (), {}) == ["stage eu waits for an approval after it"]


def test_the_row_of_an_approval_says_when_it_was_taken() -> None:
    (row,) = [line for line in staged_text(run(approved=True), "Progressing", "") if "approval before" in line]
    assert row.split() == ["approval", "before", "approved", "at", AT + ":", "one-eu"]


@pytest.mark.parametrize(
    ("approved", "words"),
    [(True, f"approved by anna at {AT}: one-eu"), (False, "asked for approved by anna: one-eu; taken up when")],
)
def test_the_row_of_an_approval_says_by_whom(approved: bool, words: str) -> None:
    """Also of one that the run has not taken yet."""
    lines = staged_text(run(approved=approved), "Progressing", "", {"one-eu": "anna"})
    told = " ".join(" ".join(lines).split())
    assert f"approval before {words}" in told
