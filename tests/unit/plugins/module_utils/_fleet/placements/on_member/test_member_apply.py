# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How often a member is looked at, and when it is held. What is written there is the business of integration tests."""

from __future__ import annotations

import contextlib
import json
import pickle
import time
import typing as t
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.rollout_strategy import (
    ApplyStrategy,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.document import Rendered
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.outcome import MemberOutcome
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import (
    PART_OF_LABEL,
    ApplySet,
    InventoryEntry,
    parent_manifest,
    read_parent,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member import member_apply
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.holding import identity_with
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.member_apply import (
    MemberTask,
    Seen,
    run_on_member,
)
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.observe import Observed, observe
from ansible_collections.gitops.fleet.plugins.module_utils._kube.answers import Answer
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import Answering

MANIFEST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
LIVE = {**MANIFEST, "metadata": {**MANIFEST["metadata"], "resourceVersion": "7", "uid": "u", "labels": {}}}


def rendered(manifest: dict[str, t.Any]) -> Rendered:
    return Rendered(id=identify(manifest), manifest=manifest, hash="new")


DESIRED = (rendered(MANIFEST),)
IDENTITY = ApplySet(
    placement="web",
    uid="uid",
    generation=1,
    policy_snapshot="web-0",
    policy_hash="p",
    resource_snapshot="web-0-snapshot",
    resource_hash="r",
)
RECORDED = ApplySet(**{**vars(IDENTITY), "inventory": (InventoryEntry(id=DESIRED[0].id, hash="old"),)})
THERE = Observed(recorded=RECORDED, version="5", live={DESIRED[0].id.key: LIVE})
GONE = Observed(recorded=RECORDED, version="5", live={})
EMPTY = Observed(recorded=None)


class Member:
    """A member that shows one thing after the other, and tells what is done there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *shows: Observed, parent: str = "5") -> None:
        self.done: list[str] = []
        self._shows = list(shows)
        self._parent = parent
        for name in ("observe", "parent_version", "_write_steps"):
            monkeypatch.setattr(member_apply, name, getattr(self, name.strip("_")))

    def observe(self, *_arguments: t.Any) -> Observed:
        self.done.append("look")
        return self._shows.pop(0)

    def parent_version(self, *_arguments: t.Any) -> str:
        self.done.append("parent")
        return self._parent

    def write_steps(self, _client: t.Any, task: MemberTask, seen: Seen) -> MemberOutcome:
        self.done.append(f"write on {seen.observed.version or 'nothing'}")
        return MemberOutcome(cluster=task.cluster, done=True)

    @contextlib.contextmanager
    def holding(self) -> Iterator[t.Callable[[], None]]:
        self.done.append("hold")
        yield lambda: None
        self.done.append("free")

    def run(self, **changes: t.Any) -> tuple[MemberOutcome, MemberTask]:
        asked: dict[str, t.Any] = {"cluster": "m1", "identity": IDENTITY, "desired": DESIRED, "write": True, **changes}
        task = MemberTask(**asked)
        client = KubeClient(Connection("https://m1.example:6443", name="m1"))
        return run_on_member(client, task, self.holding), task


def test_what_is_surely_new_is_held_at_once_and_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(monkeypatch, EMPTY)
    member.run(due=True)
    assert member.done == ["hold", "look", "write on nothing", "free"]


def test_what_was_seen_is_written_on_if_the_parent_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(monkeypatch, THERE)
    _outcome, looked = member.run(write=False)
    member.run(seen=looked.progress.seen)
    assert member.done == ["look", "hold", "parent", "write on 5", "free"]


def test_a_member_that_moved_meanwhile_is_looked_at_again_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """F6: another run was there between the look and the lease."""
    later = Observed(recorded=RECORDED, version="9", live=THERE.live)
    member = Member(monkeypatch, THERE, later, parent="9")
    member.run()
    assert member.done == ["look", "hold", "parent", "look", "write on 9", "free"]


@pytest.mark.parametrize("shows", [GONE, EMPTY], ids=["an object is not there", "the placement was never there"])
def test_what_was_not_there_is_looked_for_again_under_the_lease(
    monkeypatch: pytest.MonkeyPatch, shows: Observed
) -> None:
    """It has no resourceVersion to be written on, and another placement may have made it since."""
    member = Member(monkeypatch, shows, shows)
    member.run()
    assert [each for each in member.done if each != "parent"][:4] == [
        "look",
        "hold",
        "look",
        f"write on {shows.version or 'nothing'}",
    ]


def test_nothing_is_held_where_nothing_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(monkeypatch, THERE)
    outcome, _task = member.run(strategy=ApplyStrategy(type="ReportDiff"))
    assert member.done == ["look"] and outcome.done


@pytest.mark.parametrize(
    "more", [{}, {"spec": {}}, {"spec": "text"}, {"spec": {"group": ["example.org"]}}], ids=lambda each: str(each)
)
def test_a_definition_that_names_no_group_is_one_failed_object(more: dict[str, t.Any]) -> None:
    """F22: what the server refuses keeps nothing else from the member."""
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

    class Refusing(Answering):
        def send(self, method: str, path: str, *arguments: t.Any, **named: t.Any) -> Answer:
            if method == "PATCH" and path.startswith(crds):
                raise ApiError("invalid", "spec.group: Required value", "m1", status=422)
            return super().send(method, path, *arguments, **named)

    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **more}
    named = {**definition, "metadata": {"name": "webs.example.org"}}
    home = "/api/v1/namespaces/gitops-fleet/configmaps/web"
    there = {
        home: {**parent_manifest(RECORDED), "kind": "ConfigMap"},
        "/api/v1/namespaces/shop/configmaps/settings": LIVE,
    }
    there[home]["metadata"] |= {"uid": "u", "resourceVersion": "5"}
    task = MemberTask(cluster="m1", identity=IDENTITY, desired=(rendered(named), *DESIRED), write=True)
    outcome = run_on_member(Refusing(there), task, lambda: contextlib.nullcontext(lambda: None))
    assert [str(each.id) for each in outcome.failures] == [str(identify(named))] and outcome.done
    assert task.progress.written == [DESIRED[0].id]


def test_what_is_mirrored_of_a_member_is_fit_to_be_sent_and_shown() -> None:
    status = reduce(lambda inner, _time: {"in": inner}, range(600), dict[str, t.Any]())
    live = {**LIVE, "status": {"said": "\x1b[2J", "deep": status}}
    seen = Observed(recorded=RECORDED, version="5", live={DESIRED[0].id.key: live})
    with pytest.MonkeyPatch.context() as monkeypatch:
        outcome, _task = Member(monkeypatch, seen).run(write=False, mirrors=True)
    told = outcome.statuses[DESIRED[0].id]
    assert told["said"] == "\\x1b[2J" and len(pickle.dumps(told)) < 10_000


def test_nothing_is_looked_for_in_a_namespace_that_is_not_there() -> None:
    asked: list[str] = []

    class Empty(KubeClient):
        def get(self, path: str, query: t.Any = None) -> dict[str, t.Any]:
            asked.append(path.rpartition("/")[2])
            raise ApiError("not-found", "it is not there", "m1")

    found = observe(Empty(Connection("https://m1.example:6443", name="m1")), "web", "", (*DESIRED, rendered(SHOP)))
    assert asked == ["web", "shop"] and not found.live


@pytest.mark.parametrize("says", ["the plan", "the member"])
def test_an_author_s_own_objects_are_released_and_never_deleted(says: str) -> None:
    """A hub that is a member: what an eviction, a leave or a staged run takes away there was not made by us."""
    held = replace(RECORDED, originals=says == "the member")
    live = {**LIVE, "metadata": {**LIVE["metadata"], "labels": {PART_OF_LABEL: IDENTITY.id}}}
    parent = {**parent_manifest(held), "kind": "ConfigMap"}
    parent["metadata"] = {**parent["metadata"], "uid": "u", "resourceVersion": "5"}
    home = "/api/v1/namespaces/gitops-fleet/configmaps/web"
    client = Answering({home: parent, "/api/v1/namespaces/shop/configmaps/settings": live})
    task = MemberTask(cluster="m1", identity=replace(IDENTITY, originals=says == "the plan"), leaving=True)
    outcome = run_on_member(client, task, lambda: contextlib.nullcontext(lambda: None))
    assert [each.action for each in outcome.steps if each.id == DESIRED[0].id] == ["release"]


def test_what_the_member_says_of_originals_is_kept() -> None:
    """A run that does not know where they were selected, as a staged one, takes nothing back of it."""
    assert read_parent(parent_manifest(replace(RECORDED, originals=True))).originals
    assert not read_parent(parent_manifest(RECORDED)).originals
    assert identity_with(IDENTITY, Observed(recorded=replace(RECORDED, originals=True))).originals


APP = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}
OPERATOR = {**APP, "metadata": {"name": "operator", "namespace": "shop"}}
APPS = "/apis/apps/v1/namespaces/shop/deployments"


class Holding(Answering):
    """A member that holds objects of the placement, and what is done there in ``writes``; ``stuck`` is the path of what
    is not gone once it was deleted, ``refused`` of what cannot be applied."""

    def __init__(self, *objects: tuple[str, dict[str, t.Any]], stuck: str = "", refused: str = "") -> None:
        entries = tuple(InventoryEntry(id=identify(each), hash="old") for _path, each in objects)
        parent = {**parent_manifest(replace(RECORDED, inventory=entries)), "kind": "ConfigMap"}
        parent["metadata"] = {**parent["metadata"], "uid": "u", "resourceVersion": "5"}
        home = "/api/v1/namespaces/gitops-fleet/configmaps/web"
        super().__init__({home: parent, **{path: self._held(each) for path, each in objects}})
        self.stuck, self.refused = stuck, refused
        self.writes: list[str] = []

    def _held(self, each: dict[str, t.Any]) -> dict[str, t.Any]:
        labels = {PART_OF_LABEL: IDENTITY.id}
        return {**each, "metadata": {**each["metadata"], "uid": "u", "resourceVersion": "7", "labels": labels}}

    def send(self, method: str, path: str, *arguments: t.Any, **named: t.Any) -> Answer:
        path = path.partition("?")[0]
        if method == "GET":
            return super().send(method, path, *arguments, **named)
        if "gitops-fleet" not in path:
            self.writes.append(f"{method} {path.rpartition('/')[2]}")
        if method == "PATCH" and path == self.refused:
            raise ApiError("invalid", "exceeded quota", "m1", status=403)
        if method == "DELETE" and path != self.stuck:
            self.documents = {other: each for other, each in self.documents.items() if other != path}
        answer = self.documents.get(path) or self._held(APP)
        return Answer(200, "application/json", json.dumps(answer).encode())

    def apply(self, **changes: t.Any) -> MemberOutcome:
        task = MemberTask(cluster="m1", identity=IDENTITY, write=True, **changes)
        return run_on_member(self, task, lambda: contextlib.nullcontext(lambda: None))


def test_what_is_replaced_stays_as_long_as_its_replacement_is_refused() -> None:
    """A Deployment that is renamed: kubectl prunes nothing after an apply that failed, either."""
    web2 = {**APP, "metadata": {"name": "web2", "namespace": "shop"}}
    member = Holding((f"{APPS}/web", APP), refused=f"{APPS}/web2")
    outcome = member.apply(desired=(rendered(web2),))
    assert member.writes == ["PATCH web2"]
    assert {str(each.id): (each.reason, each.message) for each in outcome.failures} == {
        "Deployment shop/web2": ("ManifestApplyFailed", "exceeded quota"),
        "Deployment shop/web": (
            "NotGoneYet",
            "stays, as Deployment shop/web2 could not be applied; it is removed once that is",
        ),
    }
    member.refused = ""
    member.writes.clear()
    assert member.apply(desired=(rendered(web2),)).applied and member.writes == ["PATCH web2", "DELETE web"]


def test_what_is_replaced_stays_too_as_long_as_we_refuse_its_replacement() -> None:
    """Renamed back while the object of the former name is still being deleted, or to a name that another has."""
    web2 = {**APP, "metadata": {"name": "web2", "namespace": "shop"}}
    member = Holding((f"{APPS}/web", APP), (f"{APPS}/web2", web2))
    going = member.documents[f"{APPS}/web2"]["metadata"]
    going |= {"uid": "u-2", "deletionTimestamp": "2026-01-15T12:00:00Z"}
    outcome = member.apply(desired=(rendered(web2),))
    assert member.writes == [] and not outcome.applied
    assert [(str(each.id), each.reason) for each in outcome.failures] == [
        ("Deployment shop/web2", "NotGoneYet"),
        ("Deployment shop/web", "NotGoneYet"),
    ]
    member.documents = {path: each for path, each in member.documents.items() if path != f"{APPS}/web2"}
    assert member.apply(desired=(rendered(web2),)).applied and member.writes == ["PATCH web2", "DELETE web"]


def test_an_operator_stays_until_what_it_serves_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its finalizer is served by the operator alone, so that without it the object would be there for ever."""
    hours = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(hours))
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    last = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "served", "namespace": "shop"}}
    held = ((f"{APPS}/operator", OPERATOR), ("/api/v1/namespaces/shop/endpoints/served", last))
    member = Holding(*held, stuck=held[1][0])
    outcome = member.apply(leaving=True, patience=5.0)
    assert member.writes == ["DELETE served"]
    assert [str(each.id) for each in outcome.failures] == ["Endpoints shop/served", "Deployment shop/operator"]
    assert outcome.failures[1].message == "stays until Endpoints shop/served is gone, which may need it"
    member.stuck = ""
    member.writes.clear()
    assert member.apply(leaving=True, patience=5.0).applied and member.writes == ["DELETE served", "DELETE operator"]


def test_what_another_placement_has_taken_over_since_the_look_is_left_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not ours to delete any more: nothing failed, and nothing is held back for it."""

    class TakenOver(Holding):
        def send(self, method: str, path: str, *arguments: t.Any, **named: t.Any) -> Answer:
            if method == "DELETE" and path == f"{APPS}/web":
                self.documents[path]["metadata"] |= {"resourceVersion": "8", "labels": {PART_OF_LABEL: "theirs"}}
                raise ApiError("conflict", "the object has been modified", "m1", status=409)
            return super().send(method, path, *arguments, **named)

    monkeypatch.setattr(time, "sleep", lambda _seconds: pytest.fail("nothing is to be waited for"))
    member = TakenOver((f"{APPS}/web", APP))
    outcome = member.apply(leaving=True, patience=5.0)
    assert outcome.applied and f"{APPS}/web" in member.documents
    assert not outcome.failures and not outcome.wrote and not outcome.changes
