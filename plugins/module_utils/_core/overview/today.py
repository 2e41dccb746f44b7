# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The state of the fleet in one view (``status``): of each cluster what is recorded of it, and what asks for attention,
worst first (``concerns``: ``silent``, ``seen-since``, ``placement-fails``, ``certificate-ends``, ``kubelet-too-old``,
``drifted``); totals by state and by minor of Kubernetes.

No member is asked: everything is as recorded.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster.facts.member import AGENT, health_reason
from ..cluster.facts.member import NOT_READY as SAID_NOT_READY
from ..cluster.silence import SILENT as SILENT_CODES
from ..objects.clusters.evacuation import is_evacuated
from ..objects.clusters.fleet_member import FleetMember
from ..objects.clusters.member_cluster import MemberCluster
from ..objects.clusters.missing_record import IN_SHORT, lacks_record
from ..schema.meta import find_condition
from ..values.instants import SECONDS, write_time
from ..values.kube_version import KubeVersion
from .clusters import (
    LEAVING,
    NOT_READY,
    READY,
    UNREAD,
    UNREADABLE,
    cluster_row,
)
from .drift import DriftKnown, DriftRow
from .run_needs import RunNeed
from .seen_by_runs import SeenByRun, last_tried_at
from .upkeep import CertificateEnd, Kubelets, images_in_all, version_of

SILENT, TO_READ = "silent", "to be read"
_SILENT_REASONS = frozenset(map(health_reason, SILENT_CODES))
# What asks for attention, the worst first; a cluster stands where its worst is.
(
    IS_SILENT,
    IS_UNREADABLE,
    IS_NOT_READY,
    SEEN_SINCE,
    CERTIFICATE_ENDED,
    PLACEMENT_FAILS,
    CERTIFICATE_ENDS,
    KUBELET_TOO_NEW,
    KUBELET_TOO_OLD,
    DRIFTED,
    PLACEMENT_LATE,
    IS_UNREAD,
    IS_EVACUATED,
    IS_LEAVING,
) = CONCERNS = (
    "silent",
    "not-reached",
    "not-ready",
    "seen-since",
    "certificate-ended",
    "placement-fails",
    "certificate-ends",
    "kubelet-too-new",
    "kubelet-too-old",
    "drifted",
    "placement-late",
    "never-read",
    "evacuated",
    "leaving",
)
_OF_STATE = {
    SILENT: IS_SILENT,
    UNREADABLE: IS_UNREADABLE,
    NOT_READY: IS_NOT_READY,
    UNREAD: IS_UNREAD,
    LEAVING: IS_LEAVING,
}


@dataclass(frozen=True, kw_only=True)
class PlacementsHeld:
    """What is recorded of placements on a cluster: how many it holds (``count``), and of those where something failed
    (``failing``) what, by name. ``late`` are those not available yet when they were last seen, in the words of
    ``matrix.late``. ``names`` are all that it holds, ``leaving`` those no longer placed there, with what takes them
    away."""

    count: int = 0
    failing: t.Mapping[str, str] = field(default_factory=dict)
    late: t.Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    leaving: t.Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, t.Any]:
        """As results have it, sorted by name, ``count`` as ``held``."""
        parts = {"failing": self.failing, "late": self.late, "leaving": self.leaving}
        told = {key: dict(sorted(each.items())) for key, each in parts.items()}
        return {"held": self.count, "names": sorted(self.names), **told}


HOLDS_NOTHING, NOTHING_PLACED = PlacementsHeld(), DriftKnown()


