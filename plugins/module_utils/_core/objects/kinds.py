# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The kinds that are read and installed: names, versions, columns of ``kubectl get``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .auto_upgrade_profile import AutoUpgradeProfile
from .binding import ClusterResourceBinding
from .cluster_resource_placement import ClusterResourcePlacement
from .fleet_maintenance import FleetMaintenance
from .fleet_member import FleetMember
from .gate import Gate
from .member_cluster import MemberCluster
from .metadata_rules import NAME_LIMIT
from .release_catalog import ReleaseCatalog
from .resource_snapshot import ClusterResourceSnapshot
from .scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot
from .update_forms import GUID, GUID_FORM, NAME, NAME_FORM, NAME_LENGTH, RUN_RULES, Rules
from .update_run import UpdateRun
from .update_strategy import UpdateStrategy

AnyObject = (
    ClusterResourcePlacement  # pylint: disable=unsupported-binary-operation  # Python 3.11 can
    | MemberCluster
    | FleetMember
    | ClusterResourceBinding
    | ClusterResourceSnapshot
    | ClusterSchedulingPolicySnapshot
    | UpdateStrategy
    | UpdateRun
    | Gate
    | FleetMaintenance
    | ReleaseCatalog
    | AutoUpgradeProfile
)
UPSTREAM_VERSIONS = ("v1", "v1beta1")


