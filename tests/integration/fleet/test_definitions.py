# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""A CustomResourceDefinition and objects of its kind in one placement."""

from __future__ import annotations

from ansible_collections.gitops.fleet.plugins.module_utils._core.plan.brakes import BrakeLimits
from small_fleet import Document, Fleet


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
    actions = [(each.id.kind, each.action) for each in ended.of(fleet.name)["m1"].steps]
    released = [("CustomResourceDefinition", "release"), ("Namespace", "release")]
    assert sorted(actions) == sorted([(kind, "prune"), *released, ("Namespace", "prune")]), "ours goes too"
