# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Auto-upgrade channels as data (Azure Fleet's Stable, Rapid, NodeImage, SecurityPatch, TargetKubernetesVersion): what
each follows, and which kind of run comes of it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

RAPID, STABLE, TARGET = "Rapid", "Stable", "TargetKubernetesVersion"
NODE_IMAGES, SECURITY_PATCH = "NodeImage", "SecurityPatch"


@dataclass(frozen=True)
class Channel:
    """A channel of auto-upgrade profiles. ``images``: it follows node images, otherwise versions of Kubernetes.

    ``minors_back`` counts from the newest generally available minor, None: the minor that the profile names.
    ``security``: only images that bring nothing but security fixes, and only for Linux.
    """

    name: str
    images: bool = False
    minors_back: int | None = 0
    security: bool = False


CHANNELS: t.Mapping[str, Channel] = {
    each.name: each
    for each in (
        Channel(STABLE, minors_back=1),
        Channel(RAPID, minors_back=0),
        Channel(NODE_IMAGES, images=True),
        Channel(TARGET, minors_back=None),
        Channel(SECURITY_PATCH, images=True, security=True),
    )
}
