# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Calendars of NodePools from files, and what is told where there are none."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.overview.pools import pool_calendars
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 8, 17, 12, 0, tzinfo=UTC)


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    found = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    yield found
    found.close()


def written(folder: Path, kind: str, api: str, spec: dict[str, t.Any]) -> str:
    folder.mkdir(exist_ok=True)
    document = {"apiVersion": api, "kind": kind, "metadata": {"name": "nights"}, "spec": spec}
    (folder / f"{kind}.json").write_text(json.dumps(document))
    return str(folder)


def told(records: SqliteRecords, *src: str, beside: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    found, problems = pool_calendars(records, src, beside, {}, None, NOW)
    return len(found), [str(each) for each in problems]


def test_a_folder_with_rotations_alone_is_told_and_no_empty_calendar(records: SqliteRecords, tmp_path: Path) -> None:
    folder = written(tmp_path / "rot", "NodeRotation", FLEET_API, {})
    count, (note,) = told(records, folder)
    assert count == 0 and folder in note and "no NodePool is in it, so that there is no calendar" in note
    assert "gitops.fleet.budgets with the variable rotations" in note


def test_files_of_something_else_are_told_too(records: SqliteRecords, tmp_path: Path) -> None:
    folder = written(tmp_path / "maps", "ConfigMap", "v1", {})
    count, (note,) = told(records, folder, beside=(folder,))
    assert count == 0 and "no NodePool" in note and "rotations" not in note


def test_nothing_is_told_where_there_is_one_or_none_was_asked_for(records: SqliteRecords, tmp_path: Path) -> None:
    folder = written(tmp_path / "pools", "NodePool", "karpenter.sh/v1", {"disruption": {"budgets": [{"nodes": "1"}]}})
    written(tmp_path / "pools", "NodeRotation", FLEET_API, {})
    assert told(records, folder) == (1, [])
    assert told(records, folder, beside=(folder,)) == (1, [])
    assert told(records, beside=(folder,)) == (1, []) and told(records) == (0, [])
