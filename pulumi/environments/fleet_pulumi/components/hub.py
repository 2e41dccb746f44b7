# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server becomes a hub: definitions, policies and the namespace of gitops.fleet."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s
from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.identity import NAMESPACE
from ansible_collections.gitops.fleet.plugins.module_utils._core.resources.applyset import MANAGED_BY
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.environments.hub import CRD_FOLDER
from ansible_collections.gitops.fleet.plugins.module_utils._fleet.updates.approval_policy import shipped

from ..documents import Document
from ..manifests import manifest


@dataclass(frozen=True, kw_only=True)
class Care:
    """``skip_unreachable`` leaves objects in a cluster that does not answer as they are. ``take_over`` makes objects
    ours that are there already; those of a run that was killed before it had written them down are such."""

    skip_unreachable: bool = False
    take_over: bool = False


@dataclass(frozen=True, kw_only=True)
class FleetHubArgs:
    """``kubeconfig`` is a path. ``cluster`` is the resource that goes with all its objects when it is deleted; None for
    a cluster that stays. With a definition all objects of its kind go, records among them: ``protect`` refuses that."""

    kubeconfig: pulumi.Input[str]
    context: pulumi.Input[str]
    care: Care = Care()
    cluster: pulumi.Resource | None = None
    protect: bool = False


class FleetHub(pulumi.ComponentResource):
    """``provider`` is for further objects on the hub, which need ``ready`` to be there."""

    provider: k8s.Provider
    ready: list[pulumi.Resource]

    def __init__(self, name: str, args: FleetHubArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gitops-fleet:environments:FleetHub", name, {}, opts)
        own = pulumi.ResourceOptions(parent=self)
        self.provider = cluster_provider(name, args.kubeconfig, args.context, args.care, own)
        objects = pulumi.ResourceOptions(
            parent=self, provider=self.provider, deleted_with=args.cluster, protect=args.protect
        )
        self.ready = [manifest(name, document, objects) for document in hub_documents()]
        self.register_outputs({"namespace": NAMESPACE})


def hub_documents() -> list[Document]:
    """What the role ``hub`` installs: definitions, policies, namespace; marked as ours, as it marks them."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    definitions = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(CRD_FOLDER.glob("*.json"))]
    return [_ours(each) for each in (namespace, *definitions, *shipped())]


def cluster_provider(
    name: str,
    kubeconfig: pulumi.Input[str],
    context: pulumi.Input[str],
    care: Care,
    opts: pulumi.ResourceOptions,
) -> k8s.Provider:
    """An explicit provider for one cluster. Its identity is its name: a new certificate in the kubeconfig replaces
    nothing."""
    return k8s.Provider(
        f"{name}/provider",
        kubeconfig=kubeconfig,
        context=context,
        cluster_identifier=name,
        skip_update_unreachable=care.skip_unreachable,
        upsert_existing_objects=care.take_over,
        opts=opts,
    )


def _ours(document: t.Mapping[str, t.Any]) -> Document:
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **MANAGED_BY}}}
