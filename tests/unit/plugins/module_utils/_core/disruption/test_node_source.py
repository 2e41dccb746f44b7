# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One judgement of an object that nodes come from, whoever asks: who goes, and how much room another subnet needs."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import ClusterState
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.class_changes import class_changes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import (
    MemberNodes,
    made_of,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.node_source import (
    NodeSource,
    effect_of,
    most_nodes_of_class,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.planned_nodes import plan_changes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.subnet_change import Network, Subnet
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.karpenter.node_pool import (
    NodePool,
    decode_node_pool,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    a_claim,
    a_node,
    a_state,
)

VNET = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/"
# 16 addresses, of which the provider keeps 5.
SMALL = Network(subnets={f"{VNET}new": Subnet(prefixes=("10.3.0.0/28",))})
NODES = (a_node("a"), a_node("b"))


def a_class(subnet: str) -> dict[str, t.Any]:
    return {"kind": "AKSNodeClass", "metadata": {"name": "default"}, "spec": {"vnetSubnetID": f"{VNET}{subnet}"}}


def limited(nodes: object, node_class: str = "default", **other: str) -> NodePool:
    reference = {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": node_class} | other
    spec = {"limits": {"nodes": nodes}, "template": {"spec": {"nodeClassRef": reference}}}
    return decode_node_pool({"metadata": {"name": "p"}, "spec": spec})


def state(pool: NodePool) -> ClusterState:
    return a_state(NODES, pool=pool)


MOVE = NodeSource("AKSNodeClass", "default", a_class("gone"), a_class("new"))


@pytest.mark.parametrize(
    ("pool", "nodes"),
    [
        (limited("50"), 50),
        (limited(12), 12),
        (limited("1"), 2),
        (limited("many"), 2),
        (limited("50", "other"), 2),
        (limited("50", kind="EC2NodeClass"), 2),
        (limited("50", group="karpenter.k8s.aws"), 2),
        (limited("50", group="", kind=""), 50),
    ],
)
def test_a_class_may_come_to_have_what_the_limits_of_its_pools_admit_and_never_less_than_it_has(
    pool: NodePool, nodes: int
) -> None:
    assert most_nodes_of_class("default", state(pool)) == nodes


def test_limits_in_a_file_that_no_server_would_take_are_none() -> None:
    pool = limited("50")
    odd = {**pool.manifest, "spec": {**pool.manifest["spec"], "limits": "1h"}}
    assert most_nodes_of_class("default", state(replace(pool, manifest=odd))) == 2


def test_a_subnet_of_a_few_addresses_is_too_small_for_a_limit_of_50_nodes_d0_45() -> None:
    (finding,) = (each for each in effect_of(MOVE, state(limited("50")), SMALL).findings if each.level == "error")
    assert finding.message == "the subnet has 11 free addresses, and 50 nodes of the pool need 50"
    assert [each.level for each in effect_of(MOVE, state(limited("11")), SMALL).findings] == ["note"]


def test_more_nodes_than_there_are_may_be_told_by_who_asks_d0_45() -> None:
    told = Network(subnets=SMALL.subnets, nodes=12)
    assert "subnet-too-small" in [each.code for each in effect_of(MOVE, state(limited("2")), told).findings]


def test_files_and_programs_get_the_same_answer_d0_47() -> None:
    made = t.cast(t.Any, made_of("NodeClass", a_class("gone")))
    member = MemberNodes(
        name="m1",
        karpenter=True,
        nodes=NODES,
        claims=tuple(map(a_claim, NODES)),
        pools=(limited("50"),),
        classes=(made,),
    )
    (file,) = class_changes([member], [a_class("new")], SMALL)
    program = plan_changes([MOVE], member.whole, SMALL, "m1")
    assert dict(program.nodes) == dict(file.drifted) and list(file.drifted) == ["a", "b"]
    told = [(each.code, each.message) for each in program.problems]
    assert told == [(each.code, each.message) for each in file.problems] and told[0][0] == "subnet-too-small"


def test_with_a_pool_go_the_nodes_that_have_a_node_claim() -> None:
    some = a_state(NODES, pool=limited("50"), claims=[a_claim(NODES[0])])
    found = effect_of(NodeSource("NodePool", "p", {"metadata": {"name": "p"}}, None), some, Network())
    assert (list(found.drifted), found.count) == (["a"], 1)
