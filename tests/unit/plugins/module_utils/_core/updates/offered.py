# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Releases, members and runs for the tests of versions and images: written short, read as people write them."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta

from ansible_collections.gitops.fleet.plugins.module_utils._core.objects.reading import read
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.node_images import Cluster, Pool
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.releases import Releases, releases
from ansible_collections.gitops.fleet.plugins.module_utils._core.updates.releases.targets import (
    UpgradeTarget,
    UpgradeWork,
    upgrade_work,
)
from ansible_collections.gitops.fleet.tests.data.maintenance_parts import catalogue, location

NOW = datetime(2026, 8, 17, tzinfo=UTC)
DAY = timedelta(days=1)
Manifest = dict[str, t.Any]


def ga(*versions: str, **fields: t.Any) -> list[Manifest]:
    return [{"version": each, "status": "ga", **fields} for each in versions]


def preview(*versions: str) -> list[Manifest]:
    return [{"version": each, "status": "preview"} for each in versions]


def deprecated(*versions: str) -> list[Manifest]:
    return [{"version": each, "status": "deprecated"} for each in versions]


def place(name: str = "*", versions: t.Any = (), **families: t.Any) -> Manifest:
    """``families`` have a list of versions, or of manifests of images."""
    images = [
        {"family": key, "versions": [each if isinstance(each, dict) else {"version": each} for each in found]}
        for key, found in families.items()
    ]
    return location(name, versions=list(versions), images=images)


def known(*places: Manifest, **spec: t.Any) -> Releases:
    return releases([read(catalogue(*places, source="https://releases.example", **spec)).object])


def offering(*versions: str) -> Releases:
    """These versions generally available everywhere, as one platform."""
    return known(place("*", ga(*versions)))


def cluster(version: str = "1.30.1", *pools: Pool, name: str = "m", **fields: t.Any) -> Cluster:
    return Cluster(name=name, version=version, pools=pools, **fields)


def pool(version: str = "", image: str = "", name: str = "p", family: str = "U", **fields: t.Any) -> Pool:
    return Pool(name=name, version=version, family=family, image=image, **fields)


def asked(at: Cluster, kind: str, version: str = "", given: Releases | None = None, **fields: t.Any) -> UpgradeWork:
    """What the member has to do at NOW."""
    return upgrade_work(at, UpgradeTarget(type=kind, version=version, **fields), given or Releases(), NOW)


def steps(found: UpgradeWork) -> list[str]:
    """``control plane 1.31.0``, ``p 1.31.0 2026.1``."""
    return [" ".join(filter(None, (each.pool or "control plane", each.version, each.image))) for each in found.steps]
