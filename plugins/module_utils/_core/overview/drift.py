# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What is known of drift, and since when (``places``, ``looked``, ``objects``, ``asOf``), field by field and by
cluster: recorded by applies, or found by somebody who looked, whichever is newer. Where nobody looked, that is said."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from datetime import datetime

from ..objects.placements.binding import UNSCHEDULED, ClusterResourceBinding
from ..objects.placements.cluster_resource_placement import PatchDetail, PlacementStatus, ResourceIdentifier
from ..schema.meta import Condition
from ..values.instants import SECONDS, write_time

Place = tuple[str, str]
"""A placement and a cluster that holds it."""
# Conditions of which each says that an apply was at the cluster.
_APPLIES = ("Applied", "Available", "DiffReported")


@dataclass(frozen=True, kw_only=True)
class DriftRow:
    """A field of an object on a cluster that is not as placed. ``differs``: it is a difference (KubeFleet's
    ``diffedPlacements``) and no drift. ``live`` and ``placed`` are values as texts, empty for none; ``path`` is empty
    where no field is named.

    ``since`` is when it was seen first, ``seen`` when last; ``looked``: by somebody who looked, and not by an apply.
    """

    placement: str
    cluster: str
    object: str
    path: str
    live: str
    placed: str
    since: datetime | None = None
    differs: bool = False
    seen: datetime | None = None
    looked: bool = False

    def as_dict(self) -> dict[str, t.Any]:
        """The row as reports have it; instants in RFC 3339, cut to whole seconds."""
        return {
            "placement": self.placement,
            "cluster": self.cluster,
            "object": self.object,
            "path": self.path,
            "live": self.live,
            "placed": self.placed,
            "since": _time(self.since),
            "differs": self.differs,
            "seen": _time(self.seen),
            "looked": self.looked,
        }


