# Copyright: Contributors to the gitops.fleet project
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Karpenter makes a member's nodes from: node classes, and the pools that refer to them."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from ..documents import Document
from ..manifests import manifest

# One owner of the fields, so that what a plan asks the server is what the plugin writes then.
MANAGER = "pulumi-kubernetes"
_OWNER = {"pulumi.com/patchFieldManager": MANAGER}


@dataclass(frozen=True, kw_only=True)
class FleetNodesArgs:
    """``classes`` and ``pools`` are whole documents. Deleting a pool drains its nodes: ``protect`` refuses that."""

    member: str
    provider: k8s.Provider
    classes: t.Sequence[Document] = ()
    pools: t.Sequence[Document] = ()
    cluster: pulumi.Resource | None = None
    protect: bool = False


class FleetNodes(pulumi.ComponentResource):
    """The pools go before the classes that their nodes are made from."""

    pools: list[str]

    def __init__(self, name: str, args: FleetNodesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gitops-fleet:environments:FleetNodes", name, {}, opts)
        own = pulumi.ResourceOptions(
            parent=self, provider=args.provider, deleted_with=args.cluster, protect=args.protect
        )
        classes = [manifest(args.member, owned(each), own) for each in args.classes]
        after = pulumi.ResourceOptions.merge(own, pulumi.ResourceOptions(depends_on=classes))
        for each in args.pools:
            manifest(args.member, owned(each), after)
        self.pools = [each["metadata"]["name"] for each in args.pools]
        self.register_outputs({"pools": self.pools})


def owned(document: Document) -> Document:
    """With the name of who owns its fields, which the plugin makes up otherwise."""
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **_OWNER}}}
