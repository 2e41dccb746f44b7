# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whatever a member answers is read, or is an error that says what is wrong: nothing of ours falls over."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.rollout_strategy import (
    ApplyStrategy,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.meta import ObjectMeta
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.facts import FleetReading, read_fleet
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.members import Member
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.member_apply import (
    MemberTask,
    run_on_member,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.observe import applysets_on
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.showing import plain_json
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import who_am_i
from ansible_collections.gitops.fleet.plugins.module_utils._kube.discovery import resource_for
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError, from_status
from ansible_collections.gitops.fleet.plugins.module_utils._kube.lists import list_objects
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.random_json import any_json, gone_wrong
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import (
    GROUP,
    SET,
    Answering,
    OneClient,
    desired,
    listing,
    objects,
    state,
)
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2026, 1, 16, tzinfo=UTC)
STRATEGIES = (
    ApplyStrategy(),
    ApplyStrategy(type="ReportDiff"),
    ApplyStrategy(when_to_take_over="IfNoDiff", when_to_apply="IfNotDrifted"),
)


def disturbed(good: t.Mapping[str, t.Any]) -> st.SearchStrategy[dict[str, t.Any]]:
    """The answers of a member, one of which went wrong somewhere."""

    def wrong(path: str) -> st.SearchStrategy[dict[str, t.Any]]:
        found = gone_wrong(good[path], 3) | any_json()
        return found.map(lambda one: {**good, path: one})

    return st.sampled_from(sorted(good)).flatmap(wrong)


def facts(documents: t.Mapping[str, t.Any]) -> FleetReading:
    member = Member(
        cluster=MemberCluster(metadata=ObjectMeta(name="m1")), fleet=decode(FleetMember, {"metadata": {"name": "m1"}})
    )
    return read_fleet({"m1": member}, OneClient(Answering(documents)), NOW, pods=True)


def unwanted() -> t.NoReturn:
    raise AssertionError("who only looks needs no lease")


def look(documents: t.Mapping[str, t.Any], strategy: ApplyStrategy) -> MemberOutcome:
    wanted = tuple(
        Rendered(id=identify(manifest), manifest=manifest, hash=f"h{number}")
        for number, manifest in enumerate(desired())
    )
    task = MemberTask(cluster="m1", identity=SET, desired=wanted, strategy=strategy)
    return run_on_member(Answering(documents), task, unwanted)


def test_good_answers_are_read() -> None:
    reading = facts(state())
    assert not reading.problems and reading.snapshot.nodes["m1"][0].pool == "big"
    assert {step.action for step in look(objects(), ApplyStrategy()).steps} == {"update"}
    assert all(step.diffs for step in look(objects(), ApplyStrategy(type="ReportDiff")).steps)


@given(disturbed(state()))
def test_facts(documents: dict[str, t.Any]) -> None:
    for problem in facts(documents).problems:
        assert problem.code != "member-fault" and "member-fault" not in problem.message, problem


@given(disturbed(objects()), st.sampled_from(STRATEGIES))
def test_a_look(documents: dict[str, t.Any], strategy: ApplyStrategy) -> None:
    try:
        found = look(documents, strategy)
    except FleetError:
        return
    json.dumps(plain_json(found.as_dict()))


PARENT = "/api/v1/namespaces/gitops-fleet/configmaps"


@given(gone_wrong(objects()[f"{PARENT}/web"], 4))
def test_applysets_of_a_member(parent: t.Any) -> None:
    try:
        found = applysets_on(Answering({PARENT: listing("ConfigMap", [parent])}))
    except FleetError:
        return
    for each in found:
        assert each.placement and all(str(held.id).isprintable() for held in each.inventory)


@given(gone_wrong(objects()[f"{PARENT}/web"]["data"]["inventory"], 1) | any_json(5).map(json.dumps))
def test_inventories(inventory: t.Any) -> None:
    parent = objects()[f"{PARENT}/web"]
    parent["data"]["inventory"] = inventory
    try:
        applysets_on(Answering({PARENT: listing("ConfigMap", [parent])}))
    except FleetError as error:
        assert error.code in ("applyset-invalid", "bad-answer")


@given(gone_wrong({"kind": "APIGroupDiscoveryList", "items": [GROUP]}, 3) | any_json())
def test_discovery(document: t.Any) -> None:
    client = Answering({"/apis": document})
    try:
        resource_for(client, "example.org/v1", "Web")
    except ApiError as error:
        assert error.code in ("bad-answer", "unknown-kind", "server-error")


@given(gone_wrong(listing("Pod", [{"metadata": {"name": "a"}}]), 3) | any_json())
def test_lists(document: t.Any) -> None:
    try:
        found = list(list_objects(Answering({"/api/v1/pods": document}), "/api/v1/pods"))
    except ApiError as error:
        assert error.code in ("bad-answer", "too-large")
    else:
        assert all(each["metadata"]["name"] for each in found)


REVIEW = {"status": {"userInfo": {"username": "a", "groups": ["b"], "uid": "c"}}}


@given(gone_wrong(REVIEW, 2) | any_json())
def test_reviews(document: t.Any) -> None:
    try:
        who_am_i(Answering({"/apis/authentication.k8s.io/v1/selfsubjectreviews": document}))
    except ApiError as error:
        assert error.code == "bad-answer"


CAUSE = {"reason": "FieldManagerConflict", "field": ".data.a", "message": 'conflict with "b" using v1'}
STATUS = {"kind": "Status", "reason": "Conflict", "message": "m", "details": {"name": "n", "causes": [CAUSE]}}
SECRET = {"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "b"}}


@given(gone_wrong(STATUS, 3) | any_json(), st.integers(300, 599), gone_wrong(SECRET) | any_json())
def test_refusals(document: t.Any, status: int, body: t.Any) -> None:
    error = from_status(status, document if isinstance(document, dict) else None, "PUT /x", "m1", body)
    assert error.conflicts is not None and str(error).isprintable() | ("\n  | " in str(error))


@pytest.mark.parametrize(
    "document", [{}, {"kind": "Status"}, {"kind": "Status", "details": [], "message": 1, "reason": {}}]
)
def test_a_status_without_content(document: t.Any) -> None:
    assert from_status(422, document, "PUT /x", "m1", SECRET).code in ("invalid", "bad-answer")
