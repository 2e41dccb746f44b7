# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One node emptied, as the server answers."""

from __future__ import annotations

import typing as t
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


def test_a_pod_of_a_namespace_that_goes_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server lets nobody make an eviction there: the pod goes by itself, and the node is not given up for it."""
    member = Member(ApiError("namespace-terminating", "it goes"), Answer(404, "application/json", b"{}"))
    found = emptying(monkeypatch, member)
    assert not found.step().done
    member.time = NOW + timedelta(seconds=1)
    found.step()
    assert member.asked == 2


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
