# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Nodes deleted by hand on a member that does not always answer."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes import deleting, draining
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.deleting import NodeDeletion, delete_nodes
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.nodes.replacing import ReplacementWish
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError

Document = dict[str, t.Any]


class Lease:
    due = True

    def __init__(self) -> None:
        self.kept = 0

    def keep(self) -> None:
        self.kept += 1

    def release(self) -> None:
        """Given back."""


class Member:
    """A server with Nodes ``a`` and ``b``, which may not be evicted from; ``broken`` requests fail, by their kind."""

    def __init__(self) -> None:
        self.cordoned: set[str] = set()
        self.broken: t.Callable[[str, str], str] = lambda _verb, _name: ""
        self.lease = Lease()
        self.server_name = "m"
        self.looks = 0
        self.task = ""

    def get(self, path: str, _query: t.Any = None) -> t.Any:
        if path == "m":
            return self
        return self._answer("GET", path)

    def take(self, _client: t.Any, task: str) -> Lease:
        self.task = task
        return self.lease

    @property
    def leases(self) -> Member:
        return self

    def request(self, verb: str, path: str, body: Document, *_more: t.Any) -> None:
        self._answer(verb, path)
        name = path.rpartition("/")[2]
        (self.cordoned.discard if body["spec"]["unschedulable"] is None else self.cordoned.add)(name)

    def _answer(self, verb: str, path: str) -> Document:
        name = path.rpartition("/")[2]
        self.looks += 1
        code = self.broken(verb, name)
        if code:
            raise ApiError(code, f"{verb} {name} fails")
        marks = {"gitops.fleet/disrupted-by": f"by-hand/{name}"} if name in self.cordoned else {}
        metadata = {"name": name, "uid": f"u-{name}", "resourceVersion": "1", "annotations": marks}
        return {"metadata": metadata, "spec": {"unschedulable": name in self.cordoned}}


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> Member:
    def drains(_self: t.Any, work: t.Any, hands: t.Any) -> None:
        deleting.retried_while_passing(hands, lambda: draining.cordon(hands.client(), work))
        while True:
            hands.pause(0.05)

    monkeypatch.setattr(deleting.NodeReplacer, "replace", drains)
    monkeypatch.setattr(deleting, "LOOK", 0.05)
    monkeypatch.setattr(deleting, "LET_GO_SECONDS", 2.0)
    monkeypatch.setattr(draining, "AGAIN", 0.05)
    return Member()


def problems(member: Member, timeout: float) -> tuple[Problem, ...]:
    class Session:
        clock = staticmethod(lambda: datetime.now(UTC))
        say = staticmethod(lambda _text: None)

    wish = NodeDeletion(
        member="m", uids={"a": "u-a", "b": "u-b"}, replacement=ReplacementWish(command=("x",)), timeout=timeout
    )
    return delete_nodes(t.cast(t.Any, Session()), t.cast(t.Any, member), wish)


def deleted(member: Member, timeout: float = 1.0) -> dict[str, tuple[str, str]]:
    found = problems(member, timeout)
    return {each.where: (each.code, each.message) for each in found}


def test_a_member_that_is_out_of_reach_for_a_moment_ends_nothing(member: Member) -> None:
    member.broken = lambda verb, _name: "unreachable" if verb == "GET" and 8 < member.looks < 14 else ""
    found = deleted(member)
    assert found == {f"m/{name}": ("node-stays", "it was not empty within 1 s") for name in "ab"}
    assert member.cordoned == set()


def test_the_lease_on_the_member_is_kept_while_nodes_are_waited_for(member: Member) -> None:
    deleted(member)
    assert member.lease.kept > 1


def test_a_node_that_may_not_be_looked_at_any_more_is_told_and_the_others_go_on(member: Member) -> None:
    def broken(verb: str, name: str) -> str:
        """From when both are cordoned on."""
        refused.extend("a" if len(member.cordoned) == 2 else "")
        return "forbidden" if (verb, name) == ("GET", "a") and refused else ""

    refused: list[str] = []
    member.broken = broken
    found = deleted(member)
    assert found["m/a"] == ("node-held", "GET a fails; it stays cordoned: GET a fails")
    assert found["m/b"] == ("node-stays", "it was not empty within 1 s") and member.cordoned == {"a"}


def test_each_node_that_stays_cordoned_is_told_with_both_reasons_and_the_others_are_let_go(member: Member) -> None:
    def broken(verb: str, name: str) -> str:
        letting_go = member.cordoned == {"a", "b"} or member.cordoned == {"a"}
        return "forbidden" if verb == "PATCH" and name == "a" and letting_go else ""

    member.broken = broken
    found = deleted(member)
    assert found["m/a"] == ("node-held", "it was not empty within 1 s; it stays cordoned: PATCH a fails")
    assert found["m/b"] == ("node-stays", "it was not empty within 1 s") and member.cordoned == {"a"}


def test_a_member_that_answers_no_more_leaves_every_node_told(member: Member) -> None:
    member.broken = lambda verb, _name: "unreachable" if len(member.cordoned) == 2 else ""
    found = deleted(member)
    assert {each for each, _text in found.values()} == {"node-held"} and len(found) == 2
    assert "its member does not answer" in found["m/a"][1]


def test_the_lease_on_the_member_is_shared_with_no_other_run_by_hand(member: Member) -> None:
    """A later worker of the same task takes it, and gives it back while nodes are still emptied: pools are stopped and
    nodes protected as ``by-hand``."""
    deleted(member, timeout=0.3)
    assert member.task == "by-hand/m"


def test_a_node_whose_deletion_goes_on_is_not_said_to_stay_as_it_was(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its NodeClaim is deleted, which cannot be taken back."""
    monkeypatch.setattr(deleting.NodeReplacer, "replace", lambda *_args: None)
    found = deleted(member, timeout=0.3)
    text = "it is deleted, and was not gone within 0.3 s: Karpenter, or who has a finalizer on it, goes on"
    assert found == {f"m/{name}": ("node-stays", text) for name in "ab"}


def test_who_ends_it_early_is_told_that_nodes_stay_cordoned(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    class Told(deleting.Interrupts):
        def __call__(self) -> str:
            return "interrupted by SIGTERM" if len(member.cordoned) == 2 else ""

    monkeypatch.setattr(deleting, "Interrupts", Told)
    found = problems(member, timeout=60.0)
    assert [each.message for each in found] == ["interrupted by SIGTERM"] * 2 and member.cordoned == {"a", "b"}
    assert {each.hint for each in found} == {
        "it may be cordoned still; the same again goes on with it, or let it go: kubectl uncordon NODE, and kubectl"
        " annotate node NODE gitops.fleet/disrupted-by-"
    }


def test_a_silent_member_is_asked_for_one_node_and_not_for_each(member: Member) -> None:
    """Each question takes as long as a connection may, and who is told to end has seconds."""
    member.broken = lambda _verb, _name: "timeout"
    wish = NodeDeletion(member="m", uids={"a": "u-a", "b": "u-b"}, replacement=ReplacementWish(), timeout=0.0)
    found = deleting._Deletion(t.cast(t.Any, member), wish, t.cast(t.Any, None)).wait(lambda: "interrupted by SIGTERM")
    assert found == dict.fromkeys("ab", "interrupted by SIGTERM") and member.looks == 1
