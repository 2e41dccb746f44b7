# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Paths, discovery, lists, server-side apply and access, on a real API server."""

from __future__ import annotations

import time

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import FleetError
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import MANAGER
from ansible_collections.gitops.fleet.plugins.module_utils._kube.access import server_readiness, version, who_am_i
from ansible_collections.gitops.fleet.plugins.module_utils._kube.apply import apply_object, delete_object
from ansible_collections.gitops.fleet.plugins.module_utils._kube.discovery import discover, resource_for
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError, ApplyConflict
from ansible_collections.gitops.fleet.plugins.module_utils._kube.lists import list_objects, read_list
from ansible_collections.gitops.fleet.plugins.module_utils._kube.parallel import in_parallel
from ansible_collections.gitops.fleet.plugins.module_utils._kube.paths import BUILT_IN
from ansible_collections.gitops.fleet.plugins.module_utils._kube.rbac import (
    Subject,
    apply_manifests,
    read_only_manifests,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._kube.access_rules import missing, rules_of

MAPS = "/api/v1/namespaces/{}/configmaps"


def config_map(name, namespace="default", **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def crd(plural, kind):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.org"},
        "spec": {"group": "example.org", "scope": "Cluster", "names": names, "versions": [served]},
    }


def test_the_table_of_built_in_kinds_is_what_the_server_says(admin):
    said = dict(discover(admin).resources)
    for row in admin.get("/api/v1")["resources"]:
        if "/" not in row["name"]:
            built_in = BUILT_IN.get(("v1", row["kind"]))
            assert built_in is None or (built_in.plural, built_in.namespaced) == (row["name"], row["namespaced"])
            said["v1", row["kind"]] = built_in
    assert {key: said.get(key) for key in BUILT_IN} == dict(BUILT_IN)


def test_a_kind_that_came_later_is_found(admin):
    with pytest.raises(ApiError) as caught:
        resource_for(admin, "example.org/v1", "Later")
    assert caught.value.code == "unknown-kind"
    apply_object(admin, crd("laters", "Later"))
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            resource = resource_for(admin, "example.org/v1", "Later")
            made = apply_object(
                admin, {"apiVersion": "example.org/v1", "kind": "Later", "metadata": {"name": "a"}, "spec": {"size": 1}}
            )
            break
        except ApiError as error:
            assert error.code in ("unknown-kind", "not-found")
            time.sleep(0.1)
    assert (resource.plural, resource.namespaced) == ("laters", False)
    assert made["spec"] == {"size": 1}
    assert [item["kind"] for item in list_objects(admin, resource.path())] == ["Later"]


def test_lists_are_read_in_pages(admin):
    apply_object(admin, namespace("pages"))
    outcomes = in_parallel(
        {str(i): lambda i=i: apply_object(admin, config_map(f"m{i:03}", "pages", n=str(i))) for i in range(25)}
    )
    assert not [one for one in outcomes.values() if isinstance(one, FleetError)]
    names = [f"m{i:03}" for i in range(25)]
    path = MAPS.format("pages")
    assert [item["metadata"]["name"] for item in list_objects(admin, path, limit=10)] == names
    assert [item["metadata"]["name"] for item in read_list(admin, path, limit=7).items] == names
    only = list(list_objects(admin, path, field_selector="metadata.name=m003", metadata_only=True))
    assert [(item["kind"], item["metadata"]["name"], "data" in item) for item in only] == [
        ("PartialObjectMetadata", "m003", False)
    ]


def test_apply_conflicts_name_manager_and_field(admin):
    apply_object(admin, config_map("shared", a="1"), manager="somebody")
    with pytest.raises(ApiError) as caught:
        apply_object(admin, config_map("shared", a="2"))
    assert caught.value.code == "conflict"
    assert caught.value.conflicts == (ApplyConflict("somebody", ".data.a"),)
    assert ".data.a (somebody)" in caught.value.message
    assert apply_object(admin, config_map("shared", a="2"), force=True, dry_run=True)["data"] == {"a": "2"}
    assert admin.get(MAPS.format("default") + "/shared")["data"] == {"a": "1"}
    owned = apply_object(admin, config_map("shared", a="2"), force=True)
    assert MANAGER in [row["manager"] for row in owned["metadata"]["managedFields"]]


def test_the_second_apply_changes_nothing(admin):
    first = apply_object(admin, config_map("twice-applied", a="1"))
    again = apply_object(admin, config_map("twice-applied", a="1"))
    assert first["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]


def test_names_and_versions_are_told(server, admin):
    assert server_readiness(admin)
    assert version(admin).startswith("v1.36")
    assert who_am_i(admin).name == "admin"
    with server.client(
        impersonate=(("Impersonate-User", "jo"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    ) as c:
        assert who_am_i(c).name == "jo" and {"a", "b"} <= set(who_am_i(c).groups)


def grant(admin, manifests):
    for manifest in manifests:
        apply_object(admin, manifest)
    return rules_of(manifests)


def wait_for(client, rules):
    """The authorizer learns of new roles within a moment."""
    end = time.monotonic() + 120
    while missing(client, rules) and time.monotonic() < end:
        time.sleep(0.05)
    return missing(client, rules)


def test_the_reading_role_reads_and_does_not_write(server, admin):
    kinds = (BUILT_IN["apps/v1", "Deployment"], BUILT_IN["v1", "ConfigMap"])
    with server.client(token="token-reader") as reader:
        rules = rules_of(read_only_manifests(Subject("User", "reader"), kinds))
        lacking = {str(rule) for rule in missing(reader, rules)}
        assert {"list nodes", "list pods", "get deployments.apps"} <= lacking
        grant(admin, read_only_manifests(Subject("User", "reader"), kinds))
        assert wait_for(reader, rules) == ()
        assert server_readiness(reader) and version(reader)
        for path in ("/api/v1/nodes", "/api/v1/pods", "/apis/apps/v1/deployments", "/api/v1/configmaps"):
            assert reader.get(path)["kind"].endswith("List")
        with pytest.raises(ApiError) as caught:
            reader.get("/api/v1/secrets")
        assert caught.value.code == "forbidden" and '"secrets"' in caught.value.message
        for attempt in (
            lambda: apply_object(reader, config_map("new")),
            lambda: delete_object(reader, "/api/v1/namespaces/x"),
        ):
            with pytest.raises(ApiError) as caught:
                attempt()
            assert caught.value.code == "forbidden"


def test_the_applying_role_applies_its_kinds_only(server, admin):
    apply_object(admin, namespace("gitops-fleet"))
    subject, kinds = Subject("User", "applier"), (BUILT_IN["apps/v1", "Deployment"], BUILT_IN["v1", "Service"])
    rules = grant(admin, apply_manifests(subject, kinds))
    with server.client(token="token-applier") as applier:
        assert wait_for(applier, rules) == ()
        apply_object(applier, namespace("applied"))
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "applied"}}
        service["spec"] = {"ports": [{"port": 80}]}
        apply_object(applier, service)
        assert delete_object(applier, "/api/v1/namespaces/applied/services/web")
        apply_object(applier, config_map("parent", "gitops-fleet"))
        with pytest.raises(ApiError) as caught:
            apply_object(applier, config_map("elsewhere", "applied"))
        assert caught.value.code == "forbidden" and 'patch resource "configmaps"' in caught.value.message
        with pytest.raises(ApiError) as caught:
            delete_object(applier, "/api/v1/namespaces/applied")
        assert caught.value.code == "forbidden" and 'delete resource "namespaces"' in caught.value.message


def test_a_role_that_lacks_one_verb_is_told_which(server, admin):
    """Server-side apply of a new object needs create besides patch."""
    role, binding = apply_manifests(Subject("User", "almost"), (BUILT_IN["batch/v1", "Job"],))[1:3]
    role["metadata"]["name"] = binding["metadata"]["name"] = binding["roleRef"]["name"] = "no-create"
    expected = rules_of([role])
    for rule in role["rules"]:
        rule["verbs"] = [verb for verb in rule["verbs"] if verb != "create"]
    grant(admin, (role, binding))
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": spec}
    with server.client(token="token-almost") as client:
        assert wait_for(client, rules_of([role])) == ()
        assert {str(rule) for rule in missing(client, expected)} == {"create jobs.batch", "create namespaces"}
        with pytest.raises(ApiError) as caught:
            apply_object(client, job)
    assert caught.value.code == "forbidden" and "create" in caught.value.message
