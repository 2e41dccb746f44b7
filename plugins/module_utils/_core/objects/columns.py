# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Columns of ``kubectl get`` by kind (``additionalPrinterColumns``: heading, JSONPath, type)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column of ``kubectl get``: its heading, the JSONPath of its value, and its type in OpenAPI, or ``date``, which
    is shown as an age; those with ``wide`` are shown by ``-o wide`` only."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


def _condition(kind: str, field: str = "status", under: str = ".status") -> str:
    """The JSONPath of a field of the condition of type ``kind`` in the ``conditions`` below ``under``."""
    return f'{under}.conditions[?(@.type=="{kind}")].{field}'


_AGENT = '.status.agentStatus[?(@.type=="MemberAgent")]'
_NODE_COUNT = r".status.properties.kubernetes-fleet\.io/node-count.value"
_AGE = Column("Age", ".metadata.creationTimestamp", "date")


def _of_placements(kind: str) -> tuple[Column, ...]:
    """The columns of a kind of placement, whose condition types begin with the name of the kind."""
    return (
        Column("Gen", ".metadata.generation", "integer"),
        Column("Type", ".spec.policy.placementType", wide=True),
        Column("Scheduled", _condition(f"{kind}Scheduled")),
        Column("Scheduled-Gen", _condition(f"{kind}Scheduled", "observedGeneration"), "integer"),
        Column("Work-Synchronized", _condition(f"{kind}WorkSynchronized"), wide=True),
        Column("Work-Synchronized-Gen", _condition(f"{kind}WorkSynchronized", "observedGeneration"), "integer", True),
        Column("Available", _condition(f"{kind}Available")),
        Column("Available-Gen", _condition(f"{kind}Available", "observedGeneration"), "integer"),
        _AGE,
    )


