# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import json
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import ObjectId
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import (
    ApplySet,
    InventoryEntry,
    applyset_id,
    parent_manifest,
    parent_name,
    read_parent,
    with_part_of_label,
)

CONFIG = ObjectId("", "v1", "ConfigMap", "test", "one")
WORK = ObjectId("apps", "v1", "Deployment", "test", "web")
OURS = ObjectId("", "v1", "Secret", "gitops-fleet", "two")
NAMESPACE = ObjectId("", "v1", "Namespace", "", "test")

SET = ApplySet(
    placement="web",
    uid="u-1",
    generation=3,
    policy_snapshot="web-1",
    policy_hash="p",
    resource_snapshot="web-2-snapshot",
    resource_hash="r",
    decision={"affinityScore": 5, "priorityScore": None},
    inventory=(
        InventoryEntry(id=CONFIG, hash="1"),
        InventoryEntry(id=WORK, hash=""),
        InventoryEntry(id=OURS, hash="2"),
        InventoryEntry(id=NAMESPACE, hash="3"),
    ),
)


def test_the_parent_reads_back_to_the_same_set() -> None:
    assert read_parent(json.loads(json.dumps(parent_manifest(SET)))) == SET
    empty = ApplySet(placement="web", uid="")
    assert read_parent(parent_manifest(empty)) == empty


def test_a_placement_in_a_namespace_has_a_parent_of_its_own() -> None:
    """F6: none of no namespace can be called so, whose names have 63 characters at most."""
    inside = replace(SET, placement="shop/web")
    assert read_parent(json.loads(json.dumps(parent_manifest(inside)))) == inside
    names = [parent_name(each) for each in ("web", "shop/web", "pub/web", "shop.web")]
    assert len(set(names)) == 4 and names[0] == "web" and names[3] == "shop.web"
    assert len(names[1]) > 63 and names[1].startswith("shop.web.") and "/" not in names[1]
    assert inside.id != SET.id


def test_the_parent_is_one_that_every_tool_for_applysets_understands() -> None:
    parent = parent_manifest(SET)
    metadata = parent["metadata"]
    assert (parent["kind"], metadata["namespace"], metadata["name"]) == ("ConfigMap", "gitops-fleet", "web")
    assert metadata["labels"]["applyset.kubernetes.io/id"] == SET.id
    assert metadata["annotations"] == {
        "applyset.kubernetes.io/tooling": "gitops.fleet/v1",
        "applyset.kubernetes.io/contains-group-kinds": "ConfigMap,Deployment.apps,Namespace,Secret",
        "applyset.kubernetes.io/additional-namespaces": "test",
    }
    assert all(isinstance(value, str) for value in parent["data"].values())


def test_the_id_is_that_of_the_published_formula() -> None:
    # base64url(sha256("web.gitops-fleet.ConfigMap.")) without padding
    assert applyset_id("web") == "applyset-sYhPUX3ZGoYsDdUcevxUcF0paMizqrZdpWDNXaFvcj4-v1"
    assert applyset_id("web") != applyset_id("db")
    assert len(applyset_id("x" * 63)) <= 63


@pytest.mark.parametrize(
    "parent",
    [
        {},
        {"data": None},
        {"data": {}},
        {"metadata": {"name": "web"}, "data": {"placement": "{", "record": "{}", "inventory": "[]"}},
        {"data": {"placement": "[]", "record": "{}", "inventory": "[]"}},
        {"data": {**parent_manifest(SET)["data"], "inventory": "[[1]]"}},
        {"data": {**parent_manifest(SET)["data"], "record": "{}"}},
    ],
)
def test_a_parent_that_is_not_ours_is_refused(parent: dict) -> None:
    with pytest.raises(ValueError, match="is not an ApplySet of ours"):
        read_parent(parent)


def damaged(**data: object) -> dict:
    """The parent of SET with other data; what is no text is written as JSON."""
    parent = parent_manifest(SET)
    return {**parent, "data": parent["data"] | {k: v if isinstance(v, str) else json.dumps(v) for k, v in data.items()}}


RECORD = json.loads(parent_manifest(SET)["data"]["record"])


@pytest.mark.parametrize(
    "parent",
    [
        {"metadata": []},
        {"metadata": {"name": "web"}, "data": []},
        {"metadata": {"name": "web"}, "data": {"placement": {}, "record": "{}", "inventory": "[]"}},
        damaged(placement={"name": "db", "uid": "u", "generation": 1}),
        damaged(placement={"name": "web", "uid": 7, "generation": 1}),
        damaged(placement={"name": "web", "uid": "u", "generation": "canary"}),
        damaged(placement="[" * 100_000),
        damaged(record=RECORD | {"decision": ["canary"]}),
        damaged(record=RECORD | {"decision": {"affinityScore": "canary"}}),
        damaged(record=RECORD | {"decision": {"affinityScore": 2**63}}),
        damaged(record=RECORD | {"resourceHash": 7}),
        damaged(record=RECORD | {"resourceSnapshot": "canary-3-snapshot"}),
        damaged(record=RECORD | {"resourceSnapshot": "canary"}),
        damaged(record=RECORD | {"policySnapshot": f"web-{'9' * 70}"}),
        damaged(inventory={}),
        damaged(inventory=[["", "v1", "ConfigMap", "a", "b"]]),
        damaged(inventory=[["", "v1", "ConfigMap", "a", "b", 7]]),
        damaged(inventory=[["", "v1", "ConfigMap", "..", "../../secrets/canary", ""]]),
        damaged(inventory=[["", "v1", "ConfigMap", "a", "..", ""]]),
        damaged(inventory=[["", "v1", "ConfigMap", "..", "canary", ""]]),
        damaged(inventory=[["", "v1", "ConfigMap", "a", "canary\x1b", ""]]),
        damaged(inventory=[["", "v1", "::error::canary", "a", "b", ""]]),
        damaged(inventory=[["", "v1", "ConfigMap", "a", "b", "canary\n"]]),
    ],
)
def test_a_damaged_parent_is_refused_without_its_content(parent: dict) -> None:
    with pytest.raises(ValueError, match="is not an ApplySet of ours") as caught:
        read_parent(parent)
    assert "canary" not in str(caught.value)


def test_names_with_all_that_servers_allow_are_read() -> None:
    role = ObjectId("rbac.authorization.k8s.io", "v1", "ClusterRole", "", "system:controller:a b@c")
    whole = replace(SET, inventory=(InventoryEntry(id=role, hash="1"),))
    assert read_parent(parent_manifest(whole)) == whole


def test_the_generation_alone_is_no_new_content() -> None:
    assert SET.same_content(replace(SET, generation=9))
    assert not SET.same_content(replace(SET, resource_hash="s"))
    assert not SET.same_content(None)


def test_a_placed_object_carries_the_label_and_the_manifest_stays_as_it_was() -> None:
    manifest = {"kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "y"}}}
    placed = with_part_of_label(manifest, "applyset-z-v1")
    assert placed["metadata"]["labels"] == {"x": "y", "applyset.kubernetes.io/part-of": "applyset-z-v1"}
    assert manifest["metadata"] == {"name": "a", "labels": {"x": "y"}}
    assert with_part_of_label({"kind": "X"}, "i")["metadata"]["labels"] == {"applyset.kubernetes.io/part-of": "i"}