@dataclass(frozen=True, kw_only=True)
class DriftLook:
    """What a look at members has found: ``at`` is when it began, ``place`` where its records are (empty: it does not
    say), ``looked`` which placements were compared on which clusters."""

    at: datetime
    place: str
    looked: frozenset[Place]
    rows: tuple[DriftRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DriftKnown:
    """What is known of drift in some ``places``, of which ``looked`` were looked at since the last apply there.
    ``objects`` are not as placed, None where nothing was found and not all was looked at, or nothing is placed.
    ``seen`` is the oldest instant at which that was observed, looks that found nothing included, ``looked_at`` when
    somebody looked. ``applied`` is the last apply at a place not looked at since, as far as recorded: conditions keep
    the instant at which they changed, and a later apply may have changed none."""

    places: int = 0
    looked: int = 0
    objects: int | None = None
    seen: datetime | None = None
    applied: datetime | None = None
    looked_at: datetime | None = None

    @property
    def as_of(self) -> str:
        """As of when drift is known in these places, or that it is not, or that nothing is placed, as a part of a
        sentence."""
        if not self.places:
            return "nothing is placed"
        last = f"not looked since an apply, {_time(self.applied)} or later"
        unseen = last if self.applied else "never looked"
        if self.looked == self.places:
            return f"looked at {_time(self.looked_at)}"
        if self.looked:
            return f"{self.looked} of {self.places} places looked at {_time(self.looked_at)}; elsewhere {unseen}"
        if self.objects:
            return f"seen by an apply{f' at {_time(self.seen)}' if self.seen else ''}, not looked since"
        return unseen

    @property
    def words(self) -> str:
        """What has drifted, and as of when, such as ``2 objects drifted, looked at 2026-11-25T10:00:00Z`` or ``no
        drift, ...``; only as of when where nothing was found and nobody looked."""
        if not self.objects and not self.looked:
            return self.as_of
        found = f"{self.objects} object{'' if self.objects == 1 else 's'} drifted" if self.objects else "no drift"
        return f"{found}, {self.as_of}"

    def as_dict(self) -> dict[str, t.Any]:
        """As reports and results have it, with ``asOf`` and ``words``, which alone tell ``looked_at``; instants to
        whole seconds."""
        return {
            "places": self.places,
            "looked": self.looked,
            "objects": self.objects,
            "seen": _time(self.seen),
            "applied": _time(self.applied),
            "asOf": self.as_of,
            "words": self.words,
        }


@dataclass(frozen=True, kw_only=True)
class FleetDrift:
    """Everything that is known: ``clusters`` are those where something is placed or was looked at, by name; ``rows``
    are by placement and cluster; ``whole`` is of the fleet."""

    rows: tuple[DriftRow, ...] = ()
    clusters: t.Mapping[str, DriftKnown] = field(default_factory=dict)
    whole: DriftKnown = DriftKnown()


def drift_known(
    recorded: t.Iterable[DriftRow], applied: t.Mapping[Place, datetime | None], look: DriftLook | None = None
) -> FleetDrift:
    """What is known of every place in ``applied``, which tells when an apply was there last (None: not known), and of
    those that the look has seen. Of a place that both know, only what the newer has found there counts, the look if the
    instants are equal or that of the apply is not known. ``recorded`` rows of other places are kept, and count in the
    whole."""
    places = {**dict.fromkeys(sorted(look.looked) if look else ()), **applied}
    seen = frozenset(each for each in look.looked if _is_newer(look.at, applied.get(each))) if look else frozenset()
    kept = [each for each in recorded if (each.placement, each.cluster) not in seen]
    found = [each for each in (look.rows if look else ()) if (each.placement, each.cluster) in seen]
    rows = tuple(sorted((*kept, *found), key=lambda each: (each.placement, each.cluster)))
    at = look.at if look else None
    by_cluster: dict[str, list[Place]] = {}
    for place in places:
        by_cluster.setdefault(place[1], []).append(place)
    rows_of: dict[str, list[DriftRow]] = {}
    for each in rows:
        rows_of.setdefault(each.cluster, []).append(each)
    return FleetDrift(
        rows=rows,
        clusters={
            name: _known(mine, rows_of.get(name, ()), places, seen, at) for name, mine in sorted(by_cluster.items())
        },
        whole=_known(list(places), rows, places, seen, at),
    )


def applied_at(bindings: t.Iterable[ClusterResourceBinding], status: PlacementStatus) -> dict[str, datetime | None]:
    """By cluster that holds a placement, when an apply was there last, as far as its records tell, else None.
    ``bindings`` and ``status`` are those of the placement; bindings that are unscheduled, or hold no snapshot, are left
    out."""
    rows = {each.cluster_name: each.conditions for each in status.placement_statuses}
    return {
        each.spec.target_cluster: _last((*each.status.conditions, *rows.get(each.spec.target_cluster, ())))
        for each in bindings
        if each.spec.state != UNSCHEDULED and each.held_snapshot
    }


def drift_rows(placement: str, status: PlacementStatus) -> t.Iterator[DriftRow]:
    """What is recorded of drift and differences of a placement, which is named ``placement``: a row for each field, one
    without a path where no field is named."""
    for each in status.placement_statuses:
        for one in each.drifted_placements:
            for detail in one.observed_drifts or (PatchDetail(path=""),):
                since, seen = one.first_drifted_observed_time, one.observation_time
                yield _drift(placement, each.cluster_name, one, detail, since, seen, False)
        for other in each.diffed_placements:
            for detail in other.observed_diffs or (PatchDetail(path=""),):
                since, seen = other.first_diffed_observed_time, other.observation_time
                yield _drift(placement, each.cluster_name, other, detail, since, seen, True)


def _drift(
    placement: str,
    cluster: str,
    of: ResourceIdentifier,
    detail: PatchDetail,
    since: datetime | None,
    seen: datetime | None,
    differs: bool,
) -> DriftRow:
    """The row of a field of the object ``of``; ``object`` in it is its kind with its name, behind ``namespace/`` if it
    has one."""
    name = f"{of.namespace}/{of.name}" if of.namespace else of.name
    return DriftRow(
        placement=placement,
        cluster=cluster,
        object=f"{of.kind} {name}",
        path=detail.path,
        live=detail.value_in_member,
        placed=detail.value_in_hub,
        since=since,
        differs=differs,
        seen=seen,
    )


def _known(
    mine: t.Sequence[Place],
    rows: t.Sequence[DriftRow],
    applied: t.Mapping[Place, datetime | None],
    seen: frozenset[Place],
    at: datetime | None,
) -> DriftKnown:
    """What is known of the places ``mine``, whose rows are ``rows``: ``applied`` has the last apply at each, ``seen``
    are those for which the look counts, which was ``at``. An object with several rows counts once."""
    looked = sum(1 for each in mine if each in seen)
    objects = len({(each.cluster, each.placement, each.object) for each in rows})
    instants = [each.seen for each in rows if each.seen] + ([at] if looked and at else [])
    unseen = [when for each in mine if each not in seen and (when := applied[each])]
    return DriftKnown(
        places=len(mine),
        looked=looked,
        objects=objects if objects or looked == len(mine) > 0 else None,
        seen=min(instants, default=None),
        applied=max(unseen, default=None),
        looked_at=at if looked else None,
    )


def _is_newer(look: datetime, applied: datetime | None) -> bool:
    """Whether the look is not older than the apply, or no instant of an apply is known."""
    return applied is None or look >= applied


def _last(conditions: t.Iterable[Condition]) -> datetime | None:
    """The latest change of a condition that says that an apply was there, if it says True or False; None without
    one."""
    times = (each.last_transition_time for each in conditions if each.type in _APPLIES and each.status != "Unknown")
    return max((each for each in times if each), default=None)


def _time(instant: datetime | None) -> str | None:
    """In RFC 3339, cut to whole seconds."""
    return write_time(instant, SECONDS) if instant else None
