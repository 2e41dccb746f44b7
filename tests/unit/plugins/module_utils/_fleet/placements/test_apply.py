# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What every apply does, whoever changes the clusters afterwards."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements import apply
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.reported.mirror import Mirrored
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.placements.applied import NOW, applied


@pytest.mark.parametrize("strategy", ["RollingUpdate", "External"])
def test_status_is_mirrored_whether_anything_is_due_and_whoever_changes_the_clusters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, strategy: str
) -> None:
    """``reportBackStrategy: Mirror``: an apply copies the status of what it saw."""
    told: list[str] = []

    def mirrored(_hub: t.Any, plan: PlacementPlan, *_rest: t.Any) -> Mirrored:
        told.append(plan.name)
        return Mirrored()

    monkeypatch.setattr(apply, "mirror_statuses", mirrored)
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    for _time in range(2):
        applied(records, tmp_path, strategy={"type": strategy})
    records.close()
    assert told == ["web", "web"]
