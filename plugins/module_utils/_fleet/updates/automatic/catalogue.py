# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Release catalogues (ReleaseCatalog): recorded from manifests, lists of versions, published feeds in files and what
members report (``told-by-one-member``), deleted, and as results have them: newest patches, images and ``coming``
versions by location, ``supported`` minors."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ...._core.errors import FleetError, Problem
from ...._core.objects.clusters.fleet_member import FleetMember
from ...._core.objects.reading import read
from ...._core.objects.updates.release_catalog import (
    EVERYWHERE,
    CatalogLocation,
    KubernetesRelease,
    ReleaseCatalog,
    ReleaseCatalogSpec,
)
from ...._core.schema.codec import encode
from ...._core.schema.meta import ObjectMeta
from ...._core.updates.releases.feeds import members_not_believed, versions_in, with_versions
from ...._core.updates.releases.releases import LocationReleases, Releases, releases
from ...._kube.files import read_file
from ...._store.records import Records
from ...._store.yaml_documents import read_yaml
from ...given import record_specs
from ...recorded import recorded
from ..sources import UpdateManifests

KIND = "ReleaseCatalog"
MAX_FEED = 20_000_000  # bytes


@dataclass(frozen=True, kw_only=True)
class CatalogSources:
    """What the catalogue of that name is made of beside its manifest, else its record, for ``location``: ``versions``
    as texts, published files (``feeds``), and what members of the provider report (``from_members``). ``provider`` and
    ``supported_minors``, how many are, win over the manifest or record; empty and None leave that. ``exact``: the
    location has these versions alone, and the record does not count."""

    name: str = ""
    provider: str = ""
    location: str = EVERYWHERE
    versions: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    from_members: bool = False
    supported_minors: int | None = None
    exact: bool = False

    @property
    def tells_versions(self) -> bool:
        """Whether anything is named that versions come from."""
        return bool(self.versions or self.feeds or self.from_members)

    @property
    def says_anything(self) -> bool:
        """Whether anything is said of what is in the catalogue, beside ``name``, ``location`` and ``exact``."""
        return self.tells_versions or bool(self.provider) or self.supported_minors is not None


@dataclass(frozen=True, kw_only=True)
class Catalogued:
    """The catalogues that were given, then one that was made anew, as they are now, or would be. ``changed`` is whether
    any was new or another; ``notes`` are worth a word."""

    catalogues: tuple[ReleaseCatalog, ...]
    changed: bool
    notes: tuple[Problem, ...] = ()


def catalogued(
    records: Records, given: UpdateManifests, asked: CatalogSources, now: datetime, write: bool
) -> Catalogued:
    """Records, with ``write``, the catalogues that are given, and the one that is made of ``asked``. Notes tell what of
    ``asked`` is not used (``not-used``), and each member whose version is not believed (``told-by-one-member``).

    FleetError ``nothing-asked``, ``which-catalogue``, ``no-member``, ``feed-missing``, ``unknown-feed``, ``bad-feed``,
    ``duplicate-location``, ``record-damaged``, those of reading a feed and what was made, and as of
    ``record_specs``.
    """
    wanted, notes = dict(given.catalogues), given.findings
    if asked.says_anything:
        name = asked.name or _only(wanted)
        wanted[name], alone = _made(records, name, wanted.get(name), asked, now)
        notes = (*notes, *alone)
    elif not wanted:
        raise _nothing_asked()
    notes = (*notes, *_unused(asked, wanted))
    releases({**_recorded(records, wanted), **wanted}.values())
    changed = record_specs(records, wanted.values(), write)
    return Catalogued(catalogues=tuple(wanted.values()), changed=changed, notes=notes)


def delete_catalogue(records: Records, name: str, write: bool) -> bool:
    """Deletes the catalogue, with ``write``; whether it was there. FleetErrors of the records."""
    there = records.get(KIND, name) is not None
    if there and write:
        records.delete(KIND, name)
    return there


