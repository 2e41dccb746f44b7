# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Envelopes: all broken rules of a manifest at once, each with its path."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.envelope import (
    ClusterResourceEnvelope,
    Envelope,
    ResourceEnvelope,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.envelope_rules import check_envelope
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.checking import Check, check_object
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.openapi import schema_of

WEBHOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "w"},
}
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}}


def broken(cls: type[Envelope], data: t.Any) -> dict[str, str]:
    check = Check()
    written = {"metadata": {"name": "e", "namespace": "shop" if cls is ResourceEnvelope else ""}, "data": data}
    envelope: Envelope = decode(cls, check_object(check, cls, written))
    return {each.path: each.code for each in (*check.problems, *check_envelope(envelope))}


def test_good_envelopes_d4_68() -> None:
    assert broken(ClusterResourceEnvelope, {"webhook.yaml": WEBHOOK}) == {}
    assert broken(ResourceEnvelope, {"quota.yaml": QUOTA}) == {}
    custom = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    assert broken(ClusterResourceEnvelope, {"a": custom}) == {}


def test_the_wrong_scope_is_refused_d4_68() -> None:
    assert broken(ClusterResourceEnvelope, {"q": QUOTA}) == {"data[q].metadata.namespace": "enveloped-scope"}
    assert broken(ResourceEnvelope, {"w": WEBHOOK}) == {"data[w]": "enveloped-scope"}
    elsewhere = {**QUOTA, "metadata": {"name": "q", "namespace": "other"}}
    nowhere = {**QUOTA, "metadata": {"name": "q"}}
    assert set(broken(ResourceEnvelope, {"a": elsewhere, "b": nowhere}).values()) == {"enveloped-scope"}
    assert broken(ClusterResourceEnvelope, {"b": nowhere}) == {"data[b].metadata.namespace": "enveloped-scope"}


def test_what_has_no_namespace_names_none_in_an_envelope() -> None:
    hook = {**WEBHOOK, "metadata": {**WEBHOOK["metadata"], "namespace": "shop"}}
    assert broken(ClusterResourceEnvelope, {"w": hook}) == {"data[w].metadata.namespace": "enveloped-scope"}


def test_one_to_fifty_entries_d4_68() -> None:
    fifty = {f"k{number}": {**WEBHOOK, "metadata": {"name": f"w{number}"}} for number in range(50)}
    assert broken(ClusterResourceEnvelope, fifty) == {}
    assert broken(ClusterResourceEnvelope, {**fifty, "one-more": WEBHOOK}) == {"data": "too-many-items"}
    assert broken(ClusterResourceEnvelope, {}) == {"data": "too-few-items"}
    assert broken(ClusterResourceEnvelope, None) == {"data": "missing-field"}


def test_every_problem_is_found_at_once() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}}
    inner = {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ResourceEnvelope",
        "metadata": QUOTA["metadata"],
    }
    data = {
        "a": "kind: Role",
        "b": None,
        "c": {"kind": "Role", "metadata": {"generateName": "x", "namespace": "shop"}},
        "d": pod,
        "e": inner,
        "f": QUOTA,
        "g": QUOTA,
    }
    assert broken(ResourceEnvelope, data) == {
        "data[a]": "wrong-type",
        "data[b]": "wrong-type",
        "data[c].apiVersion": "enveloped-unnamed",
        "data[c].metadata.name": "enveloped-unnamed",
        "data[d]": "enveloped-never-placed",
        "data[e]": "enveloped-never-placed",
        "data[g]": "enveloped-twice",
    }


@pytest.mark.parametrize("name", ["default", "kube-system", "fleet-system", "gitops-fleet"])
def test_reserved_namespaces_are_not_smuggled_in(name: str) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    assert broken(ClusterResourceEnvelope, {"n": namespace}) == {"data[n]": "enveloped-never-placed"}


@pytest.mark.parametrize("labels", [{"kubernetes.io/bootstrapping": ["a"]}, {"": {"a": "b"}}, ["a"], {"a": 1}])
def test_metadata_inside_that_no_server_reads_is_told(labels: t.Any) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r", "labels": labels},
    }
    assert broken(ClusterResourceEnvelope, {"r": role}) == {"data[r]": "malformed-metadata"}


def test_the_server_counts_the_entries_too() -> None:
    schema = schema_of(ClusterResourceEnvelope)["properties"]["data"]
    assert (schema["minProperties"], schema["maxProperties"]) == (1, 50)
    assert schema["additionalProperties"] == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_manifests_inside_are_written_as_they_were_read() -> None:
    odd = {**WEBHOOK, "webhooks": [{"rules": [], "failurePolicy": None}], "spec": {}}
    written = encode(decode(ClusterResourceEnvelope, {"metadata": {"name": "e"}, "data": {"w": odd}}))
    assert written["data"] == {"w": odd}
    assert encode(decode(ClusterResourceEnvelope, written)) == written
