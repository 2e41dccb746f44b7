# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Resource selection."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.scopes import likely_scopes
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.catalog import catalog_of
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.selection import Selected, select
from ansible_collections.gitops.fleet.plugins.module_utils._core.values.selector import (
    LabelSelector,
    LabelSelectorRequirement,
)


@dataclass(frozen=True)
class Choice:
    group: str
    version: str
    kind: str
    name: str = ""
    label_selector: LabelSelector | None = None
    selection_scope: str = "NamespaceWithResources"


def thing(api_version: str, kind: str, name: str, namespace: str = "", **metadata: t.Any) -> dict[str, t.Any]:
    located = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **located, **metadata}}


OBJECTS = (
    thing("v1", "Namespace", "web", labels={"team": "a"}),
    thing("v1", "Namespace", "api", labels={"team": "a"}),
    thing("v1", "Namespace", "kube-system", labels={"team": "k"}),
    thing("apps/v1", "Deployment", "shop", "web"),
    thing("v1", "ConfigMap", "settings", "web"),
    thing("v1", "Secret", "keys", "web"),
    thing("v1", "Pod", "shop-1", "web"),
    thing("v1", "ConfigMap", "settings", "api"),
    thing("rbac.authorization.k8s.io/v1", "ClusterRole", "reader", labels={"team": "a"}),
    thing("rbac.authorization.k8s.io/v1", "ClusterRole", "writer"),
)
RBAC = ("rbac.authorization.k8s.io", "v1", "ClusterRole")
TEAM_A = LabelSelector({"team": "a"})


def chosen(*selectors: Choice, objects: tuple[dict[str, t.Any], ...] = OBJECTS, namespace: str = "") -> Selected:
    return select(selectors, catalog_of(objects, likely_scopes(objects)), namespace)


def names(selected: Selected) -> list[str]:
    return [str(identify(one)) for one in selected.objects]


def codes(selected: Selected) -> list[str]:
    return [one.code for one in selected.problems]


def test_a_namespace_stands_for_itself_and_all_its_contents_d4_06_d4_08() -> None:
    selected = chosen(Choice("", "v1", "Namespace", "web"))
    assert names(selected) == ["Namespace web", "Secret web/keys", "ConfigMap web/settings", "Deployment web/shop"]
    assert [one.message.split(" is ")[0] for one in selected.findings] == ["Pod web/shop-1"]
    assert selected.problems == ()


def test_a_namespace_alone() -> None:
    assert names(chosen(Choice("", "v1", "Namespace", "web", selection_scope="NamespaceOnly"))) == ["Namespace web"]


def test_selectors_form_a_union_by_name_label_or_kind_d4_07() -> None:
    assert names(chosen(Choice(*RBAC))) == ["ClusterRole reader", "ClusterRole writer"]
    assert names(chosen(Choice(*RBAC, label_selector=TEAM_A))) == ["ClusterRole reader"]
    both = chosen(Choice(*RBAC, name="writer"), Choice("", "v1", "Namespace", "api"))
    assert names(both) == ["Namespace api", "ConfigMap api/settings", "ClusterRole writer"]


def test_one_object_reached_twice_is_a_problem_that_names_both_selectors_d4_07() -> None:
    selected = chosen(Choice(*RBAC), Choice(*RBAC, name="reader"))
    assert codes(selected) == ["duplicate-selection"]
    assert "spec.resourceSelectors[0]" in selected.problems[0].message
    assert selected.problems[0].where == "spec.resourceSelectors[1]"


def test_one_object_in_two_manifests_is_a_problem_if_it_is_selected() -> None:
    again = (
        *OBJECTS,
        thing("apps/v1", "Deployment", "shop", "web"),
        thing("apps/v1beta1", "Deployment", "shop", "web"),
    )
    assert set(codes(chosen(Choice("", "v1", "Namespace", "web"), objects=again))) == {"duplicate-object"}
    assert codes(chosen(Choice("", "v1", "Namespace", "api"), objects=again)) == []


def test_a_missing_name_adds_nothing_and_is_told() -> None:
    selected = chosen(Choice(*RBAC, name="nobody"))
    assert (selected.objects, selected.problems) == ((), ())
    assert selected.findings[0].code == "missing-object"
    other_version = chosen(Choice("rbac.authorization.k8s.io", "v1beta1", "ClusterRole", "reader"))
    assert "version v1" in other_version.findings[0].hint


def test_contents_without_a_manifest_of_their_namespace_are_pointed_out() -> None:
    selected = chosen(Choice("", "v1", "Namespace", "web"), objects=OBJECTS[3:5])
    assert selected.objects == ()
    assert "no manifest of the Namespace itself" in selected.findings[0].hint


