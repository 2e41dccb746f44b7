# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a member's dry run says of a first apply, in which objects need what the same apply brings."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.member import CREATE, UPDATE, MemberStep
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.placements.on_member.dry_run import dry_run
from ansible_collections.gitops.fleet.plugins.module_utils._kube.answers import Answer
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._fleet.answering import Answering

SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"}}
KIND = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
DEFINITION = {**KIND, "metadata": {"name": "things.example.org"}, "spec": {"group": "example.org"}}
THING = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "one"}}


class Fresh(Answering):
    """A member with no namespace of ours and no kind but those that every server has; it refuses limits."""

    def send(self, method: str, path: str, *arguments: t.Any, **named: t.Any) -> Answer:
        if method != "PATCH":
            return super().send(method, path, *arguments, **named)
        if "limit" in path:
            raise ApiError("invalid", "spec.limits: Required value", "m1", status=422)
        if "/namespaces/shop/" in path:
            raise ApiError("not-found", 'namespaces "shop" not found', "m1", status=404)
        return Answer(200, "application/json", b"{}")


def refused(*steps: tuple[dict[str, t.Any], str]) -> list[str]:
    member = Fresh({"/apis": {"kind": "APIGroupDiscoveryList", "items": []}})
    made = [MemberStep(id=identify(each), action=action, manifest=each) for each, action in steps]
    return [f"{each.id}: {each.message}" for each in dry_run(member, made, {}, force=False)]


def test_a_namespace_that_the_apply_brings_is_not_missed() -> None:
    """A dry run creates none: what is in it would be refused, and is not by the apply."""
    assert refused((SHOP, CREATE), (SETTINGS, CREATE)) == []


@pytest.mark.parametrize("steps", [((SETTINGS, CREATE),), ((SHOP, UPDATE), (SETTINGS, CREATE))], ids=["none", "gone"])
def test_a_namespace_that_nobody_brings_is(steps: tuple[tuple[dict[str, t.Any], str], ...]) -> None:
    assert refused(*steps) == ['ConfigMap shop/settings: namespaces "shop" not found']


def test_a_kind_that_the_apply_defines_is_not_missed_and_another_is() -> None:
    assert refused((DEFINITION, CREATE), (THING, CREATE)) == []
    assert [each.partition(":")[0] for each in refused((THING, CREATE))] == ["Thing one"]


def test_what_the_server_refuses_is_told() -> None:
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limit", "namespace": "other"}}
    assert refused((SHOP, CREATE), (limits, CREATE)) == ["LimitRange other/limit: spec.limits: Required value"]
