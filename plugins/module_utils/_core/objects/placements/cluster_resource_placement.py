# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterResourcePlacement`` and ``ResourcePlacement`` of ``placement.kubernetes-fleet.io``: which resources go to
which clusters, the status by cluster (failed, drifted, diffed objects), and the namespace in which it is reported."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import Condition, NamespacedName, ObjectMeta, find_condition
from ...schema.prop import prop
from ...values.selector import LabelSelector
from ..api_groups import PLACEMENT_API
from .cel import (
    NAMESPACED_SPEC_RULES,
    POLICY_RULES,
    SELECTOR_RULES,
    SPEC_RULES,
    STRATEGY_RULES,
)
from .key import PlacementKey
from .policy import PlacementPolicy
from .rollout_strategy import RolloutStrategy

STATUS_SYNCED = "ClusterResourcePlacementStatusSynced"
# What the message of that condition begins with where it is True; the name of the namespace follows.
STANDS_IN = "the status stands in namespace "


@dataclass(frozen=True, kw_only=True)
class ResourceSelector:
    """One entry of ``spec.resourceSelectors``: without ``name`` and ``label_selector`` every object of the kind is
    meant; ``selection_scope`` counts for Namespaces alone."""

    group: str = prop("API group, empty for the core group.")
    version: str = prop("API version.")
    kind: str = prop("Kind.")
    name: str = prop("Name of one object; excludes labelSelector.", default="")
    label_selector: LabelSelector | None = prop("Labels of the objects.", default=None)
    selection_scope: str = prop(
        "How much of a namespace is meant.",
        default="NamespaceWithResources",
        enum=("NamespaceOnly", "NamespaceWithResources", "NamespaceWithResourceSelectors"),
    )


@dataclass(frozen=True, kw_only=True)
class PlacementSpec:
    resource_selectors: tuple[ResourceSelector, ...] = prop(
        "What is placed.", min_items=1, max_items=100, rules=SELECTOR_RULES
    )
    policy: PlacementPolicy | None = prop("Who gets it; all clusters if absent.", default=None, rules=POLICY_RULES)
    strategy: RolloutStrategy = prop("How it gets there.", default=RolloutStrategy(), rules=STRATEGY_RULES)
    revision_history_limit: int = prop("Snapshots that are kept.", default=10, minimum=1, maximum=1000)
    status_reporting_scope: str = prop(
        "Where status can be read.", default="ClusterScopeOnly", enum=("ClusterScopeOnly", "NamespaceAccessible")
    )

    @property
    def placement_type(self) -> str:
        """PickAll, PickN or PickFixed, as the policy says; PickAll without one."""
        return (self.policy or PlacementPolicy()).placement_type


@dataclass(frozen=True, kw_only=True)
class EnvelopeIdentifier:
    name: str = prop("Name of the envelope.")
    namespace: str = prop("Namespace of the envelope.", default="")
    type: str = prop("Kind of the envelope.", default="")


@dataclass(frozen=True, kw_only=True)
class ResourceIdentifier:
    group: str = prop("API group.", default="")
    version: str = prop("API version.", default="")
    kind: str = prop("Kind.", default="")
    name: str = prop("Name.", default="")
    namespace: str = prop("Namespace.", default="")
    envelope: EnvelopeIdentifier | None = prop("Envelope that holds it.", default=None)


@dataclass(frozen=True, kw_only=True)
class FailedPlacement(ResourceIdentifier):
    """An object that failed on a cluster; ``condition`` is None where a record lacks it, whatever its type says."""

    condition: Condition = prop("Why it failed.", default=None)


@dataclass(frozen=True, kw_only=True)
class PatchDetail:
    path: str = prop("JSON path of the field.")
    value_in_member: str = prop("Value on the member.", default="")
    value_in_hub: str = prop("Value that was placed.", default="")


@dataclass(frozen=True, kw_only=True)
class DriftedPlacement(ResourceIdentifier):
    observation_time: datetime | None = prop("Instant of the observation.", default=None)
    first_drifted_observed_time: datetime | None = prop("Instant of the first observation.", default=None)
    target_cluster_observed_generation: int = prop("Generation on the member.", default=0)
    observed_drifts: tuple[PatchDetail, ...] = prop("Fields that differ.", default=())


