# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Overrides: all broken rules of a manifest at once, each with its path."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.override import (
    ClusterResourceOverride,
    ResourceOverride,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.override_rules import (
    check_override,
    check_override_update,
    check_overrides,
    path_problem,
    warn_override,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.checking import Check, check_object
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode, encode

ALL = {"clusterSelectorTerms": []}
ROLE = {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole", "name": "reader"}
WEB = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"}
PATCH = {"op": "add", "path": "/metadata/labels/on", "value": "${MEMBER-CLUSTER-NAME}"}
RULE = {"clusterSelector": ALL, "jsonPatchOverrides": [PATCH]}


def document(*rules: t.Any, selectors: t.Any = None, **spec: t.Any) -> dict[str, t.Any]:
    policy = {"overrideRules": list(rules) or [RULE]}
    return {
        "metadata": {"name": "o"},
        "spec": {"clusterResourceSelectors": selectors or [ROLE], "policy": policy} | spec,
    }


def namespaced(*rules: t.Any, name: str = "o", **spec: t.Any) -> dict[str, t.Any]:
    policy = {"overrideRules": list(rules) or [RULE]}
    return {
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"resourceSelectors": [WEB], "policy": policy} | spec,
    }


def broken(written: t.Any, cls: type = ClusterResourceOverride) -> dict[str, str]:
    """Code by path of everything that is wrong."""
    check = Check()
    override = decode(cls, check_object(check, cls, written))
    # As the reader has it: where a field itself is wrong, rules over several fields say nothing more about it.
    return {each.path: each.code for each in (*check_override(override), *check.problems)}


def rule(patch: t.Any = None, **fields: t.Any) -> dict[str, t.Any]:
    return RULE | ({"jsonPatchOverrides": [PATCH | patch]} if patch else {}) | fields


def test_good_overrides_of_both_kinds() -> None:
    assert broken(document()) == {}
    assert broken(namespaced(placement={"name": "web", "scope": "Namespaced"}), ResourceOverride) == {}


def test_every_problem_is_found_at_once() -> None:
    faulty = document(
        rule({"path": "/kind"}),
        rule({"op": "remove", "path": "/spec/a"}),
        rule(overrideType="Delete"),
        {
            "clusterSelector": {
                "clusterSelectorTerms": [{}, {"propertySorter": {"name": "a", "sortOrder": "Ascending"}}]
            }
        },
        selectors=[ROLE, ROLE, {**ROLE, "name": ""}, {**ROLE, "name": "", "labelSelector": {}}],
        placement={"name": "", "scope": "Namespaced"},
        other=1,
    )
    rules = "spec.policy.overrideRules"
    assert broken(faulty) == {
        "spec.other": "unknown-field",
        "spec.clusterResourceSelectors[1]": "duplicate-override-selector",
        "spec.clusterResourceSelectors[2].name": "override-selector-without-name",
        "spec.clusterResourceSelectors[3].name": "override-selector-without-name",
        "spec.clusterResourceSelectors[3].labelSelector": "override-selector-with-labels",
        "spec.placement.name": "empty-text",
        "spec.placement.scope": "override-placement-scope",
        f"{rules}[0].jsonPatchOverrides[0].path": "forbidden-patch-path",
        f"{rules}[1].jsonPatchOverrides[0].value": "remove-with-value",
        f"{rules}[2].jsonPatchOverrides": "delete-with-patches",
        f"{rules}[3].jsonPatchOverrides": "patches-missing",
        f"{rules}[3].clusterSelector.clusterSelectorTerms[0].labelSelector": "override-term-without-labels",
        f"{rules}[3].clusterSelector.clusterSelectorTerms[1].propertySorter": "override-by-property",
    }


@pytest.mark.parametrize(
    ("fields", "path", "code"),
    [
        ({"resourceSelectors": []}, "spec.resourceSelectors", "too-few-items"),
        (
            {"resourceSelectors": [{**WEB, "name": f"w{n}"} for n in range(21)]},
            "spec.resourceSelectors",
            "too-many-items",
        ),
        (
            {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Secret"}]},
            "spec.resourceSelectors[0].name",
            "missing-field",
        ),
        (
            {"resourceSelectors": [{**WEB, "labelSelector": {}}]},
            "spec.resourceSelectors[0].labelSelector",
            "unknown-field",
        ),
        ({"policy": {}}, "spec.policy.overrideRules", "missing-field"),
        ({"policy": {"overrideRules": []}}, "spec.policy.overrideRules", "too-few-items"),
        (
            {"policy": {"overrideRules": [rule(overrideType="Merge")]}},
            "spec.policy.overrideRules[0].overrideType",
            "not-one-of",
        ),
        (
            {"policy": {"overrideRules": [rule({"op": "move"})]}},
            "spec.policy.overrideRules[0].jsonPatchOverrides[0].op",
            "not-one-of",
        ),
        ({"placement": {"scope": "Cluster"}}, "spec.placement.name", "missing-field"),
    ],
)
def test_limits_of_the_fields(fields: t.Any, path: str, code: str) -> None:
    assert broken(namespaced(**fields), ResourceOverride)[path] == code


@pytest.mark.parametrize(
    "path", ["/spec/replicas", "/metadata/labels/a", "/metadata/annotations", "/data/a~1b", "/a/-"]
)
def test_paths_that_can_be_overridden(path: str) -> None:
    assert path_problem(path) == ("", "")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("", "invalid-patch-path"),
        ("spec", "invalid-patch-path"),
        ("/", "invalid-patch-path"),
        ("/spec//a", "invalid-patch-path"),
        ("/spec/a/", "invalid-patch-path"),
        ("/spec/ /a", "invalid-patch-path"),
        ("/spec/a~b", "invalid-patch-path"),
        ("/kind", "forbidden-patch-path"),
        ("/apiVersion", "forbidden-patch-path"),
        ("/status/replicas", "forbidden-patch-path"),
        ("/metadata", "forbidden-patch-path"),
        ("/metadata/name", "forbidden-patch-path"),
        ("/metadata/finalizers/0", "forbidden-patch-path"),
    ],
)
def test_paths_that_cannot(path: str, code: str) -> None:
    assert path_problem(path)[0] == code


