# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""One row for each cluster of the fleet, by what is recorded: ``state`` (``ready``, ``not ready``, ``never read``,
``not reached``, ``evacuated``, ``leaving``) and why, version, nodes and their images, headroom of cpu and memory,
heartbeat, kubelets, next certificate to end."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..cluster.facts.member import AGENT
from ..objects.clusters.evacuation import is_evacuated
from ..objects.clusters.fleet_member import FleetMember
from ..objects.clusters.member_cluster import MemberCluster
from ..objects.clusters.missing_record import IN_SHORT, lacks_record
from ..schema.meta import find_condition
from ..values.instants import write_time
from ..values.quantity import approximate
from .upkeep import CertificateEnd, Kubelets, images_of, kubelets_of, next_certificate_end, nodes_without_image

READY, NOT_READY, UNREAD, UNREADABLE = "ready", "not ready", "never read", "not reached"
EVACUATED, LEAVING = "evacuated", "leaving"
VERSION, NODES = "k8s.io/k8s-version", "kubernetes-fleet.io/node-count"
RESOURCES = ("cpu", "memory")


@dataclass(frozen=True)
class Headroom:
    """What pods may still request, and what all of them may, in cores or bytes; None where it is not known."""

    free: float | None = None
    total: float | None = None

    def as_list(self) -> list[float | None]:
        """Free and total."""
        return [self.free, self.total]


@dataclass(frozen=True, kw_only=True)
class ClusterRow:
    """One cluster, as it is recorded. ``why`` says why its ``state`` is not ready. ``group`` is that of update runs,
    ``taints`` are ``key=value:effect``, ``key=:effect`` without a value, ``operation`` is the upgrade in flight, empty
    for none. ``nodes`` is None where it is not known; ``images`` are nodes by image, as far as pools tell it, and
    ``uncounted`` are the nodes of pools that do not."""

    name: str
    state: str
    why: str = ""
    group: str = ""
    location: str = ""
    version: str = ""
    nodes: int | None = None
    headroom: t.Mapping[str, Headroom] = field(default_factory=dict)
    heartbeat: datetime | None = None
    labels: t.Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    operation: str = ""
    kubelets: Kubelets = Kubelets()
    certificate: CertificateEnd | None = None
    images: t.Mapping[str, int] = field(default_factory=dict)
    uncounted: int = 0

    def as_dict(self) -> dict[str, t.Any]:
        """The row as reports have it: ``headroom`` as ``cpu`` in cores and ``memory`` in bytes, each a list of free and
        total; ``heartbeat`` in RFC 3339, ``uncounted`` as ``imagesUncounted``. None for what is not known."""
        return {
            "name": self.name,
            "state": self.state,
            "why": self.why,
            "group": self.group,
            "location": self.location,
            "version": self.version,
            "nodes": self.nodes,
            **{name: self.headroom.get(name, Headroom()).as_list() for name in RESOURCES},
            "heartbeat": write_time(self.heartbeat) if self.heartbeat else None,
            "labels": dict(self.labels),
            "taints": list(self.taints),
            "operation": self.operation,
            "kubelets": self.kubelets.as_dict(),
            "certificate": self.certificate.as_dict() if self.certificate else None,
            "images": dict(sorted(self.images.items())),
            "imagesUncounted": self.uncounted,
        }


def cluster_row(
    cluster: MemberCluster,
    member: FleetMember | None = None,
    failed: t.Mapping[str, str] | None = None,
    *,
    now: datetime,
) -> ClusterRow:
    """The row of one cluster. Its ``state`` is the first that holds of leaving, not reached, evacuated, never read (its
    MemberCluster is missing, or no heartbeat is known), not ready (its health is not known, or not True) and ready.
    ``failed`` has the ``code`` and ``message`` with which the last read failed, if it did; the days until a certificate
    ends are told from ``now``, aware. The version is the cluster's property, else the member's."""
    status = cluster.status
    version, nodes = (status.properties.get(name) for name in (VERSION, NODES))
    agent = next((each for each in status.agent_status if each.type == AGENT), None)
    state, why = _state(cluster, member, failed)
    told = version.value if version else member.status.version if member else ""
    return ClusterRow(
        name=cluster.name,
        state=state,
        why=why,
        group=member.spec.group if member else "",
        location=member.spec.location if member else "",
        version=told,
        nodes=_number(nodes.value) if nodes else None,
        headroom={name: _headroom(cluster, name) for name in RESOURCES},
        heartbeat=agent.last_received_heartbeat if agent else None,
        labels=cluster.metadata.labels,
        taints=tuple(f"{each.key}={each.value}:{each.effect}" for each in cluster.taints),
        operation=member.status.operation if member else "",
        kubelets=kubelets_of(member, told) if member else Kubelets(),
        certificate=next_certificate_end(member, now) if member else None,
        images=images_of(member) if member else {},
        uncounted=nodes_without_image(member) if member else 0,
    )


def _state(cluster: MemberCluster, member: FleetMember | None, failed: t.Mapping[str, str] | None) -> tuple[str, str]:
    """The state and, unless it is READY, why. The first that holds counts: leaving, the last read failed, recorded as
    not reachable, evacuated, without its MemberCluster, never read, not healthy."""
    agent = next((each for each in cluster.status.agent_status if each.type == AGENT), None)
    healthy = find_condition(agent.conditions, "Healthy") if agent else None
    reached = find_condition(member.status.conditions, "Reachable") if member else None
    if cluster.metadata.deletion_timestamp is not None:
        return LEAVING, "it is leaving the fleet"
    if failed:
        return UNREADABLE, f"{failed.get('message', '')} [{failed.get('code', '')}]"
    if reached is not None and reached.status == "False":
        return UNREADABLE, f"{reached.message} [{reached.reason}]"
    if is_evacuated(cluster):
        return EVACUATED, "nothing new is placed there until it is readmitted"
    if lacks_record(cluster):
        return UNREAD, IN_SHORT
    if agent is None or agent.last_received_heartbeat is None:
        return UNREAD, "no facts of it were ever read"
    if healthy is None or healthy.status != "True":
        return NOT_READY, healthy.message or healthy.reason if healthy else "its health is not known"
    return READY, ""


def _headroom(cluster: MemberCluster, name: str) -> Headroom:
    """What is recorded of the resource, empty without a record."""
    usage = cluster.status.resource_usage
    if usage is None:
        return Headroom()
    free, total = usage.available.get(name), usage.allocatable.get(name)
    return Headroom(free=_amount(free), total=_amount(total))


def _amount(text: str | None) -> float | None:
    """The quantity as a number, rounded to three digits behind the point: more than a bar shows. None for no text, for
    what is no quantity, and for what is infinite."""
    try:
        amount = None if text is None else approximate(text)
    except ValueError:
        return None
    return None if amount is None or not math.isfinite(amount) else round(amount, 3)


def _number(text: str) -> int | None:
    """The whole number that the text writes in digits alone; None for any other text, and for more than nine digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
