# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Approval by digest over a facts snapshot, and Secrets, of which nothing is told anywhere (fault F23)."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import encode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.placement import Report
from ansible_collections.gitops.fleet.plugins.module_utils._report.markdown import plans_markdown
from ansible_collections.gitops.fleet.plugins.module_utils._report.text import plan_text
from ansible_collections.gitops.fleet.plugins.module_utils._store.kinds import KINDS
from small_fleet import Document, Fleet, codes

TWO = {"placementType": "PickN", "numberOfClusters": 2}
CANARY, NEW_CANARY = "canary-f3c1-in-a-secret", "canary-9d20-in-a-secret"


def test_what_was_approved_is_applied_though_the_fleet_went_on(fleet: Fleet) -> None:
    fleet.join("m1", "m2", "m3")
    fleet.place(TWO)
    facts = fleet.facts()
    approved = fleet.look(facts=facts, look=False)
    fleet.later = timedelta(hours=2)
    fleet.join("m4")
    shown = plan_text(approved.plan.plans[0])[0].rsplit(" ", 1)[-1]
    with pytest.raises(FleetError, match="needs 12 at least"):
        fleet.apply(facts=facts, approved=shown[:11])
    report = fleet.apply(facts=facts, approved=shown)
    assert report.plan.digest == approved.plan.digest and not report.problems
    assert fleet.holders() == sorted(each.cluster for each in approved.plan.plans[0].clusters)


def test_another_plan_than_the_approved_one_is_refused(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place(TWO)
    facts = fleet.facts()
    approved = fleet.look(facts=facts, look=False).plan.digest
    fleet.resources(fleet.configmap(color="red"))
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply(facts=facts, approved=approved)
    assert refused.value.code == "digest-mismatch" and approved[:16] in str(refused.value)
    assert written == [] and fleet.record() is None


def test_an_approved_member_that_is_away_is_named_and_nothing_is_written(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place(TWO)
    facts = fleet.facts()
    approved = fleet.look(facts=facts, look=False).plan.digest
    fleet.cut("m2")
    with fleet.writing() as written, pytest.raises(FleetError) as refused:
        fleet.apply(facts=facts, approved=approved)
    assert [(each.code, each.where) for each in refused.value.problems] == [("became-ineligible", "m2")]
    assert written == []


def test_an_approved_change_goes_on_without_a_member_that_is_away_and_holds_the_placement(fleet: Fleet) -> None:
    """It is picked whatever it says; who is away when its turn comes waits, as without an approval."""
    fleet.join("m1", "m2")
    fleet.place(TWO)
    fleet.apply()
    facts = fleet.facts()
    fleet.resources(fleet.configmap(color="red"))
    approved = fleet.look(facts=facts, look=False).plan.digest
    fleet.cut("m2")
    report = fleet.apply(facts=facts, approved=approved)
    assert report.plan.digest == approved and report.outcomes[fleet.name]["m1"].error is None
    error = report.outcomes[fleet.name]["m2"].error
    assert error is not None and error.code == "unreachable"


def test_a_plan_of_files_and_facts_needs_no_member(fleet: Fleet) -> None:
    fleet.join("m1", "m2")
    fleet.place(TWO)
    facts = fleet.facts()
    fleet.cut("m1", "m2")
    assert [each.change for each in fleet.look(facts=facts, look=False).plan.plans[0].clusters] == ["gained", "gained"]


def secret(fleet: Fleet, value: str) -> Document:
    data = {"password": base64.b64encode(value.encode()).decode()}
    metadata = {"name": "login", "namespace": fleet.namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def told(fleet: Fleet, report: Report) -> str:
    """Everything that this run gives out."""
    parts = [repr(report.problems), json.dumps(report.plan.as_dict())]
    parts += [line for plan in report.plan.plans for line in plan_text(plan, report.outcomes_of(plan.name))]
    parts += [plans_markdown(report.plan.plans, report.plan.digest, report.plan.facts_digest)]
    parts += [json.dumps(each.as_dict()) for each in report.outcomes_of(fleet.name).values()]
    parts += [json.dumps(encode(each)) for each in report.statuses.values()]
    return "\n".join([*parts, *fleet.said])


def kept(fleet: Fleet) -> str:
    """Everything that the records hold: every byte of the file, or every object and event on the hub."""
    if fleet.hub is None:
        files = Path(str(fleet.options["path"])).parent.glob("records.db*")
        return "\n".join(each.read_bytes().decode("latin-1") for each in files)
    paths = [each.path() for each in KINDS.values()] + ["/api/v1/namespaces/default/events"]
    return "\n".join(json.dumps(fleet.hub.client.get(each)) for each in paths)


def assert_silent(text: str) -> None:
    for value in (CANARY, NEW_CANARY):
        for form in (value, base64.b64encode(value.encode()).decode()):
            assert form not in text


def test_nothing_of_a_secret_is_told_or_kept(fleet: Fleet) -> None:
    fleet.join("m1")
    fleet.place()
    fleet.resources(fleet.configmap(), secret(fleet, CANARY))
    path = fleet.namespaced("secrets", "login")
    assert_silent(told(fleet, fleet.look()) + told(fleet, fleet.apply()) + kept(fleet))
    server = fleet.servers["m1"]
    assert (server.data(path) or {})["password"] == base64.b64encode(CANARY.encode()).decode()
    parent = server.get(f"/api/v1/namespaces/gitops-fleet/configmaps/{fleet.name}")
    assert_silent(json.dumps(parent))

    server.patch(path, {"data": {"password": base64.b64encode(NEW_CANARY.encode()).decode()}})
    looked = fleet.look()
    assert looked.changed and [each.id.name for each in looked.outcomes_of(fleet.name)["m1"].drifted] == ["login"]
    assert_silent(told(fleet, looked))
    fleet.resources(fleet.configmap(), secret(fleet, NEW_CANARY))
    assert_silent(told(fleet, fleet.look()) + told(fleet, fleet.apply()) + kept(fleet))
    assert not fleet.apply().changed


def test_nothing_of_a_secret_is_told_when_it_is_refused(fleet: Fleet) -> None:
    fleet.join("m1")
    broken = secret(fleet, CANARY)
    broken["data"]["bad key!"] = base64.b64encode(NEW_CANARY.encode()).decode()
    fleet.place()
    fleet.resources(fleet.configmap(), broken)
    report = fleet.apply()
    assert codes(report) == {"not-applied"} and "login" in str(report.problems)
    assert_silent(told(fleet, report) + kept(fleet))
    broken["data"] = {"password": CANARY}  # not base64: the server cannot read it, and quotes what it was sent
    fleet.resources(fleet.configmap(), broken)
    try:
        assert_silent(told(fleet, fleet.apply()) + kept(fleet))
    except FleetError as error:
        assert_silent(str(error) + repr(error))
    fleet.place(strategy={"whenToTakeOver": "IfNoDiff"}, name=f"{fleet.name}-b")
    fleet.resources(fleet.configmap(), secret(fleet, NEW_CANARY))
    fleet.servers["m1"].client.post(fleet.namespaced("secrets"), secret(fleet, CANARY))
    assert_silent(told(fleet, fleet.apply()) + kept(fleet))
