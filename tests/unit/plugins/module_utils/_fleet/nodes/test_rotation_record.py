# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The record of a rotation when two begin it."""

from __future__ import annotations

import random
import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.rotation.state import (
    GIVEN_UP,
    NodeProgress,
    RotationState,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.node_rotation import (
    DueNodes,
    NodeRotation,
    NodeRotationSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.record_size import LIMIT, size_of_json
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.conductor.journal import Journal
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.other_rotations import in_flight_beside
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_record import (
    RotationBook,
    ask_to_stop,
    delete_rotation,
    is_carried_on_by_schedule,
    record_begun,
    refuse_too_large,
    rotation_document,
    rotation_state,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.recorded import recorded
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)
BLUE = NodeRotation(metadata=ObjectMeta(name="blue"), spec=NodeRotationSpec())
OTHER = NodeRotation(metadata=ObjectMeta(name="blue"), spec=NodeRotationSpec(members=("m1",)))


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    made = SqliteRecords(tmp_path / "records.db", lambda: datetime.now(UTC))
    yield made
    made.close()


def state(*names: str) -> RotationState:
    return RotationState(nodes=tuple(NodeProgress(name=name) for name in names))


def nodes(records: SqliteRecords) -> list[str]:
    found = rotation_state(recorded(NodeRotation, rotation_document(records, "blue")))
    return [each.name for each in found.nodes]


@pytest.mark.parametrize("rotation", [BLUE, OTHER])
@pytest.mark.parametrize("there", [False, True])
def test_of_two_that_begin_a_rotation_the_second_changes_nothing(
    records: SqliteRecords, rotation: NodeRotation, there: bool
) -> None:
    """Each had judged the record before: that nothing is there, or that what is there is over."""
    if there:
        record_begun(records, BLUE, state(), "test", None)
    judged = records.get("NodeRotation", "blue")
    record_begun(records, BLUE, state("m1/first"), "one", judged)
    with pytest.raises(FleetError) as error:
        record_begun(records, rotation, state("m1/second"), "two", judged)
    assert (error.value.code, error.value.where) == ("conflict", "NodeRotation/blue")
    assert nodes(records) == ["m1/first"]


def test_a_rotation_that_is_over_begins_again_as_it_is_wanted_now(records: SqliteRecords) -> None:
    record_begun(records, BLUE, state("m1/a"), "one", None)
    again = record_begun(records, OTHER, state("m1/b"), "two", rotation_document(records, "blue"))
    assert again.spec.members == ("m1",) and again.status.origin == "two" and nodes(records) == ["m1/b"]


def test_a_rotation_that_only_waits_is_stopped_at_once(records: SqliteRecords) -> None:
    """One with a node in flight ends once that has; in the record stands that it is to."""
    now = datetime.now(UTC)
    record_begun(records, BLUE, state("m1/a", "m1/b"), "one", None)
    assert ask_to_stop(records, "blue", now) and not ask_to_stop(records, "blue", now)
    status = recorded(NodeRotation, rotation_document(records, "blue")).status
    assert (status.phase, status.left, status.failed, status.message) == ("Stopped", 0, 2, "the rotation was stopped")
    flying = RotationState(nodes=(NodeProgress(name="m1/a", phase="Draining"), NodeProgress(name="m1/b")))
    record_begun(records, BLUE, flying, "two", rotation_document(records, "blue"))
    assert ask_to_stop(records, "blue", now) and not ask_to_stop(records, "blue", now)
    found = recorded(NodeRotation, rotation_document(records, "blue"))
    assert found.status.stop_requested and rotation_state(found) == flying


def test_a_rotation_whose_last_node_is_still_to_be_let_go_is_for_a_schedule(records: SqliteRecords) -> None:
    """The node is recorded as given up before it is uncordoned, and whoever was to do that may be killed between."""
    cordoned = NodeProgress(name="m1/a", phase="GivenUp", attempts=1, release="it was not drained in time")
    begun = record_begun(records, BLUE, RotationState(nodes=(cordoned,)), "one", None)
    assert is_carried_on_by_schedule(begun)
    free = RotationState(nodes=(NodeProgress(name="m1/a", phase="GivenUp", attempts=1),))
    again = record_begun(records, BLUE, free, "two", rotation_document(records, "blue"))
    assert not is_carried_on_by_schedule(again)


def test_one_that_a_schedule_would_begin_again_as_nodes_grow_old_is_stopped_between_two_rounds(
    records: SqliteRecords,
) -> None:
    """All its nodes have been replaced, and nobody conducts it until the next of them is old."""
    by_age = replace(BLUE, spec=NodeRotationSpec(due=DueNodes(older_than="720h")))
    done = RotationState(nodes=(NodeProgress(name="m1/a", phase="Rotated"),))
    assert is_carried_on_by_schedule(record_begun(records, by_age, done, "one", None))
    assert ask_to_stop(records, "blue", NOW) and not ask_to_stop(records, "blue", NOW)
    found = recorded(NodeRotation, rotation_document(records, "blue"))
    assert not is_carried_on_by_schedule(found) and (found.status.phase, found.status.rotated) == ("Stopped", 1)


def test_a_rotation_that_somebody_has_carried_on_meanwhile_is_not_deleted(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its conductor may have begun nodes since it was looked at."""
    record_begun(records, BLUE, state("m1/a"), "one", None)
    looked, read = rotation_document(records, "blue"), records.get
    flying = RotationState(nodes=(NodeProgress(name="m1/a", phase="Draining"),))
    record_begun(records, BLUE, flying, "two", looked)
    monkeypatch.setattr(records, "get", lambda *_which: looked)
    with pytest.raises(FleetError) as refused:
        delete_rotation(records, "blue", force=False, write=True)
    assert (refused.value.code, refused.value.where) == ("conflict", "NodeRotation/blue")
    assert refused.value.message == "somebody has just carried it on"
    monkeypatch.setattr(records, "get", read)
    assert nodes(records) == ["m1/a"]
    monkeypatch.setattr(records, "get", lambda *_which: looked)
    assert delete_rotation(records, "blue", force=True, write=True) and read("NodeRotation", "blue") is None


def cloud_state(count: int) -> RotationState:
    """Just begun, with names and identities as clouds give them."""
    draw = random.Random(count)
    numbers = (draw.getrandbits(128) for _ in range(count))
    nodes = tuple(
        NodeProgress(
            name=f"prod-eu-west-{at % 20}/ip-10-{number % 256}-{at}.eu-west-1.compute.internal",
            uid=str(UUID(int=number)),
            pool=f"prod-eu-west-{at % 20}/workers",
            created_at=NOW - timedelta(seconds=number % 10_000_000),
            image="AKSUbuntu-2204gen2containerd-202309.26.0",
            version="v1.34.3",
            since=NOW,
        )
        for at, number in enumerate(numbers)
    )
    return RotationState(nodes=nodes, known=tuple(sorted(each.name for each in nodes)), started_at=NOW)


def ended(state: RotationState) -> RotationState:
    """With no node replaced, and a reason of its own for each."""
    why = "it was not drained in time: pod shop/checkout-{} is held by PodDisruptionBudget shop/checkout"
    nodes = (
        replace(each, phase=GIVEN_UP, uid="", image="", version="", created_at=None, wave=at // 10, attempts=3,
                begun_at=NOW + timedelta(seconds=7 * at), since=NOW + timedelta(seconds=9 * at),
                replacement=each.name[::-1], code="drain-timeout", text=why.format(each.uid))
        for at, each in enumerate(state.nodes)
    )  # fmt: skip
    return replace(state, nodes=tuple(nodes))


def test_a_rotation_of_more_nodes_than_a_record_holds_to_its_end_is_not_begun(records: SqliteRecords) -> None:
    """It is told how many fit, and what to do instead."""
    many = cloud_state(12_000)
    with pytest.raises(FleetError) as refused:
        record_begun(records, BLUE, many, "one", None)
    assert (refused.value.code, refused.value.where) == ("rotation-too-large", "NodeRotation/blue")
    assert refused.value.message.startswith("12000 nodes are too many") and records.get("NodeRotation", "blue") is None
    most = int(refused.value.message.split("about ")[1].split()[0])
    parts = -(-12_000 // most)
    assert f"write {parts} rotations" in refused.value.hint and "gitops.fleet.rotate" in refused.value.hint
    assert refuse_too_large("blue", cloud_state(int(most * 0.98)))
    with pytest.raises(FleetError):
        refuse_too_large("blue", cloud_state(int(most * 1.02)))


def test_five_thousand_nodes_fit_into_one_record_to_their_end(records: SqliteRecords) -> None:
    """Packed, whatever becomes of them; and they stay packed."""
    many = cloud_state(5_000)
    record_begun(records, BLUE, many, "one", None)
    stored = rotation_document(records, "blue")
    assert isinstance(stored["status"]["state"]["nodes"], str)
    book = RotationBook("blue")
    assert book.read(stored) == many
    last = book.written(stored, ended(many), 1)
    assert size_of_json(last["status"]) <= LIMIT and last["status"]["failed"] == 5_000
    assert rotation_state(recorded(NodeRotation, last)) == ended(many)
    book.remember()
    flying = replace(many, nodes=(replace(many.nodes[0], phase="Draining"), *many.nodes[1:]))
    records.replace(book.written(stored, flying, 1))
    assert [each.name for each in in_flight_beside(records, "another")] == [many.nodes[0].name]


def test_a_rotation_that_fits_is_recorded_as_ever(records: SqliteRecords) -> None:
    """Any version of ours, and any person, reads it."""
    few = cloud_state(1_500)
    record_begun(records, BLUE, few, "one", None)
    plain = rotation_document(records, "blue")["status"]["state"]
    assert plain == encode(few) and plain["nodes"][0]["name"] == few.nodes[0].name


def test_a_conductor_leaves_a_rotation_that_was_made_again_under_its_name(records: SqliteRecords) -> None:
    record_begun(records, BLUE, state("m1/first"), "one", None)
    journal = Journal(records, RotationBook("blue"), records.acquire("rotation/blue", "me", 60))
    delete_rotation(records, "blue", force=True, write=True)
    record_begun(records, OTHER, state("m1/second"), "two", None)
    with pytest.raises(FleetError) as error:
        journal.load()
    assert error.value.code == "rotation-deleted"


def test_nor_begins_it_with_one_that_was_made_again_before_it_held_the_lease(records: SqliteRecords) -> None:
    record_begun(records, BLUE, state("m1/first"), "one", None)
    meant = rotation_document(records, "blue")["metadata"]["uid"]
    delete_rotation(records, "blue", force=True, write=True)
    record_begun(records, OTHER, state("m1/second"), "two", None)
    with pytest.raises(FleetError) as error:
        Journal(records, RotationBook("blue", meant), records.acquire("rotation/blue", "me", 60))
    assert error.value.code == "rotation-deleted"