@dataclass(frozen=True, kw_only=True)
class MemberToday:
    """One cluster. ``state`` is ready, not ready, silent, not reached, never read, to be read (a run has upgraded it
    since) or leaving, ``why`` says why it is not ready; ``group`` is that of update runs, ``age`` that of the
    ``heartbeat``, both None if it was never read; ``images`` are nodes by image, as far as pools tell it, and
    ``uncounted`` the nodes of pools that do not; ``runs`` is what is in flight there; ``concerns`` are of ``CONCERNS``,
    the worst first."""

    name: str
    group: str
    state: str
    why: str
    heartbeat: datetime | None
    age: timedelta | None
    version: str
    kubelets: Kubelets
    images: t.Mapping[str, int]
    certificate: CertificateEnd | None
    held: PlacementsHeld
    drift: DriftKnown
    evacuated: bool
    runs: tuple[str, ...]
    concerns: tuple[str, ...]
    uncounted: int = 0

    def as_dict(self) -> dict[str, t.Any]:
        """The row as results have it, ``uncounted`` as ``imagesUncounted``, ``held`` as ``placements``; instants in RFC
        3339 and ``age`` in seconds, both cut to whole seconds."""
        ends = self.certificate
        return {
            "name": self.name,
            "group": self.group,
            "state": self.state,
            "why": self.why,
            "heartbeat": _time(self.heartbeat),
            "age": None if self.age is None else int(self.age.total_seconds()),
            "version": self.version,
            "kubelets": self.kubelets.as_dict(),
            "images": dict(sorted(self.images.items())),
            "imagesUncounted": self.uncounted,
            "certificate": ends.as_dict() if ends else None,
            "placements": self.held.as_dict(),
            "drift": self.drift.as_dict(),
            "evacuated": self.evacuated,
            "runs": list(self.runs),
            "concerns": list(self.concerns),
        }


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Numbers of clusters: by state, by minor of Kubernetes (``1.35``, empty where it is not known), and those with a
    certificate that has ``ended``, or ``ends`` in less than 30 days. ``silent_for`` is the age of the oldest heartbeat
    of a silent one; ``read`` are the youngest and the oldest heartbeat's ages of all; None where there is none."""

    clusters: int
    states: t.Mapping[str, int]
    versions: t.Mapping[str, int]
    ended: int = 0
    ends: int = 0
    evacuated: int = 0
    silent_for: timedelta | None = None
    read: tuple[timedelta, timedelta] | None = None


@dataclass(frozen=True, kw_only=True)
class FleetToday:
    """All clusters, worst first, and what is known of drift in all of the fleet; ``drifted`` are its fields. ``runs``
    are those that failed or wait for something."""

    members: tuple[MemberToday, ...]
    drift: DriftKnown = DriftKnown()
    drifted: tuple[DriftRow, ...] = ()
    runs: tuple[RunNeed, ...] = ()

    @property
    def images(self) -> dict[str, int]:
        """Nodes of all clusters by image, as far as pools tell it, the most first, of equal ones by image."""
        return images_in_all(each.images for each in self.members)

    @property
    def uncounted(self) -> tuple[int, ...]:
        """How many nodes ``images`` does not count, of each cluster that has such, in the order of the clusters."""
        return tuple(each.uncounted for each in self.members if each.uncounted)

    @property
    def is_behind(self) -> bool:
        """Whether runs have seen something of any cluster (an upgrade, or that it does not answer) that is newer than
        its last read."""
        return any(SEEN_SINCE in each.concerns for each in self.members)

    @property
    def is_unlooked(self) -> bool:
        """Whether something is placed, and nowhere has anybody looked for drift since the last apply there."""
        return bool(self.drift.places and not self.drift.looked)

    @property
    def objects_drifted(self) -> dict[str, list[str]]:
        """By cluster, the objects that are not as placed, each once, of whichever placement; clusters without any are
        left out."""
        found: dict[str, dict[str, None]] = {}
        for each in self.drifted:
            found.setdefault(each.cluster, {})[each.object] = None
        return {cluster: list(objects) for cluster, objects in found.items()}

    @property
    def totals(self) -> Totals:
        """The numbers of the headline."""
        ages = [each.age for each in self.members if each.age is not None]
        silent = [each.age for each in self.members if each.state == SILENT and each.age is not None]
        ends = [each.certificate for each in self.members if each.certificate]
        return Totals(
            clusters=len(self.members),
            states=Counter(each.state for each in self.members),
            versions=counted_versions(each.version for each in self.members),
            ended=sum(1 for each in ends if each.ended),
            ends=sum(1 for each in ends if not each.ended and each.near),
            evacuated=sum(1 for each in self.members if each.evacuated),
            silent_for=max(silent, default=None),
            read=(min(ages), max(ages)) if ages else None,
        )


def fleet_today(
    rows: t.Iterable[MemberToday],
    drift: DriftKnown,
    drifted: tuple[DriftRow, ...] = (),
    runs: tuple[RunNeed, ...] = (),
) -> FleetToday:
    """The clusters in their order: those of the worst concern first, of equal ones those where something is in flight,
    then by name."""
    order = {concern: place for place, concern in enumerate(CONCERNS)}

    def rank(row: MemberToday) -> tuple[int, bool, str]:
        """The row's place: that of its worst concern, whether nothing is in flight, name."""
        return min((order[each] for each in row.concerns), default=len(order)), not row.runs, row.name

    return FleetToday(members=tuple(sorted(rows, key=rank)), drift=drift, drifted=drifted, runs=runs)


