# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One rotation while it is conducted, over members that are a few words in memory."""

from __future__ import annotations

import typing as t
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.nodes_snapshot import NodesSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import other_rotations
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.other_rotations import OtherRotations
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotation_record import rotation_document
from ansible_collections.gitops.fleet.plugins.module_utils._store.records import Lease
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import maintenance
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.nodes.conducted_rotation import (
    BY_ONE,
    FAST,
    ONE_NODE,
    START,
    Conducted,
    Fleet,
    named,
)


@pytest.fixture
def records(tmp_path: Path) -> t.Iterator[SqliteRecords]:
    made = SqliteRecords(tmp_path / "records.db", lambda: START)
    yield made
    made.close()


def test_rotations_of_one_fleet_keep_to_its_budget_together(records: SqliteRecords) -> None:
    """What one has recorded counts for the other before any node says so; as for the pools of an update run."""
    fleet = Fleet(m1="a", m2="b")
    one = Conducted(records, fleet, named("one", members=["m1"]), ONE_NODE)
    two = Conducted(records, fleet, named("two", members=["m2"]), ONE_NODE)
    one.run(seconds=2)
    two.run(seconds=5)
    assert fleet.begun == ["m1/a.1.drain"]
    assert "budget one of FleetMaintenance" in two.steering.waits[0].blockers[0].text
    assert [each.phase for each in two.state.nodes] == ["Waiting"]


def test_a_clock_that_is_set_back_stops_no_look_at_the_members(records: SqliteRecords) -> None:
    fleet = Fleet(m1="a")
    one = Conducted(records, fleet, named("one"))
    one.steering.book.read(rotation_document(records, "one"))
    fleet.reads.clear()
    for minutes in (60, 0, 1):
        one.steering.see(one.state, START + timedelta(minutes=minutes))
    assert fleet.reads == [None, None, None]


def test_nothing_begins_while_another_rotation_has_the_turn(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_rotations, "WAIT", 0.0)
    other = OtherRotations(records, "other", "me")
    assert other.take_turn()
    fleet = Fleet(m1="a")
    one = Conducted(records, fleet, named("one"))
    one.run(seconds=3)
    assert fleet.begun == [] and "another rotation is just deciding" in one.steering.waits[0].blockers[0].text
    other.end_turn()
    one.run(seconds=9)
    assert fleet.begun == ["m1/a.1.drain"]


