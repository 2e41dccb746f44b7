# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Rules on the manifests inside an envelope: ``enveloped-unnamed``, ``enveloped-scope``, ``enveloped-never-placed``,
``enveloped-twice`` (KubeFleet's work generator, which fails a binding that breaks them)."""

from __future__ import annotations

import typing as t

from ...schema.rules import Found
from ..api_groups import PLACEMENT_GROUP
from ..identity import (
    Manifest,
    generate_name_hint,
    group_version,
    identify,
    metadata_of,
)
from ..scopes import BUILT_IN, Scopes
from ..selectable import (
    ENVELOPES,
    Secrets,
    is_reserved_namespace,
    kind_refusal,
    malformed_metadata,
    never_placed_problem,
    stopping_webhook_problem,
)
from .envelope import ClusterResourceEnvelope, Envelope


def check_envelope(envelope: Envelope, scopes: Scopes = BUILT_IN, credentials: Secrets = ()) -> t.Iterator[Found]:
    """The broken rules of one envelope, its manifests in the order of their keys: ``enveloped-unnamed``,
    ``enveloped-scope``, ``enveloped-never-placed``, ``malformed-metadata``, ``stops-cluster``, ``enveloped-twice``
    (whatever the version of their API). Of a manifest whose identity, kind or scope is wrong only that is told; only
    those without any problem are compared.

    ``scopes`` tells by (group, kind) whether a kind is namespaced; a kind that is not in it is judged by its namespace.
    ``credentials`` are the Secrets by which members are reached.
    """
    clusterwide = isinstance(envelope, ClusterResourceEnvelope)
    namespace = "" if clusterwide else envelope.metadata.namespace
    first: dict[tuple[str, str, str, str], str] = {}
    for key in sorted(envelope.data):
        manifest = envelope.data[key]
        path = f"data[{key}]"
        found = [*_check_identity(manifest, path), *_check_scope(manifest, namespace, clusterwide, scopes, path)]
        found = found or [*_check_object(manifest, credentials, path)]
        yield from found
        if not found:
            place = _place(manifest)
            other = first.setdefault(place, key)
            if other != key:
                message = f"{place[1]} {place[3]} stands under the key {other!r} already"
                yield Found("enveloped-twice", path, message)


def _check_identity(manifest: Manifest, path: str) -> t.Iterator[Found]:
    """``enveloped-unnamed`` for each of API version, kind and name that is missing or no text, and
    ``enveloped-never-placed`` for an envelope or a kind that is never placed."""
    wanted = {"apiVersion": manifest.get("apiVersion"), "kind": manifest.get("kind")}
    wanted["metadata.name"] = metadata_of(manifest).get("name")
    for name, value in wanted.items():
        if not isinstance(value, str) or not value:
            yield Found("enveloped-unnamed", f"{path}.{name}", f"{name} is required", generate_name_hint(manifest))
    group, kind = _group_kind(manifest)
    if group == PLACEMENT_GROUP and kind in ENVELOPES:
        yield Found("enveloped-never-placed", path, "an envelope inside an envelope is never opened")
    elif never := kind_refusal(group, kind):
        yield Found("enveloped-never-placed", path, f"kind {kind} is never placed: {never}")


def _check_object(manifest: Manifest, credentials: Secrets, path: str) -> t.Iterator[Found]:
    """What could not be selected without an envelope either: ``enveloped-never-placed``, ``stops-cluster``,
    ``malformed-metadata``. FleetError as of ``identify``."""
    each = identify(manifest)
    never, stops = (
        never_placed_problem(each, manifest, credentials=credentials),
        stopping_webhook_problem(each, manifest),
    )
    if never:
        yield Found("enveloped-never-placed", path, never.message)
    for problem in (*filter(None, [stops]), *malformed_metadata(each, manifest)):
        yield Found(problem.code, path, problem.message, problem.hint)


def _check_scope(manifest: Manifest, namespace: str, clusterwide: bool, scopes: Scopes, path: str) -> t.Iterator[Found]:
    """At most one problem: ``enveloped-scope`` if the manifest is not of the scope of its envelope, or does not name
    the envelope's namespace; ``enveloped-never-placed`` for a reserved Namespace."""
    given = metadata_of(manifest).get("namespace") or ""
    group_kind = _group_kind(manifest)
    namespaced = bool(given) or scopes.get(group_kind, False)
    where = f"{path}.metadata.namespace"
    if clusterwide:
        if given and scopes.get(group_kind) is False:
            message = f"{group_kind[1]} is cluster-scoped, and names a namespace"
            yield Found("enveloped-scope", where, message, "leave metadata.namespace out")
        elif namespaced:
            message = f"{group_kind[1] or 'it'} lives in a namespace, and this envelope is for cluster-scoped objects"
            yield Found("enveloped-scope", where, message, "put it into a ResourceEnvelope in its namespace")
        elif group_kind == ("", "Namespace") and is_reserved_namespace(str(metadata_of(manifest).get("name", ""))):
            message = "this namespace is reserved on every member and cannot be placed"
            yield Found("enveloped-never-placed", path, message)
    elif scopes.get(group_kind) is False:
        message = f"{group_kind[1]} is cluster-scoped, and this envelope is for objects of its namespace"
        yield Found("enveloped-scope", path, message, "put it into a ClusterResourceEnvelope")
    elif given != namespace:
        message = f"the namespace must be that of the envelope, {namespace!r}, not {given!r}"
        yield Found("enveloped-scope", where, message)


def _group_kind(manifest: Manifest) -> tuple[str, str]:
    """API group and kind of a manifest; empty where they are no text."""
    api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
    group = group_version(api_version)[0] if isinstance(api_version, str) else ""
    return group, kind if isinstance(kind, str) else ""


def _place(manifest: Manifest) -> tuple[str, str, str, str]:
    """Group, kind, namespace (empty for none) and name of a manifest; KeyError without a name."""
    metadata = metadata_of(manifest)
    return (*_group_kind(manifest), str(metadata.get("namespace") or ""), str(metadata["name"]))
