# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The evidence of an update run tells from which version to which each member went."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.run import RunState
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.history import HistoryRequest, fleet_history
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.audit.update_runs import attested_telling
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.progress import RunProgress
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.made import laid
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.updates.test_integrity import object_of

NOW = datetime(2026, 11, 25, 20, tzinfo=UTC)
DIGEST = f"sha256:{'ab' * 32}"


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield Session(records=records, hub=None, holder="r", clock=lambda: NOW, environ={"USER": "ann"})
    records.close()


def silent(*_words: t.Any) -> None:
    """Tells nobody."""


def with_member(run: RunState, name: str, **values: t.Any) -> RunState:
    def changed(group: t.Any) -> t.Any:
        rows = (replace(row, **values) if row.name == name else row for row in group.members)
        return replace(group, members=tuple(rows))

    stages = (replace(stage, groups=tuple(map(changed, stage.groups))) for stage in run.stages)
    return replace(run, stages=tuple(stages))


def test_each_member_that_it_was_begun_on_is_told_of_with_its_versions_and_images(session: Session) -> None:
    versions = {"version_before": "1.35.4", "version_after": "1.36.3"}
    state = with_member(laid("s{g:a,b,c}"), "a", state="Completed", **versions)
    run = object_of(state, DIGEST)
    telling = attested_telling(session, run, RunProgress(run, silent, silent, silent, {}), "", ())
    telling.begin(state, NOW)
    telling.stored(with_member(state, "b", state="Running", attempt=1, operation="b-1"), NOW)
    state = with_member(state, "b", state="Completed", node_images=("Ubuntu-12",), **versions)
    state = with_member(state, "c", state="Failed", version_before="1.35.4")
    telling.end(state, "settled", NOW)
    (row,) = fleet_history(session, HistoryRequest()).rows
    assert row.members == ("b", "c")
    assert row.versions == ("b: 1.35.4 -> 1.36.3, images Ubuntu-12", "c: 1.35.4 -> ?, Failed")
