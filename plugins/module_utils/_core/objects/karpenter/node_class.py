# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Node classes of Karpenter's providers, as far as decisions about drift read them.

Azure's ``AKSNodeClass`` (karpenter.azure.com/v1beta1) and AWS' ``EC2NodeClass`` (karpenter.k8s.aws/v1) are known field
by field; of other classes only the hash is used.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...schema.meta import EMPTY, ObjectMeta
from ...schema.prop import prop

AKS_NODE_CLASS, EC2_NODE_CLASS = "AKSNodeClass", "EC2NodeClass"
AKS_GROUP = "karpenter.azure.com"


@dataclass(frozen=True, kw_only=True)
class NodeImage:
    id: str = prop("Identity of the image.")


@dataclass(frozen=True, kw_only=True)
class NodeSubnet:
    id: str = prop("Identity of the subnet.")
    zone: str = prop("Zone that it is in.", default="")


@dataclass(frozen=True, kw_only=True)
class NodeClassStatus:
    kubernetes_version: str = prop("Version that nodes are to have.", default="")
    images: tuple[NodeImage, ...] = prop("Images that nodes may have.", default=())
    subnets: tuple[NodeSubnet, ...] = prop("Subnets that nodes may be in.", default=())


@dataclass(frozen=True, kw_only=True)
class NodeClass:
    """A class that machines are made from, of any provider. ``spec`` stays as it is written: the provider hashes it,
    and we only compare. What its status does not say is empty."""

    kind: str = prop("Kind of the class.", default=AKS_NODE_CLASS)
    metadata: ObjectMeta = prop("Metadata.")
    spec: t.Mapping[str, t.Any] = prop("What machines are made from.", default=EMPTY, raw=True)
    status: NodeClassStatus = prop("What the provider found.", default=NodeClassStatus())

    @property
    def name(self) -> str:
        return self.metadata.name
