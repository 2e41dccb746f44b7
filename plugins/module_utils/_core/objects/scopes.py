# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which Kubernetes kinds are namespaced and which cluster-scoped, known without asking an API server; the key of an
object by that."""

from __future__ import annotations

import typing as t

from .api_groups import PLACEMENT_GROUP
from .identity import (
    Manifest,
    ObjectId,
    ObjectKey,
    group_version,
    metadata_of,
)

GroupKind = tuple[str, str]
Scopes = t.Mapping[GroupKind, bool]
DEFINITION: GroupKind = ("apiextensions.k8s.io", "CustomResourceDefinition")

_CLUSTER = {
    "": "Namespace Node PersistentVolume ComponentStatus",
    "admissionregistration.k8s.io": (
        "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy "
        "ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"
    ),
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io": "IngressClass IPAddress ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "policy": "PodSecurityPolicy",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "resource.k8s.io": "DeviceClass ResourceSlice",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    PLACEMENT_GROUP: "ClusterResourceEnvelope",
}
_NAMESPACED = {
    "": (
        "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController "
        "ResourceQuota Secret Service ServiceAccount"
    ),
    "apps": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling": "HorizontalPodAutoscaler",
    "batch": "CronJob Job",
    "coordination.k8s.io": "Lease",
    "discovery.k8s.io": "EndpointSlice",
    "networking.k8s.io": "Ingress NetworkPolicy",
    "policy": "PodDisruptionBudget",
    "rbac.authorization.k8s.io": "Role RoleBinding",
    "resource.k8s.io": "ResourceClaim ResourceClaimTemplate",
    "storage.k8s.io": "CSIStorageCapacity",
    PLACEMENT_GROUP: "ResourceEnvelope",
}
BUILT_IN: Scopes = {
    (group, kind): namespaced
    for table, namespaced in ((_CLUSTER, False), (_NAMESPACED, True))
    for group, kinds in table.items()
    for kind in kinds.split()
}


def likely_scopes(manifests: t.Collection[Manifest], discovered: Scopes | None = None) -> dict[GroupKind, bool]:
    """Whether a kind is namespaced (True) or cluster-scoped (False), by (group, kind); a kind of which nothing is known
    is not in it.

    What is said later wins: a guess, by whether any manifest of the kind names a namespace; CustomResourceDefinitions
    among the manifests; ``BUILT_IN``; what an API server's discovery said (``discovered``; None: nothing).
    """
    scopes: dict[GroupKind, bool] = {}
    for manifest in manifests:
        seen = _group_kind(manifest)
        scopes[seen] = scopes.get(seen, False) or bool(metadata_of(manifest).get("namespace"))
    return scopes | sure_scopes(manifests) | dict(discovered or {})


def sure_scopes(manifests: t.Iterable[Manifest]) -> dict[GroupKind, bool]:
    """Whether a kind is namespaced, by (group, kind), for those of ``BUILT_IN`` (Kubernetes' own and KubeFleet's
    envelopes), and for others that CustomResourceDefinitions among the manifests define; of two for one kind the last
    counts."""
    defined: dict[GroupKind, bool] = {}
    for manifest in manifests:
        spec = manifest.get("spec")
        if _group_kind(manifest) == DEFINITION and isinstance(spec, t.Mapping):
            names = spec.get("names")
            if isinstance(names, t.Mapping):
                defined[(str(spec.get("group", "")), str(names.get("kind", "")))] = spec.get("scope") == "Namespaced"
    return defined | dict(BUILT_IN)


def scoped_key(each: ObjectId, scopes: Scopes) -> ObjectKey:
    """The key of an object, without the namespace of a kind that by ``scopes`` has none: API servers drop it. A kind
    that is not in ``scopes`` keeps it."""
    return each.key if scopes.get((each.group, each.kind), True) else (each.group, each.kind, "", each.name)


def _group_kind(manifest: Manifest) -> GroupKind:
    """Group and kind of a manifest, empty where they are missing; what is no text becomes text."""
    return group_version(str(manifest.get("apiVersion", "")))[0], str(manifest.get("kind", ""))
