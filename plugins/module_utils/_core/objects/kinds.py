# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The kinds that are read and installed, ours and KubeFleet's: names, versions, scope, columns of ``kubectl get``."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..schema.metadata_rules import NAME_LIMIT
from . import columns
from .api_groups import (
    CLUSTER_GROUP,
    FLEET_GROUP,
    FLEET_STORED,
    PLACEMENT_GROUP,
    UPSTREAM_OLDER,
    UPSTREAM_STORED,
    UPSTREAM_VERSIONS,
)
from .audit.audit_entry import ENTRY_FORM, ENTRY_NAME, AuditEntry
from .clusters.fleet_maintenance import FleetMaintenance
from .clusters.fleet_member import FleetMember
from .clusters.member_cluster import MemberCluster
from .clusters.node_rotation import NodeRotation
from .columns import Column
from .overrides.envelope import ClusterResourceEnvelope, ResourceEnvelope
from .overrides.override import ClusterResourceOverride, ResourceOverride
from .placements.binding import ClusterResourceBinding, ResourceBinding
from .placements.cluster_resource_placement import ClusterResourcePlacement, ResourcePlacement
from .placements.disruption_budget import ClusterResourcePlacementDisruptionBudget
from .placements.eviction import ClusterResourcePlacementEviction
from .placements.namespace_status import ClusterResourcePlacementStatus
from .placements.resource_snapshot import ClusterResourceSnapshot, ResourceSnapshot
from .placements.scheduling_policy_snapshot import ClusterSchedulingPolicySnapshot, SchedulingPolicySnapshot
from .staged.approval import ApprovalRequest, ClusterApprovalRequest
from .staged.strategy import ClusterStagedUpdateStrategy, StagedUpdateStrategy
from .staged.update_run import ClusterStagedUpdateRun, StagedUpdateRun
from .updates.auto_upgrade_profile import AutoUpgradeProfile
from .updates.forms import GUID, GUID_FORM, NAME, NAME_FORM, NAME_LENGTH, RUN_RULES, Rules
from .updates.gate import Gate
from .updates.release_catalog import ReleaseCatalog
from .updates.strategy import UpdateStrategy
from .updates.update_run import UpdateRun

AnyObject = (
    ClusterResourcePlacement  # pylint: disable=unsupported-binary-operation  # Python 3.11 can
    | MemberCluster
    | FleetMember
    | ClusterResourceBinding
    | ClusterResourceSnapshot
    | ClusterSchedulingPolicySnapshot
    | ClusterResourcePlacementStatus
    | ResourcePlacement
    | ResourceBinding
    | ResourceSnapshot
    | SchedulingPolicySnapshot
    | UpdateStrategy
    | UpdateRun
    | Gate
    | FleetMaintenance
    | NodeRotation
    | ReleaseCatalog
    | AutoUpgradeProfile
    | ClusterResourceOverride
    | ResourceOverride
    | ClusterResourceEnvelope
    | ResourceEnvelope
    | ClusterResourcePlacementEviction
    | ClusterResourcePlacementDisruptionBudget
    | ClusterStagedUpdateStrategy
    | StagedUpdateStrategy
    | ClusterStagedUpdateRun
    | StagedUpdateRun
    | ClusterApprovalRequest
    | ApprovalRequest
    | AuditEntry
)