def test_what_is_being_deleted_adds_nothing() -> None:
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    objects = (
        thing("v1", "Namespace", "web", **leaving),
        thing("v1", "ConfigMap", "settings", "web"),
        thing(f"{RBAC[0]}/v1", "ClusterRole", "reader", **leaving),
    )
    selected = chosen(Choice("", "v1", "Namespace", "web"), Choice(*RBAC), objects=objects)
    assert selected.objects == ()
    assert [one.code for one in selected.findings] == ["being-deleted", "being-deleted"]


@pytest.mark.parametrize("scope", ["NamespaceOnly", "NamespaceWithResources", "NamespaceWithResourceSelectors"])
def test_a_reserved_namespace_is_refused_in_every_scope_d4_10(scope: str) -> None:
    assert codes(chosen(Choice("", "v1", "Namespace", "kube-system", selection_scope=scope))) == ["reserved-namespace"]


def test_a_reserved_namespace_reached_by_label_is_refused_too() -> None:
    assert codes(chosen(Choice("", "v1", "Namespace", label_selector=LabelSelector({"team": "k"})))) == [
        "reserved-namespace"
    ]


def test_a_namespaced_kind_needs_its_namespace_named() -> None:
    selected = chosen(Choice("", "v1", "ConfigMap", "settings"))
    assert codes(selected) == ["wrong-scope"]
    assert "NamespaceWithResourceSelectors" in selected.problems[0].hint


def test_selectors_inside_one_namespace() -> None:
    web = Choice("", "v1", "Namespace", "web", selection_scope="NamespaceWithResourceSelectors")
    selected = chosen(web, Choice("", "v1", "ConfigMap"), Choice(*RBAC, name="reader"))
    assert names(selected) == ["Namespace web", "ConfigMap web/settings", "ClusterRole reader"]
    gone = Choice("", "v1", "Namespace", "gone", selection_scope="NamespaceWithResourceSelectors")
    assert codes(chosen(gone, Choice("", "v1", "ConfigMap"))) == ["missing-namespace"]


def test_the_namespace_that_selectors_look_into_must_not_be_leaving() -> None:
    leaving = thing("v1", "Namespace", "web", deletionTimestamp="2026-01-01T00:00:00Z")
    web = Choice("", "v1", "Namespace", "web", selection_scope="NamespaceWithResourceSelectors")
    selected = chosen(web, Choice("", "v1", "ConfigMap"), objects=(leaving, *OBJECTS[3:]))
    assert (codes(selected), selected.objects) == (["missing-namespace"], ())


def test_a_namespaced_placement_selects_in_its_own_namespace_only_d4_05() -> None:
    both = chosen(Choice("", "v1", "ConfigMap"), Choice("apps", "v1", "Deployment", "shop"), namespace="web")
    assert names(both) == ["ConfigMap web/settings", "Deployment web/shop"]
    assert names(chosen(Choice("", "v1", "ConfigMap", "settings"), namespace="api")) == ["ConfigMap api/settings"]
    missing = chosen(Choice("apps", "v1", "Deployment", "shop"), namespace="api")
    assert (missing.objects, [one.code for one in missing.findings]) == ((), ["missing-object"])


@pytest.mark.parametrize("choice", [Choice(*RBAC), Choice("", "v1", "Namespace", "web")])
def test_a_namespaced_placement_selects_no_cluster_scoped_kind(choice: Choice) -> None:
    selected = chosen(choice, namespace="web")
    assert codes(selected) == ["wrong-scope"]
    assert "ClusterResourcePlacement" in selected.problems[0].hint


def test_an_unknown_kind_is_a_problem_until_its_definition_is_there() -> None:
    widget = Choice("example.com", "v1", "Widget")
    assert codes(chosen(widget)) == ["unknown-kind"]
    definition = thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.com")
    definition["spec"] = {"group": "example.com", "names": {"kind": "Widget"}, "scope": "Cluster"}
    assert codes(chosen(widget, objects=(definition,))) == []


def test_ignored_kinds_and_bad_selectors_are_told() -> None:
    assert [one.code for one in chosen(Choice("", "v1", "Pod")).findings] == ["never-placed"]
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement("a", "In"),))
    selected = chosen(Choice(*RBAC, label_selector=bad))
    assert selected.problems[0].where == "spec.resourceSelectors[0].labelSelector.matchExpressions[0].values"


