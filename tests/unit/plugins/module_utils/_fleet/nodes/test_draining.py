# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One node emptied, as the server answers."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.origins import DISRUPTED_BY
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import draining
from ansible_collections.gitops.fleet.plugins.module_utils._kube.answers import Answer
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError

NOW = datetime(2026, 3, 28, 12, tzinfo=UTC)
POD = {
    "metadata": {"name": "p", "namespace": "x", "uid": "u"},
    "spec": {"nodeName": "a"},
    "status": {"phase": "Running"},
}


class Member:
    """Answers evictions as told, and plays the hands of a worker."""

    ahead: timedelta | None = None

    def __init__(self, *answers: Answer | ApiError) -> None:
        self.answers, self.asked, self.time = list(answers), 0, NOW

    def send(self, *_request: t.Any, **_more: t.Any) -> Answer:
        self.asked += 1
        found = self.answers.pop(0)
        if isinstance(found, ApiError):
            raise found
        return found

    def hide(self, text: str) -> str:
        return text

    def client(self) -> t.Any:
        return self

    def pause(self, _seconds: float) -> None:
        raise AssertionError("nobody waits here")

    def said(self, _text: str) -> None:
        """Nobody listens."""

    def now(self) -> datetime:
        return self.time


def emptying(monkeypatch: pytest.MonkeyPatch, member: Member) -> t.Any:
    monkeypatch.setattr(draining, "list_objects", lambda *_one, **_more: iter([POD]))
    work = draining.NodeWork(member="m", node="a", uid="n", operation="r/a.1")
    return draining._Emptying(work, member)


def test_who_is_refused_is_asked_again_when_the_server_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """429 with Retry-After, F26."""
    member = Member(Answer(429, "application/json", b"{}", retry_after=7.0), Answer(201, "application/json", b"{}"))
    found = emptying(monkeypatch, member)
    found.step()
    member.time = NOW + timedelta(seconds=6)
    found.step()
    assert member.asked == 1
    member.time = NOW + timedelta(seconds=7)
    found.step()
    assert member.asked == 2


def test_who_is_refused_waits_no_longer_where_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    member = Member(Answer(429, "application/json", b"{}", retry_after=7.0), Answer(201, "application/json", b"{}"))
    found = emptying(monkeypatch, member)
    found.step()
    member.time = NOW - timedelta(hours=1)
    found.step()
    assert member.asked == 2


def test_a_pod_of_a_namespace_that_goes_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server lets nobody make an eviction there: the pod goes by itself, and the node is not given up for it."""
    member = Member(ApiError("namespace-terminating", "it goes"), Answer(404, "application/json", b"{}"))
    found = emptying(monkeypatch, member)
    assert not found.step().done
    member.time = NOW + timedelta(seconds=1)
    found.step()
    assert member.asked == 2


def test_a_protected_pod_keeps_its_node_from_being_emptied_whenever_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have been there when somebody chose the node by hand, or when another run began to empty it."""
    found = emptying(monkeypatch, Member())
    metadata = {**POD["metadata"], "annotations": {"karpenter.sh/do-not-disrupt": "true"}}
    monkeypatch.setattr(draining, "list_objects", lambda *_one, **_more: iter([{**POD, "metadata": metadata}]))
    with pytest.raises(FleetError) as refused:
        found.step()
    assert (refused.value.code, refused.value.where) == ("node-blocked", "m/a")
    assert refused.value.message == "pods on it are protected by karpenter.sh/do-not-disrupt: x/p"


