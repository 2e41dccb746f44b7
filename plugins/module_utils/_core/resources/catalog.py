# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Manifests by the objects that they describe, for any number of placements to select from; which stand there twice
(``repeated``), which Namespaces are being deleted (``terminating``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from ..errors import FleetError, Problem
from ..objects.identity import (
    Manifest,
    ObjectId,
    identify,
    metadata_of,
)
from ..objects.scopes import Scopes

VersionKind = tuple[str, str, str]
"""Group, version and kind."""
NAMESPACE_KIND = ("", "Namespace")


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """``manifests`` by what they describe, ``of_kind`` and ``within`` (by namespace, empty for none) in the same order;
    ``repeated`` stand there more than once. ``services`` are namespace and name of each, ``terminating`` the names of
    Namespaces that are being deleted. ``problems`` are those of manifests that describe no object. ``scopes`` as of
    ``scopes.likely_scopes``, ``sure`` those that nobody has guessed (``scopes.sure_scopes``)."""

    manifests: t.Mapping[ObjectId, Manifest]
    scopes: Scopes
    repeated: frozenset[ObjectId]
    problems: tuple[Problem, ...]
    of_kind: t.Mapping[VersionKind, t.Sequence[ObjectId]]
    within: t.Mapping[str, t.Sequence[ObjectId]]
    services: frozenset[tuple[str, str]]
    terminating: frozenset[str]
    sure: Scopes = field(default_factory=dict)


def catalog_of(objects: t.Iterable[Manifest], scopes: Scopes, sure: Scopes | None = None) -> Catalog:
    """The catalog of all ``objects``. Of several manifests of one object the first is taken, and the object is
    ``repeated``. A namespace is dropped first where by ``scopes`` the kind has none, as API servers do. ``sure`` None:
    no scopes are sure."""
    manifests: dict[ObjectId, Manifest] = {}
    of_kind: dict[VersionKind, list[ObjectId]] = {}
    within: dict[str, list[ObjectId]] = {}
    problems: list[Problem] = []
    repeated: set[ObjectId] = set()
    for written in objects:
        try:
            each, manifest = _without_false_namespace(identify(written), written, scopes)
        except FleetError as error:
            problems.extend(error.problems)
            continue
        if each in manifests:
            repeated.add(each)
            continue
        manifests[each] = manifest
        of_kind.setdefault((each.group, each.version, each.kind), []).append(each)
        within.setdefault(each.namespace, []).append(each)
    return Catalog(
        manifests=manifests,
        scopes=scopes,
        repeated=frozenset(repeated),
        problems=tuple(problems),
        of_kind=of_kind,
        within=within,
        services=frozenset(
            (each.namespace, each.name) for each in manifests if (each.group, each.kind) == ("", "Service")
        ),
        terminating=frozenset(
            each.name for each, one in manifests.items() if is_namespace(each) and is_being_deleted(one)
        ),
        sure=sure or {},
    )


def _without_false_namespace(each: ObjectId, manifest: Manifest, scopes: Scopes) -> tuple[ObjectId, Manifest]:
    """Identity and manifest, without a namespace where by ``scopes`` the kind has none. Many charts write one into
    every manifest: API servers drop it then."""
    if not each.namespace or scopes.get((each.group, each.kind), True):
        return each, manifest
    metadata = {key: value for key, value in metadata_of(manifest).items() if key != "namespace"}
    return replace(each, namespace=""), {**manifest, "metadata": metadata}


def is_namespace(each: ObjectId) -> bool:
    """Whether it is a Namespace, of whatever version."""
    return (each.group, each.kind) == NAMESPACE_KIND


def is_being_deleted(manifest: Manifest) -> bool:
    """Whether its server has begun to delete it (``metadata.deletionTimestamp`` is not empty)."""
    return bool(metadata_of(manifest).get("deletionTimestamp"))