@dataclass(frozen=True)
class Column:
    """A column of ``kubectl get``; those with ``wide`` are shown by ``-o wide`` only."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True)
class Kind:
    """One kind. ``stored`` is the version that the API server keeps; all versions have the same schema.

    ``name_limit`` is set where the name is used as a label value; names are of the form ``name_pattern`` where there is
    one. ``rules`` are CEL rules over the whole object.
    """

    cls: type[AnyObject]
    group: str
    versions: tuple[str, ...]
    stored: str
    plural: str
    short_names: tuple[str, ...]
    columns: tuple[Column, ...]
    doc: str
    name_limit: int | None = None
    name_pattern: str = ""
    name_form: str = ""
    rules: Rules = ()

    @property
    def kind(self) -> str:
        return self.cls.__name__

    @property
    def api_versions(self) -> tuple[str, ...]:
        return tuple(f"{self.group}/{version}" for version in self.versions)


def _condition(kind: str, field: str = "status", under: str = ".status") -> str:
    return f'{under}.conditions[?(@.type=="{kind}")].{field}'


_AGENT = '.status.agentStatus[?(@.type=="MemberAgent")]'
_NODE_COUNT = r".status.properties.kubernetes-fleet\.io/node-count.value"
_AGE = Column("Age", ".metadata.creationTimestamp", "date")
_CRP = "ClusterResourcePlacement"

_PLACEMENT_COLUMNS = (
    Column("Gen", ".metadata.generation", "integer"),
    Column("Type", ".spec.policy.placementType", wide=True),
    Column("Scheduled", _condition(f"{_CRP}Scheduled")),
    Column("Scheduled-Gen", _condition(f"{_CRP}Scheduled", "observedGeneration"), "integer"),
    Column("Work-Synchronized", _condition(f"{_CRP}WorkSynchronized"), wide=True),
    Column("Work-Synchronized-Gen", _condition(f"{_CRP}WorkSynchronized", "observedGeneration"), "integer", True),
    Column("Available", _condition(f"{_CRP}Available")),
    Column("Available-Gen", _condition(f"{_CRP}Available", "observedGeneration"), "integer"),
    _AGE,
)
_CLUSTER_COLUMNS = (
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
_MEMBER_COLUMNS = (
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
_BINDING_COLUMNS = (
    Column("State", ".spec.state"),
    Column("Cluster", ".spec.targetCluster"),
    Column("Resources", ".spec.resourceSnapshotName"),
    Column("Work-Synchronized", _condition("WorkSynchronized")),
    Column("Applied", _condition("Applied")),
    Column("Available", _condition("Available"), wide=True),
    Column("Policy", ".spec.schedulingPolicySnapshotName", wide=True),
    _AGE,
)
_STRATEGY_COLUMNS = (Column("Stages", ".spec.strategy.stages[*].name"), _AGE)
_RUN_COLUMNS = (
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
_GATE_COLUMNS = (
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
_MAINTENANCE_COLUMNS = (
    Column("Windows", ".spec.windows[*].name"),
    Column("Freezes", ".spec.freezes[*].name"),
    Column("Budgets", ".spec.budgets[*].name"),
    _AGE,
)
_CATALOG_COLUMNS = (
    Column("Provider", ".spec.provider"),
    Column("Locations", ".spec.locations[*].name"),
    Column("Source", ".spec.source", wide=True),
    _AGE,
)
_PROFILE_COLUMNS = (
    Column("Channel", ".spec.channel"),
    Column("Minor", ".spec.targetKubernetesVersion"),
    Column("Disabled", ".spec.disabled", "boolean"),
    Column("Last-Triggered", ".status.lastTriggeredAt", "date"),
    Column("Strategy", ".spec.updateStrategyId", wide=True),
    Column("Message", ".status.lastTriggerMessage", wide=True),
    _AGE,
)
_SNAPSHOT_LABEL = r".metadata.labels.kubernetes-fleet\.io/{}"
_LATEST = Column("Latest", _SNAPSHOT_LABEL.format("is-latest-snapshot"))
_PLACEMENT = "placement.kubernetes-fleet.io"


def _ours(
    cls: type[AnyObject], plural: str, short: tuple[str, ...], columns: tuple[Column, ...], doc: str, **names: t.Any
) -> Kind:
    return Kind(cls, "gitops.fleet", ("v1alpha1",), "v1alpha1", plural, short, columns, doc, **names)


def _record(cls: type[AnyObject], plural: str, short: str, columns: tuple[Column, ...], doc: str) -> Kind:
    return Kind(cls, _PLACEMENT, UPSTREAM_VERSIONS, "v1beta1", plural, (short,), columns, doc)


KINDS: tuple[Kind, ...] = (
    Kind(
        MemberCluster,
        "cluster.kubernetes-fleet.io",
        UPSTREAM_VERSIONS,
        "v1beta1",
        "memberclusters",
        (),
        _CLUSTER_COLUMNS,
        "A cluster of the fleet: what people decide about it, and what was read from it.",
        NAME_LIMIT,
    ),
    _ours(
        FleetMember,
        "fleetmembers",
        ("fm",),
        _MEMBER_COLUMNS,
        "How a member of the fleet is reached and run; it has the name of its MemberCluster.",
        name_limit=NAME_LIMIT,
    ),
    Kind(
        ClusterResourcePlacement,
        _PLACEMENT,
        UPSTREAM_VERSIONS,
        "v1beta1",
        "clusterresourceplacements",
        ("crp",),
        _PLACEMENT_COLUMNS,
        "Which resources go to which clusters of the fleet, and how.",
        NAME_LIMIT,
    ),
    _record(
        ClusterSchedulingPolicySnapshot,
        "clusterschedulingpolicysnapshots",
        "csps",
        (
            Column("Scheduled", _condition("Scheduled")),
            _LATEST,
            Column("Placement", _SNAPSHOT_LABEL.format("parent-CRP")),
            _AGE,
        ),
        "The policy of a placement as it was when clusters were picked, with the decisions.",
    ),
    _record(
        ClusterResourceSnapshot,
        "clusterresourcesnapshots",
        "crs",
        (
            Column("Index", _SNAPSHOT_LABEL.format("resource-index")),
            _LATEST,
            Column("Placement", _SNAPSHOT_LABEL.format("parent-CRP")),
            _AGE,
        ),
        "The resources of a placement as they were at one index.",
    ),
    _record(
        ClusterResourceBinding,
        "clusterresourcebindings",
        "crb",
        _BINDING_COLUMNS,
        "The record that a placement holds a cluster.",
    ),
    _ours(
        UpdateStrategy,
        "updatestrategies",
        ("us",),
        _STRATEGY_COLUMNS,
        "A named sequence of stages and groups, for update runs.",
        name_limit=NAME_LENGTH,
        name_pattern=NAME,
        name_form=NAME_FORM,
    ),
    _ours(
        UpdateRun,
        "updateruns",
        ("ur",),
        _RUN_COLUMNS,
        "What members are upgraded to and in which order, and how far that is.",
        name_limit=NAME_LENGTH,
        name_pattern=NAME,
        name_form=NAME_FORM,
        rules=RUN_RULES,
    ),
    _ours(
        Gate,
        "gates",
        (),
        _GATE_COLUMNS,
        "A place at which an update run waits for a person or for the clock.",
        name_pattern=GUID,
        name_form=GUID_FORM,
    ),
    _ours(
        FleetMaintenance,
        "fleetmaintenances",
        ("fmt",),
        _MAINTENANCE_COLUMNS,
        "When members may be upgraded, when nothing may, and how much of the fleet at once.",
    ),
    _ours(
        ReleaseCatalog,
        "releasecatalogs",
        ("rc",),
        _CATALOG_COLUMNS,
        "Which Kubernetes versions and node images a platform offers where.",
    ),
    _ours(
        AutoUpgradeProfile,
        "autoupgradeprofiles",
        ("aup",),
        _PROFILE_COLUMNS,
        "Which releases become update runs by themselves.",
        name_limit=NAME_LENGTH,
        name_pattern=NAME,
        name_form=NAME_FORM,
    ),
)
KIND_OF: t.Mapping[str, Kind] = {each.kind: each for each in KINDS}
