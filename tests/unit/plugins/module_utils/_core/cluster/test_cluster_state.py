# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which Node and which NodeClaim belong together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.cluster_state import (
    assemble,
    with_overlooked,
)
from ansible_collections.gitops.fleet.plugins.module_utils._core.cluster.state_node import Node, StateNode
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import a_claim, a_node

STARTING = Node(name="a", labels={"karpenter.sh/nodepool": "p"}, ready="False")


def pairs(nodes: tuple[StateNode, ...]) -> list[tuple[str, str]]:
    return sorted((each.node_name, each.claim.name if each.claim else "") for each in nodes)


@pytest.mark.parametrize(("named", "owner"), [("a", "a"), ("b", "b"), ("gone", "a")])
def test_of_two_nodes_of_one_machine_one_has_its_node_claim(named: str, owner: str) -> None:
    """That which the NodeClaim names, else the first; or both would have one name before they are registered."""
    nodes = [a_node(name, provider_id="kwok://1", labels={"karpenter.sh/initialized": ""}) for name in "ab"]
    claim = a_claim(named)
    claim = replace(claim, status=replace(claim.status, provider_id="kwok://1"))
    found = assemble(nodes, [claim]).nodes
    assert pairs(found) == sorted((name, claim.name if name == owner else "") for name in "ab")
    assert len({each.name for each in found}) == 2


def test_a_node_that_karpenter_overlooks_and_its_node_claim_are_one_node_to_us() -> None:
    """To Karpenter they are not: it looks at the NodeClaim alone."""
    state = assemble([STARTING, a_node("b")], [a_claim("a", labels={"karpenter.sh/nodepool": "p"}), a_claim("b")])
    assert pairs(state.nodes) == [("", "claim-a"), ("b", "claim-b")] and pairs(state.overlooked) == [("a", "")]
    whole = with_overlooked(state)
    assert pairs(whole.nodes) == [("a", "claim-a"), ("b", "claim-b")] and whole.overlooked == ()


def test_a_node_that_karpenter_overlooks_may_be_nobodys() -> None:
    assert pairs(with_overlooked(assemble([STARTING], [a_claim("b")])).nodes) == [("", "claim-b"), ("a", "")]
