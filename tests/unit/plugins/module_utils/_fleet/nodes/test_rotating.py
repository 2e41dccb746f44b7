# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation that a schedule found waiting, and that somebody else has ended since, is not begun anew; a stop, as it
would be and as it is."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotating import (
    RotationReport,
    RotationWish,
    conducted,
    planned,
    stopped,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import NodeManifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Way = t.Callable[[Session, str, NodeManifests, RotationWish], RotationReport]


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    with Session(records=records, holder="tests", clock=lambda: NOW) as made:
        yield made


def recorded(session: Session, phase: str) -> None:
    body = {"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": "blue"}, "spec": {}}
    state = {"nodes": [{"name": "east/n1", "pool": "east/blue", "phase": phase}]}
    made = session.records.create(body)
    session.records.replace({**made, "status": {"phase": "Done", "origin": "manual by ann", "state": state}})


@pytest.mark.parametrize("way", [conducted, planned])
def test_one_that_has_ended_is_left_and_no_member_is_asked(session: Session, way: Way):
    recorded(session, "Rotated")
    found = way(session, "blue", NodeManifests(), RotationWish(only_waiting=True))
    assert not found.changed and [each.phase for each in found.state.nodes] == ["Rotated"]
    with pytest.raises(FleetError) as told:
        way(session, "blue", NodeManifests(), RotationWish())
    assert told.value.code == "no-members"


@pytest.mark.parametrize("way", [conducted, planned])
def test_one_that_goes_on_is_taken_up(session: Session, way: Way):
    recorded(session, "Waiting")
    with pytest.raises(FleetError) as told:
        way(session, "blue", NodeManifests(), RotationWish(only_waiting=True))
    assert told.value.code == "no-members"


def test_a_look_at_a_stop_says_what_it_would_change(session: Session):
    """Also where it was asked for, and its conductor has ended before the last node had."""
    recorded(session, "Waiting")
    found = session.records.get("NodeRotation", "blue") or {}
    session.records.replace({**found, "status": {**found["status"], "stopRequested": True}})
    looked, done = stopped(session, "blue", write=False), stopped(session, "blue", write=True)
    assert looked.changed and done.changed and done.state.done
    assert not stopped(session, "blue", write=False).changed