@dataclass(frozen=True, kw_only=True)
class DiffedPlacement(ResourceIdentifier):
    observation_time: datetime | None = prop("Instant of the observation.", default=None)
    first_diffed_observed_time: datetime | None = prop("Instant of the first observation.", default=None)
    target_cluster_observed_generation: int | None = prop("Generation on the member.", default=None)
    observed_diffs: tuple[PatchDetail, ...] = prop("Fields that differ.", default=())


@dataclass(frozen=True, kw_only=True)
class PerClusterPlacementStatus:
    cluster_name: str = prop("Name of the cluster; empty for a place that could not be filled.", default="")
    observed_resource_index: str = prop("Index of the resource snapshot.", default="")
    applicable_cluster_resource_overrides: tuple[str, ...] = prop(
        "Names of what ClusterResourceOverrides do there, in the order in which they apply.", default=()
    )
    applicable_resource_overrides: tuple[NamespacedName, ...] = prop(
        "Names of what ResourceOverrides do there, applied after those.", default=()
    )
    conditions: tuple[Condition, ...] = prop("Scheduled, RolloutStarted, Overridden, ...", default=())
    failed_placements: tuple[FailedPlacement, ...] = prop("Objects that failed.", default=(), max_items=100)
    drifted_placements: tuple[DriftedPlacement, ...] = prop("Objects that drifted.", default=(), max_items=100)
    diffed_placements: tuple[DiffedPlacement, ...] = prop("Objects that differ.", default=(), max_items=100)


@dataclass(frozen=True, kw_only=True)
class PlacementStatus:
    selected_resources: tuple[ResourceIdentifier, ...] = prop("What is placed.", default=())
    observed_resource_index: str = prop("Index of the latest resource snapshot.", default="")
    placement_statuses: tuple[PerClusterPlacementStatus, ...] = prop("One for each cluster.", default=())
    conditions: tuple[Condition, ...] = prop("Conditions of the placement.", default=())


@dataclass(frozen=True, kw_only=True)
class ClusterResourcePlacement:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterResourcePlacement")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: PlacementSpec = prop("What goes where, and how.", rules=SPEC_RULES)
    status: PlacementStatus = prop("Outcome of the last run.", default=PlacementStatus())

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def key(self) -> PlacementKey:
        """Its namespace (empty for a ClusterResourcePlacement) and name, which no other placement has."""
        return PlacementKey(self.namespace, self.metadata.name)

    @property
    def namespace(self) -> str:
        """The namespace of a ResourcePlacement, by its ``kind``; empty for a ClusterResourcePlacement, whatever its
        metadata say."""
        return self.metadata.namespace if self.kind == "ResourcePlacement" else ""

    @property
    def reporting_namespace(self) -> str:
        """The namespace in which its status can be read too, by ``statusReportingScope``: the name in its first
        selector of kind Namespace. Empty without such a name, for another scope, and for a ResourcePlacement."""
        if self.namespace or self.spec.status_reporting_scope != "NamespaceAccessible":
            return ""
        return next((each.name for each in self.spec.resource_selectors if each.kind == "Namespace"), "")

    @property
    def status_namespace(self) -> str:
        """The namespace in which its status stands, too, as its condition ``StatusSynced`` says: another than
        ``reporting_namespace`` where somebody has changed the selectors since; empty for none, and where that is
        empty."""
        said = find_condition(self.status.conditions, STATUS_SYNCED) if self.reporting_namespace else None
        if said is None or said.status != "True" or not said.message.startswith(STANDS_IN):
            return ""
        return said.message.removeprefix(STANDS_IN)


@dataclass(frozen=True, kw_only=True)
class ResourcePlacement(ClusterResourcePlacement):
    """The same for objects of its own namespace; a ClusterResourcePlacement to ``isinstance``, so that ``namespace``
    tells the two apart."""

    kind: str = prop("Kind.", default="ResourcePlacement")
    spec: PlacementSpec = prop("What goes where, and how.", rules=NAMESPACED_SPEC_RULES)
