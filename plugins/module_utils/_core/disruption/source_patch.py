# Copyright: Contributors to the gitops.fleet project
# BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause
"""Merge patches of NodePools and node classes that somebody writes by hand: read (``missing-field``, ``invalid-name``,
``unsupported-version``, ``named-twice``), shown without secrets, and withheld until consent to drift and routes is said
(``drift-without-consent``, ``subnet-routes-unconfirmed``)."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import FleetError, Problem
from ..foreign import shown_value
from ..objects.karpenter.manifests import JUDGEMENTS
from ..objects.karpenter.node_class import AKS_NODE_CLASS, EC2_NODE_CLASS
from ..objects.karpenter.node_pool import API_VERSION
from ..objects.karpenter.node_pool import KIND as NODE_POOL
from ..objects.karpenter.reading import examine
from ..schema.metadata_rules import name_problem
from ..values.field_path import field
from ..values.listed import number_of
from .budgets.lint import ERROR
from .members.member_nodes import OUR_ANNOTATIONS, UNWANTED
from .node_source import SourceEffect
from .subnet_change import ROUTES

Document = dict[str, t.Any]
# kubectl keeps whole manifests there, secrets and all; whoever saves what it prints has it in the file.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
HIDDEN = "(not shown)"
CLASSES = {AKS_NODE_CLASS: "aksnodeclasses", EC2_NODE_CLASS: "ec2nodeclasses"}
_PLURALS = {NODE_POOL: "nodepools", **CLASSES}
_NAMELESS = Problem("missing-field", "apiVersion, kind and metadata.name are needed", "patches")


@dataclass(frozen=True)
class SourcePatch:
    """A merge patch of one NodePool, AKSNodeClass or EC2NodeClass; ``patch`` has ``spec`` and ``metadata`` alone."""

    kind: str
    name: str
    patch: Document
    api_version: str = API_VERSION

    @property
    def path(self) -> str:
        """Where the object is on a server: ``/apis/karpenter.sh/v1/nodepools/general``. KeyError for another kind."""
        return f"/apis/{self.api_version}/{_PLURALS[self.kind]}/{self.name}"

    @property
    def shown(self) -> Document:
        """The patch with ``(not shown)`` in place of fields of ``spec`` that may hold secrets (``UNWANTED``), unless
        they are taken away (None), and of annotations that do not begin as one of ``OUR_ANNOTATIONS``."""
        return {key: _SHOWN[key](each) if key in _SHOWN else each for key, each in self.patch.items()}


@dataclass(frozen=True)
class PatchLeave:
    """What somebody has said: nodes may be replaced by the patch (``drift``); nodes of the new subnet reach what they
    need, and are reached (``routes``)."""

    drift: bool = False
    routes: bool = False


def read_patches(documents: t.Iterable[t.Any]) -> tuple[SourcePatch, ...]:
    """NodePools, AKSNodeClasses and EC2NodeClasses, or the parts of them that are to change, as patches in the order
    given: spec, labels and annotations, without kubectl's last-applied. The spec of a NodePool is as it is repaired;
    that of a class is left to the server.

    FleetError with all problems: those of a NodePool, which another kind is judged as, ``missing-field``,
    ``invalid-name``, ``unsupported-version``, ``wrong-type`` (also for labels or annotations that are null),
    ``named-twice`` for two patches of one object, in two API versions too.
    """
    found: list[SourcePatch] = []
    problems: list[Problem] = []
    for document in documents:
        try:
            found.append(_read(document))
        except FleetError as error:
            problems += error.problems
    named = Counter(f"{each.kind}/{each.name}" for each in found)
    twice = [name for name, count in named.items() if count > 1]
    problems += [Problem("named-twice", "two patches are of it", name, "write them as one") for name in twice]
    if problems:
        raise FleetError.of(problems)
    return tuple(found)


def why_withheld(patch: SourcePatch, effect: SourceEffect, leave: PatchLeave, member: str) -> tuple[Problem, ...]:
    """Why the patch may not be written: what speaks against another subnet, then ``subnet-routes-unconfirmed`` unless
    ``leave`` says ``routes``, and ``drift-without-consent`` if nodes drift or may do so, unless it says ``drift``.
    ``member`` names the cluster in them."""
    where = f"{member} {patch.kind}/{patch.name}"
    found = [Problem(each.code, each.message, where) for each in effect.findings if each.level == ERROR]
    for text in () if leave.routes else unconfirmed_routes(effect):
        hint = "say confirm_routes: true once somebody has looked, or name the subnet as reached in the network file"
        found.append(Problem(ROUTES, text, where, hint))
    if (effect.drifted or effect.unsure) and not leave.drift:
        told = [
            f"{marks} {number_of(len(names), 'existing node')} Drifted, which replaces "
            f"{'it' if len(names) == 1 else 'them'}: {', '.join(names)}"
            for marks, names in (("marks", effect.drifted), ("may mark", effect.unsure))
            if names
        ]
        hint = "say consent: true if that is meant"
        found.append(Problem("drift-without-consent", f"this {'; it '.join(told)}", where, hint))
    return tuple(found)


def unconfirmed_routes(effect: SourceEffect) -> tuple[str, ...]:
    """What is to be confirmed of the routes of another subnet, in words, as only a person or a probe can see it."""
    return tuple(each.message for each in effect.findings if each.code == ROUTES)


def _read(document: t.Any) -> SourcePatch:
    """The patch of a NodePool, AKSNodeClass or EC2NodeClass, or of the part of one that is to change, as of
    ``read_patches``. FleetError with all problems of the document."""
    given: Document = document if isinstance(document, dict) else {}
    kind = given.get("kind")
    problems = _of_class(given) if isinstance(kind, str) and kind in CLASSES else _of_pool(document)
    metadata = given.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    name = metadata.get("name")
    if not name:
        problems += [] if _NAMELESS in problems else [_NAMELESS]
    elif not isinstance(name, str) or name_problem(name):
        problems.append(Problem("invalid-name", name_problem(str(name)[:300]) or "a text is wanted", "patches"))
    problems += [
        Problem("wrong-type", "an object is wanted here", f"{shown_value(kind)} metadata.{key}")
        for key in ("labels", "annotations")
        if not isinstance(metadata.get(key, {}), Mapping)
    ]
    if problems:
        raise FleetError.of(problems)
    kept = {key: _without_applied(metadata[key]) for key in ("labels", "annotations") if metadata.get(key)}
    spec = examine(document).repaired.get("spec") if kind == NODE_POOL else given.get("spec")
    patch: Document = {"spec": dict(spec or {})}
    kept = {key: each for key, each in kept.items() if each}
    return SourcePatch(str(kind), str(name), {**patch, **({"metadata": kept} if kept else {})}, given["apiVersion"])


def _without_applied(notes: Mapping[str, t.Any]) -> Document:
    """Labels or annotations without kubectl's last-applied, which may hold secrets."""
    return {key: each for key, each in notes.items() if key != LAST_APPLIED}


