# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A rotation that a schedule found waiting, and that somebody else has ended since, is not begun anew; a stop, as it
would be and as it is."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import Node
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.nodes_snapshot import NodesSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError, Problem
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.api_groups import FLEET_API
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.node_rotation import (
    DueNodes,
    NodeRotation,
    NodeRotationSpec,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.clock_skew import clock_skew_words
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import rotating, rotation_ground
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.replacing import ReplacementWish
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.rotating import (
    RotationReport,
    RotationWish,
    _asked,
    _foreseen,
    _taking,
    conduct_rotation,
    planned,
    stop_rotation,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.sources import NodeManifests
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.session import Session
from ansible_collections.gitops.fleet.plugins.module_utils._store.sqlite import SqliteRecords
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import maintenance
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.nodes.conducted_rotation import (
    BY_ONE,
    FROZEN,
    START,
    Fleet,
    join,
    named,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MEMBERS = ("east", "north", "west")
OWN = ReplacementWish(command=("x",))
EMPTY: t.Mapping[str, t.Any] = {}
Way = t.Callable[[Session, str, NodeManifests, RotationWish], RotationReport]


@pytest.fixture
def session(tmp_path: Path) -> t.Iterator[Session]:
    records = SqliteRecords(tmp_path / "records.db", lambda: NOW)
    with Session(records=records, holder="tests", clock=lambda: NOW) as made:
        yield made


def recorded(session: Session, phase: str, spec: t.Mapping[str, t.Any] = EMPTY, **more: str) -> None:
    body = {"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": "blue"}, "spec": dict(spec)}
    state = {"nodes": [{"name": "east/n1", "pool": "east/blue", "phase": phase, **more}]}
    made = session.records.create(body)
    session.records.replace({**made, "status": {"phase": "Done", "origin": "manual by ann", "state": state}})


def began(session: Session, **more: t.Any) -> None:
    """A rotation that has ended, of which one node was replaced and one given up."""
    nodes = [
        {"name": "east/a", "pool": "east/blue", "phase": "Rotated", "replacement": "east/new"},
        {"name": "east/b", "pool": "east/blue", "phase": "GivenUp"},
    ]
    body = {"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": "blue"}, "spec": {}}
    state = {"nodes": nodes, "startedAt": NOW.isoformat(), **more}
    session.records.replace({**session.records.create(body), "status": {"phase": "Done", "state": state}})


def foreseen(session: Session, given: NodeManifests | None = None, again: bool = False) -> RotationReport:
    ages = {"b": timedelta(days=-1), "new": timedelta(0), "later": timedelta(hours=1)}
    nodes = tuple(Node(name=name, uid=name, created_at=NOW + at) for name, at in ages.items())
    snapshot = NodesSnapshot(captured_at=NOW, members=(MemberNodes(name="east", nodes=nodes),))
    wish = RotationWish(replacement=ReplacementWish(command=("x",)), again=again)
    return _foreseen(_asked(session, "blue", given or NodeManifests()), snapshot, (), NOW + timedelta(days=1), wish)


def test_one_without_due_that_has_ended_replaces_what_it_left_and_nothing_that_came_since(session: Session):
    began(session)
    found = foreseen(session)
    assert [each.name for each in found.state.nodes] == ["east/b"] == list(found.due)
    assert (found.young, found.since, found.state.asked_at) == (2, NOW, NOW)


def test_what_it_was_begun_for_first_counts_however_often_it_is_begun_anew(session: Session):
    began(session, since=(NOW - timedelta(days=2)).isoformat())
    found = foreseen(session)
    assert found.state.done and not found.changed and (found.young, len(found.due)) == (3, 0)


def test_all_are_replaced_again_where_that_is_asked_for_or_another_reason_is_given(session: Session):
    began(session)
    assert len(foreseen(session, again=True).due) == 3 and foreseen(session, again=True).state.since is None
    spec = NodeRotationSpec(due=DueNodes(version_other_than="v1.36.3"))
    given = NodeManifests(rotations={"blue": NodeRotation(metadata=ObjectMeta(name="blue"), spec=spec)})
    found = foreseen(session, given)
    assert (len(found.due), found.young) == (3, 0)


def another_spec() -> NodeManifests:
    wanted = NodeRotation(metadata=ObjectMeta(name="blue"), spec=NodeRotationSpec(members=("west",)))
    return NodeManifests(rotations={"blue": wanted})


@pytest.mark.parametrize("way", [conduct_rotation, planned])
def test_one_that_has_ended_is_left_and_no_member_is_asked(session: Session, way: Way):
    recorded(session, "Rotated")
    found = way(session, "blue", NodeManifests(), RotationWish(only_waiting=True))
    assert not found.changed and [each.phase for each in found.state.nodes] == ["Rotated"]
    with pytest.raises(FleetError) as told:
        way(session, "blue", NodeManifests(), RotationWish())
    assert told.value.code == "no-members"


def test_one_that_goes_on_is_taken_up_and_ends_where_its_last_member_has_left(session: Session):
    """A schedule would fail with it each hour otherwise."""
    recorded(session, "Waiting")
    wish = RotationWish(only_waiting=True, replacement=OWN)
    looked = planned(session, "blue", NodeManifests(), wish)
    assert looked.changed and not looked.begins
    found = conduct_rotation(session, "blue", NodeManifests(), wish)
    assert [(each.phase, each.code) for each in found.state.nodes] == [("GivenUp", "member-left")]
    stored = session.records.get("NodeRotation", "blue") or {}
    assert found.state.done and stored["status"]["state"]["nodes"][0]["code"] == "member-left"


def test_one_by_age_is_left_where_all_its_members_have_left(session: Session):
    """It has ended, and would begin again as nodes grow old."""
    recorded(session, "Rotated", spec={"due": {"olderThan": "24h"}})
    assert not conduct_rotation(session, "blue", NodeManifests(), RotationWish(only_waiting=True)).changed
    with pytest.raises(FleetError) as told:
        conduct_rotation(session, "blue", NodeManifests(), RotationWish())
    assert told.value.code == "no-members"


@pytest.mark.parametrize("way", [conduct_rotation, planned])
def test_one_whose_last_node_is_still_to_be_let_go_is_carried_on(session: Session, way: Way):
    """Its conductor was killed after it had recorded that the node is given up, and before it uncordoned it."""
    recorded(session, "GivenUp", release="it was not drained in time")
    with pytest.raises(FleetError) as told:
        way(session, "blue", another_spec(), RotationWish())
    assert told.value.code == "rotation-begun"
    looked, done = stop_rotation(session, "blue", write=False), stop_rotation(session, "blue", write=True)
    assert looked.changed and done.changed and done.rotation.status.stop_requested and done.state.in_hand
    assert not stop_rotation(session, "blue", write=True).changed
    found = conduct_rotation(session, "blue", NodeManifests(), RotationWish(only_waiting=True, replacement=OWN))
    assert not found.state.in_hand and found.state.done


def test_members_with_a_node_to_let_go_take_part_whatever_is_selected_now(session: Session):
    recorded(session, "GivenUp", release="it was not drained in time")
    members: t.Any = {name: SimpleNamespace(cluster=MemberCluster(metadata=ObjectMeta(name=name))) for name in MEMBERS}
    asked = _asked(session, "blue", NodeManifests())
    spec = replace(asked.ground.rotation.spec, members=("west",))
    ground = replace(asked.ground, rotation=replace(asked.ground.rotation, spec=spec))
    assert sorted(_taking(members, replace(asked, ground=ground))) == ["east", "west"]


def test_a_look_at_a_stop_says_what_it_would_change(session: Session):
    """Also where it was asked for, and its conductor has ended before the last node had."""
    recorded(session, "Waiting")
    found = session.records.get("NodeRotation", "blue") or {}
    session.records.replace({**found, "status": {**found["status"], "stopRequested": True}})
    looked, done = stop_rotation(session, "blue", write=False), stop_rotation(session, "blue", write=True)
    assert looked.changed and done.changed and done.state.done
    assert not stop_rotation(session, "blue", write=False).changed


def test_a_plan_from_a_file_takes_no_member_of_it_for_one_that_has_left(session: Session):
    """The records that it is planned over may know none of them."""
    member = MemberNodes(name="east", nodes=(Node(name="a", uid="u"),))
    wanted = NodeRotation(metadata=ObjectMeta(name="green"), spec=NodeRotationSpec())
    asked = _asked(session, "green", NodeManifests(rotations={"green": wanted}))
    snapshot = NodesSnapshot(captured_at=NOW, members=(member,))
    wish = RotationWish(replacement=OWN)
    assert _foreseen(asked, snapshot, (), NOW, wish).begins == ("east/a",)


def test_names_of_nobody_are_told_and_nodes_of_the_others_are_replaced(session: Session):
    member = MemberNodes(name="east", nodes=(Node(name="a", uid="u"),))
    wanted = NodeRotation(metadata=ObjectMeta(name="green"), spec=NodeRotationSpec(members=("east", "north")))
    asked = _asked(session, "green", NodeManifests(rotations={"green": wanted}))
    snapshot = NodesSnapshot(captured_at=NOW, members=(member,))
    found = _foreseen(asked, snapshot, (), NOW, RotationWish(replacement=OWN))
    assert found.begins == ("east/a",) and [each.code for each in found.notes] == ["no-such-member"]
    assert found.notes[0].message.endswith(": north")


@pytest.mark.parametrize("takes", [True, False])
def test_a_plan_from_a_file_needs_to_know_only_the_members_that_take_part(session: Session, takes: bool):
    """The file holds the whole fleet, one cluster of which does not answer."""
    join(session.records, "east")
    join(session.records, "west")
    members = ("east", "west") if takes else ("east",)
    wanted = NodeRotation(metadata=ObjectMeta(name="green"), spec=NodeRotationSpec(members=members))
    asked = _asked(session, "green", NodeManifests(rotations={"green": wanted}))
    member = MemberNodes(name="east", nodes=(Node(name="a", uid="u"),))
    away = {"west": Problem("unreachable", "no answer", "west")}
    snapshot = NodesSnapshot(captured_at=NOW, members=(member,), failed=away)
    if takes:
        with pytest.raises(FleetError) as refused:
            _foreseen(asked, snapshot, (), NOW, RotationWish(replacement=OWN))
        assert (refused.value.code, refused.value.where) == ("members-unread", "west")
    else:
        assert _foreseen(asked, snapshot, (), NOW, RotationWish(replacement=OWN)).begins == ("east/a",)


def test_a_node_in_hand_that_is_let_go_is_not_told_to_begin(session: Session):
    """Its drain has taken too long."""
    node = {"name": "east/n1", "pool": "east/blue", "phase": "Draining", "attempts": 1, "uid": "u"}
    body = {"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": "blue"}, "spec": {}}
    state = {"nodes": [{**node, "since": NOW.isoformat()}], "startedAt": NOW.isoformat(), "known": ["east/n1"]}
    session.records.replace({**session.records.create(body), "status": {"phase": "Running", "state": state}})
    snapshot = NodesSnapshot(
        captured_at=NOW, members=(MemberNodes(name="east", nodes=(Node(name="n1", uid="u", created_at=NOW),)),)
    )
    asked = _asked(session, "blue", NodeManifests())
    found = _foreseen(asked, snapshot, (), NOW + timedelta(days=2), RotationWish(replacement=OWN))
    assert asked.going and found.begins == ()


