# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes of an EC2NodeClass drift when its ``subnetSelectorTerms`` select other subnets, by zone, and of which
nobody can tell (provider of AWS, ``SubnetDrift``).

The API server tells the subnets of the class and the zone of a node, and not the subnet of a node.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ..cluster.state_node import ZONE, StateNode
from ..objects.karpenter.node_class import NodeSubnet
from .methods.drift import Drift

SUBNET_DRIFT = "SubnetDrift"


def subnet_drift(
    before: t.Sequence[NodeSubnet], terms: t.Any, nodes: t.Iterable[StateNode]
) -> tuple[dict[str, Drift], dict[str, str]]:
    """By name, in the order of ``nodes``: why a node drifts, and of others why nobody can tell from here. A node drifts
    if no subnet of its zone is left; if all are, it stays. Nobody can tell if some are, if the class tells none of its
    zone, or if a term without an ``id`` may still select those that are gone. ``before`` are the subnets that the class
    has found, ``terms`` the new selector terms; what is no list selects nothing."""
    rows = [each for each in terms if isinstance(each, Mapping)] if isinstance(terms, (list, tuple)) else []
    named = {str(each["id"]) for each in rows if each.get("id")}
    looked_up = any(not each.get("id") for each in rows)
    drifted: dict[str, Drift] = {}
    unsure: dict[str, str] = {}
    for node in nodes:
        zone = node.labels.get(ZONE, "")
        homes = [each.id for each in before if zone and each.zone == zone]
        gone = [each for each in homes if each not in named]
        if not homes:
            unsure[node.name] = f"its class does not tell what subnets it has in zone {zone or 'unknown'}"
        elif not gone:
            continue
        elif looked_up:
            unsure[node.name] = f"a term by tags or CIDR may still select {', '.join(gone)}"
        elif len(gone) == len(homes):
            drifted[node.name] = Drift(SUBNET_DRIFT, f"no subnet of zone {zone} is left: {', '.join(gone)} goes")
        else:
            kept = ", ".join(each for each in homes if each in named)
            unsure[node.name] = f"it stands in {', '.join(gone)}, which goes, or in {kept}, which stays"
    return drifted, unsure
