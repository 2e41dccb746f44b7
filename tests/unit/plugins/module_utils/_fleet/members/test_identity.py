# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which cluster answers under which name, and what is refused of that."""

from __future__ import annotations

import json
import shlex
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.fleet_member import FleetMember
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.identity import (
    Identities,
    cluster_words,
    double_member_problems,
    several_names,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.client import KubeClient
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._kube.login.connection import Connection

A, B = "0b6c3ad2-0000-4000-8000-000000000001", "0b6c3ad2-0000-4000-8000-000000000002"


class Cluster(KubeClient):
    """Answers with one document, or an error."""

    def __init__(self, answer: t.Any) -> None:
        super().__init__(Connection(server="https://nowhere", name="east"))
        self._answer = answer

    def get(self, path: str, query: t.Any = None) -> dict[str, t.Any]:
        assert path == "/api/v1/namespaces/kube-system"
        if isinstance(self._answer, Exception):
            raise self._answer
        return t.cast(dict[str, t.Any], self._answer)


def cluster(uid: t.Any) -> Cluster:
    return Cluster({"metadata": {"uid": uid}})


def members(**uids: str) -> dict[str, FleetMember]:
    return {
        name: decode(
            FleetMember,
            {"metadata": {"name": name}, "spec": {"connection": {"kubeconfig": name}, "clusterUID": uid}},
        )
        for name, uid in uids.items()
    }


def code(work: t.Callable[[], object]) -> str:
    with pytest.raises(FleetError) as caught:
        work()
    return caught.value.code


FORBIDDEN = Cluster(ApiError("forbidden", "User x cannot get namespaces", "east", status=403))


@pytest.mark.parametrize("answer", [{}, {"metadata": None}, {"metadata": []}, {"metadata": {"uid": 7}}])
def test_an_answer_without_a_uid_tells_nothing(answer: t.Any) -> None:
    assert code(lambda: cluster_words(Cluster(answer))) == "bad-answer"


@pytest.mark.parametrize("uid", ["", "x", A.upper(), A + "\n", f" {A}", A[:-1]])
def test_a_uid_has_the_form_of_one(uid: str) -> None:
    assert code(lambda: cluster_words(cluster(uid))) == "bad-answer"


def test_a_refusal_names_the_right_to_grant() -> None:
    with pytest.raises(FleetError) as caught:
        cluster_words(FORBIDDEN)
    assert "resourceNames: [kube-system]" in caught.value.hint and caught.value.where == "east"
    assert caught.value.hint.endswith("in every role of gitops.fleet.rbac")


def test_names_of_one_cluster_are_found_and_members_without_a_uid_are_no_doubles() -> None:
    uids = {"d": A, "a": A, "b": B, "c": A, "x": "", "y": ""}
    assert several_names(uids) == (("a", "c", "d"),)
    (problem,) = double_member_problems(uids)
    assert (problem.code, problem.where) == ("double-member", "a, c, d") and "a and c and d are one" in problem.message


@pytest.mark.parametrize("strict", [True, False])
def test_another_cluster_is_refused_by_every_verb(strict: bool) -> None:
    found = Identities(members(east=A), strict)
    assert code(lambda: found.admit("east", cluster(B))) == "other-cluster"
    assert found.seen == {} and found.notes() == ()
    with pytest.raises(FleetError) as refused:
        found.admit("east", cluster(B))
    words = shlex.split(refused.value.hint.partition(" new: ")[2])
    assert words[:3] == ["ansible-playbook", "gitops.fleet.join", "-e"]
    assert json.loads(words[3]) == {"members": [{"name": "east", "rebuilt": True}]}
    found.admit("east", cluster(A))
    assert found.seen == {"east": A}


def test_a_second_name_is_refused_where_something_is_written_and_noted_where_not() -> None:
    known = members(east=A, west="")
    assert code(lambda: Identities(known, strict=True).admit("west", cluster(A))) == "double-member"
    reading = Identities(known)
    reading.admit("west", cluster(A))
    assert [each.where for each in reading.notes()] == ["east, west"]


def test_two_that_were_not_known_before_are_told_apart_as_they_come() -> None:
    found = Identities(members(east="", west=""), strict=True)
    found.admit("east", cluster(A))
    assert code(lambda: found.admit("west", cluster(A))) == "double-member"


def test_who_joins_later_is_told_apart_from_those_that_were_there() -> None:
    found = Identities(members(east=A), strict=True)
    found.welcome(members(west=""))
    assert code(lambda: found.admit("west", cluster(A))) == "double-member"


def test_what_cannot_be_told_is_refused_where_something_is_written_and_noted_where_not() -> None:
    assert code(lambda: Identities(members(east=A), strict=True).admit("east", FORBIDDEN)) == "forbidden"
    reading = Identities(members(east=A))
    reading.admit("east", FORBIDDEN)
    assert [each.where for each in reading.notes()] == ["east"] and reading.seen == {}


def test_a_server_that_has_just_started_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    starting = cluster(A)
    answers = iter([ApiError("not-found", "no such namespace", "east", status=404)] * 3)
    real = Cluster.get

    def get(self: Cluster, path: str, query: t.Any = None) -> dict[str, t.Any]:
        for error in answers:
            raise error
        return real(self, path, query)

    monkeypatch.setattr(Cluster, "get", get)
    assert cluster_words(starting)[0] == A
    monkeypatch.setattr(
        "ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.identity.STARTING_SECONDS", 0.0
    )
    answers = iter([ApiError("not-found", "no such namespace", "east", status=404)])
    assert code(lambda: cluster_words(starting)) == "not-found"


def test_a_read_that_failed_is_no_identity() -> None:
    away = Cluster(ApiError("unreachable", "nobody there", "east"))
    assert code(lambda: Identities(members(east=A)).admit("east", away)) == "unreachable"
