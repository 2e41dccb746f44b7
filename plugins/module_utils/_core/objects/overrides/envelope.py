# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ClusterResourceEnvelope`` and ``ResourceEnvelope``: manifests that lie on the hub and act only on members
(KubeFleet)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ..api_groups import PLACEMENT_API

Manifests = t.Mapping[str, t.Mapping[str, t.Any]]
MOST_ENTRIES = 50


@dataclass(frozen=True)
class Origin:
    """The envelope that a manifest came from, and its key there."""

    type: str
    namespace: str
    name: str
    key: str

    def as_dict(self) -> dict[str, str]:
        """The form of ``envelope`` in the status of a placement, without the key; an empty namespace is left out."""
        located = {"namespace": self.namespace} if self.namespace else {}
        return {"name": self.name, **located, "type": self.type}

    def __str__(self) -> str:
        """``type/namespace/name data[key]``, as messages have it; of type, namespace and name empty ones are left
        out."""
        return "/".join(part for part in (self.type, self.namespace, self.name) if part) + f" data[{self.key}]"


@dataclass(frozen=True, kw_only=True)
class ClusterResourceEnvelope:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ClusterResourceEnvelope")
    metadata: ObjectMeta = prop("Object metadata.")
    data: Manifests = prop(
        "Cluster-scoped manifests by a key of your choice.", raw=True, min_items=1, max_items=MOST_ENTRIES
    )

    @property
    def name(self) -> str:
        return self.metadata.name


@dataclass(frozen=True, kw_only=True)
class ResourceEnvelope:
    api_version: str = prop("API version.", default=PLACEMENT_API)
    kind: str = prop("Kind.", default="ResourceEnvelope")
    metadata: ObjectMeta = prop("Object metadata.")
    data: Manifests = prop(
        "Manifests of the envelope's own namespace by a key of your choice.",
        raw=True,
        min_items=1,
        max_items=MOST_ENTRIES,
    )

    @property
    def name(self) -> str:
        return self.metadata.name


Envelope = ClusterResourceEnvelope | ResourceEnvelope  # pylint: disable=unsupported-binary-operation  # Python 3.11 can
