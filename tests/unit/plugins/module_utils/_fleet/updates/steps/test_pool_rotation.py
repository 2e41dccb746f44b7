# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A pool of a run as a rotation of its nodes, where its member is none any more, or was none yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.updates.update_run import UpdateRun
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import NODE_POOL, UpgradeStep
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.command import CommandDriver
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.drivers.contract import Work
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.steps.pool_rotation import (
    PoolRotations,
    PoolTask,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.update_parts import update_run

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)


def test_a_member_that_was_none_when_the_run_was_taken_up(tmp_path: Path) -> None:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    session = Session(records=records, holder="tests", clock=lambda: NOW)
    run, clients = read(update_run()).object, Clients({})
    assert isinstance(run, UpdateRun)
    rotations = PoolRotations(
        session=session, run=run, clients=clients, members={}, holder="run/r", max_idle=timedelta(0)
    )
    task = PoolTask(
        driver=CommandDriver(clients=clients, operations=tmp_path, environ={}, cwd=tmp_path, begin_argv=("true",)),
        work=Work(operation="r-0.late.1", run="r", member="late", upgrade_type="Full", target="1.34.2"),
        step=UpgradeStep(what=NODE_POOL, pool="blue", version="1.34.2"),
        image="",
        say=lambda _text: None,
        pause=lambda _seconds: None,
        clock=lambda: 0.0,
    )
    with pytest.raises(FleetError) as refused:
        rotations.upgrade(task)
    assert (refused.value.code, refused.value.where) == ("not-a-member", "late")
    records.close()
