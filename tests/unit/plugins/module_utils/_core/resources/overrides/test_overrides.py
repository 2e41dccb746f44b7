# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Overrides: which act, in which order, and what becomes of an object."""

from __future__ import annotations

import itertools
import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.clusters.member_cluster import MemberCluster
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import identify
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.override import (
    ClusterResourceOverride,
    Override,
    ResourceOverride,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.overrides.override_rules import check_overrides
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.placements.cluster_resource_placement import (
    ClusterResourcePlacement,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.overrides.overrides import (
    acting,
    attached,
    overridden,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.schema.codec import decode

ALL: dict[str, t.Any] = {"clusterSelectorTerms": []}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {}},
    "spec": {"replicas": 1},
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {}}}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "keys", "namespace": "shop"},
    "data": {"k": "b2xk"},
}
WEB = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"}
SHOP = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
PARIS = decode(MemberCluster, {"metadata": {"name": "paris", "labels": {"region": "eu"}}})


def label(value: t.Any, on: t.Any = "all", key: str = "from") -> dict[str, t.Any]:
    """A rule that writes a label."""
    patch = {"op": "add", "path": f"/metadata/labels/{key}", "value": value}
    return {"clusterSelector": ALL if on == "all" else on, "jsonPatchOverrides": [patch]}


def cluster_wide(name: str, *rules: t.Any, selectors: t.Any = (SHOP,), placement: t.Any = None) -> Override:
    spec = {
        "clusterResourceSelectors": list(selectors),
        "policy": {"overrideRules": list(rules)},
        "placement": placement,
    }
    return decode(ClusterResourceOverride, {"metadata": {"name": name}, "spec": spec})


def local(
    name: str, *rules: t.Any, selectors: t.Any = (WEB,), namespace: str = "shop", placement: t.Any = None
) -> Override:
    spec = {"resourceSelectors": list(selectors), "policy": {"overrideRules": list(rules)}, "placement": placement}
    return decode(ResourceOverride, {"metadata": {"name": name, "namespace": namespace}, "spec": spec})


def placement(name: str = "p", namespace: str = "") -> ClusterResourcePlacement:
    kind = "ResourcePlacement" if namespace else "ClusterResourcePlacement"
    return decode(ClusterResourcePlacement, {"kind": kind, "metadata": {"name": name, "namespace": namespace}})


DELETE = {"clusterSelector": ALL, "overrideType": "Delete"}
IDS = [identify(DEPLOYMENT), identify(NAMESPACE)]


def names(overrides: t.Iterable[Override]) -> list[str]:
    return [each.name for each in overrides]


def test_later_ones_win_cluster_wide_before_local_by_name() -> None:
    overrides = [local("a", label("third")), cluster_wide("b", label("second")), cluster_wide("a", label("first"))]
    for order in itertools.permutations(overrides):
        found = overridden(DEPLOYMENT, order, PARIS)
        assert found.manifest == {**DEPLOYMENT, "metadata": {**DEPLOYMENT["metadata"], "labels": {"from": "third"}}}


def test_names_decide_who_wins_and_not_the_indices_of_snapshots() -> None:
    """Upstream sorts names of snapshots, so that another index can turn the order around."""

    def winner(*names: str) -> str:
        found = overridden(DEPLOYMENT, [cluster_wide(one, label(one)) for one in names], PARIS).manifest
        assert found is not None
        return str(found["metadata"]["labels"]["from"])

    assert winner("web-1", "web") == "web-1"
    assert winner("web-10", "web-1-0") == "web-10"


def test_rules_and_patches_of_one_override_run_in_order() -> None:
    found = overridden(DEPLOYMENT, [local("a", label("one"), label("two"))], PARIS)
    assert found.manifest is not None
    assert found.manifest["metadata"]["labels"] == {"from": "two"}


def test_a_namespace_stands_for_itself_and_everything_in_it() -> None:
    override = cluster_wide("o", label("x"))
    for manifest in (DEPLOYMENT, NAMESPACE):
        found = overridden(manifest, [override], PARIS).manifest
        assert found is not None and found["metadata"]["labels"] == {"from": "x"}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "shop"}}
    assert overridden(role, [override], PARIS).manifest == role


def test_a_local_override_reaches_its_own_namespace_only() -> None:
    assert overridden(DEPLOYMENT, [local("o", label("x"), namespace="other")], PARIS).manifest == DEPLOYMENT
    other_version = local("o", label("x"), selectors=[{**WEB, "version": "v2"}])
    assert overridden(DEPLOYMENT, [other_version], PARIS).manifest == DEPLOYMENT


