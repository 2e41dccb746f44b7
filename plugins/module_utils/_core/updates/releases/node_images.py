# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which node image a pool gets: the newest in its region (Latest), the newest common to all (Consistent), or a named
one (Custom), and why none (Azure Fleet; ``ImageNotAvailable``, ``ImageExpired``, ``ImageMissingForPool``); members and
their images as these choices see them.

No image that is known is replaced by an older one.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ...objects.clusters.fleet_member import FleetMember
from ...objects.updates.update_run import CONSISTENT, CUSTOM, LATEST
from ...values.instants import write_time
from ...values.listed import listed, number_of
from ...values.node_image import image_order, split_image
from ...values.update_states import IMAGE_EXPIRED, IMAGE_MISSING_FOR_POOL, IMAGE_NOT_AVAILABLE
from ...windows.clocks import shifted
from ..run import MemberBlocker
from .releases import (
    Image,
    LocationReleases,
    Releases,
)

_NAMED = 3
Images = Mapping[str, str]
"""Version by family."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A node pool: the version of its kubelets, family and version of its image (empty where they are not known),
    whether it is held by a snapshot."""

    name: str
    version: str = ""
    family: str = ""
    image: str = ""
    snapshot: bool = False


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A member, as far as versions and images matter; ``read`` is when they were, None if that is not known."""

    name: str
    provider: str = ""
    location: str = ""
    version: str = ""
    pools: tuple[Pool, ...] = ()
    long_term_support: bool = False
    read: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ImageChoice:
    """What comes of one pool's image. ``version`` is empty where the image stays; ``why`` says in words why it comes or
    stays. ``unknown``: nothing tells which image it could get. ``stays``: none is chosen, as it is held by a snapshot,
    or its family is not named. ``drops_snapshot``: the image takes the place of a snapshot. ``skip`` says why the whole
    member is skipped, ``obstacle`` what it waits for."""

    version: str = ""
    why: str = ""
    drops_snapshot: bool = False
    stays: bool = False
    unknown: bool = False
    skip: MemberBlocker | None = None
    obstacle: MemberBlocker | None = None


def cluster_of(member: FleetMember) -> Cluster:
    """A FleetMember as choices of versions and images see it."""
    return Cluster(
        name=member.name,
        provider=member.spec.provider,
        location=member.spec.location,
        version=member.status.version,
        long_term_support=member.spec.long_term_support,
        pools=tuple(_pool(each.name, each.version, each.image) for each in member.status.node_pools),
        read=member.status.last_read,
    )


def node_images(cluster: Cluster) -> tuple[str, ...]:
    """The images of its pools, ``family-version``, each once and sorted; unknown ones left out."""
    return tuple(sorted({f"{each.family}-{each.image}" for each in cluster.pools if each.family and each.image}))


def common_images(clusters: t.Iterable[Cluster], known: Releases, now: datetime) -> Images:
    """For each family the newest version that every member with a pool of it can have where it is; members whose
    provider no catalogue describes do not count. A family without such a version is left out: members that count and
    have a pool of it will be skipped."""
    offered: dict[str, set[str]] = {}
    for provider, location, family in sorted({(c.provider, c.location, p.family) for c in clusters for p in c.pools}):
        place = known.at(provider, location)
        if place is None or not family:
            continue
        here = {each.version for each in place.images.get(family, ()) if each.may_be_chosen(now)}
        offered[family] = offered[family] & here if family in offered else here
    return {family: max(found, key=image_order) for family, found in offered.items() if found}


def images_without_pool(
    images: t.Iterable[str], clusters: t.Iterable[Cluster]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of images by their full names those of a family that no pool of the clusters has, and the families that they
    have, sorted; nothing of both where a pool's family is not known, or none has a pool."""
    pools = [pool for each in clusters for pool in each.pools]
    there = {each.family for each in pools}
    if not pools or "" in there:
        return (), ()
    return tuple(each for each in images if split_image(each)[0] not in there), tuple(sorted(there))


def newest_images(clusters: t.Iterable[Cluster], known: Releases, now: datetime) -> Images:
    """The newest image of each family where a pool of the clusters has it, by ``provider/location/family``, empty parts
    left out: a release for Latest there changes it. Families without an image at ``now`` are left out."""
    found = {}
    for provider, location, family in sorted({(c.provider, c.location, p.family) for c in clusters for p in c.pools}):
        place = known.at(provider, location)
        newest = place.newest_image(family, now) if place else None
        if newest is not None:
            found["/".join(filter(None, (provider, location, family)))] = newest.version
    return found


def choose_image(
    pool: Pool, at: Cluster, selection: str, images: Images, known: Releases, now: datetime
) -> ImageChoice:
    """Which image the pool of the member ``at`` gets by that ``selection``, or why it gets none. ``images`` are those
    fixed for the run (Consistent) or named in it (Custom); Latest looks at what the member's location offers at
    ``now``. KeyError for another selection."""
    return _SELECTIONS[selection](_Asked(pool, images, known.at(at.provider, at.location), known, at, now))


@dataclass(frozen=True)
class _Asked:
    """What the image of one pool is chosen by, as of ``choose_image``: ``place`` is what the location of the member
    ``at`` offers, None where no catalogue describes its provider."""

    pool: Pool
    images: Images
    place: LocationReleases | None
    known: Releases
    at: Cluster
    now: datetime

    @property
    def where(self) -> str:
        """The member's location, in words where it has none."""
        return self.at.location or "this location"


