# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes are made, replaced and deleted."""

from __future__ import annotations

import contextlib
import dataclasses
from unittest import mock

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._kube.errors import ApiError
from ansible_collections.gitops.fleet.plugins.module_utils._local.nodes import (
    NodeChanges,
    carry_out,
    changes,
    count_by_pool,
    successor,
    unready,
    wanted_nodes,
)
from ansible_collections.gitops.fleet.plugins.module_utils._local.spec import ClusterSpec, NodesSpec

POOL = NodesSpec(3, "work", labels={"tier": "a"}, age="30d", instance_type="m5")
SPEC = ClusterSpec("one", profile="fleet", nodes=(POOL,), region="eu")


def nodes(pool: NodesSpec = POOL, cluster_version: str = "1.36.3"):
    return wanted_nodes(dataclasses.replace(SPEC, nodes=(pool,)), cluster_version)


def test_nodes_are_named_for_cluster_pool_and_number():
    assert [node["metadata"]["name"] for node in nodes()] == ["one-work-0", "one-work-1", "one-work-2"]


def test_the_first_description_makes_all_the_second_nothing():
    todo = changes(nodes(), ())
    assert len(todo.make) == 3 and todo.words() == ("make 3 simulated nodes",)
    assert changes(nodes(), todo.make).words() == ()


def test_counts_change_at_the_end_of_a_pool():
    fewer, more = dataclasses.replace(POOL, count=1), dataclasses.replace(POOL, count=4)
    assert changes(nodes(fewer), nodes()).delete == ("one-work-1", "one-work-2")
    assert [node["metadata"]["name"] for node in changes(nodes(more), nodes()).make] == ["one-work-3"]


@pytest.mark.parametrize("code", ["not-found", "forbidden"])
def test_a_node_that_others_have_deleted_meanwhile_keeps_nobody_from_the_rest(code: str):
    """A rotation, or Karpenter, may do so at any time; what is refused is not passed over."""
    client = mock.Mock(server_name="one")
    client.delete.side_effect = ApiError(code, "one-work-1", "one")
    new = changes(nodes(), ()).make[0]
    with pytest.raises(ApiError) if code == "forbidden" else contextlib.nullcontext():
        carry_out(client, NodeChanges(make=(new,), delete=("one-work-1",)))
    assert client.post.called is (code == "not-found")


def test_another_image_is_another_node():
    todo = changes(nodes(dataclasses.replace(POOL, image="other")), nodes())
    assert todo.words() == ("replace 3 simulated nodes",) and len(todo.delete) == len(todo.make) == 3


def test_an_upgrade_of_the_control_plane_leaves_nodes_behind():
    assert changes(nodes(cluster_version="1.36.3"), nodes(cluster_version="1.35.4")).words() == ()
    versions = {node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes(cluster_version="1.35.4")}
    assert versions == {"v1.35.4"}


def test_what_others_put_on_a_node_stays():
    touched = [dict(node) for node in nodes()]
    touched[0]["metadata"] = {**touched[0]["metadata"], "labels": {**touched[0]["metadata"]["labels"], "mine": "yes"}}
    touched[1]["spec"] = {**touched[1]["spec"], "unschedulable": True}
    assert changes(nodes(), touched).words() == ()


def test_labels_of_what_was_not_asked_for_are_left_out():
    labels = nodes()[0]["metadata"]["labels"]
    assert "topology.kubernetes.io/zone" not in labels and labels["topology.kubernetes.io/region"] == "eu"
    assert labels["karpenter.sh/nodepool"] == "work" and labels["node.kubernetes.io/instance-type"] == "m5"


def test_labels_of_the_pool_are_put_on_also_without_a_value():
    (node,) = nodes(NodesSpec(1, labels={"node-role.kubernetes.io/worker": "", "topology.kubernetes.io/zone": "eu-1"}))
    assert node["metadata"]["labels"]["node-role.kubernetes.io/worker"] == ""
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "eu-1"


def test_what_the_pool_says_by_an_option_wins_over_its_labels():
    (node,) = nodes(NodesSpec(1, zone="eu-2", labels={"topology.kubernetes.io/zone": "", "kubernetes.io/os": "plan9"}))
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "eu-2"
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "linux"


def test_a_node_is_ready_when_pods_would_land_on_it():
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    one, two, three = (dict(node) for node in nodes())
    two["status"] = three["status"] = ready
    three["spec"] = {"taints": [{"key": "node.kubernetes.io/not-ready"}]}
    assert unready((one, two, three)) == ("one-work-0", "one-work-2")
    assert count_by_pool((one, two, three)) == {"work": 3}


def test_a_node_that_came_in_the_place_of_another_is_that_one():
    """After a rotation nothing is to be made or deleted; its name is always the same for the same old node."""
    (old,) = wanted_nodes(ClusterSpec("c", profile="fleet", nodes=(NodesSpec(1, age="30d"),)), "1.36.3")
    old["metadata"]["uid"] = "u1"
    new = successor(old, "v1.37.0", "")
    assert new["metadata"]["name"].startswith("c-default-0-") and new == successor(old, "v1.37.0", "")
    assert new["metadata"]["labels"]["kubernetes.io/hostname"] == new["metadata"]["name"]
    assert "gitops.fleet/simulated-age" not in new["metadata"]["annotations"]
    assert changes([old], [new]).words() == ()
    assert changes([old], [old, new]).delete == (new["metadata"]["name"],)
    new["metadata"]["uid"] = "u2"
    assert successor(new, "", "")["metadata"]["name"].count("-") == new["metadata"]["name"].count("-")


def test_the_name_of_a_successor_is_not_too_long_either():
    (old, *_others) = wanted_nodes(ClusterSpec("a" * 40, profile="fleet", nodes=(NodesSpec(10, "b" * 20),)), "1.36.3")
    assert len(old["metadata"]["name"]) == 63
    old["metadata"]["uid"] = "u1"
    new = successor(old, "", "")
    old["metadata"]["uid"] = "u2"
    names = {new["metadata"]["name"], successor(old, "", "")["metadata"]["name"]}
    assert len(names) == 2 and all(len(name) <= 63 for name in names)
    assert changes([old], [new]).words() == ()
