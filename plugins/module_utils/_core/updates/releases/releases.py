# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What platforms offer where, by provider and location: versions of Kubernetes and node images
(``duplicate-location``), which minors are supported, the newest patch of a minor (``no-such-release``), why a version
cannot be had yet (``VersionNotAvailable``).

A provider that no ReleaseCatalog describes is not checked; a location that its provider's catalogues leave out offers
nothing.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...errors import FleetError, Problem
from ...objects.updates.release_catalog import (
    EVERYWHERE,
    GA,
    RELEASED,
    CatalogLocation,
    KubernetesRelease,
    NodeImageFamily,
    ReleaseCatalog,
    ReleaseCatalogSpec,
)
from ...values.instants import write_time
from ...values.kube_version import KubeVersion
from ...values.node_image import image_order
from ...values.update_states import VERSION_NOT_AVAILABLE
from ..run import MemberBlocker
from .versions import is_minor

Minor = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A version of Kubernetes in one place; ``text`` is as its catalogue writes it, ``available_from`` None: always
    available."""

    text: str
    version: KubeVersion
    status: str = GA
    available_from: datetime | None = None

    @property
    def minor(self) -> Minor:
        """Major and minor number."""
        return self.version.major, self.version.minor

    def offered(self, now: datetime) -> bool:
        """Whether it can be had at ``now``, that instant included."""
        return self.available_from is None or self.available_from <= now

    def is_generally_available(self, now: datetime) -> bool:
        """Whether its status says so, and it can be had by ``now``. Previews never are, whatever the catalogue calls
        them."""
        return self.status == GA and not self.version.is_prerelease and self.offered(now)

    def is_of(self, wanted: str) -> bool:
        """Whether this is the wanted version: that very one, a vendor's build of it, or a patch of a minor, no
        prerelease. ValueError for what is no version."""
        asked = KubeVersion.parse(wanted)
        if is_minor(wanted):
            return self.minor == (asked.major, asked.minor) and not self.version.is_prerelease
        mine = self.version
        plain = not (asked.pre or asked.build or mine.is_prerelease)
        return mine == asked or (plain and (self.minor, mine.patch) == ((asked.major, asked.minor), asked.patch))


@dataclass(frozen=True, kw_only=True)
class Image:
    """A node image in one place; ``version`` without its family. ``published`` None: not known, and never too old;
    ``available_from`` None: always available; ``security``: it only brings security fixes."""

    family: str
    version: str
    status: str = RELEASED
    published: datetime | None = None
    available_from: datetime | None = None
    security: bool = False

    @property
    def name(self) -> str:
        """``<family>-<version>``."""
        return f"{self.family}-{self.version}"

    def may_be_chosen(self, now: datetime) -> bool:
        """Whether it may be chosen: it is released, and can be had by now."""
        return self.status == RELEASED and (self.available_from is None or self.available_from <= now)


@dataclass(frozen=True, kw_only=True)
class LocationReleases:
    """What one location of a provider offers; versions and images from the oldest to the newest. ``images`` and
    ``systems`` (operating systems) are by family; ``told_by`` names the catalogue for messages. ``image_age`` is how
    long after it was published a fixed image may be used, ``supported_minors`` how many are in support, the newest
    among them."""

    location: str
    told_by: str
    versions: tuple[Release, ...] = ()
    images: Mapping[str, tuple[Image, ...]] = field(default_factory=dict, hash=False)
    systems: Mapping[str, str] = field(default_factory=dict, hash=False)
    image_age: timedelta = timedelta(days=90)
    supported_minors: int = 3

    def newest_image(self, family: str, now: datetime) -> Image | None:
        """The newest image of the family that may be chosen by now; None if there is none."""
        return next((each for each in reversed(self.images.get(family, ())) if each.may_be_chosen(now)), None)

    def image(self, family: str, version: str) -> Image | None:
        """That very image, whether it may be chosen or not; None if it is not there."""
        return next((each for each in self.images.get(family, ()) if each.version == version), None)


@dataclass(frozen=True)
class Releases:
    """All catalogues, made by ``releases``; the keys of ``places`` are provider and location (``*`` for everywhere)."""

    places: Mapping[tuple[str, str], LocationReleases] = field(default_factory=dict, hash=False)
    _general: dict[str, tuple[datetime, tuple[Release, ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def providers(self) -> dict[str, str]:
        """All that a catalogue describes, by name, each with the words for its catalogues."""
        found: dict[str, set[str]] = {}
        for (provider, _location), place in self.places.items():
            found.setdefault(provider, set()).add(place.told_by)
        return {provider: " and ".join(sorted(told)) for provider, told in sorted(found.items())}

    def knows(self, provider: str) -> bool:
        """Whether a catalogue describes the provider."""
        return any(each == provider for each, _location in self.places)

    def at(self, provider: str, location: str) -> LocationReleases | None:
        """What the location offers, or else what the provider says for everywhere (``location`` is ``*`` then). None if
        the provider is not described; an empty place if only the location is not."""
        found = self.places.get((provider, location)) or self.places.get((provider, EVERYWHERE))
        if found is not None or not self.knows(provider):
            return found
        told = "; ".join(sorted({each.told_by for each in self.locations_of(provider)}))
        return LocationReleases(location=location, told_by=told)

    def locations_of(self, provider: str) -> tuple[LocationReleases, ...]:
        """All locations of the provider, ``*`` among them; none if no catalogue describes it."""
        return tuple(place for (each, _location), place in self.places.items() if each == provider)

    def general(self, provider: str, now: datetime) -> tuple[Release, ...]:
        """Generally available versions from the oldest to the newest; none if no catalogue describes the provider. Such
        a version comes to each location in time, so one that has it is enough. Kept for the instant that was asked
        last, for all members of a fleet ask."""
        at, general = self._general.get(provider, (None, ()))
        if at != now:
            found = {
                each.version: each
                for here in self.locations_of(provider)
                for each in here.versions
                if each.is_generally_available(now)
            }
            general = tuple(found[version] for version in sorted(found))
            self._general[provider] = (now, general)
        return general

    def newest_minor(self, provider: str, now: datetime) -> Minor | None:
        """The newest that is generally available in one of its locations; None if none is."""
        general = self.general(provider, now)
        return general[-1].minor if general else None

    def support(self, provider: str, now: datetime) -> tuple[Minor, Minor] | None:
        """The oldest and the newest minor that are supported, counted back from ``newest_minor`` by the most that one
        of its catalogues says; None without a newest."""
        newest = self.newest_minor(provider, now)
        if newest is None:
            return None
        count = max(place.supported_minors for place in self.locations_of(provider))
        return (newest[0], newest[1] - count + 1), newest


def releases(catalogues: t.Iterable[ReleaseCatalog]) -> Releases:
    """What the catalogues say, which were read without problems, by provider and location. FleetError
    ``duplicate-location``, with all of them, for a place that two describe."""
    places: dict[tuple[str, str], LocationReleases] = {}
    problems = []
    for catalogue in catalogues:
        for index, location in enumerate(catalogue.spec.locations):
            key = (catalogue.spec.provider, location.name)
            if key in places:
                message = f"{location.name} is described by {places[key].told_by} too"
                where = f"ReleaseCatalog/{catalogue.name} spec.locations[{index}].name"
                problems.append(Problem("duplicate-location", message, where, "describe it in one of them"))
            else:
                places[key] = _place(location, catalogue.spec, catalogue.told_by)
    if problems:
        raise FleetError.of(problems)
    return Releases(places)


def version_obstacle(place: LocationReleases | None, wanted: str, location: str, now: datetime) -> MemberBlocker | None:
    """Why the version cannot be had there yet, and until when if that is known; None if it can, or if nothing is known
    of the provider (``place`` None). ``location`` is for the words alone. ValueError for what is no version."""
    if place is None:
        return None
    found = [each for each in place.versions if each.is_of(wanted)]
    if any(each.offered(now) for each in found):
        return None
    until = min((each.available_from for each in found if each.available_from), default=None)
    coming = f" before {write_time(until)}" if until else ""
    words = f"{wanted} is not available in {location or 'this location'}{coming} ({place.told_by})"
    return MemberBlocker(reason=VERSION_NOT_AVAILABLE, message=words, until=until)


def general_at_each_provider(known: Releases, providers: t.Iterable[str], now: datetime) -> tuple[KubeVersion, ...]:
    """Versions x.y.z, from the oldest to the newest, that are generally available at each of the providers, at one
    location of it at least; a vendor's build of a version is that version. A provider of which nothing is known does
    not count; none if that is all of them."""
    found: set[KubeVersion] | None = None
    for provider in sorted(set(providers)):
        if known.knows(provider):
            versions = (each.version for each in known.general(provider, now))
            here = {KubeVersion(each.major, each.minor, each.patch) for each in versions}
            found = here if found is None else found & here
    return tuple(sorted(found or ()))


def exact_version(known: Releases, providers: t.Iterable[str], wanted: str, now: datetime) -> str:
    """A minor such as 1.33 as its newest patch that is generally available at each of the providers, without ``v``; any
    other text, and where nothing is known of them any minor, as it is. FleetError ``no-such-release`` if they offer no
    such patch."""
    asked = tuple(providers)
    if not is_minor(wanted) or not any(known.knows(each) for each in asked):
        return wanted
    minor, general = KubeVersion.parse(wanted), general_at_each_provider(known, asked, now)
    patches = [each for each in general if (each.major, each.minor) == (minor.major, minor.minor)]
    if not patches:
        minors = sorted({(each.major, each.minor) for each in general})
        hint = f"generally available are {', '.join(f'{major}.{at}' for major, at in minors) or 'none'}"
        raise FleetError("no-such-release", f"no patch of {wanted} is generally available", "", hint)
    return str(patches[-1]).removeprefix("v")


def _place(location: CatalogLocation, spec: ReleaseCatalogSpec, told_by: str) -> LocationReleases:
    """What a location of a catalogue offers, from the oldest to the newest."""
    return LocationReleases(
        location=location.name,
        told_by=told_by,
        versions=tuple(sorted(map(_release, location.versions), key=lambda each: each.version)),
        images={each.family: _images(each) for each in location.images},
        systems={each.family: each.os for each in location.images},
        image_age=timedelta(days=spec.image_age_days),
        supported_minors=spec.supported_minors,
    )


def _release(each: KubernetesRelease) -> Release:
    """A version of a catalogue, read. ValueError for what is no version."""
    return Release(
        text=each.version,
        version=KubeVersion.parse(each.version),
        status=each.status,
        available_from=each.available_from,
    )


def _images(family: NodeImageFamily) -> tuple[Image, ...]:
    """The images of a family, from the oldest to the newest."""
    found = (
        Image(
            family=family.family,
            version=each.version,
            status=each.status,
            published=each.published_at,
            available_from=each.available_from,
            security=each.security,
        )
        for each in family.versions
    )
    return tuple(sorted(found, key=lambda each: image_order(each.version)))
