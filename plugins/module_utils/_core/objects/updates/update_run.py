# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``UpdateRun`` of ``gitops.fleet``: what members are upgraded to (version, node images, pace of node pools), which
members, and in which order; what is done about conflicts and members out of reach (Azure Fleet's update runs)."""

from __future__ import annotations

from dataclasses import dataclass

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ..api_groups import FLEET_API
from ..clusters.node_rotation import BUDGET_RULES, RotationBudget, RotationSettings
from ..karpenter.node_pool import MAX_BUDGETS
from .forms import (
    RUN_SPEC_RULES,
    SELECTION_RULES,
    STRATEGY_ID,
    UPGRADE_RULES,
    VERSION,
    name_prop,
)
from .run_status import UpdateRunStatus
from .strategy import MAX_WAIT_SECONDS, UpdateRunStrategy

FULL, CONTROL_PLANE_ONLY, NODE_IMAGE_ONLY = "Full", "ControlPlaneOnly", "NodeImageOnly"
UPGRADE_TYPES = (FULL, CONTROL_PLANE_ONLY, NODE_IMAGE_ONLY)
LATEST, CONSISTENT, CUSTOM = "Latest", "Consistent", "Custom"
IMAGE_SELECTIONS = (LATEST, CONSISTENT, CUSTOM)
PENDING_ON_CONFLICT, REFUSE_ON_CONFLICT = "pending", "refuse"
UNREACHABLE_SECONDS = 1800
MAX_IMAGES = 50


@dataclass(frozen=True, kw_only=True)
class ManagedClusterUpgradeSpec:
    type: str = prop("What is upgraded.", enum=UPGRADE_TYPES)
    kubernetes_version: str = prop(
        "Version to upgrade to, x.y.z, or x.y for its newest patch.",
        default="",
        max_length=30,
        pattern=VERSION,
        form="a version such as 1.34.2 or v1.34",
    )
    chain: bool = prop(
        "Whether members that are several minors behind go there minor by minor, instead of failing.", default=False
    )


@dataclass(frozen=True, kw_only=True)
class NodeImageVersion:
    version: str = prop("Version of a node image, its family included.", min_length=1, max_length=253)


@dataclass(frozen=True, kw_only=True)
class NodeImageSelection:
    type: str = prop("How node images are chosen.", enum=IMAGE_SELECTIONS)
    custom_node_image_versions: tuple[NodeImageVersion, ...] = prop(
        "Images, for Custom.", default=(), min_items=1, max_items=MAX_IMAGES
    )


@dataclass(frozen=True, kw_only=True)
class ManagedClusterUpdate:
    upgrade: ManagedClusterUpgradeSpec = prop("What is upgraded, and to which version.", rules=UPGRADE_RULES)
    node_image_selection: NodeImageSelection | None = prop(
        "How node images are chosen; Latest if absent.", default=None, rules=SELECTION_RULES
    )


@dataclass(frozen=True, kw_only=True)
class PoolUpgrade:
    """Without it at most 10% of a pool's nodes, rounded up, are replaced at once, at the default pace. The budgets of
    NodePools and of the fleet hold in either case."""

    budgets: tuple[RotationBudget, ...] = prop(
        "How many nodes of one pool may be disrupted at once; 10% if absent.",
        default=(),
        min_items=1,
        max_items=MAX_BUDGETS,
        rules=BUDGET_RULES,
    )
    pace: RotationSettings = prop("How the nodes of a pool are replaced.", default=RotationSettings())


@dataclass(frozen=True, kw_only=True)
class UpdateRunSpec:
    """The sequence is that of an UpdateStrategy, or written out, or, with neither, one member after another."""

    update_strategy_id: str = prop(
        "Name of an UpdateStrategy, or an id that ends with it.",
        default="",
        max_length=1024,
        pattern=STRATEGY_ID,
        form="a name of at most 50 characters, or an id that ends with one",
    )
    strategy: UpdateRunStrategy | None = prop("The sequence, written out.", default=None)
    managed_cluster_update: ManagedClusterUpdate = prop("What members are upgraded to.")
    node_pools: PoolUpgrade | None = prop("How node pools are upgraded; for Full and NodeImageOnly.", default=None)
    auto_upgrade_profile_id: str = prop("Profile that made the run.", default="", max_length=1024)
    long_term_support: bool = prop("Whether that profile asks for long-term support of its members.", default=False)
    retry_of: str = name_prop("Run whose failed and skipped members are tried again.", default="")
    members: tuple[str, ...] = prop(
        "Only these members of those that the sequence has.", default=(), min_items=1, max_items=1000
    )
    on_conflict: str = prop(
        "Whether members that another run holds wait, or the run is refused.",
        default=PENDING_ON_CONFLICT,
        enum=(PENDING_ON_CONFLICT, REFUSE_ON_CONFLICT),
    )
    unreachable_timeout_seconds: int = prop(
        "How long a member that does not answer is waited for before it is skipped.",
        default=UNREACHABLE_SECONDS,
        minimum=0,
        maximum=MAX_WAIT_SECONDS,
    )

    @property
    def strategy_name(self) -> str:
        """The name of the UpdateStrategy that is referred to, what follows the last slash of its id; empty without
        one."""
        return self.update_strategy_id.rpartition("/")[2]

    @property
    def image_selection(self) -> str:
        """How node images are chosen: Latest, Consistent or Custom; Latest if the run does not say. For
        ControlPlaneOnly that has no effect."""
        selection = self.managed_cluster_update.node_image_selection
        return selection.type if selection else LATEST


@dataclass(frozen=True, kw_only=True)
class UpdateRun:
    api_version: str = prop("API version.", default=FLEET_API)
    kind: str = prop("Kind.", default="UpdateRun")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: UpdateRunSpec = prop("Goal and sequence.", rules=RUN_SPEC_RULES)
    status: UpdateRunStatus = prop("What was done so far.", default=UpdateRunStatus())

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def target(self) -> str:
        """The Kubernetes version that members get, as its author wrote it, with ``v`` or not, x.y or x.y.z; empty for
        node images alone. What x.y came to stands in ``status.target_version``."""
        return self.spec.managed_cluster_update.upgrade.kubernetes_version
