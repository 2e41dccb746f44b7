# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What changes under a rotation while it is conducted: freezes, budgets, members, the clock; how that is read."""

from __future__ import annotations

import typing as t
from datetime import timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.rotation_sight import RotationGround
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import (
    LIST_AFTER,
    Clients,
    recorded_members,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.reading import ReadingWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_ground import (
    RecordedFleet,
    RotationAround,
)
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import maintenance
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.nodes.conducted_rotation import (
    BY_ONE,
    FROZEN,
    ONE_NODE,
    START,
    Conducted,
    Document,
    Fleet,
    join,
    named,
)


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    made = SqliteRecords(tmp_path / "records.db", lambda: START)
    yield made
    made.close()


def drained(one: Conducted, node: str) -> None:
    """The node has gone, and with it the first that was begun."""
    member, _slash, name = node.partition("/")
    one.fleet.end(f"{node}.1.drain")
    one.fleet.nodes[member].remove(name)


def laid(document: Document) -> t.Any:
    return read(document).object


def test_nothing_begins_in_a_freeze_that_is_laid_while_nodes_are_rotated(records: SqliteRecords) -> None:
    """What is under way then ends."""
    fleet = Fleet(m1="abc")
    one = Conducted(records, fleet, named("one", pace=BY_ONE))
    one.run(seconds=2)
    one.on(maintenance=(laid(maintenance(freezes=[FROZEN])),))
    drained(one, "m1/a")
    one.run(seconds=9)
    assert fleet.begun == ["m1/a.1.drain"] and [each.phase for each in one.state.nodes][0] == "Rotated"
    assert one.told[0].startswith("freeze emergency ends at 2026-05-01")
    one.on(maintenance=())
    one.steering = one.steered()
    one.run(seconds=15)
    assert fleet.begun[1:] == ["m1/b.1.drain"]


def test_a_budget_of_the_fleet_that_is_laid_meanwhile_counts(records: SqliteRecords) -> None:
    fleet = Fleet(m1="ab", m2="c")
    other = Conducted(records, fleet, named("other", members=["m2"]))
    other.run(seconds=2)
    one = Conducted(records, fleet, named("one", members=["m1"], pace=BY_ONE))
    one.run(seconds=4)
    drained(one, "m1/a")
    one.on(maintenance=(laid(ONE_NODE),))
    one.run(seconds=9)
    assert fleet.begun == ["m2/c.1.drain", "m1/a.1.drain"]
    assert "budget one of FleetMaintenance" in one.told[0]


def test_nothing_begins_while_it_is_not_known_what_holds_it_back(records: SqliteRecords) -> None:
    """Somebody has damaged a record: nodes under way are seen to their ends."""
    fleet = Fleet(m1="abc")
    one = Conducted(records, fleet, named("one", pace=BY_ONE))
    one.run(seconds=2)
    one.around.present = FleetError("record-damaged", "it cannot be read", "FleetMaintenance/standard")
    drained(one, "m1/a")
    one.run(seconds=9)
    assert fleet.begun == ["m1/a.1.drain"] and one.state.nodes[0].phase == "Rotated"
    assert "budgets hold is not known: FleetMaintenance/standard: it cannot be read" in one.told[0]
    assert "is not known" in " ".join(one.said)
    one.on()
    one.run(seconds=15)
    assert fleet.begun[1:] == ["m1/b.1.drain"]


def test_records_that_do_not_answer_for_a_moment_end_nothing(records: SqliteRecords) -> None:
    fleet = Fleet(m1="ab")
    one = Conducted(records, fleet, named("one", pace=BY_ONE))
    one.around.present = FleetError("unreachable", "no answer", "hub")
    one.run(seconds=4)
    (told,) = [each for each in one.said if each.startswith("the records do not answer since ")]
    assert fleet.begun == [] and told.endswith("what is in flight goes on: no answer")
    one.on()
    one.run(seconds=8)
    assert fleet.begun == ["m1/a.1.drain"]


def test_a_member_that_leaves_while_its_nodes_are_rotated_loses_no_other(records: SqliteRecords) -> None:
    """And work on the one in flight ends: the cluster is not the fleet's any more."""
    fleet = Fleet(m1="ab", m2="c")
    one = Conducted(records, fleet, named("one", pace=BY_ONE))
    one.run(seconds=2)
    assert fleet.begun == ["m1/a.1.drain"]
    del fleet.nodes["m1"]
    one.on(fleet={"m2": {}})
    one.run(seconds=9)
    assert fleet.begun == ["m1/a.1.drain", "m2/c.1.drain"] and "m1/a" in fleet.halted
    assert [each.code for each in one.state.nodes] == ["member-left", "member-left", ""]


def test_nothing_begins_on_a_member_that_somebody_lets_go(records: SqliteRecords) -> None:
    """The others go on, and so does it if it stays."""
    fleet = Fleet(m1="a", m2="b")
    one = Conducted(records, fleet, named("one"))
    one.around.left = {"m1": "ann@host"}
    one.run(seconds=5)
    assert fleet.begun == ["m2/b.1.drain"] and one.told == ["ann@host is letting it go; nothing is written to it"]
    drained(one, "m2/b")
    one.around.left = {}
    one.run(seconds=9)
    assert fleet.begun == ["m2/b.1.drain", "m1/a.1.drain"]


def test_nothing_begins_by_a_clock_that_is_wrong(records: SqliteRecords) -> None:
    """By it no window or freeze can be judged; as for an update run."""
    fleet = Fleet(m1="a")
    one = Conducted(records, fleet, named("one"))
    one.around.ahead = timedelta(minutes=10)
    one.run(seconds=5)
    assert fleet.begun == [] and "our clock is 10 min behind those of the clusters" in one.told[0]
    assert "set the runner's clock" in " ".join(one.said)
    one.around.ahead = timedelta(minutes=5)
    one.run(seconds=9)
    assert fleet.begun == ["m1/a.1.drain"]


def around(records: SqliteRecords, document: Document, *members: str, stay: str = "") -> RotationAround:
    """As it is when the rotation begins over these members."""
    there = recorded_members(records)
    return RotationAround(
        at_first=RotationGround(rotation=laid(document)),
        members={name: there[name] for name in members},
        clients=Clients({}),
        reading=ReadingWish(),
        fleet=RecordedFleet(records),
        stay=frozenset(filter(None, [stay])),
    )


def test_a_freeze_that_is_recorded_holds_a_rotation_within_fifteen_seconds(records: SqliteRecords) -> None:
    fleet = Fleet(m1="abc")
    join(records, "m1")
    one = Conducted(records, fleet, named("one", pace=BY_ONE))
    one.surroundings = around(records, named("one", pace=BY_ONE), "m1")
    one.steering = one.steered()
    one.run(seconds=2)
    records.create(maintenance(freezes=[FROZEN]))
    fleet.time = START + LIST_AFTER
    drained(one, "m1/a")
    one.run(seconds=30)
    assert fleet.begun == ["m1/a.1.drain"] and one.told[0].startswith("freeze emergency")


def test_records_are_listed_once_in_fifteen_seconds_for_all_that_share_them(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pools of an update run do, and each asks every two seconds."""
    asked: list[str] = []
    listed = records.list
    monkeypatch.setattr(records, "list", lambda kind: asked.append(kind) or listed(kind))
    fleet = RecordedFleet(records)
    for seconds in range(0, 30, 2):
        fleet.seen(START + timedelta(seconds=seconds))
    assert sorted(asked) == ["FleetMaintenance"] * 2 + ["FleetMember"] * 2 + ["MemberCluster"] * 2


def test_records_that_are_damaged_are_read_again_later_and_those_that_do_not_answer_at_once(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, codes = RecordedFleet(records), ["unreachable", "record-damaged"]
    listed = records.list

    def refused(kind: str) -> list[Document]:
        if codes:
            raise FleetError(codes.pop(0), "no")
        return listed(kind)

    monkeypatch.setattr(records, "list", refused)
    for code in ("unreachable", "record-damaged", "record-damaged"):
        with pytest.raises(FleetError) as told:
            fleet.seen(START)
        assert told.value.code == code
    assert fleet.seen(START + LIST_AFTER).members == {}


def test_members_of_a_rotation_are_those_of_the_fleet_by_now(records: SqliteRecords) -> None:
    """Who was read once is read on, whatever its labels say, else its nodes would count as gone; who has joined is read
    where a budget is over the fleet, and who has left is not."""
    for name in ("m1", "m2", "m3"):
        join(records, name, tier="blue")
    spec = {"memberSelector": {"byLabel": "tier=blue"}}
    found = around(records, named("one", **spec), "m1", "m2")
    site = records.get("MemberCluster", "m1") or {}
    records.replace({**site, "metadata": {**site["metadata"], "labels": {"tier": "red"}}})
    records.delete("FleetMember", "m2")
    ground = found.ground(START)
    assert sorted(found.members) == ["m1", "m3"]
    assert ground.fleet == {"m1": {"tier": "red"}, "m3": {"tier": "blue"}}
    join(records, "m4", tier="red")
    records.create(ONE_NODE)
    ground = found.ground(START + LIST_AFTER)
    assert sorted(found.members) == sorted(ground.fleet) == ["m1", "m3", "m4"] and ground.over_fleet
    assert sorted(found.clients.members) == ["m1", "m3", "m4"]


def test_a_member_that_stays_for_the_rotation_is_one_after_it_has_left(records: SqliteRecords) -> None:
    join(records, "m1")
    found = around(records, named("one"), "m1", stay="m1")
    records.delete("FleetMember", "m1")
    assert list(found.ground(START).fleet) == list(found.members) == ["m1"]
