# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Patches of NodePools and node classes: what they are, and what has to be said before they are written."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.budgets.lint import ERROR, NOTE, Lint
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.node_source import SourceEffect
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.source_patch import (
    PatchLeave,
    read_patches,
    unconfirmed_routes,
    why_withheld,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.subnet_change import PATH, ROUTES
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError

AKS: dict[str, t.Any] = {
    "apiVersion": "karpenter.azure.com/v1beta1",
    "kind": "AKSNodeClass",
    "metadata": {"name": "default"},
    "spec": {"imageFamily": "Ubuntu"},
}
EC2 = {**AKS, "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass"}
POOL = {**AKS, "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": {"weight": 7}}
ROUTE = Lint(code=ROUTES, level=NOTE, path=PATH, message="look at the routes")
OVERLAP = Lint(code="subnet-overlap", level=ERROR, path=PATH, message="it overlaps")
(CLASS,) = read_patches([AKS])


def test_each_kind_has_its_place_on_a_server() -> None:
    assert [each.path for each in read_patches([AKS, EC2, POOL])] == [
        "/apis/karpenter.azure.com/v1beta1/aksnodeclasses/default",
        "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default",
        "/apis/karpenter.sh/v1/nodepools/default",
    ]
    labelled = {**POOL, "metadata": {"name": "p", "labels": {"a": "b"}, "uid": "u"}}
    assert read_patches([labelled])[0].patch == {"spec": {"weight": 7}, "metadata": {"labels": {"a": "b"}}}


def test_what_a_machine_runs_at_its_start_is_written_and_never_shown() -> None:
    (found,) = read_patches([{**EC2, "spec": {"userData": "token", "role": "nodes"}}])
    assert found.patch["spec"]["userData"] == "token"
    assert "token" not in str(found.shown) and found.shown["spec"]["role"] == "nodes"


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({**AKS, "apiVersion": "karpenter.azure.com/v2"}, "unsupported-version"),
        ({**AKS, "apiVersion": "karpenter.k8s.aws/v1"}, "unsupported-version"),
        ({**AKS, "metadata": {}}, "missing-field"),
        ({**AKS, "metadata": []}, "wrong-type"),
        ({**AKS, "spec": 7}, "wrong-type"),
        ({"budgets": [{"nodes": "1"}]}, "missing-field"),
        ({**POOL, "spec": {"weight": "heavy"}}, "wrong-type"),
    ],
)
def test_what_is_no_part_of_a_pool_or_a_class_is_refused(document: dict[str, t.Any], code: str) -> None:
    with pytest.raises(FleetError) as error:
        read_patches([document])
    assert code in {each.code for each in error.value.problems}


@pytest.mark.parametrize("document", [{"budgets": []}, {"spec": {"weight": 7}}, {**POOL, "metadata": {}}])
def test_a_patch_without_a_name_is_told_so_once(document: dict[str, t.Any]) -> None:
    with pytest.raises(FleetError) as error:
        read_patches([document])
    assert [each.code for each in error.value.problems] == ["missing-field"]


def test_all_problems_of_all_patches_are_told_at_once() -> None:
    with pytest.raises(FleetError) as error:
        read_patches([AKS, AKS, {**EC2, "metadata": {}}, {**AKS, "apiVersion": ""}])
    assert sorted(each.code for each in error.value.problems) == ["missing-field", "named-twice", "unsupported-version"]


def test_one_object_in_two_api_versions_is_named_twice() -> None:
    """Each would be judged against the object as it is, and both together may drift more."""
    with pytest.raises(FleetError) as error:
        read_patches([AKS, {**AKS, "apiVersion": "karpenter.azure.com/v1alpha2"}])
    assert [(each.code, each.where) for each in error.value.problems] == [("named-twice", "AKSNodeClass/default")]