def _latest(asked: _Asked) -> ImageChoice:
    """The newest of its family that may be chosen there; an obstacle if that location alone has none. A pool held by a
    snapshot stays with it; of one whose family no catalogue of its provider knows nothing is known."""
    pool, place = asked.pool, asked.place
    if pool.snapshot:
        return ImageChoice(stays=True, why=f"pool {pool.name} is held by its snapshot")
    if place is None or not pool.family:
        return ImageChoice(unknown=True, why=_untold(asked))
    newest = place.newest_image(pool.family, asked.now)
    if newest is not None:
        return _forward(asked, newest.version, f"newest of {pool.family} in {asked.where}")
    if any(pool.family in each.images for each in asked.known.locations_of(asked.at.provider)):
        words = f"no image of {pool.family} is available in {asked.where} ({place.told_by})"
        return ImageChoice(obstacle=MemberBlocker(reason=IMAGE_NOT_AVAILABLE, message=words))
    return ImageChoice(unknown=True, why=f"pool {pool.name}: {pool.family} is in no catalogue")


def _consistent(asked: _Asked) -> ImageChoice:
    """What was fixed for its family; a skip if nothing was. Nothing is known where no catalogue tells and nothing was
    fixed at all."""
    pool = asked.pool
    if asked.place is None and not asked.images:
        return ImageChoice(unknown=True, why=_untold(asked))
    wanted = asked.images.get(pool.family)
    if wanted is None:
        fixed_none = f"pool {pool.name}: no image of {pool.family or 'its family'} was fixed for the run"
        words = _untold(asked) if asked.place is None else fixed_none
        return ImageChoice(skip=MemberBlocker(reason=IMAGE_MISSING_FOR_POOL, message=words))
    return _fixed(asked, wanted, f"newest of {pool.family} that all members can have")


def _custom(asked: _Asked) -> ImageChoice:
    """What the run names for its family; the pool stays if it names none."""
    wanted = asked.images.get(asked.pool.family)
    if wanted is None:
        return ImageChoice(stays=True, why=f"pool {asked.pool.name}: no image of its family is named")
    return _fixed(asked, wanted, "named in the run")


_SELECTIONS: Mapping[str, t.Callable[[_Asked], ImageChoice]] = {
    LATEST: _latest,
    CONSISTENT: _consistent,
    CUSTOM: _custom,
}


def _untold(asked: _Asked) -> str:
    """Why no catalogue tells of the pool's images: there is none, or they are of other providers than its cluster."""
    pool, provider = f"pool {asked.pool.name}", asked.at.provider
    there = asked.known.providers
    if asked.place is not None or not there:
        return f"{pool}: no catalogue tells of its images"
    told = listed([f"{catalogue} is of provider {each}" for each, catalogue in there.items()], _NAMED)
    if not provider:
        return f"{pool}: {told}, and the cluster has none (join it with provider and location)"
    return f"{pool}: {told}, and the cluster of {provider}"


def _forward(asked: _Asked, wanted: str, why: str) -> ImageChoice:
    """The wanted image; none for a pool that is at it or ahead of it. ``why`` is in what is said."""
    pool = asked.pool
    if pool.image and image_order(pool.image) >= image_order(wanted):
        at = "" if pool.image == wanted else f"{pool.family}-{pool.image}, ahead of "
        return ImageChoice(why=f"pool {pool.name} is at {at}{wanted}: {why}")
    return ImageChoice(version=wanted, why=why, drops_snapshot=pool.snapshot)


def _fixed(asked: _Asked, wanted: str, why: str) -> ImageChoice:
    """The wanted image, chosen earlier; an obstacle if the member's location does not have it by now, or it is too old.
    Where no catalogue tells, that is not looked at."""
    choice, place = _forward(asked, wanted, why), asked.place
    if not choice.version or place is None:
        return choice
    found = place.image(asked.pool.family, wanted)
    if found is None or not found.may_be_chosen(asked.now):
        return ImageChoice(obstacle=_missing(asked, f"{asked.pool.family}-{wanted}", found, place))
    if found.published is not None and asked.now > shifted(found.published, place.image_age):
        age = number_of(place.image_age.days, "day")
        words = f"{found.name} was published on {found.published:%Y-%m-%d}, more than {age} ago"
        return ImageChoice(
            obstacle=MemberBlocker(reason=IMAGE_EXPIRED, message=f"{words}; a new run is needed ({place.told_by})")
        )
    return choice


def _missing(asked: _Asked, name: str, found: Image | None, place: LocationReleases) -> MemberBlocker:
    """The obstacle that the image cannot be had, and until when if that is known."""
    coming = found is not None and found.available_from is not None and found.available_from > asked.now
    until = found.available_from if found is not None and coming else None
    when = f" before {write_time(until)}" if until else ""
    words = f"{name} is not available in {asked.where}{when} ({place.told_by})"
    return MemberBlocker(reason=IMAGE_NOT_AVAILABLE, message=words, until=until)


def _pool(name: str, version: str, image: str) -> Pool:
    """The pool; an image of which the name has no dash is not known."""
    family, of_family = split_image(image)
    return Pool(name=name, version=version, family=family if of_family else "", image=of_family)
