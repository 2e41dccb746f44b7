# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What must never be placed, and why (KubeFleet's ignored kinds and objects, and our own records)."""

from __future__ import annotations

import typing as t

from ..errors import Problem
from .identity import Manifest, ObjectId, labels_of, metadata_of

IGNORED_GROUPS = {
    "events.k8s.io": "events belong to the cluster where they happened",
    "coordination.k8s.io": "leases belong to the cluster where they are held",
    "metrics.k8s.io": "metrics are read, never written",
    "cluster.kubernetes-fleet.io": "fleet membership is kept on the hub",
    "gitops.fleet": "fleet records are kept on the hub",
}
IGNORED_KINDS = {
    ("", "Pod"): "pods are made by the workload that owns them; place that",
    ("", "Node"): "nodes belong to their cluster",
    ("", "Event"): "events belong to the cluster where they happened",
    ("networking.fleet.azure.com", "ServiceImport"): "it is made on each member",
    ("networking.fleet.azure.com", "TrafficManagerProfile"): "it is kept on the hub",
    ("networking.fleet.azure.com", "TrafficManagerBackend"): "it is kept on the hub",
}
PLACEMENT_GROUP = "placement.kubernetes-fleet.io"
ENVELOPES = ("ClusterResourceEnvelope", "ResourceEnvelope")
RESERVED_PREFIXES = ("kube-", "fleet-")
TOKEN_SECRET = "kubernetes.io/service-account-token"
SLICE_LABEL = "endpointslice.kubernetes.io/managed-by"


def is_reserved_namespace(name: str) -> bool:
    """``default``, ``kube-*`` and ``fleet-*`` exist on each member for its own ends."""
    return name == "default" or name.startswith(RESERVED_PREFIXES)


def kind_refusal(group: str, kind: str) -> str | None:
    """Why no object of the kind is ever placed, or None."""
    if group == PLACEMENT_GROUP and kind not in ENVELOPES:
        return "placement objects are kept on the hub"
    return IGNORED_GROUPS.get(group) or IGNORED_KINDS.get((group, kind))


def refusal(each: ObjectId, manifest: Manifest, services: t.Container[tuple[str, str]] = ()) -> Problem | None:
    """Why this object is left out, or None. ``services`` are the (namespace, name) of the Services beside it."""
    reason = kind_refusal(each.group, each.kind) or _object_refusal(each, manifest, services)
    return Problem("never-placed", f"{each} is left out: {reason}", str(each)) if reason else None


def _object_refusal(each: ObjectId, manifest: Manifest, services: t.Container[tuple[str, str]]) -> str | None:
    metadata = metadata_of(manifest)
    match each.group, each.kind:
        case ("apps", "ReplicaSet" | "ControllerRevision") if metadata.get("ownerReferences"):
            return "its owner makes it anew on each member"
        case ("", "ConfigMap") if each.name == "kube-root-ca.crt":
            return "each cluster publishes its own certificate authority"
        case ("", "ServiceAccount") if each.name == "default":
            return "each namespace gets its own"
        case ("", "Secret") if manifest.get("type") == TOKEN_SECRET:
            return "its token is valid only in the cluster that issued it"
        case ("", "Endpoints") if (each.namespace, each.name) in services:
            return "the Service of the same name makes it"
        case ("discovery.k8s.io", "EndpointSlice") if SLICE_LABEL in labels_of(manifest):
            return "a controller makes it on each member"
    return None
