# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Update runs by hand that bring the members of a fleet with different minors (``MinorGap``, ``OutOfSupport``) level,
one minor after another, before an auto-upgrade profile can take them.

A channel moves no member over two minors at once.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime

from ...values.kube_version import KubeVersion
from ..releases.node_images import Cluster
from ..releases.releases import Releases, exact_version


@dataclass(frozen=True)
class ProposedRun:
    """A run of type Full to the version, over the members below it, by name."""

    version: str
    members: tuple[str, ...]


def levelling(members: t.Sequence[Cluster], version: str, known: Releases, now: datetime) -> tuple[ProposedRun, ...]:
    """The runs that leave no member more than one minor below ``version``, the lowest first; none where all are so near
    already. Nothing is recorded.

    Each goes to the newest patch of its minor; to the minor as such where nothing is known of the providers. Members
    without a version, or of another major, are left out. FleetError ``no-such-release`` if a minor on the way is not
    offered any more; ValueError for a malformed version.
    """
    target = KubeVersion.parse(version)
    at = {each.name: KubeVersion.parse(each.version) for each in members if each.version}
    minors = {name: found.minor for name, found in at.items() if found.major == target.major}
    providers = {each.provider for each in members}
    found = []
    for minor in range(min(minors.values(), default=target.minor) + 1, target.minor):
        behind = tuple(sorted(name for name, mine in minors.items() if mine < minor))
        if behind:
            found.append(ProposedRun(exact_version(known, providers, f"{target.major}.{minor}", now), behind))
    return tuple(found)
