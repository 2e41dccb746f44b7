# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Two orders of objects (KubeFleet): the hash order, which makes hashes stable, and the waves in which objects are
applied, which kinds first.

Deletion runs through the apply order backwards.
"""

from __future__ import annotations

from ..objects.identity import ObjectId

HASH_ORDER = (
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)

RBAC = "rbac.authorization.k8s.io"
WAVES: tuple[tuple[tuple[str, str], ...], ...] = (
    (("", "Namespace"), ("scheduling.k8s.io", "PriorityClass")),
    (
        ("networking.k8s.io", "NetworkPolicy"),
        ("", "ResourceQuota"),
        ("", "LimitRange"),
        ("policy", "PodSecurityPolicy"),
        ("policy", "PodDisruptionBudget"),
        ("", "ServiceAccount"),
        ("", "Secret"),
        ("", "ConfigMap"),
        ("storage.k8s.io", "StorageClass"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("networking.k8s.io", "IngressClass"),
    ),
    ((RBAC, "Role"), (RBAC, "ClusterRole")),
    ((RBAC, "RoleBinding"), (RBAC, "ClusterRoleBinding")),
    (
        ("", "Service"),
        ("apps", "DaemonSet"),
        ("", "Pod"),
        ("", "ReplicationController"),
        ("apps", "ReplicaSet"),
        ("apps", "Deployment"),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("apps", "StatefulSet"),
        ("batch", "Job"),
        ("batch", "CronJob"),
        ("networking.k8s.io", "Ingress"),
    ),
    (
        ("apiregistration.k8s.io", "APIService"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ),
)
LAST_WAVE = 999

_PLACE = {kind: place for place, kind in enumerate(HASH_ORDER)}
_WAVE = {group_kind: wave for wave, kinds in enumerate(WAVES) for group_kind in kinds}


def hash_order_key(each: ObjectId) -> tuple[int, str, str]:
    """Sort key of the hash order: kinds of ``HASH_ORDER``, of whatever group, by their place in it, the others after
    them by group, version and kind; inside a kind by API version, then by ``namespace/name`` as one text, as upstream
    has it."""
    place, named = _PLACE.get(each.kind), f"{each.namespace}/{each.name}"
    if place is None:
        return (len(HASH_ORDER), f"{each.group}/{each.version}, Kind={each.kind}", named)
    return (place, each.api_version, named)


def apply_wave(each: ObjectId) -> int:
    """The number of the wave in which an object is applied, from 0: the place of its group and kind in ``WAVES``;
    ``LAST_WAVE`` for kinds that are not there."""
    return _WAVE.get((each.group, each.kind), LAST_WAVE)
