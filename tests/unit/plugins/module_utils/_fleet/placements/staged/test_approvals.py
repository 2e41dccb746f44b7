# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which approvals somebody has to give, and may."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.staged.update_run import ClusterStagedUpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.approvals import (
    RUN_DIGEST,
    RUN_UID,
    GivenApproval,
    approve,
    open_requests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.gate_completion import Approver
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.placements.applied import API, NOW

DIGEST = "sha256:d"
RUN = {"apiVersion": API, "kind": "ClusterStagedUpdateRun", "metadata": {"name": "web-1", "uid": "u"}}


def run(**conditions: str) -> ClusterStagedUpdateRun:
    """A run that has asked for the approval before its one stage, with these conditions of its own."""
    asked = {"type": "ApprovalRequestCreated", "status": "True", "reason": "R", "message": ""}
    task = {"type": "Approval", "approvalRequestName": "web-1-before-all", "conditions": [asked]}
    own = [
        {"type": kind, "status": status, "reason": "R", "message": "its clusters have changed"}
        for kind, status in conditions.items()
    ]
    stage = {"stageName": "all", "clusters": [], "beforeStageTaskStatus": [task]}
    spec = {"placementName": "web", "stagedRolloutStrategyName": "rings", "state": "Run"}
    return decode(ClusterStagedUpdateRun, {**RUN, "spec": spec, "status": {"stagesStatus": [stage], "conditions": own}})


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    request: dict[str, t.Any] = {"apiVersion": API, "kind": "ClusterApprovalRequest"}
    marks = {RUN_UID: "u", RUN_DIGEST: DIGEST}
    spec = {"parentStageRollout": "web-1", "targetStage": "all"}
    found.create({**request, "metadata": {"name": "web-1-before-all", "annotations": marks}, "spec": spec})
    yield found
    found.close()


def approved(records: SqliteRecords, run: ClusterStagedUpdateRun) -> GivenApproval:
    return approve(records, run, DIGEST, "", "", Approver(name="anna"), "", "", NOW, write=True)


def test_a_run_that_has_begun_takes_the_approval_that_it_waits_for(records: SqliteRecords) -> None:
    waiting = run(Initialized="True")
    assert [each.position for each in open_requests(waiting)] == ["before all"]
    assert approved(records, waiting).changed and not approved(records, waiting).changed


def test_a_run_that_has_ended_waits_for_no_approval_and_takes_none(records: SqliteRecords) -> None:
    failed = run(Initialized="True", Succeeded="False", Progressing="False")
    assert open_requests(failed) == []
    with pytest.raises(FleetError, match="has ended.*its clusters have changed") as refused:
        approved(records, failed)
    assert refused.value.code == "gate-not-open"
    assert not (records.get("ClusterApprovalRequest", "web-1-before-all") or {}).get("status")
