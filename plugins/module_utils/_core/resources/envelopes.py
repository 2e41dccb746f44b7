# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Envelopes (KubeFleet's ClusterResourceEnvelope and ResourceEnvelope) replaced by the manifests inside them before
anything is applied (``placed-twice``); what objects that are selected without one do on the hub itself
(``acts-on-hub``)."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..errors import Problem
from ..objects.api_groups import PLACEMENT_GROUP
from ..objects.identity import (
    Manifest,
    ObjectId,
    group_version,
    identify,
    metadata_of,
)
from ..objects.overrides.envelope import (
    ClusterResourceEnvelope,
    Envelope,
    Origin,
    ResourceEnvelope,
)
from ..objects.overrides.envelope_rules import check_envelope
from ..objects.scopes import BUILT_IN, Scopes
from ..objects.selectable import Secrets
from ..schema.checking import Check, check_object
from ..schema.codec import decode
from ..values.listed import listed
from .comparison.left_alone import bad_ignores
from .order import hash_order_key
from .selection import Selected

KINDS: t.Mapping[str, type[Envelope]] = {
    "ClusterResourceEnvelope": ClusterResourceEnvelope,
    "ResourceEnvelope": ResourceEnvelope,
}


@dataclass(frozen=True)
class PlacedManifest:
    """One object that members get; ``origin`` is None for what was selected itself."""

    manifest: Manifest
    origin: Origin | None = None


@dataclass(frozen=True)
class Unpacked:
    """``objects`` in the order of selection, those of an envelope by its keys. ``problems`` stop the placement."""

    objects: tuple[PlacedManifest, ...] = ()
    problems: tuple[Problem, ...] = ()


def is_envelope(manifest: Manifest) -> bool:
    """Whether the manifest is of one of KubeFleet's two kinds of envelopes."""
    kind = manifest.get("kind")
    return isinstance(kind, str) and kind in KINDS and _group(manifest) == PLACEMENT_GROUP


def unpacked(objects: t.Iterable[Manifest], scopes: Scopes = BUILT_IN, credentials: Secrets = ()) -> Unpacked:
    """What members get of the selected ``objects``; every problem of every envelope at once, and nothing of an envelope
    that has one.

    ``credentials`` are the Secrets by which members are reached, which no envelope may hold. A ClusterResourceEnvelope
    holds cluster-scoped manifests, a ResourceEnvelope those of its own namespace. An object that comes twice, at least
    once from an envelope, is a problem ``placed-twice``, as for KubeFleet. An object without a name that is no envelope
    is passed on.
    """
    placed: list[PlacedManifest] = []
    problems: list[Problem] = []
    for manifest in objects:
        if is_envelope(manifest):
            contents, found = _opened(manifest, scopes, credentials)
            placed += contents
            problems += found
        else:
            placed.append(PlacedManifest(manifest))
    return Unpacked(tuple(placed), (*problems, *_twice(placed)))


def opened(selected: Selected, scopes: Scopes, credentials: Secrets = ()) -> Selected:
    """The selection with what is in its envelopes in their place, in hash order. Where ``unpacked`` finds a problem
    that is added and the objects stay as they are. A ``bad-ignore`` of what is in an envelope is added too, but its
    envelope is opened all the same. ``scopes`` as of ``check_envelope``. FleetError as of ``identify`` for an object
    without a name beside an envelope."""
    found = unpacked(selected.objects, scopes, credentials)
    if found.problems or not any(each.origin for each in found.objects):
        return replace(selected, problems=(*selected.problems, *found.problems))
    placed = {identify(each.manifest): each for each in found.objects}
    wrong = bad_ignores((each, one.manifest) for each, one in placed.items() if one.origin)
    return replace(
        selected,
        problems=(*selected.problems, *wrong),
        objects=tuple(placed[each].manifest for each in sorted(placed, key=hash_order_key)),
        origins={each: one.origin for each, one in placed.items() if one.origin},
    )


def _opened(manifest: Manifest, scopes: Scopes, credentials: Secrets) -> tuple[list[PlacedManifest], list[Problem]]:
    """The manifests in an envelope by key, none if there are problems, and its problems."""
    kind, metadata = str(manifest["kind"]), metadata_of(manifest)
    name, namespace = (str(metadata.get(key) or "") for key in ("name", "namespace"))
    named = {"name": name or "?", "namespace": namespace}
    check = Check()
    clean = check_object(check, KINDS[kind], {"metadata": named, "data": manifest.get("data")})
    envelope = decode(KINDS[kind], clean)
    about = "/".join(part for part in (kind, namespace, name) if part)
    found = [*check.problems, *check_envelope(envelope, scopes, credentials)]
    problems = [Problem(each.code, each.message, f"{about} {each.path}", each.hint) for each in found]
    contents = (
        []
        if found
        else [PlacedManifest(envelope.data[key], Origin(kind, namespace, name, key)) for key in sorted(envelope.data)]
    )
    return contents, problems


def _twice(placed: t.Iterable[PlacedManifest]) -> t.Iterator[Problem]:
    """A Problem ``placed-twice`` for each object that has come already, in whatever version, if it or the first came
    out of an envelope. What has no name is passed over."""
    first: dict[tuple[str, str, str, str], PlacedManifest] = {}
    for each in placed:
        place = _place(each.manifest)
        if place is None:
            continue
        other = first.setdefault(place, each)
        if other is not each and (each.origin or other.origin):
            message = f"{identify(each.manifest)} is placed already, from {other.origin or 'the selected objects'}"
            yield Problem("placed-twice", message, str(each.origin or identify(each.manifest)))


def _place(manifest: Manifest) -> tuple[str, str, str, str] | None:
    """Identity over versions; None for a manifest without a name, which is for its reader to refuse."""
    kind, name = manifest.get("kind"), metadata_of(manifest).get("name")
    if not isinstance(kind, str) or not isinstance(name, str) or not name or not kind or not _group(manifest, True):
        return None
    return (_group(manifest), kind, str(metadata_of(manifest).get("namespace") or ""), name)


def _group(manifest: Manifest, versioned: bool = False) -> str:
    """The API group of a manifest, its whole ``apiVersion`` if ``versioned``; empty for one that is no text."""
    api_version = manifest.get("apiVersion")
    if not isinstance(api_version, str):
        return ""
    return api_version if versioned else group_version(api_version)[0]


# What an object without an envelope does on the hub itself, by (group, kind).
_ADMISSION = (
    "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy "
    "ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"
)
SIDE_EFFECTS: t.Mapping[str, frozenset[tuple[str, str]]] = {
    "admit, change or refuse objects": frozenset(("admissionregistration.k8s.io", kind) for kind in _ADMISSION.split()),
    "grant rights": frozenset(
        ("rbac.authorization.k8s.io", kind) for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    ),
    "limit what can be used": frozenset(
        {
            ("", "ResourceQuota"),
            ("", "LimitRange"),
            ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
            ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        }
    ),
}
SHOWN = 3


def side_effect_findings(selected: t.Iterable[ObjectId], where: str = "") -> tuple[Problem, ...]:
    """One finding ``acts-on-hub`` at ``where`` for each way, in the order of ``SIDE_EFFECTS``, in which objects
    selected without an envelope act on the hub itself, with the first three of them and the number of the others."""
    objects = sorted(selected)
    found = []
    for effect, kinds in SIDE_EFFECTS.items():
        acting = [str(each) for each in objects if (each.group, each.kind) in kinds]
        if acting:
            message = f"{listed(acting, SHOWN)}: on the hub they {effect} there too"
            found.append(Problem("acts-on-hub", message, where, "put them into an envelope"))
    return tuple(found)
