# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The two orders of objects."""

from __future__ import annotations

import typing as t
from itertools import groupby

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.order import (
    LAST_WAVE,
    apply_wave,
    hash_order_key,
)


def thing(api_version: str, kind: str, name: str = "x", namespace: str = "") -> dict[str, t.Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}


MIXED = [
    thing("example.com/v1", "Widget"),
    thing("apps/v1", "Deployment", "b", "web"),
    thing("rbac.authorization.k8s.io/v1", "RoleBinding"),
    thing("rbac.authorization.k8s.io/v1", "Role"),
    thing("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    thing("v1", "Namespace"),
    thing("apps/v1", "Deployment", "a", "web"),
    thing("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    thing("example.com/v1", "Gadget"),
]


def in_hash_order(manifests: t.Iterable[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    return sorted(manifests, key=lambda each: hash_order_key(identify(each)))


def words(manifests: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    return [str(identify(one)) for one in manifests]


def test_hash_order_is_by_kind_then_group_then_name_and_unknown_kinds_come_last() -> None:
    assert words(in_hash_order(MIXED)) == [
        "Namespace x",
        "CustomResourceDefinition x",
        "Role x",
        "RoleBinding x",
        "Deployment web/a",
        "Deployment web/b",
        "ValidatingWebhookConfiguration x",
        "Gadget x",
        "Widget x",
    ]
    assert in_hash_order(MIXED) == in_hash_order(MIXED[::-1])


def wave_of(manifest: dict[str, t.Any]) -> int:
    return apply_wave(identify(manifest))


def test_waves_put_foundations_first_and_custom_objects_last() -> None:
    waves = groupby(sorted(MIXED, key=wave_of), key=wave_of)
    assert [words(in_hash_order(wave)) for _number, wave in waves] == [
        ["Namespace x"],
        ["CustomResourceDefinition x"],
        ["Role x"],
        ["RoleBinding x"],
        ["Deployment web/a", "Deployment web/b"],
        ["ValidatingWebhookConfiguration x"],
        ["Gadget x", "Widget x"],
    ]


def test_a_kind_of_the_same_name_in_another_group_is_another_kind() -> None:
    assert apply_wave(identify(thing("v1", "Service"))) == 4
    assert apply_wave(identify(thing("serving.knative.dev/v1", "Service"))) == LAST_WAVE


def test_namespace_and_name_are_compared_as_one_text() -> None:
    settings = [thing("v1", "ConfigMap", "x", namespace) for namespace in ("a", "a-b")]
    assert words(in_hash_order(settings)) == ["ConfigMap a-b/x", "ConfigMap a/x"]
    kinds = [thing("b/v1", "Gadget"), thing("a.b/v1", "Widget"), thing("v1", "Thing")]
    assert words(in_hash_order(kinds)) == ["Thing x", "Widget x", "Gadget x"]
