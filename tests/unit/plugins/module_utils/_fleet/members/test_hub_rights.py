# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rights on the hub by part: an approver writes nothing but gates, nobody has a wildcard."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.members.hub_rights import (
    APPROVER,
    CONDUCTOR,
    MAINTAINER,
    PARTS,
    READER,
    SCHEDULER,
    STAGED_APPROVER,
    hub_manifests,
    job_manifests,
)
from ansible_collections.gitops.fleet.plugins.module_utils._kube.rbac import Subject

ANNA = Subject("User", "anna")


def granted(purpose: str) -> set[tuple[str, str, str]]:
    """Namespace, resource and verb."""
    return {
        (each["metadata"].get("namespace", ""), resource, verb)
        for each in hub_manifests(purpose, ANNA)
        for rule in each.get("rules", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def writes(purpose: str) -> set[str]:
    return {resource for _namespace, resource, verb in granted(purpose) if verb not in ("get", "list")}


def test_who_writes_what() -> None:
    assert writes(READER) == set()
    assert writes(APPROVER) == {"gates/status", "auditentries"}
    assert writes(STAGED_APPROVER) == {"approvalrequests/status", "clusterapprovalrequests/status", "auditentries"}
    assert writes(MAINTAINER) == {"fleetmaintenances", "auditentries"}
    assert writes(SCHEDULER) - writes(CONDUCTOR) == {
        "autoupgradeprofiles",
        "autoupgradeprofiles/status",
    }
    assert granted(CONDUCTOR) < granted(SCHEDULER)


@pytest.mark.parametrize("purpose", PARTS)
def test_evidence_is_added_to_and_neither_changed_nor_deleted(purpose: str) -> None:
    allowed = {verb for _namespace, resource, verb in granted(purpose) if resource == "auditentries"}
    assert allowed <= {"get", "list", "create"}


@pytest.mark.parametrize("purpose", PARTS)
def test_nothing_is_granted_wholesale(purpose: str) -> None:
    found = granted(purpose)
    assert not [each for each in found if "*" in each[1:]]
    assert {each for each in found if each[1] == "secrets"} <= {("gitops-fleet", "secrets", "get")}
    rules = [rule for each in hub_manifests(purpose, ANNA) for rule in each.get("rules", ())]
    named = [rule.get("resourceNames") for rule in rules if "secrets" in rule["resources"]]
    assert named in ([], [["gitops-fleet-records-id"]]), "the id of the records, which opens nothing"
    assert {namespace for namespace, resource, _verb in found if resource == "leases"} <= {"gitops-fleet"}
    bound: list[t.Any] = [each for each in hub_manifests(purpose, ANNA) if each["kind"].endswith("Binding")]
    assert bound and all(each["subjects"] == [ANNA.as_dict()] for each in bound)


def test_jobs_are_made_in_one_namespace_and_secrets_are_not_read() -> None:
    namespace, role, binding = job_manifests(ANNA)
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    found = {(name, verb) for rule in role["rules"] for name in rule["resources"] for verb in rule["verbs"]}
    assert {verb for name, verb in found if name == "secrets"} == {"create"}
    assert {verb for name, verb in found if name == "jobs"} == {"get", "list", "create", "delete"}
    assert {each["metadata"]["namespace"] for each in (role, binding)} == {"gitops-fleet-jobs"}
    assert (role["kind"], binding["kind"]) == ("Role", "RoleBinding")