def _shown_spec(spec: Document) -> Document:
    """A spec with ``(not shown)`` in place of values that may hold secrets, but for None."""
    return {key: HIDDEN if key in UNWANTED and each is not None else each for key, each in spec.items()}


def _shown_metadata(metadata: Document) -> Document:
    """Metadata with ``(not shown)`` in place of annotations that are neither Karpenter's nor ours."""
    notes = metadata.get("annotations")
    if not notes:
        return metadata
    ours = {key: each if str(key).startswith(OUR_ANNOTATIONS) else HIDDEN for key, each in notes.items()}
    return {**metadata, "annotations": ours}


_SHOWN: t.Mapping[str, t.Callable[[Document], Document]] = {"spec": _shown_spec, "metadata": _shown_metadata}


def _of_pool(document: t.Any) -> list[Problem]:
    """The problems of a NodePool or a part of one; ``missing-field`` where version, kind and name are not there."""
    found = examine(document)
    name = field(document, "metadata.name")
    about = f"NodePool/{name if isinstance(name, str) else ''}"
    problems = [Problem(each.code, each.message, f"{about} {each.path}", each.hint) for each in found.problems]
    return [*problems, _NAMELESS] if found.fragment else problems


def _of_class(document: Document) -> list[Problem]:
    """The problems of a node class: ``unsupported-version``, and ``wrong-type`` for metadata or spec that is no object,
    null too. Its fields are judged by the server, which has the rest of the object."""
    kind, found = document["kind"], []
    known = JUDGEMENTS[kind]
    versions = [f"{known.group}/{each}" for each in known.served]
    if document.get("apiVersion") not in versions:
        text = f"{kind} is not served in {shown_value(document.get('apiVersion'), 60)}"
        found.append(Problem("unsupported-version", text, "patches", f"write {versions[0]}"))
    wrong = [key for key in ("metadata", "spec") if not isinstance(document.get(key, {}), Mapping)]
    return found + [Problem("wrong-type", "an object is wanted here", f"{kind} {key}") for key in wrong]