class Pods(Member):
    """With pods ``a`` to ``c``; those in ``broken`` get the answer ``code`` to every request."""

    def __init__(self, code: str, *broken: str) -> None:
        super().__init__()
        self.code, self.broken, self.log, self.heard = code, broken, list[str](), list[str]()

    def send(self, _verb: str, path: str, *_more: t.Any, **_named: t.Any) -> Answer:
        return self._asked_for("evict", path.split("/")[-2])

    def delete(self, path: str, _body: t.Any) -> None:
        self._asked_for("delete", path.split("/")[-1])

    def said(self, text: str) -> None:
        self.heard.append(text)

    def rows(self) -> list[t.Any]:
        """``b`` asks for longer than the others before it is killed."""
        return [
            {
                "metadata": {"name": name, "namespace": "x", "uid": name},
                "spec": {"nodeName": "a", "terminationGracePeriodSeconds": 300 if name == "b" else 30},
                "status": {"phase": "Running"},
            }
            for name in "abc"
        ]

    def _asked_for(self, what: str, pod: str) -> Answer:
        self.log.append(f"{what} {pod}")
        if pod in self.broken:
            raise ApiError(self.code, "more than one PodDisruptionBudget")
        return Answer(201, "application/json", b"{}")


@pytest.mark.parametrize("code", ["server-error", "too-many-requests"])
def test_a_pod_that_the_server_cannot_evict_keeps_no_other_pod(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """It is asked for again a moment later, and told once."""
    member = Pods(code, "a")
    monkeypatch.setattr(draining, "list_objects", lambda *_one, **_more: iter(member.rows()))
    found = draining._Emptying(work("r/a.1"), member)
    assert not found.step().done and member.log == ["evict a", "evict b", "evict c"]
    member.time = NOW + timedelta(seconds=1)
    found.step()
    assert member.log[3] == "evict a"
    assert member.heard == ["pod x/a stays for now: more than one PodDisruptionBudget"]


@pytest.mark.parametrize("broken", ["a", "b"])
def test_pods_whose_time_is_over_are_deleted_first_whatever_others_answer(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    member = Pods("server-error", broken)
    monkeypatch.setattr(draining, "list_objects", lambda *_one, **_more: iter(member.rows()))
    until = NOW + timedelta(seconds=200)
    draining._Emptying(replace(work("r/a.1"), until=until), member).step()
    assert member.log == ["delete b", "evict a", "evict c"] and len(member.heard) == 1


@pytest.mark.parametrize("minutes", [-60, 60])
def test_no_pod_is_past_its_time_by_a_clock_that_is_wrong(monkeypatch: pytest.MonkeyPatch, minutes: int) -> None:
    member = Pods("server-error")
    monkeypatch.setattr(draining, "list_objects", lambda *_one, **_more: iter(member.rows()))
    member.ahead, until = timedelta(minutes=minutes), NOW + timedelta(seconds=200)
    assert not draining._Emptying(replace(work("r/a.1"), until=until), member).step().done
    assert member.log == ["evict a", "evict b", "evict c"]


def test_other_refusals_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ApiError):
        emptying(monkeypatch, Member(ApiError("forbidden", "no"))).step()


class Nodes:
    """One Node on a server; ``held`` is who empties it."""

    def __init__(self, held: str) -> None:
        marks = {DISRUPTED_BY: held} if held else {}
        self.node = {
            "metadata": {"name": "a", "uid": "n", "resourceVersion": "1", "annotations": marks},
            "spec": {"unschedulable": bool(held)},
        }
        self.patched: list[t.Any] = []

    def get(self, _path: str) -> t.Any:
        return self.node

    def request(self, _verb: str, _path: str, body: t.Any, *_more: t.Any) -> None:
        self.patched.append(body)


def work(operation: str) -> draining.NodeWork:
    return draining.NodeWork(member="m", node="a", uid="n", operation=operation)


def test_a_node_that_somebody_else_of_us_empties_is_neither_taken_nor_let_go() -> None:
    server: t.Any = Nodes("first/a.1")
    with pytest.raises(FleetError) as refused:
        draining.cordon(server, work("second/a.1"))
    assert refused.value.code == "node-disrupted" and "first" in refused.value.message
    draining.uncordon(server, work("second/a.1"))
    assert server.patched == []


def test_another_attempt_of_the_same_rotation_has_the_node() -> None:
    server: t.Any = Nodes("first/a.1")
    draining.cordon(server, work("first/a.2"))
    draining.uncordon(server, work("first/a.2"))
    taken, free = server.patched
    assert taken["metadata"]["annotations"][DISRUPTED_BY] == "first/a.2"
    assert free["metadata"]["annotations"][DISRUPTED_BY] is None and free["spec"] == {"unschedulable": None}


def test_a_node_that_a_person_has_let_go_as_our_hints_say_is_taken_and_let_go_as_any_other() -> None:
    """Only by its mark it would count as disrupted for ever, and no other rotation could have it. That it was cordoned
    before somebody had it is no longer true."""
    server: t.Any = Nodes("blue/a.1")
    with pytest.raises(FleetError) as refused:
        draining.cordon(server, work("green/a.1"))
    assert "kubectl annotate node NODE gitops.fleet/disrupted-by-" in refused.value.hint
    server.node["metadata"]["annotations"] = {draining.WAS_CORDONED: "true"}
    server.node["spec"] = {}
    draining.cordon(server, work("green/a.1"))
    (taken,) = server.patched
    assert taken["metadata"]["annotations"] == {DISRUPTED_BY: "green/a.1", draining.WAS_CORDONED: None}


class Emptied(Member):
    """A member with one Node, which ``r/a.1`` has cordoned; ``meanwhile`` happens to the Node while its pods go."""

    def __init__(self, meanwhile: t.Callable[[t.Any], None]) -> None:
        super().__init__()
        self.node, self.meanwhile = Nodes("r/a.1").node, meanwhile

    def get(self, _path: str) -> t.Any:
        return self.node

    def pods(self, *_request: t.Any, **_more: t.Any) -> t.Iterator[t.Any]:
        self.meanwhile(self.node)
        return iter([])


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda node: node["spec"].pop("unschedulable"),
        lambda node: node["metadata"].pop("annotations"),
        lambda node: node["metadata"].update(annotations={DISRUPTED_BY: "by-hand/a"}),
    ],
    ids=["uncordoned", "unmarked", "taken"],
)
def test_a_node_that_somebody_has_let_go_while_it_was_emptied_is_not_deleted(
    monkeypatch: pytest.MonkeyPatch, meanwhile: t.Callable[[t.Any], None]
) -> None:
    """Pods may have come to it since."""
    member = Emptied(meanwhile)
    monkeypatch.setattr(draining, "list_objects", member.pods)
    with pytest.raises(FleetError) as refused:
        draining.drain(work("r/a.1"), member)
    assert (refused.value.code, refused.value.where) == ("node-disrupted", "m/a")
    assert refused.value.message == "somebody has let it go meanwhile"


def test_a_node_that_is_gone_once_it_is_empty_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one may have its name by then."""
    member = Emptied(lambda node: node["metadata"].update(uid="another"))
    monkeypatch.setattr(draining, "list_objects", member.pods)
    assert draining.drain(work("r/a.1"), member) is None
    stays = Emptied(lambda _node: None)
    monkeypatch.setattr(draining, "list_objects", stays.pods)
    assert draining.drain(work("r/a.1"), stays) == stays.node


def test_a_node_that_karpenter_empties_says_who_asked_for_it_and_pods_may_still_come() -> None:
    """D0-06"""
    server: t.Any = Nodes("")
    draining.mark(server, work("by-hand/a"))
    (told,) = server.patched
    assert told["metadata"]["annotations"] == {DISRUPTED_BY: "by-hand/a"} and not told.get("spec")
    held: t.Any = Nodes("by-hand/a")
    draining.mark(held, work("by-hand/a"))
    assert held.patched == []
    with pytest.raises(FleetError) as refused:
        draining.mark(held, work("second/a.1"))
    assert refused.value.code == "node-disrupted"