PLACEMENT, NAMESPACED_PLACEMENT = _of_placements("ClusterResourcePlacement"), _of_placements("ResourcePlacement")
NAMESPACE_STATUS = (
    Column("Resource-Index", ".sourceStatus.observedResourceIndex"),
    Column("Last-Updated", ".lastUpdatedTime"),
    _AGE,
)
CLUSTER = (
    Column("Joined", _condition("Joined", under=_AGENT)),
    Column("Healthy", _condition("Healthy", under=_AGENT)),
    Column("Last-Seen", f"{_AGENT}.lastReceivedHeartbeat", "date"),
    Column("Node-Count", _NODE_COUNT),
    Column("Available-CPU", ".status.resourceUsage.available.cpu"),
    Column("Available-Memory", ".status.resourceUsage.available.memory"),
    Column("Allocatable-CPU", ".status.resourceUsage.allocatable.cpu", wide=True),
    Column("Allocatable-Memory", ".status.resourceUsage.allocatable.memory", wide=True),
    Column("Taints", ".spec.taints[*].key", wide=True),
    _AGE,
)
MEMBER = (
    Column("Version", ".status.version"),
    Column("Reachable", _condition("Reachable")),
    Column("Group", ".spec.group"),
    Column("Location", ".spec.location"),
    Column("Operation", ".status.operation", wide=True),
    Column("Driver", ".spec.driver", wide=True),
    Column("Maintenance", ".spec.maintenance", wide=True),
    Column("Last-Read", ".status.lastRead", "date"),
    _AGE,
)
BINDING = (
    Column("State", ".spec.state"),
    Column("Cluster", ".spec.targetCluster"),
    Column("Resources", ".spec.resourceSnapshotName"),
    Column("Work-Synchronized", _condition("WorkSynchronized")),
    Column("Applied", _condition("Applied")),
    Column("Available", _condition("Available"), wide=True),
    Column("Policy", ".spec.schedulingPolicySnapshotName", wide=True),
    _AGE,
)
STRATEGY = (Column("Stages", ".spec.strategy.stages[*].name"), _AGE)
RUN = (
    Column("State", ".status.status.state"),
    Column("Progress", ".status.progress"),
    Column("Target", ".spec.managedClusterUpdate.upgrade.kubernetesVersion"),
    Column("Type", ".spec.managedClusterUpdate.upgrade.type"),
    Column("Outcome", ".status.outcome"),
    Column("Strategy", ".spec.updateStrategyId", wide=True),
    Column("Message", ".status.message", wide=True),
    Column("Started", ".status.status.startTime", "date", True),
    _AGE,
)
_GATE_PLACE = ".spec.target.updateRunProperties"
GATE = (
    Column("Run", f"{_GATE_PLACE}.name"),
    Column("Stage", f"{_GATE_PLACE}.stage"),
    Column("Group", f"{_GATE_PLACE}.group"),
    Column("Timing", f"{_GATE_PLACE}.timing"),
    Column("Type", ".spec.gateType"),
    Column("State", ".status.state"),
    Column("By", ".status.approval.by"),
    Column("Due", ".spec.scheduledStartProperties.absoluteStartTime", wide=True),
    Column("Display-Name", ".spec.displayName", wide=True),
    _AGE,
)
MAINTENANCE = (
    Column("Windows", ".spec.windows[*].name"),
    Column("Freezes", ".spec.freezes[*].name"),
    Column("Budgets", ".spec.budgets[*].name"),
    _AGE,
)
ROTATION = (
    Column("Phase", ".status.phase"),
    Column("Rotated", ".status.rotated", "integer"),
    Column("Left", ".status.left", "integer"),
    Column("Failed", ".status.failed", "integer"),
    Column("Message", ".status.message", wide=True),
    _AGE,
)
CATALOG = (
    Column("Provider", ".spec.provider"),
    Column("Locations", ".spec.locations[*].name"),
    Column("Source", ".spec.source", wide=True),
    _AGE,
)
PROFILE = (
    Column("Channel", ".spec.channel"),
    Column("Minor", ".spec.targetKubernetesVersion"),
    Column("Disabled", ".spec.disabled", "boolean"),
    Column("Last-Triggered", ".status.lastTriggeredAt", "date"),
    Column("Strategy", ".spec.updateStrategyId", wide=True),
    Column("Message", ".status.lastTriggerMessage", wide=True),
    _AGE,
)
AUDIT = (
    Column("At", ".spec.at"),
    Column("By", ".spec.by"),
    Column("Action", ".spec.action"),
    Column("Phase", ".spec.phase"),
    Column("Kind", ".spec.object.kind", wide=True),
    Column("Object", ".spec.object.name"),
    Column("Outcome", ".spec.outcome"),
    Column("Approved", ".spec.approvedDigest", wide=True),
    Column("Reason", ".spec.reason", wide=True),
    Column("Revision", ".spec.revision", wide=True),
    Column("Message", ".spec.message", wide=True),
)
_SNAPSHOT_LABEL = r".metadata.labels.kubernetes-fleet\.io/{}"
_LATEST = Column("Latest", _SNAPSHOT_LABEL.format("is-latest-snapshot"))
_OF_PLACEMENT = Column("Placement", _SNAPSHOT_LABEL.format("parent-CRP"))
POLICY_SNAPSHOT = (Column("Scheduled", _condition("Scheduled")), _LATEST, _OF_PLACEMENT, _AGE)
RESOURCE_SNAPSHOT = (Column("Index", _SNAPSHOT_LABEL.format("resource-index")), _LATEST, _OF_PLACEMENT, _AGE)
EVICTION = (Column("Valid", _condition("Valid")), Column("Executed", _condition("Executed")))
STAGED_RUN = (
    Column("Placement", ".spec.placementName"),
    Column("Resource-Snapshot-Index", ".spec.resourceSnapshotIndex"),
    Column("Policy-Snapshot-Index", ".status.policySnapshotIndexUsed"),
    Column("Initialized", _condition("Initialized")),
    Column("Progressing", _condition("Progressing")),
    Column("Succeeded", _condition("Succeeded")),
    _AGE,
    Column("Strategy", ".spec.stagedRolloutStrategyName", wide=True),
)
APPROVAL_REQUEST = (
    Column("Update-Run", ".spec.parentStageRollout"),
    Column("Stage", ".spec.targetStage"),
    Column("Approved", _condition("Approved")),
    _AGE,
)
