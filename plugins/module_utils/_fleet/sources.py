# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""What people write: placements and resources, from files or from the hub."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._core.errors import FleetError, Problem
from .._core.objects.cluster_resource_placement import ClusterResourcePlacement
from .._core.objects.reading import read
from .._core.plan.document import Rendered
from .._core.resources.cleaning import cleaned
from .._core.resources.identity import identify
from .._core.resources.scopes import known_scopes
from .._core.resources.sealing import object_hash, sealed
from .._core.resources.selection import Selected, Selector, select
from .._kube.client import KubeClient
from .._kube.discovery import namespaced_resources, resource_for
from .._kube.errors import ApiError
from .._kube.lists import read_list
from .._store.manifests import Manifest, read_manifests

PLACEMENT = "ClusterResourcePlacement"


@dataclass(frozen=True, kw_only=True)
class Sourced:
    """A placement as it was read: ``where`` is file and line, ``findings`` are repairs and warnings."""

    placement: ClusterResourcePlacement
    document: t.Mapping[str, t.Any]
    where: str
    findings: tuple[Problem, ...] = ()


def placements_in(manifests: t.Iterable[Manifest], strict: bool) -> tuple[Sourced, ...]:
    """The placements among the manifests by name; every problem of every one of them at once."""
    found: dict[str, Sourced] = {}
    problems: list[Problem] = []
    for manifest in manifests:
        if not _may_be_placement(manifest.document):
            continue
        try:
            sourced = read_placement(manifest.document, manifest.where, strict)
        except FleetError as error:
            problems.extend(error.problems)
            continue
        name = sourced.placement.name
        if name in found:
            problems.append(
                Problem(
                    "duplicate-placement", f"placement {name} stands here and at {found[name].where}", manifest.where
                )
            )
        found[name] = sourced
    if problems:
        raise FleetError.of(problems)
    return tuple(found[name] for name in sorted(found))


def _may_be_placement(document: t.Mapping[str, t.Any]) -> bool:
    """Placements, and kinds of their API that would change them if they were passed over (overrides, runs)."""
    group = str(document.get("apiVersion", "")).rpartition("/")[0]
    successor = group == "kubefleet.dev" or group.endswith(".kubefleet.dev")
    return successor or _ours(document) and group != "gitops.fleet" and document.get("kind") != "MemberCluster"


def read_placement(document: t.Mapping[str, t.Any], where: str, strict: bool) -> Sourced:
    """One placement from its manifest, all its problems at once."""
    reading = read(document, where, strict)
    if not isinstance(reading.object, ClusterResourcePlacement):
        hint = "it would change what placements do, and that is not carried out yet; keep it elsewhere"
        told = f"this is a {reading.object.kind}, not a {PLACEMENT}"
        raise FleetError("not-a-placement", told, where, hint if _may_be_placement(document) else "")
    findings = tuple(Problem(each.code, each.message, each.where or where) for each in reading.findings)
    return Sourced(placement=reading.object, document=document, where=where, findings=findings)


def resources_from_files(paths: t.Sequence[str]) -> tuple[Manifest, ...]:
    """Every manifest below the paths that is not one of our own kinds."""
    return tuple(each for each in read_manifests(paths) if not _ours(each.document))


def selected_from_files(placement: ClusterResourcePlacement, manifests: t.Sequence[Manifest]) -> Selected:
    """What the placement selects among the manifests."""
    documents = [each.document for each in manifests]
    return select(placement.spec.resource_selectors, documents, known_scopes(documents))


def selected_from_hub(placement: ClusterResourcePlacement, hub: KubeClient) -> Selected:
    """What the placement selects among the objects on the hub; each kind is listed once."""
    objects: dict[str, dict[str, t.Any]] = {}
    scopes: dict[tuple[str, str], bool] = {}
    for api_version, kind in _kinds(placement.spec.resource_selectors):
        resource = _resource(hub, api_version, kind)
        if resource is None:
            continue
        scopes[(resource.group, kind)] = resource.namespaced
        for each in read_list(hub, resource.path()).items:
            objects[each["metadata"]["uid"]] = each
    for namespace in _whole_namespaces(placement.spec.resource_selectors, objects.values()):
        for each in _inside(hub, namespace):
            objects[each["metadata"]["uid"]] = each
    return select(placement.spec.resource_selectors, objects.values(), known_scopes((), scopes))


def rendered(selected: Selected, key: bytes, source: str) -> tuple[Rendered, ...]:
    """The selected objects as members get them, in hash order."""
    out = []
    for manifest in selected.objects:
        clean = cleaned(manifest)
        out.append(Rendered(id=identify(clean), hash=object_hash(sealed(clean, key, source)), manifest=clean))
    return tuple(out)


def _ours(document: t.Mapping[str, t.Any]) -> bool:
    group = str(document.get("apiVersion", "")).rpartition("/")[0]
    envelope = str(document.get("kind", "")).endswith("Envelope")
    return not envelope and group in ("gitops.fleet", "placement.kubernetes-fleet.io", "cluster.kubernetes-fleet.io")


def _kinds(selectors: t.Iterable[Selector]) -> list[tuple[str, str]]:
    seen = {(f"{each.group}/{each.version}" if each.group else each.version, each.kind) for each in selectors}
    return sorted(seen)


def _resource(hub: KubeClient, api_version: str, kind: str) -> t.Any:
    try:
        return resource_for(hub, api_version, kind)
    except ApiError as error:
        if error.code == "unknown-kind":
            return None
        raise


def _whole_namespaces(selectors: t.Sequence[Selector], objects: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    """Namespaces whose contents are meant too; which of them are picked is for ``select`` to say."""
    means = [each for each in selectors if (each.group, each.kind) == ("", "Namespace")]
    if not any(each.selection_scope == "NamespaceWithResources" for each in means):
        return []
    named = {each.name for each in means if each.selection_scope == "NamespaceWithResources" and each.name}
    anything = any(each.selection_scope == "NamespaceWithResources" and not each.name for each in means)
    names = [each["metadata"]["name"] for each in objects if each.get("kind") == "Namespace"]
    return sorted(name for name in names if anything or name in named)


def _inside(hub: KubeClient, namespace: str) -> t.Iterator[dict[str, t.Any]]:
    for resource in namespaced_resources(hub):
        yield from read_list(hub, resource.path(namespace)).items
