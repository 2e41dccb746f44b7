# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members that join and leave, and the facts that they tell."""

from __future__ import annotations

import base64
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import find_condition
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.facts import read_fleet
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.join import MemberSpec, join
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, Left, leave
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Clients, recorded_members
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.write_facts import record_facts
from small_fleet import OURS, PARENTS, Fleet, changes

THREE = ("m1", "m2", "m3")


def let_go(fleet: Fleet, *names: str, write: bool = True, **wish: t.Any) -> Left:
    return leave(fleet.session(), LeaveRequest(names=names, **wish), write=write)


def refused(fleet: Fleet, *names: str, **wish: t.Any) -> FleetError:
    with fleet.writing() as written, pytest.raises(FleetError) as caught:
        let_go(fleet, *names, **wish)
    assert written == []
    return caught.value


def names_of(fleet: Fleet) -> list[str]:
    return list(recorded_members(fleet.records))


def placed_on_three(fleet: Fleet) -> None:
    fleet.join(*THREE)
    fleet.place()
    fleet.apply()


def test_join_twice_changes_nothing(fleet: Fleet) -> None:
    first = fleet.join("m1", "m2", labels={"env": "prod"})
    assert first.joined == ("m1", "m2") and set(first.versions or {}) == {"m1", "m2"}
    with fleet.writing() as written:
        again = fleet.join("m1", "m2", labels={"env": "prod"})
    assert again.unchanged == ("m1", "m2") and written == []
    changed = fleet.join("m1", labels={"env": "test"})
    assert changed.changed == ("m1",)
    assert recorded_members(fleet.records)["m1"].cluster.metadata.labels == {"env": "test"}


def test_join_in_check_mode_writes_nothing(fleet: Fleet) -> None:
    with fleet.writing() as written:
        assert fleet.join("m1", write=False).joined == ("m1",)
    assert written == [] and names_of(fleet) == []


def test_one_member_that_cannot_be_reached_lets_none_join(fleet: Fleet) -> None:
    fleet.cut("m2")
    with fleet.writing() as written, pytest.raises(FleetError) as caught:
        fleet.join("m1", "m2")
    assert [each.code for each in caught.value.problems] == ["unreachable"] and "m2" in str(caught.value)
    assert written == [] and names_of(fleet) == []


def test_a_member_joins_by_a_secret_on_the_hub(hub_fleet: Fleet) -> None:
    assert hub_fleet.hub is not None
    content = base64.b64encode(hub_fleet.kubeconfig("m1").read_bytes()).decode()
    metadata = {"name": f"m1-{hub_fleet.number}", "namespace": "default"}
    hub_fleet.hub.client.post("/api/v1/namespaces/default/secrets", {"metadata": metadata, "data": {"k": content}})
    reference = {"secretRef": {"name": metadata["name"], "namespace": "default", "key": "k"}}
    wish = MemberSpec(name="m1", connection=reference)
    join(hub_fleet.session(holder="runner-1"), [wish], write=True)
    hub_fleet.place()
    assert not hub_fleet.apply().problems and hub_fleet.holders() == ["m1"]


def test_facts_of_members_are_recorded_and_one_dead_member_keeps_its_own(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    members = recorded_members(fleet.records)

    def read() -> dict[str, str]:
        known = recorded_members(fleet.records)
        with Clients(members={name: each.fleet for name, each in known.items()}) as clients:
            reading = read_fleet(known, clients, fleet.now, pods=True)
        record_facts(fleet.records, reading)
        return {name: error.code for name, error in reading.failed.items()}

    assert set(members) == {"m1", "m2"} and read() == {}
    before = recorded_members(fleet.records)["m2"].cluster.status
    fleet.cut("m2")
    assert read() == {"m2": "unreachable"}
    after = recorded_members(fleet.records)["m2"].cluster.status
    assert after.properties == before.properties and after.resource_usage == before.resource_usage
    agent = after.agent_status[0]
    assert agent.last_received_heartbeat == before.agent_status[0].last_received_heartbeat
    assert [getattr(find_condition(agent.conditions, each), "status", "") for each in ("Joined", "Healthy")] == [
        "True",
        "False",
    ]


def test_a_member_leaves_and_keeps_what_was_placed_without_our_marks(fleet: Fleet) -> None:
    placed_on_three(fleet)
    with fleet.writing() as written:
        assert let_go(fleet, "m3", write=False).left == ("m3",)
    assert written == []
    assert let_go(fleet, "m3").left == ("m3",)
    assert names_of(fleet) == ["m1", "m2"] and fleet.holders() == ["m1", "m2"]
    server = fleet.servers["m3"]
    settings = fleet.namespaced("configmaps", "settings")
    assert server.data(settings) == {"color": "blue"} and server.get(f"{PARENTS}/{fleet.name}") is None
    assert not fleet.is_ours("m3", fleet.namespaced())
    assert changes(fleet.apply(), fleet.name) == {"m1": "kept", "m2": "kept"}
    assert not fleet.apply().changed
    with fleet.writing() as written:
        assert let_go(fleet, "m3").left == ()
    assert written == []


def test_a_member_leaves_and_what_was_placed_is_removed(fleet: Fleet) -> None:
    placed_on_three(fleet)
    server = fleet.servers["m3"]
    server.client.post(fleet.namespaced("configmaps"), fleet.configmap("foreign"))
    assert let_go(fleet, "m3", remove=True).left == ("m3",)
    assert server.get(fleet.namespaced("configmaps", "settings")) is None
    assert server.get(fleet.namespaced("configmaps", "foreign"))
    ours = server.get(OURS)
    assert ours is None or ours["metadata"].get("deletionTimestamp")


def test_removing_from_two_of_three_members_is_braked(fleet: Fleet) -> None:
    placed_on_three(fleet)
    assert refused(fleet, "m2", "m3", remove=True).code == "brake-max-removals"
    assert let_go(fleet, "m2", "m3", remove=True, max_removals=2).left == ("m2", "m3")
    assert fleet.holders() == ["m1"]


def test_a_member_that_is_away_leaves_only_if_that_is_said(fleet: Fleet) -> None:
    placed_on_three(fleet)
    fleet.cut("m3")
    error = refused(fleet, "m3")
    assert error.code == "unreachable" and "forget_unreachable" in error.problems[0].hint
    gone = let_go(fleet, "m3", forget_unreachable=True)
    assert gone.left == ("m3",) and gone.unreachable == ("m3",)
    assert names_of(fleet) == ["m1", "m2"]
    assert fleet.holders() == list(THREE)  # what is there stays
    assert not fleet.apply().problems