def test_a_variable_must_be_closed_in_every_text_of_a_value() -> None:
    value = {"a": ["${MEMBER-CLUSTER-LABEL-KEY-x} ${MEMBER-CLUSTER-LABEL-KEY-y"]}
    assert list(broken(document(rule({"value": value}))).values()) == ["unclosed-variable"]


def test_what_does_nothing_is_told() -> None:
    mistyped = rule({"value": {"k": ["${MEMBER-CLUSTER-NAMES}", "${member-cluster-name}", "${OTHER}"]}})
    override = decode(ClusterResourceOverride, document(mistyped, {"overrideType": "Delete"}))
    found = [(each.code, each.old_path) for each in warn_override(override)]
    value = "spec.policy.overrideRules[0].jsonPatchOverrides[0].value"
    assert found == [
        ("unknown-variable", value),
        ("unknown-variable", value),
        ("rule-without-clusters", "spec.policy.overrideRules[1].clusterSelector"),
    ]
    assert list(warn_override(decode(ClusterResourceOverride, document()))) == []


def test_the_placement_of_an_override_is_there_to_stay() -> None:
    free, bound = (decode(ClusterResourceOverride, document(placement=one)) for one in (None, {"name": "web"}))
    assert [each.code for each in check_override_update(free, bound)] == ["override-placement-changed"]
    assert [each.code for each in check_override_update(bound, free)] == ["override-placement-changed"]
    assert list(check_override_update(bound, bound)) == []


def test_one_object_has_at_most_one_override_of_each_kind() -> None:
    cluster = decode(ClusterResourceOverride, document())
    one, two = (decode(ResourceOverride, namespaced(name=name)) for name in ("a", "b"))
    assert check_overrides([cluster, one]) == ()
    (found,) = check_overrides([two, cluster, one])
    assert (found.code, found.where) == ("overridden-twice", "ResourceOverride/shop/b spec.resourceSelectors[0]")
    assert "ResourceOverride/shop/a" in found.message


def test_there_are_at_most_100_of_each_kind() -> None:
    many = []
    for number in range(101):
        written = namespaced(name=f"o{number}")
        written["spec"]["resourceSelectors"] = [{**WEB, "name": f"w{number}"}]
        many.append(decode(ResourceOverride, written))
    assert [each.code for each in check_overrides(many)] == ["too-many-overrides"]
    assert check_overrides(many[1:]) == ()


@pytest.mark.parametrize("value", ["", 0, False, [], {}, 1.5, "a", [None], {"a": None}])
def test_a_value_is_written_as_it_was_read(value: t.Any) -> None:
    written = encode(decode(ClusterResourceOverride, document(rule({"value": value}))))
    assert written["spec"]["policy"]["overrideRules"][0]["jsonPatchOverrides"][0]["value"] == value
    assert encode(decode(ClusterResourceOverride, written)) == written