def test_a_plan_by_a_wrong_clock_begins_nothing_and_says_so(session: Session):
    member = MemberNodes(name="east", nodes=(Node(name="a", uid="u"),))
    wanted = NodeRotation(metadata=ObjectMeta(name="green"), spec=NodeRotationSpec())
    asked = _asked(session, "green", NodeManifests(rotations={"green": wanted}))
    snapshot = NodesSnapshot(captured_at=NOW, members=(member,))
    found = _foreseen(asked, snapshot, (), NOW, RotationWish(replacement=OWN), clock_skew_words(timedelta(minutes=-10)))
    assert not found.begins and "our clock is 10 min ahead of those" in found.waits[0].blockers[0].text


def played(session: Session, monkeypatch: pytest.MonkeyPatch, fleet: Fleet) -> Session:
    """A session for rotations of this fleet, by its clock."""
    for name in fleet.nodes:
        join(session.records, name)
    monkeypatch.setattr(rotating, "members_to_write", lambda given: recorded_members(given.records))
    monkeypatch.setattr(rotating, "NodeWorkers", lambda *_given: fleet)
    for module in (rotating, rotation_ground):
        monkeypatch.setattr(module, "read_members", lambda names, _clients, _wish, now: fleet.look(now, names))
    return replace(session, clock=fleet.clock)


