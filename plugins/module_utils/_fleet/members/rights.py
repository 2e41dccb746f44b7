# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""The manifests (RBAC) for one purpose and ``subject``, with the kinds of what is to be placed (``unknown-kind``,
``bad-definition``): for members to read, apply or disrupt nodes, and for the hub; manifests as YAML."""

from __future__ import annotations

import typing as t

from ..._core.errors import FleetError, Problem
from ..._core.objects.identity import identify
from ..._core.objects.scopes import DEFINITION
from ..._core.resources.envelopes import PlacedManifest, unpacked
from ..._core.values.parts import mapping, name, text
from ..._kube.paths import BUILT_IN, Resource
from ..._kube.rbac import (
    Subject,
    apply_manifests,
    node_manifests,
    read_only_manifests,
)
from ..._store.manifests import Manifest, read_manifests
from ..._store.yaml_documents import write_yaml
from ..placements.sources import resources_in
from .hub_rights import JOBS, PARTS, hub_manifests, job_manifests

NAMESPACED = "Namespaced"
SERVICE_ACCOUNT = "ServiceAccount"


def rights(
    purpose: str,
    subject: t.Mapping[str, t.Any],
    kinds: t.Iterable[t.Mapping[str, t.Any]],
    resources: t.Sequence[str] = (),
) -> list[dict[str, t.Any]]:
    """Manifests of roles and bindings for one ``purpose``: ``nodes``, ``jobs``, one of ``PARTS`` of the hub, ``apply``,
    or ``read``, for which any other word stands. The last two are for ``kinds`` and for those of the manifests in the
    files ``resources``.

    ``subject`` has kind, name and, for a service account, namespace; each of ``kinds`` has ``api_version``, ``kind``,
    ``plural`` and ``namespaced``, of which the last two count for kinds that are not Kubernetes' own. FleetError
    ``bad-option`` for a subject, ``unknown-kind`` where a plural is missing, ``bad-definition``, and those of
    ``unpacked`` and ``read_manifests``.
    """
    who = _subject(subject)
    if purpose in PARTS:
        return [dict(each) for each in hub_manifests(purpose, who)]
    if purpose == JOBS:
        return [dict(each) for each in job_manifests(who)]
    if purpose == "nodes":
        return [dict(each) for each in node_manifests(who)]
    make = apply_manifests if purpose == "apply" else read_only_manifests
    placed = dict.fromkeys([*map(_resource, kinds), *_kinds_of(resources_in(read_manifests(resources)))])
    return [dict(each) for each in make(who, placed)]


def _subject(given: t.Mapping[str, t.Any]) -> Subject:
    """Who gets the rights. FleetError ``bad-option`` without a name, and for a service account without a namespace: an
    API server takes no such binding, and ``kubectl apply`` fails when it has made the roles."""
    who = Subject(given["kind"], given["name"], given.get("namespace") or "")
    wanted = {"name": who.name} | ({"namespace": who.namespace} if who.kind == SERVICE_ACCOUNT else {})
    lacking = [part for part, value in wanted.items() if not (value.strip() and value.isprintable())]
    if lacking:
        text = f"a {who.kind} is known by its {' and '.join(wanted)}"
        raise FleetError.of(Problem("bad-option", text, f"subject.{part}") for part in lacking)
    return who


def as_yaml(manifests: t.Iterable[t.Mapping[str, t.Any]]) -> str:
    """The manifests as YAML documents."""
    return write_yaml(manifests)


def _kinds_of(manifests: t.Sequence[Manifest]) -> t.Iterator[Resource]:
    """The kinds of these manifests, and of what is in envelopes; plural and scope of those that are not Kubernetes' own
    are in their definitions. FleetError as of ``unpacked``, ``_definitions`` and ``_resource``."""
    found = unpacked(each.document for each in manifests)
    if found.problems:
        raise FleetError.of(found.problems)
    documents = [each.manifest for each in found.objects]
    defined = _definitions(found.objects, {identify(each.document).key[1:]: each.where for each in manifests})
    for api_version, kind in dict.fromkeys((each["apiVersion"], each["kind"]) for each in documents):
        plural, namespaced = defined.get((api_version.rpartition("/")[0], kind), ("", True))
        yield _resource({"api_version": api_version, "kind": kind, "plural": plural, "namespaced": namespaced})


def _definitions(
    objects: t.Iterable[PlacedManifest], places: t.Mapping[tuple[str, ...], str]
) -> dict[tuple[str, str], tuple[str, bool]]:
    """Plural, and whether it is namespaced, of each kind that is defined, by group and kind. ``places`` are where
    documents stand, by kind, namespace and name. FleetError ``bad-definition``, and as of ``identify``."""
    found: dict[tuple[str, str], tuple[str, bool]] = {}
    problems: list[Problem] = []
    for each in objects:
        if identify(each.manifest).key[:2] != DEFINITION:
            continue
        try:
            spec = mapping(each.manifest, "spec")
            names = mapping(spec, "names")
            found[name(spec, "group"), name(names, "kind")] = (name(names, "plural"), text(spec, "scope") == NAMESPACED)
        except ValueError as error:
            of = each.origin
            place = (of.type, of.namespace, of.name) if of else identify(each.manifest).key[1:]
            told = f"{identify(each.manifest)} defines no kind: {error}"
            hint = "spec.group, spec.scope, spec.names.kind and spec.names.plural are wanted"
            problems.append(Problem("bad-definition", told, places[place], hint))
    if problems:
        raise FleetError.of(problems)
    return found


def _resource(each: t.Mapping[str, t.Any]) -> Resource:
    """The kind as the server names it: Kubernetes' own, or as it is given. FleetError ``unknown-kind`` without its
    plural."""
    known = BUILT_IN.get((each["api_version"], each["kind"]))
    if known:
        return known
    if not each["plural"]:
        raise FleetError(
            "unknown-kind",
            f"{each['kind']} in {each['api_version']} is not a kind of Kubernetes itself",
            "kinds",
            "put its CustomResourceDefinition among resources, or give it in kinds: "
            f'{{"api_version": "{each["api_version"]}", "kind": "{each["kind"]}", '
            '"plural": "...", "namespaced": true or false}',
        )
    group, _slash, version = each["api_version"].rpartition("/")
    return Resource(group, version, each["kind"], each["plural"], bool(each["namespaced"]))
