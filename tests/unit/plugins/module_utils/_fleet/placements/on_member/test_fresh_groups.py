# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""How long an object waits for the kind that the same run defines."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import CREATE, MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member import fresh_groups
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.fresh_groups import FreshGroups
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.org"},
    "spec": {"group": "example.org"},
}
THING = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "one", "namespace": "shop"}}


def step(manifest: dict[str, t.Any]) -> MemberStep:
    return MemberStep(id=identify(manifest), action=CREATE, manifest=manifest)


class Server:
    """Refuses, with each of these codes in turn, and answers then; ``asked`` counts."""

    def __init__(self, *codes: str) -> None:
        self.codes, self.asked = list(codes), 0

    def __call__(self) -> dict[str, t.Any]:
        self.asked += 1
        if self.codes:
            raise ApiError(self.codes.pop(0), "words", "m1")
        return {}


def test_an_object_waits_until_its_kind_is_served() -> None:
    groups, server = FreshGroups([step(DEFINITION), step(THING)]), Server("unknown-kind", "not-found")
    assert groups.served(step(DEFINITION), Server()) == {}
    assert groups.served(step(THING), server) == {} and server.asked == 3


def test_nothing_is_waited_for_where_the_definition_was_refused() -> None:
    groups, server = FreshGroups([step(DEFINITION), step(THING)]), Server("unknown-kind")
    with pytest.raises(ApiError):
        groups.served(step(DEFINITION), Server("invalid"))
    with pytest.raises(ApiError):
        groups.served(step(THING), server)
    assert server.asked == 1


def test_another_definition_of_the_group_is_still_waited_for() -> None:
    groups, server = FreshGroups([step(DEFINITION), step(DEFINITION)]), Server("unknown-kind")
    with pytest.raises(ApiError):
        groups.served(step(DEFINITION), Server("invalid"))
    assert groups.served(step(THING), server) == {} and server.asked == 2


def test_a_group_is_waited_for_in_vain_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_groups, "SERVED_SECONDS", 0.0)
    groups, server = FreshGroups([step(DEFINITION)]), Server(*["unknown-kind"] * 100)
    with pytest.raises(ApiError):
        groups.served(step(THING), server)
    asked = server.asked
    with pytest.raises(ApiError):
        groups.served(step(THING), server)
    assert server.asked == asked + 1


def test_what_no_definition_brings_is_refused_at_once() -> None:
    server = Server("unknown-kind")
    with pytest.raises(ApiError):
        FreshGroups([]).served(step(THING), server)
    assert server.asked == 1
