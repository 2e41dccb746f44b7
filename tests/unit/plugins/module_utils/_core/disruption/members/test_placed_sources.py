# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a plan of placements says of the nodes that its NodePools and node classes replace."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import MemberNodes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.placed_sources import (
    PlacedSource,
    is_source,
    replaced_nodes,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.errors import Problem
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.sources_made import (
    CLASS,
    SUBNETS,
    a_class,
    member,
    pool,
)


def told(document: t.Any, *members: MemberNodes, kind: str = "NodePool", name: str = "p", **more: t.Any) -> list[str]:
    on = more.pop("on", [each.name for each in members])
    sources = [
        PlacedSource(placement="pools", member=each, kind=kind, name=name, document=document, **more) for each in on
    ]
    return [str(each) for each in replaced_nodes(sources, {each.name: each for each in members}).notes]


def test_a_static_change_names_how_many_nodes_of_which_clusters_go() -> None:
    assert told(pool({"team": "b"}), member("west", 1), member("east", 3)) == [
        "pools NodePool/p: 4 nodes on 2 clusters will be replaced or end: east (3), west (1)"
        " (NodePoolDrifted: spec.template.metadata.labels.team of NodePool p changes) [nodes-replaced]"
    ]


def test_what_changes_no_node_is_not_told() -> None:
    """A field that is not sent stays as it is; a pool that is new has no nodes, nor has one without any."""
    assert told(pool({"team": "a"}, weight=9), member("east", 3)) == []
    assert told(pool({"team": "b"}), member("east", 0)) == []
    assert told({**pool({"team": "b"}), "metadata": {"name": "new"}}, member("east", 3), name="new") == []


def test_a_field_that_is_sent_no_more_goes_and_replaces_nodes_too() -> None:
    (text,) = told(pool({"team": "a"}), member("east", 2), given_up=("spec.template.metadata.labels.tier",))
    assert "2 nodes on 1 cluster will be replaced" in text and "labels.tier of NodePool p changes" in text
    (text,) = told(pool({}), member("east", 2), given_up=('spec.template.metadata.labels["team"]',))
    assert "labels.team of NodePool p changes" in text


def test_a_pool_that_is_taken_away_takes_its_nodes_with_it() -> None:
    (text,) = told(None, member("east", 2))
    assert "2 nodes on 1 cluster will be replaced or end: east (2) (its NodePool p is deleted)" in text


def test_what_is_wrong_with_a_new_subnet_is_told_with_its_clusters_d0_47() -> None:
    moved = a_class(vnetSubnetID=f"{SUBNETS}new")
    replaced, refused = told(moved, member("east", 1), member("west", 1), kind="AKSNodeClass", name="default")
    assert "2 nodes on 2 clusters" in replaced
    assert refused.startswith("pools AKSNodeClass/default spec.vnetSubnetID: ")
    assert refused.endswith(": on east, west [subnet-migration-unsupported]")


def test_a_field_that_is_never_read_leaves_it_open() -> None:
    same = a_class(**CLASS, userData="other")
    assert told(same, member("east", 2), kind="AKSNodeClass", name="default") == []
    (text,) = told(same, member("east", 2), kind="AKSNodeClass", name="default", changed=("spec.userData",))
    assert "2 nodes on 1 cluster may be replaced: east (2)" in text and text.endswith("[nodes-unsure]")


def test_clusters_whose_nodes_nobody_has_read_are_named() -> None:
    blind = member("north", 1, missing={"NodeClaim": Problem("forbidden", "no")})
    (text,) = told(pool({"team": "a"}), blind, on=["north", "south"])
    assert "not known of 2 clusters, whose nodes were not read: north, south [nodes-unread]" in text


def test_only_what_nodes_come_from_counts() -> None:
    assert is_source("karpenter.sh", "NodePool") and is_source("karpenter.k8s.aws", "EC2NodeClass")
    assert not is_source("example.com", "NodePool") and not is_source("karpenter.sh", "NodeClaim")
