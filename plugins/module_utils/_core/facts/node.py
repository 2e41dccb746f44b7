# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What one node says of itself: the per-node facts of a snapshot."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field
from datetime import datetime, timedelta

AGE = "gitops.fleet/simulated-age"
UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
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
    capacity: t.Mapping[str, str] = field(default_factory=dict)
    allocatable: t.Mapping[str, str] = field(default_factory=dict)


def node_facts(node: t.Mapping[str, t.Any], created_at: datetime | None) -> NodeFacts:
    """The facts of a core/v1 Node manifest. A simulated node is older than its object by its annotation's age."""
    metadata, status = node["metadata"], node.get("status") or {}
    labels = metadata.get("labels") or {}
    info = status.get("nodeInfo") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return NodeFacts(
        name=metadata["name"],
        pool=next((labels[label] for label in POOL_LABELS if label in labels), ""),
        created_at=created_at - simulated_age(metadata.get("annotations") or {}) if created_at else None,
        version=info.get("kubeletVersion", ""),
        image=info.get("osImage", ""),
        instance_type=labels.get("node.kubernetes.io/instance-type", ""),
        ready=conditions.get("Ready") == "True",
        unschedulable=bool((node.get("spec") or {}).get("unschedulable")),
        capacity={name: str(amount) for name, amount in (status.get("capacity") or {}).items()},
        allocatable={name: str(amount) for name, amount in (status.get("allocatable") or {}).items()},
    )


def simulated_age(annotations: t.Mapping[str, str]) -> timedelta:
    """The age that a node of a local cluster pretends to have, such as ``30d`` or ``12h30m``; none if unreadable."""
    text = annotations.get(AGE, "")
    if not re.fullmatch(r"([0-9]{1,6}[dhms])+", text):
        return timedelta()
    return timedelta(seconds=sum(int(number) * UNITS[unit] for number, unit in re.findall(r"([0-9]+)([dhms])", text)))
