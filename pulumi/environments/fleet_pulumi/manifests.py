# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents as resources of pulumi_kubernetes, each by the class of its kind."""

from __future__ import annotations

import typing as t

import pulumi
import pulumi_kubernetes as k8s

from .documents import Document

_CLASSES: t.Mapping[str, t.Any] = {
    "Namespace": lambda: k8s.core.v1.Namespace,
    "ServiceAccount": lambda: k8s.core.v1.ServiceAccount,
    "ClusterRole": lambda: k8s.rbac.v1.ClusterRole,
    "ClusterRoleBinding": lambda: k8s.rbac.v1.ClusterRoleBinding,
    "Role": lambda: k8s.rbac.v1.Role,
    "RoleBinding": lambda: k8s.rbac.v1.RoleBinding,
    "CustomResourceDefinition": lambda: k8s.apiextensions.v1.CustomResourceDefinition,
    "ValidatingAdmissionPolicy": lambda: k8s.admissionregistration.v1.ValidatingAdmissionPolicy,
    "ValidatingAdmissionPolicyBinding": lambda: k8s.admissionregistration.v1.ValidatingAdmissionPolicyBinding,
}
_ARGUMENTS = {"roleRef": "role_ref"}


def resource_name(scope: str, document: Document) -> str:
    """The name of a document's resource, unique in a stack: ``<scope>/<kind>/<namespace, if any>/<name>``."""
    metadata = document["metadata"]
    return "/".join(filter(None, (scope, document["kind"], metadata.get("namespace"), metadata["name"])))


def manifest(scope: str, document: Document, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """The resource of a document in the cluster that ``scope`` names; the provider is in ``opts``."""
    name = resource_name(scope, document)
    parts = {_ARGUMENTS.get(key, key): value for key, value in document.items() if key not in ("apiVersion", "kind")}
    found = _CLASSES.get(document["kind"])
    if found is not None:
        return t.cast(pulumi.CustomResource, found()(name, opts=opts, **parts))
    custom = k8s.apiextensions.CustomResource
    own = custom(name, api_version=document["apiVersion"], kind=document["kind"], opts=opts, **parts)
    return t.cast(pulumi.CustomResource, own)
