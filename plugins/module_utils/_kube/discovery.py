# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Which kinds an API server has, custom resources too, by aggregated discovery (Kubernetes 1.30 and later): the
resource of a kind (``unknown-kind``), in which version an object is served, all kinds that live in namespaces."""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass

from .._core.objects.identity import ObjectId
from .._core.values.parts import (
    mapping,
    name,
    rows,
    text,
)
from .client import JSON, KubeClient
from .documents import unusable_answer
from .errors import ApiError
from .paths import BUILT_IN, Resource

_MISSED = 1.0  # seconds
_AGGREGATED = f"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,{JSON}"


@dataclass(frozen=True)
class Discovered:
    """``resources`` by (apiVersion, kind), without subresources. ``stale`` are the apiVersions of which the server
    knows nothing at present, or only what it knew earlier, as the API server behind them does not answer. ``lists`` has
    each resource that can be listed, in the first version in which it can; the server puts the preferred one first."""

    resources: t.Mapping[tuple[str, str], Resource]
    stale: frozenset[str]
    lists: tuple[Resource, ...] = ()


@dataclass(frozen=True)
class _Known:
    """What was found when this client had written what defines kinds ``definitions`` times; what is not in it counts as
    missing ``until`` then, by the monotonic clock."""

    found: Discovered
    definitions: int
    until: float


def _asked_again(client: KubeClient, known: _Known | None) -> _Known:
    """What the server has, asked for anew by one thread at a time, and kept on the client. What is kept is given
    instead if no definitions were written since, and it is another than ``known``, or younger than ``_MISSED``.
    FleetError as of ``discover``."""
    with client.discovery_lock:
        now: _Known | None = client.discovered
        definitions = client.definitions
        if now is not None and now.definitions == definitions:
            others_asked = now is not known
            if others_asked or time.monotonic() < now.until:
                return now
        fresh = _Known(discover(client), definitions, time.monotonic() + _MISSED)
        client.discovered = fresh
        return fresh


def resource_for(client: KubeClient, api_version: str, kind: str) -> Resource:
    """The resource of a kind on this server.

    Built-in kinds (``BUILT_IN``) are known without asking. All others are read once per client, and again at a miss,
    since a CRD may have come: at once where this client has written one since, otherwise a second later at the soonest.
    ApiError ``unknown-kind`` if the server has no such kind, and, unasked, for all other kinds of the core group, to
    which no CRD can add; ``server-error`` if it cannot tell now; FleetError as of ``discover``.
    """
    key = (api_version, kind)
    if key in BUILT_IN:
        return BUILT_IN[key]
    if "/" not in api_version:
        text = f"{kind} is no kind of {api_version} of which objects can be created and read"
        hint = "see kubectl api-resources for the apiVersion of a kind; all but the oldest ones have an API group in it"
        raise ApiError("unknown-kind", text, client.server_name, hint)
    known: _Known | None = client.discovered
    if known is None or key not in known.found.resources:
        known = _asked_again(client, known)
    if key in known.found.resources:
        return known.found.resources[key]
    if api_version in known.found.stale:
        raise _away(client, api_version, kind)
    unknown = f"this cluster has no kind {kind} in {api_version}"
    raise ApiError("unknown-kind", unknown, client.server_name, "install its CustomResourceDefinition first")


def resource_of(client: KubeClient, each: ObjectId) -> Resource:
    """The resource of an object that may be there already: as of ``resource_for``, or, where the server has no such
    kind in that version, in the first version of the group in which it can be listed. FleetError as of
    ``resource_for``; ``server-error`` too where none is found while the server cannot tell of a version of the
    group."""
    try:
        return resource_for(client, each.api_version, each.kind)
    except ApiError as error:
        if error.code != "unknown-kind" or not each.group:
            raise
        known: _Known = client.discovered
        for one in known.found.lists:
            if (one.group, one.kind) == (each.group, each.kind):
                return one
        stale = sorted(version for version in known.found.stale if version.partition("/")[0] == each.group)
        if stale:
            raise _away(client, stale[0], each.kind) from None
        raise


def _away(client: KubeClient, api_version: str, kind: str) -> ApiError:
    """The ApiError ``server-error``, given back, for a kind of which the server cannot tell now."""
    text = f"the API server behind {api_version} does not answer, so {kind} is not known at present"
    return ApiError("server-error", text, client.server_name, "see kubectl get apiservices")


def discover(client: KubeClient, path: str = "/apis") -> Discovered:
    """All resources outside the core group, or (``/api``) those of the core group, asked for at each call. ApiError
    ``bad-answer`` for a server without aggregated discovery or a damaged document; FleetError as of ``request``."""
    document = client.request("GET", path, accept=_AGGREGATED)
    if document.get("kind") != "APIGroupDiscoveryList":
        lacks = "the server does not offer aggregated discovery"
        raise ApiError("bad-answer", lacks, client.server_name, "Kubernetes 1.30 or later is needed")
    try:
        return _discovered(document, core=path == "/api")
    except ValueError as error:
        raise unusable_answer(f"GET {path}", str(error), client) from None


def _discovered(document: t.Mapping[str, t.Any], core: bool) -> Discovered:
    """What is in a discovery document, the last row of each kind in a version. ValueError for a part that is missing or
    of another type."""
    resources: dict[tuple[str, str], Resource] = {}
    listed: dict[tuple[str, str], Resource] = {}
    stale = set()
    for group in rows(document, "items"):
        group_name = "" if core else name(mapping(group, "metadata"))
        for version in rows(group, "versions"):
            version_name = name(version, "version")
            if version.get("freshness") == "Stale":
                stale.add(f"{group_name}/{version_name}" if group_name else version_name)
            for row in rows(version, "resources"):
                found = _resource(group_name, version_name, row)
                resources[(found.api_version, found.kind)] = found
                if "list" in _verbs(row):
                    listed.setdefault((found.group, found.plural), found)
    return Discovered(resources, frozenset(stale), tuple(listed.values()))


def namespaced_resources(client: KubeClient, spared: t.Callable[[str], t.Any]) -> tuple[Resource, ...]:
    """Every kind that lives in namespaces and can be listed, in the first version in which it can: those of the core
    group as in ``BUILT_IN``, then all others as the server tells. ApiError ``server-error`` if it does not know all at
    present, but for API groups for whose name ``spared`` is true; FleetError as of ``discover``."""
    core = [each for (version, _kind), each in BUILT_IN.items() if version == "v1" and each.namespaced]
    found = discover(client)
    _require_all_known(client, (each for each in found.stale if not spared(each.partition("/")[0])))
    return (*core, *(each for each in found.lists if each.namespaced))


def served_namespaced_resources(client: KubeClient) -> tuple[Resource, ...]:
    """Every kind that lives in namespaces and can be listed, in the first version in which it can, the core group
    first, all as the server tells it now: for who must not miss one. ApiError ``server-error`` if it does not know all
    at present; FleetError as of ``discover``."""
    found = [discover(client, path) for path in ("/api", "/apis")]
    _require_all_known(client, (version for each in found for version in each.stale))
    return tuple(resource for each in found for resource in each.lists if resource.namespaced)


def _require_all_known(client: KubeClient, stale: t.Iterable[str]) -> None:
    """ApiError ``server-error`` if there are ``stale`` apiVersions."""
    away = sorted(stale)
    if away:
        text = f"the API servers behind {', '.join(away)} do not answer, so not all kinds are known at present"
        raise ApiError("server-error", text, client.server_name, "see kubectl get apiservices")


def _resource(group: str, version: str, row: t.Mapping[str, t.Any]) -> Resource:
    """The resource in a row of a discovery document; its kind is empty where the row tells none. ValueError for a row
    without a plural, or with parts of other types."""
    kind = text(mapping(row, "responseKind"), "kind")
    return Resource(group, version, kind, name(row, "resource"), row.get("scope") == "Namespaced")


def _verbs(row: t.Mapping[str, t.Any]) -> list[t.Any]:
    """The verbs of a row, empty where it tells none. ValueError if they are no list."""
    verbs = row.get("verbs") or []
    if not isinstance(verbs, list):
        raise ValueError("verbs is no list")
    return verbs
