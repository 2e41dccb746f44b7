# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``reportBackStrategy: Mirror`` of KubeFleet: whether it is asked for, why it is not possible, to which objects on the
hub the member's status is copied, and to which kinds never."""

from __future__ import annotations

import typing as t

from ...objects.identity import ObjectId
from ...objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ...objects.placements.policy import PICK_FIXED, PICK_N
from ..document import PlacementPlan

# A hub acts on the status of these by itself: that of a member would close its namespaces, serve none of its kinds, or
# give its pods devices and volumes that they do not have.
HUBS_OWN = frozenset(
    (
        ("", "Namespace"),
        ("", "ResourceQuota"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("networking.k8s.io", "ServiceCIDR"),
        ("policy", "PodDisruptionBudget"),
        ("resource.k8s.io", "ResourceClaim"),
        ("storage.k8s.io", "VolumeAttachment"),
    )
)
WORK_API = "there is no Work object here to which a status could be mirrored"
MANY = "status is mirrored from one cluster only: PickFixed with one name, or PickN with the number 1"
IN_FILES = "resources come from files, so that there is no object on a hub to which a status could be mirrored"


def wants_mirror(placement: ClusterResourcePlacement) -> bool:
    """Whether the placement asks for any mirroring of status."""
    strategy = placement.spec.strategy.report_back_strategy
    return strategy is not None and strategy.type == "Mirror"


def mirror_obstacle(placement: ClusterResourcePlacement, from_hub: bool) -> str:
    """Why the status could not be mirrored, be it asked for or not; empty where it can. ``from_hub`` says that the
    resources are those on the hub."""
    strategy = placement.spec.strategy.report_back_strategy
    if strategy is None or strategy.destination != "OriginalResource":
        return WORK_API
    if not _of_one_cluster(placement):
        return MANY
    return "" if from_hub else IN_FILES


def _of_one_cluster(placement: ClusterResourcePlacement) -> bool:
    """Whether the policy is PickFixed with one name, or PickN with the number 1."""
    policy = placement.spec.policy
    if policy is None:
        return False
    if policy.placement_type == PICK_FIXED:
        return len(policy.cluster_names) == 1
    return policy.placement_type == PICK_N and policy.number_of_clusters == 1


def mirrored_objects(plan: PlacementPlan) -> t.Iterator[ObjectId]:
    """The objects on the hub that get the status, be it asked for or not: not what came out of an envelope, for that is
    not there, nor kinds of ``HUBS_OWN``."""
    for each in plan.objects:
        if each.origin is None and (each.id.group, each.id.kind) not in HUBS_OWN:
            yield each.id
