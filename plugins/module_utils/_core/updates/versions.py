# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a control plane may go from one version to another: never back, one minor at a time (version skew policy)."""

from __future__ import annotations

import re

from ..values.kube_version import KubeVersion
from .run import Obstacle
from .states import ALREADY_AT_TARGET, PRECONDITION_FAILED

_MINOR_ONLY = re.compile(r"v?\d+\.\d+")


def reached(version: str, target: str) -> bool:
    """Whether ``version`` is the target or newer. A target without a patch is any patch of that minor."""
    now, wanted = KubeVersion.parse(version), KubeVersion.parse(target)
    if _MINOR_ONLY.fullmatch(target):
        return (now.major, now.minor) >= (wanted.major, wanted.minor)
    return now >= wanted


def nothing_to_do(version: str, target: str) -> Obstacle | None:
    """Why a member at ``version`` is left alone: at the target, or ahead of it. An update never goes back."""
    if not reached(version, target):
        return None
    now, wanted = KubeVersion.parse(version), KubeVersion.parse(target)
    ahead = (now.major, now.minor) > (wanted.major, wanted.minor) if _MINOR_ONLY.fullmatch(target) else now > wanted
    words = f"already ahead: {version} is newer than {target}" if ahead else f"already at {version}"
    return Obstacle(reason=ALREADY_AT_TARGET, message=words)


def step_refused(version: str, target: str) -> Obstacle | None:
    """Why a member cannot go from ``version`` to ``target`` in one step, with the path it would need."""
    now, wanted = KubeVersion.parse(version), KubeVersion.parse(target)
    if now.major != wanted.major:
        return Obstacle(reason=PRECONDITION_FAILED, message=f"{version} and {target} differ in the major version")
    distance = now.minor_distance(wanted)
    if distance <= 1:
        return None
    path = " -> ".join([version, *(f"v{now.major}.{now.minor + step}" for step in range(1, distance)), target])
    message = f"{target} is {distance} minors ahead of {version}; a control plane goes one at a time: {path}"
    return Obstacle(reason=PRECONDITION_FAILED, message=message)
