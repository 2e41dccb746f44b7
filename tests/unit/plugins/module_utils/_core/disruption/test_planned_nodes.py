# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What a program's NodePools and node classes do to nodes: who is replaced, what is refused."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.node_source import NodeSource
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.planned_nodes import NodesPlan, plan_changes
from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.subnet_change import Network, Subnet
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    a_claim,
    a_node,
    a_state,
)

VNET = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/"
SUBNETS = {
    f"{VNET}old": Subnet(prefixes=("10.1.0.0/24",)),
    f"{VNET}new": Subnet(prefixes=("10.2.0.0/24",)),
    f"{VNET}tight": Subnet(prefixes=("10.3.0.0/29",), used=2),
}
NETWORK = Network(subnets=SUBNETS, pod_cidrs=("10.2.0.0/16",))


def a_class(subnet: str | None) -> dict[str, t.Any]:
    spec = {} if subnet is None else {"vnetSubnetID": f"{VNET}{subnet}"}
    return {"kind": "AKSNodeClass", "metadata": {"name": "default"}, "spec": spec}


def a_pool(weight: int, expiry: str) -> dict[str, t.Any]:
    return {"metadata": {"name": "p"}, "spec": {"weight": weight, "template": {"spec": {"expireAfter": expiry}}}}


def planned(*changes: NodeSource, network: Network = NETWORK, allow_move: bool = False) -> NodesPlan:
    made = [a_node("a", "p"), a_node("b", "p"), a_node("c", "q")]
    claims = [a_claim(made[0]), a_claim(made[1]), a_claim(made[2], node_class="other")]
    return plan_changes(changes, a_state(made, claims=claims), network, "east", allow_move)


def moved(before: str, after: str) -> NodeSource:
    return NodeSource("AKSNodeClass", "default", a_class(before), a_class(after))


def test_a_change_of_a_class_names_the_nodes_made_from_it_d0_47_d0_48():
    found = planned(moved("gone", "old"))
    assert list(found.nodes) == ["a", "b"] and found.problems == ()
    assert found.notes[0] == "east: this change of AKSNodeClass default replaces 2 nodes: a, b"
    assert "confirm that nodes of this subnet reach" in found.notes[1]


def test_nodes_that_may_be_replaced_are_told_where_only_the_provider_knows():
    """They are no ``nodes`` of the plan, which are replaced for certain."""
    old, new = ({"metadata": {"name": "ec2"}, "spec": {"amiSelectorTerms": [{"id": each}]}} for each in ("a", "b"))
    nodes = [a_node("a"), a_node("b")]
    claims = [a_claim(each, node_class="ec2", class_kind="EC2NodeClass") for each in nodes]
    change = NodeSource("EC2NodeClass", "ec2", old, new)
    found = plan_changes([change], a_state(nodes, claims=claims), NETWORK, "east")
    assert found.nodes == {} and found.problems == ()
    (note,) = found.notes
    assert note.startswith("east: this change of EC2NodeClass ec2 may replace 2 nodes: a, b (spec.amiSelectorTerms")


def test_an_overlap_is_refused_with_both_ranges_also_of_a_class_that_is_new_d0_47():
    """Of a new class nothing is moved, so that is not said."""
    for change in (moved("gone", "new"), NodeSource("AKSNodeClass", "default", None, a_class("new"))):
        (problem,) = planned(change).problems
        assert problem.code == "subnet-overlap" and "10.2.0.0/24" in problem.message
        assert "10.2.0.0/16" in problem.message and problem.where == "east: AKSNodeClass/default spec.vnetSubnetID"


def test_a_move_between_good_subnets_needs_a_word_d0_41_d0_47():
    (problem,) = planned(moved("old", "new"), network=Network(subnets=SUBNETS)).problems
    assert problem.code == "subnet-migration-unsupported" and "allow_subnet_move" in problem.hint
    allowed = planned(moved("old", "new"), network=Network(subnets=SUBNETS), allow_move=True)
    assert allowed.problems == () and "allowed by an explicit override" in allowed.notes[1]


def test_the_nodes_that_are_replaced_need_addresses_d0_45_d0_47():
    (problem,) = planned(moved("gone", "tight")).problems
    assert problem.code == "subnet-too-small" and "1 free address, and 2 nodes" in problem.message


def test_the_nodes_that_a_new_pool_may_make_need_addresses_d0_45_d0_47():
    """Also where the class is new, and no node is there yet; not of a pool that goes."""
    reference = {"kind": "AKSNodeClass", "name": "fresh"}
    spec = {"limits": {"nodes": "3"}, "template": {"spec": {"nodeClassRef": reference}}}
    pool = {"metadata": {"name": "new"}, "spec": spec}
    new_class = NodeSource("AKSNodeClass", "fresh", None, a_class("tight"))
    assert planned(new_class).problems == ()
    (problem,) = planned(new_class, NodeSource("NodePool", "new", None, pool)).problems
    assert problem.code == "subnet-too-small" and "1 free address, and 3 nodes" in problem.message
    assert planned(new_class, NodeSource("NodePool", "new", pool, None)).problems == ()


def test_a_range_that_is_none_is_told_and_no_traceback():
    network = Network(subnets={f"{VNET}new": Subnet(prefixes=("10.2.0/24",))})
    (problem,) = planned(NodeSource("AKSNodeClass", "default", None, a_class("new")), network=network).problems
    assert problem.code == "invalid-cidr"


def test_of_a_pool_only_what_its_nodes_are_made_from_replaces_them():
    assert planned(NodeSource("NodePool", "p", a_pool(1, "720h"), a_pool(2, "720h"))).nodes == {}
    assert list(planned(NodeSource("NodePool", "p", a_pool(1, "720h"), a_pool(1, "24h"))).nodes) == ["a", "b"]
    assert planned(NodeSource("NodePool", "p", None, a_pool(1, "720h"))) == NodesPlan()


def test_a_pool_that_goes_takes_its_nodes_with_it():
    found = planned(NodeSource("NodePool", "p", a_pool(1, "720h"), None))
    assert found.nodes == dict.fromkeys(("a", "b"), "its NodePool p is deleted")
    assert found.notes == ("east: deleting NodePool p ends 2 nodes: a, b",)
