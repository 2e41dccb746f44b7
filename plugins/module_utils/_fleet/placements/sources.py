# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Placements as people write them (``duplicate-placement``, ``not-a-placement``), and the objects that they select in
files or on the hub (``acts-on-hub``), as members get them; Secrets that members are reached with
(``fleet-credentials``); members that are the hub itself; ``no-manifests``."""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass, replace

from ..._core.errors import FleetError, Problem
from ..._core.objects.api_groups import CLUSTER_GROUP, FLEET_GROUP, PLACEMENT_GROUP
from ..._core.objects.clusters.fleet_member import FleetMember
from ..._core.objects.identity import ObjectId, group_version, identify
from ..._core.objects.placements.cluster_resource_placement import ClusterResourcePlacement
from ..._core.objects.reading import read
from ..._core.objects.scopes import likely_scopes, sure_scopes
from ..._core.objects.selectable import is_reserved_namespace, kind_refusal
from ..._core.objects.staged.key import DEFINED_KINDS
from ..._core.plan.document import Rendered
from ..._core.plan.rendering import Sealing, as_placed
from ..._core.resources.catalog import Catalog, catalog_of
from ..._core.resources.envelopes import opened, side_effect_findings
from ..._core.resources.history import RolledBack
from ..._core.resources.selection import Selected, Selector, select
from ..._core.schema.checking import Written, no_written_text
from ..._kube.answers import MAX_DEPTH, is_too_deep
from ..._kube.client import KubeClient
from ..._kube.discovery import namespaced_resources, resource_for
from ..._kube.documents import unusable_answer
from ..._kube.errors import ApiError
from ..._kube.lists import read_list
from ..._store.manifests import Manifest, read_manifests
from ..members.identity import cluster_words, recorded_uids
from .overrides import is_override

# Carried out by a verb of their own: they do not change what an apply does.
EVICTION, BUDGET = "ClusterResourcePlacementEviction", "ClusterResourcePlacementDisruptionBudget"


@dataclass(frozen=True, kw_only=True)
class EarlierContent:
    """The content of an earlier snapshot, which a placement is rolled back to; ``of`` is its index and revision."""

    objects: tuple[Rendered, ...]
    of: RolledBack


@dataclass(frozen=True, kw_only=True)
class LoadedPlacement:
    """A placement as it was read from ``document``, its manifest or record, at ``where``: file and line,
    ``definition``, ``hub`` or a snapshot's name. ``findings`` are repairs and warnings, ``earlier`` what it is to hold
    if that is not selected anew. ``of_record``: nobody gave it now, so that an edit of the record since goes before
    it."""

    placement: ClusterResourcePlacement
    document: t.Mapping[str, t.Any]
    where: str
    findings: tuple[Problem, ...] = ()
    earlier: EarlierContent | None = None
    of_record: bool = False


def placements_in(manifests: t.Iterable[Manifest], strict: bool) -> tuple[LoadedPlacement, ...]:
    """The placements among the manifests, sorted by name; ``strict`` as in ``read``. Evictions, disruption budgets,
    staged runs and strategies are checked too, and left out; overrides, envelopes, MemberClusters and APIs of others
    are passed over. FleetError with every problem at once, such as ``duplicate-placement``, even for the same again,
    ``not-a-placement`` for other kinds of their API, and ``unsupported-group`` for its successor kubefleet.dev."""
    found: dict[str, LoadedPlacement] = {}
    problems: list[Problem] = []
    for manifest in manifests:
        if not _may_be_placement(manifest.document):
            continue
        try:
            if manifest.document.get("kind") in (EVICTION, BUDGET, *DEFINED_KINDS):
                read(manifest.document, manifest.where, strict, written=manifest.written)
                continue
            sourced = read_placement(manifest.document, manifest.where, strict, manifest.written)
        except FleetError as error:
            problems.extend(error.problems)
            continue
        name = str(sourced.placement.key)
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
    """Whether it is a placement, or of a kind of its API, or of any kind of the API that follows it, that would change
    placements if it were passed over. Overrides, envelopes, MemberClusters and kinds of our own are not: they are
    read elsewhere."""
    group = str(document.get("apiVersion", "")).rpartition("/")[0]
    successor = group == "kubefleet.dev" or group.endswith(".kubefleet.dev")
    beside = group == FLEET_GROUP or document.get("kind") == "MemberCluster" or is_override(document)
    return successor or (_ours(document) and not beside)


def read_placement(
    document: t.Mapping[str, t.Any], where: str, strict: bool, written: Written = no_written_text
) -> LoadedPlacement:
    """One placement from its manifest; ``strict`` as in ``read``, ``written`` as in ``Check``. FleetError with all its
    problems, ``not-a-placement`` for another kind."""
    reading = read(document, where, strict, written=written)
    if not isinstance(reading.object, ClusterResourcePlacement):
        hint = "it would change what placements do, and that is not carried out yet; keep it elsewhere"
        told = f"this is a {reading.object.kind}, not a placement"
        raise FleetError("not-a-placement", told, where, hint if _may_be_placement(document) else "")
    findings = tuple(Problem(each.code, each.message, each.where or where) for each in reading.findings)
    return LoadedPlacement(placement=reading.object, document=document, where=where, findings=findings)


def resources_from_files(paths: t.Sequence[str]) -> Catalog:
    """The catalog of what can be placed below the paths. FleetError as of ``read_manifests``."""
    return catalogued(read_manifests(paths))


def catalogued(manifests: t.Iterable[Manifest]) -> Catalog:
    """What is to be placed among the manifests, for placements to select from."""
    documents = [each.document for each in resources_in(manifests)]
    return catalog_of(documents, likely_scopes(documents), sure_scopes(documents))


def resources_in(manifests: t.Iterable[Manifest]) -> tuple[Manifest, ...]:
    """The manifests to be placed, in their order: all that are not of KubeFleet's API groups or our own, and
    envelopes."""
    return tuple(each for each in manifests if not _ours(each.document))


def no_manifests_findings(paths: t.Sequence[str], manifests: t.Iterable[Manifest], option: str) -> tuple[Problem, ...]:
    """A finding ``no-manifests`` for each path of the ``option`` below which none of the manifests stands, in the order
    given."""
    read = {os.path.realpath(path) for path in {each.path for each in manifests}}
    found = []
    for path in paths:
        real = os.path.realpath(path)
        if not any(file == real or file.startswith(os.path.join(real, "")) for file in read):
            found.append(Problem("no-manifests", f"{option}: {path} holds no manifest at all", path, "is it meant?"))
    return tuple(found)


def credentials_of(members: t.Iterable[FleetMember]) -> frozenset[tuple[str, str]]:
    """Namespace and name of the Secrets by which members are reached."""
    references = (each.spec.connection.secret_ref for each in members)
    return frozenset((each.namespace, each.name) for each in references if each is not None)


def hubs_among(members: t.Mapping[str, FleetMember], hub: KubeClient | None, *, writes: bool) -> frozenset[str]:
    """The members that are the hub itself, by the recorded UIDs of their clusters; none without a hub or any such UID.
    FleetError of the request; ``forbidden`` (the hub may not be asked which cluster it is) only for whoever ``writes``,
    as originals would be deleted there unseen."""
    uids = recorded_uids(members)
    if hub is None or not any(uids.values()):
        return frozenset()
    try:
        own, _words = cluster_words(hub)
    except FleetError as error:
        if writes or error.code != "forbidden":
            raise
        return frozenset()
    return frozenset(name for name, uid in uids.items() if uid == own)


def selected_from_files(
    placement: ClusterResourcePlacement,
    catalog: Catalog,
    credentials: frozenset[tuple[str, str]] = frozenset(),
) -> Selected:
    """What the placement selects in the catalog, but for Secrets that are ``credentials``. What is wrong is in its
    ``problems``, and not raised."""
    selected = select(placement.spec.resource_selectors, catalog, placement.namespace, credentials)
    return opened(selected, catalog.scopes, credentials)


def selected_from_hub(
    placement: ClusterResourcePlacement, hub: KubeClient, credentials: frozenset[tuple[str, str]] = frozenset()
) -> Selected:
    """As ``selected_from_files``, among the objects on the hub. Kinds that the hub does not know select nothing.
    Objects that act on the hub itself are findings ``acts-on-hub``. ApiError of the requests; ``server-error`` where
    the hub cannot tell now of all kinds that may be meant."""
    objects: dict[str, dict[str, t.Any]] = {}
    scopes: dict[tuple[str, str], bool] = {}
    for api_version, kind in _kinds(placement.spec.resource_selectors):
        if kind_refusal(group_version(api_version)[0], kind):
            continue  # the selection says so
        resource = _resource(hub, api_version, kind)
        if resource is None:
            continue
        scopes[(resource.group, kind)] = resource.namespaced
        if placement.namespace and not resource.namespaced:
            continue  # it may select none of these
        objects |= _listed(hub, resource.path(placement.namespace))
    namespaces = _whole_namespaces(placement.spec.resource_selectors, objects.values())
    # What is selected nowhere is pruned: a kind of which the hub cannot tell now is none of which it has nothing.
    for resource in namespaced_resources(hub, _never_placed) if namespaces else ():
        for namespace in namespaces if kind_refusal(resource.group, resource.kind) is None else ():
            objects |= _listed(hub, resource.path(namespace))
    catalog = catalog_of(objects.values(), likely_scopes((), scopes))
    selected = select(placement.spec.resource_selectors, catalog, placement.namespace, credentials)
    acting = side_effect_findings(map(identify, selected.objects))
    return opened(replace(selected, findings=(*selected.findings, *acting)), catalog.scopes, credentials)


def selected_for(
    placement: ClusterResourcePlacement,
    catalog: Catalog | None,
    hub: KubeClient | None,
    credentials: frozenset[tuple[str, str]] = frozenset(),
) -> Selected:
    """As ``selected_from_files``, where there is a ``catalog``, else as ``selected_from_hub``. FleetError
    ``no-resources`` where there is neither; ApiError of the hub."""
    if catalog is not None:
        return selected_from_files(placement, catalog, credentials)
    if hub is None:
        raise FleetError(
            "no-resources",
            "there are no resources to select from",
            f"{placement.kind}/{placement.key}",
            "give files with the option resources, or use records of type hub",
        )
    return selected_from_hub(placement, hub, credentials)


def now_credentials(objects: t.Iterable[ObjectId], credentials: t.Container[tuple[str, str]]) -> list[Problem]:
    """A problem ``fleet-credentials`` for each object of an earlier snapshot that is a credential of the fleet by
    now."""
    text = "{} is by now what a member is reached with"
    return [
        Problem("fleet-credentials", text.format(each), hint="choose another snapshot")
        for each in objects
        if (each.group, each.kind) == ("", "Secret") and (each.namespace, each.name) in credentials
    ]


def located_problems(problems: t.Iterable[Problem], sourced: LoadedPlacement) -> tuple[Problem, ...]:
    """The problems of a placement, each with the placement and where it stands before its own place: a field path, the
    name of an object, or nothing."""
    of = sourced.placement
    return tuple(replace(each, where=f"{sourced.where} {of.kind}/{of.key} {each.where}".strip()) for each in problems)


def rendered(selected: Selected, sealing: Sealing) -> tuple[Rendered, ...]:
    """The selected objects, in their order, as members get them before overrides, each with the envelope that it came
    out of (``Rendered.origin``). Without a key hashes do not cover what Secrets hold. FleetError as of
    ``as_placed``."""
    return tuple(as_placed(each, sealing, selected.origins.get(identify(each))) for each in selected.objects)


def _ours(document: t.Mapping[str, t.Any]) -> bool:
    """Whether it is of KubeFleet's or our own API groups, and no envelope."""
    group = str(document.get("apiVersion", "")).rpartition("/")[0]
    envelope = str(document.get("kind", "")).endswith("Envelope")
    return not envelope and group in (FLEET_GROUP, PLACEMENT_GROUP, CLUSTER_GROUP)