def test_an_unnamed_manifest_is_a_problem_not_a_crash() -> None:
    assert codes(chosen(Choice(*RBAC), objects=({"kind": "X"},))) == ["unnamed-object"]


@pytest.mark.parametrize("key", ["labels", "annotations"])
def test_labels_that_are_no_map_are_a_problem_of_what_is_selected(key: str) -> None:
    odd = thing(f"{RBAC[0]}/v1", "ClusterRole", "odd", **{key: ["a"]})
    found = chosen(Choice(*RBAC, name="odd"), objects=(odd,))
    assert [(one.code, one.where) for one in found.problems] == [
        ("malformed-metadata", f"ClusterRole odd metadata.{key}")
    ]
    assert codes(chosen(Choice(*RBAC, label_selector=TEAM_A), objects=(odd,))) == []


@pytest.mark.parametrize("key", ["labels", "annotations"])
@pytest.mark.parametrize("marks", [{"kubernetes.io/bootstrapping": ["a"]}, {"": {"a": "b"}}, {"a": 1}])
def test_labels_that_map_to_no_texts_are_a_problem_of_what_is_selected(key: str, marks: t.Any) -> None:
    odd = thing(f"{RBAC[0]}/v1", "ClusterRole", "odd", **{key: marks})
    found = chosen(Choice(*RBAC, name="odd"), objects=(odd,))
    assert [(one.code, one.where) for one in found.problems] == [
        ("malformed-metadata", f"ClusterRole odd metadata.{key}")
    ]


@pytest.mark.parametrize("scope", ["NamespaceOnly", "NamespaceWithResources", "NamespaceWithResourceSelectors"])
def test_the_fleets_own_namespace_is_refused_in_every_scope(scope: str) -> None:
    objects = (
        thing("v1", "Namespace", "gitops-fleet"),
        thing("v1", "Secret", "gitops-fleet-digest-key", "gitops-fleet"),
    )
    selectors = [Choice("", "v1", "Namespace", "gitops-fleet", selection_scope=scope)]
    selectors += [Choice("", "v1", "Secret")] if scope == "NamespaceWithResourceSelectors" else []
    selected = chosen(*selectors, objects=objects)
    assert codes(selected) == ["reserved-namespace"] and names(selected) == []


def test_nobody_selects_it_from_inside_either() -> None:
    objects = (thing("v1", "Secret", "gitops-fleet-digest-key", "gitops-fleet"),)
    selected = chosen(Choice("", "v1", "Secret"), objects=objects, namespace="gitops-fleet")
    assert names(selected) == [] and [each.code for each in selected.findings] == ["never-placed"]


def test_credentials_of_members_are_left_out_of_their_namespace() -> None:
    selectors = (Choice("", "v1", "Namespace", "web"),)
    selected = select(selectors, catalog_of(OBJECTS, likely_scopes(OBJECTS)), credentials={("web", "keys")})
    assert "Secret web/keys" not in names(selected)
    assert "Secret web/keys" in [each.where for each in selected.findings]


def test_a_webhook_that_could_stop_a_cluster_is_a_problem() -> None:
    rules = [{"apiGroups": ["*"], "resources": ["*"]}]
    made = thing("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "gate")
    objects = ({**made, "webhooks": [{"name": "gate.example.org", "rules": rules}]},)
    choice = Choice("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "gate")
    assert codes(chosen(choice, objects=objects)) == ["stops-cluster"]


def test_a_cluster_scoped_object_has_no_namespace_whatever_its_manifest_says() -> None:
    """API servers drop what many charts write there: it is one object, and in no namespace."""
    role = thing(f"{RBAC[0]}/v1", "ClusterRole", "loader", "web")
    definition = thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.com")
    definition["spec"] = {"group": "example.com", "names": {"kind": "Widget"}, "scope": "Cluster"}
    widget = thing("example.com/v1", "Widget", "w", "web")
    objects = (OBJECTS[0], role, definition, widget)
    found = chosen(Choice(*RBAC), Choice("example.com", "v1", "Widget"), objects=objects)
    assert names(found) == ["ClusterRole loader", "Widget w"] and not codes(found)
    assert [each["metadata"] for each in found.objects] == [{"name": "loader"}, {"name": "w"}]
    assert role["metadata"]["namespace"] == "web"
    assert names(chosen(Choice("", "v1", "Namespace", "web"), objects=objects)) == ["Namespace web"]
    again = (role, thing(f"{RBAC[0]}/v1", "ClusterRole", "loader"))
    assert codes(chosen(Choice(*RBAC), objects=again)) == ["duplicate-object"]
