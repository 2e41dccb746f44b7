# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Facts files that lack members, or that nobody can have captured: a snapshot never removes anything."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from datetime import timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import (
    FactsSnapshot,
    write_snapshot,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import facts_file
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.leave import LeaveRequest, leave
from small_fleet import Fleet, changes

TWO = {"placementType": "PickN", "numberOfClusters": 2}
FREE = BrakeLimits(max_removals="100%", allow_empty=True)


def without(facts: FactsSnapshot, *names: str) -> FactsSnapshot:
    kept = tuple(each for each in facts.members if each.name not in names)
    return replace(facts, members=kept, nodes={n: rows for n, rows in facts.nodes.items() if n not in names})


def codes_of(report: t.Any) -> dict[str, str]:
    return {each.code: each.message for each in report.plan.findings}


@pytest.mark.parametrize("policy", [None, TWO], ids=["PickAll", "PickN"])
def test_a_member_that_the_facts_lack_keeps_what_it_has(fleet: Fleet, policy: dict[str, t.Any] | None) -> None:
    fleet.join("m1", "m2")
    fleet.place(policy)
    fleet.apply()
    fleet.join("m3")
    facts = without(fleet.facts(), "m2")
    report = fleet.apply(facts=facts, limits=FREE)
    assert changes(report, fleet.name)["m2"] == "kept" and not report.problems
    assert "m2" in codes_of(report)["not-in-facts"]
    assert {"m1", "m2"} <= set(fleet.holders())
    bound = {each["spec"]["targetCluster"] for each in fleet.records.list("ClusterResourceBinding")}
    assert {"m1", "m2"} <= bound


def test_a_changed_policy_does_not_drop_it_either(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1", "m2", labels={"env": "prod"})
    fleet.place(TWO)
    fleet.apply()
    term = {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"env": "prod"}}}]}
    affinity = {"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
    fleet.place({**TWO, "affinity": affinity})
    report = fleet.apply(facts=without(fleet.facts(), "m2"), limits=FREE)
    assert changes(report, fleet.name) == {"m1": "kept", "m2": "kept"} and fleet.holders() == ["m1", "m2"]


def test_it_gets_nothing_new(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1", "m2")
    fleet.place()
    assert changes(fleet.apply(facts=without(fleet.facts(), "m2")), fleet.name) == {"m1": "gained"}
    assert fleet.holders() == ["m1"]


def test_facts_without_any_member_end_nothing(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place()
    fleet.apply()
    report = fleet.apply(facts=without(fleet.facts(), "m1", "m2"), limits=FREE)
    assert changes(report, fleet.name) == {"m1": "kept", "m2": "kept"} and fleet.holders() == ["m1", "m2"]


def test_a_placement_that_ends_is_removed_from_it_too(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1", "m2")
    fleet.place()
    fleet.apply()
    report = fleet.end(facts=without(fleet.facts(), "m2"), limits=FREE)
    assert changes(report, fleet.name) == {"m1": "lost", "m2": "lost"} and fleet.holders() == []


def test_a_cluster_that_is_no_member_gets_nothing_and_is_told(fleet: Fleet) -> None:
    """It left after the facts were captured."""
    fleet.join("m1", "m2")
    facts = fleet.facts()
    leave(fleet.session(), LeaveRequest(names=("m2",)), write=True)
    fleet.place()
    for write in (False, True):
        report = fleet.run(write=write, facts=facts)
        assert changes(report, fleet.name) == {"m1": "gained"}
        assert "m2" in codes_of(report)["not-recorded"]
    assert fleet.holders() == ["m1"]


def test_nothing_is_applied_on_facts_alone(file_fleet: Fleet) -> None:
    """Without records nobody knows what is placed; a plan says so, an apply is refused."""
    fleet = file_fleet
    fleet.join("m1")
    facts = fleet.facts()
    leave(fleet.session(hub=None), LeaveRequest(names=("m1",)), write=True)
    fleet.place()
    assert "no-members-recorded" in codes_of(fleet.look(facts=facts, look=False))
    with pytest.raises(FleetError) as refused:
        fleet.apply(facts=facts)
    assert refused.value.code == "no-members"


def written(fleet: Fleet, **changes_to: t.Any) -> str:
    document = json.loads(json.dumps(write_snapshot(fleet.facts())))
    for key, change in changes_to.items():
        document[key] = change(document[key])
    path = fleet.folder / "facts.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def renamed(name: str) -> t.Callable[[list[t.Any]], list[t.Any]]:
    return lambda members: [*members, {**members[0], "metadata": {"name": name}}]


def test_every_fault_of_a_facts_file_is_told_at_once(file_fleet: Fleet) -> None:
    fleet = file_fleet
    fleet.join("m1")
    now = fleet.now
    later = (now + timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    odd = ("m1", "../../etc/passwd", "M1", "x" * 300, "", "a_b")
    path = written(
        fleet,
        members=lambda members: [
            *members,
            *({**members[0], "metadata": {"name": name}} for name in odd),
        ],
        capturedAt=lambda _old: later,
        nodes=lambda nodes: {**nodes, "stranger": []},
    )
    with pytest.raises(FleetError) as refused:
        facts_file(path, now)
    text = str(refused.value)
    assert {each.code for each in refused.value.problems} == {"facts-invalid"}
    assert "m1 stands there 2 times" in text and "3600 s ahead" in text and "'stranger'" in text
    assert [name for name in odd[1:] if repr(name) not in text] == []


def test_clocks_may_differ_a_little(file_fleet: Fleet) -> None:
    file_fleet.join("m1")
    path = written(file_fleet)
    assert facts_file(path, file_fleet.now - timedelta(minutes=4)).members
    with pytest.raises(FleetError):
        facts_file(path, file_fleet.now - timedelta(minutes=6))


def test_a_key_that_stands_twice_is_refused(file_fleet: Fleet) -> None:
    """Of two lists of members a reader would take the second."""
    file_fleet.join("m1")
    path = written(file_fleet)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            text.replace('"schema"', '"members": [], "schema"', 1).replace(
                '"capturedAt"', '"members": [], "capturedAt"'
            )
        )
    with pytest.raises(FleetError) as refused:
        facts_file(path, file_fleet.now)
    assert "'members' stands twice" in str(refused.value)
