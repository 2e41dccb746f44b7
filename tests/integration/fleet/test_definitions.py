# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A CustomResourceDefinition and objects of its kind in one placement."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from ansible_collections.gitops.fleet.plugins.module_utils._kube.discovery import discover
from member_gateway import until
from small_fleet import Document, Fleet, Server


def test_a_definition_and_its_objects_are_placed_in_one_apply(file_fleet: Fleet) -> None:
    """And leave it: the object is pruned, its definition, which may serve others, is released."""
    fleet = file_fleet
    kind, plural = f"Thing{fleet.number}", f"things{fleet.number}"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definition: Document = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{fleet.name}.example.org"},
        "spec": {
            "group": f"{fleet.name}.example.org",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    metadata = {"name": "one", "namespace": fleet.namespace}
    thing: Document = {"apiVersion": f"{fleet.name}.example.org/v1", "kind": kind, "metadata": metadata, "size": 1}
    fleet.join("m1")
    fleet.resources(definition, thing)
    placement = fleet.placement()
    name = definition["metadata"]["name"]
    group = {"group": "apiextensions.k8s.io", "version": "v1", "kind": "CustomResourceDefinition", "name": name}
    placement["spec"]["resourceSelectors"].append(group)
    assert not fleet.apply(definition=placement).problems
    assert not fleet.apply(definition=placement).changed
    ended = fleet.end(limits=BrakeLimits(max_removals="100%"))
    assert not ended.problems
    actions = [(each.id.kind, each.action) for each in ended.outcomes_of(fleet.name)["m1"].steps]
    released = [("CustomResourceDefinition", "release"), ("Namespace", "release")]
    assert sorted(actions) == sorted([(kind, "prune"), *released, ("Namespace", "prune")]), "ours goes too"


def test_an_object_whose_version_is_not_served_any_more_is_removed_in_another(file_fleet: Fleet) -> None:
    """What holds on the member is the kind, whatever version it was written in."""
    fleet = file_fleet
    kind, plural, group = f"Old{fleet.number}", f"olds{fleet.number}", f"{fleet.name}.example.net"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": schema},
        {"name": "v1beta1", "served": True, "storage": False, "schema": schema},
    ]
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    definition: Document = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": versions},
    }
    fleet.join("m1")
    server = fleet.servers["m1"]
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    server.client.post(definitions, definition)
    until(lambda: is_served(server, group, "v1beta1"))
    metadata = {"name": "one", "namespace": fleet.namespace}
    fleet.resources({"apiVersion": f"{group}/v1beta1", "kind": kind, "metadata": metadata, "size": 1})
    fleet.place()
    assert not fleet.apply().problems
    versions[1]["served"] = False
    server.patch(f"{definitions}/{plural}.{group}", {"spec": {"versions": versions}})
    until(lambda: not is_served(server, group, "v1beta1"))
    fleet.resources()
    removed = fleet.apply(limits=BrakeLimits(max_object_removals="100%"))
    assert not removed.problems
    assert [(each.id.kind, each.action) for each in removed.outcomes_of(fleet.name)["m1"].changes] == [(kind, "prune")]
    assert server.get(f"/apis/{group}/v1/namespaces/{fleet.namespace}/{plural}/one") is None


def is_served(server: Server, group: str, version: str) -> bool:
    """As discovery tells, by which kinds are found."""
    found = discover(server.client).resources
    return any(api_version == f"{group}/{version}" for api_version, _kind in found)
