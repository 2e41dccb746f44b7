# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Published lists of Kubernetes versions as their publishers write them (release schedule of Kubernetes,
endoflife.date, ``az aks``, ``gcloud``, ``aws eks``; ``unknown-feed``, ``bad-feed``), and the catalogue that comes of
them; versions that members report and that are not believed."""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from ...errors import FleetError
from ...objects.clusters.maintenance_forms import RELEASE
from ...objects.updates.release_catalog import DEPRECATED, GA, PREVIEW, CatalogLocation, KubernetesRelease
from ...values.instants import parse_time
from ...values.kube_version import KubeVersion
from .versions import is_minor, required_text

Feed = t.Any
"""What a YAML or JSON file holds."""
FORMS = (
    "a list of versions, the release schedule of Kubernetes, endoflife.date, az aks get-versions, gcloud container "
    "get-server-config or aws eks describe-cluster-versions"
)
_STANDARD = ("STANDARD_SUPPORT", "standard-support")


def versions_in(feed: Feed, where: str, now: datetime) -> tuple[KubernetesRelease, ...]:
    """Every version of the feed, once, as its last entry for it has it, the oldest first, without ``v``; a minor alone
    is its patch 0 in plain lists, in the release schedule and for EKS. What is out of support at ``now`` is deprecated,
    what is no release a preview. An empty text has none.

    FleetError ``unknown-feed`` for another form, and for an empty list, ``bad-feed`` for a version or another entry
    that cannot be read, and elsewhere for a version without its patch; ``where`` names the feed.
    """
    read = next((reader for fits, reader in _READERS if fits(feed)), None)
    if read is None:
        raise FleetError(
            "unknown-feed", "this is no list of versions in a form that is known", where, f"known: {FORMS}"
        )
    found: dict[KubeVersion, KubernetesRelease] = {}
    try:
        for each in read(feed, now):
            parsed = KubeVersion.parse(each.version)
            text = each.version.removeprefix("v")
            found[parsed] = replace(each, version=text, status=PREVIEW if parsed.is_prerelease else each.status)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise FleetError("bad-feed", f"this cannot be read: {_words(error)}", where, f"known: {FORMS}") from None
    return tuple(found[version] for version in sorted(found))


def _words(error: Exception) -> str:
    """What is wrong with an entry, for people."""
    if isinstance(error, KeyError):
        return f"no {error} stands where it should"
    return str(error) if isinstance(error, ValueError) else "an entry is of another form than the others of such feeds"


def with_versions(
    before: t.Sequence[CatalogLocation], name: str, told: t.Iterable[KubernetesRelease], exact: bool
) -> tuple[CatalogLocation, ...]:
    """The locations of a ReleaseCatalog with the versions ``told``, sorted, in the one of that ``name``, which is added
    last where there is none. Versions known before stay, unless ``told`` has them too or it is ``exact``; of one that
    is told twice the last counts. Images and other locations stay. ValueError for what is no version."""
    old = next((each for each in before if each.name == name), CatalogLocation(name=name))
    versions = {} if exact else {KubeVersion.parse(each.version): each for each in old.versions}
    versions |= {KubeVersion.parse(each.version): each for each in told}
    new = replace(old, versions=tuple(versions[version] for version in sorted(versions)))
    if all(each.name != name for each in before):
        return (*before, new)
    return tuple(new if each.name == name else each for each in before)


def members_not_believed(reported: t.Mapping[str, str], told: t.Iterable[KubernetesRelease]) -> tuple[str, ...]:
    """Names of members whose version ``reported`` (by name) is not believed, from the highest down to the first that
    is: each is more than one minor above the next below it, and above the newest of what is ``told`` elsewhere; without
    that the lowest is believed. ValueError for what is no version."""
    elsewhere = max((_minor(each.version) for each in told), default=(0, 0))
    members = sorted(reported, key=lambda name: _minor(reported[name]), reverse=True)
    alone = []
    for name, other in pairwise((*members, "")):
        major, minor = max(elsewhere, _minor(reported[other]) if other else (0, 0))
        if (major, minor) == (0, 0) or _minor(reported[name]) <= (major, minor + 1):
            break
        alone.append(name)
    return tuple(alone)


def _minor(version: str) -> tuple[int, int]:
    """Major and minor; ValueError for what is no version."""
    parsed = KubeVersion.parse(version)
    return parsed.major, parsed.minor


def releases_without_dates(versions: t.Iterable[str]) -> tuple[KubernetesRelease, ...]:
    """Versions of a list without dates, as releases that are generally available; they are not judged."""
    return tuple(KubernetesRelease(version=each) for each in versions)


def _text(feed: Feed, _now: datetime) -> t.Iterable[KubernetesRelease]:
    """A text of versions, parted by white space."""
    return releases_without_dates(map(_full, feed.split()))


def _list(feed: Feed, _now: datetime) -> t.Iterable[KubernetesRelease]:
    """A list of versions. TypeError for one that is no text."""
    return releases_without_dates(map(_full, feed))


def _schedule(feed: Feed, now: datetime) -> t.Iterator[KubernetesRelease]:
    """The release schedule of Kubernetes (https://kubernetes.io/releases/patch-releases, data/releases/schedule.yaml):
    patches that came out, by minor, each with its day. ValueError, TypeError, AttributeError or KeyError for an entry
    of another form."""
    for each in feed["schedules"]:
        status = _status(each.get("endOfLifeDate"), now)
        for patch in each.get("previousPatches") or ():
            version = required_text(patch["release"])
            day = _day(patch.get("targetDate"))
            yield KubernetesRelease(version=_full(version), status=status, available_from=day)


def _end_of_life(feed: Feed, now: datetime) -> t.Iterator[KubernetesRelease]:
    """https://endoflife.date/api/kubernetes.json: the newest patch of each minor, with its day. ValueError or KeyError
    for an entry of another form."""
    for each in feed:
        yield KubernetesRelease(
            version=_patch(each["latest"]),
            status=_status(each.get("eol"), now),
            available_from=_day(each.get("latestReleaseDate")),
        )


def _aks(feed: Feed, _now: datetime) -> t.Iterator[KubernetesRelease]:
    """What ``az aks get-versions`` prints: each patch of each minor. ValueError, TypeError, AttributeError or KeyError
    for an entry of another form."""
    for each in feed["values"]:
        status = PREVIEW if each.get("isPreview") else GA
        yield from (KubernetesRelease(version=_patch(patch), status=status) for patch in each["patchVersions"])


def _gke(feed: Feed, _now: datetime) -> t.Iterable[KubernetesRelease]:
    """What ``gcloud container get-server-config`` prints: versions of control planes. ValueError for one that is no
    full version."""
    return releases_without_dates(map(_patch, feed["validMasterVersions"]))


def _eks(feed: Feed, _now: datetime) -> t.Iterator[KubernetesRelease]:
    """What ``aws eks describe-cluster-versions`` prints; what is not in standard support is deprecated. ValueError,
    AttributeError or KeyError for an entry of another form."""
    for each in feed["clusterVersions"]:
        said = each.get("versionStatus") or each.get("status")
        version = required_text(each.get("kubernetesPatchVersion") or each["clusterVersion"])
        yield KubernetesRelease(version=_full(version), status=GA if said in _STANDARD else DEPRECATED)


def _full(version: str) -> str:
    """A minor alone with patch 0; other texts as they are."""
    return f"{version}.0" if is_minor(version) else version


def _patch(version: t.Any) -> str:
    """A version of a list of patches. ValueError for what is no text, and for one without its patch: a name for the
    newest of the minor, or a platform version of EKS such as 1.34-eks-10."""
    text = required_text(version)
    if not re.match(RELEASE, text):
        raise ValueError(f"{text!r:.60} is not a full version such as 1.34.2")
    return text


def _status(end: t.Any, now: datetime) -> str:
    """Deprecated if support has ended by ``now``, else generally available; ``end`` is a day, or whether it is over, or
    nothing. ValueError as of ``_day``."""
    if isinstance(end, bool):
        return DEPRECATED if end else GA
    day = _day(end)
    return DEPRECATED if day is not None and day <= now else GA


def _day(text: t.Any) -> datetime | None:
    """A day such as 2026-02-28 as the instant of its beginning in UTC; None for nothing. ValueError for what is no
    day."""
    if not text:
        return None
    return parse_time(f"{text}T00:00:00Z").astimezone(UTC)


def _has_lists(*keys: str) -> t.Callable[[Feed], bool]:
    """The test whether a feed is a map with lists under all of these keys."""
    return lambda feed: isinstance(feed, dict) and all(isinstance(feed.get(key), list) for key in keys)


def _is_list_of(kind: type) -> t.Callable[[Feed], bool]:
    """The test whether a feed is a list, not empty, of such entries alone."""
    return lambda feed: isinstance(feed, list) and bool(feed) and all(isinstance(each, kind) for each in feed)


_READERS: tuple[tuple[t.Callable[[Feed], bool], t.Callable[[Feed, datetime], t.Iterable[KubernetesRelease]]], ...] = (
    (lambda feed: isinstance(feed, str), _text),
    (_is_list_of(str), _list),
    (_is_list_of(dict), _end_of_life),
    (_has_lists("schedules"), _schedule),
    (_has_lists("values"), _aks),
    (_has_lists("validMasterVersions"), _gke),
    (_has_lists("clusterVersions"), _eks),
)
