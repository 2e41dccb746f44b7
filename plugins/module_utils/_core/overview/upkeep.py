# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What of a member grows old: kubelets ``behind`` its API server (``tooOld``) or ``ahead`` of it, images of nodes, and
the certificate that ends next, of server or client, with the days that are left."""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..objects.clusters.fleet_member import FleetMember
from ..updates.releases.versions import too_old_for
from ..values.instants import SECONDS, write_time
from ..values.kube_version import KubeVersion

SERVER, CLIENT = "server", "client"
SOON = timedelta(days=30)
NEVER_NEWER = "which Kubernetes does not support"


@dataclass(frozen=True, kw_only=True)
class Kubelets:
    """Versions of a member's kubelets as its pools tell them, each the oldest of its pool; empty where none is known.
    ``behind`` is how many minors the oldest is behind the API server, ``too_old`` whether that is more than Kubernetes
    supports; ``ahead`` is how many the newest is ahead of it, which Kubernetes never supports. Both None where that is
    not known."""

    oldest: str = ""
    newest: str = ""
    behind: int | None = None
    ahead: int | None = None
    too_old: bool = False

    def as_dict(self) -> dict[str, t.Any]:
        """As results and reports have it: the fields, ``too_old`` as ``tooOld``."""
        told = {"oldest": self.oldest, "newest": self.newest, "behind": self.behind, "ahead": self.ahead}
        return {**told, "tooOld": self.too_old}


@dataclass(frozen=True, kw_only=True)
class CertificateEnd:
    """The certificate of a member that ends next: ``which`` is that of the API server, or that of the client in the
    kubeconfig. ``days`` are whole ones that are left, negative once it has ended."""

    which: str
    at: datetime
    days: int

    @property
    def ended(self) -> bool:
        """Whether it had ended when it was looked at."""
        return self.days < 0

    @property
    def near(self) -> bool:
        """Whether it has ended, or ends in less than 30 days."""
        return self.days < SOON.days

    def as_dict(self) -> dict[str, t.Any]:
        """As results and reports have it: ``which``, ``ends`` in RFC 3339 to whole seconds, ``days``."""
        return {"which": self.which, "ends": write_time(self.at, SECONDS), "days": self.days}


def kubelets_of(member: FleetMember, server: str) -> Kubelets:
    """The kubelets of the member, whose API server has the version ``server``. Pools whose version cannot be read are
    left out; ``behind`` and ``ahead`` are None across majors, and where the server's version cannot be read. Too old is
    what is further behind than Kubernetes' version skew policy permits, or of another major."""
    readable = {
        pool.version: found for pool in member.status.node_pools if (found := version_of(pool.version)) is not None
    }
    if not readable:
        return Kubelets()
    oldest, newest = min(readable, key=readable.__getitem__), max(readable, key=readable.__getitem__)
    at = version_of(server)
    return Kubelets(
        oldest=oldest,
        newest=newest,
        behind=_minors(readable[oldest], at),
        ahead=_minors(at, readable[newest]),
        too_old=at is not None and too_old_for(oldest, server),
    )


def _minors(older: KubeVersion | None, newer: KubeVersion | None) -> int | None:
    """How many minors lie between them, 0 where ``older`` is not older; None across majors, and without one of them."""
    if older is None or newer is None or older.major != newer.major:
        return None
    return max(0, older.minor_distance(newer))


def images_of(member: FleetMember) -> dict[str, int]:
    """The member's nodes by image, as far as its pools tell it. Older records have one image for a pool, the oldest,
    and all its nodes count by that."""
    counts: Counter[str] = Counter()
    for pool in member.status.node_pools:
        for each in pool.images:
            counts[each.image] += each.count
        if pool.image and not pool.images:
            counts[pool.image] += pool.count
    return dict(counts)


def nodes_without_image(member: FleetMember) -> int:
    """How many of the member's nodes ``images_of`` does not count, since their image is not known."""
    there = sum(pool.count for pool in member.status.node_pools)
    return max(0, there - sum(images_of(member).values()))


def images_in_all(images: t.Iterable[t.Mapping[str, int]]) -> dict[str, int]:
    """All nodes by image, the most first, of equal ones by image; ``images`` are the nodes by image of each member."""
    counts: Counter[str] = Counter()
    for each in images:
        counts.update(each)
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def next_certificate_end(member: FleetMember, now: datetime) -> CertificateEnd | None:
    """The certificate, of server and client, that ends next or has ended first, seen at ``now``, aware; None where none
    is known."""
    told = member.status.certificates
    if told is None:
        return None
    known = [(at, which) for which, at in ((SERVER, told.server), (CLIENT, told.client)) if at]
    if not known:
        return None
    at, which = min(known)
    return CertificateEnd(which=which, at=at, days=(at - now).days)


def version_of(text: str) -> KubeVersion | None:
    """The version of Kubernetes that a text such as ``v1.35.2`` tells; None for what is none."""
    try:
        return KubeVersion.parse(text) if text else None
    except ValueError:
        return None
