# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The Nodes of a state with their pods, made into the places (hosts) that topology spread, pod affinity and
anti-affinity count."""

from __future__ import annotations

import typing as t

from ...cluster.cluster_state import ClusterState
from ...cluster.state_node import StateNode
from .requirement import of_labels
from .settings import Settings
from .topology import Landscape, PodHost
from .topology_group import PossibleDomains


def landscape(state: ClusterState, possible: t.Mapping[str, PossibleDomains], settings: Settings) -> Landscape:
    """All Nodes of a state with all their pods, by name, those that Karpenter does not look at yet last and not
    ``known``; ``possible`` are the domains in which pools could make nodes, by label."""
    places = [_place(each, True) for each in state.nodes if each.node is not None]
    return Landscape(tuple(places + [_place(each, False) for each in state.overlooked]), possible, settings)


def _place(each: StateNode, known: bool) -> PodHost:
    """The node as a place that constraints count. ValueError without a Node."""
    node = each.node
    if node is None:
        raise ValueError(f"{each.name} has no Node")
    return PodHost(
        name=each.name,
        labels=node.labels,
        requirements=of_labels(node.labels),
        taints=node.taints,
        pods=each.pods,
        known=known,
        stays=not each.deleting,
    )