def _kinds(selectors: t.Iterable[Selector]) -> list[tuple[str, str]]:
    """``apiVersion`` and kind of all that is selected, sorted, each once."""
    seen = {(f"{each.group}/{each.version}" if each.group else each.version, each.kind) for each in selectors}
    return sorted(seen)


def _resource(hub: KubeClient, api_version: str, kind: str) -> t.Any:
    """The resource of the kind, None where the hub does not know it. ApiError."""
    try:
        return resource_for(hub, api_version, kind)
    except ApiError as error:
        if error.code == "unknown-kind":
            return None
        raise


def _never_placed(group: str) -> bool:
    """Whether no kind of the API group is ever placed."""
    return kind_refusal(group, "") is not None


def _whole_namespaces(selectors: t.Sequence[Selector], objects: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    """Namespaces whose contents are meant too, sorted; which of them are picked is for ``select`` to say. It refuses
    reserved ones, so that their contents need not even be read."""
    means = [each for each in selectors if (each.group, each.kind) == ("", "Namespace")]
    if not any(each.selection_scope == "NamespaceWithResources" for each in means):
        return []
    named = {each.name for each in means if each.selection_scope == "NamespaceWithResources" and each.name}
    anything = any(each.selection_scope == "NamespaceWithResources" and not each.name for each in means)
    names = [each["metadata"]["name"] for each in objects if each.get("kind") == "Namespace"]
    return sorted(name for name in names if (anything or name in named) and not is_reserved_namespace(name))


def _listed(hub: KubeClient, path: str) -> dict[str, dict[str, t.Any]]:
    """Objects by what tells them apart in lists of several versions: their uid, or their name where they have none, as
    what an API server beside the hub's own makes up. ApiError of the request, ``bad-answer`` for one that is too deep.
    """
    found = {}
    for each in read_list(hub, path).items:
        metadata = each["metadata"]
        if is_too_deep(each):
            raise unusable_answer(f"GET {path}", f"{metadata['name']} has more than {MAX_DEPTH} levels", hub)
        named = [each["apiVersion"], each["kind"], metadata.get("namespace"), metadata["name"]]
        found[str(metadata.get("uid") or named)] = each
    return found
