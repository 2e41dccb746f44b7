# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""``ReleaseCatalog`` of ``gitops.fleet``: which Kubernetes versions and node images a platform offers where.

What a vendor's service knows by itself is data here, one object for each platform.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...schema.meta import ObjectMeta
from ...schema.prop import prop
from ..api_groups import FLEET_API
from ..clusters.maintenance_forms import IMAGE_VERSION, LOCATIONS_RULES, release_prop

GA, PREVIEW, DEPRECATED = "ga", "preview", "deprecated"
RELEASED, WITHDRAWN = "released", "withdrawn"
LINUX, WINDOWS = "Linux", "Windows"
EVERYWHERE = "*"
SUPPORTED_MINORS, IMAGE_AGE_DAYS = 3, 90


@dataclass(frozen=True, kw_only=True)
class KubernetesRelease:
    """A version of Kubernetes that a platform offers. ``ga``: generally available; ``deprecated``: still offered to
    runs that name it, and chosen for no other."""

    version: str = release_prop("Version of Kubernetes.")
    status: str = prop("How mature it is.", default=GA, enum=(PREVIEW, GA, DEPRECATED))
    available_from: datetime | None = prop("Instant from which it can be had here.", default=None)


@dataclass(frozen=True, kw_only=True)
class NodeImageRelease:
    version: str = prop(
        "Version of the image, its family left out.",
        max_length=100,
        pattern=IMAGE_VERSION,
        form="a version such as 202309.26.0",
    )
    status: str = prop("Only released images are chosen.", default=RELEASED, enum=(RELEASED, PREVIEW, WITHDRAWN))
    published_at: datetime | None = prop("Instant of its publication.", default=None)
    available_from: datetime | None = prop("Instant from which it can be had here.", default=None)
    security: bool = prop("It brings security fixes and nothing else.", default=False)


@dataclass(frozen=True, kw_only=True)
class NodeImageFamily:
    family: str = prop("Name of the family, such as AKSUbuntu-2204gen2containerd.", min_length=1, max_length=150)
    os: str = prop("Operating system.", default=LINUX, enum=(LINUX, WINDOWS))
    versions: tuple[NodeImageRelease, ...] = prop("Images of the family.", max_items=500)


@dataclass(frozen=True, kw_only=True)
class CatalogLocation:
    """What can be had in one place; ``*`` is each place that is not listed."""

    name: str = prop("Location as members have it, or * for all others.", min_length=1, max_length=100)
    versions: tuple[KubernetesRelease, ...] = prop("Versions of Kubernetes.", default=(), max_items=500)
    images: tuple[NodeImageFamily, ...] = prop("Node images by family.", default=(), max_items=100)


@dataclass(frozen=True, kw_only=True)
class ReleaseCatalogSpec:
    provider: str = prop("Platform, as members have it in provider.", default="", max_length=100)
    source: str = prop("Where this is known from, for messages.", default="", max_length=1024)
    supported_minors: int = prop(
        "Minors that are supported, the newest included.", default=SUPPORTED_MINORS, minimum=1, maximum=10
    )
    image_age_days: int = prop(
        "Days after publication in which an image can be rolled out.", default=IMAGE_AGE_DAYS, minimum=1, maximum=3650
    )
    locations: tuple[CatalogLocation, ...] = prop(
        "What can be had where.", min_items=1, max_items=200, rules=LOCATIONS_RULES
    )


@dataclass(frozen=True, kw_only=True)
class ReleaseCatalog:
    api_version: str = prop("API version.", default=FLEET_API)
    kind: str = prop("Kind.", default="ReleaseCatalog")
    metadata: ObjectMeta = prop("Object metadata.")
    spec: ReleaseCatalogSpec = prop("Versions and images by location.")

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def told_by(self) -> str:
        """How messages name the catalogue: ``release catalogue aks, its source``, or without a source."""
        return f"release catalogue {self.name}" + (f", {self.spec.source}" if self.spec.source else "")
