# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Accounts that may do just what the printed roles permit, on a real API server with RBAC."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object, delete_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.discovery import resource_for
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import BUILT_IN, object_path
from ansible_collections.gitops.fleet.plugins.module_utils._kube.rbac import (
    Subject,
    apply_manifests,
    read_only_manifests,
)
from further_user import client_kubeconfig
from small_fleet import OURS, Document, Fleet, Server, codes

SECRET = BUILT_IN["v1", "Secret"]
CONFIG_MAP = BUILT_IN["v1", "ConfigMap"]
Grant = t.Callable[[str, t.Iterable[Document]], Path]


@pytest.fixture
def grant(servers: dict[str, Server]) -> t.Iterator[Grant]:
    """A kubeconfig of a new user of m1 who may do what the manifests say, and no more."""
    server = servers["m1"]
    granted: list[Document] = []

    def give(user: str, manifests: t.Iterable[Document]) -> Path:
        for each in manifests:
            apply_object(server.client, each, "administrator")
            granted.append(each)
        return client_kubeconfig(server.folder, user)

    yield give
    for each in granted:
        resource = resource_for(server.client, each["apiVersion"], each["kind"])
        delete_object(server.client, object_path(resource, each, ""))


CLUSTER_ROLE: Document = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "tell-the-cluster"},
    "rules": [
        {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["kube-system"], "verbs": ["get"]},
    ],
}


def binding(user: str) -> Document:
    """Of the role that tells a cluster from others, and nothing else."""
    return {
        "apiVersion": CLUSTER_ROLE["apiVersion"],
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"tell-the-cluster-{user}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tell-the-cluster"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }


def our_namespace(server: Server) -> None:
    """The role for the ApplySets stands in it, so whoever grants the roles makes it first."""
    if server.get(OURS) is None:
        server.client.post("/api/v1/namespaces", {"metadata": {"name": "gitops-fleet"}})


def test_a_look_needs_no_more_than_the_read_only_role(file_fleet: Fleet, grant: Grant) -> None:
    file_fleet.join("m1")
    file_fleet.place()
    reader = grant("reader", read_only_manifests(Subject("User", "reader"), [CONFIG_MAP]))
    file_fleet.log_in("m1", reader)
    with file_fleet.writing() as written:
        assert file_fleet.look().changed
    assert written == []
    file_fleet.mend("m1")
    file_fleet.apply()
    file_fleet.log_in("m1", reader)
    with file_fleet.writing() as written:
        looked = file_fleet.look()
    assert written == [] and not looked.changed and not looked.problems


def test_a_look_at_other_kinds_needs_the_role_for_those_kinds_only(file_fleet: Fleet, grant: Grant) -> None:
    """The ApplySets are ConfigMaps in our own namespace; the role has to let them be read there."""
    file_fleet.join("m1")
    file_fleet.resources({**file_fleet.configmap(), "kind": "Secret", "data": {"color": "Ymx1ZQ=="}})
    file_fleet.place()
    file_fleet.apply()
    our_namespace(file_fleet.servers["m1"])
    file_fleet.log_in("m1", grant("secretary", read_only_manifests(Subject("User", "secretary"), [SECRET])))
    looked = file_fleet.look()
    assert not looked.problems and not looked.changed


def test_an_apply_with_the_read_only_role_names_what_is_lacking(file_fleet: Fleet, grant: Grant) -> None:
    file_fleet.join("m1")
    file_fleet.place()
    file_fleet.log_in("m1", grant("reader", read_only_manifests(Subject("User", "reader"), [CONFIG_MAP])))
    report = file_fleet.apply()
    assert "forbidden" in codes(report) and file_fleet.holders() == []
    lacking = 'cannot create resource "leases"'
    assert all("reader" in str(each) and lacking in str(each) for each in report.problems), report.problems


def test_apply_change_and_removal_need_no_more_than_the_apply_role(file_fleet: Fleet, grant: Grant) -> None:
    fleet = file_fleet
    our_namespace(fleet.servers["m1"])
    fleet.join("m1")
    fleet.log_in("m1", grant("applier", apply_manifests(Subject("User", "applier"), [CONFIG_MAP])))
    fleet.place()
    assert not fleet.apply().problems and fleet.holders() == ["m1"]
    fleet.servers["m1"].patch(fleet.namespaced("configmaps", "settings"), {"data": {"color": "black"}})
    fleet.resources(fleet.configmap(color="red"), fleet.configmap("other"))
    assert not fleet.apply().problems
    fleet.resources(fleet.configmap(color="red"))
    assert not fleet.apply().problems
    assert not fleet.end(limits=BrakeLimits(max_removals="100%")).problems
    assert fleet.holders() == [] and fleet.record() is None


def test_a_kind_outside_the_apply_role_is_named_and_hides_no_other(file_fleet: Fleet, grant: Grant) -> None:
    fleet = file_fleet
    our_namespace(fleet.servers["m1"])
    fleet.join("m1")
    fleet.log_in("m1", grant("applier", apply_manifests(Subject("User", "applier"), [CONFIG_MAP])))
    quota: Document = {**fleet.configmap("few"), "kind": "ResourceQuota", "spec": {"hard": {"pods": "1"}}}
    del quota["data"]
    fleet.resources(fleet.configmap(), quota)
    fleet.place()
    report = fleet.apply()
    assert report.problems and all("resourcequotas" in str(each) for each in report.problems), report.problems


def test_a_member_that_refuses_the_account_cannot_be_joined(file_fleet: Fleet, grant: Grant) -> None:
    """/version is open to every account that logs in, but not which cluster it is."""
    nobody = grant("nobody", ())
    file_fleet.log_in("m1", nobody)
    with pytest.raises(FleetError) as refused:
        file_fleet.join("m1")
    assert refused.value.code == "forbidden" and "resourceNames: [kube-system]" in refused.value.hint
    file_fleet.mend("m1")
    file_fleet.join("m1")
    file_fleet.log_in("m1", grant("teller", (CLUSTER_ROLE, binding("teller"))))
    file_fleet.place()
    with pytest.raises(FleetError) as refused:
        file_fleet.apply()
    assert refused.value.code == "forbidden" and "nodes" in str(refused.value)
