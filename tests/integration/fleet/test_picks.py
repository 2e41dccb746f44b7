# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which members get a placement over several applies: decisions stick until the policy itself changes."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from small_fleet import Document, Fleet, Server, changes


def pick(number: int, affinity: Document | None = None) -> Document:
    policy: Document = {"placementType": "PickN", "numberOfClusters": number}
    return policy | ({"affinity": {"clusterAffinity": affinity}} if affinity else {})


def required(**labels: str) -> Document:
    terms = [{"labelSelector": {"matchLabels": labels}}]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms}}


def test_scaling_up_keeps_those_that_hold_it(fleet: Fleet) -> None:
    fleet.join("m1", "m2", "m3", "m4")
    fleet.place(pick(2))
    fleet.apply()
    two = set(fleet.holders())
    fleet.place(pick(3))
    grown = fleet.apply()
    three = set(fleet.holders())
    assert len(three) == 3 and two < three
    assert {name: what for name, what in changes(grown, fleet.name).items() if what != "kept"} == {
        (three - two).pop(): "gained"
    }


def test_scaling_down_by_one_is_never_braked(fleet: Fleet) -> None:
    fleet.join("m1", "m2", "m3")
    fleet.place(pick(3))
    fleet.apply()
    fleet.place(pick(2))
    shrunk = fleet.apply()
    assert sorted(changes(shrunk, fleet.name).values()) == ["kept", "kept", "lost"]
    assert len(fleet.holders()) == 2 and len(fleet.records.list("ClusterResourceBinding")) == 2


def test_scaling_down_by_two_of_three_is_braked_and_writes_nothing(fleet: Fleet) -> None:
    fleet.join("m1", "m2", "m3")
    fleet.place(pick(3))
    fleet.apply()
    fleet.place(pick(1))
    with fleet.writing() as written, pytest.raises(FleetError) as stopped:
        fleet.apply()
    assert stopped.value.code == "brake-max-removals" and "2 of 3" in str(stopped.value)
    assert "max_removals: 2" in stopped.value.problems[0].hint
    assert written == [] and len(fleet.holders()) == 3


def test_an_edited_policy_judges_the_holders_anew(fleet: Fleet) -> None:
    fleet.join("m1", "m2", labels={"env": "prod"})
    fleet.join("m3", labels={"env": "test"})
    fleet.place(pick(1, required(env="prod")))
    fleet.apply()
    assert fleet.holders() in (["m1"], ["m2"])
    fleet.place(pick(1, required(env="test")))
    moved = fleet.apply()
    assert fleet.holders() == ["m3"]
    lost = [each for each in moved.plan.plans[0].clusters if each.change == "lost"]
    assert [each.cause for each in lost] == ["policy-changed"]


def test_a_changed_label_alone_moves_nothing(fleet: Fleet) -> None:
    """IgnoredDuringExecution: a holder stays until the policy is edited, and the plan says that it would not be."""
    fleet.join("m1", labels={"env": "prod"})
    fleet.place(pick(1, required(env="prod")))
    fleet.apply()
    fleet.join("m1", labels={"env": "test"})
    stays = fleet.apply()
    assert fleet.holders() == ["m1"] and not stays.changed
    assert "would-not-be-picked" in {each.code for each in stays.plan.plans[0].findings}


def test_pick_all_takes_a_new_member_in(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    fleet.apply()
    fleet.join("m3")
    assert changes(fleet.apply(), fleet.name) == {"m1": "kept", "m2": "kept", "m3": "gained"}
    assert fleet.holders() == ["m1", "m2", "m3"]


def test_pick_fixed_that_names_no_member_says_so(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place({"placementType": "PickFixed", "clusterNames": ["m2", "m9"]})
    report = fleet.apply()
    assert fleet.holders() == ["m2"]
    scheduled = report.statuses[fleet.name].conditions[0]
    assert (scheduled.status, scheduled.reason) == ("False", "SchedulingPolicyUnfulfilled")


@pytest.fixture
def nodes(servers: dict[str, Server]) -> t.Iterator[dict[str, int]]:
    """Nodes by member, made by hand: profile ``api`` has none."""
    counts = {"m1": 1, "m2": 3, "m3": 2}
    made = [(servers[name], f"{name}-node-{number}") for name, count in counts.items() for number in range(count)]
    for server, name in made:
        server.client.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    yield counts
    for server, name in made:
        server.client.delete(f"/api/v1/nodes/{name}")


def test_pick_n_by_a_property_of_the_members(file_fleet: Fleet, nodes: dict[str, int]) -> None:
    file_fleet.join(*nodes)
    sorter = {"name": "kubernetes-fleet.io/node-count", "sortOrder": "Descending"}
    preference = {"preference": {"propertySorter": sorter}, "weight": 100}
    file_fleet.place(pick(2, {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}))
    report = file_fleet.apply()
    assert file_fleet.holders() == ["m2", "m3"]
    scores = {each.cluster: each.affinity_score for each in report.plan.plans[0].clusters}
    assert scores["m2"] == 100 and 0 < (scores["m3"] or 0) < 100
    assert [each.cluster for each in report.plan.plans[0].left_out] == ["m1"]