def test_who_lost_the_turn_while_deciding_counts_what_others_have_begun_since(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub that answers late: by the time at which it was decided, the minute of the turn was over."""
    fleet = Fleet(m1="a", m2="b")
    one = Conducted(records, fleet, named("one", members=["m1"]), ONE_NODE)
    two = Conducted(records, fleet, named("two", members=["m2"]), ONE_NODE)
    read, taken = OtherRotations.in_flight, list[Lease]()

    def late(others: OtherRotations) -> t.Any:
        seen, leases = read(others), [each for each in records.leases() if each.name == other_rotations.TURN]
        if leases and not taken:
            taken.extend(leases)
            records.release(leases[0])
            two.run(seconds=2)
        return seen

    monkeypatch.setattr(OtherRotations, "in_flight", late)
    one.run(seconds=5)
    assert taken and fleet.begun == ["m2/b.1.drain"]


def test_a_node_that_counts_already_is_drained_whoever_has_the_turn(
    records: SqliteRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its new node is there. Whoever was killed with the turn has it for a minute more, and the conductor that waited
    for it here kept no lease meanwhile."""
    monkeypatch.setattr(other_rotations, "WAIT", 0.0)
    fleet = Fleet(m1="a")
    one = Conducted(records, fleet, named("one", pace={**FAST, "replacement": "before"}))
    one.run(seconds=2)
    assert fleet.begun == ["m1/a.1.add-node"]
    assert OtherRotations(records, "other", "me").take_turn()
    fleet.end("m1/a.1.add-node")
    fleet.nodes["m1"] = ["a", "b"]
    one.run(seconds=9)
    assert fleet.begun == ["m1/a.1.add-node", "m1/a.1.drain"]


def test_a_record_of_another_rotation_that_cannot_be_read_lets_nothing_begin(records: SqliteRecords) -> None:
    fleet = Fleet(m1="a")
    one = Conducted(records, fleet, named("one"))
    other = Conducted(records, fleet, named("other"))
    document = rotation_document(records, other.name)
    records.replace({**document, "status": {**document["status"], "state": {"nodes": [7]}}})
    one.run(seconds=3)
    assert fleet.begun == [] and "NodeRotation/other" in one.steering.waits[0].blockers[0].text


def test_a_node_that_cannot_be_let_go_is_told_and_ends_the_conductor(records: SqliteRecords) -> None:
    """The right to write nodes was taken away: it stays recorded, and whoever comes next tries again."""
    fleet = Fleet(m1="a")
    fleet.failures = {"drain": "its machine does not answer", "release": "nodes is forbidden"}
    one = Conducted(records, fleet, named("one", pace={**FAST, "attempts": 1}))
    ending = one.run(seconds=600)
    assert (ending.why, ending.state.done) == ("waiting", True)
    assert [str(each.text) for held in one.steering.waits for each in held.blockers] == [
        "it stays cordoned: nodes is forbidden"
    ]
    assert any("stays cordoned" in each for each in one.said)
    assert one.state.nodes[0].release
    fleet.failures, fleet.time = {}, START
    one.steering = one.steered()
    one.run(seconds=2)
    assert fleet.begun[-1] == "m1/a.1.release"


def test_a_node_is_tried_to_be_let_go_again_and_its_next_attempt_does_not_fail_by_that(records: SqliteRecords) -> None:
    fleet = Fleet(m1="a")
    fleet.failures = {"drain": "its machine does not answer", "release": "nodes is forbidden"}
    one = Conducted(records, fleet, named("one", pace={**FAST, "attempts": 2, "retryAfterSeconds": 40}))
    one.run(seconds=3)
    state, steering, later = one.state, one.steering, START + timedelta(seconds=60)
    assert state.nodes[0].phase == "Waiting" and len(steering.waits) == 2
    fleet.failures = {}
    fleet.begun.clear()
    steering.keep(state, later)
    steering.keep(state, later)
    assert fleet.begun == ["m1/a.1.release"]
    fleet.end("m1/a.1.release")
    for change in steering.drain_events(state, later):
        state = change(state)
    found = steering.decide(state, steering.see(state, later), later)
    assert [each.operation for each in found.acts] == ["m1/a.2.drain"] and steering.waits == ()
    after = steering.decide(found.state, steering.see(found.state, later), later)
    assert [each.phase for each in after.state.nodes] == ["Draining"]
    steering.close()


def test_only_the_member_of_a_node_that_ends_is_read_again(records: SqliteRecords) -> None:
    """All of them are before anything begins."""
    fleet = Fleet(m1="ab", m2="c")
    one = Conducted(records, fleet, named("one"))
    steering = one.steering
    state = one.state
    steering.book.read(rotation_document(records, "one"))
    found = steering.decide(state, steering.see(state, START), START)
    assert len(found.acts) == 3
    fleet.end("m1/a.1.drain")
    fleet.nodes["m1"] = ["b"]
    fleet.silent = {"m2"}
    list(steering.drain_events(found.state, START))
    seen = steering.see(found.state, START)
    assert fleet.reads[-2:] == [None, {"m1"}] and seen.unknown == {}
    assert sorted(each.name for each in seen.nodes) == ["m1/b", "m2/c"]
    again = steering.look_before_beginning(found, seen, START)
    assert fleet.reads[-1] is None and again is not None and again.unknown == {"m2": "no answer"}
    steering.close()


def test_a_rotation_behind_a_closed_budget_goes_on_when_that_opens_and_looks_at_nothing_till_then(
    records: SqliteRecords,
) -> None:
    fleet = Fleet(m1="ab")
    night = {"nodes": "0", "schedule": f"{START.minute} {START.hour} * * *", "duration": "4h"}
    one = Conducted(records, fleet, named("one", budgets=[{"nodes": "1"}, night]))
    ending = one.run(seconds=600)
    assert (ending.why, ending.resume_at, fleet.time) == ("waiting", START + timedelta(hours=4), START)
    assert one.said == [
        "one: m1/a, m1/b wait:",
        "one:   budget 2 (0 nodes, 12:00-16:00 UTC) until Sat 16:00 UTC",
    ]


def test_a_rotation_that_only_people_can_move_ends_at_once_and_says_what_holds_it(records: SqliteRecords) -> None:
    """Not so one that pods hold, or another rotation: these come and go."""
    fleet = Fleet(m1="ab")
    fleet.kept.update("ab")
    one = Conducted(records, fleet, named("one", budgets=[{"nodes": "1"}]))
    ending = one.run(seconds=600)
    assert (ending.why, ending.resume_at, fleet.time, len(fleet.reads)) == ("waiting", None, START, 2)
    assert "is blocked through the annotation karpenter.sh/do-not-disrupt" in " ".join(one.said)
    assert not any("max_idle" in each for each in one.said)


def test_members_are_looked_at_again_where_a_node_is_held_by_more_than_a_closed_budget(records: SqliteRecords) -> None:
    """Here by a budget of the fleet, which whoever disrupts nodes may give back at any time."""
    fleet = Fleet(m1="a", m2="b")
    other = Conducted(records, fleet, named("other", members=["m1"]), ONE_NODE)
    other.run(seconds=2)
    fleet.reads.clear()
    one = Conducted(records, fleet, named("one", members=["m2"]), ONE_NODE)
    one.run(seconds=9)
    assert len(fleet.reads) > 2 and any("looked at again at" in each for each in one.said)


def test_a_member_that_has_left_the_fleet_ends_its_nodes_visibly(records: SqliteRecords) -> None:
    """Whoever takes the rotation up sees the fleet as it is by then; one that only does not answer is waited for."""
    fleet = Fleet(m1="ab", m2="c")
    one = Conducted(records, fleet, named("one", pace={**FAST, "firstWave": 1}))
    one.run(seconds=2)
    assert fleet.begun == ["m1/a.1.drain"]
    del fleet.nodes["m1"]
    one.on(fleet={"m2": {}})
    one.steering = one.steered()
    one.run(seconds=5)
    ended = {each.name: (each.phase, each.code) for each in one.state.nodes}
    gone = ("GivenUp", "member-left")
    assert ended == {"m1/a": gone, "m1/b": gone, "m2/c": ("Draining", "")}
    assert fleet.begun == ["m1/a.1.drain", "m2/c.1.drain"]


def test_a_member_that_never_answers_again_keeps_no_conductor(records: SqliteRecords) -> None:
    """Its nodes stay in flight in the record, and whoever comes next looks for them."""
    fleet = Fleet(m1="a", m2="b")
    one = Conducted(records, fleet, named("one", members=["m1"], pace={**FAST, "nodeTimeoutSeconds": 60}))
    one.run(seconds=2)
    assert fleet.begun == ["m1/a.1.drain"]
    fleet.silent = {"m1"}
    one.steering = one.steered()
    ending = one.run(seconds=600)
    assert ending.why == "waiting" and ending.resume_at is not None
    assert timedelta(seconds=60 + 20) <= fleet.time - START < timedelta(seconds=60 + 40)
    assert [each.phase for each in one.state.nodes] == ["Draining"]
    fleet.silent, fleet.nodes["m1"] = set(), ["new"]
    one.steering = one.steered()
    assert one.run(seconds=600).why == "settled" and [each.phase for each in one.state.nodes] == ["Rotated"]
    assert fleet.inherited == ["m1", "m1"], "leases of those who were ended, although it looks and begins nothing"


@pytest.mark.parametrize(
    "attempts, most, begun, phases",
    [
        (1, 5, ["a.1.drain", "a.1.release", "b.1.drain", "b.1.release", "c.1.drain", "c.1.release"], ["GivenUp"] * 3),
        (1, 0, ["a.1.drain", "a.1.release"], ["GivenUp"] * 3),
        (2, 5, ["a.1.drain", "a.1.release", "b.1.drain", "b.1.release", "c.1.drain", "c.1.release"], ["Waiting"] * 3),
    ],
)
def test_a_node_that_fails_is_let_go_and_the_next_one_begins(
    records: SqliteRecords, attempts: int, most: int, begun: list[str], phases: list[str]
) -> None:
    """Members are read once more before the next one begins: what was seen of the first must not be lost by that."""
    fleet = Fleet(m1="abc")
    pace = {**BY_ONE, "attempts": attempts, "maxFailures": most, "retryAfterSeconds": 300}
    one = Conducted(records, fleet, named("one", pace=pace, budgets=[{"nodes": "1"}]))
    fleet.failures = {"drain": "its machine does not answer", "release": ""}
    one.run(seconds=60)
    assert fleet.begun == [f"m1/{each}" for each in begun]
    assert [each.phase for each in one.state.nodes] == phases and not any(each.release for each in one.state.nodes)


def test_no_node_begins_in_a_window_that_has_closed_while_the_machine_slept(records: SqliteRecords) -> None:
    """It slept while members were read: by then it is frozen, and another rotation may have the turn."""
    fleet = Fleet(m1="a")
    freeze = maintenance(freezes=[{"name": "day", "start": "2026-03-29", "end": "2026-03-30"}])
    one = Conducted(records, fleet, named("one"), freeze)
    look = fleet.look

    def slept(now: datetime, names: t.Collection[str] | None) -> NodesSnapshot:
        fleet.time = max(fleet.time, START + timedelta(days=1))
        return look(now, names)

    fleet.look = slept  # type: ignore[method-assign]
    one.steering = one.steered()
    one.run(seconds=86_410)
    assert fleet.begun == [] and "freeze day" in one.told[0]


@pytest.mark.parametrize("slept", [False, True])
def test_the_time_of_a_node_does_not_run_out_while_nobody_works_on_it(records: SqliteRecords, slept: bool) -> None:
    """Its conductor was out of time, or slept, with the node cordoned; hours later it goes on."""
    fleet = Fleet(m1="ab")
    one = Conducted(records, fleet, named("one", pace=BY_ONE))
    one.run(seconds=3)
    assert fleet.begun == ["m1/a.1.drain"]
    fleet.time = START + timedelta(hours=8)
    if not slept:
        one.steering = one.steered()
    one.run(seconds=8 * 3600 + 5)
    assert set(fleet.begun) == {"m1/a.1.drain"} and not one.state.halted
    assert [each.phase for each in one.state.nodes] == ["Draining", "Waiting"]
    fleet.nodes["m1"] = ["b"]
    one.run(seconds=8 * 3600 + 9)
    assert [each.phase for each in one.state.nodes] == ["Rotated", "Draining"]


def test_a_node_that_is_not_emptied_in_time_by_whoever_took_it_up_is_let_go(records: SqliteRecords) -> None:
    fleet = Fleet(m1="a")
    one = Conducted(records, fleet, named("one", pace=BY_ONE))
    one.run(seconds=3)
    fleet.time = START + timedelta(hours=8)
    one.steering = one.steered()
    one.run(seconds=8 * 3600 + 605)
    assert fleet.begun[-1] == "m1/a.1.release" and one.state.nodes[0].code == "drain-timeout"
