# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What other rotations have in flight, and the turns in which nodes are begun."""

from __future__ import annotations

import threading
import typing as t
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.input import OtherNode
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import other_rotations
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.other_rotations import (
    TURN,
    OtherRotations,
    kept_meanwhile,
    nodes_in_hand,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

Document = dict[str, t.Any]


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    made = SqliteRecords(tmp_path / "records.db", lambda: datetime.now(UTC))
    yield made
    made.close()


def rotation(records: SqliteRecords, name: str, *nodes: t.Any) -> None:
    body = {"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": name}, "spec": {}}
    records.replace({**records.create(body), "status": {"state": {"nodes": list(nodes)}}})


def row(name: str, phase: str) -> Document:
    return {"name": name, "pool": f"{name.partition('/')[0]}/blue", "phase": phase}


def test_only_what_others_have_in_flight_is_told(records: SqliteRecords) -> None:
    rows = [row(f"m/{phase}", phase) for phase in ("Waiting", "Surging", "Draining", "Returning", "Rotated", "GivenUp")]
    rotation(records, "green", *rows)
    rotation(records, "blue", row("m/own", "Draining"))
    records.create({"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": "new"}, "spec": {}})
    found = OtherRotations(records, "blue", "me").in_flight()
    assert found == tuple(OtherNode(f"m/{phase}", "m/blue", "green") for phase in ("Surging", "Draining", "Returning"))


def test_what_is_in_hand_is_in_flight_or_still_to_be_let_go(records: SqliteRecords) -> None:
    rotation(records, "green", row("m/a", "Draining"), row("m/b", "Waiting"), row("m/c", "GivenUp"))
    rotation(records, "blue", {**row("n/a", "GivenUp"), "release": "too late"})
    assert {(each.name, each.rotation) for each in nodes_in_hand(records)} == {("m/a", "green"), ("n/a", "blue")}


@pytest.mark.parametrize("damaged", [[7], [{"phase": "Draining", "name": ["x"]}], [{"phase": ["Draining"]}]])
def test_a_record_that_cannot_be_read_is_no_empty_one(records: SqliteRecords, damaged: t.Any) -> None:
    rotation(records, "green", *damaged)
    with pytest.raises(FleetError) as error:
        OtherRotations(records, "blue", "me").in_flight()
    assert error.value.code == "record-damaged" and "NodeRotation/green" in error.value.where


def test_rotations_of_one_conductor_take_turns(records: SqliteRecords, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of an update run have one name for their leases."""
    monkeypatch.setattr(other_rotations, "WAIT", 0.05)
    one, two = OtherRotations(records, "one", "run/x"), OtherRotations(records, "two", "run/x")
    assert one.take_turn() and one.take_turn() and one.keeps_turn() and not two.take_turn()
    one.end_turn()
    assert two.take_turn() and not one.keeps_turn()
    two.end_turn()
    two.end_turn()
    assert [each.name for each in records.leases()] == []


def test_a_turn_is_waited_for(records: SqliteRecords) -> None:
    one, two = OtherRotations(records, "one", "me"), OtherRotations(records, "two", "me")
    assert one.take_turn()
    timer = threading.Timer(0.3, one.end_turn)
    timer.start()
    assert two.take_turn() and [each.name for each in records.leases()] == [TURN]
    timer.join()


def test_the_lease_of_the_conductor_is_kept_while_members_are_read(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_rotations, "LEASE_SECONDS", 0.3)
    lease, other = records.acquire("rotation/blue", "me", 60), records.acquire("rotation/green", "you", 60)
    renewed = threading.Event()
    monkeypatch.setattr(records, "renew", lambda found: renewed.set() if found == lease else pytest.fail(str(found)))
    with kept_meanwhile(records, "rotation/blue", "me"):
        assert renewed.wait(5) and other.name == "rotation/green"
