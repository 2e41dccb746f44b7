# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A facts snapshot carries what the fleet holds: a plan from it and no records is the plan that records give."""

from __future__ import annotations

import base64
import json
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.prices import NO_PRICES
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.facts.snapshot import FactsSnapshot
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import PlacementPlan
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.files import facts_file
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.capture import capture
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report, run
from ansible_collections.gitops.fleet.plugins.module_utils._store.open_records import open_records
from small_fleet import Document, Fleet

THREE = {"m1": {"tier": "gold"}, "m2": {"tier": "gold"}, "m3": {"tier": "tin"}}
CANARY = "canary-77aa-in-an-object"


def of_tier(tier: str, number: int = 2) -> Document:
    terms = [{"labelSelector": {"matchLabels": {"tier": tier}}}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms}}
    return {"placementType": "PickN", "numberOfClusters": number, "affinity": {"clusterAffinity": required}}


@pytest.fixture
def placed(fleet: Fleet) -> Fleet:
    """On two of three members, from a folder."""
    for name, labels in THREE.items():
        fleet.join(name, labels=labels)
    fleet.resources(fleet.configmap(), fleet.configmap("old", text=CANARY))
    fleet.place(of_tier("gold"))
    fleet.apply()
    return fleet


def captured(fleet: Fleet) -> FactsSnapshot:
    """As ``facts`` writes them to a file, and a plan reads them from there."""
    found = capture(fleet.session(), pods=False, prices=NO_PRICES, threads=4, timeout=5.0, record=True)
    path = fleet.folder / "facts.json"
    path.write_text(found.text, encoding="utf-8")
    assert CANARY not in found.text and base64.b64encode(CANARY.encode()).decode() not in found.text
    return facts_file(str(path), fleet.now)


def alone(fleet: Fleet, facts: FactsSnapshot, **changes: t.Any) -> Report:
    """A plan in a folder without records, on another machine."""
    records = open_records({"type": "sqlite", "path": str(fleet.folder / "nothing.db")}, {}, lambda: fleet.now)
    try:
        asked = fleet.asked(facts=facts, look=False, **changes)
        return run(fleet.session(records, hub=None, holder="reviewer"), asked)
    finally:
        records.close()


def rows(plan: PlacementPlan) -> str:
    return json.dumps([each.as_dict() for each in plan.clusters])


def nothing(_fleet: Fleet) -> None:
    """The files are as they were applied."""


def another_policy(fleet: Fleet) -> None:
    fleet.place(of_tier("tin"))


def fewer(fleet: Fleet) -> None:
    fleet.place(of_tier("gold", 1))


def another_object(fleet: Fleet) -> None:
    fleet.resources(fleet.configmap(color="red"), fleet.configmap("new"))


def only_the_spec(fleet: Fleet) -> None:
    fleet.place(of_tier("gold"), {"type": "ServerSideApply", "whenToApply": "IfNotDrifted"})


def no_file(fleet: Fleet) -> None:
    fleet.unplace()
    fleet.place(of_tier("gold"), name=f"{fleet.name}-other")


@pytest.mark.parametrize("edit", [nothing, another_policy, fewer, another_object, only_the_spec, no_file])
def test_a_plan_without_records_is_the_plan_with_them(placed: Fleet, edit: t.Callable[[Fleet], None]) -> None:
    """What a pull request shows is what the apply will do: gains, losses, deletions, byte for byte."""
    fleet = placed
    facts = captured(fleet)
    edit(fleet)
    told, known = alone(fleet, facts), fleet.look(facts=facts, look=False)
    assert told.plan.digest == known.plan.digest and told.plan.facts_digest == known.plan.facts_digest
    assert [rows(each) for each in told.plan.plans] == [rows(each) for each in known.plan.plans]
    assert {each.cluster for each in told.plan.plans[0].clusters} >= {"m1", "m2"}
    codes = [each.code for each in told.plan.findings]
    assert "placed-as-in-facts" in codes and not {"nothing-recorded", "no-members-recorded"} & set(codes)


def test_what_was_approved_without_records_is_applied_with_them(placed: Fleet) -> None:
    facts = captured(placed)
    another_policy(placed)
    limits = BrakeLimits(max_removals="100%")
    approved = alone(placed, facts, limits=limits).plan.digest
    report = placed.apply(facts=facts, approved=approved, limits=limits)
    assert placed.holders() == ["m3"] and report.changed


def test_the_end_of_a_placement_is_planned_without_records(placed: Fleet) -> None:
    facts = captured(placed)
    asked = {"absent": True, "names": (placed.name,)}
    told, known = alone(placed, facts, **asked), placed.look(facts=facts, look=False, **asked)
    assert told.plan.digest == known.plan.digest and [each.deleting for each in told.plan.plans] == [True]


def test_facts_of_records_that_cannot_be_read_wholly_say_so(file_fleet: Fleet) -> None:
    """F3: not knowing what is placed is told, and is not the same as nothing being placed."""
    fleet = file_fleet
    fleet.join("m1")
    fleet.place()
    fleet.apply()
    (snapshot,) = fleet.records.list("ClusterResourceSnapshot")
    fleet.records.replace({**snapshot, "spec": {"selectedResources": ["damaged"]}})
    found = capture(fleet.session(), pods=False, prices=NO_PRICES, threads=4, timeout=5.0, record=True)
    assert found.reading.snapshot.held is None and [each.code for each in found.notes] == ["records-damaged"]
    told = alone(fleet, found.reading.snapshot)
    assert "nothing-recorded" in [each.code for each in told.plan.findings]


def test_a_label_that_was_renamed_since_is_told_and_the_facts_count(placed: Fleet) -> None:
    facts = captured(placed)
    for name, labels in THREE.items():
        placed.join(name, labels={"class": labels["tier"]})
    report = placed.look(facts=facts, look=False)
    (told,) = [each for each in report.plan.findings if each.code == "labels-differ"]
    for name in THREE:
        assert f"{name} metadata.labels[tier]" in told.message and f"{name} metadata.labels[class]" in told.message
    assert {each.cluster: each.change for each in report.plan.plans[0].clusters} == {"m1": "kept", "m2": "kept"}