def test_a_freeze_that_is_recorded_while_it_is_conducted_holds_it(session: Session, monkeypatch: pytest.MonkeyPatch):
    """Our own rotation goes by what holds at the time, whatever held when it was begun."""
    fleet = Fleet(m1="ab")
    session = played(session, monkeypatch, fleet)
    wait = fleet.wait

    def waited(seconds: float) -> None:
        wait(seconds)
        gone = (fleet.time - START).total_seconds()
        if gone == 3:
            session.records.create(maintenance(freezes=[FROZEN]))
        if gone == 20:
            fleet.nodes["m1"].remove("a")

    monkeypatch.setattr(fleet, "wait", waited)
    wanted = read(named("one", pace=BY_ONE)).object
    assert isinstance(wanted, NodeRotation)
    given = NodeManifests(rotations={"one": wanted})
    found = conduct_rotation(session, "one", given, RotationWish(replacement=OWN))
    assert fleet.begun == ["m1/a.1.drain"] and found.why == "waiting"
    assert [each.phase for each in found.state.nodes] == ["Rotated", "Waiting"]
    assert found.waits[0].blockers[0].text.startswith("freeze emergency")


def taken_up(session: Session, monkeypatch: pytest.MonkeyPatch, wish: ReplacementWish, way: Way) -> RotationReport:
    """A rotation that waits for its only node, a real one without a NodeClaim, is taken up."""
    session = played(session, monkeypatch, Fleet(east="a"))
    node = {"name": "east/a", "uid": "u-a", "pool": "east/-", "phase": "Waiting"}
    state = {"nodes": [node], "known": ["east/a"], "settings": {"replacement": "none"}}
    body = {"apiVersion": FLEET_API, "kind": "NodeRotation", "metadata": {"name": "blue"}, "spec": {}}
    session.records.replace({**session.records.create(body), "status": {"phase": "Waiting", "state": state}})
    limit = timedelta(seconds=5)
    return way(session, "blue", NodeManifests(), RotationWish(only_waiting=True, replacement=wish, time_limit=limit))


@pytest.mark.parametrize("way", [conduct_rotation, planned])
@pytest.mark.parametrize(
    "wish, code",
    [
        (ReplacementWish(), "no-driver"),
        (ReplacementWish(driver="local"), "not-simulated"),
        (ReplacementWish(driver="karpenter"), "no-node-claim"),
        (ReplacementWish(driver="command"), "bad-option"),
    ],
)
def test_one_that_goes_on_is_not_taken_up_in_a_way_that_replaces_no_node_of_it(
    session: Session, monkeypatch: pytest.MonkeyPatch, way: Way, wish: ReplacementWish, code: str
):
    """It was begun with a command, which a schedule does not give."""
    with pytest.raises(FleetError) as refused:
        taken_up(session, monkeypatch, wish, way)
    assert refused.value.code == code
    state = (session.records.get("NodeRotation", "blue") or {})["status"]["state"]
    assert [each["phase"] for each in state["nodes"]] == ["Waiting"]


def test_one_that_is_to_stop_is_ended_without_its_command(session: Session):
    recorded(session, "Draining")
    assert _asked(session, "blue", NodeManifests()).to_replace == {"east/n1"}
    stop_rotation(session, "blue", write=True)
    assert not _asked(session, "blue", NodeManifests()).to_replace
