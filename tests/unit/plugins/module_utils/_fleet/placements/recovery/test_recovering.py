# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a recovery is told of placements and resources, before any member is asked."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Member, recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import PlacementRequest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery import recovering
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.recovery.recovering import recover_records
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.sources import catalogued
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NAMES = ("api", "web")
SELECTOR = {"group": "example.org", "version": "v1", "kind": "Unknown"}


class Joined:
    """Records of one member."""

    place = "records"

    def list(self, kind: str, *_more: t.Any) -> list[dict[str, t.Any]]:
        return [{"kind": kind, "metadata": {"name": "m1"}, "spec": {}}] if kind == "FleetMember" else []


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[Session]:
    found: dict[str, Member] = recorded_members(t.cast(t.Any, Joined()))
    monkeypatch.setattr(recovering, "recorded_members", lambda _records: found)
    with Session(records=SqliteRecords(tmp_path / "records.db", lambda: None), holder="me") as opened:  # type: ignore[arg-type,return-value]
        yield opened


def asked(folder: Path, resources: tuple[str, ...] | None) -> PlacementRequest:
    api = "placement.kubernetes-fleet.io/v1beta1"
    path = folder / "placements.yml"
    documents = [
        {
            "apiVersion": api,
            "kind": "ClusterResourcePlacement",
            "metadata": {"name": name},
            "spec": {"resourceSelectors": [SELECTOR], "policy": {"placementType": "PickAll"}},
        }
        for name in NAMES
    ]
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return PlacementRequest(src=(str(path),), resources=resources, timeout=45.0)


def test_resources_are_read_once_and_the_problems_of_all_placements_told_at_once(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[t.Sequence[str]] = []
    monkeypatch.setattr(recovering, "resources_from_files", lambda paths: read.append(paths) or catalogued(()))
    with pytest.raises(FleetError) as refused:
        recover_records(session, asked(tmp_path, ("resources",)))
    assert read == [("resources",)]
    assert all(any(name in each.where for each in refused.value.problems) for name in NAMES)


def test_without_files_and_a_hub_there_is_nothing_to_select_from(session: Session, tmp_path: Path) -> None:
    with pytest.raises(FleetError) as refused:
        recover_records(session, asked(tmp_path, None))
    assert refused.value.code == "no-resources"


def test_who_takes_long_to_be_reached_may_take_as_long_to_answer(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Opened(Exception):
        pass

    def opened(*_given: t.Any, timeout: t.Any, **_named: t.Any) -> t.NoReturn:
        raise Opened(timeout.connect, timeout.read)

    monkeypatch.setattr(recovering, "open_clients", opened)
    monkeypatch.setattr(recovering, "wanted_placements", lambda _session, _asked: ())
    with pytest.raises(Opened) as told:
        recover_records(session, asked(tmp_path, ()))
    assert told.value.args == (45.0, 45.0)