def member_today(
    cluster: MemberCluster,
    member: FleetMember | None,
    now: datetime,
    held: PlacementsHeld = HOLDS_NOTHING,
    drift: DriftKnown = NOTHING_PLACED,
    runs: t.Sequence[str] = (),
    seen: SeenByRun | None = None,
) -> MemberToday:
    """The row of one cluster at ``now``, an aware instant; without a ``member`` (its FleetMember) what that alone tells
    is empty. Its state is the first that holds of leaving, not Reachable (silent), never read, and what its health
    says. ``runs`` name what is in flight there, as people call it; without any, the operation that is recorded counts.
    What a run has ``seen`` counts if it is newer than ``last_tried_at``; where that is not known, and of a cluster that
    is leaving, it does not. A heartbeat from the future has age 0."""
    row = cluster_row(cluster, member, now=now)
    state, why = _state(cluster, member, row.state, row.why)
    last = last_tried_at(cluster, member)
    newer = seen if seen and last and seen.at > last and state != LEAVING else None
    if newer:
        state, why = _since(newer, state, why)
    evacuated = is_evacuated(cluster)
    kubelets, ends = row.kubelets, row.certificate
    in_flight = [*runs, *([row.operation] if row.operation and not runs else ())]
    concerns = {
        _OF_STATE.get(state, ""): state in _OF_STATE,
        SEEN_SINCE: newer is not None,
        CERTIFICATE_ENDED: ends is not None and ends.ended,
        PLACEMENT_FAILS: bool(held.failing),
        CERTIFICATE_ENDS: ends is not None and not ends.ended and ends.near,
        KUBELET_TOO_NEW: bool(kubelets.ahead),
        KUBELET_TOO_OLD: kubelets.too_old,
        DRIFTED: bool(drift.objects),
        PLACEMENT_LATE: bool(held.late),
        IS_EVACUATED: evacuated,
    }
    return MemberToday(
        name=row.name,
        group=row.group,
        state=state,
        why=why,
        heartbeat=row.heartbeat,
        age=max(now - row.heartbeat, timedelta()) if row.heartbeat else None,
        version=row.version,
        kubelets=kubelets,
        images=row.images,
        uncounted=row.uncounted,
        certificate=ends,
        held=held,
        drift=drift,
        evacuated=evacuated,
        runs=tuple(in_flight),
        concerns=tuple(each for each in CONCERNS if concerns.get(each)),
    )


def _since(seen: SeenByRun, state: str, why: str) -> tuple[str, str]:
    """State and why by what a run has seen after the cluster was read, where it was read as ``state`` with ``why``:
    TO_READ if the run has upgraded it, else UNREADABLE, but who is SILENT or UNREADABLE already stays that."""
    if seen.upgraded:
        return TO_READ, seen.sentence
    if state in (SILENT, UNREADABLE):
        return state, f"{why}; {seen.sentence}"
    return UNREADABLE, seen.sentence


def minor_of(version: str) -> str:
    """``1.35`` of ``v1.35.2-gke.1``; empty for what is no version."""
    found = version_of(version)
    return f"{found.major}.{found.minor}" if found else ""


def counted_versions(versions: t.Iterable[str]) -> dict[str, int]:
    """How many have each minor, the oldest first, and before it, under an empty text, those of which it is not
    known."""
    counts = Counter(map(minor_of, versions))
    known = sorted((each for each in counts if each), key=KubeVersion.parse)
    return {each: counts[each] for each in (*([""] if "" in counts else []), *known)}


def _state(cluster: MemberCluster, member: FleetMember | None, state: str, why: str) -> tuple[str, str]:
    """State and why, from ``state`` and ``why`` of reports, but for two things: who could not be read is SILENT or
    UNREADABLE, and not one that says it is not ready; and an evacuated cluster has the state that it would have
    otherwise."""
    if state == LEAVING:
        return state, why
    reached = find_condition(member.status.conditions, "Reachable") if member else None
    if reached is not None and reached.status == "False":
        return SILENT, f"{reached.message} [{reached.reason}]"
    agent = next((each for each in cluster.status.agent_status if each.type == AGENT), None)
    if lacks_record(cluster):
        return UNREAD, IN_SHORT
    if agent is None or agent.last_received_heartbeat is None:
        return UNREAD, "no facts of it were ever read"
    healthy = find_condition(agent.conditions, "Healthy")
    if healthy is None:
        return NOT_READY, "its health is not known"
    if healthy.status == "True":
        return READY, ""
    told = healthy.message or healthy.reason
    if healthy.reason in _SILENT_REASONS:
        return SILENT, told
    return (NOT_READY if healthy.reason in (SAID_NOT_READY, "") else UNREADABLE), told


def _time(instant: datetime | None) -> str | None:
    """In RFC 3339, cut to whole seconds."""
    return write_time(instant, SECONDS) if instant else None
