# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""For which nodes a rotation that is recorded, and may be given by a file as well, still asks."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.nodes_snapshot import (
    NodesSnapshot,
    write_nodes,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    ROTATED,
    NodeProgress,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.node_info import NodeReport, node_report
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import NodeManifests, node_manifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import rotation

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)
ALL = {"new": "NodeRotation blue: all are to be replaced"}


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    with Session(records=records, holder="me", clock=lambda: NOW) as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A member whose one node came for another one, an hour ago."""
    node = {"metadata": {"name": "new", "uid": "u", "creationTimestamp": "2026-03-28T11:00:00Z"}}
    documents = {"m": {"Node": [node]}}
    found = NodesSnapshot(captured_at=NOW, members=(MemberNodes(name="m"),), documents=documents)
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(write_nodes(found)))
    return str(path)


def record(session: Session, state: t.Mapping[str, t.Any]) -> None:
    stored = session.records.create(rotation())
    session.records.replace({**stored, "status": {"phase": "Done", "state": state}})


def finished() -> dict[str, t.Any]:
    nodes = (NodeProgress(name="m/old", phase=ROTATED, replacement="m/new"),)
    return encode(RotationState(nodes=nodes, started_at=datetime(2026, 3, 28, 10, tzinfo=UTC)))


def asked(session: Session, file: str, given: NodeManifests) -> NodeReport:
    return node_report(session, given, ReadingWish(), file)


def due(report: NodeReport) -> dict[str, str]:
    return {each.node: each.causes["Due"] for each in report.answers if "Due" in each.causes}


@pytest.mark.parametrize("given", [NodeManifests(), node_manifests((), [rotation()])], ids=["recorded", "by-file"])
def test_a_finished_rotation_asks_for_no_node_any_more(session: Session, file: str, given: NodeManifests) -> None:
    """Without ``spec.due``: by its record, though the file says nothing of how far it has come."""
    record(session, finished())
    found = asked(session, file, given)
    assert due(found) == {} and not found.problems


def test_a_rotation_that_has_not_begun_asks_for_all(session: Session, file: str) -> None:
    assert due(asked(session, file, node_manifests((), [rotation()]))) == ALL


def test_what_cannot_be_read_of_a_rotation_is_told_and_asks_for_nothing(session: Session, file: str) -> None:
    record(session, {"nodes": "none"})
    found = asked(session, file, NodeManifests())
    assert due(found) == {}
    assert [(each.code, each.where) for each in found.problems] == [("record-damaged", "NodeRotation/blue")]


def test_a_name_that_no_node_has_is_refused_and_not_told_as_a_fleet_without_nodes(session: Session, file: str) -> None:
    found = asked(session, file, NodeManifests())
    assert found.answers_of(["new"]) == found.answers_of([]) == found.answers
    with pytest.raises(FleetError) as refused:
        found.answers_of(["new", "nwe"])
    assert [(each.code, each.where) for each in refused.value.problems] == [("unknown-node", "nwe")]