def catalogue_rows(records: Records, names: t.Sequence[str], now: datetime) -> list[dict[str, t.Any]]:
    """Each recorded catalogue of these names, or all, sorted by name, for results: ``name``, ``provider``, ``source``
    (where it is known from), ``supported`` (``oldest`` and ``newest`` minor, empty if not known), and ``locations``:
    each with its ``newest`` patch by minor that is generally available ``now``, versions still ``coming``, its newest
    ``images`` by family, and how many ``versions`` it has.

    FleetError ``no-such-catalogue``, ``record-damaged``, ``duplicate-location``.
    """
    found = _recorded(records)
    missing = [name for name in names if name not in found]
    if missing:
        hint = f"recorded in {records.place}: {', '.join(sorted(found)) or 'none'}"
        raise FleetError("no-such-catalogue", f"there is no ReleaseCatalog {', '.join(missing)}", "names", hint)
    known = releases(found.values())
    return [_as_data(each, known, now) for name, each in sorted(found.items()) if not names or name in names]


def known_releases(records: Records, given: UpdateManifests) -> Releases:
    """What all catalogues say, recorded and given, the given before those of the same name. FleetError
    ``record-damaged``, ``duplicate-location``."""
    return releases({**_recorded(records, given.catalogues), **given.catalogues}.values())


def _recorded(records: Records, besides: t.Container[str] = ()) -> dict[str, ReleaseCatalog]:
    """The recorded catalogues by name, without ``besides``. FleetError ``record-damaged``."""
    found = {each["metadata"]["name"]: each for each in records.list(KIND)}
    return {name: recorded(ReleaseCatalog, each) for name, each in found.items() if name not in besides}


def _only(given: t.Mapping[str, ReleaseCatalog]) -> str:
    """The name of the one catalogue that is given. FleetError ``which-catalogue`` for none or several."""
    if len(given) == 1:
        return next(iter(given))
    words = "versions, feeds, members, provider and supported_minors need the name of a catalogue"
    raise FleetError("which-catalogue", words, "name", "name the catalogue that they go into")


def _nothing_asked() -> FleetError:
    """The FleetError ``nothing-asked``: there are no versions to record."""
    hint = "give src or definition, or versions, feeds or from_members with a name"
    return FleetError("nothing-asked", "nothing says what is in the catalogue", "versions", hint)


def _unused(asked: CatalogSources, wanted: t.Container[str]) -> t.Iterator[Problem]:
    """The remark ``not-used`` on each option that is of no effect: a ``name`` that none of the catalogues has, and
    ``location`` and ``exact`` where no versions are told."""
    hint = "what src and definition give is recorded as it is"
    if asked.name and asked.name not in wanted:
        yield Problem("not-used", f"no catalogue that is given is called {asked.name}", "name", hint)
    hint = "it is for versions, feeds and from_members, of which none is given"
    for option, given in (("location", asked.location != EVERYWHERE), ("exact", asked.exact)):
        if given and not asked.tells_versions:
            yield Problem("not-used", f"{option} is of no effect", option, hint)


def _made(
    records: Records, name: str, given: ReleaseCatalog | None, asked: CatalogSources, now: datetime
) -> tuple[ReleaseCatalog, tuple[Problem, ...]]:
    """The catalogue of ``asked``, made over the given one, else over the recorded one, unless all is told ``exact``;
    with a word about each member that is not believed. FleetError as of ``catalogued``."""
    stored = records.get(KIND, name)
    anew = asked.exact and asked.tells_versions
    before = given or (recorded(ReleaseCatalog, stored) if stored and not anew else None)
    if before is None and not asked.tells_versions:
        raise _nothing_asked()
    provider = asked.provider or (before.spec.provider if before else "")
    releases_told = [*versions_in(list(asked.versions), "versions", now)] if asked.versions else []
    for path in asked.feeds:
        releases_told += versions_in(_feed(path), path, now)
    notes: tuple[Problem, ...] = ()
    if asked.from_members:
        reported, notes = _reported(records, provider, asked.location, releases_told, now)
        releases_told += reported
    places: t.Sequence[CatalogLocation] = before.spec.locations if before else ()
    if asked.tells_versions:
        places = with_versions(places, asked.location, releases_told, asked.exact)
    locations = tuple(places)
    spec = before.spec if before else ReleaseCatalogSpec(locations=locations)
    spec = replace(spec, provider=provider, locations=locations)
    if asked.supported_minors is not None:
        spec = replace(spec, supported_minors=asked.supported_minors)
    made = replace(before or ReleaseCatalog(metadata=ObjectMeta(name=name), spec=spec), spec=spec)
    checked = read(encode(made), f"{KIND}/{name}").object
    return t.cast(ReleaseCatalog, checked), notes


