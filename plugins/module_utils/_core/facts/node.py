# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What one node says of itself: the per-node facts of a snapshot."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..objects.meta import EMPTY

POOL_LABELS = (
    "gitops.fleet/pool",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
)


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    """One node. ``pool`` comes from the first of the well-known pool labels, ``version`` is the kubelet's."""

    name: str
    pool: str = ""
    created_at: datetime | None = None
    version: str = ""
    image: str = ""
    instance_type: str = ""
    ready: bool = False
    unschedulable: bool = False
    capacity: t.Mapping[str, str] = field(default=EMPTY)
    allocatable: t.Mapping[str, str] = field(default=EMPTY)


def node_facts(node: t.Mapping[str, t.Any], created_at: datetime | None) -> NodeFacts:
    """The facts of a core/v1 Node manifest."""
    metadata, status = node["metadata"], node.get("status") or {}
    labels = metadata.get("labels") or {}
    info = status.get("nodeInfo") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return NodeFacts(
        name=metadata["name"],
        pool=next((labels[label] for label in POOL_LABELS if label in labels), ""),
        created_at=created_at,
        version=info.get("kubeletVersion", ""),
        image=info.get("osImage", ""),
        instance_type=labels.get("node.kubernetes.io/instance-type", ""),
        ready=conditions.get("Ready") == "True",
        unschedulable=bool((node.get("spec") or {}).get("unschedulable")),
        capacity={name: str(amount) for name, amount in (status.get("capacity") or {}).items()},
        allocatable={name: str(amount) for name, amount in (status.get("allocatable") or {}).items()},
    )