@dataclass(frozen=True)
class Kind:
    """One kind. ``stored`` is the version that the API server keeps; all versions have the same schema.

    ``published`` are the versions that its publisher serves, which may be others than ours. ``name_limit`` is the
    number of characters that a name may have, None for no limit of its own. Names are of the form ``name_pattern``, in
    words ``name_form``, where there is one. ``rules`` are CEL rules over the whole object, with their messages.
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
    namespaced: bool = False
    published: tuple[str, ...] = UPSTREAM_VERSIONS

    @property
    def kind(self) -> str:
        """The name of the kind, as in manifests: ``UpdateRun``."""
        return self.cls.__name__

    @property
    def api_versions(self) -> tuple[str, ...]:
        """Its versions with their group, as in ``apiVersion``: ``gitops.fleet/v1alpha1``."""
        return tuple(f"{self.group}/{version}" for version in self.versions)


def _ours(
    cls: type[AnyObject], plural: str, short: tuple[str, ...], shown: tuple[Column, ...], doc: str, **names: t.Any
) -> Kind:
    """A kind of our own API group, which has one version; ``names`` are further fields of ``Kind``."""
    versions = (FLEET_STORED,)
    return Kind(cls, FLEET_GROUP, versions, FLEET_STORED, plural, short, shown, doc, published=versions, **names)


# As KubeFleet's definitions have them; v1 and v1beta1 where nothing else is said.
_ALL_THREE = (*UPSTREAM_VERSIONS, UPSTREAM_OLDER)
_NOT_YET_V1 = (UPSTREAM_STORED, UPSTREAM_OLDER)


def _placement(
    cls: type[AnyObject], plural: str, shown: tuple[Column, ...], doc: str, short: str = "", **more: t.Any
) -> Kind:
    """A kind of KubeFleet's placement API; an empty ``short`` is no short name. ``more`` as for ``Kind``."""
    names = (short,) if short else ()
    return Kind(cls, PLACEMENT_GROUP, UPSTREAM_VERSIONS, UPSTREAM_STORED, plural, names, shown, doc, **more)


