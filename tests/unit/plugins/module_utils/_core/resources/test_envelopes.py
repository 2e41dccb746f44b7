# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Envelopes give way to their contents."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.scopes import likely_scopes
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.envelopes import (
    is_envelope,
    opened,
    side_effect_findings,
    unpacked,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.selection import Selected

API = "placement.kubernetes-fleet.io/v1beta1"
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"}}
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def clusterwide(name: str = "rights", **data: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": API, "kind": "ClusterResourceEnvelope", "metadata": {"name": name}, "data": data}


def inside(namespace: str = "shop", **data: t.Any) -> dict[str, t.Any]:
    return {
        "apiVersion": API,
        "kind": "ResourceEnvelope",
        "metadata": {"name": "e", "namespace": namespace},
        "data": data,
    }


def test_contents_take_the_place_of_their_envelope_and_know_where_they_came_from_d4_64() -> None:
    other = {**ROLE, "metadata": {"name": "writer"}}
    found = unpacked([NAMESPACE, clusterwide(b=ROLE, a=other), inside(q=QUOTA)])
    assert found.problems == ()
    assert [(str(identify(each.manifest)), str(each.origin or "")) for each in found.objects] == [
        ("Namespace shop", ""),
        ("ClusterRole writer", "ClusterResourceEnvelope/rights data[a]"),
        ("ClusterRole reader", "ClusterResourceEnvelope/rights data[b]"),
        ("ResourceQuota shop/q", "ResourceEnvelope/shop/e data[q]"),
    ]
    origin = found.objects[3].origin
    assert origin is not None
    assert origin.as_dict() == {"name": "e", "namespace": "shop", "type": "ResourceEnvelope"}


def test_no_envelope_is_left_and_other_groups_are_let_be() -> None:
    stranger = {**clusterwide(a=ROLE), "apiVersion": "example.com/v1"}
    found = unpacked([clusterwide(a=ROLE), stranger])
    assert not any(is_envelope(each.manifest) for each in found.objects)
    assert [each.manifest for each in found.objects] == [ROLE, stranger]


def test_the_problems_of_all_envelopes_come_at_once() -> None:
    found = unpacked([clusterwide(a=QUOTA, b=ROLE), inside("other", q=QUOTA), inside(x="text")])
    assert found.objects == ()
    assert [(each.code, each.where) for each in found.problems] == [
        ("enveloped-scope", "ClusterResourceEnvelope/rights data[a].metadata.namespace"),
        ("enveloped-scope", "ResourceEnvelope/other/e data[q].metadata.namespace"),
        ("wrong-type", "ResourceEnvelope/shop/e data[x]"),
    ]


def test_the_content_of_a_secret_that_is_written_as_a_text_is_not_shown() -> None:
    text = "kind: Secret\nstringData: {pw: hunter2}"
    for envelope in (inside(x=text), {**inside(), "data": text}):
        (problem,) = unpacked([envelope]).problems
        assert problem.code == "wrong-type" and problem.message.endswith("is wanted here, not a text")


def test_one_object_from_two_places_is_a_problem() -> None:
    (problem,) = unpacked([ROLE, clusterwide(a=ROLE)]).problems
    assert (problem.code, problem.where) == ("placed-twice", "ClusterResourceEnvelope/rights data[a]")
    newer = {**QUOTA, "apiVersion": "v2"}
    assert [each.code for each in unpacked([inside(a=QUOTA), inside(b=newer)]).problems] == ["placed-twice"]


def test_the_scope_of_a_custom_kind_comes_from_its_definition() -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    spec = {"group": "example.com", "names": {"kind": "Widget"}, "scope": "Namespaced"}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    assert unpacked([clusterwide(a=widget)]).problems == ()
    assert [each.code for each in unpacked([clusterwide(a=widget)], likely_scopes([definition])).problems] == [
        "enveloped-scope"
    ]


def test_kinds_that_act_on_the_hub_are_told_one_finding_a_class_d4_69() -> None:
    webhook = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    rights = [{**ROLE, "metadata": {"name": name}} for name in "abcde"]
    objects = [NAMESPACE, QUOTA, *rights, {**webhook, "metadata": {"name": "w"}}]
    found = side_effect_findings([identify(each) for each in objects])
    assert [each.code for each in found] == ["acts-on-hub"] * 3
    assert (
        found[1].message
        == "ClusterRole a, ClusterRole b, ClusterRole c and 2 more: on the hub they grant rights there too"
    )
    assert side_effect_findings([identify(NAMESPACE)]) == ()


def test_credentials_of_members_are_not_smuggled_in() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m1-access", "namespace": "shop"}}
    envelope = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourceEnvelope",
        "metadata": {"name": "e", "namespace": "shop"},
        "data": {"s": secret},
    }
    assert unpacked([envelope]).problems == ()
    (problem,) = unpacked([envelope], credentials={("shop", "m1-access")}).problems
    assert problem.code == "enveloped-never-placed" and "credentials" in problem.message


def test_a_webhook_that_could_stop_a_cluster_is_found_inside_too() -> None:
    webhook = {"name": "gate.example.org", "rules": [{"apiGroups": ["*"], "resources": ["*"]}]}
    gate = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "gate"},
        "webhooks": [webhook],
    }
    envelope = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ClusterResourceEnvelope",
        "metadata": {"name": "e"},
        "data": {"g": gate},
    }
    assert [each.code for each in unpacked([envelope]).problems] == ["stops-cluster"]


def test_a_selection_is_opened_in_hash_order_and_knows_the_envelopes() -> None:
    found = opened(Selected(objects=(inside(q=QUOTA), NAMESPACE)), likely_scopes(()))
    assert [str(identify(each)) for each in found.objects] == ["Namespace shop", "ResourceQuota shop/q"]
    assert {str(each): str(origin) for each, origin in found.origins.items()} == {
        "ResourceQuota shop/q": "ResourceEnvelope/shop/e data[q]"
    }


def test_a_selection_without_envelopes_stays_as_it_is() -> None:
    plain = Selected(objects=(NAMESPACE, QUOTA))
    assert opened(plain, likely_scopes(())) == plain


def test_fields_to_ignore_are_judged_inside_envelopes_too() -> None:
    metadata = {**QUOTA["metadata"], "annotations": {"gitops.fleet/ignore": "spec..hard"}}
    found = opened(Selected(objects=(inside(q={**QUOTA, "metadata": metadata}),)), likely_scopes(()))
    assert [(each.code, each.where) for each in found.problems] == [("bad-ignore", "ResourceQuota shop/q")]


def test_what_is_wrong_in_an_envelope_stops_its_placement() -> None:
    found = opened(Selected(objects=(clusterwide(a=QUOTA),)), likely_scopes(()))
    assert [(each.code, each.where) for each in found.problems] == [
        ("enveloped-scope", "ClusterResourceEnvelope/rights data[a].metadata.namespace")
    ]
