# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Paths (URLs) of objects in the Kubernetes REST API; group, version, plural and scope of a kind, with a table of the
usual built-in kinds; manifests without a name or namespace (``missing-name``, ``missing-namespace``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from urllib.parse import quote

from .._core.errors import FleetError


@dataclass(frozen=True)
class Resource:
    """What a server calls a kind. ``group`` is empty for the core group; ``plural`` is the word in the path."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """``group/version``, or the version alone of the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Path of one object, of all in a namespace, of all there are (without ``namespace``), or of a subresource;
        percent-encoded. ``namespace`` is passed over for a kind without namespaces, and needed for one object of any
        other."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/" + "/".join(quote(part, safe=":") for part in parts)


def _table(group: str, version: str, namespaced: str, cluster: str = "") -> t.Iterator[Resource]:
    """The resources of one group and version; ``namespaced`` and ``cluster`` are names of kinds with and without
    namespaces, parted by spaces."""
    for kinds, in_namespace in ((namespaced, True), (cluster, False)):
        for kind in kinds.split():
            yield Resource(group, version, kind, _plural(kind), in_namespace)


def _plural(kind: str) -> str:
    """The word for a built-in kind in paths."""
    word = kind.lower()
    if word.endswith(("s", "x")):
        return word if word == "endpoints" else word + "es"
    return word[:-1] + "ies" if word.endswith("y") else word + "s"


# Name and scope of a built-in kind never change within a version, so no server needs to be asked for them.
BUILT_IN: t.Mapping[tuple[str, str], Resource] = {
    (resource.api_version, resource.kind): resource
    for rows in (
        _table(
            "",
            "v1",
            "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController"
            " ResourceQuota Secret Service ServiceAccount",
            "Namespace Node PersistentVolume",
        ),
        _table("apps", "v1", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"),
        _table("batch", "v1", "CronJob Job"),
        _table("autoscaling", "v2", "HorizontalPodAutoscaler"),
        _table("networking.k8s.io", "v1", "Ingress NetworkPolicy", "IngressClass"),
        _table("policy", "v1", "PodDisruptionBudget"),
        _table("rbac.authorization.k8s.io", "v1", "Role RoleBinding", "ClusterRole ClusterRoleBinding"),
        _table("storage.k8s.io", "v1", "CSIStorageCapacity", "CSIDriver CSINode StorageClass VolumeAttachment"),
        _table("scheduling.k8s.io", "v1", "", "PriorityClass"),
        _table("coordination.k8s.io", "v1", "Lease"),
        _table("discovery.k8s.io", "v1", "EndpointSlice"),
        _table("node.k8s.io", "v1", "", "RuntimeClass"),
        _table(
            "admissionregistration.k8s.io",
            "v1",
            "",
            "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
            " ValidatingWebhookConfiguration",
        ),
        _table("apiextensions.k8s.io", "v1", "", "CustomResourceDefinition"),
        _table("apiregistration.k8s.io", "v1", "", "APIService"),
    )
    for resource in rows
}


def object_path(resource: Resource, manifest: t.Mapping[str, t.Any], where: str = "") -> str:
    """Path of the object that a manifest describes; its metadata must be a map, if any, and name and namespace texts.
    FleetError ``missing-name``, or ``missing-namespace`` where its kind has namespaces; ``where`` is for these."""
    metadata = manifest.get("metadata") or {}
    name, namespace = metadata.get("name") or "", metadata.get("namespace") or ""
    if not name:
        raise FleetError("missing-name", f"a {resource.kind} has no metadata.name", where)
    if resource.namespaced and not namespace:
        raise FleetError("missing-namespace", f"{resource.kind}/{name} has no metadata.namespace", where)
    return resource.path(namespace, name)
