# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Members with a NodePool ``p`` of one node class and its nodes, and the documents that are placed there."""

from __future__ import annotations

import typing as t

from ansible_collections.gitops.fleet.plugins.module_utils._core.disruption.members.member_nodes import (
    MemberNodes,
    made_of,
)
from ansible_collections.gitops.fleet.tests.unit.plugins.module_utils._core.disruption.nodes_made import (
    a_claim,
    a_node,
)

SUBNETS = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/"
CLASS = {"vnetSubnetID": f"{SUBNETS}old", "imageFamily": "Ubuntu"}


def pool(labels: t.Mapping[str, str], weight: int = 1) -> dict[str, t.Any]:
    reference = {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default"}
    template = {"metadata": {"labels": dict(labels)}, "spec": {"nodeClassRef": reference}}
    return {"kind": "NodePool", "metadata": {"name": "p"}, "spec": {"weight": weight, "template": template}}


def a_class(**spec: t.Any) -> dict[str, t.Any]:
    return {"kind": "AKSNodeClass", "metadata": {"name": "default"}, "spec": spec}


def member(name: str, nodes: int, **more: t.Any) -> MemberNodes:
    """With pool ``p``, whose nodes bear ``team=a`` and ``tier=1``, and its class."""
    made = tuple(a_node(f"{name}-{number}") for number in range(nodes))
    return MemberNodes(
        name=name,
        karpenter=True,
        nodes=made,
        claims=tuple(map(a_claim, made)),
        pools=(t.cast(t.Any, made_of("NodePool", pool({"team": "a", "tier": "1"}))),),
        classes=(t.cast(t.Any, made_of("NodeClass", a_class(**CLASS))),),
        **more,
    )