def _feed(path: str) -> t.Any:
    """The one document of a file, YAML or JSON; lines of text are one text. None for none or several. FleetError
    ``feed-missing``, and as of ``read_yaml``."""
    try:
        text = read_file(Path(path), MAX_FEED).decode()
    except (OSError, ValueError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise FleetError("feed-missing", f"the feed cannot be read: {words}", path) from None
    found = list(read_yaml(text, path))
    problems = [each for each in found if isinstance(each, Problem)]
    if problems:
        raise FleetError.of(problems)
    return found[0].value if len(found) == 1 and not isinstance(found[0], Problem) else None


def _reported(
    records: Records, provider: str, location: str, told: t.Sequence[KubernetesRelease], now: datetime
) -> tuple[tuple[KubernetesRelease, ...], tuple[Problem, ...]]:
    """Versions that control planes of the provider have, in the location: they can be had there, or could be. With a
    word about each member that is alone with a minor far above the others and what was ``told``: that would be the goal
    of all, and out of their reach. FleetError ``no-member`` if none was read, ``record-damaged``, and as of
    ``versions_in``."""
    members = [recorded(FleetMember, each) for each in records.list("FleetMember")]
    mine = [each for each in members if each.spec.provider == provider and location in (EVERYWHERE, each.spec.location)]
    found = {each.name: each.status.version for each in mine if each.status.version}
    if not found:
        hint = "read them first (gitops.fleet.fleet_facts), or name the provider that members have"
        message = f"no member of provider {provider!r} in {location} was read"
        raise FleetError("no-member", message, "from_members", hint)
    versions_in(sorted(found.values()), "from_members", now)
    alone = members_not_believed(found, told)
    believed = sorted(version for name, version in found.items() if name not in alone)
    return versions_in(believed, "from_members", now) if believed else (), tuple(_alone(each, found) for each in alone)


def _alone(name: str, found: t.Mapping[str, str]) -> Problem:
    """The remark ``told-by-one-member`` on a member whose version, in ``found``, is left out."""
    message = f"{found[name]} is more than one minor above what anything else tells, and is left out"
    return Problem("told-by-one-member", message, f"FleetMember/{name}", "if it can be had: name it in versions")


def _as_data(catalogue: ReleaseCatalog, known: Releases, now: datetime) -> dict[str, t.Any]:
    """One catalogue as of ``catalogue_rows``; ``supported`` is empty where no span is known."""
    provider = catalogue.spec.provider
    span = known.support(provider, now)
    supported = [f"{major}.{minor}" for major, minor in span] if span else []
    places = [known.places[provider, each.name] for each in catalogue.spec.locations]
    return {
        "name": catalogue.name,
        "provider": provider,
        "source": catalogue.spec.source,
        "supported": {"oldest": supported[0], "newest": supported[1]} if supported else {},
        "locations": [_place(each, now) for each in places],
    }


def _place(place: LocationReleases, now: datetime) -> dict[str, t.Any]:
    """A location for results: the newest patch of each minor that is generally available now, what is still to come,
    the newest images by family, and how many ``versions`` are known."""
    newest: dict[str, str] = {}
    for each in place.versions:
        if each.is_generally_available(now):
            newest[f"{each.version.major}.{each.version.minor}"] = each.text
    coming = [each.text for each in place.versions if not each.offered(now)]
    images = {family: place.newest_image(family, now) for family in sorted(place.images)}
    return {
        "location": place.location,
        "newest": newest,
        "coming": coming,
        "images": {family: each.version for family, each in images.items() if each},
        "versions": len(place.versions),
    }
