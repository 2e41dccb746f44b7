# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What disruption budgets count of a node: Ready, initialized, marked, deleting, terminating (Karpenter)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CountedNode:
    """What the count needs to know of a Node and its NodeClaim. ``ready`` is the status of the Node's condition, empty
    where it is missing. ``marked``: a running command marked it (``StateNode.marked``)."""

    name: str
    pool: str = ""
    has_node: bool = True
    has_node_claim: bool = True
    initialized: bool = True
    ready: str = "True"
    marked: bool = False
    node_claim_deleting: bool = False
    instance_terminating: bool = False
