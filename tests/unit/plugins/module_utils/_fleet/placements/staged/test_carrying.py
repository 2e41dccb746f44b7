# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A run that is refused for its digest is not told to go on, by which whoever carries it on would."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.carrying import staged_run
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.staged.report import StagedOptions
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.placements.applied import NOW, staged

RUN = "ClusterStagedUpdateRun"


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    opened = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield opened
    opened.close()


@pytest.mark.parametrize("state", ["started", "conducted"])
def test_a_recorded_run_of_another_digest_stays_as_it_was_told(
    records: SqliteRecords, tmp_path: Path, state: str
) -> None:
    given = staged(records, tmp_path)
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    digest = staged_run(session, "web-1", given, "present", StagedOptions(), write=True).digest
    before, told = records.get(RUN, "web-1"), len(records.list("AuditEntry"))
    with pytest.raises(FleetError) as refused:
        staged_run(session, "web-1", given, state, StagedOptions(approved="0123456789abcdef"), write=True)
    assert refused.value.code == "digest-mismatch"
    assert records.get(RUN, "web-1") == before and len(records.list("AuditEntry")) == told
    staged_run(session, "web-1", given, "started", StagedOptions(approved=digest), write=True)
    assert (records.get(RUN, "web-1") or {})["spec"]["state"] == "Run"


def test_a_stop_is_recorded_whatever_the_digest_is(records: SqliteRecords, tmp_path: Path) -> None:
    given = staged(records, tmp_path)
    session = Session(records=records, holder="me", clock=lambda: NOW, environ={})
    staged_run(session, "web-1", given, "started", StagedOptions(), write=True)
    with pytest.raises(FleetError):
        staged_run(session, "web-1", given, "stopped", StagedOptions(approved="0123456789abcdef"), write=True)
    assert (records.get(RUN, "web-1") or {})["spec"]["state"] == "Stop"