@pytest.mark.parametrize(
    ("selector", "acts"),
    [
        (None, False),
        (ALL, True),
        ({"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"region": "eu"}}}]}, True),
        ({"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"region": "us"}}}]}, False),
        ({"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"region": "us"}}}, {"labelSelector": {}}]}, True),
        ({"clusterSelectorTerms": [{}]}, False),
    ],
    ids=["absent", "no terms", "match", "no match", "any of two", "no labels"],
)
def test_who_a_rule_acts_on(selector: t.Any, acts: bool) -> None:
    override = local("o", label("x", selector))
    assert (overridden(DEPLOYMENT, [override], PARIS).manifest != DEPLOYMENT) is acts
    assert names(each.override for each in acting([override], PARIS)) == (["o"] if acts else [])


def test_delete_leaves_the_object_out_and_ends_its_own_override() -> None:
    found = overridden(DEPLOYMENT, [local("o", DELETE, label("x"))], PARIS)
    assert (found.manifest, found.problems) == (None, ())


def test_a_later_override_has_nothing_to_patch_and_is_ignored() -> None:
    found = overridden(DEPLOYMENT, [cluster_wide("o", DELETE), local("o", label("x"))], PARIS)
    assert (found.manifest, found.problems) == (None, ())


def test_variables_name_the_cluster_and_its_labels() -> None:
    rule = label("${MEMBER-CLUSTER-NAME}-${MEMBER-CLUSTER-LABEL-KEY-region}")
    found = overridden(DEPLOYMENT, [local("o", rule)], PARIS)
    assert found.manifest is not None and found.manifest["metadata"]["labels"] == {"from": "paris-eu"}


def test_what_cannot_be_done_is_a_problem_with_its_path() -> None:
    wrong = {"clusterSelector": ALL, "jsonPatchOverrides": [{"op": "remove", "path": "/spec/gone"}]}
    found = overridden(DEPLOYMENT, [local("o", label("x"), wrong)], PARIS)
    (problem,) = found.problems
    assert found.manifest is None
    assert problem.code == "override-failed"
    assert problem.where == "ResourceOverride/shop/o spec.policy.overrideRules[1].jsonPatchOverrides[0].path"
    assert "Deployment shop/web for paris" in problem.message


def test_all_labels_that_a_rule_misses_are_named_at_once() -> None:
    values = [f"${{MEMBER-CLUSTER-LABEL-KEY-{key}}}" for key in ("a", "b")]
    patches = [{"op": "add", "path": "/spec/x", "value": value} for value in values]
    rule = {"clusterSelector": ALL, "jsonPatchOverrides": patches}
    found = overridden(DEPLOYMENT, [local("o", rule)], PARIS)
    assert [each.code for each in found.problems] == ["override-label-missing"] * 2
    assert found.problems[1].where.endswith("overrideRules[0].jsonPatchOverrides[1].value")


def test_the_values_of_a_secret_are_patched() -> None:
    selectors = [{"group": "", "version": "v1", "kind": "Secret", "name": "keys"}]
    patches = [
        {"op": "replace", "path": "/data/k", "value": "bmV3"},
        {"op": "add", "path": "/data", "value": {"n": "bmV3"}},
    ]
    rule = {"clusterSelector": ALL, "jsonPatchOverrides": patches}
    found = overridden(SECRET, [local("o", rule, selectors=selectors)], PARIS)
    assert found.manifest is not None and found.manifest["data"] == {"n": "bmV3"}


def test_attached_are_those_that_name_a_selected_object() -> None:
    overrides = [
        local("z", label("x")),
        local("other", label("x"), selectors=[{**WEB, "name": "api"}]),
        cluster_wide("b", label("x")),
        cluster_wide("a", label("x"), selectors=[{**SHOP, "name": "elsewhere"}]),
    ]
    assert names(attached(overrides, placement(), IDS)) == ["b", "z"]
    assert names(attached(overrides, placement(), [identify(NAMESPACE)])) == ["b"]


@pytest.mark.parametrize(
    ("reference", "belongs_to"),
    [
        (None, {"p", "shop/p", "other/p"}),
        ({"name": "p"}, {"p"}),
        ({"name": "q"}, set()),
        ({"name": "p", "scope": "Namespaced"}, {"shop/p"}),
    ],
)
def test_an_override_may_belong_to_one_placement(reference: t.Any, belongs_to: set[str]) -> None:
    override = local("o", label("x"), placement=reference)
    placements = {"p": placement(), "shop/p": placement("p", "shop"), "other/p": placement("p", "other")}
    assert {name for name, each in placements.items() if attached([override], each, IDS)} == belongs_to


def test_a_cluster_wide_override_never_belongs_to_a_namespaced_placement() -> None:
    override = cluster_wide("o", label("x"), placement={"name": "p", "scope": "Namespaced"})
    assert attached([override], placement("p", "shop"), IDS) == ()


def test_two_overrides_of_one_object_meet_in_a_placement_that_both_concern() -> None:
    both = [local("a", label("a")), local("b", label("b"), placement={"name": "other"})]
    found = [identify(DEPLOYMENT)]
    assert check_overrides(attached(both, placement("p"), found)) == ()
    (told,) = check_overrides(attached(both, placement("other"), found))
    assert told.code == "overridden-twice"
