# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of ReleaseCatalog (what stands twice, ``not-a-release``) and AutoUpgradeProfile (channel and minor,
``target-minor-missing``) over several fields, and what of a profile cannot be changed."""

from __future__ import annotations

import typing as t

from ...schema.rules import Found
from ...values.kube_version import KubeVersion
from .auto_upgrade_profile import AutoUpgradeProfile
from .channel_table import TARGET
from .release_catalog import CatalogLocation, NodeImageFamily, ReleaseCatalog


def check_release_catalog(obj: ReleaseCatalog) -> t.Iterator[Found]:
    """What stands twice in a ReleaseCatalog: a location (``duplicate-location``), within one a family of images
    (``duplicate-family``), a version (with a ``v`` or without) or an image of a family (``duplicate-release``); and
    versions that cannot be read (``not-a-release``)."""
    names: dict[str, int] = {}
    for index, location in enumerate(obj.spec.locations):
        path = f"spec.locations[{index}]"
        if location.name and names.setdefault(location.name, index) != index:
            message = f"location {names[location.name]} is called {location.name!r} too"
            yield Found("duplicate-location", f"{path}.name", message)
        yield from _check_versions(location, path)
        yield from _check_families(location, path)


def check_profile(obj: AutoUpgradeProfile) -> t.Iterator[Found]:
    """What is wrong with the channel of an AutoUpgradeProfile and what stands beside it: ``target-minor-missing``
    (TargetKubernetesVersion alone needs one), ``target-minor-not-wanted``, ``long-term-not-wanted``."""
    spec, path = obj.spec, "spec.targetKubernetesVersion"
    pinned = spec.channel == TARGET
    if pinned and not spec.target_kubernetes_version:
        yield Found("target-minor-missing", path, f"{TARGET} needs the minor to keep to", "give a minor such as 1.34")
    if spec.channel and not pinned and spec.target_kubernetes_version:
        message = f"channel {spec.channel} finds its version itself"
        yield Found("target-minor-not-wanted", path, message, f"leave it out, or take channel {TARGET}")
    if spec.channel and not pinned and spec.long_term_support:
        message = f"channel {spec.channel} follows minors that everybody has support for"
        yield Found("long-term-not-wanted", "spec.longTermSupport", message, f"leave it out, or take channel {TARGET}")


def check_profile_update(old: AutoUpgradeProfile, new: AutoUpgradeProfile) -> t.Iterator[Found]:
    """The problem ``profile-field-fixed`` for each of ``updateStrategyId`` and ``nodeImageSelection`` that an update of
    an AutoUpgradeProfile changes, sets or takes away."""
    fixed = (
        ("updateStrategyId", old.spec.update_strategy_id, new.spec.update_strategy_id),
        ("nodeImageSelection", old.spec.node_image_selection, new.spec.node_image_selection),
    )
    for name, before, after in fixed:
        if before != after:
            yield Found("profile-field-fixed", f"spec.{name}", f"{name} cannot be changed", "make a new profile")


def _check_versions(location: CatalogLocation, path: str) -> t.Iterator[Found]:
    """``not-a-release`` for a version that cannot be read, ``duplicate-release`` for one that stands before, with a
    ``v`` or without; empty ones are left to the schema."""
    seen: dict[KubeVersion, int] = {}
    for index, release in enumerate(location.versions):
        if not release.version:
            continue
        try:
            version = KubeVersion.parse(release.version)
        except ValueError as error:
            yield Found("not-a-release", f"{path}.versions[{index}].version", str(error))
            continue
        if seen.setdefault(version, index) != index:
            message = f"version {seen[version]} is {release.version} too"
            yield Found("duplicate-release", f"{path}.versions[{index}].version", message)


def _check_families(location: CatalogLocation, path: str) -> t.Iterator[Found]:
    """``duplicate-family`` for a family that stands before, and what is wrong with the images of each."""
    seen: dict[str, int] = {}
    for index, family in enumerate(location.images):
        place = f"{path}.images[{index}]"
        if family.family and seen.setdefault(family.family, index) != index:
            yield Found("duplicate-family", f"{place}.family", f"family {seen[family.family]} is {family.family!r} too")
        yield from _check_images(family, place)


def _check_images(family: NodeImageFamily, path: str) -> t.Iterator[Found]:
    """``duplicate-release`` for an image of a family that stands before; empty ones are left to the schema."""
    seen: dict[str, int] = {}
    for index, image in enumerate(family.versions):
        if image.version and seen.setdefault(image.version, index) != index:
            message = f"image {seen[image.version]} is {image.version} too"
            yield Found("duplicate-release", f"{path}.versions[{index}].version", message)