KINDS: tuple[Kind, ...] = (
    Kind(
        MemberCluster,
        CLUSTER_GROUP,
        UPSTREAM_VERSIONS,
        UPSTREAM_STORED,
        "memberclusters",
        (),
        columns.CLUSTER,
        "A cluster of the fleet: what people decide about it, and what was read from it.",
        NAME_LIMIT,
    ),
    _ours(
        FleetMember,
        "fleetmembers",
        ("fm",),
        columns.MEMBER,
        "How a member of the fleet is reached and run; it has the name of its MemberCluster.",
        name_limit=NAME_LIMIT,
    ),
    _placement(
        ClusterResourcePlacement,
        "clusterresourceplacements",
        columns.PLACEMENT,
        "Which resources go to which clusters of the fleet, and how.",
        "crp",
        name_limit=NAME_LIMIT,
    ),
    _placement(
        ClusterResourcePlacementStatus,
        "clusterresourceplacementstatuses",
        columns.NAMESPACE_STATUS,
        "The status of a ClusterResourcePlacement, in the namespace that it selects.",
        "crps",
        namespaced=True,
    ),
    _placement(
        ClusterSchedulingPolicySnapshot,
        "clusterschedulingpolicysnapshots",
        columns.POLICY_SNAPSHOT,
        "The policy of a placement as it was when clusters were picked, with the decisions.",
        "csps",
    ),
    _placement(
        ClusterResourceSnapshot,
        "clusterresourcesnapshots",
        columns.RESOURCE_SNAPSHOT,
        "The resources of a placement as they were at one index.",
        "crs",
    ),
    _placement(
        ClusterResourceBinding,
        "clusterresourcebindings",
        columns.BINDING,
        "The record that a placement holds a cluster.",
        "crb",
    ),
    _placement(
        ResourcePlacement,
        "resourceplacements",
        columns.NAMESPACED_PLACEMENT,
        "Which resources of its namespace go to which clusters of the fleet, and how.",
        "rp",
        name_limit=NAME_LIMIT,
        namespaced=True,
    ),
    _placement(
        SchedulingPolicySnapshot,
        "schedulingpolicysnapshots",
        columns.POLICY_SNAPSHOT,
        "The policy of a ResourcePlacement as it was when clusters were picked, with the decisions.",
        "sps",
        namespaced=True,
        published=(UPSTREAM_STORED,),
    ),
    _placement(
        ResourceSnapshot,
        "resourcesnapshots",
        columns.RESOURCE_SNAPSHOT,
        "The resources of a ResourcePlacement as they were at one index.",
        "rs",
        namespaced=True,
        published=(UPSTREAM_STORED,),
    ),
    _placement(
        ResourceBinding,
        "resourcebindings",
        columns.BINDING,
        "The record that a ResourcePlacement holds a cluster.",
        "rb",
        namespaced=True,
        published=(UPSTREAM_STORED,),
    ),
    _placement(
        ClusterResourceOverride,
        "clusterresourceoverrides",
        (),
        "How placed cluster-scoped objects, and all in a namespace, differ from cluster to cluster.",
        published=_ALL_THREE,
    ),
    _placement(
        ResourceOverride,
        "resourceoverrides",
        (),
        "How placed objects of its namespace differ from cluster to cluster.",
        namespaced=True,
        published=_ALL_THREE,
    ),
    _placement(
        ClusterResourceEnvelope,
        "clusterresourceenvelopes",
        (),
        "Cluster-scoped manifests that lie on the hub and act only on members.",
        published=(UPSTREAM_STORED,),
    ),
    _placement(
        ResourceEnvelope,
        "resourceenvelopes",
        (),
        "Manifests of its namespace that lie on the hub and act only on members.",
        namespaced=True,
        published=(UPSTREAM_STORED,),
    ),
    _placement(
        ClusterResourcePlacementEviction,
        "clusterresourceplacementevictions",
        columns.EVICTION,
        "One attempt to take a placement off one cluster.",
        "crpe",
        published=_NOT_YET_V1,
    ),
    _placement(
        ClusterResourcePlacementDisruptionBudget,
        "clusterresourceplacementdisruptionbudgets",
        (),
        "How many clusters evictions leave to the placement of the same name.",
        "crpdb",
        published=_NOT_YET_V1,
    ),
    _placement(
        ClusterStagedUpdateStrategy,
        "clusterstagedupdatestrategies",
        (),
        "The stages in which resources reach clusters.",
        "csus",
        published=_ALL_THREE,
    ),
    _placement(
        StagedUpdateStrategy,
        "stagedupdatestrategies",
        (),
        "The stages in which resources of a namespace reach clusters.",
        "sus",
        namespaced=True,
    ),
    _placement(
        ClusterStagedUpdateRun,
        "clusterstagedupdateruns",
        columns.STAGED_RUN,
        "One rollout of a ClusterResourcePlacement in stages.",
        "csur",
        name_limit=NAME_LIMIT,
        published=_ALL_THREE,
    ),
    _placement(
        StagedUpdateRun,
        "stagedupdateruns",
        columns.STAGED_RUN,
        "One rollout of a ResourcePlacement in stages.",
        "sur",
        name_limit=NAME_LIMIT,
        namespaced=True,
    ),
    _placement(
        ClusterApprovalRequest,
        "clusterapprovalrequests",
        columns.APPROVAL_REQUEST,
        "A stage of a ClusterStagedUpdateRun that waits for somebody's approval.",
        "careq",
        published=_ALL_THREE,
    ),
    _placement(
        ApprovalRequest,
        "approvalrequests",
        columns.APPROVAL_REQUEST,
        "A stage of a StagedUpdateRun that waits for somebody's approval.",
        "areq",
        namespaced=True,
    ),
    _ours(
        UpdateStrategy,
        "updatestrategies",
        ("us",),
        columns.STRATEGY,
        "A named sequence of stages and groups, for update runs.",
        name_limit=NAME_LENGTH,
        name_pattern=NAME,
        name_form=NAME_FORM,
    ),
    _ours(
        UpdateRun,
        "updateruns",
        ("ur",),
        columns.RUN,
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
        columns.GATE,
        "A place at which an update run waits for a person or for the clock.",
        name_pattern=GUID,
        name_form=GUID_FORM,
    ),
    _ours(
        FleetMaintenance,
        "fleetmaintenances",
        ("fmt",),
        columns.MAINTENANCE,
        "When members may be upgraded, when nothing may, and how much of the fleet at once.",
    ),
    _ours(
        NodeRotation,
        "noderotations",
        ("nr",),
        columns.ROTATION,
        "Which nodes of members are replaced, how many at once, and how far it is.",
        name_limit=NAME_LIMIT,
    ),
    _ours(
        ReleaseCatalog,
        "releasecatalogs",
        ("rc",),
        columns.CATALOG,
        "Which Kubernetes versions and node images a platform offers where.",
    ),
    _ours(
        AutoUpgradeProfile,
        "autoupgradeprofiles",
        ("aup",),
        columns.PROFILE,
        "Which releases become update runs by themselves.",
        name_limit=NAME_LENGTH,
        name_pattern=NAME,
        name_form=NAME_FORM,
    ),
    _ours(
        AuditEntry,
        "auditentries",
        ("ae",),
        columns.AUDIT,
        "Who did what, when and why; written once.",
        name_pattern=ENTRY_NAME,
        name_form=ENTRY_FORM,
    ),
)
KIND_OF: t.Mapping[str, Kind] = {each.kind: each for each in KINDS}
