# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What an auto-upgrade profile aims at now: the version or the images that its channel comes to (Stable, Rapid,
NodeImage, SecurityPatch, TargetKubernetesVersion; Azure Fleet), or ``no-such-release``, ``unknown-channel``.

Only generally available versions and released images count. One goal holds for all members of a run, so that a version
counts which each platform has that a catalogue describes.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from datetime import datetime

from ...errors import FleetError
from ...objects.updates.auto_upgrade_profile import AutoUpgradeProfileSpec
from ...objects.updates.channel_table import CHANNELS, Channel
from ...objects.updates.release_catalog import LINUX
from ...objects.updates.update_run import (
    CONSISTENT,
    CUSTOM,
    FULL,
    LATEST,
    NODE_IMAGE_ONLY,
)
from ...values.kube_version import KubeVersion
from ...values.listed import listed
from ..releases.node_images import Cluster, common_images, newest_images
from ..releases.releases import LocationReleases, Releases, general_at_each_provider
from ..releases.targets import UpgradeTarget


def goal(
    spec: AutoUpgradeProfileSpec,
    members: t.Sequence[Cluster],
    known: Releases,
    now: datetime,
    channels: Mapping[str, Channel] = CHANNELS,
) -> UpgradeTarget:
    """The target that runs of the profile get at ``now``, with the images of a Consistent one as they would be fixed
    now; that of a channel of images may name no image. ``members`` are those that it has to fit. SecurityPatch goes by
    Custom, whatever the profile says of images.

    FleetError ``no-such-release`` if no version comes of the channel, ``unknown-channel`` for one that is not among
    ``channels``. ValueError where the channel takes the target version of ``spec``, and that is none.
    """
    channel = channels.get(spec.channel)
    if channel is None:
        hint = f"channels are {', '.join(channels)}"
        raise FleetError("unknown-channel", f"there is no channel {spec.channel}", "spec.channel", hint)
    if channel.security:
        return _of_images(CUSTOM, _security_images(members, known, now))
    selection = spec.node_image_selection.type if spec.node_image_selection else ""
    if channel.images:
        offered = newest_images if selection == LATEST else common_images
        return _of_images(selection or CONSISTENT, offered(members, known, now))
    return UpgradeTarget(
        type=FULL,
        version=_version(channel, spec, members, known, now),
        selection=selection or LATEST,
        images=common_images(members, known, now) if selection == CONSISTENT else {},
        automatic=True,
        long_term_support=spec.long_term_support,
    )


def _version(
    channel: Channel, spec: AutoUpgradeProfileSpec, members: t.Sequence[Cluster], known: Releases, now: datetime
) -> str:
    """The newest patch of the channel's minor that is generally available on all platforms that a catalogue describes,
    without ``v``. FleetError ``no-such-release`` if there is none, ValueError as of ``goal``."""
    providers = {each.provider for each in members}
    general = general_at_each_provider(known, providers, now)
    if not general:
        words = "no version is generally available on all platforms of the fleet"
        if not any(map(known.knows, providers)):
            whose = [f"provider {each}" if each else "members without a provider" for each in sorted(providers)]
            words += f": there is no ReleaseCatalog for {listed(whose)}"
        raise FleetError("no-such-release", words)
    newest = general[-1]
    minor = (newest.major, newest.minor - (channel.minors_back or 0))
    if channel.minors_back is None:
        wanted = KubeVersion.parse(spec.target_kubernetes_version)
        minor = (wanted.major, wanted.minor)
    patches = [each for each in general if (each.major, each.minor) == minor]
    if not patches:
        words = f"no patch of {minor[0]}.{minor[1]} is generally available; the newest version is {newest}"
        raise FleetError("no-such-release", words)
    return str(patches[-1]).removeprefix("v")


def _of_images(selection: str, images: Mapping[str, str]) -> UpgradeTarget:
    """The target of these images, by family. Latest takes none of them over, they only tell one goal from the next:
    each member gets what is newest when its turn comes."""
    return UpgradeTarget(type=NODE_IMAGE_ONLY, selection=selection, images=images, automatic=True)


def _security_images(members: t.Sequence[Cluster], known: Releases, now: datetime) -> Mapping[str, str]:
    """The newest version by family, as for Consistent, of those images alone that only bring security fixes, and of
    families of Linux."""
    places = {
        key: LocationReleases(
            location=place.location,
            told_by=place.told_by,
            images={
                family: tuple(each for each in images if each.security)
                for family, images in place.images.items()
                if place.systems.get(family) == LINUX
            },
        )
        for key, place in known.places.items()
    }
    return common_images(members, Releases(places), now)
