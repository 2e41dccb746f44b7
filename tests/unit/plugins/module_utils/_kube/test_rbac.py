# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The least an account needs."""

from __future__ import annotations

import itertools

from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import BUILT_IN
from ansible_collections.gitops.fleet.plugins.module_utils._kube.rbac import (
    Subject,
    apply_manifests,
    node_manifests,
    read_only_manifests,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._kube.access_rules import AccessRule, rules_of

KINDS = (BUILT_IN["apps/v1", "Deployment"], BUILT_IN["v1", "Service"])


def test_the_reading_role_holds_no_writing_verb_and_no_wildcard():
    _home, role, binding, *_parents = read_only_manifests(Subject("ServiceAccount", "runner", "ops"), KINDS)
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list"}
    assert "*" not in str(role)
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "runner", "namespace": "ops"}]
    assert AccessRule("get", path="/readyz") in rules_of([role])
    assert AccessRule("get", "namespaces") in rules_of([role]), "kube-system tells a cluster from all others"


def test_the_applying_role_grants_parents_in_one_namespace_only():
    manifests = apply_manifests(Subject("User", "ci"), KINDS)
    kinds = [manifest["kind"] for manifest in manifests]
    assert kinds == ["Namespace", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    rules = rules_of(manifests)
    assert AccessRule("patch", "configmaps", "", "gitops-fleet") in rules
    assert AccessRule("patch", "configmaps") not in rules
    assert AccessRule("delete", "namespaces") not in rules
    leases = {f"{verb} leases.coordination.k8s.io in namespace gitops-fleet" for verb in
              ("create", "delete", "get", "list", "update")}  # fmt: skip
    assert {str(rule) for rule in rules if rule.resource == "leases"} == leases
    assert {str(r) for r in rules if r.resource == "deployments"} == {
        f"{verb} deployments.apps" for verb in ("create", "delete", "get", "list", "patch")
    }


def test_namespaces_may_be_deleted_if_they_are_placed():
    assert AccessRule("delete", "namespaces") in rules_of(
        apply_manifests(Subject("User", "ci"), (*KINDS, BUILT_IN["v1", "Namespace"]))
    )


def test_the_same_kinds_print_the_same():
    subject = Subject("Group", "ci")
    assert apply_manifests(subject, KINDS) == apply_manifests(subject, KINDS[::-1])


def test_roles_of_two_accounts_have_names_of_their_own():
    """Applied one after the other on a cluster, neither takes from the other what it was given."""
    people = [Subject("User", "planner"), Subject("User", "Planner"), Subject("ServiceAccount", "planner", "ci")]
    named = [{each["metadata"]["name"] for each in read_only_manifests(one)[1:]} for one in people]
    assert all(not first & second for first, second in itertools.combinations(named, 2))
    assert "gitops-fleet-read-planner-" in " ".join(named[0])


def test_the_role_for_nodes_evicts_and_deletes_and_changes_nothing_else():
    """Whoever rotates nodes cannot read Secrets, make pods, or change what is placed."""
    rules = rules_of(node_manifests(Subject("User", "ci")))
    writing = {str(rule) for rule in rules if rule.verb not in ("get", "list") and rule.namespace == ""}
    assert writing == {
        "delete nodes", "patch nodes", "delete pods", "create pods/eviction", "delete nodeclaims.karpenter.sh",
        "delete nodepools.karpenter.sh", "patch nodepools.karpenter.sh",
        "patch aksnodeclasses.karpenter.azure.com", "patch ec2nodeclasses.karpenter.k8s.aws",
    }  # fmt: skip
    assert {rule.resource for rule in rules if rule.namespace} == {"leases"}
    reading = {rule.resource for rule in rules_of(read_only_manifests(Subject("User", "ci"), ()))}
    assert {"poddisruptionbudgets", "nodepools", "nodeclaims"} <= reading