def test_routes_that_nobody_confirmed_hold_a_patch_back_d0_46() -> None:
    effect = SourceEffect(findings=(ROUTE,))
    (found,) = why_withheld(CLASS, effect, PatchLeave(drift=True), "m1")
    assert found.code == ROUTES and found.where == "m1 AKSNodeClass/default" and "confirm_routes" in found.hint
    assert unconfirmed_routes(effect) == ("look at the routes",)
    assert why_withheld(CLASS, effect, PatchLeave(drift=True, routes=True), "m1") == ()


def test_no_leave_lets_through_what_speaks_against_a_subnet_d0_44() -> None:
    (found,) = why_withheld(CLASS, SourceEffect(findings=(OVERLAP,)), PatchLeave(drift=True, routes=True), "m1")
    assert (found.code, found.message) == ("subnet-overlap", "it overlaps")


def test_nodes_that_drift_or_may_need_consent_d0_19() -> None:
    sure = SourceEffect(drifted={"a": "why", "b": "why"}, unsure={"c": "why"}, findings=(ROUTE,))
    assert [each.code for each in why_withheld(CLASS, sure, PatchLeave(), "m1")] == [ROUTES, "drift-without-consent"]
    assert why_withheld(CLASS, sure, PatchLeave(routes=True), "m1")[0].message == (
        "this marks 2 existing nodes Drifted, which replaces them: a, b; "
        "it may mark 1 existing node Drifted, which replaces it: c"
    ), "consent is to all that it may cost"
    unsure = why_withheld(CLASS, SourceEffect(unsure={"c": "why"}), PatchLeave(), "m1")
    assert "may mark 1 existing node " in unsure[0].message
    assert why_withheld(CLASS, SourceEffect(unsure={"c": "why"}), PatchLeave(drift=True), "m1") == ()


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({**AKS, "kind": {}}, "unknown-kind"),
        ({**AKS, "kind": ["AKSNodeClass"]}, "unknown-kind"),
        ({**POOL, "metadata": ["name"]}, "missing-field"),
        ({**POOL, "metadata": "name"}, "missing-field"),
        ({**AKS, "metadata": "name"}, "wrong-type"),
        ({**AKS, "metadata": {"name": "../../x"}}, "invalid-name"),
        ({**AKS, "metadata": {"name": {"a": 1}}}, "invalid-name"),
        ({**POOL, "metadata": {"name": "a/b"}}, "invalid-name"),
        ({**AKS, "metadata": {"name": "a", "labels": ["x"]}}, "wrong-type"),
        ({**AKS, "metadata": {"name": "a", "annotations": "x"}}, "wrong-type"),
        (["x"], "missing-field"),
        ("x", "missing-field"),
    ],
)
def test_patches_of_any_shape_are_refused_and_end_nothing(document: t.Any, code: str) -> None:
    with pytest.raises(FleetError) as error:
        read_patches([document])
    assert code in {each.code for each in error.value.problems}, error.value


def test_what_kubectl_kept_of_a_manifest_is_neither_written_nor_shown() -> None:
    """``kubectl get -o yaml`` prints the whole of what was applied, secrets among it."""
    notes = {
        "kubectl.kubernetes.io/last-applied-configuration": '{"spec": {"userData": "token"}}',
        "karpenter.k8s.aws/x": "seen",
        "example.com/note": "token",
    }
    (found,) = read_patches([{**EC2, "metadata": {"name": "a", "annotations": notes, "labels": {"team": "b"}}}])
    assert found.patch["metadata"]["annotations"] == {"karpenter.k8s.aws/x": "seen", "example.com/note": "token"}
    assert "token" not in str(found.shown) and found.shown["metadata"]["labels"] == {"team": "b"}
    assert found.shown["metadata"]["annotations"] == {"karpenter.k8s.aws/x": "seen", "example.com/note": "(not shown)"}
    (only,) = read_patches([{**EC2, "metadata": {"name": "a", "annotations": dict([next(iter(notes.items()))])}}])
    assert "metadata" not in only.patch
