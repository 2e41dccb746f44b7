# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A run that is carried out is the one that was asked for, not another that has its name by now."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.conducting import carry_on, lay_out
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.report import StagedOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.run_record import (
    delete_run,
    record_run,
    wanted_run,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.sources import (
    StagedManifests,
    staged_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
API = "placement.kubernetes-fleet.io/v1beta1"


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield Session(records=records, holder="me", clock=lambda: NOW, environ={})
    records.close()


def given(placement: str) -> StagedManifests:
    spec = {"placementName": placement, "stagedRolloutStrategyName": "rings"}
    run = {"apiVersion": API, "kind": "ClusterStagedUpdateRun", "metadata": {"name": "web-1"}, "spec": spec}
    return staged_manifests((), (run,), [])


@pytest.mark.parametrize("verb", ["conducted", "present"])
def test_a_run_that_was_made_again_before_the_lease_was_taken_is_left_alone(session: Session, verb: str) -> None:
    """Its lease is that of the placement which the old one names."""
    records = session.records
    read = record_run(records, wanted_run(records, "web-1", given("web")), "")
    delete_run(records, "web-1", force=False, write=True)
    record_run(records, wanted_run(records, "web-1", given("shop")), "")
    with pytest.raises(FleetError) as refused:
        if verb == "conducted":
            carry_on(session, read, given("web"), StagedOptions(), {})
        else:
            lay_out(session, read, given("web"), StagedOptions())
    assert refused.value.code == "run-deleted"
    assert "status" not in (records.get("ClusterStagedUpdateRun", "web-1") or {})
